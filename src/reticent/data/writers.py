"""Where rows go: CSV and Parquet files that appear whole or not at all."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl

from reticent.errors import DataError, did_you_mean
from reticent.files import write_whole


def write_frame(frame: pl.DataFrame, path: str | Path, format: str | None = None) -> None:
    """Write a frame as CSV or Parquet, said by ``format`` or by the name's ending."""
    target = Path(path)
    kind = format if format is not None else target.suffix.lower().lstrip(".")
    if kind not in FORMATS:
        raise DataError(f"{target}: cannot write {kind!r}.{did_you_mean(kind, FORMATS)} Choose csv or parquet.")
    write_whole(target, FORMATS[kind](frame))


def as_csv(frame: pl.DataFrame) -> bytes:
    """UTF-8 with commas and a header; a null is an empty field and the empty text is quoted, so that both come back."""
    _refuse_nested(frame, "csv")
    return frame.write_csv(quote_style="necessary").encode()


def as_parquet(frame: pl.DataFrame) -> bytes:
    """Parquet, compressed. The bytes depend on the values only, not on how the frame came about."""
    buffer = io.BytesIO()
    frame.rechunk().write_parquet(buffer, compression="zstd", statistics=False)
    return buffer.getvalue()


FORMATS: Mapping[str, Callable[[pl.DataFrame], bytes]] = {"csv": as_csv, "parquet": as_parquet}


def _refuse_nested(frame: pl.DataFrame, format: str) -> None:
    for name, dtype in frame.schema.items():
        if dtype.is_nested() or dtype == pl.Object:
            raise DataError(
                f"Column {name!r} of type {dtype} cannot be written as {format}. Use parquet, or leave it out."
            )
