"""Noisy numbers about the values of a protected column, and the statistics with intervals that follow from them.

*Guarantee*: the numbers of one query cost at most ``each`` of a column's budget, neighbours being tables in which one
person's value differs; the people of a query are public. Queries about disjoint people cost as much as one of them.
*Adversary*: knows all other values. *Cost*: one pass over the values of the column. *Source*: [Dwork2006]; noise is
OpenDP's discrete Laplace mechanism. Estimates are those of :class:`reticent.Statistics`.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.audit.service.settings import Noise
from reticent.audit.service.value_cells import ValueCells
from reticent.base.privacy_cost import Relation
from reticent.ledger import NoisyKind, NoisyNumbers
from reticent.noise import (
    CONFIDENCE,
    LEAVES,
    TREE_LEVELS,
    Bounds,
    Contribution,
    DiscreteLaplaceLaw,
    Estimates,
    WholeNoise,
    central_noise,
    leaf_edges,
    least_scale,
    moved,
    noisy_total,
    plain_sums,
    quantiles,
    rounded,
    tree_counts,
    variances,
)

_REPLACED: Relation = "replace"
_KINDS: dict[str, NoisyKind] = {
    "sum": "noisy sum",
    "avg": "noisy sum",
    "var_pop": "noisy variance",
    "quantile": "noisy quantiles",
    "count": "noisy frequencies",
}
Whole = NDArray[np.int64]


@dataclass(frozen=True)
class Estimated:
    """A statistic with the interval that contains it with a probability of at least 95 %."""

    value: Fraction
    interval: tuple[Fraction, Fraction]


def kind_of(function: str) -> NoisyKind | None:
    """Return the kind of noisy numbers that answer a function; None for maxima and minima."""
    return _KINDS.get(function)


def identity_of(people: str, cells: ValueCells | None) -> str:
    """Return the identity of noisy numbers about a set of people: counts also depend on the cells of values."""
    return people if cells is None else hashlib.sha256(f"{people} {cells.identity}".encode()).hexdigest()


def noisy_sum(total: Fraction, noise: Noise, unit: Fraction) -> NoisyNumbers:
    """Return a sum of clamped values with noise."""
    distance = math.ceil((noise.high - noise.low) / unit)
    scale = central_noise(distance, noise.each).law.scale * unit
    number = noisy_total(total, noise.low, noise.high, noise.each, unit)
    return NoisyNumbers((number,), (scale,), noise.low, noise.high, unit)


def noisy_numbers(kind: NoisyKind, values: pl.Series, noise: Noise, cells: ValueCells | None) -> NoisyNumbers:
    """Return the noisy numbers of a query on these ``values``, which are numbers as text, none of them missing."""
    numbers = values.cast(pl.Float64).rename("value")
    bounds = Bounds(noise.low, noise.high)
    steps = _steps(kind, numbers, bounds, cells)
    noisy: list[int] = []
    scales = []
    for contribution, true in steps:
        scale = _scale(contribution, noise.each / len(steps))
        scales.append(scale)
        noisy += WholeNoise("epsilon", scale).added(true, None).tolist()
    return NoisyNumbers(tuple(map(Fraction, noisy)), tuple(scales), noise.low, noise.high, bounds.unit)


def _steps(
    kind: NoisyKind, numbers: pl.Series, bounds: Bounds, cells: ValueCells | None
) -> list[tuple[Contribution, Whole]]:
    """Return the true numbers to which noise is added, in one or more steps, each with what one value can contribute to
    it.
    """
    if kind == "noisy frequencies":
        assert cells is not None
        return [(Contribution(0, 1, cells.size == 1), cells.counts(numbers))]
    units, _ = bounds.scaled(numbers)
    if kind == "noisy quantiles":
        edges = leaf_edges(float(bounds.low), float(bounds.high))
        leaf = np.clip(np.searchsorted(edges[1:-1], units * float(bounds.unit), side="right"), 0, LEAVES - 1)
        tree = tree_counts(leaf.astype(np.int64), np.zeros(len(leaf), dtype=np.int64), 1)
        return [(Contribution(0, 1, False, False, TREE_LEVELS), tree.ravel())]
    low, high = (end - bounds.middle for end in bounds.ends)
    centred = units - bounds.middle
    return [
        (Contribution(low, high, True, False), np.array([centred.sum()], dtype=np.int64)),
        (Contribution(0, max(low**2, high**2), True), np.array([(centred**2).sum()], dtype=np.int64)),
    ]


def _scale(contribution: Contribution, epsilon: Fraction) -> Fraction:
    """Return the smallest scale of Laplace noise that costs at most ``epsilon``."""
    distance, _ = contribution.moves(1, _REPLACED)
    return least_scale(lambda scale: distance / scale, "epsilon", epsilon)


def estimated(
    function: str, measured: NoisyNumbers, people: int, share: Fraction | None = None
) -> tuple[Estimated, ...]:
    """Return what a function of ``people`` values is estimated to be from its noisy numbers: one statistic, or one for
    every cell of a histogram.
    """
    if function in ("sum", "avg"):
        return (_total(measured, people if function == "avg" else 1, people),)
    noises = [WholeNoise("epsilon", scale) for scale in measured.scales]
    numbers = np.array([int(number) for number in measured.numbers], dtype=np.int64)
    if function == "count":
        counts = plain_sums(numbers.astype(np.float64), noises[0].deviation, noises[0].reach(1), 0.0)
        return _as_answers(counts, float(people))
    bounds = Bounds(measured.low, measured.high)
    if function == "quantile":
        assert share is not None
        edges = leaf_edges(float(bounds.low), float(bounds.high))
        return _as_answers(
            quantiles(numbers.reshape(1, -1), noises[0].deviation, float(share), edges, noises[0].quantile)
        )
    low, high = (end - bounds.middle for end in bounds.ends)
    summed, squared = noises
    spread = variances(
        numbers[1:].astype(np.float64),
        numbers[:1].astype(np.float64),
        np.array([float(people)]),
        (squared.deviation, summed.deviation, 0.0),
        max(low**2, high**2),
        summed.quantile,
    )
    return _as_answers(moved(spread, 0.0, float(bounds.unit) ** 2))


def _total(measured: NoisyNumbers, divisor: int, people: int) -> Estimated:
    """Return a sum, or an average; its interval lies between the public ends of all sums."""
    (number,), (scale,), unit = measured.numbers, measured.scales, measured.unit
    reach = DiscreteLaplaceLaw(scale / unit).reach(1, float(CONFIDENCE)) * unit
    # The true sum was rounded down to whole units.
    ends = number - reach, number + reach + unit
    low, high = (min(max(end, measured.low * people), measured.high * people) / divisor for end in ends)
    return Estimated(number / divisor, (low, high))


def _as_answers(estimates: Estimates, most: float = math.inf) -> tuple[Estimated, ...]:
    """Return estimates as exact fractions of their nine published digits, with intervals of at most ``most``."""
    return tuple(
        Estimated(_fraction(value), (_fraction(min(low, most)), _fraction(min(high, most))))
        for value, low, high in zip(*map(_listed, (estimates.value, estimates.low, estimates.high)), strict=True)
    )


def _listed(numbers: NDArray[np.float64]) -> Sequence[float]:
    listed: list[float] = numbers.tolist()
    return listed


def _fraction(number: float) -> Fraction:
    return Fraction(repr(rounded(number)))
