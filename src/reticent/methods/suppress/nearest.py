"""The distance of every row to its (k-1)-st nearest other row: the lower bound of the forest.

Few points are compared pair by pair. For many, the number of rows at each distance follows from the number of rows with
equal labels under every pattern, by inclusion-exclusion, without comparing pairs.
"""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np

from reticent.base.context import Context
from reticent.base.packing import sum_by
from reticent.methods.suppress.ladders import Ids, Units

_MOST_WORK = 60_000_000
_PAIRS_AT_ONCE = 1 << 21


def nearest_prices(points: Units, context: Context) -> Ids | None:
    """Return for every point the smallest distance within which it has at least ``least`` people, itself included; None if
    that would take too long.
    """
    patterns = prod(ladder.top + 1 for ladder in points.ladders)
    if len(points) * min(len(points), patterns) > _MOST_WORK:
        return None
    return _by_pairs(points, context) if len(points) <= patterns else _by_patterns(points, context)


def _by_pairs(points: Units, context: Context) -> Ids:
    """Return for every point the smallest distance within which it has enough people, by comparing all pairs of points.

    Points that can never share a class are farther apart than any others.
    """
    count, full_cost = len(points), points.full
    all_points, block = np.arange(count), points.apart[0]
    distances: Ids = np.empty(count, dtype=np.int64)
    # Every point has at least one person, so no more points are needed than people.
    points_needed = min(points.least, count)
    step = max(_PAIRS_AT_ONCE // max(count, 1), 1)
    for start in range(0, count, step):
        context.step("bounding the cost", start, count)
        batch = all_points[start : start + step]
        distances_of_batch = points.distances(batch, all_points)
        distances_of_batch[block[batch][:, None] != block[None, :]] = full_cost + 1
        # Distance and index in one number.
        keys = np.sort(
            np.partition(distances_of_batch * count + all_points, points_needed - 1, axis=1)[:, :points_needed], axis=1
        )
        within = np.cumsum(points.people[keys % count], axis=1) >= points.least
        nearest_enough = keys[np.arange(len(batch)), np.argmax(within, axis=1)] // count
        distances[batch] = np.where(within[:, -1], np.minimum(nearest_enough, full_cost), full_cost)
    return distances


def _by_patterns(points: Units, context: Context) -> Ids:
    """Return for every point the smallest distance within which it has enough people, from the numbers of rows with equal labels.

    A record that differs from a point exactly up to the rungs of a pattern (and no higher) is at the distance of the
    pattern's cost. Their number is that of equal labels under the pattern, minus that under patterns with one rung less
    in some column.
    """
    patterns = list(product(*(range(ladder.top + 1) for ladder in points.ladders)))
    all_points = np.arange(len(points))
    shape = tuple(ladder.top + 1 for ladder in points.ladders)
    counts = np.empty((len(patterns), len(points)), dtype=np.int32)
    for pattern_index, pattern in enumerate(patterns):
        context.step("bounding the cost", pattern_index, len(patterns))
        ids, count = points.alike(pattern, all_points)
        counts[pattern_index] = sum_by(ids, points.people, count)[ids]
    for axis in range(len(shape)):
        # From "at most this rung" to "exactly this rung", column by column, the highest rung first.
        rungs = np.moveaxis(counts.reshape(*shape, len(points)), axis, 0)
        for rung in range(shape[axis] - 1, 0, -1):
            rungs[rung] -= rungs[rung - 1]
    costs = points.priced(np.array(patterns))
    distances: Ids = np.full(len(points), points.full, dtype=np.int64)
    within = np.zeros(len(points), dtype=np.int64)
    is_open = np.ones(len(points), dtype=bool)
    for cost in np.unique(costs):
        for pattern_index in np.flatnonzero(costs == cost).tolist():
            within += counts[pattern_index]
        reached = is_open & (within >= points.least)
        distances[reached] = cost
        is_open &= ~reached
    return distances
