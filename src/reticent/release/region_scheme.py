"""The scheme of a local recoding: groups with a label and its meaning in every column, and how later rows join them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.data import Draft, LeafIndex, Meaning, Table, ValueType, first_rows, number, pack
from reticent.data.plain import plain
from reticent.errors import DataError, did_you_mean
from reticent.release.stored import counted
from reticent.release.values import settled

Unseen = Literal["error", "suppress"]

LAYOUT = 1
_ROWS_AT_ONCE = 512


@dataclass(frozen=True)
class RegionColumn:
    """One quasi column: its published type, and the meaning of every label."""

    name: str
    type: ValueType
    labels: Mapping[str, Meaning]


@dataclass(frozen=True)
class RegionScheme:
    """Local recoding: a new row goes to the first group whose labels cover all its values, and is left out if there is none."""

    columns: tuple[RegionColumn, ...]
    unchanged: tuple[str, ...]
    groups: pl.DataFrame = field(repr=False)

    @classmethod
    def of(cls, draft: Draft, table: Table, tables: Mapping[str, pl.DataFrame]) -> RegionScheme:
        """The scheme behind a draft that was published as ``tables``."""
        columns = tuple(
            RegionColumn(name, ValueType.published(table.schema[name]), draft.meanings[name]) for name in table.quasi
        )
        groups = counted(tables, "data", list(table.quasi))[0].unique().sort(pl.all())
        return cls(columns, (*table.sensitive, *table.other), groups)

    def as_json(self) -> dict[str, Any]:
        """The scheme as plain data."""
        return {
            "layout": LAYOUT,
            "kind": "regions",
            "columns": [
                {
                    "name": column.name,
                    "type": column.type,
                    "labels": {label: meaning.as_json() for label, meaning in column.labels.items()},
                }
                for column in self.columns
            ],
            "unchanged": list(self.unchanged),
            "groups": {name: self.groups[name].to_list() for name in self.groups.columns},
        }

    @classmethod
    def from_json(cls, payload: Mapping[str, Any], where: str) -> RegionScheme:
        """The scheme that was saved; whatever does not fit is a :class:`DataError`."""
        if payload.get("layout") != LAYOUT:
            raise DataError(f"{where} is not a scheme that this version of Reticent reads.")
        try:
            columns = tuple(
                RegionColumn(
                    item["name"],
                    kind := ValueType(item["type"]),
                    {text: Meaning.read(given, kind, f"{where}, {text!r}") for text, given in item["labels"].items()},
                )
                for item in payload["columns"]
            )
            groups = pl.DataFrame(payload["groups"], schema={column.name: pl.String for column in columns})
            return cls(columns, tuple(payload["unchanged"]), groups)
        except (KeyError, TypeError, ValueError, AttributeError, pl.exceptions.PolarsError) as error:
            raise DataError(f"{where} is damaged: {type(error).__name__} {error}.") from None

    def apply(self, rows: pl.DataFrame, unseen: Unseen) -> pl.DataFrame:
        """New rows with the labels of their groups, in their order."""
        for name in (*(column.name for column in self.columns), *self.unchanged):
            if name not in rows.columns:
                raise DataError(f"The new rows have no column {name!r}.{did_you_mean(name, rows.columns)}")
        if rows.height == 0:
            return self.groups.clear().with_columns([settled(rows[name]) for name in self.unchanged])
        group = self._groups_of(rows, unseen)
        kept = group >= 0
        labels = self.groups[group[kept]]
        return labels.with_columns([settled(rows[name].filter(pl.Series(kept))) for name in self.unchanged])

    def _groups_of(self, rows: pl.DataFrame, unseen: Unseen) -> NDArray[np.int64]:
        """For every row the first group that covers it, or -1."""
        covers, codes = [], []
        for column in self.columns:
            values, places = _distinct(rows[column.name], column.type)
            covers.append(self._covers(column, values, unseen))
            codes.append(places)
        ids, count = number(*pack(codes, [len(cover) for cover in covers], rows.height))
        firsts = first_rows(ids, count)
        found = np.full(count, -1, dtype=np.int64)
        for start in range(0, count, _ROWS_AT_ONCE):
            chosen = firsts[start : start + _ROWS_AT_ONCE]
            fits = np.ones((len(chosen), self.groups.height), dtype=bool)
            for cover, places in zip(covers, codes, strict=True):
                fits &= cover[places[chosen]]
            found[start : start + _ROWS_AT_ONCE] = np.where(fits.any(axis=1), fits.argmax(axis=1), -1)
        groups: NDArray[np.int64] = found[ids]
        return groups

    def _covers(self, column: RegionColumn, values: pl.Series, unseen: Unseen) -> NDArray[np.bool_]:
        """Which value (row) is covered by the label that a group (column) shows."""
        index = LeafIndex.of(values, column.name)
        names = list(column.labels)
        by_label = np.zeros((len(values), len(names)), dtype=bool)
        for place, label in enumerate(names):
            by_label[column.labels[label].covers(index), place] = True
        if unseen == "error" and not by_label.any(axis=1).all():
            value = values[int(np.argmin(by_label.any(axis=1)))]
            raise DataError(
                f"Column {column.name!r} has the value {value!r}, which no label of the release covers. "
                "Say unseen='suppress' to leave such rows out, or publish anew."
            )
        places = {label: place for place, label in enumerate(names)}
        return by_label[:, [places[label] for label in self.groups[column.name].to_list()]]


def _distinct(series: pl.Series, kind: str) -> tuple[pl.Series, NDArray[np.int64]]:
    """The distinct values of a column of published type ``kind``, and the place of each row's value among them."""
    series = series.cast(pl.String) if kind == "text" else plain(series)
    values = series.unique(maintain_order=True)
    lookup = pl.DataFrame({"value": values, "place": np.arange(len(values))})
    joined = series.to_frame("value").join(lookup, on="value", how="left", maintain_order="left", nulls_equal=True)
    return values, joined["place"].to_numpy()
