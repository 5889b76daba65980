"""Streams: rows that are never in memory together, looked at a chunk at a time and as often as somebody asks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import polars as pl

from reticent.data.memory import rows_at_once
from reticent.errors import DataError

Chunks = Iterator[pl.DataFrame]


@dataclass(frozen=True, eq=False)
class Stream:
    """Rows of one ``schema``. ``make(columns)`` reads some columns from the beginning, in the same order every time."""

    schema: pl.Schema
    make: Callable[[Sequence[str]], Chunks] = field(repr=False)

    @classmethod
    def of_lazy(cls, rows: pl.LazyFrame) -> Stream:
        """The rows of a query, by the streaming engine of polars."""

        def make(columns: Sequence[str]) -> Chunks:
            yield from rows.select(columns).collect_batches(
                chunk_size=rows_at_once(len(columns)), maintain_order=True, lazy=True, engine="streaming"
            )

        try:
            return cls(rows.collect_schema(), make)
        except (pl.exceptions.PolarsError, OSError) as error:
            raise DataError(f"The source cannot be read: {str(error).strip().splitlines()[0]}.") from None

    @classmethod
    def of_frame(cls, frame: pl.DataFrame) -> Stream:
        """The rows of a frame that is in memory anyhow."""
        return cls(frame.schema, lambda columns: iter([frame.select(columns)]))

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self.schema.names()

    def chunks(self, columns: Sequence[str] | None = None) -> Chunks:
        """The rows of some columns (or all), as many at once as memory allows."""
        wanted = self.columns if columns is None else list(columns)
        for chunk in self.make(wanted):
            yield from chunk.iter_slices(rows_at_once(len(wanted))) if chunk.height else ()
