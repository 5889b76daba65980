"""Reading in a subprocess with limited memory and work, for files that do not declare their size.

Old workbooks (.xls) and long texts of Stata are opened by libraries that allocate whatever a file requests, and crash
if it is not available. So a subprocess opens them: it cannot allocate more than its limit, and its crash does not
affect this process. Without such limits (macOS, Windows) the subprocess is the only protection.
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
# A library's overhead per value, in bytes, in addition to the value: a copy in the frame, and another in transfer.
_COPIES = 3
_SECONDS, _BYTES_A_SECOND = 60, 100_000


def confined(read: Callable[..., _R], *arguments: Any, packed: int, file: str) -> _R:
    """The result of ``read(*arguments)``, computed within the memory allowed for a file of ``packed`` bytes. Raises
    :class:`DataError` if it needs more.
    """
    memory_limit = max(_ALWAYS, most_expanded(packed))
    pickled_call = pickle.dumps((read, arguments, _COPIES * memory_limit, _SECONDS + packed // _BYTES_A_SECOND))
    process = subprocess.run(
        [sys.executable, "-P", "-c", f"from {__name__} import _answer; _answer()"],
        input=pickled_call,
        capture_output=True,
        env={**os.environ, "POLARS_MAX_THREADS": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        check=False,
    )
    if process.returncode:
        messages = process.stderr.decode(errors="replace").strip().splitlines() or [
            f"it ended with {process.returncode}"
        ]
        reason = next((line for line in messages if "memory" in line), messages[-1])[:200]
        raise DataError(
            f"{file} has {packed:,} bytes and cannot be read within {_COPIES * memory_limit:,} bytes of memory: reading failed ({reason}). {WAY_OUT}."
        )
    result = pickle.loads(process.stdout)
    if isinstance(result, ReticentError):
        raise result
    answer: _R = result
    return answer


def _answer() -> None:
    """The subprocess: read the request from standard input, and write the result to standard output."""
    read, arguments, room, seconds = pickle.load(sys.stdin.buffer)
    _limit(room, seconds)
    try:
        result = read(*arguments)
    except ReticentError as error:
        result = error
    pickle.dump(result, sys.stdout.buffer)


def _limit(room: int, seconds: int) -> None:
    """Limit this process to ``room`` bytes of memory beyond what it uses now (on Linux), and to ``seconds`` of processor time."""
    memory_sizes = Path("/proc/self/statm")
    if memory_sizes.exists():
        import resource

        allowed = int(memory_sizes.read_text("ascii").split()[0]) * resource.getpagesize() + room
        resource.setrlimit(resource.RLIMIT_AS, (allowed, allowed))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
