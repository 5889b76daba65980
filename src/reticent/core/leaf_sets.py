"""Sets of leaves: what the published groups reveal about one quasi column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.base.packing import sum_by
from reticent.base.ragged import starts_of
from reticent.table import BoundHierarchy, LeafIndex, Meaning


@dataclass(frozen=True)
class LeafSets:
    """Distinct sets of leaves as segments of an order of the leaves, so a range of a hundred thousand numbers is one
    segment.

    ``leaf_at`` has the leaf at every position of the order: numbers and dates by value, a null last. Segment ``i``
    covers the positions from ``starts[i]`` up to ``stops[i]`` and belongs to set ``owners[i]`` of ``count``; segments
    of one set do not overlap. Block ``b`` has set ``of_block[b]``.
    """

    leaf_at: NDArray[np.int64]
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    owners: NDArray[np.int64]
    count: int
    of_block: NDArray[np.int64]

    @classmethod
    def of_pairs(
        cls,
        hierarchy: BoundHierarchy,
        leaves: NDArray[np.int64],
        owners: NDArray[np.int64],
        count: int,
        of_block: NDArray[np.integer[Any]],
    ) -> LeafSets:
        """Return sets of leaves of a hierarchy, given leaf by leaf: set ``owners[i]`` contains the leaf ``leaves[i]``.

        ``count`` is the number of sets, ``of_block`` the set of each block. Each set is stored as runs of consecutive
        leaves.
        """
        leaf_at = leaves_in_order(hierarchy)
        rank_of = np.empty(len(leaf_at), dtype=np.int64)
        rank_of[leaf_at] = np.arange(len(leaf_at))
        ranks = rank_of[leaves]
        order = np.lexsort((ranks, owners))
        ranks, sets = ranks[order], owners[order]
        starts_run = np.ones(len(ranks), dtype=bool)
        starts_run[1:] = (sets[1:] != sets[:-1]) | (ranks[1:] != ranks[:-1] + 1)
        first = np.flatnonzero(starts_run)
        last = np.append(first[1:], len(ranks))[: len(first)] - 1
        return cls(
            leaf_at,
            ranks[first],
            stops=ranks[last] + 1,
            owners=sets[first],
            count=count,
            of_block=of_block.astype(np.int64),
        )

    @classmethod
    def of_level(cls, hierarchy: BoundHierarchy, level: int, of_block: NDArray[np.integer[Any]]) -> LeafSets:
        """Return the categories of a hierarchy level as sets of leaves; ``of_block`` is the category of each block."""
        partition = hierarchy.levels[level]
        return cls.of_pairs(
            hierarchy, np.arange(hierarchy.size), partition.parts.astype(np.int64), partition.size, of_block
        )

    @classmethod
    def of_meanings(
        cls, hierarchy: BoundHierarchy, meanings: Sequence[Meaning], of_block: NDArray[np.integer[Any]]
    ) -> LeafSets:
        """The leaves covered by each of some meanings."""
        index = LeafIndex.of(hierarchy.leaves, hierarchy.column)
        leaf_lists = [index.under(meaning) for meaning in meanings]
        owners = np.repeat(np.arange(len(leaf_lists)), [len(leaves) for leaves in leaf_lists])
        leaves = np.concatenate(leaf_lists) if leaf_lists else np.zeros(0, dtype=np.int64)
        return cls.of_pairs(hierarchy, leaves, owners, len(leaf_lists), of_block)

    def covered(self) -> NDArray[np.int64]:
        """The number of leaves of each set."""
        return sum_by(self.owners, self.stops - self.starts, self.count)

    def mass(self, histogram: NDArray[np.int64]) -> NDArray[np.int64]:
        """The number of rows of each set, given those of every leaf."""
        upto = starts_of(histogram[self.leaf_at])
        return sum_by(self.owners, upto[self.stops] - upto[self.starts], self.count)

    def ends(self, numbers: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The minimum and maximum of each set, given the numbers of the leaves (NaN for null, which is last)."""
        ordered = numbers[self.leaf_at]
        number_count = int((~np.isnan(ordered)).sum())
        has_number = self.starts < number_count
        low, high = np.full(self.count, np.inf), np.full(self.count, -np.inf)
        np.minimum.at(low, self.owners[has_number], ordered[self.starts[has_number]])
        np.maximum.at(high, self.owners[has_number], ordered[np.minimum(self.stops[has_number], number_count) - 1])
        return low, high

    def between(self, low: int, high: int) -> NDArray[np.int64]:
        """The number of leaves of each set among the leaves ``low`` to ``high``, inclusive."""
        chosen = starts_of((self.leaf_at >= low) & (self.leaf_at <= high))
        return sum_by(self.owners, chosen[self.stops] - chosen[self.starts], self.count)

    def matrix(self) -> NDArray[np.bool_]:
        """Boolean matrix, leaves by sets: whether a set contains a leaf."""
        steps = np.zeros((len(self.leaf_at) + 1, self.count), dtype=np.int8)
        np.add.at(steps, (self.starts, self.owners), 1)
        np.add.at(steps, (self.stops, self.owners), -1)
        contains = np.zeros((len(self.leaf_at), self.count), dtype=bool)
        contains[self.leaf_at] = np.cumsum(steps[:-1], axis=0, dtype=np.int8) > 0
        return contains


def leaves_in_order(hierarchy: BoundHierarchy) -> NDArray[np.int64]:
    """The leaves in segment order: numbers and dates by value, a null last; others by code."""
    if not hierarchy.is_numeric or hierarchy.leaves.is_sorted(nulls_last=True):
        return np.arange(hierarchy.size)
    return hierarchy.leaves.arg_sort(nulls_last=True).to_numpy().astype(np.int64)
