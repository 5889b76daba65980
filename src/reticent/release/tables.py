"""Public tables: from a draft's frames to files whose bytes depend on what they show and on nothing else, and back.

Rows are sorted and buckets renumbered by their content, so that neither tells how the original table was ordered.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

from reticent.data import NULL_LABEL
from reticent.data.hierarchy import unused
from reticent.data.writers import as_csv, as_parquet, csv_header, csv_layout
from reticent.errors import DataError
from reticent.release.manifest import Manifest
from reticent.release.rows import in_order
from reticent.release.values import TYPES, settled

Frames = Mapping[str, pl.DataFrame]

FILE_KINDS: Mapping[str, Callable[[pl.DataFrame], bytes]] = {"csv": as_csv, "parquet": as_parquet}


def public_frames(tables: Frames, bucket: str | None) -> dict[str, pl.DataFrame]:
    """The draft's tables with every column of a published type, and rows in the order of their content."""
    settled_frames = {name: pl.DataFrame([settled(column) for column in frame]) for name, frame in tables.items()}
    if bucket is not None:
        settled_frames = _renumbered(settled_frames, bucket)
    return {name: in_order(frame) for name, frame in settled_frames.items()}


def file_bytes(frame: pl.DataFrame, kind: str) -> bytes:
    """A table as the bytes of its file."""
    return FILE_KINDS[kind](frame)


def read_table(content: bytes, name: str, manifest: Manifest) -> pl.DataFrame:
    """A public table as the manifest describes it; whatever does not fit is a :class:`DataError` that says what."""
    table = manifest.tables[name]
    schema = published_schema(name, manifest)
    if table.file.endswith(".csv"):
        check_header(content, schema, table.file)
    try:
        if table.file.endswith(".parquet"):
            frame = pl.read_parquet(io.BytesIO(content))
        else:
            frame = pl.read_csv(io.BytesIO(content), **csv_layout(schema))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
        raise DataError(f"{table.file} cannot be read as the manifest describes it: {_first_line(error)}") from None
    if frame.columns != list(table.columns):
        raise DataError(f"{table.file} has the columns {frame.columns}, but the manifest lists {list(table.columns)}.")
    for column, dtype in schema.items():
        if frame[column].dtype != dtype:
            raise DataError(f"{table.file}: column {column!r} has type {frame[column].dtype}, not {dtype}.")
    return frame


def check_header(content: bytes, schema: pl.Schema, file: str) -> None:
    """Whether a CSV file begins with the columns that it should have."""
    if not content.startswith(csv_header(schema)):
        found = content.split(b"\n", 1)[0].decode(errors="replace")
        raise DataError(f"{file} begins with {found!r}, but the manifest lists the columns {list(schema)}.")


def published_schema(name: str, manifest: Manifest) -> pl.Schema:
    """The columns of a public table with the types that the manifest gives them."""
    return pl.Schema({column: _published_type(column, manifest) for column in manifest.tables[name].columns})


def _published_type(column: str, manifest: Manifest) -> pl.DataType:
    if column in (manifest.bucket, manifest.count):
        return TYPES["integer"]
    described = manifest.column(column)
    labelled = described.role == "quasi" and not described.exact
    return TYPES["text"] if labelled else TYPES[described.kind]


def _renumbered(tables: Frames, bucket: str) -> dict[str, pl.DataFrame]:
    """Buckets numbered from 1 in the order of what they contain; buckets that contain the same cannot be told apart."""
    keys = pl.DataFrame({bucket: pl.concat([frame[bucket] for frame in tables.values()]).unique()})
    for name, frame in tables.items():
        rows, kind = frame.drop(bucket), unused("kind", frame.columns)
        kinds = in_order(rows.unique()).with_row_index(kind)
        contents = (
            frame.join(kinds, on=rows.columns, how="left", nulls_equal=True)
            .group_by(bucket)
            .agg(pl.col(kind).sort())
            .select(bucket, pl.col(kind).cast(pl.List(pl.String)).list.join(",").alias(f"contents of {name}"))
        )
        keys = keys.join(contents, on=bucket, how="left")
    order = [column for column in keys.columns if column != bucket]
    numbers = keys.sort([*order, bucket]).select(bucket).with_row_index("number", offset=1)
    return {
        name: frame.with_columns(
            frame[bucket].replace_strict(numbers[bucket], numbers["number"], return_dtype=pl.Int64).alias(bucket)
        )
        for name, frame in tables.items()
    }


def labels_of(series: pl.Series, meanings: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The labels that occur in a published quasi column, sorted: its values as text, with the label of the missing value for that."""
    labels = series.unique().cast(pl.String)
    missing = [null_label(meanings)] if labels.null_count() else []
    return sorted({*labels.drop_nulls().to_list(), *missing})


def null_label(meanings: Mapping[str, Mapping[str, Any]]) -> str:
    """The label that means the missing value; a column may hold the very text that is usual for it, and then it is another."""
    return next((label for label, meaning in meanings.items() if "null" in meaning), NULL_LABEL)


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
