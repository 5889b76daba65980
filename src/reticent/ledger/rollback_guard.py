"""The newest position of the ledger, kept outside of its file: an older copy that was put back is found out by it.

It is written after every durable entry, without waiting for the disk: a power cut may leave it behind the ledger, never ahead of it. The file beside the
ledger also names every second place that was ever used, so that one that is gone is not taken for a new one.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import sys
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple
from weakref import finalize

from reticent.errors import LedgerError

if sys.platform == "win32":

    def _lock(handle: int) -> None:
        """Windows has no such lock."""

    _unlock = _lock
else:
    from fcntl import LOCK_EX, LOCK_UN, flock

    def _lock(handle: int) -> None:
        """Wait until no other process has the file, and have it."""
        flock(handle, LOCK_EX)

    def _unlock(handle: int) -> None:
        """Let others have the file."""
        flock(handle, LOCK_UN)


_SLOT = 128
_SLOTS = 2
_LENGTH = _SLOT * _SLOTS
START = bytes(32)


class Position(NamedTuple):
    """How many links the chain has, and the last one."""

    length: int = 0
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
    return max(found, key=lambda position: position.length)


class RollbackGuard:
    """A file that holds the newest position, kept open between writes. Mutable because it stands for a file; one thread uses it at a time.

    Two slots, so that a torn write leaves the other. Processes that share the file take turns by a lock, and none moves the position back.
    Where it is ``mapped`` into memory, as SQLite maps its own file beside the ledger, a write asks nothing of the file system; a second place may be on one that
    other machines share, which would not see it.
    """

    def __init__(self, path: Path, *, mapped: bool) -> None:
        self.path, self._mapped = path, mapped
        self._name = str(path)
        self._slots: _Slots | None = None
        self._known, self._counts = b"", (-1, -1)

    def write(self, position: Position, *, back: bool = False) -> None:
        """Move the position forward, or ``back`` where the steward says so."""
        slots = self._open()
        _lock(slots.handle)
        try:
            content = slots.read()
            if back:
                content = bytes(_LENGTH)
                slots.write(content, 0)
            first, second = self._counts if content == self._known else _counts(content)
            count = position.length
            if count <= first or count <= second:
                return
            written = _written(position)
            if first <= second:
                slots.write(written, 0)
                self._known, self._counts = written + content[_SLOT:], (count, second)
            else:
                slots.write(written, _SLOT)
                self._known, self._counts = content[:_SLOT] + written, (first, count)
            if count == 0 or back:
                os.fsync(slots.handle)
        finally:
            _unlock(slots.handle)

    def close(self) -> None:
        """Let go of the file."""
        if self._slots is not None:
            self._slots.close()
            self._slots = None

    def _open(self) -> _Slots:
        """The open file, made if there is none; another one where another file has its name by now."""
        if self._slots is not None:
            try:
                if self._slots.is_found(os.lstat(self._name)):
                    return self._slots
            except FileNotFoundError:
                pass
            self.close()
        handle = os.open(self._name, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
        self._slots = (_MappedSlots if self._mapped else _Slots)(handle)
        return self._slots


class _Slots:
    """The slots of an open file, which is closed when nobody refers to it any more."""

    def __init__(self, handle: int) -> None:
        self.handle = handle
        self.close = finalize(self, os.close, handle)
        found = os.fstat(handle)
        self._device, self._inode = found.st_dev, found.st_ino

    def is_found(self, found: os.stat_result) -> bool:
        """Whether the file that was found under a name is this one, and can be used."""
        return found.st_ino == self._inode and found.st_dev == self._device

    def read(self) -> bytes:
        return os.pread(self.handle, _LENGTH, 0)

    def write(self, content: bytes, place: int) -> None:
        os.pwrite(self.handle, content, place)


class _MappedSlots(_Slots):
    """The same in memory. A file that somebody made shorter is opened anew, since its memory is gone."""

    def __init__(self, handle: int) -> None:
        super().__init__(handle)
        _lock(handle)
        try:
            if os.fstat(handle).st_size < _LENGTH:
                os.truncate(handle, _LENGTH)
        finally:
            _unlock(handle)
        self._memory = mmap.mmap(handle, _LENGTH)

    def is_found(self, found: os.stat_result) -> bool:
        return found.st_size >= _LENGTH and super().is_found(found)

    def read(self) -> bytes:
        return self._memory[:]

    def write(self, content: bytes, place: int) -> None:
        self._memory[place : place + len(content)] = content


def seconds(path: Path) -> frozenset[str]:
    """The second places that a file beside the ledger names, as hashes of their paths."""
    try:
        content = path.read_bytes()[_LENGTH:]
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
        end = max(os.fstat(handle).st_size, _LENGTH)
        os.pwrite(handle, f"{name_of(second)}\n".encode(), end)
        os.fsync(handle)
    finally:
        os.close(handle)


def name_of(second: Path) -> str:
    """A second place as the file beside the ledger names it."""
    return hashlib.sha256(os.fsencode(second)).hexdigest()[:32]


def _counts(content: bytes) -> tuple[int, int]:
    first, second = (-1 if slot is None else slot.length for slot in _slots(content))
    return first, second


def _written(position: Position) -> bytes:
    said = f"{position.length} {position.link.hex()}"
    return f"{said} {_check(said)}".encode().ljust(_SLOT - 1) + b"\n"


def _slots(content: bytes) -> list[Position | None]:
    return [_parsed(content[start : start + _SLOT]) for start in range(0, _LENGTH, _SLOT)]


@lru_cache
def _parsed(slot: bytes) -> Position | None:
    try:
        count, link, check = slot.decode("ascii").split()
        return Position(int(count), bytes.fromhex(link)) if check == _check(f"{count} {link}") else None
    except ValueError:
        return None


def _check(said: str) -> str:
    return hashlib.sha256(said.encode()).hexdigest()[:16]
