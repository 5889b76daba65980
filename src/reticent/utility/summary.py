"""A summary of a release with its original table: the input of utility measures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from reticent.base.packing import sum_by
from reticent.core import WEIGHT, FrequencySet, Histograms, PublishedCells
from reticent.errors import PolicyError
from reticent.utility.cells import Cells


@dataclass(frozen=True)
class ReleaseSummary:
    """A grouping by column, with the table that it was made from.

    ``sizes`` and ``histograms`` are those of the published groups. ``blocks`` counts the published rows with the same
    quasi cells, and ``cells`` has these by column: a block is a group or, if the quasi values are published unchanged
    (``exact``), a point. ``original`` is the table that it was made from; ``group_of_point`` is the group of each of
    its points (-1: suppressed). ``levels`` are the levels of a full-domain generalization. ``volumes`` is the number of
    leaf combinations of each group if it is not the product of its cells: its region has holes, or there are several.
    """

    original: FrequencySet
    sizes: NDArray[np.int64]
    blocks: NDArray[np.int64]
    cells: tuple[Cells, ...]
    histograms: Histograms
    suppressed_histogram: NDArray[np.int64]
    group_of_point: NDArray[np.int64]
    exact: bool = False
    levels: tuple[int, ...] | None = None
    volumes: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        """Raise an error if the table is empty, or smaller than the published groups."""
        if self.rows < 1:
            raise PolicyError("A summary needs at least one row; the table is empty.")
        if int(self.sizes.sum()) > self.rows:
            raise PolicyError(
                f"A summary's groups hold {int(self.sizes.sum())} rows, more than the {self.rows} of the table."
            )

    @classmethod
    def of(cls, counted: FrequencySet, cells: PublishedCells) -> ReleaseSummary:
        """The release that publishes ``cells`` of a counted table."""
        cells_by_column = tuple(
            Cells.of(hierarchy, column, histogram)
            for hierarchy, column, histogram in zip(counted.hierarchies, cells.columns, _columns(counted), strict=True)
        )
        blocks = counted.sizes[cells.group_of_point >= 0] if cells.exact else None
        summary = cls._from_groups(
            counted, cells.group_of_point, cells.count, cells_by_column, blocks, cells.exact, cells.levels
        )
        return replace(summary, volumes=cells.volumes)

    @classmethod
    def _from_groups(
        cls,
        frequencies: FrequencySet,
        group_of_point: NDArray[np.int64],
        count: int,
        cells: tuple[Cells, ...],
        blocks: NDArray[np.int64] | None,
        exact: bool,
        levels: tuple[int, ...] | None,
    ) -> ReleaseSummary:
        """Summarize groups given as the group of every point (-1: suppressed); ``blocks`` is None if the blocks are the groups."""
        # Suppressed points form an extra group after the others, which is removed again.
        group_or_last = np.where(group_of_point < 0, count, group_of_point)
        histograms = frequencies.histograms.merge(group_or_last, count + 1)
        published = np.arange(count + 1) < count
        sizes = sum_by(group_or_last, frequencies.sizes, count + 1)[:count]
        return cls(
            frequencies,
            sizes,
            sizes if blocks is None else blocks,
            cells,
            histograms.select(published),
            histograms.select(~published).total(frequencies.domain.size),
            group_of_point.astype(np.int64),
            exact,
            levels,
        )

    def weighted(self) -> ReleaseSummary | None:
        """The same release with rows counted by weight, without sensitive values.

        None if rows have no weights, or if only some rows of a group were suppressed, since it is unknown which.
        """
        published = self.group_of_point >= 0
        published_rows = sum_by(self.group_of_point[published], self.original.sizes[published], len(self.sizes))
        if WEIGHT not in self.original.extras or not np.array_equal(published_rows, self.sizes):
            return None
        counted = self.original.weighted()
        cells = tuple(
            column_cells.counting(histogram)
            for column_cells, histogram in zip(self.cells, _columns(counted), strict=True)
        )
        blocks = counted.sizes[published] if self.exact else None
        summary = ReleaseSummary._from_groups(
            counted, self.group_of_point, len(self.sizes), cells, blocks, self.exact, self.levels
        )
        return replace(summary, volumes=self.volumes)

    @property
    def rows(self) -> int:
        """The number of rows of the original table."""
        return self.original.rows

    @property
    def complete(self) -> bool:
        """True if the original values are known; counts at coarser levels cannot be compared."""
        return not any(self.original.levels)

    @property
    def columns(self) -> tuple[str, ...]:
        """The quasi columns."""
        return tuple(cells.column for cells in self.cells)

    @cached_property
    def suppressed(self) -> int:
        """The number of suppressed rows."""
        return self.rows - int(self.sizes.sum())

    def mean_by_column(self, per_cell: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        """For every column the mean over all rows of a cost per cell; a suppressed row costs 1."""
        sums = [float(cells.shown(self.blocks) @ cost) for cells, cost in zip(self.cells, per_cell, strict=True)]
        return (np.array(sums) + self.suppressed) / self.rows


def _columns(frequencies: FrequencySet) -> list[NDArray[np.int64]]:
    """For every column the rows of the table by leaf; above level 0 all rows of a category count at its first leaf."""
    counts = []
    for hierarchy, level, codes in zip(frequencies.hierarchies, frequencies.levels, frequencies.codes, strict=True):
        by_category = sum_by(codes, frequencies.sizes, hierarchy.levels[level].size)
        first_leaf = np.zeros(len(by_category), dtype=np.int64)
        first_leaf[hierarchy.levels[level].parts[::-1]] = np.arange(hierarchy.size)[::-1]
        counts.append(sum_by(first_leaf, by_category, hierarchy.size))
    return counts
