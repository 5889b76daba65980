"""Where the ledger is: what the caller says, what the environment says, or a folder of the user's own."""

from __future__ import annotations

import os
import sys
from pathlib import Path

VARIABLE = "RETICENT_LEDGER"


def ledger_path(given: str | Path | None = None) -> Path:
    """The ledger's file: ``given``, else the variable RETICENT_LEDGER, else the user's data folder."""
    if given is not None:
        return Path(given).expanduser()
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named).expanduser()
    return _data_folder() / "reticent" / "ledger.sqlite"


def _data_folder() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
