"""Reading in a process of its own whose memory and work are limited, for files whose size nothing declares.

Old workbooks (.xls) and long texts of Stata are opened by libraries that take what a file asks for, and end the process where it is not there. So another process opens
them: what it may not take, it does not get, and whatever becomes of it, this one goes on. Where the system has no such limit (macOS, Windows) the other process is all there is.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from reticent.base.expansion import WAY_OUT, most_expanded
from reticent.errors import DataError, ReticentError

_R = TypeVar("_R")
_ALWAYS = 1 << 28
# The bytes of a value as a library holds it, beside those of the value: the same once more in the frame, and again on its way here.
_COPIES = 3
_SECONDS, _BYTES_A_SECOND = 60, 100_000


def confined(read: Callable[..., _R], *arguments: Any, packed: int, file: str) -> _R:
    """What ``read(*arguments)`` returns, computed within the memory that a file of ``packed`` bytes may take; a :class:`DataError` where it would take more."""
    most = max(_ALWAYS, most_expanded(packed))
    asked = pickle.dumps((read, arguments, _COPIES * most, _SECONDS + packed // _BYTES_A_SECOND))
    done = subprocess.run(
        [sys.executable, "-P", "-c", f"from {__name__} import _answer; _answer()"],
        input=asked,
        capture_output=True,
        env={**os.environ, "POLARS_MAX_THREADS": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        check=False,
    )
    if done.returncode:
        told = done.stderr.decode(errors="replace").strip().splitlines() or [f"it ended with {done.returncode}"]
        reason = next((line for line in told if "memory" in line), told[-1])[:200]
        raise DataError(
            f"{file} has {packed:,} bytes and cannot be read within {_COPIES * most:,} bytes of memory: its reader gave up ({reason}). {WAY_OUT}."
        )
    found = pickle.loads(done.stdout)
    if isinstance(found, ReticentError):
        raise found
    answer: _R = found
    return answer


def _answer() -> None:
    """The other process: read what standard input asks for, and write it to standard output."""
    read, arguments, room, seconds = pickle.load(sys.stdin.buffer)
    _limit(room, seconds)
    try:
        found = read(*arguments)
    except ReticentError as error:
        found = error
    pickle.dump(found, sys.stdout.buffer)


def _limit(room: int, seconds: int) -> None:
    held = Path("/proc/self/statm")
    if held.exists():
        import resource

        most = int(held.read_text("ascii").split()[0]) * resource.getpagesize() + room
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
