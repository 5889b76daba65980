"""Decisions of rules on requests about a data set (access to views), and the rules themselves, in order."""

from __future__ import annotations

from dataclasses import dataclass

from reticent.base.disclosures import PriorCheck
from reticent.ledger.entries import Entries
from reticent.ledger.store import Store, now

GRANT = "grant"


@dataclass(frozen=True)
class AnsweredQuestion:
    """A request about a data set, the decision, and the answer (None if there was none)."""

    kind: str
    question: str
    decision: str
    answer: str | None
    made: str


class Answers:
    """The requests about every data set, with their decisions."""

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
        """Write a decision, and the answer if any, before it is returned; returns the entry's number.

        ``grants`` is given if the decision grants access: it is judged together with prior disclosures, and becomes an
        entry on first use.
        """
        with self._store.writing() as writing:
            if grants is not None:
                self._entries.join(writing, dataset, GRANT, grants)
            row = writing.add(
                "answers", writing.dataset(dataset), kind=kind, question=question, decision=decision, answer=answer, made=now()
            )  # fmt: skip
            return int(row["id"])

    def of(self, dataset: str, kind: str) -> list[AnsweredQuestion]:
        """The requests of one kind, first to last."""
        with self._store.reading() as reading:
            number = reading.known(dataset)
            rows = reading.rows("answers", number) if number is not None else []
        return [
            AnsweredQuestion(kind, row["question"], decision=row["decision"], answer=row["answer"], made=row["made"])
            for row in rows
            if row["kind"] == kind
        ]
