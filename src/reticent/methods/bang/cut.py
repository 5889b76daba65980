"""A cut of an index: classes made of blocks, their published form, and the draft of a release."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.context import Context
from reticent.base.packing import number, pack
from reticent.core import Draft, Groups, RegionColumn, Regions, Shape
from reticent.definitions import GroupDefinition
from reticent.errors import PolicyError
from reticent.methods.bang._kernels import loops_for
from reticent.methods.bang.cell_space import GridSpace, Ids
from reticent.methods.bang.cut_series import beside_cuts, noted_of
from reticent.methods.bang.directory import halving_arrays
from reticent.methods.bang.shape import Nested, Patched
from reticent.methods.grouping import Grouping, GroupRun, PublishedGroups, SuppressedGroups, seen_as
from reticent.methods.typical import group_column
from reticent.table import FrameRows, Meaning, Missing, OrMissing, Table, ValueType, unused

if TYPE_CHECKING:
    from reticent.methods.bang.region_index import BangIndex

FORMAT = "regions"
LEVEL, FROM, BELOW, MISSING, EXTENT = "level", "{} from", "{} below", "{} missing", "{} extent"
_LARGEST_TABLE = 1 << 22
COLUMN, VALUE, PLACE = "quasi column", "quasi value", "place"


@dataclass(frozen=True)
class PublishedRegions:
    """The regions of a release: class and level of each, and the half-open cell ranges ``lows``..``highs`` on every axis
    (rows). ``of_block`` is the published region of each block.
    """

    group: Ids
    level: Ids
    lows: Ids
    highs: Ids
    of_block: Ids

    def __len__(self) -> int:
        return len(self.group)


@dataclass(frozen=True)
class ClusterRanges:
    """The cell ranges of clusters on one axis: the distinct ranges encoded as integers (``codes``: first cell times side
    plus end), and the index of each cluster's range.
    """

    codes: Ids
    of_cluster: NDArray[Any]

    @classmethod
    def along(cls, space: GridSpace, lows: NDArray[Any], highs: NDArray[Any]) -> tuple[ClusterRanges, ...]:
        """Return the ranges of boxes on every axis."""
        ranges = []
        for axis, low, high in zip(space.axes, lows, highs, strict=True):
            side = axis.cells + 1
            codes, range_of = _numbered(low.astype(np.int64) * side + high, side * side)
            ranges.append(cls(codes, range_of.astype(np.min_scalar_type(len(codes)))))
        return tuple(ranges)


@dataclass(frozen=True)
class AxisLabels:
    """Labels of classes on one axis: the distinct ``labels`` with their ``meanings``, and the label of each class.

    ``codes`` are the distinct described cell ranges as integers (first cell times ``side`` plus end), those of classes
    first.
    """

    labels: list[str]
    meanings: list[Meaning]
    of_class: Ids
    codes: Ids
    side: int

    @property
    def ranges(self) -> Ids:
        """The described ranges (rows)."""
        return _ranges_of(self.codes, self.side)


@dataclass(frozen=True)
class RegionLabels(AxisLabels):
    """Labels of classes and regions on one axis: class labels come first, with the same numbers; region ``r`` has label
    ``of_region[r]`` and is the range ``range_of[r]``.
    """

    of_region: Ids
    range_of: Ids


@dataclass(frozen=True, eq=False)
class BangCut:
    """A cut of an index: every block in one of ``count`` classes (``group``), each of which satisfies the definition. Made
    without scanning the table.

    ``clusters`` is the dendrogram cluster of every class; a cluster number below the number of blocks is a block.
    ``guarded``: classes were split as far as their sensitive values allow, from ``k`` people on. ``raised``: sensitive
    values required a larger ``k`` than counts did.
    """

    index: BangIndex
    group: Ids
    count: int
    clusters: Ids
    k: int
    guarded: bool = False
    raised: bool = False

    @classmethod
    def of(cls, index: BangIndex, clusters: Ids, k: int, *, guarded: bool = False, raised: bool = False) -> BangCut:
        """Build a cut whose classes are ``clusters`` of the dendrogram, numbered by their first block, so that numbers disclose only positions."""
        tree = index.dendrogram
        group, count = tree.classes(clusters), len(clusters)
        first_blocks = np.empty(count, dtype=np.int64)
        first_blocks[group[::-1]] = np.arange(len(group))[::-1]
        is_first = np.zeros(len(group), dtype=bool)
        is_first[first_blocks] = True
        number_of_cluster = (np.cumsum(is_first) - 1)[first_blocks]
        return cls(index, number_of_cluster.take(group), count, clusters.take(group[is_first]), k, guarded, raised)

    @classmethod
    def of_blocks(cls, index: BangIndex, k: int) -> BangCut:
        """Build the cut in which every block is a class: needs no dendrogram."""
        blocks = np.arange(len(index.directory))
        return cls(index, blocks, len(blocks), blocks, k)

    @cached_property
    def groups(self) -> Groups:
        """The classes with their sensitive values."""
        return self.index.blocks.merged(self.group.astype(np.int32), self.count)

    @property
    def labels(self) -> Ids:
        """The class of every distinct point of the table, in the order of the index."""
        self._check_points()
        return self.group[self.index.region_of]

    @cached_property
    def published(self) -> PublishedRegions:
        """The published regions of the classes: a region inside one of its own class is dropped, and two halves of one class are joined."""
        directory = self.index.directory
        level, merged_into = directory.level.copy(), np.zeros(len(directory), dtype=np.int64)
        loops = loops_for(len(directory) * len(directory.space.axes))
        loops.shown(
            self.group, directory.encloser, level, directory.lows, *halving_arrays(directory.space), merged_into
        )
        kept_regions = np.flatnonzero(merged_into == np.arange(len(merged_into)))
        lows, highs = directory.space.boxes(directory.lows[:, kept_regions], level[kept_regions])
        index_of = np.zeros(len(merged_into), dtype=np.int64)
        index_of[kept_regions] = np.arange(len(kept_regions))
        return PublishedRegions(self.group[kept_regions], level[kept_regions], lows, highs, index_of[merged_into])

    @cached_property
    def extents(self) -> tuple[Ids, Ids]:
        """The half-open cell ranges that the rows of every published region actually occupy on each axis (row)."""
        published, index = self.published, self.index
        cells = index.space.cells(index.units.codes)
        owner = published.of_block[index.region_of]
        lows = np.full((len(cells), len(published)), np.iinfo(np.int64).max)
        highs = np.full((len(cells), len(published)), -1, dtype=np.int64)
        for axis, axis_cells in enumerate(cells):
            np.minimum.at(lows[axis], owner, axis_cells)
            np.maximum.at(highs[axis], owner, axis_cells)
        return lows, highs + 1

    @property
    def _ranges(self) -> tuple[ClusterRanges, ...]:
        blocks = len(self.index.directory)
        return self.index.block_ranges if int(self.clusters.max()) < blocks else self.index.cluster_ranges

    @cached_property
    def axes(self) -> tuple[AxisLabels, ...]:
        """The labels of classes on every axis: the range from the first cell of their regions to the last."""
        labels_by_axis = []
        for axis, ranges in zip(self.index.space.axes, self._ranges, strict=True):
            range_of_class = ranges.of_cluster.take(self.clusters)
            is_shown = np.zeros(len(ranges.codes), dtype=bool)
            is_shown[range_of_class] = True
            codes, side = ranges.codes[is_shown], axis.cells + 1
            labels, meanings, label_of_range = axis.described(_ranges_of(codes, side))
            label_of = np.zeros(len(is_shown), dtype=np.int64)
            label_of[is_shown] = label_of_range
            labels_by_axis.append(AxisLabels(labels, meanings, label_of.take(range_of_class), codes, side))
        return tuple(labels_by_axis)

    @property
    def losses(self) -> dict[str, float]:
        """The loss of every column: the mean over rows of (leaves covered by the class - 1) / (leaves - 1)."""
        rows = self.groups.sizes / max(int(self.groups.sizes.sum()), 1)
        losses = {}
        for axis, ranges in zip(self.index.space.axes, self._ranges, strict=True):
            low, high = np.divmod(ranges.codes.take(ranges.of_cluster.take(self.clusters)), axis.cells + 1)
            before = np.concatenate([[0], np.cumsum(np.bincount(axis.cell_of, minlength=axis.cells))])
            shares = (before[high] - before[low] - 1) / max(axis.hierarchy.size - 1, 1)
            losses[axis.hierarchy.column] = float(shares @ rows)
        return losses

    @cached_property
    def region_axes(self) -> tuple[RegionLabels, ...]:
        """The labels of classes and regions on every axis."""
        published, labels_by_axis = self.published, []
        for axis, class_labels, lows, highs in zip(
            self.index.space.axes, self.axes, published.lows, published.highs, strict=True
        ):
            region_codes, code_of_region = _numbered(
                lows * class_labels.side + highs, class_labels.side * class_labels.side
            )
            # Ranges of classes are described first, so that their labels are the same as without regions.
            is_new = ~np.isin(region_codes, class_labels.codes)
            codes = np.concatenate([class_labels.codes, region_codes[is_new]])
            number_of = np.argsort(codes)[np.searchsorted(np.sort(codes), region_codes)]
            described = RegionLabels(
                [], [], class_labels.of_class, codes, class_labels.side, code_of_region, number_of[code_of_region]
            )
            labels, meanings, label_of = axis.described(described.ranges)
            labels_by_axis.append(
                replace(described, labels=labels, meanings=meanings, of_region=label_of[described.range_of])
            )
        return tuple(labels_by_axis)

    @cached_property
    def shapes(self) -> tuple[Shape, ...]:
        """The shape of each class beyond its labels: one region with holes, or several."""
        published = self.published
        region_counts = np.bincount(published.group, minlength=self.count)
        order = np.argsort(published.group, kind="stable")
        starts = np.concatenate([[0], np.cumsum(region_counts)])
        names = tuple(axis.hierarchy.column for axis in self.index.space.axes)
        kinds = tuple(ValueType.published(axis.hierarchy.leaves.dtype) for axis in self.index.space.axes)
        levels = published.level
        holes = [Nested(level) for level in range(self.index.space.depth + 1)]
        # Most classes have one region, described by its level alone.
        shapes: list[Shape] = [holes[region_level] for region_level in levels[order[starts[:-1]]].tolist()]
        for level in np.flatnonzero(region_counts > 1).tolist():
            regions = order[starts[level] : starts[level + 1]]
            sides = [[axis.meanings[label] for label in axis.of_region[regions].tolist()] for axis in self.region_axes]
            shapes[level] = Patched(
                names, kinds, tuple(zip(levels[regions].tolist(), zip(*sides, strict=True), strict=True))
            )
        return tuple(shapes)

    def combinations(self, leaves_asked: Sequence[NDArray[np.bool_]] | None = None) -> NDArray[np.float64]:
        """Return how many combinations of leaves each class contains, or of the leaves ``leaves_asked`` for on each axis: a block
        excludes the regions directly inside its region.
        """
        directory = self.index.directory
        leaves_by_axis = (
            [np.ones(axis.hierarchy.size, dtype=bool) for axis in directory.space.axes]
            if leaves_asked is None
            else leaves_asked
        )
        volume = np.ones(len(directory))
        for axis, leaves, low, high in zip(
            directory.space.axes, leaves_by_axis, directory.lows, directory.highs, strict=True
        ):
            leaves_per_cell = np.bincount(axis.cell_of, weights=leaves, minlength=axis.cells)
            before = np.concatenate([[0.0], np.cumsum(leaves_per_cell)])
            volume *= before[high] - before[low]
        block_volume, nested = volume.copy(), np.flatnonzero(directory.encloser >= 0)
        np.subtract.at(block_volume, directory.encloser[nested], volume[nested])
        volumes: NDArray[np.float64] = np.bincount(self.group, weights=block_volume, minlength=self.count).astype(
            np.float64
        )
        return volumes

    def regions(self, numbered: str = "group", level: str = LEVEL) -> pl.DataFrame:
        """Return the public table of regions: class, level, labels, and bounds by value (or rank) for plain queries."""
        published = self.published
        columns = [pl.Series(numbered, published.group + 1), pl.Series(level, published.level)]
        for axis, labels in zip(self.index.space.axes, self.region_axes, strict=True):
            name = axis.hierarchy.column
            columns.append(pl.Series(name, labels.labels, dtype=pl.String).gather(labels.of_region))
        names = [series.name for series in columns]
        for axis, labels in zip(self.index.space.axes, self.region_axes, strict=True):
            bounds = [meaning.gather(labels.range_of) for meaning in axis.bounds(labels.ranges)]
            if getattr(axis, "missing", False):
                missing_words = [_missing_word(series) for series in labels.meanings]
                bounds.append(pl.Series(missing_words, dtype=pl.String).gather(labels.of_region))
            for kind, series in zip((FROM, BELOW, MISSING), bounds, strict=False):
                names.append(unused(kind.format(axis.hierarchy.column), names))
                columns.append(series.alias(names[-1]))
        if self.index.method.compact:
            columns += self._extent_columns([column.name for column in columns])
        return pl.DataFrame(columns)

    def _extent_columns(self, used_names: list[str]) -> Iterator[pl.Series]:
        """Yield the plain bounds of extents, in the form of region bounds."""
        for axis, lows, highs in zip(self.index.space.axes, *self.extents, strict=True):
            side = axis.cells + 1
            codes, range_of = np.unique(lows * side + highs, return_inverse=True)
            ranges = _ranges_of(codes, side)
            bounds = [*axis.bounds(ranges)]
            if getattr(axis, "missing", False):
                _, meanings, label_of = axis.described(ranges)
                bounds.append(
                    pl.Series([_missing_word(meaning) for meaning in meanings], dtype=pl.String).gather(label_of)
                )
            for kind, meaning in zip((FROM, BELOW, MISSING), bounds, strict=False):
                name = unused(kind.format(EXTENT.format(axis.hierarchy.column)), used_names)
                used_names.append(name)
                yield meaning.gather(range_of.ravel()).alias(name)

    def places(self) -> pl.DataFrame:
        """Return the public table of ordered values, for columns that are not numbers or dates."""
        schema = {COLUMN: pl.String, VALUE: pl.String, PLACE: pl.Int64}
        parts = [
            axis.places.select(
                pl.lit(axis.hierarchy.column).alias(COLUMN), pl.col("value").alias(VALUE), pl.col("place").alias(PLACE)
            )
            for axis in self.index.space.axes
            if axis.places is not None
        ]
        return pl.concat([pl.DataFrame(schema=schema), *parts])

    @property
    def meanings(self) -> dict[str, dict[str, Meaning]]:
        """Return the meaning of each label of every column."""
        return {
            axis.hierarchy.column: dict(zip(region_axis.labels, region_axis.meanings, strict=True))
            for axis, region_axis in zip(self.index.space.axes, self.region_axes, strict=True)
        }

    def recoding(self, table: Table) -> Regions:
        """Return the recoding of every point of the table."""
        columns = tuple(
            RegionColumn(
                axis.hierarchy.column,
                table.quasi[axis.hierarchy.column],
                axis.hierarchy.leaves,
                pl.Series(axis.hierarchy.column, region_axis.labels, dtype=pl.String),
                tuple(region_axis.meanings),
                region_axis.of_class,
            )
            for axis, region_axis in zip(self.index.space.axes, self.region_axes, strict=True)
        )
        return Regions(
            columns,
            self.index.units.codes,
            self.labels,
            table.carried,
            shapes=self.shapes,
            numbered=group_column(table),
        )

    def release(self, table: Table, definition: GroupDefinition, context: Context | None = None) -> Draft:
        """Return the draft of a release of the indexed table."""
        run = GroupRun.of(self.index.method, table, definition, context)
        return self.grouping(run.table, run.definition).draft(run)

    def grouping(self, table: Table, definition: GroupDefinition) -> Grouping:
        """Return the classes of the indexed table."""
        self._check_points()
        recoding, index = self.recoding(table), self.index
        nobody = SuppressedGroups(np.zeros(self.count, dtype=bool))
        return Grouping(
            index.units,
            recoding,
            PublishedGroups.of(table, definition, self.groups, self._seen, 0).evidence(nobody),
            lambda: recoding.published_cells(index.units.hierarchies, self.combinations()),
            {
                "groups": self.count,
                "blocks": len(index.directory),
                "regions": len(self.published),
                "columns": list(table.quasi),
            },
            self.meanings,
            FORMAT,
            {
                "guard": "sensitive" if self.guarded else "raised" if self.raised else "quasi",
                "k": self.k,
                **({"compact": True} if index.method.compact else {}),
            },
            table,
            partial(self._completed, definition, recoding.numbered or "group", unused(LEVEL, table.schema)),
        )

    def _completed(self, definition: GroupDefinition, number_column: str, level_column: str, draft: Draft) -> Draft:
        """Return the draft with the tables of ranks (places) and regions, the method of the index, and what the ledger checks and records beside other releases of the table.

        ``number_column`` and ``level_column`` name the columns with the number and the level of a region.
        """
        tables = {"places": FrameRows(self.places()), "regions": FrameRows(self.regions(number_column, level_column))}
        return replace(
            draft,
            tables={**draft.tables, **tables},
            method=self.index.method.describe(),
            beside=partial(beside_cuts, self, definition),
            noted=noted_of(self, definition),
        )

    def _check_points(self) -> None:
        """Raise if the index has no points, which a release needs."""
        if not self.index.has_points:
            raise PolicyError(
                "Bang: this index was built from more points than fit in memory, and has only their blocks. It gives the classes and the loss of any cut; a release needs an index with points."
            )

    def _seen(self, column_indices: tuple[int, ...], is_kept: NDArray[np.bool_]) -> tuple[NDArray[Any], Groups]:
        """Return the group of each class and the groups, as an adversary sees them who knows only some columns: classes with
        equal labels there are one group. ``is_kept`` masks the published classes.
        """
        if len(column_indices) == len(self.axes):
            return np.arange(self.count), self.groups
        chosen: Sequence[AxisLabels] = [self.axes[index] for index in column_indices]
        ids, count = number(
            *pack([labels.of_class for labels in chosen], [len(labels.labels) for labels in chosen], self.count)
        )
        class_of, _, groups = seen_as(self.groups, column_indices, ids.astype(np.int64), count, is_kept)
        return class_of, groups


def _ranges_of(codes: Ids, side: int) -> Ids:
    """Decode ranges from integers: first cell and end (columns) of each range (rows)."""
    return np.stack(np.divmod(codes, side), axis=1)


def _numbered(codes: Ids, space: int) -> tuple[Ids, NDArray[Any]]:
    """Return the distinct codes below ``space``, sorted, and the index of each code; by a lookup table if ``space`` is small."""
    if space > _LARGEST_TABLE:
        distinct, index_of = np.unique(codes, return_inverse=True)
        return distinct, index_of.ravel()
    table = np.zeros(space, dtype=np.int32)
    table[codes] = 1
    distinct = np.flatnonzero(table).astype(np.int64)
    table[distinct] = np.arange(len(distinct), dtype=np.int32)
    return distinct, table.take(codes)


def _missing_word(meaning: Meaning) -> str:
    """Return whether null is in a range of cells: ``only``, ``too`` or ``no``."""
    if isinstance(meaning, Missing):
        return "only"
    return "too" if isinstance(meaning, OrMissing) or meaning.as_json() == {"all": True} else "no"
