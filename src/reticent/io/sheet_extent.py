"""The memory that a spreadsheet takes once opened, computed before opening it.

Opening a sheet allocates every cell up to the last one, and copies a shared text into every cell that refers to it. So
one cell at the far corner, or one long text with many references, turns a few kilobytes into gigabytes. Every part is
examined whatever its name: only the file itself says which parts are sheets.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reticent.base.expansion import check_zip, most_expanded, refused_expansion

_ALWAYS, _CELL = 1 << 28, 32
_ROW = re.compile(rb"<(?:\w+:)?row[\s>]")
_ROW_NUMBER = re.compile(rb"<(?:\w+:)?row\s[^>]*?\br\s*=\s*[\"'](\d+)")
# A cell without content takes no memory.
_FILLED = re.compile(rb"<(?:\w+:)?c(?:\s[^>]*)?(?<!/)>")
_PLACE = re.compile(rb"<(?:\w+:)?c\s(?:[^>]*?\s)?r\s*=\s*[\"']([A-Z]+)(\d+)[\"'](?:[^>]*[^>/])?>")
_NAMED = re.compile(rb"<(?:\w+:)?c\s[^>]*\bt\s*=\s*[\"']s[\"'][^>]*>\s*<(?:\w+:)?v[^>]*>\s*(\d+)")
_SHARED = re.compile(rb"<(?:\w+:)?si[\s>]")
_OPEN_ROW = re.compile(rb"<(?:\w+:)?table-row([^>]*)>")
_OPEN_CELL = re.compile(rb"<(?:\w+:)?(?:covered-)?table-cell([^>]*)>")
_REPEATED = {each: re.compile(rb"number-%b-repeated\s*=\s*[\"'](\d+)" % each) for each in (b"rows", b"columns")}


def check_workbook(content: bytes | Path, file: str) -> None:
    """Raise for a zipped spreadsheet that unpacks to more than allowed, or whose cells would take more memory."""
    check_zip(content, file)
    size = len(content) if isinstance(content, bytes) else content.stat().st_size
    most = max(_ALWAYS, most_expanded(size))
    with zipfile.ZipFile(io.BytesIO(content) if isinstance(content, bytes) else content) as opened:
        parts = [_Extent.of(opened.read(part), part.endswith(".bin")) for part in opened.namelist()]
    longest = max((int(part.shared.max()) for part in parts if len(part.shared)), default=0)
    shared = [part.shared for part in parts if len(part.shared)]
    for part in parts:
        if part.room + part.text(shared, longest) > most:
            raise refused_expansion(size, most, file)


@dataclass(frozen=True)
class _Extent:
    """A part of a workbook: the bytes of its cells, its ``filled`` cells, the indices of shared texts that some of them
    use, and the sizes of shared texts that it holds.
    """

    room: int
    filled: int
    named: np.ndarray[tuple[int], np.dtype[np.int64]]
    shared: np.ndarray[tuple[int], np.dtype[np.int64]]

    @classmethod
    def of(cls, content: bytes, is_binary: bool) -> _Extent:
        """Return how much memory a part of a workbook needs, from the positions of its rows and cells; the part is not parsed as XML."""
        if is_binary:
            return _binary_extent(content)
        if _OPEN_ROW.search(content) is not None:
            return cls(_repeated_room(content), 0, _numbers([]), _numbers([]))
        rows = [match.start() for match in _ROW.finditer(content)]
        filled = np.array([match.start() for match in _FILLED.finditer(content)], dtype=np.int64)
        cell_references = set(_PLACE.findall(content))
        numbers = {number for _, number in cell_references} | set(_ROW_NUMBER.findall(content))
        height = max(len(rows), *map(int, numbers), 0) if numbers else len(rows)
        most_in_a_row = int(np.bincount(np.searchsorted(rows, filled)).max()) if len(filled) else 0
        width = max([most_in_a_row, *(_column(letters) for letters in {letters for letters, _ in cell_references})])
        starts = [match.start() for match in _SHARED.finditer(content)]
        shared = np.diff([*starts, len(content)]) if starts else _numbers([])
        return cls(height * width * _CELL, len(filled), _numbers(_NAMED.findall(content)), _numbers(shared))

    def text(self, shared: list[np.ndarray[tuple[int], np.dtype[np.int64]]], longest: int) -> int:
        """The bytes of the shared texts that its cells use; unknown references count as the longest."""
        if not longest or self.filled * longest <= _ALWAYS:
            return self.filled * longest
        referenced = self.named[self.named < len(shared[0])] if len(shared) == 1 else self.named[:0]
        return int(shared[0][referenced].sum()) + (self.filled - len(referenced)) * longest


def _numbers(values: object) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.asarray(values).astype(np.int64)


def _column(letters: bytes) -> int:
    """Return the number of a spreadsheet column, from 1, by its letters: A, B, ..., Z, AA."""
    number = 0
    for letter in letters[:4]:
        number = 26 * number + letter - 64
    return number


def _repeated_room(content: bytes) -> int:
    """Return an estimate of the memory in bytes of an OpenDocument sheet, whose rows and cells have repeat counts;
    trailing empty ones take none.
    """
    height = last = width = text = 0
    for attributes, row in _elements_with_content(_OPEN_ROW, content):
        times, across, filled, longest = _repetitions(b"rows", attributes), 0, 0, 0
        for cell, inside in _elements_with_content(_OPEN_CELL, row):
            across += _repetitions(b"columns", cell)
            if b"value" in cell or b"<" in inside.partition(b"</")[0]:
                filled, longest = across, longest + len(inside) * _repetitions(b"columns", cell)
        height += times
        if filled:
            last, width, text = height, max(width, filled), text + times * longest
    return last * width * _CELL + text


def _elements_with_content(opening: re.Pattern[bytes], content: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The attributes of every element, and the content up to the next."""
    elements = list(opening.finditer(content))
    ends = [element.start() for element in elements[1:]] + [len(content)]
    return ((element[1], content[element.end() : end]) for element, end in zip(elements, ends, strict=True))


def _repetitions(attribute: bytes, attributes: bytes) -> int:
    """Return how often a row or a cell is repeated by an ``attribute`` of its element; once if it is absent."""
    match = _REPEATED[attribute].search(attributes)
    return int(match[1][:12]) if match is not None else 1


def _binary_extent(content: bytes) -> _Extent:
    """Return how much memory a part of an .xlsb file needs; it consists of records of a number, a size and a body. Source: [MS-XLSB], 2.1.4."""
    height = width = filled = 0
    string_numbers: list[int] = []
    shared: list[int] = []
    for number, start, end in _records(content):
        if number == 0:
            height = max(height, int.from_bytes(content[start : start + 4], "little") + 1)
        elif number <= 11:
            filled, width = filled + 1, max(width, int.from_bytes(content[start : start + 4], "little") + 1)
            if number == 7:
                string_numbers.append(int.from_bytes(content[start + 8 : start + 12], "little"))
        elif number == 19:
            shared.append(end - start)
    return _Extent(height * width * _CELL, filled, _numbers(string_numbers), _numbers(shared))


def _records(content: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield each record of a binary part: its number, and the start and end of its body."""
    offset, size = 0, len(content)
    while offset < size:
        number, offset = _varint(content, offset, 2)
        length, offset = _varint(content, offset, 4)
        yield number, offset, offset + length
        offset += length


def _varint(content: bytes, offset: int, most_bytes: int) -> tuple[int, int]:
    """Return the number stored at ``offset`` in up to ``most_bytes`` bytes of seven bits each, and the offset behind it."""
    number = 0
    for digit in range(most_bytes):
        byte = content[offset + digit] if offset + digit < len(content) else 0
        number |= (byte & 127) << 7 * digit
        if byte < 128:
            break
    return number, offset + digit + 1
