"""Recodings: the mapping of rows into a release, as values that can be saved.

An engine applies a recoding to the rows of the table that it was made for. :meth:`Recoding.place` applies it to later
rows: a row with values of the table is assigned like these; any other row is assigned if exactly one group matches.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.encoding import sorted_values
from reticent.base.packing import Codes, first_rows, number, pack, positions
from reticent.core.leaf_sets import LeafSets
from reticent.core.published_cells import PublishedCells
from reticent.core.row_recoding import PartsToRecode, Recoded, RowsToRecode
from reticent.core.shape import Shape, inside
from reticent.errors import DataError, PolicyError, did_you_mean
from reticent.registry import RECODINGS, load
from reticent.table import (
    BoundHierarchy,
    Coarsening,
    Hierarchy,
    LeafIndex,
    Meaning,
    Table,
    ValueType,
    coarsening_from,
    hierarchy_from,
    plain,
    to_plain,
)

Unseen = Literal["error", "suppress"]
Ids = NDArray[np.int64]
Mask = NDArray[np.bool_]

Carried = Mapping[str, Coarsening | None]
"""The columns that are published in addition to the recoded ones, and how each is generalized."""

LAYOUT = 2
_ROWS_AT_ONCE = 512
_GROUP = "group"


class Recoding(ABC):
    """Maps every row to what is published of it. Private: it reveals which values the table has."""

    kind: ClassVar[str]
    uniform: ClassVar[bool] = False
    """True if a value becomes the same label in every row."""
    exact: bool = False
    """True if quasi values are published unchanged, and the groups are buckets."""
    needs_row_order: ClassVar[bool] = False
    """True if later rows are assigned sequentially, so their order matters."""
    rows: Ids | None = None
    """The group of every row of the table that the recoding was made for, if quasi values do not determine it."""
    carried: Carried

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The columns that are recoded."""

    @property
    @abstractmethod
    def coded_at(self) -> tuple[int, ...]:
        """The levels at which :meth:`groups_of` takes the columns."""

    @abstractmethod
    def groups_of(self, codes: Sequence[Codes]) -> Ids:
        """The published group of every row, given its codes in each column; -1 for none."""

    @abstractmethod
    def shown(self, groups: Ids, *, coded: bool = False) -> pl.DataFrame:
        """The published columns of rows, given their groups; text may be ``coded`` as enums with sorted categories."""

    def recoded(self, rows: RowsToRecode) -> Recoded:
        """The public tables of the table's own rows, and the private ones. The default is one table ``data`` of labels."""
        return rows.labelled(self.shown)

    def recoded_parts(self, parts: PartsToRecode) -> Recoded:
        """The same for a table that is recoded in chunks."""
        return parts.labelled(self.shown)

    def published_points(self) -> tuple[Sequence[Codes], pl.DataFrame]:
        """The codes of the published points (or groups), and the published columns of each: a table to join rows with."""
        raise PolicyError(
            f"A recoding of the kind {self.kind!r} is not a table of points: people with equal quasi values may be in different groups, so all rows must be in memory. "
            "Pass engine='local' if the table fits in memory."
        )

    def place(self, rows: pl.DataFrame, unseen: Unseen) -> tuple[pl.DataFrame, Mask]:
        """The published columns of later rows, without those that are suppressed, and the mask of kept rows.

        Raises :class:`DataError` for a value that the recoding cannot assign; with ``unseen="suppress"`` its row is
        suppressed.
        """
        for name in self.names:
            if name not in rows.columns:
                raise DataError(f"The new rows have no column {name!r}.{did_you_mean(name, rows.columns)}")
        return self._placed(rows, unseen)

    @abstractmethod
    def _placed(self, rows: pl.DataFrame, unseen: Unseen) -> tuple[pl.DataFrame, Mask]: ...

    @abstractmethod
    def as_json(self) -> dict[str, Any]:
        """The small part as plain data."""

    @abstractmethod
    def stored(self) -> pl.DataFrame:
        """The large part, as rows."""

    @classmethod
    @abstractmethod
    def from_json(cls, payload: Mapping[str, Any], stored: pl.DataFrame, where: str) -> Self:
        """Restore a saved recoding."""

    def _head(self, columns: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        return {"layout": LAYOUT, "kind": self.kind, "columns": list(columns), "carried": self._carried()}

    def _carried(self) -> dict[str, Any]:
        """The columns published in addition to the recoded ones, with how each is generalized."""
        return {
            name: None if coarsening is None else coarsening.describe() for name, coarsening in self.carried.items()
        }


def read_recoding(payload: Mapping[str, Any], stored: pl.DataFrame, where: str) -> Recoding:
    """Restore a saved recoding. Raises :class:`DataError` for anything invalid."""
    kind = payload.get("kind")
    if payload.get("layout") != LAYOUT or kind not in RECODINGS:
        raise DataError(f"{where} is not a recoding that this version of Reticent reads.")
    recoding_class: type[Recoding] = load("recoding", kind)
    try:
        return recoding_class.from_json(payload, stored, where)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, pl.exceptions.PolarsError) as error:
        raise DataError(f"{where} is damaged: {type(error).__name__} {error}.") from None


def carried_from(payload: Mapping[str, Any], where: str) -> Carried:
    """Restore the saved coarsening of each column that is published unchanged or rounded; ``where`` names the file in
    errors.
    """
    return {
        name: None if coarsening is None else coarsening_from(coarsening, f"{where}, column {name!r}")
        for name, coarsening in payload["carried"].items()
    }


@dataclass(frozen=True, eq=False)
class LevelColumn:
    """One column of a full-domain generalization: its hierarchy, the level, and the labels of the parts there.

    ``null`` is the label of missing values if these are a value of their own. ``from_data``: the leaves come from the
    data, so only their labels are known.
    """

    name: str
    hierarchy: Hierarchy
    level: int
    labels: Sequence[str]
    null: str | None
    from_data: bool

    @classmethod
    def of(cls, bound: BoundHierarchy, hierarchy: Hierarchy, level: int) -> LevelColumn:
        """The column of a hierarchy bound to a table."""
        partition = bound.levels[level]
        null = None if bound.null_leaf is None else partition.labels[partition.parts[bound.null_leaf]]
        return cls(bound.column, hierarchy, level, labels=partition.labels, null=null, from_data=bound.data_dependent)

    def parts(self, series: pl.Series, unseen: Unseen) -> Ids:
        """Return for every value the index of its label among the published ones; -1 if it is unseen and to be
        suppressed, or if no published row has the label.
        """
        values, index_of = _distinct(plain(series, self.hierarchy))
        numbers = {label: part for part, label in enumerate(self.labels)}
        labels = self._labels(values, unseen)
        return np.array([numbers.get(label, -1) for label in labels], dtype=np.int64)[index_of]

    def _labels(self, values: pl.Series, unseen: Unseen) -> list[str]:
        """Return the label of every value; an unseen value raises, or gets an empty label if ``unseen`` values are suppressed."""
        try:
            return self._bound_labels(values)
        except DataError:
            if unseen == "error":
                raise
        # Some value is unseen: identify it, one by one.
        labels: list[str] = []
        for index in range(len(values)):
            try:
                labels.extend(self._bound_labels(values[index : index + 1]))
            except DataError:
                labels.append("")
        return labels

    def _bound_labels(self, values: pl.Series) -> list[str]:
        """Return the label of every value. Raises for one that the hierarchy lacks."""
        bound = self.hierarchy.bind(values, self.name)
        bound = bound.with_null_leaf() if self.null is not None else bound
        level = bound.levels[self.level]
        labels = [level.labels[part] for part in level.parts[bound.codes(values)]]
        if self.null is not None:
            labels = [
                self.null if missing else text for text, missing in zip(labels, values.is_null().to_list(), strict=True)
            ]
        if self.from_data:
            self._refuse_new(values, labels)
        return labels

    def _refuse_new(self, values: pl.Series, labels: Sequence[str]) -> None:
        """Raise for a label that no row of the release had, if the hierarchy was made from the data."""
        known_labels = set(self.labels)
        for value, label in zip(values.to_list(), labels, strict=True):
            if label not in known_labels:
                raise DataError(
                    f"Column {self.name!r} has the value {value!r}, whose label {label!r} no row of the release had. "
                    "Pass unseen='suppress' to suppress such rows, or make a new release."
                )


@dataclass(frozen=True, eq=False)
class Levels(Recoding):
    """Full-domain generalization: one level per quasi column, and the published groups.

    ``published`` has the part of every such group in each column, in the order of the groups. ``exact``: the quasi
    values are published unchanged, and the groups are buckets.
    """

    kind: ClassVar[str] = "levels"
    uniform: ClassVar[bool] = True

    columns: tuple[LevelColumn, ...]
    published: tuple[Codes, ...]
    carried: Carried = field(default_factory=dict)
    exact: bool = False

    @classmethod
    def of(cls, table: Table, levels: Sequence[int], published: tuple[Codes, ...], *, exact: bool = False) -> Levels:
        """The quasi columns of a table at some levels."""
        columns = tuple(
            LevelColumn.of(bound, table.quasi[bound.column], level)
            for bound, level in zip(table.hierarchies, levels, strict=True)
        )
        return cls(columns, published, table.carried, exact)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are recoded."""
        return tuple(column.name for column in self.columns)

    @property
    def coded_at(self) -> tuple[int, ...]:
        """The levels that are published."""
        return tuple(column.level for column in self.columns)

    @property
    def levels(self) -> dict[str, int]:
        """The level of each column."""
        return {column.name: column.level for column in self.columns}

    def groups_of(self, codes: Sequence[Codes]) -> Ids:
        return positions(self.published, codes, [len(column.labels) for column in self.columns])

    def recoded(self, rows: RowsToRecode) -> Recoded:
        return rows.in_buckets(counted=False) if self.exact else super().recoded(rows)

    def recoded_parts(self, parts: PartsToRecode) -> Recoded:
        return parts.in_buckets(len(self.published[0])) if self.exact else super().recoded_parts(parts)

    def published_points(self) -> tuple[Sequence[Codes], pl.DataFrame]:
        return self.published, self.shown(np.arange(len(self.published[0])))

    def shown(self, groups: Ids, *, coded: bool = False) -> pl.DataFrame:
        """Return the published labels of groups."""
        columns = []
        for column, parts in zip(self.columns, self.published, strict=True):
            labels = pl.Series(column.name, column.labels, dtype=pl.String)
            columns.append((_coded(labels) if coded else labels)[parts.take(groups)])
        return pl.DataFrame(columns)

    def _placed(self, rows: pl.DataFrame, unseen: Unseen) -> tuple[pl.DataFrame, Mask]:
        """Return the published columns of the rows that belong to a published group, and the mask of these rows."""
        codes = [column.parts(rows[column.name], unseen) for column in self.columns]
        is_published = np.logical_and.reduce([parts >= 0 for parts in codes])
        groups = self.groups_of([parts[is_published] for parts in codes])
        is_published[is_published] = groups >= 0
        return self.shown(groups[groups >= 0]), is_published

    def as_json(self) -> dict[str, Any]:
        """Hierarchies and levels; labels only if they come from the data."""
        columns = [
            {
                "name": column.name,
                "hierarchy": to_plain(column.hierarchy.describe()),
                "level": column.level,
                "null": column.null,
                "labels": list(column.labels) if column.from_data else None,
            }
            for column in self.columns
        ]
        return {**self._head(columns), "exact": self.exact}

    def stored(self) -> pl.DataFrame:
        """The labels of every published group."""
        return self.shown(np.arange(len(self.published[0]))).sort(pl.all())

    @classmethod
    def from_json(cls, payload: Mapping[str, Any], stored: pl.DataFrame, where: str) -> Levels:
        """Restore a saved recoding."""
        columns, published = [], []
        for item in payload["columns"]:
            if stored[item["name"]].dtype != pl.String:
                raise DataError(f"{where} is damaged: the labels of column {item['name']!r} are not text.")
            values, codes = _distinct(stored[item["name"]])
            labels = tuple(dict.fromkeys([*values.to_list(), *(item["labels"] or ())]))
            hierarchy = hierarchy_from(item["hierarchy"], f"{where}, column {item['name']!r}")
            columns.append(
                LevelColumn(
                    item["name"],
                    hierarchy,
                    level=item["level"],
                    labels=labels,
                    null=item["null"],
                    from_data=item["labels"] is not None,
                )
            )
            published.append(codes)
        return cls(tuple(columns), tuple(published), carried_from(payload, where), payload["exact"])


@dataclass(frozen=True, eq=False)
class RegionColumn:
    """One column of a local recoding: its values, and what is published of each group.

    ``shown`` and ``meanings`` have the distinct cells: what is published (labels, or values of another type) and what
    it represents. Group ``g`` has the cell ``of_group[g]`` or, if there are ``typical`` values, the value
    ``typical[g]`` whose range is the cell.
    """

    name: str
    hierarchy: Hierarchy
    leaves: pl.Series
    shown: pl.Series
    meanings: Sequence[Meaning]
    of_group: Ids
    typical: pl.Series | None = None

    def of_groups(self, groups: pl.Series, *, coded: bool = False) -> pl.Series:
        """The published values of rows by group; text may be ``coded``."""
        chosen = self.shown if self.typical is None else self.typical
        chosen = _coded(chosen) if coded else chosen
        if self.typical is not None:
            return chosen.gather(groups)
        if len(groups) < len(self.of_group):
            return chosen.gather(self.of_group.take(groups.to_numpy()))
        # The values per group take less memory than cell indices, and are looked up faster.
        return chosen.gather(self.of_group).gather(groups)

    def codes(self, series: pl.Series) -> tuple[Ids, pl.Series]:
        """Return the index of every value among the known values (leaves) of the column, -1 if it is none, and the
        values converted to their type.
        """
        read = plain(series, self.hierarchy)
        if read.dtype != self.leaves.dtype and self.leaves.dtype == pl.String:
            read = read.cast(pl.String)
        elif read.dtype != self.leaves.dtype and ValueType.of(read.dtype, self.name).is_numeric:
            read = read.cast(self.leaves.dtype, strict=False)
        lookup = pl.DataFrame({"value": self.leaves, "place": np.arange(len(self.leaves))})
        try:
            joined = read.to_frame("value").join(
                lookup, on="value", how="left", maintain_order="left", nulls_equal=True
            )
        except pl.exceptions.PolarsError:
            raise DataError(
                f"Column {self.name!r} has type {series.dtype}, but the release was made from {self.leaves.dtype}."
            ) from None
        return joined["place"].fill_null(-1).to_numpy().astype(np.int64), read

    def covering(self, values: pl.Series, unseen: Unseen) -> Mask:
        """Boolean matrix: which value (row) is covered by which cell (column)."""
        index = LeafIndex.of(values, self.name)
        covered = np.zeros((len(values), len(self.meanings)), dtype=bool)
        for cell, meaning in enumerate(self.meanings):
            covered[meaning.covers(index), cell] = True
        if unseen == "error" and not covered.any(axis=1).all():
            value = values[int(np.argmin(covered.any(axis=1)))]
            raise DataError(
                f"Column {self.name!r} has the value {value!r}, which no label of the release covers. "
                "Pass unseen='suppress' to suppress such rows, or make a new release."
            )
        return covered

    def as_json(self) -> dict[str, Any]:
        """The cells as plain data."""
        return {
            "name": self.name,
            "hierarchy": to_plain(self.hierarchy.describe()),
            "type": str(ValueType.published(self.leaves.dtype)),
            "shown": to_plain(self.shown.to_list()),
            "shown_type": str(ValueType.published(self.shown.dtype)),
            "meanings": [meaning.as_json() for meaning in self.meanings],
        }

    @classmethod
    def from_json(
        cls, item: Mapping[str, Any], leaves: pl.Series, of_group: Ids, typical: pl.Series | None, where: str
    ) -> RegionColumn:
        """Restore a saved column."""
        kind, shown_type = ValueType(item["type"]), ValueType(item["shown_type"])
        return cls(
            item["name"],
            hierarchy_from(item["hierarchy"], f"{where}, column {item['name']!r}"),
            leaves,
            shown=pl.Series(item["name"], [shown_type.read(value) for value in item["shown"]], dtype=shown_type.dtype),
            meanings=tuple(Meaning.read(meaning, kind, where) for meaning in item["meanings"]),
            of_group=of_group,
            typical=typical,
        )


@dataclass(frozen=True, eq=False)
class Regions(Recoding):
    """Local recoding: every point of the table goes to one group (-1: suppressed), which has one cell in every column.

    ``points`` has the leaf of every point in each column, ``group`` its group. ``shapes`` is what each group covers
    beyond its cells, if groups are not boxes. ``numbered`` names a column with the group number, from 1, if cells do
    not distinguish groups.
    """

    kind: ClassVar[str] = "regions"

    columns: tuple[RegionColumn, ...]
    points: tuple[Codes, ...]
    group: Ids
    carried: Carried = field(default_factory=dict)
    shapes: tuple[Shape, ...] = field(default=(), kw_only=True)
    numbered: str | None = field(default=None, kw_only=True)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are recoded."""
        return tuple(column.name for column in self.columns)

    @property
    def coded_at(self) -> tuple[int, ...]:
        """Level 0 for every column: the raw values."""
        return (0,) * len(self.columns)

    @property
    def is_typical(self) -> bool:
        """True if groups publish one value each, with their labels in a separate table."""
        return self.columns[0].typical is not None

    @property
    def meanings(self) -> dict[str, dict[str, Meaning]]:
        """For every column the meaning of each label."""
        return {column.name: dict(zip(column.shown.to_list(), column.meanings, strict=True)) for column in self.columns}

    def shown(self, groups: Ids, *, coded: bool = False) -> pl.DataFrame:
        """Return the published cells of groups, and their number if groups are numbered."""
        group_series = pl.Series(groups, dtype=pl.UInt32)
        columns = [column.of_groups(group_series, coded=coded) for column in self.columns]
        return pl.DataFrame(columns if self.numbered is None else [*columns, pl.Series(self.numbered, groups + 1)])

    def published_cells(
        self, hierarchies: Sequence[BoundHierarchy], volumes: NDArray[np.float64] | None = None
    ) -> PublishedCells:
        """What every group reveals of its points, by the meanings of its cells; groups have ``volumes`` leaf combinations if they are not boxes."""
        columns = tuple(
            LeafSets.of_meanings(hierarchy, column.meanings, column.of_group)
            for hierarchy, column in zip(hierarchies, self.columns, strict=True)
        )
        return PublishedCells(self.group, len(self.columns[0].of_group), columns, volumes=volumes)

    def group_table(self) -> pl.DataFrame:
        """The groups by number, each with its cells."""
        cells = [column.shown.gather(column.of_group) for column in self.columns]
        return pl.DataFrame([pl.Series(self.numbered or _GROUP, np.arange(len(cells[0])) + 1), *cells])

    def groups_of(self, codes: Sequence[Codes]) -> Ids:
        """Return the group of every row, given the leaf codes of its columns; -1 if this combination of values has
        none.
        """
        points = self.points_of(codes)
        group, nowhere = self.group[points], points < 0
        if nowhere.any():
            group[nowhere] = -1
        return group

    def published_points(self) -> tuple[Sequence[Codes], pl.DataFrame]:
        kept = np.flatnonzero(self.group >= 0)
        return [codes.take(kept) for codes in self.points], self.shown(self.group[kept])

    def points_of(self, codes: Sequence[Codes]) -> Ids:
        """The point of every row, given its leaves; -1 if the table has no such point."""
        return positions(self.points, codes, [len(column.leaves) for column in self.columns])

    def _placed(self, rows: pl.DataFrame, unseen: Unseen) -> tuple[pl.DataFrame, Mask]:
        """Return the published columns of the rows that have a group, and the mask of these rows."""
        coded = [column.codes(rows[column.name]) for column in self.columns]
        known = np.logical_and.reduce([codes >= 0 for codes, _ in coded])
        point = np.full(rows.height, -1, dtype=np.int64)
        point[known] = self.points_of([codes[known] for codes, _ in coded])
        group = self._groups_at(point, rows)
        new_rows = np.flatnonzero(point < 0)
        if len(new_rows):
            group[new_rows] = self._fitting([values.gather(new_rows) for _, values in coded], unseen)
        is_published = group >= 0
        return self.shown(group[is_published]), is_published

    def _groups_at(self, point: Ids, rows: pl.DataFrame) -> Ids:
        """The group of every row at a point of the table."""
        return np.where(point >= 0, self.group[point], -1)

    def _fitting(self, columns: Sequence[pl.Series], unseen: Unseen) -> Ids:
        """For rows at new points, the only group whose cells cover all values, or -1."""
        covers, codes = [], []
        for column, series in zip(self.columns, columns, strict=True):
            values, value_ids = _distinct(series)
            covers.append(column.covering(values, unseen))
            codes.append(value_ids)
        ids, count = number(*pack(codes, [len(cover) for cover in covers], len(codes[0])))
        firsts = first_rows(ids, count)
        assigned = np.full(count, -1, dtype=np.int64)
        points = pl.DataFrame(
            [series.gather(firsts).alias(name) for name, series in zip(self.names, columns, strict=True)]
        )
        inside_pairs = inside(self.shapes, points) if self.shapes else None
        for start in range(0, count, _ROWS_AT_ONCE):
            chosen = firsts[start : start + _ROWS_AT_ONCE]
            is_match = np.ones((len(chosen), len(self.columns[0].of_group)), dtype=bool)
            for column, cover, value_ids in zip(self.columns, covers, codes, strict=True):
                is_match &= cover[value_ids[chosen]][:, column.of_group]
            if inside_pairs is not None:
                row, group = np.nonzero(is_match)
                is_match[row, group] = inside_pairs(start + row, group)
            assigned[start : start + _ROWS_AT_ONCE] = np.where(is_match.sum(axis=1) == 1, is_match.argmax(axis=1), -1)
        groups: Ids = assigned[ids]
        return groups

    def as_json(self) -> dict[str, Any]:
        """The cells of every column, and the shapes of groups that are not boxes."""
        head = self._head([column.as_json() for column in self.columns])
        shapes = {"shapes": [shape.as_json() for shape in self.shapes]} if self.shapes else {}
        return {**head, **shapes, **({"numbered": self.numbered} if self.numbered is not None else {})}

    def stored(self) -> pl.DataFrame:
        """Return a table of every known combination of values (point) with its group (-1: suppressed) and, per column,
        the number of the group's cell.
        """
        # A suppressed point has no cells.
        is_suppressed = self.group < 0
        parts = []
        for number_, (column, codes) in enumerate(zip(self.columns, self.points, strict=True)):
            cells = column.of_group.take(np.where(is_suppressed, 0, self.group)) if len(column.of_group) else self.group
            parts.append(column.leaves.gather(codes).alias(f"value {number_}"))
            parts.append(pl.Series(f"cell {number_}", np.where(is_suppressed, -1, cells)))
            if column.typical is not None:
                typical_values = column.typical.gather(np.where(is_suppressed, 0, self.group))
                parts.append(
                    pl.select(
                        pl.when(pl.Series(~is_suppressed)).then(typical_values).alias(f"typical {number_}")
                    ).to_series()
                )
        return pl.DataFrame([*parts, pl.Series(_GROUP, self.group)])

    @classmethod
    def from_json(cls, payload: Mapping[str, Any], stored: pl.DataFrame, where: str) -> Self:
        """Restore a saved recoding."""
        group = stored[_GROUP].to_numpy().astype(np.int64)
        published = np.flatnonzero(group >= 0)
        example_of = np.zeros(int(group.max(initial=-1)) + 1, dtype=np.int64)
        example_of[group[published]] = published
        columns, points = [], []
        for number_, item in enumerate(payload["columns"]):
            leaves, codes = _distinct(stored[f"value {number_}"])
            cells = stored[f"cell {number_}"].to_numpy().astype(np.int64)
            typical = f"typical {number_}"
            typical_values = (
                stored[typical].gather(example_of).alias(item["name"]) if typical in stored.columns else None
            )
            columns.append(RegionColumn.from_json(item, leaves, cells[example_of], typical_values, where))
            points.append(codes)
        shapes = tuple(Shape.read(shape, where) for shape in payload.get("shapes", ()))
        numbered = payload.get("numbered")
        return cls(tuple(columns), tuple(points), group, carried_from(payload, where), shapes=shapes, numbered=numbered)


def shown_meanings(
    hierarchies: Sequence[BoundHierarchy], levels: Sequence[int], codes: Sequence[Codes]
) -> dict[str, dict[str, Meaning]]:
    """For each quasi column, the labels that occur among the published parts (``codes``) with their meaning."""
    meanings: dict[str, dict[str, Meaning]] = {}
    for hierarchy, number_, parts in zip(hierarchies, levels, codes, strict=True):
        level = hierarchy.levels[number_]
        known = {level.labels[part]: level.meanings[part] for part in np.unique(parts).tolist()}
        meanings[hierarchy.column] = {label: known[label] for label in sorted(known)}
    return meanings


def declared_domains(hierarchies: Sequence[BoundHierarchy]) -> dict[str, list[Any]]:
    """The declared domains; a domain derived from the data stays private."""
    return {hierarchy.column: hierarchy.leaves.to_list() for hierarchy in hierarchies if not hierarchy.data_dependent}


def _coded(values: pl.Series) -> pl.Series:
    """Text without nulls as an enum with sorted categories, for sorting and grouping by code; anything else unchanged."""
    plain_text = values.dtype == pl.String and not values.null_count()
    return values.cast(pl.Enum(sorted_values(values))) if plain_text else values


def _distinct(series: pl.Series) -> tuple[pl.Series, Ids]:
    """The distinct values of a column, and the index of each row's value among them."""
    values = series.unique(maintain_order=True)
    return values, row_numbers(series.to_frame("value"), values.to_frame("value").with_row_index("place"))


def row_numbers(rows: pl.DataFrame, numbered: pl.DataFrame) -> Ids:
    """For every row the number (first column of ``numbered``) of the row with equal values, -1 if there is none."""
    number_column, *names = numbered.columns
    joined = rows.join(numbered, on=names, how="left", maintain_order="left", nulls_equal=True)
    return joined[number_column].cast(pl.Int64).fill_null(-1).to_numpy()
