"""The cells of a column in a release: the published labels as sets of leaves, and their sizes."""

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

    Block ``b`` has cell ``of_block[b]``, which represents a set of leaves (``sets``). Cell ``c`` covers ``covered[c]``
    of the column's ``leaves``; ``spread[c]`` is its normalized certainty penalty; ``mass[c]`` counts the rows of the
    whole table with a value in it. ``histogram`` has the original values by leaf.
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
        """The cells of groups given as sets of leaves."""
        covered = sets.covered()
        spread = _spread(hierarchy, sets, covered)
        return cls(hierarchy.column, sets.of_block, sets, covered, spread, sets.mass(histogram), histogram)

    def counting(self, histogram: NDArray[np.int64]) -> Cells:
        """The same cells for a table whose rows have other values or weights."""
        return replace(self, histogram=histogram, mass=self.sets.mass(histogram))

    def shown(self, blocks: NDArray[np.int64]) -> NDArray[np.int64]:
        """The number of published rows with each cell, given the rows of every block."""
        return sum_by(self.of_block, blocks, len(self.covered))

    def covering(self) -> NDArray[np.bool_]:
        """Boolean matrix, leaves by cells: whether a cell covers a leaf."""
        return self.sets.matrix()

    def inside(self, low: int, high: int) -> NDArray[np.int64]:
        """The number of leaves of each cell among the leaves ``low`` to ``high``, inclusive."""
        return self.sets.between(low, high)


def _spread(hierarchy: BoundHierarchy, sets: LeafSets, covered: NDArray[np.int64]) -> NDArray[np.float64]:
    """Normalized certainty penalty: for numbers and dates the range of the cell over that of all leaves, otherwise the
    leaves covered over all leaves; 0 for a single leaf. Source: [Xu2006].
    """
    by_leaves = np.where(covered > 1, covered / hierarchy.size, 0.0)
    if not hierarchy.is_numeric:
        return by_leaves
    # The range of floats may overflow; that of their halves does not, and the shares are the same.
    halves = hierarchy.numbers() / 2
    width = float(np.nanmax(halves) - np.nanmin(halves)) if not np.isnan(halves).all() else 0.0
    if not 0 < width < np.inf:
        return by_leaves
    low, high = sets.ends(halves)
    return np.where(covered > 1, (high - low) / width, 0.0)
