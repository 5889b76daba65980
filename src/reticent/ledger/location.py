"""The path of the ledger: given by the caller, by the environment, or in the user's data folder."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from reticent.base.files import check_own
from reticent.errors import LedgerError

VARIABLE, SECOND, SHARED = "RETICENT_LEDGER", "RETICENT_LEDGER_NEWEST", "RETICENT_LEDGER_SHARED"
_SQLITE = ("-wal", "-shm", "-journal")


@dataclass(frozen=True)
class LedgerLocation:
    """The ledger's files: the entries, the key, and the newest position, which may be stored at a second path as well."""

    path: Path
    second: Path | None = None

    @classmethod
    def of(cls, path: str | Path | None = None, second: str | Path | None = None) -> LedgerLocation:
        """The given path, otherwise that of the environment, otherwise the user's own; links are resolved, so one file has one path."""
        named = second if second is not None else os.environ.get(SECOND)
        return cls(_resolved(ledger_path(path)), _resolved(Path(named).expanduser()) if named else None)

    @cached_property
    def key(self) -> Path:
        """The key file."""
        return self.path.with_name(f"{self.path.name}-key")

    @cached_property
    def newest(self) -> tuple[Path, ...]:
        """The files that hold the newest position."""
        beside = self.path.with_name(f"{self.path.name}-newest")
        return (beside,) if self.second is None else (beside, self.second)


def check_trusted(database: Path, *others: Path) -> None:
    """Raise for a ledger file that another user may have planted or can change: the database with SQLite's side files, and others."""
    shared = bool(os.environ.get(SHARED))
    for file in (database, *(Path(f"{database}{suffix}") for suffix in _SQLITE), *others):
        problem = check_own(file, shared=shared)
        if problem is not None:
            raise LedgerError(
                f"The ledger's file {str(file)!r} is not used: {problem}. Nothing was published. If others are meant to have it, "
                f"set {SHARED}=1; otherwise name a ledger of your own with ledger= or {VARIABLE}."
            )


def ledger_path(path: str | Path | None = None) -> Path:
    """The ledger's file: ``path``, else the variable RETICENT_LEDGER, else the user's data folder."""
    if path is not None:
        return Path(path).expanduser()
    configured = os.environ.get(VARIABLE)
    if configured:
        return Path(configured).expanduser()
    return _data_folder() / "reticent" / "ledger.sqlite"


def _resolved(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _data_folder() -> Path:
    """Return the folder for application data of the user, by operating system."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
