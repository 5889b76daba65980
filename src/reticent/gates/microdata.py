"""Find files that should not be in a repository: person records that are not part of a release, private folders,
ledgers, signing keys.

Findings name files and columns, never a value.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from reticent.base.documents import LARGEST, parse_json, read_document
from reticent.base.files import read_blocks
from reticent.errors import PolicyError, ReticentError
from reticent.io import Source
from reticent.propose import propose

_TEXT = (".csv", ".tsv", ".tab", ".psv", ".txt")
_TABLES = (".parquet", ".feather", ".arrow", ".xlsx", ".xls", ".ods", ".sav", ".dta", ".sas7bdat", ".xpt")
_LOOKED_AT = 1 << 19
_MOST_ROWS = 2_000
_LARGEST_SHEET = 1 << 24
_FEWEST_KNOWN = 2
_DEMOGRAPHIC = 1
_UNIQUE = 0.05
_PRIVATE_KEY = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----")
_SQLITE = b"SQLite format 3\x00"


@dataclass(frozen=True)
class RepositoryFinding:
    """A file that should not be committed, and the reason."""

    path: str
    reason: str

    def as_dict(self) -> dict[str, Any]:
        """Return the finding as plain data."""
        return {"path": self.path, "reason": self.reason}


def scan(paths: Iterable[str | Path]) -> list[RepositoryFinding]:
    """Return the files among ``paths`` that should not be committed, in order. Folders are searched; only the beginning of a large file is read."""
    findings = []
    for path in _files(paths):
        reason = _reason(path)
        if reason is not None:
            findings.append(RepositoryFinding(str(path), reason))
    return findings


def _files(paths: Iterable[str | Path]) -> Iterable[Path]:
    """Yield the ordinary files among ``paths`` and in folders, without those of git. Raises for a path that does not exist."""
    for location in map(Path, paths):
        if location.is_dir():
            yield from sorted(path for path in location.rglob("*") if path.is_file() and ".git" not in path.parts)
        elif location.is_file():
            yield location
        elif not location.is_symlink():
            raise PolicyError(f"There is no file {str(location)!r}. Pass the files or folders to search.")


def _reason(path: Path) -> str | None:
    """Return why a file should not be committed: what it is and what it would reveal; None if there is no reason."""
    if not path.stat().st_size:
        return None
    with path.open("rb") as file:
        head = file.read(4096)
    if path.suffix == ".key" and _PRIVATE_KEY.search(head):
        return "a private key: its holder can sign certificates in the publisher's name"
    if head.startswith(_SQLITE) and b"entries" in head and path.with_name(f"{path.name}-key").exists():
        return "a ledger: it contains keyed hashes of people"
    if path.parent.name == "private" and (path.parent.parent / "public" / "certificate.json").exists():
        return "the private side of a release: it links people to groups"
    suffix = path.suffix.lower()
    if suffix not in (*_TEXT, *_TABLES) or _is_released(path):
        return None
    try:
        rows = _beginning(path, suffix)
        return None if rows is None else _microdata(rows)
    except (ReticentError, OSError, pl.exceptions.PolarsError, ValueError):
        return None  # a file that is not a table has no person records


def _is_released(path: Path) -> bool:
    """True if the file belongs to a release: the certificate next to it has its hash."""
    certificate = path.with_name("certificate.json")
    if not certificate.is_file():
        return False
    try:
        stated = parse_json(read_document(certificate, LARGEST).decode())["files"][path.name]["sha256"]
    except (ValueError, KeyError, TypeError, ReticentError):
        return False
    digest = hashlib.sha256()
    for block in read_blocks(path):
        digest.update(block)
    return bool(stated == digest.hexdigest())


def _beginning(path: Path, suffix: str) -> pl.DataFrame | None:
    """Return the first rows; None if the file is too large to read quickly."""
    if suffix == ".parquet":
        return pl.read_parquet(path, n_rows=_MOST_ROWS)
    if suffix in _TABLES:
        return Source(str(path)).read().head(_MOST_ROWS) if path.stat().st_size <= _LARGEST_SHEET else None
    with path.open("rb") as file:
        head = file.read(_LOOKED_AT)
    if len(head) == _LOOKED_AT:
        head = head[: head.rfind(b"\n") + 1]
    with tempfile.TemporaryDirectory() as folder:
        part = Path(folder) / path.with_suffix(suffix if suffix != ".txt" else ".csv").name
        part.write_bytes(head)
        return Source(str(part)).read().head(_MOST_ROWS)


def _microdata(rows: pl.DataFrame) -> str | None:
    """Return why rows look like person records: an identifying column, or several known columns in which records are unique."""
    columns = propose(rows).columns
    identifying = [column.name for column in columns if column.role == "identifier" and column.safe_harbor is not None]
    if identifying:
        return f"records of people: {_listed(identifying)} identifies them"
    published = [column for column in columns if column.role in ("quasi", "sensitive")]
    demographic = [column.name for column in published if column.knowable <= _DEMOGRAPHIC]
    if len(demographic) < _FEWEST_KNOWN or all(column.knowable for column in published):
        return None
    unique = int(rows.select(demographic).is_unique().sum())
    if unique < _UNIQUE * rows.height:
        return None
    return f"records of people: {unique:,} of the first {rows.height:,} are unique by {_listed(demographic)}"


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names))
