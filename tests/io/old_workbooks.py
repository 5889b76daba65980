"""Workbooks of Excel 97, byte by byte: a compound file with one stream of records. Sources: [MS-CFB], [MS-XLS]."""

from __future__ import annotations

import struct
from collections.abc import Sequence

SECTOR = 512
FREE, END, TABLE = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD
Cell = tuple[int, int, float | str]


def old_workbook(cells: Sequence[Cell]) -> bytes:
    """A file with one sheet of some cells (row, column, value)."""
    sheet = _record(0x809, struct.pack("<HHHHII", 0x600, 0x10, 0, 0, 0, 0))
    sheet += b"".join(_cell(*cell) for cell in cells) + _record(0x0A, b"")
    head = _record(0x809, struct.pack("<HHHHII", 0x600, 5, 0, 0, 0, 0))
    place = len(head) + 4 + 9 + 4
    globals_ = head + _record(0x85, struct.pack("<IHBB", place, 0, 1, 0) + b"s") + _record(0x0A, b"")
    return compound(globals_ + sheet)


def compound(stream: bytes) -> bytes:
    """A compound file whose only stream is ``Workbook``, in whole sectors: the table of sectors, the directory, the stream."""
    stream = stream.ljust(max(4096, -(-len(stream) // SECTOR) * SECTOR), b"\0")
    size = len(stream) // SECTOR
    tables = -(-(size + 2) // (SECTOR // 4 - 1))
    chain = [TABLE] * tables + [END] + [tables + 2 + place for place in range(size - 1)] + [END]
    links = struct.pack(f"<{len(chain)}I", *chain).ljust(tables * SECTOR, b"\xff")
    header = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(16) + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6) + bytes(6)
    header += struct.pack("<IIIIIIIII", 0, tables, tables, 0, 4096, END, 0, END, 0)
    header += struct.pack("<109I", *range(tables), *[FREE] * (109 - tables))
    directory = _entry("Root Entry", 5, 1, END, 0) + _entry("Workbook", 2, FREE, tables + 1, len(stream))
    return header + links + directory.ljust(SECTOR, b"\0") + stream


def _entry(name: str, kind: int, child: int, start: int, size: int) -> bytes:
    text = name.encode("utf-16-le")
    packed = text.ljust(64, b"\0") + struct.pack("<HBBIII", len(text) + 2, kind, 1, FREE, FREE, child)
    return packed + bytes(36) + struct.pack("<IQ", start, size)


def _cell(row: int, column: int, value: float | str) -> bytes:
    if isinstance(value, str):
        text = struct.pack("<HHHHB", row, column, 0, len(value), 0) + value.encode("latin-1")
        return _record(0x204, text)
    return _record(0x203, struct.pack("<HHHd", row, column, 0, value))


def _record(number: int, body: bytes) -> bytes:
    return struct.pack("<HH", number, len(body)) + body
