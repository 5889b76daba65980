"""Atomic file writes: written to a temporary location, synced to disk, renamed.

A killed process or a full disk leaves the target unchanged. A killed process leaves a hidden folder next to the target;
the next write to the same target removes it.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
import shutil
import stat
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from reticent.errors import DataError

_EXCHANGE = 2
_CURRENT_FOLDER = -100
_SCRATCH = ".reticent-scratch-"
_BLOCK = 1 << 22
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_LARGEST_COPY = 1 << 30
# What :func:`tempfile.mkdtemp` adds to a prefix.
_DRAWN = re.compile(r"[a-z0-9_]{8}")


def write_whole(path: str | Path, chunks: bytes | Iterable[bytes], mode: int = 0o644) -> None:
    """Write a file atomically: ``path`` holds either its previous content or all of ``chunks``."""
    target = Path(path)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.partial-", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            _write(file.fileno(), chunks)
            os.fchmod(file.fileno(), mode)
        os.replace(name, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(name)
        raise
    sync_folder(target.parent)


def write_new(path: Path, chunks: bytes | Iterable[bytes] | Path, mode: int = 0o644, *, sync: bool = True) -> None:
    """Write a new file, and sync it unless it is temporary; for use inside :func:`folder_aside` and :class:`Scratch`.

    A path as content means the bytes of that file. They are copied, not linked: later changes of one file must not
    change the other.
    """
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        os.fchmod(handle, mode)
        _write(handle, chunks, sync)
    finally:
        os.close(handle)


def check_own(path: Path, *, shared: bool = False) -> str | None:
    """Why a file is not safe to trust: it belongs to another user, is a link, or others have permissions on it.

    None if it is ours alone, or does not exist. With ``shared`` others may own it and have permissions.
    """
    try:
        status = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_ISLNK(status.st_mode) or (stat.S_ISREG(status.st_mode) and status.st_nlink > 1):
        return "it is a link, so the same file has another name"
    if shared or sys.platform == "win32" or not stat.S_ISREG(status.st_mode):
        return None
    if status.st_uid != os.geteuid():
        return f"it belongs to another user (user {status.st_uid})"
    if stat.S_IMODE(status.st_mode) & 0o077:
        return (
            f"other users have permissions on it (mode {stat.S_IMODE(status.st_mode):04o}); remove them with chmod 600"
        )
    return None


@contextmanager
def folder_aside(
    target: Path, *, replace: bool = False, removable: Callable[[Path], bool] | None = None, mode: int = 0o755
) -> Iterator[Path]:
    """A new folder next to ``target`` that gets its name and its ``mode`` when the block succeeds, and is removed when it
    fails.

    With ``replace`` an existing target is exchanged atomically if the system can (Linux), and removed afterwards if it
    is ``removable`` (default: always). The folders are held open, so nothing is written elsewhere if they are renamed
    or replaced by links (Linux).
    """
    target = Path(os.path.abspath(target))
    if target.is_symlink():
        raise DataError(f"{str(target)!r} is a symbolic link. Name the folder itself, or another one.")
    make_folder(target.parent)
    prefix = f".{target.name}.partial-"
    with _opened(target.parent) as parent:
        _sweep(parent, prefix)
        with _held(parent, prefix) as (folder, handle):
            staging = _anchored(handle, folder)
            try:
                yield staging
                for directory, _, _ in os.walk(staging):
                    sync_folder(Path(directory))
                os.chmod(staging, mode)
                if _is_open_as(handle, folder):
                    _move(folder, parent / target.name, replace, removable)
                if not _is_open_as(handle, parent / target.name) or not _is_open_as(handle, target):
                    raise DataError(f"{str(target)!r} was changed by another process while it was written.")
            except BaseException:
                _clear(staging)
                for name in (folder, parent / target.name):
                    if _is_open_as(handle, name):
                        name.rmdir()
                raise
            sync_folder(parent)


class Scratch:
    """A folder for intermediate files: readable by its owner only, and removed when no longer referenced.

    A killed process leaves it behind; the next scratch folder in the same directory removes it.
    """

    def __init__(self, parent: str | Path | None = None) -> None:
        """Create the folder, locked while this object lives; what killed processes left in ``parent`` is removed first."""
        parent_folder = Path(parent if parent is not None else tempfile.gettempdir())
        _sweep(parent_folder, _SCRATCH)
        holder = _held(parent_folder, _SCRATCH)
        self.folder, _ = holder.__enter__()
        self._gone = weakref.finalize(self, _forget, holder, self.folder)

    def close(self) -> None:
        """Remove the folder now."""
        self._gone()

    @contextmanager
    def closed_on_error(self) -> Iterator[None]:
        """Remove the folder when the block fails: a stored exception would keep it alive through its traceback."""
        try:
            yield
        except BaseException:
            self.close()
            raise


def _forget(holder: AbstractContextManager[tuple[Path, int]], folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    holder.__exit__(None, None, None)


def read_blocks(path: Path) -> Iterator[bytes]:
    """The bytes of a file, a few megabytes at a time."""
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            yield block


def make_folder(path: Path, mode: int = 0o777) -> None:
    """Make a folder and its parents, each synced in its parent; the ``mode`` is that of the last."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(mode=mode if folder == path else 0o777, exist_ok=True)
        sync_folder(folder.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable (fsync)."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _write(handle: int, chunks: bytes | Iterable[bytes] | Path, sync: bool = True) -> None:
    """Write all bytes to an open file, and flush it to the disk if ``sync``."""
    if isinstance(chunks, Path):
        chunks = _copied(chunks, handle)
    for chunk in [chunks] if isinstance(chunks, bytes) else chunks:
        unwritten = memoryview(chunk)
        while unwritten:
            unwritten = unwritten[os.write(handle, unwritten) :]
    if sync:
        os.fsync(handle)


def _copied(source: Path, handle: int) -> Iterator[bytes]:
    """Copy a file inside the kernel as far as possible; yields what is left to be written."""
    with source.open("rb", buffering=0) as file:
        with suppress(OSError, AttributeError):
            while os.copy_file_range(file.fileno(), handle, _LARGEST_COPY):
                pass
        file.seek(os.lseek(handle, 0, os.SEEK_CUR))
        while block := file.read(_BLOCK):
            yield block


def _move(aside: Path, target: Path, replace: bool, removable: Callable[[Path], bool] | None) -> None:
    """Rename ``aside`` to ``target``; what was there is removed if allowed, and kept otherwise."""
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        os.rename(aside, target)
        return
    if not replace:
        raise DataError(f"{target.name!r} exists already. Choose another path, or remove it first.")
    if _exchange(aside, target):
        try:
            _remove(aside, target.name, removable)
        except BaseException:
            _exchange(aside, target)
            raise
        return
    parked = Path(tempfile.mkdtemp(prefix=f".{target.name}.partial-", dir=target.parent))
    try:
        os.rename(target, parked / target.name)
        try:
            _remove(parked / target.name, target.name, removable)
        except BaseException:
            os.rename(parked / target.name, target)
            raise
        os.rename(aside, target)
    finally:
        parked.rmdir()


def _remove(old: Path, name: str, removable: Callable[[Path], bool] | None) -> None:
    """Remove a replaced folder by its own contents, even if its name is reused meanwhile."""
    with _opened(old) as inside:
        if removable is not None and not removable(inside):
            raise DataError(f"{name!r} changed while it was being replaced; it was not removed.")
        _clear(inside)
    with suppress(OSError):
        old.rmdir()


def _clear(folder: Path) -> None:
    """Remove the contents of a folder as far as possible; links are removed and not followed."""
    with suppress(OSError):
        for entry in list(folder.iterdir()):
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                with suppress(OSError):
                    entry.unlink()


@contextmanager
def _opened(folder: Path) -> Iterator[Path]:
    """A path to a folder that stays valid while it is open, even if it is renamed."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        yield _anchored(handle, folder)
    finally:
        os.close(handle)


def _anchored(handle: int, folder: Path) -> Path:
    by_handle = Path(f"/proc/self/fd/{handle}")
    return by_handle if sys.platform.startswith("linux") and by_handle.exists() else folder


def _is_open_as(handle: int, path: Path) -> bool:
    """True if a path is the opened folder itself, not through a link."""
    try:
        return os.path.samestat(os.fstat(handle), os.lstat(path))
    except OSError:
        return False


def _exchange(first: Path, second: Path) -> bool:
    """Swap two folders atomically; False if the system or the file system cannot."""
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
def _held(parent: Path, prefix: str) -> Iterator[tuple[Path, int]]:
    """A new folder of our own, open and locked while it is being filled, so it is not swept."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        handle = -1
        try:
            handle = os.open(folder, os.O_RDONLY | _NO_LINK)
            # A sweep may have happened between the two calls: then the folder is gone or locked.
            if (_lock(handle) or not _can_lock()) and _is_open_as(handle, folder) and _is_ours(handle):
                yield folder, handle
                return
        except FileNotFoundError:
            if handle >= 0:
                raise
        finally:
            if handle >= 0:
                os.close(handle)


def _sweep(parent: Path, prefix: str) -> None:
    """Remove what our killed processes left behind: unfinished folders without a lock."""
    names: list[str] = []
    with suppress(OSError):
        names = [name for name in os.listdir(parent) if name.startswith(prefix) and _DRAWN.fullmatch(name, len(prefix))]
    for folder in (parent / name for name in names):
        with suppress(OSError):
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | _NO_LINK)
            try:
                if _is_ours(handle) and _lock(handle):
                    _clear(_anchored(handle, folder))
                    folder.rmdir()
            finally:
                os.close(handle)


def _is_ours(handle: int) -> bool:
    return sys.platform == "win32" or os.fstat(handle).st_uid == os.geteuid()


def _lock(handle: int) -> bool:
    """Lock an open file without waiting; return whether that was possible."""
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
