"""Views that were given out, and answers to questions: kept in the order in which they were given."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reticent.errors import LedgerError
from reticent.exact import whole
from reticent.ledger.store import Store, now


@dataclass(frozen=True)
class View:
    """Something that was shown of a data set: what kind, the hash of what left, and its public parameters."""

    kind: str
    content: str
    details: Mapping[str, Any]
    made: str


@dataclass(frozen=True)
class Answer:
    """A question about a data set, what was decided, and what was answered (None where nothing was)."""

    kind: str
    question: str
    decision: str
    answer: str | None
    made: str


class Views:
    """The views given out of every data set."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def record(
        self, dataset: str, kind: str, content: str, details: Mapping[str, Any], *, at_most: int | None = None
    ) -> int:
        """Write a view down before it leaves, and say how many of its kind there are now.

        ``at_most`` is how many the data set's plan allows in all; one more is refused.
        """
        with self._store.writing() as connection:
            owner = self._store.dataset(connection, dataset)
            query = "SELECT count(*) FROM views WHERE dataset = ? AND kind = ?"
            number = int(connection.execute(query, (owner, kind)).fetchone()[0]) + 1
            if at_most is not None and number > whole(at_most, "at_most", low=0):
                raise LedgerError(
                    f"The data set {dataset!r} has given out {number - 1} views of kind {kind!r}, and {at_most} were planned. "
                    "Nothing was published. Plan for more views from the start; the plan cannot be changed afterwards."
                )
            connection.execute(
                "INSERT INTO views (dataset, kind, content, details, made) VALUES (?, ?, ?, ?, ?)",
                (owner, kind, content, json.dumps(details, sort_keys=True), now()),
            )
            return number

    def of(self, dataset: str, kind: str) -> list[View]:
        """The views of one kind, first to last."""
        with self._store.reading() as connection:
            rows = connection.execute(
                "SELECT kind, content, details, views.made FROM views JOIN datasets ON datasets.id = views.dataset "
                "WHERE name = ? AND kind = ? ORDER BY views.id",
                (dataset, kind),
            )
            return [View(kind, content, json.loads(details), made) for kind, content, details, made in rows]


class Answers:
    """The questions that were asked about every data set, and what became of them."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def record(self, dataset: str, kind: str, question: str, decision: str, answer: str | None = None) -> int:
        """Write a decision, and the answer if there is one, before it leaves; returns the entry's number."""
        with self._store.writing() as connection:
            owner = self._store.dataset(connection, dataset)
            cursor = connection.execute(
                "INSERT INTO answers (dataset, kind, question, decision, answer, made) VALUES (?, ?, ?, ?, ?, ?)",
                (owner, kind, question, decision, answer, now()),
            )
            assert cursor.lastrowid is not None
            return cursor.lastrowid

    def of(self, dataset: str, kind: str) -> list[Answer]:
        """The questions of one kind, first to last."""
        with self._store.reading() as connection:
            rows = connection.execute(
                "SELECT kind, question, decision, answer, answers.made FROM answers "
                "JOIN datasets ON datasets.id = answers.dataset WHERE name = ? AND kind = ? ORDER BY answers.id",
                (dataset, kind),
            )
            return [Answer(*row) for row in rows]
