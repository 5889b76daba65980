"""The minimum loss of any release by groups, by dynamic programming over all sets of records; for tables of a few records.

Sets of records are bit masks. Every set is judged once, and the minimum cost of a partition of each set follows from those of its subsets: the group of its lowest record
is one of the sets that contain it, or the record is suppressed at a cost of 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from reticent.core import FrequencySet

if TYPE_CHECKING:
    from reticent.utility.lower_bound import LabelSpace

Ids = NDArray[np.int64]

MOST_RECORDS = 14
"""Maximum number of records: the number of sets doubles, and the time triples, with each record."""


def least_loss(
    points: FrequencySet,
    space: LabelSpace,
    failing: Callable[[FrequencySet, Ids, Ids, int], NDArray[np.bool_]],
) -> float:
    """The minimum loss of a partition of the records into groups that do not fail and suppressed records."""
    cells = points.histograms
    point_of = np.repeat(cells.owners, cells.counts)
    value_of = np.repeat(cells.values, cells.counts).astype(np.int64)
    records = len(point_of)
    sets = np.arange(1, 1 << records)
    contains = (sets[:, None] >> np.arange(records)) & 1 == 1
    owners, members = np.nonzero(contains)
    sizes = contains.sum(axis=1)
    costs = sizes * _box_costs(space, point_of, contains)
    passing = ~failing(points, owners, value_of[members], len(sets))
    return _least_partition(records, np.where(passing, costs, np.inf)) / records


def _box_costs(space: LabelSpace, point_of: Ids, contains: NDArray[np.bool_]) -> NDArray[np.float64]:
    """For every set of records (a row of ``contains``) the cost per record of the labels that cover it."""
    costs = np.zeros(len(contains))
    for column, weight in enumerate(space.weights):
        codes = space.codes[point_of, column].astype(np.int64)
        if space.spanned[column]:
            known = contains & (codes >= 0)
            low, high = (
                np.where(known, codes, np.iinfo(np.int64).max).min(axis=1),
                np.where(known, codes, -1).max(axis=1),
            )
            covered = np.maximum(high - low + 1, 0) * known.any(axis=1) + (contains & (codes < 0)).any(axis=1)
        else:
            covered = sum((contains & (codes == value)).any(axis=1).astype(np.int64) for value in np.unique(codes))
        costs += weight * (covered - 1)
    return costs


def _least_partition(records: int, costs: NDArray[np.float64]) -> float:
    """The minimum cost of a partition of all records; ``costs[s - 1]`` is the cost of the set of records with the bit mask ``s`` as one group, infinite if it fails."""
    minimum_costs = np.zeros(1)
    for higher in range(records):
        # The group of one more record, the lowest so far, contains some of the higher ones; the others are partitioned separately.
        lowest = records - 1 - higher
        group_costs = costs[(np.arange(1 << higher) << (lowest + 1)) + (1 << lowest) - 1]
        group_costs[0] = min(group_costs[0], 1.0)
        with_lowest = _disjoint_sums(minimum_costs, group_costs, higher)
        minimum_costs = np.stack([minimum_costs, with_lowest], axis=1).reshape(-1)
    return float(minimum_costs[-1])


def _disjoint_sums(first: NDArray[np.float64], second: NDArray[np.float64], bits: int) -> NDArray[np.float64]:
    """For every set of ``bits`` elements (a bit mask, the index of the result) the minimum of ``first[a] + second[b]`` over its partitions into two sets ``a`` and ``b``."""
    set_a, set_b = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    for bit in range(bits):
        # An element is in neither set, in the first, or in the second.
        set_a = np.concatenate([set_a, set_a + (1 << bit), set_a])
        set_b = np.concatenate([set_b, set_b, set_b + (1 << bit)])
    sums = first[set_a] + second[set_b]
    for bit in range(bits):
        shaped = sums.reshape(-1, 3, 1 << bit)
        sums = np.stack([shaped[:, 0], np.minimum(shaped[:, 1], shaped[:, 2])], axis=1).reshape(-1)
    return sums
