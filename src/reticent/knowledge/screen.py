"""Which buckets can matter: a float pass over all of them that leaves the exact arithmetic a handful (R-WK-5, R-WK-24).

Nothing is decided here. Write ``u_b[c]`` for the factor of a bucket that takes ``c`` antecedents and ``v_b[c]`` for one
that holds A beside ``c`` of them. A best set of k facts touches at most k + 1 buckets, so

* a use of a bucket that is not among the k + 1 smallest of its kind can be exchanged for one that is; and
* a use is part of an optimum for j facts only if ``u_b[c] A[j - c] <= A[j]``, or ``v_b[c] N[j - c] <= A[j]``.

Both tests are made on doubles with a slack that covers every rounding: a value is a product of at most ``4 (k + 2)``
correctly rounded operations on integers below 2^53, so its relative error stays under ``8 (k + 2)`` half-units in the
last place, and taking a minimum adds none. Uses that tie within the slack all survive.

Callers stay below the certainty point (F6): there every factor is positive and no product meets infinity times zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from reticent.knowledge.buckets import COMPILED_FROM, Buckets, Integers

Floats: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]

UNDERFLOW = 1e-280
"""Below this a product may have lost digits; such uses always survive."""

_SAMPLE = 4096
_CHUNK, _COMPILED_CHUNK = 2048, 1 << 16


def slack(k: int) -> float:
    """A factor a little above 1 that covers the rounding of any two values compared here."""
    return 1.0 + (64 + 32 * k) * 2.0**-53


def least_chances(sizes: Integers, top: Integers) -> Floats:
    """M_b[h] for h = 0..len(top) as column ``b``, from the top counts (rank by row, 0 where there is no value)."""
    atoms, buckets = top.shape
    covered = np.cumsum(top, axis=0, dtype=np.float64)
    there = sizes - np.arange(atoms + 1, dtype=np.float64)[:, None]
    chance = np.full((atoms + 1, atoms + 2, buckets), np.inf)
    chance[0] = 1.0
    for most in range(1, atoms + 1):
        persons = (atoms - most) // most + 1
        factor = np.maximum(there[:persons] - covered[most - 1], 0.0) / np.maximum(there[:persons], 1.0)
        for first in range(most, atoms + 1, most):
            last = min(first + most, atoms + 1)
            persons = (atoms - first) // most + 1
            reached = chance[first:last, :persons]
            np.minimum(reached, factor[:persons] * chance[first - most : last - most, 1 : persons + 1], out=reached)
    least: Floats = chance[:, 0]
    return least


def merge(left: Floats, right: Floats) -> Floats:
    """Two sets of buckets as one: arrays ``[..., 2, k + 1]`` of (N, A) pairs, merged place by place (R-WK-10).

    N[s] is the least factor of s antecedents without A, A[s] with it. Associative and commutative. An absent bucket is
    N = 1, A = infinity; where infinity meets 0 the product is skipped (trap 3).
    """
    places = left.shape[-1]
    merged = np.full(np.broadcast_shapes(left.shape, right.shape), np.inf)
    with np.errstate(invalid="ignore"):
        for taken in range(places):
            rest = places - taken
            aside, holding = left[..., 0, taken, None], left[..., 1, taken, None]
            both = merged[..., taken:]
            np.fmin(both, aside[..., None] * right[..., :rest], out=both)
            np.fmin(both[..., 1, :], holding * right[..., 0, :rest], out=both[..., 1, :])
    return merged


def merge_all(pairs: Floats) -> Floats:
    """All (N, A) pairs of ``pairs[b]`` as one pair, level by level."""
    while len(pairs) > 1:
        odd = pairs[-1:] if len(pairs) % 2 else pairs[:0]
        pairs = np.concatenate([merge(pairs[: len(pairs) - len(odd) : 2], pairs[1::2]), odd])
    whole: Floats = pairs[0]
    return whole


@dataclass(frozen=True)
class Uses:
    """Which uses of which buckets may be part of an optimum.

    ``aside[i, c]``: bucket ``buckets[i]`` may take ``c`` antecedents; ``holding[i, c]``: it may hold A beside ``c``.
    """

    buckets: Integers
    aside: Mask
    holding: Mask


@dataclass(frozen=True)
class Screen:
    """The near-best buckets of all, with their factors ``[i, (u, v), c]``, and the best ratio for every j."""

    buckets: Integers
    factors: Floats
    without: Floats
    ratios: Floats

    def uses(self, at: int | None = None) -> Uses:
        """The uses that may be part of an optimum for some number of facts, or for exactly ``at`` facts."""
        k = len(self.ratios) - 1
        aside, holding = np.zeros(k + 1), np.zeros(k + 1)
        for facts in range(k + 1) if at is None else (at,):
            for taken in range(facts + 1):
                best = self.ratios[facts]
                aside[taken] = max(aside[taken], _quotient(best, self.ratios[facts - taken]))
                holding[taken] = max(holding[taken], _quotient(best, self.without[facts - taken]))
        bounds = np.maximum(np.stack([aside, holding]) * slack(k) ** 2, UNDERFLOW)
        near = self.factors <= bounds
        near[:, 0, 0] = False
        rows = near.any(axis=(1, 2))
        return Uses(self.buckets[rows], near[rows, 0], near[rows, 1])


def _quotient(part: float, whole: float) -> float:
    return part / whole if min(part, whole) >= UNDERFLOW else np.inf


def screen(histograms: Buckets, k: int) -> Screen:
    """Screen all buckets for up to ``k`` facts; every bucket must have at least ``k + 2`` different values."""
    order, starts = _keys(histograms, k + 1)
    representatives = order[starts]
    kept_rows = np.empty(0, dtype=np.int64)
    kept = np.empty((0, 2, k + 1))
    limits = np.full((2, k + 1), np.inf)
    for begin, factors in _factors(histograms, representatives, k):
        near = factors <= limits
        near[:, 0, 0] = False
        rows = np.flatnonzero(near.any(axis=(1, 2)))
        if len(rows) == 0:
            continue
        kept_rows = np.concatenate([kept_rows, begin + rows])
        kept = np.concatenate([kept, factors[rows]])
        if len(kept) > k + 1:
            limits = np.maximum(np.partition(kept, k, axis=0)[k] * slack(k), UNDERFLOW)
            near = kept <= limits
            near[:, 0, 0] = False
            rows = np.flatnonzero(near.any(axis=(1, 2)))
            kept_rows, kept = kept_rows[rows], kept[rows]
    return _expand(kept_rows, kept, order, starts, k)


def _expand(rows: Integers, factors: Floats, order: Integers, starts: Integers, k: int) -> Screen:
    """Turn kept keys into buckets, at most ``k + 1`` of each key (R-WK-5), and find the best ratios among them."""
    ends = np.append(starts[1:], len(order))
    copies = np.minimum(ends[rows] - starts[rows], k + 1)
    offset = np.arange(copies.sum()) - np.repeat(np.cumsum(copies) - copies, copies)
    buckets = order[np.repeat(starts[rows], copies) + offset]
    factors = np.repeat(factors, copies, axis=0)
    ascending = np.argsort(buckets, kind="stable")
    buckets, factors = buckets[ascending], factors[ascending]
    best = _smallest(factors, k + 1)
    without, ratios = merge_all(factors[best])
    return Screen(buckets, factors, without, ratios)


def _smallest(factors: Floats, many: int) -> Integers:
    """Rows that are among the ``many`` smallest of some kind of use."""
    if len(factors) <= many:
        return np.arange(len(factors))
    flat = factors.reshape(len(factors), -1)
    return np.unique(np.argpartition(flat, many - 1, axis=0)[:many])


def _factors(histograms: Buckets, rows: Integers, k: int) -> Iterator[tuple[int, Floats]]:
    """(u, v) of the buckets ``rows``, chunk by chunk, as arrays ``[bucket, 2, k + 1]``."""
    compiled = len(rows) >= COMPILED_FROM
    step = _COMPILED_CHUNK if compiled else _CHUNK
    for begin in range(0, len(rows), step):
        some = rows[begin : begin + step]
        first, sizes = histograms.offsets[some], histograms.sizes[some]
        if compiled:
            from reticent.knowledge import _kernels

            chances = np.empty((len(some), k + 2))
            _kernels.least_chances(first, histograms.counts, sizes, k + 1, chances)
        else:
            top = np.stack([histograms.counts[first + rank] for rank in range(k + 1)])
            chances = least_chances(sizes, top).T
        factors = np.empty((len(some), 2, k + 1))
        factors[:, 0] = chances[:, :-1]
        np.multiply(chances[:, 1:], (sizes / histograms.counts[first])[:, None], out=factors[:, 1])
        yield begin, factors


def first_of_each_key(histograms: Buckets, buckets: Integers, atoms: int, many: int) -> Integers:
    """Places in ``buckets`` (ascending) of the first ``many`` buckets of every key, ascending."""
    order, starts = _sorted_by_key(histograms, buckets, atoms)
    sizes = np.diff(np.append(starts, len(order)))
    return np.sort(order[np.arange(len(order)) - np.repeat(starts, sizes) < many])


def _keys(histograms: Buckets, atoms: int) -> tuple[Integers, Integers]:
    """All buckets with equal keys standing together, and where each key starts.

    Where a sample shows hardly any repetition the sorting is not worth its time, and every bucket is its own key.
    """
    everybody = np.arange(len(histograms))
    if len(histograms) > COMPILED_FROM:
        sample = np.linspace(0, len(histograms) - 1, _SAMPLE).astype(np.int64)
        if len(np.unique(_hashes(histograms, sample, atoms))) > 0.99 * _SAMPLE:
            return everybody, everybody
    return _sorted_by_key(histograms, everybody, atoms)


def _sorted_by_key(histograms: Buckets, buckets: Integers, atoms: int) -> tuple[Integers, Integers]:
    """An order of ``buckets`` in which equal keys (size and top counts, R-WK-2) stand together, and their starts.

    Equality is decided on the counts themselves; a hash only brings candidates together, and a collision merely
    leaves a key in two places.
    """
    hashes = _hashes(histograms, buckets, atoms)
    order = np.argsort(hashes, kind="stable")
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = hashes[order[1:]] != hashes[order[:-1]]
    alike = np.flatnonzero(~new)
    here, before = buckets[order[alike]], buckets[order[alike - 1]]
    for column in _key_columns(histograms, atoms):
        new[alike] |= column(here) != column(before)
    return order, np.flatnonzero(new)


def _key_columns(histograms: Buckets, atoms: int) -> Iterator[_Column]:
    yield _Column(histograms.sizes, None)
    for rank in range(atoms):
        yield _Column(histograms.counts, histograms.offsets + rank)


@dataclass(frozen=True)
class _Column:
    values: Integers
    places: Integers | None

    def __call__(self, buckets: Integers) -> Integers:
        return self.values[buckets if self.places is None else self.places[buckets]]


def _hashes(histograms: Buckets, buckets: Integers, atoms: int) -> NDArray[np.uint64]:
    hashes = np.zeros(len(buckets), dtype=np.uint64)
    for column in _key_columns(histograms, atoms):
        hashes *= np.uint64(0x9E3779B97F4A7C15)
        hashes += column(buckets).astype(np.uint64)
        hashes ^= hashes >> np.uint64(29)
    return hashes
