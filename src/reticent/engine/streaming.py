"""The streaming engine: tables larger than memory, in chunks of rows.

Frequency sets are additive, so a table's is the sum over its chunks, each counted by the local engine. Only distinct
points stay in memory (a ``floor`` reduces their number); nothing is written to disk.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.context import Context
from reticent.base.files import write_new
from reticent.core import (
    FrequencySet,
    Histograms,
    NodeLevels,
    Order,
    OwnerTallies,
    PartsToRecode,
    Recoded,
    Recoding,
    Written,
    WrittenFile,
)
from reticent.engine.external_sort import in_order
from reticent.engine.local import LocalEngine
from reticent.table import Checksum, Profile, Rows, StoredRows, Table, TableFile


class StreamingEngine:
    """Counts and recodes a table that need not fit into memory."""

    def __init__(self) -> None:
        self._local = LocalEngine()

    def count(self, table: Table, *, sensitive: bool = True, floor: NodeLevels | None = None) -> FrequencySet:
        """Count the distinct quasi-identifier combinations of the table, at level 0 or at ``floor``."""
        levels = floor if floor is not None else (0,) * len(table.hierarchies)
        counted = _added_up(self.chunks(table, levels))
        return counted if sensitive else counted.bare()

    def finest(self, table: Table, floor: NodeLevels) -> NodeLevels:
        """The requested levels: the number of points is known only after counting."""
        return floor

    def points(self, table: Table, counted: FrequencySet) -> Iterator[NDArray[np.int64]]:
        """By chunk, the point of ``counted`` that each row belongs to; -1 for none."""
        return (self._local.point_of_row(part, counted) for part in table.parts())

    def single_rows(self, table: Table, order: NDArray[np.int64]) -> FrequencySet:
        """Raises: every row would have to be in memory."""
        return self._local.single_rows(table, order)

    def profile(self, rows: Rows, columns: Sequence[str]) -> Profile:
        """The number of rows, and the distinct values and nulls of some columns, in one pass."""
        rows_read = 0
        values = {name: pl.Series(name, [], dtype=rows.schema[name]) for name in columns}
        missing: dict[str, tuple[int, int]] = {}
        for chunk in rows.chunks():
            for name in columns:
                column = chunk[name]
                values[name] = pl.concat([values[name], column.unique()]).unique()
                if nulls := column.null_count():
                    nulls_before, first_null = missing.get(name, (0, rows_read + (column.is_null().arg_max() or 0)))
                    missing[name] = nulls_before + nulls, first_null
            rows_read += chunk.height
        return Profile(rows_read, values, missing)

    def write(self, rows: Rows, target: Path, kind: TableFile, order: Order = "sorted") -> Written:
        """Write rows as a new file of a ``kind``; rows to be sorted that do not fit into memory are spooled to files next to it."""
        checksum = Checksum()
        with ExitStack() as work:
            chunks = rows.chunks()
            if order == "sorted":
                chunks = in_order(rows, Path(work.enter_context(TemporaryDirectory(dir=target.parent))))
            write_new(target, checksum.passing(kind.blocks(rows.schema, chunks)), mode=0o600, sync=False)
        return Written(StoredRows(rows.schema, paths=(target,)), (WrittenFile(target, checksum.sha256, checksum.size),))

    def recode(self, table: Table, recoding: Recoding, context: Context) -> Recoded:
        """Public and private rows, computed by chunk whenever they are read."""
        watched = table.watched(context, "recoding and sorting rows")

        def groups(part: Table) -> NDArray[np.int64]:
            return recoding.groups_of(self._local.codes(part, recoding.coded_at))

        return recoding.recoded_parts(PartsToRecode(watched, groups, context.randomness))

    def chunks(self, table: Table, levels: NodeLevels) -> Iterator[FrequencySet]:
        """Frequency sets that add up to that of the table: of its rows by chunk, then of its people, then of the population."""
        first: FrequencySet | None = None
        for part in table.parts():
            counted = self._local.count(part, floor=levels)
            first = first or counted
            yield counted
        if first is None:
            return
        if table.owners:
            for rows in table.people():
                yield self._persons(table, rows, first)
        if table.population is not None:
            yield self._local.people(table, first)

    def _persons(self, table: Table, rows: pl.DataFrame, counted: FrequencySet) -> FrequencySet:
        """People as points without rows. All rows of a person have equal quasi values, so a distinct row is a person, with
        its multiplicity as the number of rows.
        """
        people = rows.group_by(rows.columns).len("rows").sort("rows")
        part = table.part(people.select(rows.columns), weighted=False)
        counts = self._local.count(part, sensitive=False, floor=counted.levels)
        point, most = self._local.point_of_row(part, counts), people["rows"].to_numpy()
        nobody = Histograms(np.zeros(len(counts) + 1, dtype=np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64))
        tally = Histograms.from_cells(point, most, None, len(counts), int(most.max(initial=0)) + 1)
        return replace(
            counts,
            sizes=np.zeros(len(counts), dtype=np.int64),
            histograms=nobody,
            domain=counted.domain,
            owners=(OwnerTallies("person", tally),),
        )


def _added_up(parts: Iterable[FrequencySet]) -> FrequencySet:
    """Return the sum of frequency sets.

    Sets of similar size are added first, so a point is processed a logarithmic number of times.
    """
    waiting: list[FrequencySet] = []
    for part in parts:
        waiting.append(part)
        while len(waiting) > 1 and len(waiting[-2]) <= 2 * len(waiting[-1]):
            last = waiting.pop()
            waiting.append(waiting.pop() + last)
    while len(waiting) > 1:
        last = waiting.pop()
        waiting.append(waiting.pop() + last)
    return waiting[0]
