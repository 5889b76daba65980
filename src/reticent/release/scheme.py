"""Schemes: how rows were recoded, kept on the private side, so that rows that come later can be treated alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from reticent.data import BoundHierarchy, Draft, Hierarchy, Levels, Table, as_polars, to_plain
from reticent.data.descriptions import hierarchy_from
from reticent.data.plain import plain
from reticent.engine import count_table
from reticent.errors import DataError, PolicyError, did_you_mean
from reticent.release.region_scheme import LAYOUT, RegionScheme, Unseen
from reticent.release.stored import counted
from reticent.release.values import parsed, settled

Frames = Mapping[str, pl.DataFrame]

_LABEL = "label of the value"


@dataclass(frozen=True)
class SchemeColumn:
    """One quasi column: its hierarchy, the level that was published, and whether null is a value of its own.

    ``labels`` are those that the data had on that level, kept where the hierarchy's domain was taken from the data; None where it
    was declared.
    """

    name: str
    hierarchy: Hierarchy
    level: int
    nulls: bool
    labels: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Scheme:
    """Full-domain recoding: a level for each quasi column, and the groups that were published."""

    columns: tuple[SchemeColumn, ...]
    unchanged: tuple[str, ...]
    published: pl.DataFrame = field(repr=False)

    @classmethod
    def of(cls, draft: Draft, table: Table, tables: Frames) -> Scheme:
        """The scheme behind a draft that was published as ``tables``."""
        assert isinstance(draft.recoding, Levels)
        levels = draft.recoding.levels
        columns = tuple(_column(bound, table.quasi[bound.column], levels[bound.column]) for bound in table.hierarchies)
        names = list(levels)
        if draft.format == "generalize":
            published = counted(tables, "data", names)[0].unique()
        else:
            raw = draft.tables["quasi"]
            assert isinstance(raw, pl.DataFrame)
            exact = Table(raw.select(names), quasi=dict(table.quasi), nulls="category")
            published = count_table(exact, sensitive=False, floor=tuple(levels.values())).labels()
        return cls(columns, (*table.sensitive, *table.other), published.sort(names) if names else published)

    def as_json(self) -> dict[str, Any]:
        """The scheme as plain data."""
        return {
            "layout": LAYOUT,
            "kind": "levels",
            "columns": [
                {
                    "name": column.name,
                    "hierarchy": to_plain(column.hierarchy.describe()),
                    "level": column.level,
                    "nulls": column.nulls,
                    "labels": to_plain(column.labels),
                }
                for column in self.columns
            ],
            "unchanged": list(self.unchanged),
            "published": {name: self.published[name].to_list() for name in self.published.columns},
        }

    @classmethod
    def from_json(cls, payload: Mapping[str, Any], where: str) -> Scheme:
        """The scheme that was saved; whatever does not fit is a :class:`DataError`."""
        if payload.get("layout") != LAYOUT or payload.get("kind") != "levels":
            raise DataError(f"{where} is not a scheme that this version of Reticent reads.")
        try:
            columns = tuple(
                SchemeColumn(
                    item["name"],
                    hierarchy_from(item["hierarchy"], f"{where}, column {item['name']!r}"),
                    item["level"],
                    item["nulls"],
                    tuple(item["labels"]) if item["labels"] is not None else None,
                )
                for item in payload["columns"]
            )
            published = pl.DataFrame(payload["published"], schema={column.name: pl.String for column in columns})
            return cls(columns, tuple(payload["unchanged"]), published)
        except (KeyError, TypeError, pl.exceptions.PolarsError) as error:
            raise DataError(f"{where} is damaged: {type(error).__name__} {error}.") from None


def apply(scheme: Any, frame: Any, unseen: Unseen = "error") -> pl.DataFrame:
    """Recode new rows as a release recoded the old ones: the same levels, the same labels.

    ``scheme`` is a :class:`Release`, the folder of a saved one, or its ``private/scheme.json``. A value is *unseen* when it lies outside
    its column's declared domain or, where the domain came from the data, falls under a label that no row had. ``unseen="error"`` refuses
    it by name, ``"suppress"`` leaves the row out. Rows that fall into a group which was not published are left out
    either way: nobody could hide them there.

    What comes back are the labels, with the columns that were published unchanged as far as the new rows have them. It is not a
    release: nothing was judged or recorded. The order of the rows is kept.
    """
    if unseen not in ("error", "suppress"):
        raise PolicyError(f"unseen must be 'error' or 'suppress', but it is {unseen!r}.")
    known = _scheme_of(scheme)
    rows = as_polars(frame)
    if isinstance(known, RegionScheme):
        return known.apply(rows, unseen)
    for column in known.columns:
        if column.name not in rows.columns:
            raise DataError(f"The new rows have no column {column.name!r}.{did_you_mean(column.name, rows.columns)}")
    labels = pl.DataFrame([_labels(column, rows[column.name], unseen) for column in known.columns])
    recoded = labels.with_columns([settled(rows[name]) for name in known.unchanged if name in rows.columns])
    if not known.columns:
        return recoded
    return recoded.join(known.published, on=labels.columns, how="semi", maintain_order="left")


def _column(bound: BoundHierarchy, hierarchy: Hierarchy, level: int) -> SchemeColumn:
    labels = bound.levels[level].labels if bound.data_dependent else None
    return SchemeColumn(bound.column, hierarchy, level, bound.null_leaf is not None, labels)


def scheme_of(draft: Draft, table: Table, tables: Frames) -> Scheme | RegionScheme:
    """What is kept of a draft that was published as ``tables``, so that later rows can be recoded alike."""
    if isinstance(draft.recoding, Levels):
        return Scheme.of(draft, table, tables)
    return RegionScheme.of(draft, table, tables)


def _read(payload: Mapping[str, Any], where: str) -> Scheme | RegionScheme:
    reader = RegionScheme if payload.get("kind") == "regions" else Scheme
    return reader.from_json(payload, where)


def _scheme_of(given: Any) -> Scheme | RegionScheme:
    if isinstance(given, Scheme | RegionScheme):
        return given
    if isinstance(given, str | Path):
        path = Path(given)
        candidates = [path / "private" / "scheme.json", path / "scheme.json"] if path.is_dir() else [path]
        for candidate in candidates:
            if candidate.is_file():
                return _read(parsed(candidate.read_bytes(), str(candidate)), str(candidate))
        raise DataError(f"There is no scheme at {str(path)!r}: give the folder of a saved release, or its scheme.json.")
    scheme = getattr(given, "scheme", None)
    if isinstance(scheme, Scheme | RegionScheme):
        return scheme
    raise PolicyError(f"A {type(given).__name__} is no scheme; give a release, its folder, or its scheme.json.")


def _labels(column: SchemeColumn, series: pl.Series, unseen: Unseen) -> pl.Series:
    """The label of every value; null where a value is unseen and to be suppressed."""
    series = plain(series, column.hierarchy)
    values = series.unique(maintain_order=True)
    found = _labels_of_values(column, values, unseen)
    lookup = pl.DataFrame({column.name: values, _LABEL: pl.Series(found, dtype=pl.String)})
    joined = series.to_frame(column.name).join(
        lookup, on=column.name, how="left", maintain_order="left", nulls_equal=True
    )
    return joined[_LABEL].alias(column.name)


def _labels_of_values(column: SchemeColumn, values: pl.Series, unseen: Unseen) -> list[str | None]:
    try:
        return _bound_labels(column, values)
    except DataError:
        if unseen == "error":
            raise
    # Some value is unseen: find out which, one by one.
    labels: list[str | None] = []
    for place in range(len(values)):
        try:
            labels.extend(_bound_labels(column, values[place : place + 1]))
        except DataError:
            labels.append(None)
    return labels


def _bound_labels(column: SchemeColumn, values: pl.Series) -> list[str | None]:
    bound = column.hierarchy.bind(values, column.name)
    bound = bound.with_null_leaf() if column.nulls else bound
    level = bound.levels[column.level]
    labels = [level.labels[part] for part in level.parts[bound.codes(values)]]
    _refuse_new(column, values, labels)
    return list(labels)


def _refuse_new(column: SchemeColumn, values: pl.Series, labels: Sequence[str]) -> None:
    if column.labels is None:
        return
    seen = set(column.labels)
    for value, label in zip(values.to_list(), labels, strict=True):
        if label not in seen:
            raise DataError(
                f"Column {column.name!r} has the value {value!r}, whose label {label!r} no row of the release had. "
                "Say unseen='suppress' to leave such rows out, or publish anew."
            )
