"""The newest position of the ledger, kept outside of its file: an older copy that was put back is found out by it.

It is written after every durable entry, without waiting for the disk: a power cut may leave it behind the ledger, never ahead of it. The file beside the
ledger also names every second place that was ever used, so that one that is gone is not taken for a new one.
"""

from __future__ import annotations

import hashlib
import os
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from reticent.errors import LedgerError

_SLOT = 128
_SLOTS = 2
START = bytes(32)


@dataclass(frozen=True)
class Position:
    """How many links the chain has, and the last one."""

    count: int = 0
    link: bytes = START


def read(path: Path) -> Position | None:
    """The position in a file; None where there is no file."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    found = [position for position in _slots(content) if position is not None]
    if not found:
        raise LedgerError(
            f"{str(path)!r}, which holds the newest position of the ledger, is damaged. Nothing was published. Put it back from a backup together with the "
            "ledger and its key, or accept the ledger as it is: reticent ledger accept."
        )
    return max(found, key=lambda position: position.count)


def write(path: Path, position: Position, *, back: bool = False) -> None:
    """Move the position forward, or ``back`` where the steward says so; two slots, so that a torn write leaves the other."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        _lock(handle)
        content = os.pread(handle, _SLOT * _SLOTS, 0)
        counts = [slot.count if slot is not None else -1 for slot in _slots(content)]
        if back:
            os.pwrite(handle, bytes(_SLOT * _SLOTS), 0)
        elif max(counts) >= position.count:
            return
        os.pwrite(handle, _written(position), _SLOT * counts.index(min(counts)))
        if position.count == 0 or back:
            os.fsync(handle)
    finally:
        os.close(handle)


def seconds(path: Path) -> frozenset[str]:
    """The second places that a file beside the ledger names, as hashes of their paths."""
    try:
        content = path.read_bytes()[_SLOT * _SLOTS :]
    except FileNotFoundError:
        return frozenset()
    return frozenset(content.decode("ascii", errors="replace").split())


def remember_second(path: Path, second: Path) -> None:
    """Name one more second place."""
    if name_of(second) in seconds(path):
        return
    handle = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        _lock(handle)
        end = max(os.fstat(handle).st_size, _SLOT * _SLOTS)
        os.pwrite(handle, f"{name_of(second)}\n".encode(), end)
        os.fsync(handle)
    finally:
        os.close(handle)


def name_of(second: Path) -> str:
    """A second place as the file beside the ledger names it."""
    return hashlib.sha256(os.fsencode(second)).hexdigest()[:32]


def _written(position: Position) -> bytes:
    said = f"{position.count} {position.link.hex()}"
    return f"{said} {_check(said)}".encode().ljust(_SLOT - 1) + b"\n"


def _slots(content: bytes) -> list[Position | None]:
    return [_parsed(content[start : start + _SLOT]) for start in range(0, _SLOT * _SLOTS, _SLOT)]


@lru_cache
def _parsed(slot: bytes) -> Position | None:
    try:
        count, link, check = slot.decode("ascii").split()
        return Position(int(count), bytes.fromhex(link)) if check == _check(f"{count} {link}") else None
    except ValueError:
        return None


def _check(said: str) -> str:
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def _lock(handle: int) -> None:
    if sys.platform != "win32":
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX)
