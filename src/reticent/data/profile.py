"""What must be known of streamed rows before anything is done with them, found out in one pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from reticent.data.memory import budget
from reticent.data.stream import Chunks, Stream

# A distinct row of a key and its quasi values, and the table that finds equal ones.
_BYTES_PER_PERSON_CELL = 64


@dataclass(frozen=True)
class Nulls:
    """A column's missing values: how many there are, and the place of the first."""

    count: int
    first: int


@dataclass(frozen=True)
class Profile:
    """The number of rows, and of some columns the distinct values (null among them, where one is missing) and what is missing."""

    rows: int
    values: Mapping[str, pl.Series]
    missing: Mapping[str, Nulls]

    @classmethod
    def of(cls, stream: Stream, columns: Sequence[str]) -> Profile:
        """One pass over the rows."""
        rows = 0
        values = {name: pl.Series(name, [], dtype=stream.schema[name]) for name in columns}
        missing: dict[str, Nulls] = {}
        for chunk in stream.chunks():
            for name in columns:
                column = chunk[name]
                values[name] = pl.concat([values[name], column.unique()]).unique()
                if column.null_count():
                    before = missing.get(name, Nulls(0, rows + (column.is_null().arg_max() or 0)))
                    missing[name] = Nulls(before.count + column.null_count(), before.first)
            rows += chunk.height
        return cls(rows, values, missing)


def without_nulls(stream: Stream, columns: Sequence[str]) -> Stream:
    """Only the rows that have a value in all of some columns."""

    def make(wanted: Sequence[str]) -> Chunks:
        read = list(dict.fromkeys([*wanted, *columns]))
        return (chunk.drop_nulls(columns).select(wanted) for chunk in stream.chunks(read))

    return Stream(stream.schema, make)


def by_person(stream: Stream, columns: Sequence[str], key: str, rows: int) -> Iterator[pl.DataFrame]:
    """Some columns of all rows, all rows of a person in one frame, in as many frames as memory asks for.

    Every frame takes a pass of its own and holds the people whose key hashes to its number: nothing is written to a disk.
    """
    parts = max(1, -(-rows * len(columns) * _BYTES_PER_PERSON_CELL // max(budget() // 2, 1)))
    for number in range(parts):
        chunks = [
            chunk.filter(chunk[key].hash(seed=0) % parts == number) if parts > 1 else chunk
            for chunk in stream.chunks(columns)
        ]
        yield pl.concat(chunks)
