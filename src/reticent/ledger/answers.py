"""Answers: questions about a data set that rules decide (access to views), and the rules themselves, in the order in which they were made."""

from __future__ import annotations

from dataclasses import dataclass

from reticent.base.disclosures import PriorCheck
from reticent.ledger.entries import Entries
from reticent.ledger.store import Store, now

GRANT = "grant"


@dataclass(frozen=True)
class AnsweredQuestion:
    """A question about a data set, what was decided, and what was answered (None where nothing was)."""

    kind: str
    question: str
    decision: str
    answer: str | None
    made: str


class Answers:
    """The questions that were asked about every data set, and what became of them."""

    def __init__(self, store: Store, entries: Entries) -> None:
        self._store, self._entries = store, entries

    def record(
        self,
        dataset: str,
        kind: str,
        question: str,
        decision: str,
        answer: str | None = None,
        *,
        grants: PriorCheck | None = None,
    ) -> int:
        """Write a decision, and the answer if there is one, before it leaves; returns the entry's number.

        ``grants`` is given where the decision lets somebody see something: it is judged beside what else was given out, and is an entry from the first on.
        """
        with self._store.writing() as writing:
            if grants is not None:
                self._entries.join(writing, dataset, GRANT, grants)
            row = writing.add(
                "answers", writing.dataset(dataset), kind=kind, question=question, decision=decision, answer=answer, made=now()
            )  # fmt: skip
            return int(row["id"])

    def of(self, dataset: str, kind: str) -> list[AnsweredQuestion]:
        """The questions of one kind, first to last."""
        with self._store.reading() as reading:
            number = reading.known(dataset)
            rows = reading.rows("answers", number) if number is not None else []
        return [
            AnsweredQuestion(kind, row["question"], row["decision"], row["answer"], row["made"])
            for row in rows
            if row["kind"] == kind
        ]
