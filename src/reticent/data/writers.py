"""Where rows go: CSV and Parquet files that appear whole or not at all."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

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


def csv_header(schema: pl.Schema) -> bytes:
    """The first line of :func:`as_csv` (or lines, if a name has several)."""
    return as_csv(pl.DataFrame(schema=schema))


def csv_layout(schema: pl.Schema) -> dict[str, Any]:
    """How polars reads rows that :func:`as_csv` wrote: by their places, since it takes quotes in a header for part of the names."""
    return {"has_header": False, "skip_lines": csv_header(schema).count(b"\n"), "schema": schema}


def as_parquet(frame: pl.DataFrame) -> bytes:
    """Parquet, compressed. The bytes depend on the values only, not on how the frame came about."""
    buffer = io.BytesIO()
    frame.rechunk().write_parquet(buffer, compression="zstd", statistics=False)
    return buffer.getvalue()


def csv_blocks(schema: pl.Schema, chunks: Iterable[pl.DataFrame]) -> Iterator[bytes]:
    """The bytes of :func:`as_csv`, of rows that come chunk by chunk."""
    yield csv_header(schema)
    for chunk in chunks:
        yield chunk.write_csv(include_header=False, quote_style="necessary").encode()


def parquet_blocks(schema: pl.Schema, chunks: Iterable[pl.DataFrame]) -> Iterator[bytes]:
    """Parquet of rows that come chunk by chunk, each a row group. A reader finds the rows of :func:`as_parquet` in other bytes."""
    from pyarrow.parquet import ParquetWriter

    sink = _Drained()
    with ParquetWriter(sink, pl.DataFrame(schema=schema).to_arrow().schema, compression="zstd") as writer:
        for chunk in chunks:
            writer.write_table(chunk.to_arrow())
            yield sink.drain()
    yield sink.drain()


class _Drained(io.RawIOBase):
    """A file to which bytes are only appended, and taken away as they come. It has state because it is a file."""

    def __init__(self) -> None:
        super().__init__()
        self._buffer, self._taken = io.BytesIO(), 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return self._buffer.write(data)

    def tell(self) -> int:
        return self._taken + self._buffer.tell()

    def drain(self) -> bytes:
        """What was written since the last time."""
        content = self._buffer.getvalue()
        self._taken += len(content)
        self._buffer.seek(0)
        self._buffer.truncate()
        return content

    def close(self) -> None:
        """Nothing to close: the last bytes are still to be taken."""


class Checksum:
    """The hash and the length of bytes on their way. It has state because it counts."""

    def __init__(self) -> None:
        self._hash, self.size = hashlib.sha256(), 0

    def passing(self, blocks: Iterable[bytes]) -> Iterator[bytes]:
        """The same blocks, counted as they pass."""
        for block in blocks:
            self._hash.update(block)
            self.size += len(block)
            yield block

    @property
    def sha256(self) -> str:
        """The hash of all bytes so far."""
        return self._hash.hexdigest()


BLOCKS: Mapping[str, Callable[[pl.Schema, Iterable[pl.DataFrame]], Iterator[bytes]]] = {
    "csv": csv_blocks,
    "parquet": parquet_blocks,
}

FORMATS: Mapping[str, Callable[[pl.DataFrame], bytes]] = {"csv": as_csv, "parquet": as_parquet}


def _refuse_nested(frame: pl.DataFrame, format: str) -> None:
    for name, dtype in frame.schema.items():
        if dtype.is_nested() or dtype == pl.Object:
            raise DataError(
                f"Column {name!r} of type {dtype} cannot be written as {format}. Use parquet, or leave it out."
            )
