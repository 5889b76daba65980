"""Estimates if the exact computation is too expensive: possible worlds are sampled and the consistent ones counted.

The interval is a Chernoff bound [Chernoff1952], valid for every sample size. Every result is labelled as an estimate.
Ordinary randomness (``seed``) suffices: no protection depends on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from reticent.worst_case import Clause, Population

if TYPE_CHECKING:
    from reticent.base.context import Context

CONFIDENCE = 0.99
_BATCH = 20_000


@dataclass(frozen=True)
class SampledBelief:
    """The share of sampled consistent worlds, with an interval that covers the truth with ``confidence``."""

    value: float
    low: float
    high: float
    drawn: int
    fitting: int
    confidence: float = CONFIDENCE


def estimate(
    population: Population,
    known: Sequence[Clause],
    conclusion: Sequence[Clause],
    worlds: int,
    seed: int,
    context: Context | None,
) -> SampledBelief | None:
    """Sample ``worlds`` random worlds; return None if none of them is consistent with the knowledge."""
    generator = np.random.default_rng(seed)
    people = sorted({person for clause in (*known, *conclusion) for person in clause.people})
    fitting = hits = sampled = 0
    while sampled < worlds:
        if context is not None:
            context.step("drawing worlds", sampled, worlds)
        batch = min(_BATCH, worlds - sampled)
        world = _draw(population, people, batch, generator)
        fits = np.ones(batch, dtype=bool)
        for clause in known:
            fits &= _true(world, clause)
        fits_both = fits.copy()
        for clause in conclusion:
            fits_both &= _true(world, clause)
        sampled, fitting, hits = sampled + batch, fitting + int(fits.sum()), hits + int(fits_both.sum())
    if not fitting:
        return None
    share = hits / fitting
    return SampledBelief(share, *chernoff_interval(hits, fitting, CONFIDENCE), sampled, fitting)


def chernoff_interval(hits: int, trials: int, confidence: float) -> tuple[float, float]:
    """Return all probabilities p with ``trials * KL(hits / trials || p) <= log(2 / (1 - confidence))``."""
    share = hits / trials
    allowed = log(2 / (1 - confidence)) / trials
    return _edge(share, 0.0, allowed), _edge(share, 1.0, allowed)


def _edge(share: float, end: float, allowed: float) -> float:
    """Return the point between ``share`` and ``end`` where the divergence reaches ``allowed``, rounded outwards."""
    inside, outside = share, end
    for _ in range(60):
        middle = (inside + outside) / 2
        if middle in (0.0, 1.0) or _divergence(share, middle) > allowed:
            outside = middle
        else:
            inside = middle
    return outside


def _divergence(share: float, p: float) -> float:
    first = share * log(share / p) if share > 0 else 0.0
    second = (1 - share) * log((1 - share) / (1 - p)) if share < 1 else 0.0
    return first + second


def _draw(
    population: Population, people: Sequence[str], worlds: int, generator: np.random.Generator
) -> dict[str, NDArray[np.str_]]:
    """Return the values of ``people`` in that many random worlds: each bucket is an urn, sampled without replacement."""
    values: dict[str, NDArray[np.str_]] = {}
    for bucket in sorted({population.bucket_of[person] for person in people}):
        labels = np.array(list(population.histograms[bucket]))
        urn = np.tile(np.array(list(population.histograms[bucket].values()), dtype=np.int64), (worlds, 1))
        for person in people:
            if population.bucket_of[person] != bucket:
                continue
            ticket = generator.integers(0, urn.sum(axis=1))
            choice = (np.cumsum(urn, axis=1) <= ticket[:, None]).sum(axis=1)
            urn[np.arange(worlds), choice] -= 1
            values[person] = labels[choice]
    return values


def _true(world: dict[str, NDArray[np.str_]], clause: Clause) -> NDArray[np.bool_]:
    """Return in which worlds a clause is true."""
    worlds = len(next(iter(world.values())))
    all_given, any_then = np.ones(worlds, dtype=bool), np.zeros(worlds, dtype=bool)
    for atom in clause.given:
        all_given &= world[atom.person] == atom.value
    for atom in clause.then:
        any_then |= world[atom.person] == atom.value
    return ~all_given | any_then
