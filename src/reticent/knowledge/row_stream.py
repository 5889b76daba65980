"""A growing table, row by row: would a release of it still be safe?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import polars as pl

from reticent.base.exact import Number
from reticent.base.frames import as_polars
from reticent.errors import DataError, PolicyError, did_you_mean, first_line
from reticent.knowledge.bucket_monitor import Monitor, Watch
from reticent.knowledge.people_source import check_rows_are_people
from reticent.release import adversary_view_of
from reticent.table import NULL_LABEL, Table


@dataclass(frozen=True)
class Growth:
    """The effect of new rows: the state before and after, and the first row (from 1) that made the table unsafe."""

    before: Watch
    after: Watch
    rows: int
    first_unsafe_row: int | None

    def sentence(self) -> str:
        """Return the result in words."""
        facts = len(self.after.curve) - 1
        state = "still safe" if self.after.holds else "NOT safe"
        text = (
            f"With {self.rows} new rows the table is {state} against {facts} facts: the disclosure goes from "
            f"{_shown(self.before.disclosure)} to {_shown(self.after.disclosure)}, the limit is {_shown(self.after.c)}."
        )
        if not self.before.holds:
            text += " It was not safe before either."
        elif self.first_unsafe_row is not None:
            text += f" The first row that makes it unsafe is row {self.first_unsafe_row}."
        return text


def watch(
    source: Any,
    arriving: Any,
    c: Number,
    k: int,
    *,
    levels: Mapping[str, int] | None = None,
) -> Growth:
    """Add the rows of the frame ``arriving`` (None: no rows) one by one and track the disclosure.

    A table is grouped by its quasi-identifiers at ``levels``. For a generalized release the new rows must be recoded as
    the release was (``rt.apply`` does that).
    """
    new = None if arriving is None else as_polars(arriving)
    buckets, rows = _of_table(source, new, levels) if isinstance(source, Table) else _of_release(source, new, levels)
    monitor = Monitor(buckets, c, k)
    before = after = monitor.state()
    first = None
    for number, row in enumerate(rows, start=1):
        after = monitor.apply([row])
        if first is None and before.holds and not after.holds:
            first = number
    return Growth(before, after, len(rows), first)


Row = tuple[Hashable, Hashable]
Counted = dict[Hashable, Counter[Hashable]]


def _of_table(table: Table, new: pl.DataFrame | None, levels: Mapping[str, int] | None) -> tuple[Counted, list[Row]]:
    """Return the table's groups, and the new rows as (group, value): both are grouped together, so that new values have a code."""
    check_rows_are_people(table)
    quasi, sensitive = list(table.quasi), _one(list(table.sensitive))
    frame = table.frame.select([*quasi, sensitive])
    if new is not None:
        _require(new, [*quasi, sensitive])
        try:
            frame = pl.concat([frame, new.select(pl.col(name).cast(frame.schema[name]) for name in frame.columns)])
        except pl.exceptions.PolarsError as error:
            raise DataError(f"The new rows do not have the types of the table: {first_line(error)}") from None
    all_rows = Table(frame, quasi=table.quasi, sensitive=sensitive, nulls="category")
    groups_of_rows = adversary_view_of(all_rows, levels).place(all_rows.frame).tolist()
    rows: list[Row] = list(zip(groups_of_rows, _texts(all_rows.frame[sensitive]), strict=True))
    buckets: Counted = {}
    for group, value in rows[: table.rows]:
        buckets.setdefault(group, Counter())[value] += 1
    return buckets, rows[table.rows :]


def _of_release(source: Any, new: pl.DataFrame | None, levels: Mapping[str, int] | None) -> tuple[Counted, list[Row]]:
    """Return the groups of a release, and new, already recoded rows as (labels, value)."""
    view = adversary_view_of(source, levels)
    sensitive = _one([column.name for column in view.true_groups.domain.columns])
    if not view.is_row_by_row:
        raise PolicyError(
            "New rows cannot be placed in the buckets of a bucketized release. Monitor the table with its policy instead."
        )
    buckets: Counted = {
        tuple(view.describe(group).values()): Counter(view.true_groups.histogram(group))
        for group in range(len(view.sizes))
    }
    if len(buckets) < len(view.sizes):
        raise PolicyError(
            "New rows are placed by their labels, and groups of this release may show the same ones. Monitor the table with its policy instead."
        )
    if new is None:
        return buckets, []
    _require(new, [*view.names, sensitive])
    labels = (
        new.select(pl.col(view.names).cast(pl.String).fill_null(NULL_LABEL)).rows() if view.names else [()] * new.height
    )
    return buckets, list(zip(labels, _texts(new[sensitive]), strict=True))


def _texts(values: pl.Series) -> list[str]:
    return values.cast(pl.String).fill_null(NULL_LABEL).to_list()


def _one(sensitive: list[str]) -> str:
    if len(sensitive) != 1:
        raise PolicyError(f"Exactly one sensitive column can be watched, but there are {len(sensitive)}.")
    return sensitive[0]


def _require(frame: pl.DataFrame, columns: list[str]) -> None:
    for name in columns:
        if name not in frame.columns:
            raise DataError(f"The new rows have no column {name!r}.{did_you_mean(name, frame.columns)}")


def _shown(value: Fraction) -> str:
    return str(value) if value.denominator == 1 else f"{value} = {float(value):.4f}"
