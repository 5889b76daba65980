"""Files that appear whole or not at all: written aside, synced to the disk, renamed.

A killed process or a full disk leaves the target as it was. What a killed process leaves behind is a hidden folder beside
the target; the next write to the same target removes it.
"""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import stat
import sys
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from reticent.errors import DataError

_EXCHANGE = 2
_CURRENT_FOLDER = -100
_SCRATCH = ".reticent-scratch-"
_BLOCK = 1 << 22


def write_whole(path: str | Path, chunks: bytes | Iterable[bytes], mode: int = 0o644) -> None:
    """Write a file so that ``path`` holds either what it held before or all of ``chunks``."""
    target = Path(path)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.partial-", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            _write(file.fileno(), chunks)
        os.chmod(name, mode)
        os.replace(name, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(name)
        raise
    sync_folder(target.parent)


def write_new(path: Path, chunks: bytes | Iterable[bytes], mode: int = 0o644, *, sync: bool = True) -> None:
    """Write a file that does not exist yet, and sync it unless it is only on its way; for use inside :func:`folder_aside` and :class:`Scratch`."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        os.fchmod(handle, mode)
        _write(handle, chunks, sync)
    finally:
        os.close(handle)


def check_own(path: Path, *, shared: bool = False) -> str | None:
    """Why a file is not to be trusted with what only we may write: it is somebody else's, a link, or others have rights on it.

    None where it is ours alone, or not there. With ``shared`` others may own it and have rights.
    """
    try:
        found = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_ISLNK(found.st_mode) or (stat.S_ISREG(found.st_mode) and found.st_nlink > 1):
        return "it is a link, so another name stands for the same file"
    if shared or sys.platform == "win32" or not stat.S_ISREG(found.st_mode):
        return None
    if found.st_uid != os.geteuid():
        return f"it belongs to somebody else (user {found.st_uid})"
    if stat.S_IMODE(found.st_mode) & 0o077:
        return f"others have rights on it (mode {stat.S_IMODE(found.st_mode):04o}); take them away with chmod 600"
    return None


@contextmanager
def folder_aside(target: Path, *, replace: bool = False) -> Iterator[Path]:
    """A fresh folder beside ``target`` that takes its name when the block ends well, and vanishes when it does not.

    With ``replace`` an existing target is exchanged in one step where the system can (Linux), and removed afterwards.
    """
    target = Path(os.path.abspath(target))
    target.parent.mkdir(parents=True, exist_ok=True)
    prefix = f".{target.name}.partial-"
    _sweep(target.parent, prefix)
    with _held(target.parent, prefix) as aside:
        try:
            yield aside
            for folder, _, _ in os.walk(aside):
                sync_folder(Path(folder))
            os.chmod(aside, 0o755)
            _move(aside, target, replace)
        except BaseException:
            shutil.rmtree(aside, ignore_errors=True)
            raise
        sync_folder(target.parent)


class Scratch:
    """A folder for intermediate files: only its owner can read it, and it goes when nobody refers to it any more.

    A killed process leaves it behind; the next scratch folder at the same place removes it.
    """

    def __init__(self, parent: str | Path | None = None) -> None:
        place = Path(parent if parent is not None else tempfile.gettempdir())
        _sweep(place, _SCRATCH)
        held = _held(place, _SCRATCH)
        self.folder = held.__enter__()
        self._gone = weakref.finalize(self, _forget, held, self.folder)

    def close(self) -> None:
        """Remove the folder now."""
        self._gone()


def _forget(held: AbstractContextManager[Path], folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    held.__exit__(None, None, None)


def read_blocks(path: Path) -> Iterator[bytes]:
    """The bytes of a file, a few megabytes at a time."""
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            yield block


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _write(handle: int, chunks: bytes | Iterable[bytes], sync: bool = True) -> None:
    for chunk in [chunks] if isinstance(chunks, bytes) else chunks:
        rest = memoryview(chunk)
        while rest:
            rest = rest[os.write(handle, rest) :]
    if sync:
        os.fsync(handle)


def _move(aside: Path, target: Path, replace: bool) -> None:
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        os.rename(aside, target)
        return
    if not replace:
        raise DataError(f"{str(target)!r} exists already. Choose another place, or remove it first.")
    if not _exchange(aside, target):
        parked = Path(tempfile.mkdtemp(prefix=f".{target.name}.partial-", dir=target.parent))
        os.rename(target, parked / target.name)
        os.rename(aside, target)
        shutil.rmtree(parked, ignore_errors=True)
        return
    shutil.rmtree(aside, ignore_errors=True)


def _exchange(first: Path, second: Path) -> bool:
    """Swap two folders in one step; False where the system or the file system cannot."""
    if not sys.platform.startswith("linux"):
        return False
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    if rename(_CURRENT_FOLDER, os.fsencode(first), _CURRENT_FOLDER, os.fsencode(second), _EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.ENOSYS, errno.EINVAL):
        return False
    raise OSError(code, os.strerror(code), str(second))


@contextmanager
def _held(parent: Path, prefix: str) -> Iterator[Path]:
    """A new folder, locked while it is being filled, so that nobody sweeps it away."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        handle = -1
        try:
            handle = os.open(folder, os.O_RDONLY)
            # A sweeper may have come between the two calls: then the folder is gone or its lock is taken.
            if (_lock(handle) or not _can_lock()) and folder.exists():
                yield folder
                return
        except FileNotFoundError:
            if handle >= 0:
                raise
        finally:
            if handle >= 0:
                os.close(handle)


def _sweep(parent: Path, prefix: str) -> None:
    """Remove what killed processes left behind: unfinished folders that nobody holds."""
    for left in parent.glob(f"{_literal(prefix)}*"):
        with suppress(OSError):
            handle = os.open(left, os.O_RDONLY | os.O_DIRECTORY)
            try:
                if _lock(handle):
                    shutil.rmtree(left, ignore_errors=True)
            finally:
                os.close(handle)


def _lock(handle: int) -> bool:
    if not _can_lock():
        return False
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _can_lock() -> bool:
    return sys.platform != "win32"


def _literal(text: str) -> str:
    """``text`` as a glob pattern that matches only itself."""
    return "".join(f"[{char}]" if char in "*?[" else char for char in text)
