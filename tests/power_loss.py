"""Power loss, not only a killed process: every write, sync and rename of a program is recorded, and the disk is rebuilt as a power cut may leave it.

What a program wrote is durable once the file was synced, and a name once its folder was. Of what was not synced when the power went, a file system may keep any part: nothing, everything,
or some of the operations in their order. :func:`recorded` runs a program under ``strace``, :class:`DiskTrace` rebuilds the folder after any number of operations.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

_CALLS = (
    "openat,write,pwrite64,writev,pwritev,copy_file_range,ftruncate,truncate,fsync,fdatasync,sync_file_range,"
    "rename,renameat,renameat2,mkdir,mkdirat,unlink,unlinkat,rmdir,link,linkat,symlink,close,lseek"
)
_LINE = re.compile(r"^(\d+) +(\w+)\((.*)\) += (-?\d+)(?:<([^>]*)>)?")
_HEX = re.compile(r"\\x([0-9a-f]{2})")
_HANDLE = re.compile(r"^(\d+)(?:<([^>]*)>)?$")
SAID = b"SAID "


@dataclass(frozen=True)
class Operation:
    """Something that changes the disk, or makes changes durable; a file is a number that stays its own through renames."""

    kind: str
    path: str = ""
    other: str = ""
    file: int = -1
    place: int = 0
    content: bytes = b""


@dataclass
class DiskTrace:
    """What a program did to a ``folder``, operation by operation, and what it had ``said`` by then; ``before`` is a copy of the folder."""

    folder: Path
    before: Path
    operations: list[Operation] = field(default_factory=list)
    said: dict[int, str] = field(default_factory=dict)

    def moments(self) -> range:
        """The numbers of operations after which the power may go."""
        return range(len(self.operations) + 1)

    def told(self, moment: int) -> list[str]:
        """What the program had said before a moment."""
        return [words for place, words in self.said.items() if place <= moment]

    def rebuild(self, moment: int, target: Path, keep: random.Random | bool) -> None:
        """The folder as a power cut may leave it: all that was durable, and of the rest everything, nothing, or what is drawn."""
        durable = self._durable(moment)
        chosen = [
            operation
            for place, operation in enumerate(self.operations[:moment])
            if durable[place] or (keep if isinstance(keep, bool) else keep.random() < 0.5)
        ]
        shutil.copytree(self.before, target)
        files: dict[int, Path] = {}
        for operation in chosen:
            _apply(operation, target, files)

    def _durable(self, moment: int) -> list[bool]:
        """Which operations were synced by then: writes with their file, names with their folder."""
        found = [False] * moment
        for place, operation in enumerate(self.operations[:moment]):
            if operation.kind != "sync":
                continue
            for earlier, each in enumerate(self.operations[:place]):
                written = operation.file >= 0 and each.file == operation.file and each.kind in ("write", "truncate")
                names = {os.path.dirname(name) for name in (each.path, each.other) if name}
                # A file that is synced has a name after a crash: journaling file systems keep the entry of a new file with it.
                named = (each.kind not in ("write", "truncate", "sync") and operation.path in names) or (
                    each.kind == "create" and operation.file >= 0 and each.file == operation.file
                )
                found[earlier] = found[earlier] or written or named
        return found


def _apply(operation: Operation, root: Path, files: dict[int, Path]) -> None:
    """Do one operation to a rebuilt folder; one whose file or folder was lost changes nothing."""
    path, other = root / operation.path, root / operation.other
    if operation.kind == "create":
        if path.parent.is_dir():
            path.touch(mode=0o600)
            files[operation.file] = path
    elif operation.kind == "known":
        files[operation.file] = path
    elif operation.kind in ("write", "truncate"):
        place = files.get(operation.file)
        if place is None or not place.exists():
            return
        content = bytearray(place.read_bytes())
        if operation.kind == "truncate":
            content = content[: operation.place].ljust(operation.place, b"\0")
        else:
            content = content.ljust(operation.place, b"\0")
            content[operation.place : operation.place + len(operation.content)] = operation.content
        place.write_bytes(bytes(content))
    elif operation.kind == "mkdir":
        if path.parent.is_dir():
            path.mkdir(mode=0o700, exist_ok=True)
    elif operation.kind == "rename":
        if path.exists() and other.parent.is_dir():
            if other.is_dir() and path.is_dir():
                shutil.rmtree(other)
            os.replace(path, other)
            for number, each in files.items():
                if each == path or path in each.parents:
                    files[number] = other / each.relative_to(path)
    elif operation.kind == "unlink":
        path.unlink(missing_ok=True)
    elif operation.kind == "rmdir":
        shutil.rmtree(path, ignore_errors=True)


def recorded(program: str, folder: Path, scratch: Path, *arguments: str) -> DiskTrace:
    """Run a program that changes a ``folder`` under strace; what it prints as ``SAID words`` is what it told the world."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    trace, log = DiskTrace(folder, scratch / "before"), scratch / "trace"
    shutil.copytree(folder, trace.before)
    command = ["strace", "-f", "-y", "-xx", "-s", str(1 << 28), "-o", str(log), "-e", f"trace={_CALLS}"]
    done = subprocess.run(
        [*command, sys.executable, "-c", program, str(folder), *arguments],
        capture_output=True,
        check=False,
        env={**os.environ, "POLARS_MAX_THREADS": "1", "TMPDIR": str(scratch)},
    )
    if done.returncode and b"ptrace" in done.stderr.lower():
        pytest.skip("strace may not trace here")
    assert done.returncode == 0, done.stderr.decode()
    _Parser(trace).read(_joined(log.read_text(errors="replace").splitlines()))
    return trace


def _joined(lines: Sequence[str]) -> Iterator[str]:
    """The calls, in the order in which they ended; those that another thread interrupted in one piece."""
    begun: dict[str, str] = {}
    for line in lines:
        thread = line.split(" ", 1)[0]
        if line.endswith("<unfinished ...>"):
            begun[thread] = line.removesuffix("<unfinished ...>")
        elif " resumed>" in line and thread in begun:
            yield begun.pop(thread) + line.split(" resumed>", 1)[1]
        else:
            yield line


class _Parser:
    """Reads the calls of a trace. Mutable: handles and positions change from call to call."""

    def __init__(self, trace: DiskTrace) -> None:
        self.trace, self.root = trace, str(trace.folder)
        self.handles: dict[int, tuple[str, int]] = {}
        self.places: dict[int, int] = {}
        self.numbers: dict[str, int] = {}
        self.folders: set[str] = set()
        self.count = 0

    def read(self, lines: Iterator[str]) -> None:
        for line in lines:
            found = _LINE.match(line)
            if found is None or int(found[4]) < 0:
                continue
            name, arguments, result, told = found[2], _split(found[3]), int(found[4]), found[5]
            handler = getattr(self, f"_{name}", None)
            if handler is not None:
                handler(arguments, result, _text(told) if told else "")
            elif self.root in _text(found[3]) and name != "sync_file_range":
                # Nothing that changes the folder may be left out of account; ranges that are synced are not counted as durable.
                raise AssertionError(f"{name} is not modelled: {_text(found[3])}")

    def _add(self, kind: str, path: str = "", other: str = "", **more: object) -> None:
        inside = [each for each in (path, other) if each]
        if all(each == self.root or each.startswith(f"{self.root}/") for each in inside):
            names = {"path": path[len(self.root) + 1 :], "other": other[len(self.root) + 1 :]}
            self.trace.operations.append(Operation(kind, **names, **more))  # type: ignore[arg-type]

    def _path(self, text: str, at: str = "") -> str:
        path = _text(text.strip('"'))
        anchored = re.match(r"/proc/self/fd/(\d+)(.*)", path)
        if anchored:
            return os.path.normpath(self.handles.get(int(anchored[1]), ("/gone", -1))[0] + anchored[2])
        folder = _HANDLE.match(at)
        base = _text(folder[2]) if folder and folder[2] else _text(at.partition("<")[2].rstrip(">"))
        return os.path.normpath(os.path.join(base or "/", path))

    def _openat(self, given: list[str], handle: int, path: str) -> None:
        inside = path.startswith(f"{self.root}/")
        number = self.numbers.get(path, -1)
        is_folder = "O_DIRECTORY" in given[2] or path in self.folders or os.path.isdir(path)
        if inside and number < 0 and not is_folder:
            self.count += 1
            number = self.numbers[path] = self.count
            known = (self.trace.before / path[len(self.root) + 1 :]).exists()
            self._add("known" if known else "create", path, file=number)
        if inside and number >= 0 and "O_TRUNC" in given[2]:
            self._add("truncate", path, file=number, place=0)
        self.handles[handle], self.places[handle] = (path, number), 0

    def _close(self, given: list[str], result: int, _: str) -> None:
        found = _HANDLE.match(given[0])
        if found:
            self.handles.pop(int(found[1]), None)

    def _lseek(self, given: list[str], result: int, _: str) -> None:
        found = _HANDLE.match(given[0])
        if found:
            self.places[int(found[1])] = result

    def _write(self, given: list[str], result: int, _: str) -> None:
        handle = int(given[0].partition("<")[0])
        content = bytes.fromhex("".join(_HEX.findall(given[1])))[:result]
        if handle == 1:
            for words in content.split(b"\n"):
                if words.startswith(SAID):
                    self.trace.said[len(self.trace.operations)] = words[len(SAID) :].decode()
        self._wrote(handle, content, self.places.get(handle, 0))
        self.places[handle] = self.places.get(handle, 0) + result

    def _pwrite64(self, given: list[str], result: int, _: str) -> None:
        content = bytes.fromhex("".join(_HEX.findall(given[1])))[:result]
        self._wrote(int(given[0].partition("<")[0]), content, int(given[3]))

    def _copy_file_range(self, given: list[str], result: int, _: str) -> None:
        source, handle = self.handles.get(int(given[0].partition("<")[0])), int(given[2].partition("<")[0])
        if source is None or not result:
            return
        # Files that are copied are whole before and stay until the program ends, at the latest in their copy.
        final = self._final(self.handles[handle][1])
        place = self.places.get(handle, 0)
        self._wrote(handle, final.read_bytes()[place : place + result] if final else b"", place)
        self.places[handle] = place + result

    def _final(self, number: int) -> Path | None:
        """Where a file is when the program ends: its writes may be copies whose bytes the trace does not have."""
        path = next((path for path, each in self.numbers.items() if each == number), None)
        names = [] if path is None else [path, *self._later_names(path)]
        return next((Path(each) for each in names if Path(each).is_file()), None)

    def _later_names(self, path: str) -> list[str]:
        folder, name = os.path.dirname(path), os.path.basename(path)
        aside = re.sub(r"/\.([^/]+)\.partial-[a-z0-9_]{8}", r"/\1", folder)
        return [os.path.join(aside, name)]

    def _wrote(self, handle: int, content: bytes, place: int) -> None:
        path, number = self.handles.get(handle, ("", -1))
        if number >= 0 and content:
            self._add("write", path, file=number, place=place, content=content)

    def _ftruncate(self, given: list[str], result: int, _: str) -> None:
        path, number = self.handles.get(int(given[0].partition("<")[0]), ("", -1))
        if number >= 0:
            self._add("truncate", path, file=number, place=int(given[1]))

    def _fsync(self, given: list[str], result: int, _: str) -> None:
        path, number = self.handles.get(int(given[0].partition("<")[0]), ("", -1))
        if path:
            self._add("sync", path, file=number)

    _fdatasync = _fsync

    def _rename(self, given: list[str], result: int, _: str) -> None:
        self._moved(self._path(given[0]), self._path(given[1]))

    def _renameat(self, given: list[str], result: int, _: str) -> None:
        self._moved(self._path(given[1], given[0]), self._path(given[3], given[2]))

    _renameat2 = _renameat

    def _moved(self, old: str, new: str) -> None:
        self._add("rename", old, new)
        self.folders |= {new + path[len(old) :] for path in self.folders if path == old or path.startswith(f"{old}/")}
        for path in [each for each in self.numbers if each == old or each.startswith(f"{old}/")]:
            self.numbers[new + path[len(old) :]] = self.numbers.pop(path)

    def _mkdir(self, given: list[str], result: int, _: str) -> None:
        self.folders.add(self._path(given[0]))
        self._add("mkdir", self._path(given[0]))

    def _mkdirat(self, given: list[str], result: int, _: str) -> None:
        self.folders.add(self._path(given[1], given[0]))
        self._add("mkdir", self._path(given[1], given[0]))

    def _unlink(self, given: list[str], result: int, _: str) -> None:
        path = self._path(given[0])
        self.numbers.pop(path, None)
        self._add("unlink", path)

    def _unlinkat(self, given: list[str], result: int, _: str) -> None:
        path = self._path(given[1], given[0])
        self.numbers.pop(path, None)
        self._add("rmdir" if "AT_REMOVEDIR" in given[2] else "unlink", path)

    def _rmdir(self, given: list[str], result: int, _: str) -> None:
        self._add("rmdir", self._path(given[0]))


def _split(arguments: str) -> list[str]:
    """The arguments of a call; no text holds a comma, since all of its bytes are written as numbers."""
    return [each.strip() for each in arguments.split(",")]


def _text(escaped: str) -> str:
    return _HEX.sub(lambda found: chr(int(found[1], 16)), escaped)
