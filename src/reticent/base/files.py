"""Files that appear whole or not at all: written aside, synced to the disk, renamed.

A killed process or a full disk leaves the target as it was. What a killed process leaves behind is a hidden folder beside
the target; the next write to the same target removes it.
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
    """Write a file so that ``path`` holds either what it held before or all of ``chunks``."""
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
    """Write a file that does not exist yet, and sync it unless it is only on its way; for use inside :func:`folder_aside` and :class:`Scratch`.

    A path stands for the bytes of that file. They are copied, not linked: whoever changes one file later must not change the other.
    """
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
def folder_aside(
    target: Path, *, replace: bool = False, removable: Callable[[Path], bool] | None = None, mode: int = 0o755
) -> Iterator[Path]:
    """A fresh folder beside ``target`` that takes its name and its ``mode`` when the block ends well, and vanishes when it does not.

    With ``replace`` an existing target is exchanged in one step where the system can (Linux), and removed afterwards, if it is ``removable``
    (by default everything is). The folders are held open, so that nothing is written elsewhere when somebody renames them or puts links in their place (Linux).
    """
    target = Path(os.path.abspath(target))
    if target.is_symlink():
        raise DataError(f"{str(target)!r} is a symbolic link. Name the folder itself, or another one.")
    make_folder(target.parent)
    prefix = f".{target.name}.partial-"
    with _opened(target.parent) as parent:
        _sweep(parent, prefix)
        with _held(parent, prefix) as (folder, handle):
            aside = _anchored(handle, folder)
            try:
                yield aside
                for place, _, _ in os.walk(aside):
                    sync_folder(Path(place))
                os.chmod(aside, mode)
                if _is_open_as(handle, folder):
                    _move(folder, parent / target.name, replace, removable)
                if not _is_open_as(handle, parent / target.name) or not _is_open_as(handle, target):
                    raise DataError(f"{str(target)!r} was changed by somebody else while it was written.")
            except BaseException:
                _clear(aside)
                for name in (folder, parent / target.name):
                    if _is_open_as(handle, name):
                        name.rmdir()
                raise
            sync_folder(parent)


class Scratch:
    """A folder for intermediate files: only its owner can read it, and it goes when nobody refers to it any more.

    A killed process leaves it behind; the next scratch folder at the same place removes it.
    """

    def __init__(self, parent: str | Path | None = None) -> None:
        place = Path(parent if parent is not None else tempfile.gettempdir())
        _sweep(place, _SCRATCH)
        held = _held(place, _SCRATCH)
        self.folder, _ = held.__enter__()
        self._gone = weakref.finalize(self, _forget, held, self.folder)

    def close(self) -> None:
        """Remove the folder now."""
        self._gone()

    @contextmanager
    def closed_on_error(self) -> Iterator[None]:
        """Remove the folder when the block fails: an error that somebody keeps refers to it, through its traceback."""
        try:
            yield
        except BaseException:
            self.close()
            raise


def _forget(held: AbstractContextManager[tuple[Path, int]], folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    held.__exit__(None, None, None)


def read_blocks(path: Path) -> Iterator[bytes]:
    """The bytes of a file, a few megabytes at a time."""
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            yield block


def make_folder(path: Path, mode: int = 0o777) -> None:
    """Make a folder and those above it, each durable in the one that holds it; the ``mode`` is that of the last."""
    missing = [each for each in (path, *path.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(mode=mode if each == path else 0o777, exist_ok=True)
        sync_folder(each.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _write(handle: int, chunks: bytes | Iterable[bytes] | Path, sync: bool = True) -> None:
    if isinstance(chunks, Path):
        chunks = _copied(chunks, handle)
    for chunk in [chunks] if isinstance(chunks, bytes) else chunks:
        rest = memoryview(chunk)
        while rest:
            rest = rest[os.write(handle, rest) :]
    if sync:
        os.fsync(handle)


def _copied(source: Path, handle: int) -> Iterator[bytes]:
    """Copy a file inside the system, without a look at its bytes, as far as that goes; gives what is left to be written."""
    with source.open("rb", buffering=0) as file:
        with suppress(OSError, AttributeError):
            while os.copy_file_range(file.fileno(), handle, _LARGEST_COPY):
                pass
        file.seek(os.lseek(handle, 0, os.SEEK_CUR))
        while block := file.read(_BLOCK):
            yield block


def _move(aside: Path, target: Path, replace: bool, removable: Callable[[Path], bool] | None) -> None:
    """Give ``aside`` the name of ``target``; what stood there is removed if it may be, and stays otherwise."""
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        os.rename(aside, target)
        return
    if not replace:
        raise DataError(f"{target.name!r} exists already. Choose another place, or remove it first.")
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
    """Remove a folder that was replaced: its own contents, whatever else gets its name meanwhile."""
    with _opened(old) as inside:
        if removable is not None and not removable(inside):
            raise DataError(f"{name!r} was changed while it was to be replaced; it stays as it is.")
        _clear(inside)
    with suppress(OSError):
        old.rmdir()


def _clear(folder: Path) -> None:
    """Remove what is in a folder, as far as that can be done; links are removed and not followed."""
    with suppress(OSError):
        for each in list(folder.iterdir()):
            if each.is_dir() and not each.is_symlink():
                shutil.rmtree(each, ignore_errors=True)
            else:
                with suppress(OSError):
                    each.unlink()


@contextmanager
def _opened(folder: Path) -> Iterator[Path]:
    """A folder as a path that stays its own while it is open, whatever happens to its name."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        yield _anchored(handle, folder)
    finally:
        os.close(handle)


def _anchored(handle: int, folder: Path) -> Path:
    own = Path(f"/proc/self/fd/{handle}")
    return own if sys.platform.startswith("linux") and own.exists() else folder


def _is_open_as(handle: int, path: Path) -> bool:
    """Whether a name stands for the folder that is open, itself and not through a link."""
    try:
        return os.path.samestat(os.fstat(handle), os.lstat(path))
    except OSError:
        return False


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
def _held(parent: Path, prefix: str) -> Iterator[tuple[Path, int]]:
    """A new folder of our own, open and locked while it is being filled, so that nobody sweeps it away."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        handle = -1
        try:
            handle = os.open(folder, os.O_RDONLY | _NO_LINK)
            # A sweeper may have come between the two calls: then the folder is gone or its lock is taken.
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
    """Remove what killed processes of ours left behind: unfinished folders that nobody holds."""
    names: list[str] = []
    with suppress(OSError):
        names = [name for name in os.listdir(parent) if name.startswith(prefix) and _DRAWN.fullmatch(name, len(prefix))]
    for left in (parent / name for name in names):
        with suppress(OSError):
            handle = os.open(left, os.O_RDONLY | os.O_DIRECTORY | _NO_LINK)
            try:
                if _is_ours(handle) and _lock(handle):
                    _clear(_anchored(handle, left))
                    left.rmdir()
            finally:
                os.close(handle)


def _is_ours(handle: int) -> bool:
    return sys.platform == "win32" or os.fstat(handle).st_uid == os.geteuid()


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
