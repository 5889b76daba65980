"""What a Parquet file declares, read before anything is unpacked: rows, columns, page sizes, and content outside the
table.

Footer and page headers use Thrift's compact protocol. Source: the format's own specification (parquet.thrift); only
what the limits need is read.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from reticent.errors import DataError

_MAGIC, _TAIL = b"PAR1", 8
_STRUCT, _LIST, _SET, _MAP = 12, 9, 10, 11
_DEEPEST = 32
_FILE = {1: "version", 2: "schema", 3: "rows", 4: "row groups", 5: "key-value metadata", 6: "created by", 7: "orders"}
_GROUP = {1: "columns", 2: "bytes", 3: "rows", 4: "sorting", 5: "offset", 6: "packed bytes", 7: "ordinal"}
_CHUNK = {2: "offset", 3: "metadata", 4: "page index", 5: "length of the page index"}
_COLUMN = {
    1: "type", 2: "encodings", 3: "path", 4: "codec", 5: "values", 6: "bytes", 7: "packed bytes", 9: "data pages", 11: "dictionary page",
    12: "statistics", 13: "encoding statistics", 16: "size statistics",
}  # fmt: skip


@dataclass(frozen=True)
class ParquetLayout:
    """The footer of a file of ``size`` bytes and its page headers, as declared."""

    content: bytes | mmap.mmap
    file: str

    @classmethod
    def of(cls, content: bytes | Path, file: str) -> ParquetLayout:
        """The layout of a file in memory or on disk."""
        if isinstance(content, bytes):
            return cls(content, file)
        with content.open("rb") as opened:
            if not content.stat().st_size:
                return cls(b"", file)
            return cls(mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ), file)

    @property
    def rows(self) -> int:
        """Return the number of rows that the footer declares, at least that of its row groups and column chunks (fields
        3 and 5 in Parquet's Thrift definitions).
        """
        counts: list[int] = [self.footer.get(3, 0), sum(group.get(3, 0) for group in self._groups)]
        values: list[int] = [chunk[5] for chunk in self._chunks if isinstance(chunk.get(5), int)]
        return max(*counts, *values, 0)

    @property
    def columns(self) -> int:
        """The number of columns."""
        return max((len(group.get(1, ())) for group in self._groups), default=0)

    @cached_property
    def expanded(self) -> int:
        """The total unpacked size of all pages, by their own headers."""
        return sum(size for _, _, size in self._pages)

    @cached_property
    def footer(self) -> dict[int, Any]:
        """The fields of the footer by number."""
        fields, end = self._reader(self._footer_start).struct()
        if end > len(self.content) - _TAIL:
            raise self._damaged("its footer is longer than declared")
        return fields

    @property
    def statistics(self) -> Iterator[tuple[str, bytes]]:
        """Yield the column name and the text that the footer states as the minimum or maximum of a text column (type 6;
        statistics are field 12 in Parquet's Thrift definitions).
        """
        for chunk in self._chunks:
            if chunk.get(1) == 6 and isinstance(chunk.get(12), dict):
                name = b".".join(chunk.get(3, ())).decode(errors="replace")
                yield from ((name, value) for value in chunk[12].values() if isinstance(value, bytes))

    def beside(self) -> str | None:
        """Content of the file outside its table, or None: metadata, unknown fields, bytes that belong to no page."""
        unknown = [
            *(set(self.footer) - set(_FILE)),
            *(key for group in self._groups for key in set(group) - set(_GROUP)),
            *(key for group in self._groups for chunk in group.get(1, ()) for key in set(chunk) - set(_CHUNK)),
            *(key for chunk in self._chunks for key in set(chunk) - set(_COLUMN)),
        ]
        if unknown:
            return f"fields of its footer that a plain table does not have (number {min(unknown)})"
        keys = {pair.get(1, b"") for pair in self.footer.get(5, ())} - {b"ARROW:schema"}
        if keys:
            return f"key-value metadata {min(keys).decode(errors='replace')!r}"
        covered = 4
        for start, end in sorted(self._described):
            if start != covered:
                return f"{abs(start - covered):,} bytes at {min(start, covered):,} that belong to no page"
            covered = end
        if covered != self._footer_start:
            return f"{self._footer_start - covered:,} bytes before its footer that belong to no page"
        return None

    @property
    def _described(self) -> Iterator[tuple[int, int]]:
        """Byte ranges of the file that hold pages, page indexes, or repeated column metadata."""
        yield from ((start, end) for start, end, _ in self._pages)
        for group in self._groups:
            for chunk in group.get(1, ()):
                if isinstance(chunk.get(4), int) and 4 <= chunk[4] < self._footer_start:
                    content, end = self._reader(chunk[4]).struct()
                    if end == chunk[4] + chunk.get(5, 0) and _only_numbers(content):
                        yield chunk[4], end
                metadata = chunk.get(3, {})
                end_of_data = self._start(metadata) + metadata.get(7, 0)
                if (
                    end_of_data < self._footer_start
                    and (copy := self._copy(end_of_data)) is not None
                    and copy[0] == metadata
                ):
                    yield end_of_data, copy[1]

    def _copy(self, offset: int) -> tuple[dict[int, Any], int] | None:
        """Return the struct at an offset and where it ends; None if there is none."""
        try:
            return self._reader(offset).struct()
        except DataError:
            return None

    @property
    def arrow_schema(self) -> bytes | None:
        """The Arrow schema that the writer put into the footer."""
        return next((pair.get(2) for pair in self.footer.get(5, ()) if pair.get(1) == b"ARROW:schema"), None)

    @property
    def created_by(self) -> str:
        """The writer's name, as stated in the file."""
        writer = self.footer.get(6, b"")
        return writer.decode(errors="replace") if isinstance(writer, bytes) else ""

    @cached_property
    def _footer_start(self) -> int:
        """Return where the footer begins. Raises if the markers of a Parquet file or its length are wrong."""
        size = len(self.content)
        if size < 4 + _TAIL or self.content[:4] != _MAGIC or self.content[-4:] != _MAGIC:
            raise self._damaged("it lacks the marker at its beginning or end")
        start = size - _TAIL - int(struct.unpack("<I", self.content[-8:-4])[0])
        if start < 4:
            raise self._damaged("its footer is longer than the file")
        return start

    @property
    def _groups(self) -> list[dict[int, Any]]:
        return [group for group in self.footer.get(4, ()) if isinstance(group, dict)]

    @property
    def _chunks(self) -> Iterator[dict[int, Any]]:
        """Yield the metadata of every column chunk."""
        for group in self._groups:
            for chunk in group.get(1, ()):
                if isinstance(chunk, dict) and isinstance(chunk.get(3), dict):
                    yield chunk[3]

    @cached_property
    def _pages(self) -> list[tuple[int, int, int]]:
        """Start, end and unpacked size of every page."""
        pages = []
        for chunk in self._chunks:
            start = self._start(chunk)
            end = start + chunk.get(7, 0)
            if not 4 <= start <= end <= self._footer_start:
                raise self._damaged("a column is outside the file")
            while start < end:
                header, body = self._reader(start).struct()
                after = body + header.get(3, -1)
                if not start < body <= after <= end or header.get(2, -1) < 0:
                    raise self._damaged("a page is outside its column")
                pages.append((start, after, header[2]))
                start = after
        return pages

    @staticmethod
    def _start(chunk: dict[int, Any]) -> int:
        return min((chunk[key] for key in (9, 11) if isinstance(chunk.get(key), int)), default=-1)

    def _reader(self, offset: int) -> _Compact:
        return _Compact(self.content, offset, self.file)

    def _damaged(self, why: str) -> DataError:
        return DataError(f"{self.file} cannot be read as Parquet: {why}. Is the file complete?")


@dataclass
class _Compact:
    """A reader of Thrift's compact protocol. Mutable: it advances. Allocates nothing larger than the file."""

    content: bytes | mmap.mmap
    place: int
    file: str

    def struct(self, depth: int = 0) -> tuple[dict[int, Any], int]:
        """Return the fields of a struct by number, and the offset behind it (Thrift's compact protocol)."""
        if depth > _DEEPEST:
            raise self._wrong()
        fields: dict[int, Any] = {}
        number = 0
        while (head := self._byte()) != 0:
            number = number + (head >> 4) if head >> 4 else _unfolded(self._varint())
            kind = head & 15
            fields[number] = kind == 1 if kind in (1, 2) else self._value(kind, depth)
        return fields, self.place

    def _value(self, kind: int, depth: int) -> Any:
        """Return the next value of a type of Thrift's compact protocol; lists, maps and structs are read with their contents."""
        if kind in (1, 2, 3):
            return self._byte()
        if kind in (4, 5, 6):
            return _unfolded(self._varint())
        if kind == 7:
            return self._bytes(8)
        if kind == 8:
            return self._bytes(self._varint())
        if kind in (_LIST, _SET):
            head = self._byte()
            count = head >> 4 if head >> 4 != 15 else self._varint()
            return [self._value(head & 15, depth + 1) for _ in range(self._bounded(count))]
        if kind == _MAP:
            count = self._bounded(self._varint())
            kinds = self._byte() if count else 0
            return [(self._value(kinds >> 4, depth + 1), self._value(kinds & 15, depth + 1)) for _ in range(count)]
        if kind == _STRUCT:
            return self.struct(depth + 1)[0]
        raise self._wrong()

    def _bounded(self, count: int) -> int:
        """A number of elements, bounded by the remaining bytes."""
        if count > len(self.content) - self.place:
            raise self._wrong()
        return count

    def _byte(self) -> int:
        """Read the next byte."""
        if self.place >= len(self.content):
            raise self._wrong()
        self.place += 1
        return self.content[self.place - 1]

    def _bytes(self, count: int) -> bytes:
        self.place += self._bounded(count)
        return self.content[self.place - count : self.place]

    def _varint(self) -> int:
        """Return the next number of up to ten bytes with seven bits each."""
        number = shift = 0
        while shift < 70:
            byte = self._byte()
            number |= (byte & 127) << shift
            if byte < 128:
                return number
            shift += 7
        raise self._wrong()

    def _wrong(self) -> DataError:
        return DataError(
            f"{self.file} cannot be read as Parquet: its metadata is damaged at byte {self.place:,}. Is the file complete?"
        )


def _unfolded(number: int) -> int:
    return (number >> 1) ^ -(number & 1)


def _only_numbers(value: Any) -> bool:
    if isinstance(value, dict | list):
        return all(map(_only_numbers, value.values() if isinstance(value, dict) else value))
    return isinstance(value, int)
