"""Releases: one for each data set, unless another is allowed explicitly (spec 000b A11.10).

Two releases that are each safe can be unsafe together, so the second is refused; the same content once more is no second
release, since it tells nobody anything new.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

from reticent.errors import LedgerError
from reticent.ledger.store import Store, now


@dataclass(frozen=True)
class ReleaseEntry:
    """A release as the ledger remembers it: its number in the data set, what went out, and when."""

    dataset: str
    number: int
    content: str
    certificate: str
    made: str


class Releases:
    """The releases of every data set."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def record(
        self, dataset: str, content: str, certify: Callable[[int, str], str], *, again: bool = False
    ) -> ReleaseEntry:
        """Write a release down, before it leaves.

        ``content`` is the hash of everything that it tells about the data. ``certify(number, made)`` makes the certificate
        once the number is known and returns its hash; if it fails, nothing is recorded. Content that went out before
        keeps its number and time. Other content of a data set that has a release is refused unless ``again``.
        """
        with self._store.writing() as connection:
            self._store.check(connection)
            owner = self._store.dataset(connection, dataset)
            earlier = _entries(connection, dataset, owner)
            same = next((entry for entry in earlier if entry.content == content), None)
            if same is not None:
                return ReleaseEntry(dataset, same.number, content, certify(same.number, same.made), same.made)
            if earlier and not again:
                raise LedgerError(_refusal(earlier, self._store))
            number, made = len(earlier) + 1, now()
            entry = ReleaseEntry(dataset, number, content, certify(number, made), made)
            connection.execute(
                "INSERT INTO releases (dataset, number, content, certificate, made) VALUES (?, ?, ?, ?, ?)",
                (owner, number, content, entry.certificate, made),
            )
            return entry

    def of(self, dataset: str) -> list[ReleaseEntry]:
        """The releases of a data set, first to last."""
        with self._store.reading() as connection:
            found = connection.execute("SELECT id FROM datasets WHERE name = ?", (dataset,)).fetchone()
            return _entries(connection, dataset, found[0]) if found else []


def _entries(connection: sqlite3.Connection, dataset: str, owner: int) -> list[ReleaseEntry]:
    rows = connection.execute(
        "SELECT number, content, certificate, made FROM releases WHERE dataset = ? ORDER BY number", (owner,)
    )
    return [ReleaseEntry(dataset, *row) for row in rows]


def _refusal(earlier: list[ReleaseEntry], store: Store) -> str:
    last = earlier[-1]
    return (
        f"The data set {last.dataset!r} was released already: release {last.number}, {last.made}, content {last.content[:12]} "
        f"(ledger {str(store.path)!r}). Two releases that are each safe can give people away together, so this one was refused and nothing "
        "was published. Publish the earlier content unchanged, or allow another release with again=True (--again): its certificate "
        "will say that the releases together were not judged."
    )
