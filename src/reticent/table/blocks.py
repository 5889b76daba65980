"""CSV and Parquet as bytes, whole or in blocks."""

from __future__ import annotations

import hashlib
import io
import itertools
import re
from base64 import b64decode
from collections.abc import Iterable, Iterator
from operator import mul
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.arrow_metadata import has_metadata
from reticent.base.parquet_layout import ParquetLayout
from reticent.errors import DataError, first_line
from reticent.table.formula_cells import escaped, escaped_name
from reticent.table.parquet_joining import joined

_ROWS_IN_BLOCK = 200_000
# A name that needs no quotes.
_PLAIN_NAME = re.compile(r"\w[\w -]*")


def as_csv(frame: pl.DataFrame) -> bytes:
    """UTF-8 CSV with commas and a header. A null is an empty field and the empty text is quoted, so both round-trip. Text
    that begins like a formula is escaped.
    """
    refuse_nested(frame.schema, "csv")
    return csv_header(frame.schema) + _lines(frame)


def csv_header(schema: pl.Schema) -> bytes:
    """The header of :func:`as_csv` (several lines if a name contains line breaks)."""
    if all(map(_PLAIN_NAME.fullmatch, schema)):
        return (",".join(schema) + "\n").encode()
    refuse_nested(schema, "csv")
    names = pl.DataFrame(schema={escaped_name(name): dtype for name, dtype in schema.items()})
    return names.write_csv(quote_style="necessary").encode()


def csv_layout(schema: pl.Schema) -> dict[str, Any]:
    """Settings with which polars reads :func:`as_csv` output by column index, since it takes quotes in a header as part of
    names. Text is still escaped.
    """
    return {"has_header": False, "skip_lines": csv_header(schema).count(b"\n"), "schema": schema}


def as_parquet(frame: pl.DataFrame) -> bytes:
    """Compressed Parquet. The bytes depend on the values only, not on the memory layout of the frame."""
    buffer = io.BytesIO()
    frame.rechunk().write_parquet(buffer, compression="zstd", statistics=False)
    return buffer.getvalue()


def has_schema_metadata(layout: ParquetLayout) -> bool:
    """True if the Arrow schema in a Parquet footer has metadata. Raises :class:`DataError` if it cannot be read."""
    if layout.arrow_schema is None:
        return False
    try:
        return has_metadata(b64decode(layout.arrow_schema, validate=True))
    except ValueError as error:
        raise DataError(f"{layout.file}: its Arrow schema cannot be read: {first_line(error)}") from None


def csv_blocks(schema: pl.Schema, chunks: Iterable[pl.DataFrame]) -> Iterator[bytes]:
    """The bytes of :func:`as_csv` for rows in chunks."""
    yield csv_header(schema)
    for chunk in chunks:
        yield _lines(chunk)


def _lines(rows: pl.DataFrame) -> bytes:
    return escaped(rows).write_csv(include_header=False, quote_style="necessary").encode()


def repeated_csv_blocks(schema: pl.Schema, rows: pl.DataFrame, times: NDArray[np.int64]) -> Iterator[bytes]:
    """The bytes of :func:`as_csv` for rows with multiplicities: each is encoded once and repeated."""
    yield csv_header(schema)
    # Blocks of about equally many rows, except for a row that is repeated more often.
    block = (np.cumsum(times) - times) // _ROWS_IN_BLOCK
    for start, end in itertools.pairwise([0, *(np.flatnonzero(np.diff(block)) + 1).tolist(), len(times)]):
        part, multiplicities = rows[start:end], times[start:end]
        text = _lines(part)
        if text.count(b"\n") == part.height:
            yield b"".join(map(mul, io.BytesIO(text).readlines(), multiplicities.tolist()))
        else:
            # A value contains line breaks.
            yield _lines(part[np.repeat(np.arange(part.height), multiplicities)])


def parquet_blocks(schema: pl.Schema, chunks: Iterable[pl.DataFrame]) -> Iterator[bytes]:
    """Parquet of rows in chunks, each a row group. The same rows as :func:`as_parquet`, in other bytes."""
    parts = (as_parquet(chunk) for chunk in chunks if chunk.height)
    return joined(itertools.chain([as_parquet(pl.DataFrame(schema=schema))], parts))


class Checksum:
    """The hash and length of a byte stream. Mutable: it accumulates."""

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


def refuse_nested(schema: pl.Schema, kind: str) -> None:
    """Raise for nested columns (lists, structs), which only Parquet can hold."""
    for name, dtype in schema.items():
        if dtype.is_nested() or dtype == pl.Object:
            raise DataError(
                f"Column {name!r} of type {dtype} cannot be written as {kind}. Use parquet, or omit the column."
            )
