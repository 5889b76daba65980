"""The durable state of audited SQL: variables, decisions, users, and tokens.

A decision is on disk before anything is computed, and an answer is written before it is returned. So a decision to
answer without an answer was never delivered: after a crash the answer is recomputed.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, get_args

from reticent.base.disclosures import PriorCheck, Spending, alone
from reticent.base.exact import Number, exact
from reticent.base.privacy_cost import DeclaredBudget, LossBound, PrivacyCost
from reticent.errors import LedgerError
from reticent.ledger.entries import Entries
from reticent.ledger.store import ReadTransaction, Row, Store, now

HASH_BYTES = 16
NoisyKind = Literal["noisy sum", "noisy variance", "noisy quantiles", "noisy frequencies"]
NOISY_KINDS: tuple[NoisyKind, ...] = get_args(NoisyKind)
NOISY_SUM: NoisyKind = "noisy sum"
ANSWERS = "answers"


@dataclass(frozen=True)
class NoisyNumbers:
    """The noisy ``numbers`` of one query, published instead of exact ones: the ``scales`` of their noise, the range to
    which values were clamped, and the ``unit`` that they are multiples of.
    """

    numbers: tuple[Fraction, ...]
    scales: tuple[Fraction, ...]
    low: Fraction
    high: Fraction
    unit: Fraction

    def as_text(self) -> str:
        """The numbers as they are stored."""
        return json.dumps(
            {
                "numbers": [str(number) for number in self.numbers],
                "scales": [str(scale) for scale in self.scales],
                "range": [str(self.low), str(self.high)],
                "unit": str(self.unit),
            }
        )

    @classmethod
    def from_text(cls, text: str) -> NoisyNumbers:
        """The numbers that :meth:`as_text` wrote."""
        written = json.loads(text)
        low, high = map(Fraction, written["range"])
        numbers, scales = (tuple(map(Fraction, written[name])) for name in ("numbers", "scales"))
        return cls(numbers, scales, low, high, unit=Fraction(written["unit"]))


@dataclass(frozen=True)
class AuditVerdict:
    """A decision to be written: its query and column, and the verdict.

    ``identity`` represents the row set; ``members`` are its variables as packed by the service, stored if the query is
    answered. ``cost`` is what the answer takes from the column's noise budget, None for an exact answer.
    """

    column: str
    function: str
    identity: str
    size: int
    answered: bool
    rule: str
    reason: str
    members: bytes | None = None
    cost: Number | None = None


@dataclass(frozen=True)
class AuditEntry:
    """A recorded decision. ``answer`` is None while it is unknown, and for denied queries.

    Noisy answers are ``measured``: a noisy sum has its one number as the answer too, other statistics follow from their
    numbers. A noisy sum of an early version has the answer alone.
    """

    number: int
    column: str
    function: str
    identity: str
    size: int
    answered: bool
    rule: str
    reason: str
    answer: Fraction | None
    made: str
    members: bytes | None = None
    measured: NoisyNumbers | None = None

    @property
    def is_noisy(self) -> bool:
        """True if the answer has noise charged to a budget, so auditors do not count it."""
        return self.function in NOISY_KINDS

    @property
    def is_computed(self) -> bool:
        """True if the answer is known."""
        return self.answer is not None or self.measured is not None


@dataclass(frozen=True)
class Question:
    """A statement as submitted by a user, and the numbers of its decisions."""

    number: int
    asker: str
    text: str
    made: str
    decisions: tuple[int, ...]


@dataclass(frozen=True)
class Token:
    """A stored token: its public name and the digest of its secret, never the secret."""

    asker: str
    name: str
    digest: bytes
    made: str
    revoked: str | None


class Audits:
    """The audited answers of every data set. Decisions are append-only; an answer is filled in once."""

    def __init__(self, store: Store, entries: Entries) -> None:
        """Open the audit trail of a store; its indexes are built on first use."""
        self._store, self._entries = store, entries
        self._places: dict[int, dict[tuple[str, str, str], int]] = {}
        self._led: dict[int | None, list[int]] = {}
        self._looked_through = 0

    def hashes(self, dataset: str, column: str, secret: str) -> bytes:
        """Return the registered hashes of a column's variables (a person's value each), in the order of their numbers,
        16 bytes each.

        ``secret`` is the fingerprint of the key they were made with. Raises for another one: every value would look
        new, and the same people could be queried twice.
        """
        with self._store.reading() as reading:
            rows = self._variables(reading, dataset, column)
        if any(row["secret"] != secret for row in rows):
            raise LedgerError(
                f"The values of column {column!r} of data set {dataset!r} were registered with another key (or by an early version that did "
                "not tell people from values). Restore the key file next to the ledger: with a new one every value would look new, and what was answered already would not count."
            )
        return b"".join(row["hashes"] for row in rows)

    def register(self, dataset: str, column: str, secret: str, first: int, hashes: bytes) -> None:
        """Append variables from number ``first`` on."""
        with self._store.writing() as writing:
            registered = sum(len(row["hashes"]) for row in self._variables(writing, dataset, column))
            if registered != first * HASH_BYTES:
                raise LedgerError(
                    f"Another process registered values of column {column!r} at the same time. Try again."
                )
            writing.add(
                "audit_variables", writing.dataset(dataset), column=column, first=first, secret=secret, hashes=hashes, made=now()
            )  # fmt: skip

    def ask(self, dataset: str, asker: str, text: str) -> int:
        """Record a user's query; returns its number."""
        with self._store.writing(durable=False) as writing:
            cursor = writing.connection.execute(
                "INSERT INTO audit_questions (dataset, asker, text, made) VALUES (?, ?, ?, ?)",
                (writing.dataset(dataset), asker, text, now()),
            )
            assert cursor.lastrowid is not None
            return cursor.lastrowid

    def decide(
        self,
        dataset: str,
        question: int,
        verdict: AuditVerdict,
        budget: str = "",
        *,
        beside: PriorCheck = alone,
        opening: DeclaredBudget | None = None,
    ) -> AuditEntry:
        """Append a decision; spend its cost from the column's ``budget``, and charge the account of the data set, in one
        durable transaction.

        A missing account gets the totals of its ``opening``. An answer is judged ``beside`` all prior disclosures of
        the data set: one that is not allowed raises LedgerError, and nothing is decided.
        """
        with self._store.writing() as writing:
            owner = writing.dataset(dataset)
            if verdict.answered:
                self._entries.join(writing, dataset, ANSWERS, beside)
            if verdict.cost is not None:
                purpose = f"{verdict.function} over {verdict.size} people"
                spending = Spending(budget, verdict.cost, purpose, verdict.column)
                self._entries.budgets.spend_within(writing, dataset, spending)
                cost = noisy_answer_cost(verdict.column, verdict.cost, verdict.function)
                self._entries.charge_within(writing, owner, (), cost, opening=opening)
            decided = self._decided(writing, owner).get((verdict.column, verdict.function, verdict.identity))
            if decided is not None:
                raise LedgerError(f"Decision {decided} is about the same query already. Nothing was decided.")
            row = writing.add(
                "audit_decisions", owner, question=question, column=verdict.column, function=verdict.function,
                identity=verdict.identity, size=verdict.size, answered=int(verdict.answered), rule=verdict.rule,
                reason=verdict.reason, made=now(), members=verdict.members,
            )  # fmt: skip
            return _entry(row)

    def asked_again(self, question: int, decision: int) -> None:
        """Record that a query led to an existing decision."""
        with self._store.writing(durable=False) as writing:
            writing.connection.execute("INSERT OR IGNORE INTO audit_asked VALUES (?, ?)", (question, decision))

    def answer(self, number: int, answer: Fraction, *, durable: bool) -> None:
        """Fill in the answer of a decision. Use ``durable`` if later decisions need it and it could not be recomputed."""
        self._fill_in(number, str(answer), durable)

    def measure(self, number: int, measured: NoisyNumbers) -> None:
        """Fill in the noisy numbers of a decision, durably: the same query must never get fresh noise."""
        self._fill_in(number, measured.as_text(), True)

    def _fill_in(self, number: int, text: str, durable: bool) -> None:
        """Record the answer of a decision. Raises if it was denied, or has another answer."""
        with self._store.writing(durable=durable) as writing:
            row = writing.row("audit_decisions", number)
            if not row["answered"] or row["answer"] not in (None, text):
                raise LedgerError(f"Decision {number} has another answer already, or was denied. Nothing was changed.")
            if row["answer"] is None:
                writing.change("audit_decisions", number, answer=text)

    def withdraw(self, entry: AuditEntry) -> AuditEntry:
        """Turn a decision whose answer was never returned, and can no longer be recomputed, into a denied one."""
        reason = "The answer was never given: the service stopped before it left, and the values have changed since."
        with self._store.writing() as writing:
            if writing.row("audit_decisions", entry.number)["answer"] is None:
                writing.change(
                    "audit_decisions", entry.number, answered=0, rule="withdrawn", reason=reason, members=None
                )
        return replace(entry, answered=False, rule="withdrawn", reason=reason, members=None)

    def find(self, dataset: str, column: str, function: str, identity: str) -> AuditEntry | None:
        """The decision on a query that was submitted before."""
        with self._store.reading() as reading:
            owner = reading.known(dataset)
            if owner is None:
                return None
            number = self._decided(reading, owner).get((column, function, identity))
            return _entry(reading.row("audit_decisions", number)) if number is not None else None

    def _decided(self, reading: ReadTransaction, owner: int) -> dict[tuple[str, str, str], int]:
        """The numbers of a data set's decisions by column, function and identity.

        Not by an index of the file: a damaged one would hide an earlier query.
        """
        numbers = self._places.setdefault(owner, {})
        for row in reading.rows("audit_decisions", owner, next(reversed(numbers.values()), 0)):
            numbers[row["column"], row["function"], row["identity"]] = row["id"]
        return numbers

    def after(self, dataset: str, number: int = 0) -> list[AuditEntry]:
        """The decisions after decision ``number``, first to last."""
        with self._store.reading() as reading:
            owner = reading.known(dataset)
            rows = reading.rows("audit_decisions", owner, number) if owner is not None else []
        return [_entry(row) for row in rows]

    def decision(self, dataset: str, number: int, asker: str | None = None) -> AuditEntry | None:
        """One decision; with ``asker`` only if that user submitted the query."""
        with self._store.reading() as reading:
            is_permitted = reading.connection.execute(
                "SELECT 1 FROM audit_decisions AS found WHERE dataset = ?1 AND id = ?2 AND (?3 IS NULL OR EXISTS (SELECT 1 FROM audit_questions "
                "WHERE asker = ?3 AND id IN (SELECT found.question UNION ALL SELECT question FROM audit_asked WHERE decision = found.id)))",
                (reading.known(dataset), number, asker),
            ).fetchone()
            return _entry(reading.row("audit_decisions", number)) if is_permitted else None

    def questions(
        self, dataset: str, asker: str | None = None, *, before: int | None = None, limit: int = 100
    ) -> list[Question]:
        """The latest queries, newest first; those of one user with ``asker``, and older ones with ``before``."""
        with self._store.reading() as reading:
            rows = reading.connection.execute(
                "SELECT audit_questions.id, asker, text, audit_questions.made, group_concat(decision) FROM audit_questions "
                "LEFT JOIN audit_asked ON question = audit_questions.id "
                "WHERE dataset = ?1 AND (?2 IS NULL OR asker = ?2) AND (?3 IS NULL OR audit_questions.id < ?3) "
                "GROUP BY audit_questions.id ORDER BY audit_questions.id DESC LIMIT ?4",
                (reading.known(dataset), asker, before, limit),
            ).fetchall()
            decisions_of = self._led_to(reading)
            try:
                return [
                    Question(
                        number,
                        user,
                        text,
                        made,
                        decisions=tuple(sorted({*decisions_of.get(number, ()), *_numbers(decision_list)})),
                    )
                    for number, user, text, made, decision_list in rows
                ]
            except (ValueError, TypeError, AttributeError):
                raise sqlite3.DatabaseError("the record of queries was changed") from None

    def _led_to(self, reading: ReadTransaction) -> dict[int | None, list[int]]:
        """The decisions that queries led to first; an index in the file would cost one more page write per decision."""
        for number, question in reading.connection.execute(
            "SELECT id, question FROM audit_decisions WHERE id > ? ORDER BY id", (self._looked_through,)
        ):
            self._looked_through = number
            self._led.setdefault(question, []).append(number)
        return self._led

    def asked_since(self, dataset: str, asker: str, moment: str) -> int:
        """The number of queries of a user since a timestamp, for quotas."""
        with self._store.reading() as reading:
            return int(
                reading.connection.execute(
                    "SELECT count(*) FROM audit_questions WHERE dataset = ? AND asker = ? AND made >= ?",
                    (reading.known(dataset), asker, moment),
                ).fetchone()[0]
            )

    def add_token(self, dataset: str, asker: str, name: str, digest: bytes) -> None:
        """Store a token by its digest."""
        with self._store.writing() as writing:
            writing.add("audit_tokens", writing.dataset(dataset), asker=asker, name=name, digest=digest, made=now())

    def token(self, dataset: str, name: str) -> Token | None:
        """The token of that public name."""
        with self._store.reading() as reading:
            return next((_token(row) for row in self._tokens(reading, dataset) if row["name"] == name), None)

    def revoke(self, dataset: str, asker: str) -> int:
        """Revoke all tokens of a user; returns how many there were."""
        with self._store.writing() as writing:
            token_rows = [
                row for row in self._tokens(writing, dataset) if row["asker"] == asker and row["revoked"] is None
            ]
            for row in token_rows:
                writing.change("audit_tokens", row["id"], revoked=now())
            return len(token_rows)

    def _variables(self, reading: ReadTransaction, dataset: str, column: str) -> list[Row]:
        owner = reading.known(dataset)
        rows = reading.rows("audit_variables", owner) if owner is not None else []
        return sorted((row for row in rows if row["column"] == column), key=lambda row: int(row["first"]))

    def _tokens(self, reading: ReadTransaction, dataset: str) -> list[Row]:
        owner = reading.known(dataset)
        return reading.rows("audit_tokens", owner) if owner is not None else []


def noisy_answer_cost(column: str, epsilon: Number, kind: str = NOISY_SUM) -> PrivacyCost:
    """The cost of a noisy answer about a column: neighbours differ in the value of one row. Which people have a row, one each by key, is public."""
    loss = LossBound(exact(epsilon, "epsilon", above=0))
    article = "" if kind.endswith("s") else "a "
    return PrivacyCost(f"{article}{kind} of column {column!r}", {"replace": loss}, most={"person": 1})


def _entry(row: Row) -> AuditEntry:
    """Return a recorded decision of the audit from its row."""
    text = row["answer"]
    measured = NoisyNumbers.from_text(text) if text is not None and text.startswith("{") else None
    if measured is not None:
        answer = measured.numbers[0] if row["function"] == NOISY_SUM else None
    else:
        answer = None if text is None else Fraction(text)
    return AuditEntry(
        row["id"],
        row["column"],
        function=row["function"],
        identity=row["identity"],
        size=row["size"],
        answered=bool(row["answered"]),
        rule=row["rule"],
        reason=row["reason"],
        answer=answer,
        made=row["made"],
        members=row["members"],
        measured=measured,
    )


def _token(row: Row) -> Token:
    return Token(row["asker"], row["name"], digest=row["digest"], made=row["made"], revoked=row["revoked"])


def _numbers(listed: str | None) -> tuple[int, ...]:
    return tuple(sorted(map(int, listed.split(",")))) if listed else ()
