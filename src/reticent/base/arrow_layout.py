"""What an Arrow file declares about itself: rows, values, and the unpacked size of its buffers, read without unpacking
anything.

The Arrow file format (``.arrow``, ``.ipc``, ``.feather``) has record batches and dictionaries, each with a FlatBuffers
description and a body of buffers, and a footer with their positions. A compressed buffer starts with its unpacked size;
readers allocate that much and reject longer content, so these sizes bound the memory of reading.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from reticent.errors import DataError

_MAGIC = b"ARROW1"
_NOT_PACKED = -1
_RECORD_BATCH, _DICTIONARY_BATCH = 3, 2
_BLOCK, _NODE, _BUFFER = struct.Struct("<qiiq"), struct.Struct("<qq"), struct.Struct("<qq")
_MOST_PIECES = 1_000_000


@dataclass(frozen=True)
class ArrowLayout:
    """The ``packed`` bytes of a file, its ``values`` in all columns together, and the bytes that they ``expand`` to."""

    packed: int
    values: int
    expanded: int

    @classmethod
    def of(cls, path: Path, file: str) -> ArrowLayout:
        """The layout of a file. Raises :class:`DataError` if it is not a complete Arrow file."""
        size = path.stat().st_size
        if size < len(_MAGIC) + 4:
            raise _not_whole(file)
        with path.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content:
            if content[: len(_MAGIC)] != _MAGIC or content[-len(_MAGIC) :] != _MAGIC:
                raise _not_whole(file)
            try:
                sizes = list(_sizes(content))
            except (struct.error, IndexError, ValueError, OverflowError):
                raise _not_whole(file) from None
        return cls(size, sum(values for values, _ in sizes), sum(expanded for _, expanded in sizes))


def _not_whole(file: str) -> DataError:
    return DataError(f"{file} is not a complete Arrow file.")


def _sizes(content: mmap.mmap) -> Iterator[tuple[int, int]]:
    """Yield the number of values and the unpacked size in bytes of every batch that the footer lists."""
    (length,) = struct.unpack_from("<i", content, len(content) - len(_MAGIC) - 4)
    start = len(content) - len(_MAGIC) - 4 - length
    if length <= 0 or start < 0:
        raise ValueError("no footer")
    footer = _FlatTable.root(content, start)
    for field in (2, 3):
        for block in footer.structs(field, _BLOCK):
            yield _batch(content, block[0], block[1])


def _batch(content: mmap.mmap, offset: int, described: int) -> tuple[int, int]:
    """Return the values of a batch and its unpacked size, from its header and the sizes of its buffers."""
    (first,) = struct.unpack_from("<i", content, _within(offset))
    message = _FlatTable.root(content, offset + (8 if first == -1 else 4))
    kind, header = message.byte(1), message.table(2)
    if kind == _DICTIONARY_BATCH:
        header = header.table(1)
    elif kind != _RECORD_BATCH:
        raise ValueError("not a batch")
    is_packed, body = header.has(3), _within(offset + described)
    values = sum(_within(node[0]) for node in header.structs(1, _NODE))
    expanded = sum(
        _unpacked(content, body + _within(start), _within(size), is_packed)
        for start, size in header.structs(2, _BUFFER)
    )
    return values, expanded


def _unpacked(content: mmap.mmap, offset: int, size: int, is_packed: bool) -> int:
    """The unpacked bytes of a buffer."""
    if offset + size > len(content):
        raise ValueError("a buffer beyond the end")
    if not is_packed or not size:
        return size
    (declared,) = struct.unpack_from("<q", content, offset)
    return size - 8 if declared == _NOT_PACKED else _within(declared)


def _within(number: int) -> int:
    if number < 0:
        raise ValueError("a negative size")
    return number


@dataclass(frozen=True)
class _FlatTable:
    """A FlatBuffers table: fields by number, at the offsets of its vtable."""

    content: mmap.mmap
    place: int

    @classmethod
    def root(cls, content: mmap.mmap, start: int) -> _FlatTable:
        (offset,) = struct.unpack_from("<I", content, _within(start))
        return cls(content, start + offset)

    def _field(self, number: int) -> int | None:
        """Return the offset of a field of a flatbuffer table by its ``number``; None if it is absent."""
        (back,) = struct.unpack_from("<i", self.content, self.place)
        listed = _within(self.place - back)
        (length,) = struct.unpack_from("<H", self.content, listed)
        if 4 + 2 * number + 2 > length:
            return None
        (offset,) = struct.unpack_from("<H", self.content, listed + 4 + 2 * number)
        return self.place + offset if offset else None

    def has(self, number: int) -> bool:
        return self._field(number) is not None

    def byte(self, number: int) -> int:
        offset = self._field(number)
        return 0 if offset is None else self.content[offset]

    def table(self, number: int) -> _FlatTable:
        """Return the table that a field refers to."""
        offset = self._field(number)
        if offset is None:
            raise ValueError("a part is missing")
        return _FlatTable.root(self.content, offset)

    def structs(self, number: int, shape: struct.Struct) -> Iterator[tuple[int, ...]]:
        """The entries of a vector of fixed-size structs."""
        offset = self._field(number)
        if offset is None:
            return
        start = _FlatTable.root(self.content, offset).place
        (count,) = struct.unpack_from("<I", self.content, start)
        if count > _MOST_PIECES:
            raise ValueError("too many pieces")
        for index in range(count):
            yield shape.unpack_from(self.content, start + 4 + index * shape.size)
