"""Where the ledger is: what the caller says, what the environment says, or a folder of the user's own."""

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
    """The ledger's files: the entries, the key, and the newest position, which may be kept in a second place as well."""

    path: Path
    second: Path | None = None

    @classmethod
    def of(cls, path: str | Path | None = None, second: str | Path | None = None) -> LedgerLocation:
        """The place that was named, else that of the environment, else the user's own; links are resolved, so that one file has one place."""
        named = second if second is not None else os.environ.get(SECOND)
        return cls(_resolved(ledger_path(path)), _resolved(Path(named).expanduser()) if named else None)

    @cached_property
    def key(self) -> Path:
        """The key's file."""
        return self.path.with_name(f"{self.path.name}-key")

    @cached_property
    def newest(self) -> tuple[Path, ...]:
        """The files that hold the newest position."""
        beside = self.path.with_name(f"{self.path.name}-newest")
        return (beside,) if self.second is None else (beside, self.second)


def check_trusted(database: Path, *others: Path) -> None:
    """Refuse a file of the ledger that somebody else may have planted or can change: a database with what SQLite keeps beside it, and others."""
    shared = bool(os.environ.get(SHARED))
    for each in (database, *(Path(f"{database}{suffix}") for suffix in _SQLITE), *others):
        wrong = check_own(each, shared=shared)
        if wrong is not None:
            raise LedgerError(
                f"The ledger's file {str(each)!r} is not used: {wrong}. Nothing was published. If others are meant to have it, "
                f"set {SHARED}=1; otherwise name a ledger of your own with ledger= or {VARIABLE}."
            )


def ledger_path(given: str | Path | None = None) -> Path:
    """The ledger's file: ``given``, else the variable RETICENT_LEDGER, else the user's data folder."""
    if given is not None:
        return Path(given).expanduser()
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named).expanduser()
    return _data_folder() / "reticent" / "ledger.sqlite"


def _resolved(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _data_folder() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
