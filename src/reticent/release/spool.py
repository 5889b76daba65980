"""Spooled public files: written once, hashed while written, kept in a scratch folder until the release is saved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from reticent.base.context import Context
from reticent.base.files import Scratch
from reticent.core import Draft, engine_named
from reticent.errors import DataError
from reticent.release.canonical_json import settled
from reticent.release.format import Format
from reticent.table import (
    Checksum,
    FrameRows,
    RepeatedRows,
    Rows,
    StoredRows,
    Table,
    TableFile,
    ValueType,
    csv_blocks,
    csv_header,
    formula_columns,
    repeated_csv_blocks,
)


@dataclass(frozen=True)
class Spool:
    """Public tables as ``rows`` and as files; ``parts`` are the files of each table in order, ``prints`` their sizes and hashes."""

    rows: Mapping[str, Rows]
    parts: Mapping[str, tuple[str, ...]]
    files: Mapping[str, Path]
    prints: Mapping[str, Mapping[str, Any]]
    # The folder is removed when the last reference to it is dropped.
    _scratch: Scratch = field(repr=False)

    @classmethod
    def of(cls, draft: Draft, form: Format, table: Table, kind: TableFile, context: Context) -> Spool:
        """Write the tables of a draft as files of type ``kind``, in the row order of its format."""
        public = form.arranged({name: _settled(rows) for name, rows in draft.tables.items()}, draft, table)
        # Sampled rows are not queried by group, and each may be distinct: the groups of fifty million rows would take
        # gigabytes.
        judged = (*table.quasi, *table.sensitive) if draft.evidence.groups else ()
        try:
            scratch = Scratch(context.scratch)
            rows, parts = {}, {}
            files: dict[str, Path] = {}
            fingerprints: dict[str, dict[str, Any]] = {}
            with scratch.closed_on_error():
                for name, table_rows in public.items():
                    target = scratch.folder / f"{name}.{kind.name}"
                    written = engine_named(table_rows.engine).write(table_rows, target, kind, form.order)
                    rows[name] = judging(written.rows, judged)
                    parts[name] = tuple(file.path.name for file in written.files)
                    files |= {file.path.name: file.path for file in written.files}
                    fingerprints |= {
                        file.path.name: {"sha256": file.sha256, "bytes": file.size} for file in written.files
                    }
        except OSError as error:
            where = error.filename or context.scratch or "the folder for temporary files (TMPDIR)"
            raise DataError(
                f"The release could not be written to the scratch folder {str(where)!r}: {error.strerror or error}. Make room there, or name another "
                "folder with TMPDIR. Nothing was published."
            ) from error
        return cls(rows, parts, files, prints=fingerprints, _scratch=scratch)

    def closed_on_error(self) -> AbstractContextManager[None]:
        """Remove the files if the block fails."""
        return self._scratch.closed_on_error()

    def formulas(self, name: str) -> tuple[str, ...]:
        """Return the columns of a table with text that a spreadsheet would run as a formula."""
        return formulas_in(self.rows[name])

    def row_hashes(self) -> dict[str, str]:
        """Return a hash of each table's rows that does not depend on the file type: that of the table as CSV."""
        return {
            name: str(self.prints[f"{name}.csv"]["sha256"]) if f"{name}.csv" in self.prints else _csv_hash(rows)
            for name, rows in self.rows.items()
        }


def formulas_in(rows: Rows) -> tuple[str, ...]:
    """Return the columns with text that a spreadsheet would run as a formula, in order."""
    if isinstance(rows, FrameRows | RepeatedRows):
        return tuple(formula_columns(rows.held if isinstance(rows, FrameRows) else rows.distinct.held))
    text_columns = [name for name, dtype in rows.schema.items() if dtype == pl.String]
    columns_with_formulas = (
        {name for chunk in rows.chunks(text_columns) for name in formula_columns(chunk)} if text_columns else set()
    )
    return tuple(name for name in text_columns if name in columns_with_formulas)


def judging(rows: Rows, columns: Sequence[str]) -> Rows:
    """Return the rows with the distinct combinations of some columns cached, since these are queried repeatedly."""
    return rows.judging(columns) if isinstance(rows, FrameRows | RepeatedRows | StoredRows) else rows


def _csv_hash(rows: Rows) -> str:
    """Return the SHA-256 of the rows as CSV."""
    checksum = Checksum()
    for _ in checksum.passing(_as_csv(rows)):
        pass
    return checksum.sha256


def _as_csv(rows: Rows) -> Iterator[bytes]:
    """Yield the rows as CSV. Rows are sorted, so equal ones are adjacent: each is formatted once and repeated."""
    if not isinstance(rows, StoredRows):
        yield from csv_blocks(rows.schema, rows.chunks())
        return
    yield csv_header(rows.schema)
    for chunk in rows.chunks():
        differs_from_previous = [column[1:].ne_missing(column[:-1]).to_numpy() for column in chunk]
        starts = np.flatnonzero(np.concatenate([[True], np.logical_or.reduce(differs_from_previous)]))
        run_lengths = np.diff(np.append(starts, chunk.height))
        yield from islice(repeated_csv_blocks(rows.schema, chunk[starts], run_lengths), 1, None)


def _settled(rows: Rows) -> Rows:
    """Return the rows with every column converted to a published type."""
    schema = pl.Schema({name: ValueType.published(dtype).dtype for name, dtype in rows.schema.items()})
    if schema == rows.schema and not any(dtype.is_float() for dtype in schema.dtypes()):
        return rows
    return rows.mapped(schema, lambda part: pl.DataFrame([settled(column) for column in part]))
