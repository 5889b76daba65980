"""A growing table, followed row by row: would a release of it still be safe (R-WK-9, R-WK-10)?"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl

from reticent.data import Table
from reticent.data.frames import as_polars
from reticent.errors import DataError, PolicyError, did_you_mean
from reticent.exact import Number
from reticent.knowledge.monitor import Monitor, Watch
from reticent.knowledge.source import PublishedRelease, check_rows_are_people

_MISSING = "(missing)"


@dataclass(frozen=True)
class Growth:
    """What new rows do: the state before and after, and the first row (from 1) with which the table was not safe."""

    before: Watch
    after: Watch
    rows: int
    first_unsafe_row: int | None

    def sentence(self) -> str:
        """The result in words."""
        facts = len(self.after.curve) - 1
        state = "still safe" if self.after.holds else "NOT safe"
        told = (
            f"With {self.rows} new rows the table is {state} against {facts} facts: the disclosure goes from "
            f"{_shown(self.before.disclosure)} to {_shown(self.after.disclosure)}, the limit is {_shown(self.after.c)}."
        )
        if not self.before.holds:
            told += " It was not safe before either."
        elif self.first_unsafe_row is not None:
            told += f" The first row that makes it unsafe is row {self.first_unsafe_row}."
        return told


def watch(
    source: Table | PublishedRelease,
    arriving: Any,
    c: Number,
    k: int,
    *,
    levels: Mapping[str, int] | None = None,
) -> Growth:
    """Add the rows of the frame ``arriving`` (None: no rows) one by one and watch the disclosure.

    A table is grouped by its quasi columns at ``levels``. For a generalized release the new rows must be recoded as the release was
    (``rt.apply`` does that).
    """
    new = None if arriving is None else as_polars(arriving)
    present, rows = _of_table(source, new, levels or {}) if isinstance(source, Table) else _of_release(source, new)
    buckets: defaultdict[Hashable, Counter[Hashable]] = defaultdict(Counter)
    for labels, value in present:
        buckets[labels][value] += 1
    monitor = Monitor(buckets, c, k)
    before = after = monitor.state()
    first = None
    for number, row in enumerate(rows, start=1):
        after = monitor.apply([row])
        if first is None and before.holds and not after.holds:
            first = number
    return Growth(before, after, len(rows), first)


Row = tuple[Hashable, Hashable]


def _of_table(table: Table, new: pl.DataFrame | None, levels: Mapping[str, int]) -> tuple[list[Row], list[Row]]:
    """Rows as (labels, value): those of the table, and the new ones."""
    from reticent.engine import count_table, engine_of

    check_rows_are_people(table)
    quasi, sensitive = list(table.quasi), _one(list(table.sensitive))
    for name in levels:
        if name not in quasi:
            raise PolicyError(f"There is no quasi column {name!r}.{did_you_mean(name, quasi)}")
    frame = table.frame.select([*quasi, sensitive])
    if new is not None:
        _require(new, [*quasi, sensitive])
        try:
            frame = pl.concat([frame, new.select(pl.col(name).cast(frame.schema[name]) for name in frame.columns)])
        except pl.exceptions.PolarsError as error:
            raise DataError(f"The new rows do not have the types of the table: {str(error).splitlines()[0]}") from None
    everything = Table(frame, quasi=table.quasi, sensitive=sensitive, nulls="category")
    points = count_table(everything, sensitive=False, floor=tuple(levels.get(name, 0) for name in quasi))
    labelled = points.labels()[np.concatenate(list(engine_of(everything).points(everything, points)))]
    rows = _pairs(labelled, everything.frame[sensitive])
    return rows[: table.rows], rows[table.rows :]


def _of_release(release: PublishedRelease, new: pl.DataFrame | None) -> tuple[list[Row], list[Row]]:
    side: PublishedRelease = getattr(release, "public", release)
    if side.manifest.only("bucket") is not None:
        raise PolicyError(
            "New rows cannot be placed in the buckets of a bucketized release. Monitor the table with its policy instead."
        )
    quasi, sensitive = list(side.manifest.named("quasi")), _one(list(side.manifest.named("sensitive")))
    data = side.tables["data"]
    if new is not None:
        _require(new, [*quasi, sensitive])
    return _pairs(data.select(quasi), data[sensitive]), (
        [] if new is None else _pairs(new.select(quasi), new[sensitive])
    )


def _pairs(quasi: pl.DataFrame, sensitive: pl.Series) -> list[Row]:
    values = sensitive.cast(pl.String).fill_null(_MISSING).to_list()
    return list(zip(quasi.rows() if quasi.width else [()] * len(values), values, strict=True))


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
