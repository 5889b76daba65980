"""The newest position of the ledger, stored outside its file: it reveals an older copy that was restored.

It is written after every durable entry, without waiting for the disk: a power cut may leave it behind the ledger, never
ahead of it. The file next to the ledger also lists every second path that was ever used, so a missing one is not taken
for a new one.
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
        """No-op: Windows has no such lock."""

    _unlock = _lock
else:
    from fcntl import LOCK_EX, LOCK_UN, flock

    def _lock(handle: int) -> None:
        """Acquire the file lock, waiting for other processes."""
        flock(handle, LOCK_EX)

    def _unlock(handle: int) -> None:
        """Release the file lock."""
        flock(handle, LOCK_UN)


_SLOT = 128
_SLOTS = 2
_LENGTH = _SLOT * _SLOTS
START = bytes(32)


class Position(NamedTuple):
    """The length of the chain, and its last link."""

    length: int = 0
    link: bytes = START


def read(path: Path) -> Position | None:
    """The position in a file; None if there is no file."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    positions = [position for position in _slots(content) if position is not None]
    if not positions:
        raise LedgerError(
            f"{str(path)!r}, which holds the newest position of the ledger, is damaged. Nothing was published. Restore it from a backup together with the "
            "ledger and its key, or accept the ledger in its current state: reticent ledger accept."
        )
    return max(positions, key=lambda position: position.length)


class RollbackGuard:
    """A file that holds the newest position, open between writes. Mutable: it is a file handle; use it from one thread at
    a time.

    Two slots, so a torn write leaves the other intact. Processes that share the file serialize by a lock, and none
    moves the position back. If it is ``mapped`` into memory, as SQLite maps its own side file, a write makes no
    file-system call; a second path may be on a network file system, where other machines would not see it.
    """

    def __init__(self, path: Path, *, mapped: bool) -> None:
        """Prepare the file that holds the newest position; it is opened on first use."""
        self.path, self._mapped = path, mapped
        self._name = str(path)
        self._slots: _Slots | None = None
        self._known, self._counts = b"", (-1, -1)

    def write(self, position: Position, *, back: bool = False) -> None:
        """Advance the position, or move it ``back`` if the steward accepts that."""
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
        """Close the file."""
        if self._slots is not None:
            self._slots.close()
            self._slots = None

    def _open(self) -> _Slots:
        """The open file, created if there is none; reopened if the path now names another file."""
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
    """The slots of an open file, which is closed when no longer referenced."""

    def __init__(self, handle: int) -> None:
        """Take over an open file, and remember which file it is."""
        self.handle = handle
        self.close = finalize(self, os.close, handle)
        status = os.fstat(handle)
        self._device, self._inode = status.st_dev, status.st_ino

    def is_found(self, found: os.stat_result) -> bool:
        """True if the file found at a path is this one, and usable."""
        return found.st_ino == self._inode and found.st_dev == self._device

    def read(self) -> bytes:
        return os.pread(self.handle, _LENGTH, 0)

    def write(self, content: bytes, place: int) -> None:
        os.pwrite(self.handle, content, place)


class _MappedSlots(_Slots):
    """The same in a memory map. A file that was truncated is reopened, since its mapping is invalid."""

    def __init__(self, handle: int) -> None:
        """Map an open file into memory, extended to its full length."""
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
    """The second paths listed in a file next to the ledger, as hashes."""
    try:
        content = path.read_bytes()[_LENGTH:]
    except FileNotFoundError:
        return frozenset()
    return frozenset(content.decode("ascii", errors="replace").split())


def remember_second(path: Path, second: Path) -> None:
    """Add a second path to the list."""
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
    """The hash that represents a second path in the list."""
    return hashlib.sha256(os.fsencode(second)).hexdigest()[:32]


def _counts(content: bytes) -> tuple[int, int]:
    first, second = (-1 if slot is None else slot.length for slot in _slots(content))
    return first, second


def _written(position: Position) -> bytes:
    text = f"{position.length} {position.link.hex()}"
    return f"{text} {_check(text)}".encode().ljust(_SLOT - 1) + b"\n"


def _slots(content: bytes) -> list[Position | None]:
    return [_parsed(content[start : start + _SLOT]) for start in range(0, _LENGTH, _SLOT)]


@lru_cache
def _parsed(slot: bytes) -> Position | None:
    """Return the position that a slot stores; None if its checksum is wrong."""
    try:
        count, link, check = slot.decode("ascii").split()
        return Position(int(count), bytes.fromhex(link)) if check == _check(f"{count} {link}") else None
    except ValueError:
        return None


def _check(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
