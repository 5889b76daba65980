"""The ledger's file: SQLite in WAL mode with full sync, every write one immediate transaction.

A write that returned is on the disk: ``kill -9``, a crash or a power cut later loses nothing and leaves no half entry. Processes
take turns; whoever waits longer than the timeout is told so. Every failure of the file is a :class:`LedgerError`.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from reticent.errors import LedgerError, PolicyError

_APPLICATION = 0x52455449
# Each layout is the one before it and one more list of statements; an older file gets what it lacks in one transaction.
_LAYOUTS = (
    """
CREATE TABLE datasets (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, made TEXT NOT NULL
) STRICT;
CREATE TABLE releases (
    id INTEGER PRIMARY KEY, dataset INTEGER NOT NULL REFERENCES datasets, number INTEGER NOT NULL,
    content TEXT NOT NULL, certificate TEXT NOT NULL, made TEXT NOT NULL,
    UNIQUE (dataset, number), UNIQUE (dataset, content)
) STRICT;
CREATE TABLE views (
    id INTEGER PRIMARY KEY, dataset INTEGER NOT NULL REFERENCES datasets, kind TEXT NOT NULL,
    content TEXT NOT NULL, details TEXT NOT NULL, made TEXT NOT NULL
) STRICT;
CREATE TABLE answers (
    id INTEGER PRIMARY KEY, dataset INTEGER NOT NULL REFERENCES datasets, kind TEXT NOT NULL,
    question TEXT NOT NULL, decision TEXT NOT NULL, answer TEXT, made TEXT NOT NULL
) STRICT;
CREATE TABLE budgets (
    id INTEGER PRIMARY KEY, dataset INTEGER NOT NULL REFERENCES datasets, scope TEXT NOT NULL, name TEXT NOT NULL,
    total TEXT NOT NULL, spent TEXT NOT NULL, made TEXT NOT NULL,
    UNIQUE (dataset, scope, name)
) STRICT;
CREATE TABLE spendings (
    id INTEGER PRIMARY KEY, budget INTEGER NOT NULL REFERENCES budgets, amount TEXT NOT NULL,
    purpose TEXT NOT NULL, made TEXT NOT NULL
) STRICT;
CREATE INDEX views_of_dataset ON views (dataset, kind);
CREATE INDEX answers_of_dataset ON answers (dataset, kind);
""",
    """
CREATE TABLE audit_variables (
    id INTEGER PRIMARY KEY, dataset INTEGER NOT NULL REFERENCES datasets, column TEXT NOT NULL,
    first INTEGER NOT NULL, secret TEXT NOT NULL, hashes BLOB NOT NULL, made TEXT NOT NULL,
    UNIQUE (dataset, column, first)
) STRICT;
CREATE TABLE audit_decisions (
    id INTEGER PRIMARY KEY, dataset INTEGER NOT NULL REFERENCES datasets, column TEXT NOT NULL, function TEXT NOT NULL,
    identity TEXT NOT NULL, size INTEGER NOT NULL, answered INTEGER NOT NULL, rule TEXT NOT NULL, reason TEXT NOT NULL,
    members BLOB, answer TEXT, made TEXT NOT NULL,
    UNIQUE (dataset, column, function, identity)
) STRICT;
CREATE TABLE audit_questions (
    id INTEGER PRIMARY KEY, dataset INTEGER NOT NULL REFERENCES datasets, asker TEXT NOT NULL, text TEXT NOT NULL,
    made TEXT NOT NULL
) STRICT;
CREATE TABLE audit_asked (
    question INTEGER NOT NULL REFERENCES audit_questions, decision INTEGER NOT NULL REFERENCES audit_decisions,
    PRIMARY KEY (question, decision)
) STRICT, WITHOUT ROWID;
CREATE TABLE audit_tokens (
    id INTEGER PRIMARY KEY, dataset INTEGER NOT NULL REFERENCES datasets, asker TEXT NOT NULL, name TEXT NOT NULL UNIQUE,
    digest BLOB NOT NULL, made TEXT NOT NULL, revoked TEXT
) STRICT;
CREATE INDEX audit_questions_of_asker ON audit_questions (dataset, asker);
""",
)
_VERSION = len(_LAYOUTS)
TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


class Store:
    """An open ledger file. Mutable because it stands for a file; one thread uses it at a time."""

    def __init__(self, path: Path, timeout: float = 30.0) -> None:
        self.path, self.timeout = path, timeout
        with self._explained():
            create_privately(path)
            self._connection = sqlite3.connect(path, timeout=timeout, isolation_level=None)
            try:
                self._patiently(self._set_up)
            except BaseException:
                self._connection.close()
                raise

    def close(self) -> None:
        """Let go of the file."""
        with self._explained():
            self._connection.close()

    @contextmanager
    def writing(self, *, durable: bool = True) -> Iterator[sqlite3.Connection]:
        """One transaction that nobody else writes during: all of it is on the disk when the block ends, or none.

        Without ``durable`` it survives ``kill -9`` all the same, but a power cut may lose it; for what can be worked out again.
        """
        with self._explained(), self._synced(durable):
            self._patiently(lambda: self._connection.execute("BEGIN IMMEDIATE"))
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                # A failed commit may have rolled back by itself already.
                with suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _synced(self, durable: bool) -> Iterator[None]:
        if durable:
            yield
            return
        self._connection.execute("PRAGMA synchronous = NORMAL")
        try:
            yield
        finally:
            self._connection.execute("PRAGMA synchronous = FULL")

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """The entries as they stand."""
        with self._explained():
            yield self._connection

    def check(self, connection: sqlite3.Connection) -> None:
        """Refuse a damaged file rather than trust what can still be read of it.

        Names and hashes stand in the tables and in their indexes, so a changed one is found by comparing the two.
        """
        found = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
        if found != "ok":
            raise sqlite3.DatabaseError(found)

    def dataset(self, connection: sqlite3.Connection, name: str) -> int:
        """The number of a data set, made known if it was not; only inside :meth:`writing`."""
        if not isinstance(name, str) or not name.strip():
            raise PolicyError(f"The data set's name must be text that says something, but it is {name!r}.")
        connection.execute("INSERT OR IGNORE INTO datasets (name, made) VALUES (?, ?)", (name, now()))
        return int(connection.execute("SELECT id FROM datasets WHERE name = ?", (name,)).fetchone()[0])

    def _set_up(self) -> None:
        connection = self._connection
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        if self._layout() == _VERSION:
            return
        connection.execute("BEGIN IMMEDIATE")
        try:
            for layout in _LAYOUTS[self._layout() :]:
                for statement in layout.split(";"):
                    connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.execute(f"PRAGMA user_version = {_VERSION}")
            connection.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            raise

    def _patiently(self, step: Callable[[], object]) -> None:
        """Take a step again while the file is locked.

        SQLite waits for writers by itself, but not while a file changes its mode, is recovered after a crash, or is
        tidied up by the last process that closes it.
        """
        end = time.monotonic() + self.timeout
        while True:
            try:
                step()
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > end:
                    raise
                time.sleep(0.01)

    def _layout(self) -> int:
        """Which layout the ledger has; 0 for a new file, and an error for anything but a ledger that this version reads."""
        # One statement, one moment: another process may be setting the file up.
        application, version, tables = self._connection.execute(
            "SELECT (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM pragma_user_version), "
            "(SELECT count(*) FROM sqlite_master)"
        ).fetchone()
        if application == 0 and version == 0 and tables == 0:
            return 0
        if application != _APPLICATION:
            raise LedgerError(
                f"{str(self.path)!r} is a database of something else, not a ledger. Nothing was changed in it and nothing was published. "
                "Name another file with ledger= or RETICENT_LEDGER."
            )
        if not 1 <= version <= _VERSION:
            raise LedgerError(
                f"The ledger {str(self.path)!r} was written by another version of Reticent (its layout is {version}, this one reads "
                f"up to {_VERSION}). Nothing was published. Use the version that wrote it, or a newer one."
            )
        return int(version)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise LedgerError(_explain(self.path, error, self.timeout)) from error
        except OSError as error:
            if error.filename is None or Path(os.fsdecode(error.filename)) not in (self.path, *self.path.parents):
                raise
            raise LedgerError(
                f"The ledger {str(self.path)!r} cannot be opened: {error.strerror}. Nothing was published. "
                "Name a file that can be written with ledger= or RETICENT_LEDGER."
            ) from error


def now() -> str:
    """The time in UTC to the second, as entries and certificates write it."""
    return datetime.now(UTC).strftime(TIME_FORMAT)


def create_privately(path: Path) -> None:
    """Make the file, if there is none, readable by its owner only; SQLite gives its side files the same mode."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))


def _explain(path: Path, error: sqlite3.Error, timeout: float) -> str:
    reason = " ".join(str(error).split())
    if "locked" in reason or "busy" in reason:
        what = f"is in use by another process and did not become free within {timeout:g} seconds. Try again"
    elif "not a database" in reason:
        what = "is not a ledger: the file holds something else, or is damaged. Restore it from a backup, or name another file with ledger="
    elif "full" in reason:
        what = "could not be written: the disk is full. Make room and try again"
    elif "readonly" in reason or "unable to open" in reason:
        what = f"cannot be written ({reason}). Check the permissions of the file and its folder, or name another with ledger="
    elif "malformed" in reason or isinstance(error, sqlite3.IntegrityError) or type(error) is sqlite3.DatabaseError:
        what = (
            f"is damaged ({reason}). Restore it from a backup: what it remembered is needed to judge the next release"
        )
    else:
        what = f"could not be written or read ({reason}). Check the disk it is on"
    return f"The ledger {str(path)!r} {what}. Nothing was published."
