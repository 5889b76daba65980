"""The streaming engine: tables larger than memory, a chunk of rows at a time.

Frequency sets add up, so a table's is the sum of those of its chunks, each counted by the local engine. Only distinct points stay in
memory (a ``floor`` makes them fewer); nothing is written to a disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from reticent.data.frequencies import FrequencySet, Levels
from reticent.data.groups import Histograms
from reticent.data.stream import Stream
from reticent.data.table import Table
from reticent.engine.local import LocalEngine


class StreamingEngine:
    """Counts and recodes a table that need not fit into memory."""

    def __init__(self) -> None:
        self._local = LocalEngine()

    def frequencies(self, table: Table, *, sensitive: bool = True, floor: Levels | None = None) -> FrequencySet:
        """Count the distinct quasi points of the table, at level 0 or at ``floor``."""
        levels = floor if floor is not None else (0,) * len(table.hierarchies)
        counted = self._counted(table, levels)
        return counted if sensitive else counted.bare()

    def recoded(self, table: Table, recode: Callable[[Table], pl.DataFrame], schema: pl.Schema) -> Stream:
        """What ``recode`` makes of the rows, chunk by chunk, as rows of ``schema``."""

        def make(columns: Sequence[str]) -> Iterator[pl.DataFrame]:
            return (recode(part).select(columns) for part in table.parts())

        return Stream(schema, make)

    def _counted(self, table: Table, levels: Levels) -> FrequencySet:
        counted = _added_up(self._local.frequencies(part, floor=levels) for part in table.parts())
        if table.unit == "person" and table.key is not None:
            counted = counted + _added_up(self._persons(table, rows, counted) for rows in table.people())
        return counted if table.population is None else counted + self._local.people(table, counted)

    def _persons(self, table: Table, rows: pl.DataFrame, counted: FrequencySet) -> FrequencySet:
        """People as points without rows. All rows of a person share their quasi values, so a distinct row is a person."""
        part = table.part(rows.unique(), weighted=False)
        found = self._local.frequencies(part, sensitive=False, floor=counted.levels)
        nobody = Histograms(np.zeros(len(found) + 1, dtype=np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64))
        return replace(
            found,
            sizes=np.zeros(len(found), dtype=np.int64),
            histograms=nobody,
            domain=counted.domain,
            extras={"persons": found.sizes},
        )


def _added_up(parts: Iterable[FrequencySet]) -> FrequencySet:
    """The sum. Sets of like size are added first, so that a point is handled a logarithmic number of times."""
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
