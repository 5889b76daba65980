"""Which buckets can matter: a float pass over all of them that leaves a handful for exact arithmetic.

Nothing is decided here. Write ``u_b[c]`` for the factor of a bucket that takes ``c`` antecedents and ``v_b[c]`` for one
that holds A in addition to ``c`` of them. A best set of k facts touches at most k + 1 buckets, so

* a use of a bucket that is not among the k + 1 smallest of its kind can be exchanged for one that is; and
* a use is part of an optimum for j facts only if ``u_b[c] A[j - c] <= A[j]``, or ``v_b[c] N[j - c] <= A[j]``.

Both tests use doubles with a slack that covers every rounding: a value is a product of at most ``4 (k + 2)`` correctly
rounded operations on integers below 2^53, so its relative error stays under ``8 (k + 2)`` half-units in the last place,
and taking a minimum adds none. Uses that tie within the slack all survive.

Callers stay below the certainty point: there every factor is positive and no product is infinity times zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from reticent.base.ragged import places_in
from reticent.worst_case.histogram_buckets import COMPILED_FROM, Buckets, Integers

Floats: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]

UNDERFLOW = 1e-280
"""Below this a product may have lost digits; such uses always survive."""

_MANY = 4096
_CHUNK_CELLS, _COMPILED_CHUNK = 1 << 19, 1 << 16


def slack(k: int) -> float:
    """A factor slightly above 1 that covers the rounding of any two values compared here."""
    return 1.0 + (64 + 32 * k) * 2.0**-53


def least_chances(sizes: Integers, top: Integers) -> Floats:
    """Return ``[h, b]``, h = 0..len(top): the minimum probability that none of h well chosen atoms "person i has value
    s" is true in bucket b.

    ``sizes`` are the people of each bucket, ``top`` its largest counts (rank by row, 0 if there is no value).
    """
    atoms, buckets = top.shape
    covered = np.cumsum(top, axis=0, dtype=np.float64)
    remaining_people = sizes - np.arange(atoms + 1, dtype=np.float64)[:, None]
    chance = np.full((atoms + 1, atoms + 2, buckets), np.inf)
    chance[0] = 1.0
    for largest_share in range(1, atoms + 1):
        persons = (atoms - largest_share) // largest_share + 1
        factor = np.maximum(remaining_people[:persons] - covered[largest_share - 1], 0.0) / np.maximum(
            remaining_people[:persons], 1.0
        )
        for first in range(largest_share, atoms + 1, largest_share):
            last = min(first + largest_share, atoms + 1)
            persons = (atoms - first) // largest_share + 1
            reached = chance[first:last, :persons]
            np.minimum(
                reached,
                factor[:persons] * chance[first - largest_share : last - largest_share, 1 : persons + 1],
                out=reached,
            )
    least: Floats = chance[:, 0]
    return least


def merge(left: Floats, right: Floats) -> Floats:
    """Return the minimum factors of two sets of buckets together: arrays ``[..., 2, k + 1]`` of pairs (N, A), merged
    elementwise.

    N[s] is the minimum factor of s antecedents without the predicted atom, A[s] with it: ``N[s] = min_a N[a] N'[s -
    a]`` and ``A[s] = min_a min(A[a] N'[s - a], N[a] A'[s - a])``. Associative and commutative. An absent bucket is N =
    1, A = infinity; products of infinity and 0 are skipped.
    """
    indices = np.arange(left.shape[-1])
    differences = indices[:, None] - indices
    shifted = np.where(differences >= 0, right[..., differences], np.inf)
    with np.errstate(invalid="ignore"):
        merged: Floats = np.fmin.reduce(left[..., :1, None, :] * shifted, axis=-1)
        with_a: Floats = np.fmin.reduce(left[..., 1, None, :] * shifted[..., 0, :, :], axis=-1)
    np.fmin(merged[..., 1, :], with_a, out=merged[..., 1, :])
    return merged


def merge_all(pairs: Floats) -> Floats:
    """Return the minima of all buckets together, from those of each (``pairs[b]``): merged in pairs until one is left.

    A pair (N, A) has the minimum factors by number of antecedents, without and with the predicted atom; see
    :func:`merge`.
    """
    while len(pairs) > 1:
        odd = pairs[-1:] if len(pairs) % 2 else pairs[:0]
        pairs = np.concatenate([merge(pairs[: len(pairs) - len(odd) : 2], pairs[1::2]), odd])
    whole: Floats = pairs[0]
    return whole


@dataclass(frozen=True)
class Uses:
    """The uses of buckets that may be part of an optimum.

    ``aside[i, c]``: bucket ``buckets[i]`` may take ``c`` antecedents; ``holding[i, c]``: it may hold A in addition to ``c``.
    """

    buckets: Integers
    aside: Mask
    holding: Mask


@dataclass(frozen=True)
class Screen:
    """The near-best buckets, with their factors ``[i, (u, v), c]``, and the best ratio for every j."""

    buckets: Integers
    factors: Floats
    without: Floats
    ratios: Floats

    def uses(self, fact_count: int | None = None) -> Uses:
        """Return the uses of buckets (antecedents taken, with or without the predicted atom A) that may be part of an
        optimum for any number of facts up to k, or for exactly ``fact_count``.
        """
        k = len(self.ratios) - 1
        is_near_best = self.factors <= bounds(
            self.without, self.ratios, range(k + 1) if fact_count is None else (fact_count,)
        )
        is_near_best[:, 0, 0] = False
        rows = is_near_best.any(axis=(1, 2))
        return Uses(self.buckets[rows], is_near_best[rows, 0], is_near_best[rows, 1])


def bounds(without: Floats, ratios: Floats, facts: Iterable[int]) -> Floats:
    """Return the limits ``[kind, c]`` that the factor of a bucket must not exceed to be part of an optimum for one of
    ``facts``.

    Kind 0: the bucket takes c antecedents; kind 1: it holds the predicted atom A in addition. ``without`` and
    ``ratios`` are the best products without and with A by number of antecedents.
    """
    k = len(ratios) - 1
    limits = np.zeros((2, k + 1))
    for known in facts:
        for antecedents in range(known + 1):
            limits[0, antecedents] = max(limits[0, antecedents], _quotient(ratios[known], ratios[known - antecedents]))
            limits[1, antecedents] = max(limits[1, antecedents], _quotient(ratios[known], without[known - antecedents]))
    return np.maximum(limits * slack(k) ** 2, UNDERFLOW)


def _quotient(part: float, whole: float) -> float:
    return part / whole if min(part, whole) >= UNDERFLOW else np.inf


def screen(buckets: Buckets, k: int) -> Screen:
    """Return the buckets whose factors are near enough to the best to matter for 0..``k`` facts, by floats with a
    margin for rounding.

    Buckets of equal size and top counts are examined once. Every bucket must have at least ``k + 2`` different values.
    """
    order, starts = _keys(buckets, k + 1)
    keys = np.empty(0, dtype=np.int64)
    kept = np.empty((0, 2, k + 1))
    limits = np.full((2, k + 1), np.inf)
    for begin, factors in use_factors(buckets, order[starts], k):
        rows = np.flatnonzero(within(factors, limits))
        if len(rows) == 0:
            continue
        keys, kept = np.concatenate([keys, begin + rows]), np.concatenate([kept, factors[rows]])
        if len(kept) > k + 1:
            limits = np.maximum(np.partition(kept, k, axis=0)[k] * slack(k), UNDERFLOW)
            rows = np.flatnonzero(within(kept, limits))
            if len(rows) > _MANY:
                rows = rows[first_of_each_key(buckets, order[starts[keys[rows]]], k + 1, k + 1)]
            keys, kept = keys[rows], kept[rows]
    return _expand(keys, kept, order, starts, k)


def within(factors: Floats, limits: Floats) -> Mask:
    """Return a mask of the buckets that have a factor within the limits, by kind (without and with the predicted atom
    A) and antecedents.

    Taking no antecedents without A is not a use.
    """
    near = factors[..., 1, :] <= limits[1]
    near[..., 1:] |= factors[..., 0, 1:] <= limits[0, 1:]
    candidates: Mask = near.any(axis=-1)
    return candidates


def _expand(rows: Integers, factors: Floats, order: Integers, starts: Integers, k: int) -> Screen:
    """Return the screened buckets, given the distinct keys (size and top counts) that remain: at most ``k + 1`` buckets
    of each key, and the best ratios among them.
    """
    ends = np.append(starts[1:], len(order))
    copies = np.minimum(ends[rows] - starts[rows], k + 1)
    buckets = order[places_in(starts[rows], copies)]
    factors = np.repeat(factors, copies, axis=0)
    ascending = np.argsort(buckets, kind="stable")
    buckets, factors = buckets[ascending], factors[ascending]
    best = _smallest(factors, k + 1)
    without, ratios = merge_all(factors[best])
    return Screen(buckets, factors, without, ratios)


def _smallest(factors: Floats, count: int) -> Integers:
    """Return the rows that are among the ``count`` smallest in some column of ``factors``."""
    if len(factors) <= count:
        return np.arange(len(factors))
    flat = factors.reshape(len(factors), -1)
    return np.unique(np.argpartition(flat, count - 1, axis=0)[:count])


def use_factors(buckets: Buckets, rows: Integers, k: int) -> Iterator[tuple[int, Floats]]:
    """Yield (index of the first, factors ``[bucket, kind, c]``) of the buckets ``rows``, in chunks.

    Kind 0 is the minimum probability that c antecedents are all false; kind 1 the minimum of Pr(A and c antecedents are
    false) / Pr(A), with the predicted atom A in the bucket.
    """
    is_compiled = len(rows) >= COMPILED_FROM
    step = _COMPILED_CHUNK if is_compiled else max(1, _CHUNK_CELLS // (k + 2) ** 2)
    for begin in range(0, len(rows), step):
        chunk = rows[begin : begin + step]
        first, sizes = buckets.offsets[chunk], buckets.sizes[chunk]
        if is_compiled:
            from reticent.worst_case import _kernels

            chances = np.empty((len(chunk), k + 2))
            _kernels.least_chances(first, buckets.counts, sizes, k + 1, chances)
        else:
            top = np.stack([buckets.counts[first + rank] for rank in range(k + 1)])
            chances = least_chances(sizes, top).T
        factors = np.empty((len(chunk), 2, k + 1))
        factors[:, 0] = chances[:, :-1]
        np.multiply(chances[:, 1:], (sizes / buckets.counts[first])[:, None], out=factors[:, 1])
        yield begin, factors


def first_of_each_key(buckets: Buckets, chosen: Integers, atoms: int, limit: int) -> Integers:
    """Return the indices into ``chosen`` (ascending) of the first ``limit`` buckets of each key, that is, of equal size
    and top counts; ascending.
    """
    order, starts = sorted_by_key(buckets, chosen, atoms)
    sizes = np.diff(np.append(starts, len(order)))
    return np.sort(order[np.arange(len(order)) - np.repeat(starts, sizes) < limit])


def _keys(buckets: Buckets, atoms: int) -> tuple[Integers, Integers]:
    """Return all buckets sorted so that equal keys (size and top counts) are adjacent, and where each key starts.

    For very many buckets the compiled tables cost less than sorting: there every bucket is its own key, and duplicates
    are reduced among the kept ones.
    """
    everybody = np.arange(len(buckets))
    return (everybody, everybody) if len(buckets) >= COMPILED_FROM else sorted_by_key(buckets, everybody, atoms)


def sorted_by_key(buckets: Buckets, chosen: Integers, atoms: int) -> tuple[Integers, Integers]:
    """Return an order of the ``chosen`` buckets in which those with equal size and top counts are adjacent, and where
    each run starts.

    Equality is decided on the counts themselves; a hash only brings candidates together, and a collision merely leaves
    a key in two runs.
    """
    hashes = _hashes(buckets, chosen, atoms)
    order = np.argsort(hashes, kind="stable")
    starts_run = np.ones(len(order), dtype=np.bool_)
    starts_run[1:] = hashes[order[1:]] != hashes[order[:-1]]
    same_hash = np.flatnonzero(~starts_run)
    current, predecessors = chosen[order[same_hash]], chosen[order[same_hash - 1]]
    starts_run[same_hash] = buckets.sizes[current] != buckets.sizes[predecessors]
    for rank in range(atoms):
        starts_run[same_hash] |= buckets.rank(rank, current) != buckets.rank(rank, predecessors)
    return order, np.flatnonzero(starts_run)


def _hashes(buckets: Buckets, chosen: Integers, atoms: int) -> NDArray[np.uint64]:
    """Return a hash of each chosen bucket's size and most frequent counts."""
    hashes = buckets.sizes[chosen].astype(np.uint64)
    for rank in range(atoms):
        hashes *= np.uint64(0x9E3779B97F4A7C15)
        hashes += buckets.rank(rank, chosen).astype(np.uint64)
        hashes ^= hashes >> np.uint64(29)
    return hashes
