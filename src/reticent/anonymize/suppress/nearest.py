"""How far the (k-1)-st nearest other row is from every row: the lower bound of the forest (R-KS-2).

The number of rows at each distance follows from how many rows look alike under every pattern, by inclusion and exclusion, so that no pair of rows is compared.
"""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np

from reticent.anonymize.suppress.ladders import Ids, Units
from reticent.data import Context, sum_by

_MOST_WORK = 60_000_000


def nearest_prices(points: Units, context: Context) -> Ids | None:
    """For every point the least distance within which it has at least ``least`` people, itself included; None where that would take too long.

    Someone who differs from a point exactly up to the rungs of a pattern (and no higher) is as far as the pattern costs. How many do so is how many look alike under
    the pattern without those who look alike under a pattern with one rung less in some column.
    """
    patterns = list(product(*(range(ladder.top + 1) for ladder in points.ladders)))
    alike_rows = prod(ladder.top + 1 for ladder in points.ladders) * len(points)
    if alike_rows > _MOST_WORK:
        return None
    everybody = np.arange(len(points))
    shape = tuple(ladder.top + 1 for ladder in points.ladders)
    counts = np.empty((len(patterns), len(points)), dtype=np.int32)
    for place, pattern in enumerate(patterns):
        context.step("bounding the cost", place, len(patterns))
        ids, count = points.alike(pattern, everybody)
        counts[place] = sum_by(ids, points.people, count)[ids]
    exactly = counts.reshape(*shape, len(points))
    for axis in range(len(shape)):
        # From "at most this rung" to "exactly this rung", column by column.
        exactly = np.diff(exactly, axis=axis, prepend=0)
    exactly = exactly.reshape(len(patterns), len(points))
    costs = np.array(
        [sum(ladder.costs[rung] for ladder, rung in zip(points.ladders, each, strict=True)) for each in patterns]
    )
    found: Ids = np.full(len(points), int(costs.max(initial=0)), dtype=np.int64)
    within = np.zeros(len(points), dtype=np.int64)
    open_still = np.ones(len(points), dtype=bool)
    for cost in np.unique(costs):
        within += exactly[costs == cost].sum(axis=0)
        reached = open_still & (within >= points.least)
        found[reached] = cost
        open_still &= ~reached
    return found
