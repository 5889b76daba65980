"""Public tables that are too large to be held: on disk, looked at by grouping their rows, loaded only when somebody asks for a frame."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.data import ValueType
from reticent.data.hierarchy import unused
from reticent.data.sorting import in_order
from reticent.data.stream import Chunks, Stream
from reticent.data.writers import BLOCKS, csv_header, csv_layout
from reticent.errors import DataError
from reticent.files import Scratch, read_blocks, write_new
from reticent.release.rows import is_in_order
from reticent.release.tables import check_header
from reticent.release.values import settled

Counted = tuple[pl.DataFrame, NDArray[np.int64] | None]


@dataclass(frozen=True, eq=False)
class StoredTable:
    """A public table in a file. ``judged`` columns are asked about again and again, so their distinct rows are kept."""

    path: Path
    schema: pl.Schema
    judged: tuple[str, ...]

    def scan(self) -> pl.LazyFrame:
        """The rows, not yet read."""
        if self.path.suffix == ".parquet":
            return pl.scan_parquet(self.path)
        return pl.scan_csv(self.path, **csv_layout(self.schema))

    def load(self) -> pl.DataFrame:
        """All rows in memory."""
        return self._collected(self.scan())

    def check(self) -> None:
        """Whether the file has the columns that it should have, of the right types."""
        try:
            if self.path.suffix == ".csv":
                with self.path.open("rb") as file:
                    check_header(file.read(len(csv_header(self.schema))), self.schema, self.path.name)
            found = self.scan().collect_schema()
        except (pl.exceptions.PolarsError, OSError) as error:
            raise self._unreadable(error) from None
        if list(found) != list(self.schema):
            raise DataError(
                f"{self.path.name} has the columns {list(found)}, but the manifest lists {list(self.schema)}."
            )
        for name, dtype in self.schema.items():
            if found[name] != dtype:
                raise DataError(f"{self.path.name}: column {name!r} has type {found[name]}, not {dtype}.")

    def counted(self, columns: Sequence[str]) -> tuple[pl.DataFrame, NDArray[np.int64]]:
        """The distinct rows of some columns, and how often each stands in the table."""
        times = self._times
        if set(columns) <= set(self.judged):
            grouped = self._judged.group_by(columns or pl.lit(0)).agg(pl.col(times).sum())
        else:
            grouped = self._collected(self.scan().group_by(columns).agg(pl.len().cast(pl.Int64).alias(times)))
        return grouped.select(columns), grouped[times].to_numpy()

    @cached_property
    def height(self) -> int:
        """The number of rows."""
        return int(self._judged[self._times].sum())

    @property
    def _times(self) -> str:
        """A name for counts that no column has."""
        return unused("times", self.schema)

    @cached_property
    def _judged(self) -> pl.DataFrame:
        counted = pl.len().cast(pl.Int64).alias(self._times)
        if not self.judged:
            return self._collected(self.scan().select(counted))
        return self._collected(self.scan().group_by(self.judged).agg(counted))

    def is_in_order(self) -> bool:
        """Whether the rows stand as they are published: sorted by all columns."""
        before = pl.DataFrame(schema=self.schema)
        for chunk in Stream.of_lazy(self.scan()).chunks():
            if not is_in_order(pl.concat([before, chunk])):
                return False
            before = chunk.tail(1)
        return True

    def _collected(self, rows: pl.LazyFrame) -> pl.DataFrame:
        try:
            return rows.collect(engine="streaming")
        except (pl.exceptions.PolarsError, OSError) as error:
            raise self._unreadable(error) from None

    def _unreadable(self, error: Exception) -> DataError:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        return DataError(f"{self.path.name} cannot be read as the manifest describes it: {first}")


class StoredTables(Mapping[str, pl.DataFrame]):
    """Stored tables by name. Taking one out loads all its rows; everything that judges a release uses :meth:`counted` instead."""

    def __init__(self, tables: Mapping[str, StoredTable], scratch: Scratch | None = None) -> None:
        # The scratch folder lives as long as the tables that lie in it.
        self.stored, self._scratch = dict(tables), scratch

    def __getitem__(self, name: str) -> pl.DataFrame:
        return self.stored[name].load()

    def __iter__(self) -> Iterator[str]:
        return iter(self.stored)

    def __len__(self) -> int:
        return len(self.stored)


@dataclass(frozen=True)
class Written:
    """Tables that were written to a scratch folder, and what the certificate says about each file."""

    tables: StoredTables
    prints: Mapping[str, Mapping[str, Any]]


def counted(tables: Mapping[str, pl.DataFrame], name: str, columns: Sequence[str]) -> Counted:
    """Some columns of a public table: the rows as they are, or of a stored table its distinct rows and how often each stands there."""
    if isinstance(tables, StoredTables):
        return tables.stored[name].counted(columns)
    return tables[name].select(columns), None


def distinct_rows(
    tables: Mapping[str, pl.DataFrame], name: str, columns: Sequence[str]
) -> tuple[pl.DataFrame, NDArray[np.int64]]:
    """The distinct rows of some columns of a public table, and how often each stands there."""
    rows, times = counted(tables, name, columns)
    if times is not None:
        return rows, times
    name = unused("times", columns)
    grouped = rows.group_by(columns).agg(pl.len().cast(pl.Int64).alias(name))
    return grouped.select(columns), grouped[name].to_numpy()


def height(tables: Mapping[str, pl.DataFrame], name: str) -> int:
    """The number of rows of a public table."""
    return tables.stored[name].height if isinstance(tables, StoredTables) else tables[name].height


def stands_in_order(tables: Mapping[str, pl.DataFrame], name: str) -> bool:
    """Whether the rows of a public table are sorted by all columns."""
    return tables.stored[name].is_in_order() if isinstance(tables, StoredTables) else is_in_order(tables[name])


def schema_of(tables: Mapping[str, pl.DataFrame], name: str) -> pl.Schema:
    """The columns of a public table with their types."""
    return tables.stored[name].schema if isinstance(tables, StoredTables) else tables[name].schema


def stored_bytes(tables: Mapping[str, pl.DataFrame], name: str) -> Iterator[bytes] | None:
    """The bytes of a stored table's file; None where the table is in memory."""
    return read_blocks(tables.stored[name].path) if isinstance(tables, StoredTables) else None


def write_sorted(streams: Mapping[str, Stream], kind: str, judged: Sequence[str], place: str | Path | None) -> Written:
    """Drafted rows as public files of ``kind`` in a scratch folder below ``place``: settled, sorted, hashed while they are written."""
    try:
        scratch = Scratch(place)
        tables, prints = {}, {}
        for name, stream in streams.items():
            work = scratch.folder / f"sorting {name}"
            work.mkdir(mode=0o700)
            path, public = scratch.folder / f"{name}.{kind}", _settled(stream)
            tally = _Tally()
            write_new(path, tally.passing(BLOCKS[kind](public.schema, in_order(public, work))), mode=0o600)
            tables[name] = StoredTable(
                path, public.schema, tuple(column for column in public.columns if column in judged)
            )
            prints[name] = tally.print()
    except OSError as error:
        where = error.filename or place or "the folder for temporary files (TMPDIR)"
        raise DataError(
            f"The release could not be written to {str(where)!r} on its way: {error.strerror or error}. Make room there, or name another "
            "folder with TMPDIR. Nothing was published."
        ) from error
    return Written(StoredTables(tables, scratch), prints)


def hash_file(path: Path) -> dict[str, Any]:
    """What a certificate says about a file, without holding it."""
    tally = _Tally()
    for _ in tally.passing(read_blocks(path)):
        pass
    return tally.print()


def _settled(stream: Stream) -> Stream:
    """The rows with every column of a published type."""
    schema = pl.Schema({name: ValueType.published(dtype).dtype for name, dtype in stream.schema.items()})

    def make(columns: Sequence[str]) -> Chunks:
        return (pl.DataFrame([settled(column) for column in chunk]) for chunk in stream.chunks(columns))

    return Stream(schema, make)


class _Tally:
    """The hash and the length of bytes on their way. It has state because it counts."""

    def __init__(self) -> None:
        self._hash, self._length = hashlib.sha256(), 0

    def passing(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        for block in blocks:
            self._hash.update(block)
            self._length += len(block)
            yield block

    def print(self) -> dict[str, Any]:
        """What a certificate says about these bytes."""
        return {"sha256": self._hash.hexdigest(), "bytes": self._length}
