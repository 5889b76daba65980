"""An engine wrapper: it does what the local engine does and writes down what it was asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.context import Context
from reticent.core import FrequencySet, Order, Recoded, Recoding, Written, engine_named
from reticent.table import FrameRows, Profile, Rows, Table, TableFile

CALLS: list[str] = []


@dataclass(frozen=True, eq=False)
class ElsewhereRows:
    """Rows that lie somewhere else: they can be scanned, but not had in memory."""

    inner: Rows
    again: ClassVar[bool] = True
    engine: ClassVar[str] = "counting"

    @property
    def schema(self) -> pl.Schema:
        return self.inner.schema

    @property
    def height(self) -> int:
        return self.inner.height

    def values(self, column: str) -> pl.Series:
        return self.inner.values(column)

    def chunks(self, columns: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
        return self.inner.chunks(columns)

    def counted(self, columns: Sequence[str]) -> tuple[pl.DataFrame, NDArray[np.int64]]:
        return self.inner.counted(columns)

    def mapped(self, schema: pl.Schema, change: Any, needs: Sequence[str] = ()) -> Rows:
        return ElsewhereRows(self.inner.mapped(schema, change, needs))

    def frame(self) -> pl.DataFrame:
        raise AssertionError("rows that lie elsewhere were asked for as one frame")


class CountingEngine:
    """Hands every call on, and remembers it."""

    def __init__(self) -> None:
        self.inner = engine_named("streaming")

    def count(self, table: Table, *, sensitive: bool = True, floor: tuple[int, ...] | None = None) -> FrequencySet:
        CALLS.append("count")
        return self.inner.count(table, sensitive=sensitive, floor=floor)

    def finest(self, table: Table, floor: tuple[int, ...]) -> tuple[int, ...]:
        return self.inner.finest(table, floor)

    def points(self, table: Table, counted: FrequencySet) -> Iterator[NDArray[np.int64]]:
        CALLS.append("points")
        return self.inner.points(table, counted)

    def single_rows(self, table: Table, order: NDArray[np.int64]) -> FrequencySet:
        CALLS.append("single_rows")
        return self.inner.single_rows(table, order)

    def recode(self, table: Table, recoding: Recoding, context: Context) -> Recoded:
        CALLS.append("recode")
        made = self.inner.recode(table, recoding, context)
        return Recoded({name: ElsewhereRows(rows) for name, rows in made.tables.items()}, made.private)

    def profile(self, rows: Rows, columns: Sequence[str]) -> Profile:
        CALLS.append("profile")
        return self.inner.profile(rows, columns)

    def write(self, rows: Rows, target: Path, kind: TableFile, order: Order = "sorted") -> Written:
        CALLS.append("write")
        return self.inner.write(rows, target, kind, order)


def elsewhere(frame: pl.DataFrame) -> ElsewhereRows:
    """A frame as rows of the counting engine."""
    return ElsewhereRows(FrameRows(frame))


__all__ = ["CALLS", "CountingEngine", "ElsewhereRows", "elsewhere"]
