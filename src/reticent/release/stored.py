"""Public tables that are too large to be held: on disk, looked at by grouping their rows, loaded only when somebody asks for a frame."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.data import Checksum, FrameRows, Rows, StoredRows, ValueType, engine_named, stand_in_order, unused
from reticent.errors import DataError
from reticent.files import Scratch, read_blocks
from reticent.release.values import settled

Counted = tuple[pl.DataFrame, NDArray[np.int64] | None]


class StoredTables(Mapping[str, pl.DataFrame]):
    """Stored tables by name. Taking one out loads all its rows; everything that judges a release uses :meth:`counted` instead."""

    def __init__(self, tables: Mapping[str, StoredRows], scratch: Scratch | None = None) -> None:
        # The scratch folder lives as long as the tables that lie in it.
        self.stored, self._scratch = dict(tables), scratch

    def __getitem__(self, name: str) -> pl.DataFrame:
        return self.stored[name].frame()

    def __iter__(self) -> Iterator[str]:
        return iter(self.stored)

    def __len__(self) -> int:
        return len(self.stored)


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
    return stand_in_order(tables.stored[name] if isinstance(tables, StoredTables) else FrameRows(tables[name]))


def schema_of(tables: Mapping[str, pl.DataFrame], name: str) -> pl.Schema:
    """The columns of a public table with their types."""
    return tables.stored[name].schema if isinstance(tables, StoredTables) else tables[name].schema


def stored_bytes(tables: Mapping[str, pl.DataFrame], name: str) -> Iterator[bytes] | None:
    """The bytes of a stored table's file; None where the table is in memory."""
    return read_blocks(tables.stored[name].path) if isinstance(tables, StoredTables) else None


def write_sorted(
    streams: Mapping[str, Rows], kind: str, judged: Sequence[str], place: str | Path | None
) -> tuple[StoredTables, dict[str, dict[str, Any]]]:
    """Drafted rows as public files of ``kind`` in a scratch folder below ``place``: settled, sorted, hashed while they are written; and what the certificate says of each."""
    try:
        scratch = Scratch(place)
        tables, prints = {}, {}
        for name, rows in streams.items():
            public = _settled(rows)
            made = engine_named(public.engine).write(public, scratch.folder / f"{name}.{kind}", kind)
            own = tuple(column for column in public.schema if column in judged)
            tables[name] = StoredRows(public.schema, path=scratch.folder / f"{name}.{kind}", judged=own)
            prints[name] = {"sha256": made.sha256, "bytes": made.size}
    except OSError as error:
        where = error.filename or place or "the folder for temporary files (TMPDIR)"
        raise DataError(
            f"The release could not be written to {str(where)!r} on its way: {error.strerror or error}. Make room there, or name another "
            "folder with TMPDIR. Nothing was published."
        ) from error
    return StoredTables(tables, scratch), prints


def hash_file(path: Path) -> dict[str, Any]:
    """What a certificate says about a file, without holding it."""
    checksum = Checksum()
    for _ in checksum.passing(read_blocks(path)):
        pass
    return {"sha256": checksum.sha256, "bytes": checksum.size}


def _settled(rows: Rows) -> Rows:
    """The rows with every column of a published type."""
    schema = pl.Schema({name: ValueType.published(dtype).dtype for name, dtype in rows.schema.items()})
    return rows.mapped(schema, lambda part: pl.DataFrame([settled(column) for column in part]))
