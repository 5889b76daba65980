"""Turns: processes on one machine decide about a data set one at a time; a killed process releases its turn.

A turn is longer than a transaction of the ledger: it covers decision, durable entry, computation and answer. It is an
exclusive lock on a small SQLite file next to the ledger, which the operating system releases when a process dies.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from reticent.errors import LedgerError
from reticent.ledger.location import check_trusted
from reticent.ledger.store import create_privately, key_of


class DatasetLock:
    """The turns of one data set. Mutable: it is a file handle; use it from one thread at a time."""

    def __init__(self, ledger: Path, dataset: str, timeout: float = 30.0) -> None:
        """Open the lock file of a data set, next to the ledger; ``timeout`` is how many seconds to wait for the turn."""
        name = hashlib.sha256(key_of(dataset).encode()).hexdigest()[:16]
        self.path = ledger.with_name(f"{ledger.name}-turn-{name}")
        self.timeout = timeout
        check_trusted(self.path)
        create_privately(self.path)
        self._connection = sqlite3.connect(self.path, timeout=timeout, isolation_level=None)

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Wait for the turn, and hold it while the block runs."""
        try:
            self._connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as error:
            raise LedgerError(
                f"Another process has been deciding for more than {self.timeout:g} seconds, or {str(self.path)!r} cannot be used "
                f"({error}). Nothing was answered. Try again."
            ) from None
        try:
            yield
        finally:
            self._connection.execute("ROLLBACK")

    def close(self) -> None:
        """Close the file."""
        self._connection.close()
