"""The memory budget: rows that do not fit are streamed instead of loaded.

Two thirds of the free memory may be used. The environment variable ``RETICENT_MEMORY`` (such as ``2GB`` or ``500MB``)
overrides it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from reticent.errors import PolicyError

MEMORY = "RETICENT_MEMORY"

_UNITS = {"": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
_UNKNOWN = 4 << 30
# What a cell of a table costs on its way from the source to the public file while all rows are in memory: its value, its code,
# its label, and the sorted copy of that. Measured on the ten million rows of ``python -m benchmarks big``.
_BYTES_PER_CELL = 72
_BYTES_PER_TEXT_BYTE = 8
_LARGEST_CHUNK, _SMALLEST_CHUNK = 500_000, 1_000
_CHUNK_SHARE = 16


def budget() -> int:
    """The number of bytes that a job may use."""
    setting = os.environ.get(MEMORY)
    return _read(setting) if setting else 2 * _available() // 3


def budget_is_said() -> bool:
    """True if the budget was set explicitly."""
    return bool(os.environ.get(MEMORY))


def fits(rows: int, columns: int) -> bool:
    """True if a table of this size can be published with all rows in memory."""
    return rows <= most_rows(columns)


def most_rows(columns: int) -> int:
    """The maximum number of rows with this many columns that fit in memory."""
    return budget() // (max(columns, 1) * _BYTES_PER_CELL)


def cell_memory(rows: int, columns: int) -> int:
    """The bytes that a table of this size takes in memory while it is processed."""
    return rows * max(columns, 1) * _BYTES_PER_CELL


def text_memory(size: int) -> int:
    """The bytes that the table in a text file of ``size`` bytes takes."""
    return size * _BYTES_PER_TEXT_BYTE


def rows_at_once(columns: int) -> int:
    """The chunk size of a stream, in rows."""
    rows = budget() // (_CHUNK_SHARE * _BYTES_PER_CELL * max(columns, 1))
    return min(max(rows, _SMALLEST_CHUNK), _LARGEST_CHUNK)


def _read(setting: str) -> int:
    """Return a size such as 500MB or 2GB in bytes."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?) ?([KMGT]B)?", setting.strip().upper())
    if match is None:
        raise PolicyError(f"{MEMORY} must be a size such as 500MB or 2GB, but it is {setting!r}.")
    return int(float(match[1]) * _UNITS[match[2] or ""])


def _available() -> int:
    """Free memory, or the limit of the process's control group."""
    limits = [*_group_room(), *_system_room()]
    return max(min(limits), 0) if limits else _UNKNOWN


def _system_room() -> list[int]:
    """Return the free memory of the machine in bytes, in a list; empty if unknown."""
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
    except OSError:
        return []
    match = re.search(r"^MemAvailable:\s+(\d+) kB", text, re.MULTILINE)
    return [int(match[1]) << 10] if match else []


def _group_room() -> list[int]:
    """Return the memory that the control group leaves, in bytes, in a list; empty if there is no limit."""
    folder = Path("/sys/fs/cgroup")
    try:
        limit, used = ((folder / name).read_text(encoding="ascii").strip() for name in ("memory.max", "memory.current"))
    except OSError:
        return []
    return [int(limit) - int(used)] if limit.isdigit() else []
