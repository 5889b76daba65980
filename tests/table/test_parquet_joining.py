"""Parquet in chunks: the rows of the chunks, in a file that other programs read."""

from __future__ import annotations

import datetime
import io

import polars as pl
import pytest
from pyarrow import parquet

from reticent.base.parquet_layout import ParquetLayout
from reticent.table import parquet_blocks


@pytest.mark.parametrize("rows", [1, 7, 40, 41])
def test_joined_files_hold_the_rows_of_all(rows: int) -> None:
    frame = pl.DataFrame(
        {
            "age": range(40),
            "town": [f"town {number % 7}" for number in range(40)],
            "kind": pl.Series(["x", "y"] * 20, dtype=pl.Enum(["x", "y"])),
            "day": [datetime.date(2020, 1, 1), None] * 20,
            "visits": [[number] for number in range(40)],
        }
    )
    chunks = [frame[:0], *(frame[start : start + rows] for start in range(0, 40, rows))]
    content = b"".join(parquet_blocks(frame.schema, chunks))
    assert pl.read_parquet(io.BytesIO(content)).equals(frame)
    # The independent reader.
    assert parquet.read_table(io.BytesIO(content)).num_rows == 40
    layout = ParquetLayout.of(content, "rows.parquet")
    assert (layout.beside(), layout.rows) == (None, 40)
    assert pl.read_parquet(io.BytesIO(b"".join(parquet_blocks(frame.schema, [])))).equals(frame[:0])
