"""Limits on the expansion of compressed files. Sizes are taken from the files' declarations, and counted where these can
lie, before anything is unpacked.

A file may unpack to 100 times its size (64 MB are always allowed), and to at most the memory budget. A table of more
than 1 GB and more than 1,000 times the size of its file is never loaded into memory. If the user sets a budget
(``RETICENT_MEMORY``), that is the only limit.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import polars as pl

from reticent.base.arrow_layout import ArrowLayout
from reticent.base.memory import budget, budget_is_said, cell_memory, most_rows, text_memory
from reticent.base.parquet_layout import ParquetLayout
from reticent.errors import DataError

LONGEST_TEXT = 1 << 20
"""Maximum length in bytes of a text in a table."""
_ALWAYS, _RATIO = 1 << 26, 100
_HELD, _HELD_RATIO = 1 << 30, 1000
_MOST_CELLS, _CELLS_A_BYTE = 20_000_000, 100
_PIECE, _UNPACKED_AT_ONCE = 1 << 16, 1 << 20
_MOST_PARTS = 10_000
_LOCAL_HEADER = 30
_BEGINNING = b"PK"
WAY_OUT = "If the file is yours, save it in another way (CSV, say) or set RETICENT_MEMORY to what it may take"
"""What the owner of a refused file can do."""


def most_expanded(packed: int) -> int:
    """The maximum unpacked size of a file of ``packed`` bytes."""
    room = max(budget(), _ALWAYS)
    return room if budget_is_said() else min(max(_ALWAYS, _RATIO * packed), room)


def may_be_held(memory: int, packed: int) -> bool:
    """True if a table of ``memory`` bytes may be loaded, given the size of its file."""
    return memory <= budget() and (budget_is_said() or memory <= _HELD or memory <= _HELD_RATIO * packed)


def check_parquet(content: bytes | Path, file: str) -> ParquetLayout:
    """The layout of a Parquet file. Raises :class:`DataError` if its declared sizes exceed the limits."""
    layout = ParquetLayout.of(content, file)
    check_declared_size(len(layout.content), layout.rows * max(layout.columns, 1), layout.expanded, file)
    return layout


def check_arrow(path: Path, file: str) -> None:
    """Raise for an Arrow file whose buffers declare more than the allowed unpacked size."""
    layout = ArrowLayout.of(path, file)
    check_declared_size(layout.packed, layout.values, layout.expanded, file)


def check_declared_size(packed: int, cells: int, expanded: int, file: str) -> None:
    """Raise for a file that declares more values, or bytes of values, than a table in ``packed`` bytes may have."""
    if cells > max(_MOST_CELLS, _CELLS_A_BYTE * packed, most_rows(1) if budget_is_said() else 0):
        raise DataError(
            f"{file} declares {cells:,} values in {packed:,} bytes, which is implausible for a table. It was not read. {WAY_OUT}."
        )
    if expanded > most_expanded(packed):
        raise DataError(
            f"{file} would unpack from {packed:,} to {expanded:,} bytes; at most {most_expanded(packed):,} are unpacked. It was not read. {WAY_OUT}."
        )


def refused_expansion(packed: int, limit: int, file: str) -> DataError:
    """The error for a compressed file of ``packed`` bytes that expands to more than ``limit`` bytes, the limit for its size."""
    return DataError(f"{file} would unpack from {packed:,} to more than {limit:,} bytes. It was not read. {WAY_OUT}.")


def check_texts(frame: pl.DataFrame, packed: int, file: str) -> pl.DataFrame:
    """The rows unchanged. Raises if their texts together exceed the allowed unpacked size: the file may store each text
    once, the rows repeat them.
    """
    lengths = [_text_bytes(column) for column in frame]
    if sum(lengths) > most_expanded(packed):
        column = frame.columns[lengths.index(max(lengths))]
        raise DataError(
            f"{file}: the texts of its rows take {sum(lengths):,} bytes, most of them in column {column!r}, and the file has {packed:,}; at most {most_expanded(packed):,} are read. {WAY_OUT}."
        )
    return frame


def _text_bytes(column: pl.Series) -> int:
    """Return the bytes of all texts of a column."""
    # A column name may be a pattern, which polars would expand.
    column = column.alias("texts")
    if column.dtype == pl.String:
        return int(column.str.len_bytes().cast(pl.Int64).sum())
    return int(column.cat.len_bytes().cast(pl.Int64).sum()) if column.dtype in (pl.Categorical, pl.Enum) else 0


def check_held(content: bytes, file: str) -> ParquetLayout:
    """Return the layout of a Parquet file that is to be loaded into memory. Raises :class:`DataError` if the rows that it declares would not fit."""
    layout = check_parquet(content, file)
    memory = cell_memory(layout.rows, layout.columns)
    if not may_be_held(memory, len(content)):
        raise DataError(
            f"{file} declares {layout.rows:,} rows of {layout.columns:,} columns in {len(content):,} bytes; they would take {memory:,} bytes of memory. It was not read. {WAY_OUT}."
        )
    return layout


def check_zip(content: bytes | Path, file: str) -> None:
    """Raise for a zip file (a spreadsheet) whose members exceed the allowed unpacked size, whatever sizes they declare:
    they are unpacked in blocks and discarded.
    """
    stream: BinaryIO = io.BytesIO(content) if isinstance(content, bytes) else content.open("rb")
    packed = len(content) if isinstance(content, bytes) else content.stat().st_size
    limit = most_expanded(packed)
    with stream:
        # A reader that looks at the first bytes would take the file for another format.
        if not stream.read(4).startswith(_BEGINNING):
            raise DataError(f"{file} is not a valid zip file: it begins with something else.")
        try:
            with zipfile.ZipFile(stream) as opened:
                parts = opened.infolist()
        except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError) as error:
            raise DataError(f"{file} is not a valid zip file: {error}.") from None
        if len(parts) > _MOST_PARTS:
            raise DataError(f"{file} has {len(parts):,} parts; at most {_MOST_PARTS:,} are read.")
        total = 0
        for part in parts:
            for size in _unpacked(stream, part, file):
                total += size
                if total > limit:
                    raise refused_expansion(packed, limit, file)


def _unpacked(stream: BinaryIO, part: zipfile.ZipInfo, file: str) -> Iterator[int]:
    """The sizes of the blocks that a zip member unpacks to."""
    stream.seek(part.header_offset)
    header = stream.read(_LOCAL_HEADER)
    if len(header) < _LOCAL_HEADER:
        raise DataError(f"{file} is not a complete zip file: the part {part.filename!r} is truncated.")
    stream.seek(sum(struct.unpack("<HH", header[26:30])), io.SEEK_CUR)
    if part.compress_type == zipfile.ZIP_STORED:
        yield part.compress_size
        return
    if part.compress_type != zipfile.ZIP_DEFLATED:
        raise DataError(f"{file}: the part {part.filename!r} uses a compression method that spreadsheets do not use.")
    unpacker, remaining_bytes = zlib.decompressobj(wbits=-15), part.compress_size
    try:
        while remaining_bytes > 0 and not unpacker.eof and (piece := stream.read(min(_PIECE, remaining_bytes))):
            remaining_bytes -= len(piece)
            while piece:
                yield len(unpacker.decompress(piece, _UNPACKED_AT_ONCE))
                piece = unpacker.unconsumed_tail
    except zlib.error as error:
        raise DataError(f"{file} is not a valid zip file: {part.filename!r}: {error}.") from None


def files_fit(paths: Sequence[Path]) -> bool:
    """True if the tables in CSV and Parquet files may be loaded together. True for a damaged file, which fails when read."""
    return may_be_held(sum(map(_needs, paths)), sum(path.stat().st_size for path in paths))


def _needs(path: Path) -> int:
    """The memory of the table in a file, by its declared sizes."""
    if path.suffix != ".parquet":
        return text_memory(path.stat().st_size)
    try:
        layout = ParquetLayout.of(path, path.name)
        return cell_memory(layout.rows, layout.columns)
    except DataError:
        return 0


def gunzipped(content: bytes, file: str) -> bytes:
    """The content of a small gzip file, within the limits."""
    unpacker = zlib.decompressobj(wbits=31)
    text = unpacker.decompress(content, most_expanded(len(content)))
    if unpacker.unconsumed_tail:
        raise refused_expansion(len(content), len(text), file)
    if not unpacker.eof or unpacker.unused_data:
        raise DataError(f"{file} is not a complete gzip file.")
    return text
