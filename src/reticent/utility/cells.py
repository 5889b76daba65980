"""The cells of a column in a release: what its rows show of it, and how much that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.data import BoundHierarchy, LeafIndex, Meaning, sum_by


@dataclass(frozen=True)
class LeafSets:
    """Distinct sets of leaves: set ``owners[i]`` has the leaf ``leaves[i]``, and block ``b`` shows set ``of_block[b]``."""

    leaves: NDArray[np.int64]
    owners: NDArray[np.int64]
    count: int
    of_block: NDArray[np.int64]


@dataclass(frozen=True)
class Cells:
    """The distinct cells of one quasi column.

    Block ``b`` shows cell ``of_block[b]``. Cell ``c`` covers ``covered[c]`` of the column's ``leaves``; ``spread[c]`` is its normalized
    certainty penalty (R-UM-2); ``mass[c]`` counts the rows of the whole table whose value falls into it. ``members``
    lists, leaf by leaf (from ``offsets[leaf]`` on), the cells that cover it. ``histogram`` has the original values by leaf.
    """

    column: str
    of_block: NDArray[np.int64]
    offsets: NDArray[np.int64]
    members: NDArray[np.int64]
    covered: NDArray[np.int64]
    spread: NDArray[np.float64]
    mass: NDArray[np.int64]
    histogram: NDArray[np.int64]

    @property
    def leaves(self) -> int:
        """The number of leaves of the column."""
        return len(self.histogram)

    @classmethod
    def of_level(
        cls, hierarchy: BoundHierarchy, level: int, of_block: NDArray[np.integer[Any]], histogram: NDArray[np.int64]
    ) -> Cells:
        """The cells of a level of a hierarchy."""
        parts = hierarchy.levels[level].parts.astype(np.int64)
        leaves = np.arange(hierarchy.size)
        return cls._of_pairs(hierarchy, leaves, parts, hierarchy.levels[level].size, of_block, histogram)

    @classmethod
    def of_leaf_sets(cls, hierarchy: BoundHierarchy, sets: LeafSets, histogram: NDArray[np.int64]) -> Cells:
        """The cells of groups that show sets of leaves."""
        return cls._of_pairs(hierarchy, sets.leaves, sets.owners, sets.count, sets.of_block, histogram)

    @classmethod
    def of_meanings(
        cls,
        hierarchy: BoundHierarchy,
        meanings: Sequence[Meaning],
        of_block: NDArray[np.integer[Any]],
        histogram: NDArray[np.int64],
    ) -> Cells:
        """The cells of groups that are described one by one: what each distinct cell means."""
        index = LeafIndex.of(hierarchy.leaves, hierarchy.column)
        found = [index.under(meaning) for meaning in meanings]
        cells = np.repeat(np.arange(len(found)), [len(leaves) for leaves in found])
        leaves = np.concatenate(found) if found else np.zeros(0, dtype=np.int64)
        return cls._of_pairs(hierarchy, leaves, cells, len(found), of_block, histogram)

    @classmethod
    def _of_pairs(
        cls,
        hierarchy: BoundHierarchy,
        leaves: NDArray[np.int64],
        cells: NDArray[np.int64],
        count: int,
        of_block: NDArray[np.integer[Any]],
        histogram: NDArray[np.int64],
    ) -> Cells:
        order = np.argsort(leaves, kind="stable")
        leaves, cells = leaves[order], cells[order]
        offsets = np.searchsorted(leaves, np.arange(hierarchy.size + 1)).astype(np.int64)
        covered = np.bincount(cells, minlength=count).astype(np.int64)
        mass = np.bincount(cells, weights=histogram[leaves], minlength=count).astype(np.int64)
        spread = _spread(hierarchy, leaves, cells, covered)
        return cls(hierarchy.column, of_block.astype(np.int64), offsets, cells, covered, spread, mass, histogram)

    def counting(self, histogram: NDArray[np.int64]) -> Cells:
        """The same cells of a table whose rows have other values or weights."""
        leaves = np.repeat(np.arange(self.leaves), np.diff(self.offsets))
        return replace(self, histogram=histogram, mass=sum_by(self.members, histogram[leaves], len(self.covered)))

    def shown(self, blocks: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many published rows show each cell, given the rows of every block."""
        return sum_by(self.of_block, blocks, len(self.covered))

    def covering(self) -> NDArray[np.bool_]:
        """Leaves by cells: whether a cell covers a leaf."""
        found = np.zeros((self.leaves, len(self.covered)), dtype=bool)
        found[np.repeat(np.arange(self.leaves), np.diff(self.offsets)), self.members] = True
        return found

    def inside(self, low: int, high: int) -> NDArray[np.int64]:
        """How many leaves of each cell lie among the leaves ``low`` to ``high``, both included."""
        chosen = self.members[self.offsets[low] : self.offsets[high + 1]]
        return np.bincount(chosen, minlength=len(self.covered)).astype(np.int64)


def _spread(
    hierarchy: BoundHierarchy, leaves: NDArray[np.int64], cells: NDArray[np.int64], covered: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Normalized certainty penalty (R-UM-2): for numbers and dates the range of the cell by that of all leaves,
    otherwise the leaves covered by all leaves; nothing for a single leaf."""
    by_leaves = np.where(covered > 1, covered / hierarchy.size, 0.0)
    if not hierarchy.is_numeric:
        return by_leaves
    numbers = hierarchy.numbers()
    width = float(np.nanmax(numbers) - np.nanmin(numbers)) if not np.isnan(numbers).all() else 0.0
    if width == 0:
        return by_leaves
    low, high = np.full(len(covered), np.inf), np.full(len(covered), -np.inf)
    known = ~np.isnan(numbers[leaves])
    np.minimum.at(low, cells[known], numbers[leaves[known]])
    np.maximum.at(high, cells[known], numbers[leaves[known]])
    return np.where(covered > 1, (high - low) / width, 0.0)
