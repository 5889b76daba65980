"""Parquet files joined to one without unpacking them: pages are copied, footers merged.

Footers are structs of Thrift's compact protocol; every field is kept as it is, but places in the file are moved. Source:
parquet.thrift.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

_MAGIC = b"PAR1"
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 11, 12
# Numbers of fields: of the file, of a row group, of a column's chunk, and of its metadata.
_ROWS, _GROUPS = 3, 4
_COLUMNS, _GROUP_PLACE, _ORDINAL = 1, 5, 7
_CHUNK_PLACE, _METADATA = 2, 3
_PACKED, _DATA_PAGES, _DICTIONARY_PAGE = 7, 9, 11

# A struct: for each field its number, type and value.
_Fields = list[tuple[int, int, Any]]


def joined(files: Iterable[bytes]) -> Iterator[bytes]:
    """The bytes of one file with the row groups of all, which have the same schema; there must be at least one."""
    place, rows = len(_MAGIC), 0
    footer: _Fields = []
    groups: list[_Fields] = []
    yield _MAGIC
    for content in files:
        start = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
        own = _Reader(content, start).struct()
        footer = footer or own
        rows += _value(own, _ROWS)
        for group in _value(own, _GROUPS)[1]:
            pages, moved = _moved(group, content, place, len(groups))
            groups.append(moved)
            yield pages
            place += len(pages)
    merged = _replaced(footer, {_ROWS: rows, _GROUPS: (_STRUCT, groups)})
    written = _struct(merged)
    yield written + len(written).to_bytes(4, "little") + _MAGIC


def _moved(group: _Fields, content: bytes, place: int, ordinal: int) -> tuple[bytes, _Fields]:
    """Return the pages of a row group, and its metadata for a file in which they begin at byte ``place``; ``ordinal``
    is its index.

    Only pages are copied, without indexes of them and the metadata of columns repeated behind them: both are optional.
    """
    kind, chunks = _value(group, _COLUMNS)
    pages, moved, end = [], [], place
    for chunk in chunks:
        metadata = _value(chunk, _METADATA)
        begins = {number: value for number, _, value in metadata if number in (_DATA_PAGES, _DICTIONARY_PAGE)}
        start, size = min(begins.values()), _value(metadata, _PACKED)
        pages.append(content[start : start + size])
        own = _replaced(metadata, {number: value - start + end for number, value in begins.items()})
        kept = [field for field in chunk if field[0] <= _METADATA]
        moved.append(_replaced(kept, {_METADATA: own, _CHUNK_PLACE: 0}))
        end += size
    return b"".join(pages), _replaced(group, {_COLUMNS: (kind, moved), _GROUP_PLACE: place, _ORDINAL: ordinal})


def _replaced(fields: _Fields, values: dict[int, Any]) -> _Fields:
    return [(number, kind, values.get(number, value)) for number, kind, value in fields]


def _value(fields: _Fields, number: int) -> Any:
    return next(value for each, _, value in fields if each == number)


@dataclass
class _Reader:
    """A reader of structs that polars wrote. Mutable: it advances."""

    content: bytes
    place: int

    def struct(self) -> _Fields:
        """Return the fields of a struct of Thrift's compact protocol: number, type and value."""
        fields: _Fields = []
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._integer()
            kind = head & 15
            fields.append((number, kind, None if kind in (_TRUE, _FALSE) else self._any(kind)))
        return fields

    def _any(self, kind: int) -> Any:
        """Return the next value of a type."""
        if kind in (_TRUE, _FALSE, _BYTE):
            return self._byte()
        if kind == _DOUBLE:
            return self._bytes(8)
        if kind == _BINARY:
            return self._bytes(self._unsigned())
        if kind in (_LIST, _SET):
            head = self._byte()
            count = head >> 4 if head >> 4 != 15 else self._unsigned()
            return head & 15, [self._any(head & 15) for _ in range(count)]
        if kind == _STRUCT:
            return self.struct()
        assert kind != _MAP, "a footer has no maps"
        return self._integer()

    def _byte(self) -> int:
        self.place += 1
        return self.content[self.place - 1]

    def _bytes(self, count: int) -> bytes:
        self.place += count
        return self.content[self.place - count : self.place]

    def _unsigned(self) -> int:
        """Read an unsigned integer of variable length: seven bits per byte, the lowest first."""
        number = shift = 0
        while (byte := self._byte()) > 127:
            number, shift = number | (byte & 127) << shift, shift + 7
        return number | byte << shift

    def _integer(self) -> int:
        number = self._unsigned()
        return (number >> 1) ^ -(number & 1)


def _struct(fields: _Fields) -> bytes:
    """Return a struct in the encoding that :meth:`_Reader.struct` reads (Thrift's compact protocol)."""
    parts, before = [], 0
    for number, kind, value in fields:
        step = number - before
        parts.append(bytes([step << 4 | kind]) if 0 < step < 16 else bytes([kind]) + _integer(number))
        if kind not in (_TRUE, _FALSE):
            parts.append(_any(kind, value))
        before = number
    return b"".join(parts) + b"\0"


def _any(kind: int, value: Any) -> bytes:
    """Return a value of type ``kind`` in Thrift's compact protocol."""
    if kind in (_TRUE, _FALSE, _BYTE):
        return bytes([value])
    if kind == _DOUBLE:
        return bytes(value)
    if kind == _BINARY:
        return _unsigned(len(value)) + bytes(value)
    if kind in (_LIST, _SET):
        inner, items = value
        count = len(items)
        head = bytes([count << 4 | inner]) if count < 15 else bytes([0xF0 | inner]) + _unsigned(count)
        return head + b"".join(_any(inner, item) for item in items)
    return _struct(value) if kind == _STRUCT else _integer(value)


def _unsigned(number: int) -> bytes:
    """Return a number as bytes of seven bits each."""
    written = bytearray()
    while number > 127:
        written.append(number & 127 | 128)
        number >>= 7
    return bytes([*written, number])


def _integer(number: int) -> bytes:
    return _unsigned(number << 1 if number >= 0 else (-number << 1) - 1)
