"""A picture of a release: everything about it that a measure of utility looks at, made beside the original table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from reticent.base.packing import first_rows, sum_by
from reticent.core import WEIGHT, FrequencySet, Histograms, Regions
from reticent.errors import PolicyError
from reticent.utility.leaf_sets import Cells, LeafSets


@dataclass(frozen=True)
class ReleaseSummary:
    """What a grouping looks like, column by column, beside the table that it was made from.

    ``sizes`` and ``histograms`` are those of the published groups. ``blocks`` counts the published rows that show the same quasi cells, and
    ``cells`` says which, column by column: a block is a group or, where the quasi values are published as they are (``exact``), a point. ``original`` is the table that it was made from;
    ``group_of_point`` says where each of its points went (-1: suppressed). ``levels`` are the levels of a full-domain generalization. ``volumes`` says how many combinations of
    leaves each group holds where that is not the product of its cells: its region has holes, or there are several.
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
        if self.rows < 1:
            raise PolicyError("A picture needs at least one row; the table is empty.")
        if int(self.sizes.sum()) > self.rows:
            raise PolicyError(
                f"A picture's groups hold {int(self.sizes.sum())} rows, more than the {self.rows} of the table."
            )

    @classmethod
    def of_levels(
        cls,
        frequencies: FrequencySet,
        levels: Sequence[int],
        suppressed: NDArray[np.bool_] | None = None,
        exact: bool = False,
    ) -> ReleaseSummary:
        """The release that generalizes every column to a level and leaves out the groups under ``suppressed``.

        Groups are numbered as ``frequencies.generalize(levels)`` numbers them. With ``exact`` the quasi values stay as
        they are, and the groups are the buckets.
        """
        ids, count = frequencies.group_ids(levels)
        kept = np.ones(count, dtype=bool) if suppressed is None else ~suppressed
        group_of_point = np.where(kept, np.cumsum(kept) - 1, -1)[ids]
        shown = frequencies.levels if exact else tuple(levels)
        firsts = np.flatnonzero(group_of_point >= 0) if exact else first_rows(ids, count)[kept]
        cells = tuple(
            Cells.of_level(hierarchy, level, hierarchy.between(start, level)[codes[firsts]], histogram)
            for hierarchy, start, level, codes, histogram in zip(
                frequencies.hierarchies,
                frequencies.levels,
                shown,
                frequencies.codes,
                _columns(frequencies),
                strict=True,
            )
        )
        blocks = frequencies.sizes[firsts] if exact else None
        return cls._made(frequencies, group_of_point, int(kept.sum()), cells, blocks, exact, tuple(levels))

    @classmethod
    def of_buckets(cls, rows: FrequencySet, bucket: NDArray[np.int64], count: int) -> ReleaseSummary:
        """The release that shows the quasi values of ``rows``, each a point of its own, as they are, and puts them into buckets one by one."""
        cells = tuple(
            Cells.of_level(hierarchy, 0, codes, histogram)
            for hierarchy, codes, histogram in zip(rows.hierarchies, rows.codes, _columns(rows), strict=True)
        )
        return cls._made(rows, bucket, count, cells, rows.sizes, True, None)

    @classmethod
    def of_cells(
        cls, frequencies: FrequencySet, group_of_point: NDArray[np.int64], count: int, columns: Sequence[LeafSets]
    ) -> ReleaseSummary:
        """The release that sends each point to a group (-1: left out) which shows one set of leaves in every column."""
        cells = tuple(
            Cells.of_leaf_sets(hierarchy, column, histogram)
            for hierarchy, column, histogram in zip(
                frequencies.hierarchies, columns, _columns(frequencies), strict=True
            )
        )
        return cls._made(frequencies, group_of_point, count, cells, None, False, None)

    @classmethod
    def of_regions(
        cls, frequencies: FrequencySet, regions: Regions, volumes: NDArray[np.float64] | None = None
    ) -> ReleaseSummary:
        """The release that sends each point of ``frequencies`` to a group that shows one cell in every column, and holds ``volumes`` combinations of their leaves."""
        cells = tuple(
            Cells.of_meanings(hierarchy, column.meanings, column.of_group, histogram)
            for hierarchy, column, histogram in zip(
                frequencies.hierarchies, regions.columns, _columns(frequencies), strict=True
            )
        )
        made = cls._made(frequencies, regions.group, len(regions.columns[0].of_group), cells, None, False, None)
        return replace(made, volumes=volumes)

    @classmethod
    def _made(
        cls,
        frequencies: FrequencySet,
        group_of_point: NDArray[np.int64],
        count: int,
        cells: tuple[Cells, ...],
        blocks: NDArray[np.int64] | None,
        exact: bool,
        levels: tuple[int, ...] | None,
    ) -> ReleaseSummary:
        # Suppressed points are gathered in a group of their own behind the others, and taken off again.
        behind = np.where(group_of_point < 0, count, group_of_point)
        every = frequencies.histograms.merge(behind, count + 1)
        kept = np.arange(count + 1) < count
        sizes = sum_by(behind, frequencies.sizes, count + 1)[:count]
        return cls(
            frequencies,
            sizes,
            sizes if blocks is None else blocks,
            cells,
            every.select(kept),
            every.select(~kept).total(frequencies.domain.size),
            group_of_point.astype(np.int64),
            exact,
            levels,
        )

    def weighted(self) -> ReleaseSummary | None:
        """The same release, a row counted as often as its weight says; sensitive values are left out.

        None where rows have no weights, or where only some rows of a group were left out, since it is not known which.
        """
        published = self.group_of_point >= 0
        whole = sum_by(self.group_of_point[published], self.original.sizes[published], len(self.sizes))
        if WEIGHT not in self.original.extras or not np.array_equal(whole, self.sizes):
            return None
        counted = self.original.weighted()
        cells = tuple(each.counting(histogram) for each, histogram in zip(self.cells, _columns(counted), strict=True))
        blocks = counted.sizes[published] if self.exact else None
        made = ReleaseSummary._made(
            counted, self.group_of_point, len(self.sizes), cells, blocks, self.exact, self.levels
        )
        return replace(made, volumes=self.volumes)

    @property
    def rows(self) -> int:
        """The rows of the original table."""
        return self.original.rows

    @property
    def complete(self) -> bool:
        """Whether the original values are known; counted from a coarser level on, they cannot be compared with."""
        return not any(self.original.levels)

    @property
    def columns(self) -> tuple[str, ...]:
        """The quasi columns."""
        return tuple(cells.column for cells in self.cells)

    @cached_property
    def suppressed(self) -> int:
        """How many rows were left out."""
        return self.rows - int(self.sizes.sum())

    def mean_by_column(self, per_cell: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        """For every column the mean over all rows of a cost per cell, a suppressed row costing one."""
        sums = [float(cells.shown(self.blocks) @ cost) for cells, cost in zip(self.cells, per_cell, strict=True)]
        return (np.array(sums) + self.suppressed) / self.rows


class Summarizer(Protocol):
    """What a picture can be drawn of, when somebody looks at it."""

    def picture(self) -> ReleaseSummary:
        """Draw it."""


@dataclass(frozen=True, eq=False)
class LevelsSummary:
    """The release that :meth:`ReleaseSummary.of_levels` draws."""

    frequencies: FrequencySet
    levels: tuple[int, ...]
    suppressed: NDArray[np.bool_]
    exact: bool

    def picture(self) -> ReleaseSummary:
        return ReleaseSummary.of_levels(self.frequencies, self.levels, self.suppressed, self.exact)


@dataclass(frozen=True, eq=False)
class BucketsSummary:
    """The release that :meth:`ReleaseSummary.of_buckets` draws."""

    rows: FrequencySet
    bucket: NDArray[np.int64]
    count: int

    def picture(self) -> ReleaseSummary:
        return ReleaseSummary.of_buckets(self.rows, self.bucket, self.count)


class LeafCover(Protocol):
    """What the groups of a release show of a column."""

    def leaf_sets(self) -> LeafSets:
        """The sets of leaves."""


@dataclass(frozen=True, eq=False)
class CellsSummary:
    """The release that :meth:`ReleaseSummary.of_cells` draws."""

    frequencies: FrequencySet
    group_of_point: NDArray[np.int64]
    count: int
    columns: Sequence[LeafCover]

    def picture(self) -> ReleaseSummary:
        shown = [column.leaf_sets() for column in self.columns]
        return ReleaseSummary.of_cells(self.frequencies, self.group_of_point, self.count, shown)


@dataclass(frozen=True, eq=False)
class RegionsSummary:
    """The release that :meth:`ReleaseSummary.of_regions` draws."""

    frequencies: FrequencySet
    regions: Regions
    volumes: NDArray[np.float64] | None = None

    def picture(self) -> ReleaseSummary:
        return ReleaseSummary.of_regions(self.frequencies, self.regions, self.volumes)


def _columns(frequencies: FrequencySet) -> list[NDArray[np.int64]]:
    """For every column the rows of the table by leaf; above level 0 all rows of a part are put on its first leaf."""
    found = []
    for hierarchy, level, codes in zip(frequencies.hierarchies, frequencies.levels, frequencies.codes, strict=True):
        by_part = sum_by(codes, frequencies.sizes, hierarchy.levels[level].size)
        first_leaf = np.zeros(len(by_part), dtype=np.int64)
        first_leaf[hierarchy.levels[level].parts[::-1]] = np.arange(hierarchy.size)[::-1]
        found.append(sum_by(first_leaf, by_part, hierarchy.size))
    return found
