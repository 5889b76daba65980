"""Public tables to files and back. The bytes of a file depend only on the disclosed content.

Rows are sorted by content, so that their order discloses nothing about the original order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from reticent.base.encoding import sorted_values
from reticent.base.expansion import LONGEST_TEXT, may_be_held
from reticent.base.files import read_blocks
from reticent.base.memory import text_memory
from reticent.errors import DataError, first_line
from reticent.release.manifest import Manifest
from reticent.table import (
    Checksum,
    CodedRows,
    FrameRows,
    Meaning,
    RepeatedRows,
    TableRows,
    csv_runs,
    null_label,
    table_file,
)

# Below this size, detecting repeated lines takes longer than reading all of them.
_SMALL = 1 << 16


def hash_file(path: Path) -> dict[str, Any]:
    """Return a file's size and hash, as certificates list them, without loading it."""
    checksum = Checksum()
    for _ in checksum.passing(read_blocks(path)):
        pass
    return {"sha256": checksum.sha256, "bytes": checksum.size}


def read_table(content: bytes, name: str, manifest: Manifest, part: int = 0) -> pl.DataFrame:
    """Parse a file of a public table by the manifest; a mismatch raises a :class:`DataError`."""
    table = manifest.tables[name]
    schema, file = published_schema(name, manifest), table.files[part]
    try:
        frame = table_file(Path(file).suffix.removeprefix(".")).read(content, schema, file)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
        raise DataError(f"{file} cannot be read as the manifest describes it: {first_line(error)}") from None
    if frame.columns != list(table.columns):
        raise DataError(f"{file} has the columns {frame.columns}, but the manifest lists {list(table.columns)}.")
    for column, dtype in schema.items():
        if frame[column].dtype != dtype:
            raise DataError(f"{file}: column {column!r} has type {frame[column].dtype}, not {dtype}.")
        if dtype == pl.String:
            _check_texts(frame[column], len(content), file)
    refuse_beside(content, file, FrameRows(frame))
    return frame


def _check_texts(texts: pl.Series, packed: int, file: str) -> None:
    """Refuse texts that are too long, or repeated too often: a compressed file stores a text once, memory holds every copy."""
    lengths = texts.str.len_bytes()
    longest, total = int(lengths.max() or 0), int(lengths.sum())  # type: ignore[arg-type]  # whole numbers
    if longest > LONGEST_TEXT or not may_be_held(text_memory(total), packed):
        raise DataError(
            f"{file}: column {texts.name!r} has a text of {longest:,} bytes and {total:,} bytes in all; the limit is {LONGEST_TEXT:,} per text and, in all, what "
            "fits in memory."
        )


def refuse_beside(content: bytes | Path, file: str, rows: TableRows) -> None:
    """Refuse a public file that holds anything besides the table described by the manifest."""
    extra_content = table_file(Path(file).suffix.removeprefix(".")).beside(content, file, rows)
    if extra_content is not None:
        raise DataError(f"{file} holds {extra_content}, which the manifest does not describe.")


def read_rows(
    contents: Sequence[bytes], name: str, manifest: Manifest, *, small: int = _SMALL
) -> FrameRows | RepeatedRows:
    """Return the rows of a published table, read from the ``contents`` of all its files.

    In a single CSV file of more than ``small`` bytes repeated lines are parsed once.
    """
    is_large_csv = manifest.tables[name].files[0].endswith(".csv") and len(contents) == 1 and len(contents[0]) > small
    try:
        rows_and_counts = csv_runs(contents[0], published_schema(name, manifest)) if is_large_csv else None
        if rows_and_counts is not None:
            distinct = read_table(rows_and_counts[0], name, manifest)
            if distinct.height == len(rows_and_counts[1]):
                return RepeatedRows(CodedRows.of(distinct), rows_and_counts[1])
    except (DataError, pl.exceptions.ComputeError):
        # Reported for all rows below.
        pass
    return CodedRows.of(pl.concat(read_table(content, name, manifest, part) for part, content in enumerate(contents)))


def published_schema(name: str, manifest: Manifest) -> pl.Schema:
    """Return the columns of a public table with their types in the manifest."""
    return pl.Schema({column: manifest.column(column).type_in(name) for column in manifest.tables[name].columns})


def labels_of(series: pl.Series, meanings: Mapping[str, Meaning]) -> list[str]:
    """Return the labels that occur in a published quasi column, sorted: its values as text, null as the label of the missing value."""
    labels = set(sorted_values(series).cast(pl.String).to_list())
    return sorted({null_label(meanings), *labels - {None}} if None in labels else labels)
