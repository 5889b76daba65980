"""What really runs: the functions of Reticent in the order in which a call first reaches them."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import reticent

SOURCE = Path(reticent.__file__).parent


def first_calls(run: Callable[[], Any]) -> list[tuple[str, str]]:
    """(file, function) of everything in ``src/reticent`` that ``run`` calls, in any thread, each where it is called first."""
    found: dict[tuple[str, str], None] = {}
    root = f"{SOURCE}/"

    def profile(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(root):
            found.setdefault((code.co_filename[len(root) :], code.co_qualname))

    before = sys.getprofile()
    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        run()
    finally:
        sys.setprofile(before)
        threading.setprofile(None)
    return list(found)
