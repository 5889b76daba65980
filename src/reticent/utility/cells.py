"""The cells of a column in a release: what its rows show of it, and how much that is."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from reticent.base.packing import sum_by
from reticent.core import LeafSets
from reticent.table import BoundHierarchy


@dataclass(frozen=True)
class Cells:
    """The distinct cells of one quasi column.

    Block ``b`` shows cell ``of_block[b]``, which stands for a set of leaves (``sets``). Cell ``c`` covers ``covered[c]`` of the column's ``leaves``; ``spread[c]`` is its normalized
    certainty penalty; ``mass[c]`` counts the rows of the whole table whose value falls into it. ``histogram`` has the original values by leaf.
    """

    column: str
    of_block: NDArray[np.int64]
    sets: LeafSets
    covered: NDArray[np.int64]
    spread: NDArray[np.float64]
    mass: NDArray[np.int64]
    histogram: NDArray[np.int64]

    @property
    def leaves(self) -> int:
        """The number of leaves of the column."""
        return len(self.histogram)

    @classmethod
    def of(cls, hierarchy: BoundHierarchy, sets: LeafSets, histogram: NDArray[np.int64]) -> Cells:
        """The cells of groups that show sets of leaves."""
        covered = sets.covered()
        spread = _spread(hierarchy, sets, covered)
        return cls(hierarchy.column, sets.of_block, sets, covered, spread, sets.mass(histogram), histogram)

    def counting(self, histogram: NDArray[np.int64]) -> Cells:
        """The same cells of a table whose rows have other values or weights."""
        return replace(self, histogram=histogram, mass=self.sets.mass(histogram))

    def shown(self, blocks: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many published rows show each cell, given the rows of every block."""
        return sum_by(self.of_block, blocks, len(self.covered))

    def covering(self) -> NDArray[np.bool_]:
        """Leaves by cells: whether a cell covers a leaf."""
        return self.sets.matrix()

    def inside(self, low: int, high: int) -> NDArray[np.int64]:
        """How many leaves of each cell lie among the leaves ``low`` to ``high``, both included."""
        return self.sets.between(low, high)


def _spread(hierarchy: BoundHierarchy, sets: LeafSets, covered: NDArray[np.int64]) -> NDArray[np.float64]:
    """Normalized certainty penalty: for numbers and dates the range of the cell by that of all leaves,
    otherwise the leaves covered by all leaves; nothing for a single leaf."""
    by_leaves = np.where(covered > 1, covered / hierarchy.size, 0.0)
    if not hierarchy.is_numeric:
        return by_leaves
    # The range of floats may be wider than any float; that of their halves is not, and shares of it are the same.
    halves = hierarchy.numbers() / 2
    width = float(np.nanmax(halves) - np.nanmin(halves)) if not np.isnan(halves).all() else 0.0
    if not 0 < width < np.inf:
        return by_leaves
    low, high = sets.ends(halves)
    return np.where(covered > 1, (high - low) / width, 0.0)
