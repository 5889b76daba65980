"""What audited SQL must never forget: variables, decisions, who asked, and tokens (R-QA-1, R-QA-14).

A decision is on the disk before anything is computed, and an answer is written down before it is returned. A decision to answer
without an answer was therefore never delivered: whoever finds one after a crash works the answer out again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from reticent.errors import LedgerError
from reticent.exact import Number
from reticent.ledger.budgets import Budgets
from reticent.ledger.store import Store, now

HASH_BYTES = 16
NOISY_SUM = "noisy sum"


@dataclass(frozen=True)
class Verdict:
    """A decision to be written down: which query of which column it is about, and what was decided.

    ``identity`` stands for the row set; ``members`` are its variables as the service packs them, kept where the query is answered.
    ``cost`` is what the answer takes from the column's noise budget, None where the answer is exact.
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
    """A decision as the ledger remembers it. ``answer`` is None while it is unknown, and for what was denied."""

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

    @property
    def is_noisy(self) -> bool:
        """Whether the answer carries noise from a budget, so that auditors do not count it."""
        return self.function == NOISY_SUM


@dataclass(frozen=True)
class Question:
    """A statement as somebody asked it, and the numbers of the decisions that it led to."""

    number: int
    asker: str
    text: str
    made: str
    decisions: tuple[int, ...]


@dataclass(frozen=True)
class Token:
    """A token as it is kept: its public name and the digest of its secret, never the secret."""

    asker: str
    name: str
    digest: bytes
    made: str
    revoked: str | None


_ENTRY = "id, column, function, identity, size, answered, rule, reason, answer, made, members"
_OWNER = "(SELECT id FROM datasets WHERE name = ?1)"


class Audits:
    """The audited answers of every data set. Decisions are appended, never changed; an answer is filled in once."""

    def __init__(self, store: Store, budgets: Budgets) -> None:
        self._store, self._budgets = store, budgets

    def is_empty(self) -> bool:
        """Whether nothing in the ledger depends on the secret key yet."""
        with self._store.reading() as connection:
            row = connection.execute(
                "SELECT (SELECT count(*) FROM audit_variables) + (SELECT count(*) FROM audit_tokens)"
            ).fetchone()
            return int(row[0]) == 0

    def hashes(self, dataset: str, column: str, secret: str) -> bytes:
        """The hashes of a column's variables, in the order of their numbers, 16 bytes each.

        ``secret`` is the fingerprint of the key they were made with. Another one is refused: every value would look new, and
        the same people could be asked about twice.
        """
        with self._store.reading() as connection:
            rows = connection.execute(
                "SELECT secret, hashes FROM audit_variables JOIN datasets ON datasets.id = dataset "
                "WHERE name = ? AND column = ? ORDER BY first",
                (dataset, column),
            ).fetchall()
        if any(made_with != secret for made_with, _ in rows):
            raise LedgerError(
                f"The values of column {column!r} of data set {dataset!r} were registered with another key (or by an early version that did "
                "not tell people from values). Put the key file back that lay beside the ledger: with a new one every value would look new, and what was answered already would not count."
            )
        return b"".join(hashes for _, hashes in rows)

    def register(self, dataset: str, column: str, secret: str, first: int, hashes: bytes) -> None:
        """Append variables from number ``first`` on."""
        with self._store.writing() as connection:
            owner = self._store.dataset(connection, dataset)
            known = connection.execute(
                "SELECT coalesce(sum(length(hashes)), 0) FROM audit_variables WHERE dataset = ? AND column = ?",
                (owner, column),
            ).fetchone()[0]
            if known != first * HASH_BYTES:
                raise LedgerError(
                    f"Another process registered values of column {column!r} at the same time. Try again."
                )
            connection.execute(
                "INSERT INTO audit_variables (dataset, column, first, secret, hashes, made) VALUES (?, ?, ?, ?, ?, ?)",
                (owner, column, first, secret, hashes, now()),
            )

    def ask(self, dataset: str, asker: str, text: str) -> int:
        """Write down who asked what; returns the question's number."""
        with self._store.writing(durable=False) as connection:
            owner = self._store.dataset(connection, dataset)
            cursor = connection.execute(
                "INSERT INTO audit_questions (dataset, asker, text, made) VALUES (?, ?, ?, ?)",
                (owner, asker, text, now()),
            )
            assert cursor.lastrowid is not None
            return cursor.lastrowid

    def decide(self, dataset: str, question: int, verdict: Verdict, budget: str = "") -> AuditEntry:
        """Append a decision, and spend what it costs from the column's ``budget``, in one durable transaction."""
        made = now()
        with self._store.writing() as connection:
            owner = self._store.dataset(connection, dataset)
            if verdict.cost is not None:
                purpose = f"{verdict.function} of {verdict.size} people"
                self._budgets.spend_within(connection, dataset, budget, verdict.cost, purpose, column=verdict.column)
            cursor = connection.execute(
                "INSERT INTO audit_decisions (dataset, column, function, identity, size, answered, rule, reason, members, made) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    owner,
                    verdict.column,
                    verdict.function,
                    verdict.identity,
                    verdict.size,
                    int(verdict.answered),
                    verdict.rule,
                    verdict.reason,
                    verdict.members,
                    made,
                ),
            )
            number = cursor.lastrowid
            assert number is not None
            connection.execute("INSERT INTO audit_asked VALUES (?, ?)", (question, number))
        return AuditEntry(
            number, verdict.column, verdict.function, verdict.identity, verdict.size, verdict.answered,
            verdict.rule, verdict.reason, None, made, verdict.members,
        )  # fmt: skip

    def asked_again(self, question: int, decision: int) -> None:
        """Note that a question led to a decision that was there before."""
        with self._store.writing(durable=False) as connection:
            connection.execute("INSERT OR IGNORE INTO audit_asked VALUES (?, ?)", (question, decision))

    def answer(self, number: int, answer: Fraction, *, durable: bool) -> None:
        """Fill in the answer of a decision. ``durable`` where later decisions need it and nobody could work it out again."""
        with self._store.writing(durable=durable) as connection:
            changed = connection.execute(
                "UPDATE audit_decisions SET answer = ? WHERE id = ? AND answered = 1 AND (answer IS NULL OR answer = ?)",
                (str(answer), number, str(answer)),
            ).rowcount
            if changed != 1:
                raise LedgerError(f"Decision {number} has another answer already, or was denied. Nothing was changed.")

    def withdraw(self, entry: AuditEntry) -> AuditEntry:
        """Turn a decision whose answer never left, and can no longer be worked out, into a denied one."""
        reason = "The answer was never given: the service stopped before it left, and the values have changed since."
        with self._store.writing() as connection:
            connection.execute(
                "UPDATE audit_decisions SET answered = 0, rule = 'withdrawn', reason = ?, members = NULL "
                "WHERE id = ? AND answer IS NULL",
                (reason, entry.number),
            )
        return replace(entry, answered=False, rule="withdrawn", reason=reason, members=None)

    def find(self, dataset: str, column: str, function: str, identity: str) -> AuditEntry | None:
        """The decision on a query that was asked before."""
        found = self._entries(
            f"dataset = {_OWNER} AND column = ?2 AND function = ?3 AND identity = ?4",
            dataset,
            column,
            function,
            identity,
        )
        return found[0] if found else None

    def after(self, dataset: str, number: int = 0) -> list[AuditEntry]:
        """The decisions after decision ``number``, first to last."""
        # The plus keeps SQLite from going through all decisions of the data set to find the last ones.
        return self._entries(f"+dataset = {_OWNER} AND id > ?2", dataset, number)

    def decision(self, dataset: str, number: int, asker: str | None = None) -> AuditEntry | None:
        """One decision; with ``asker`` only if it was this person who asked."""
        mine = "id IN (SELECT decision FROM audit_asked JOIN audit_questions ON audit_questions.id = question WHERE asker = ?3)"
        found = self._entries(f"dataset = {_OWNER} AND id = ?2 AND (?3 IS NULL OR {mine})", dataset, number, asker)
        return found[0] if found else None

    def questions(
        self, dataset: str, asker: str | None = None, *, before: int | None = None, limit: int = 100
    ) -> list[Question]:
        """The latest questions, last first; those of one person with ``asker``, and older ones with ``before``."""
        with self._store.reading() as connection:
            rows = connection.execute(
                "SELECT audit_questions.id, asker, text, audit_questions.made, group_concat(decision) FROM audit_questions "
                "JOIN datasets ON datasets.id = dataset LEFT JOIN audit_asked ON question = audit_questions.id "
                "WHERE name = ?1 AND (?2 IS NULL OR asker = ?2) AND (?3 IS NULL OR audit_questions.id < ?3) "
                "GROUP BY audit_questions.id ORDER BY audit_questions.id DESC LIMIT ?4",
                (dataset, asker, before, limit),
            ).fetchall()
        return [Question(number, who, text, made, _numbers(listed)) for number, who, text, made, listed in rows]

    def asked_since(self, dataset: str, asker: str, moment: str) -> int:
        """How many questions somebody has asked since a moment, for quotas."""
        with self._store.reading() as connection:
            return int(
                connection.execute(
                    "SELECT count(*) FROM audit_questions JOIN datasets ON datasets.id = dataset "
                    "WHERE name = ? AND asker = ? AND audit_questions.made >= ?",
                    (dataset, asker, moment),
                ).fetchone()[0]
            )

    def add_token(self, dataset: str, asker: str, name: str, digest: bytes) -> None:
        """Remember a token by its digest."""
        with self._store.writing() as connection:
            owner = self._store.dataset(connection, dataset)
            connection.execute(
                "INSERT INTO audit_tokens (dataset, asker, name, digest, made) VALUES (?, ?, ?, ?, ?)",
                (owner, asker, name, digest, now()),
            )

    def token(self, dataset: str, name: str) -> Token | None:
        """The token of that public name."""
        with self._store.reading() as connection:
            row = connection.execute(
                "SELECT asker, audit_tokens.name, digest, audit_tokens.made, revoked FROM audit_tokens "
                "JOIN datasets ON datasets.id = dataset WHERE datasets.name = ? AND audit_tokens.name = ?",
                (dataset, name),
            ).fetchone()
        return Token(*row) if row else None

    def revoke(self, dataset: str, asker: str) -> int:
        """Make all tokens of a person useless; returns how many there were."""
        with self._store.writing() as connection:
            owner = self._store.dataset(connection, dataset)
            return connection.execute(
                "UPDATE audit_tokens SET revoked = ? WHERE dataset = ? AND asker = ? AND revoked IS NULL",
                (now(), owner, asker),
            ).rowcount

    def _entries(self, where: str, *values: object) -> list[AuditEntry]:
        with self._store.reading() as connection:
            rows = connection.execute(
                f"SELECT {_ENTRY} FROM audit_decisions WHERE {where} ORDER BY id", values
            ).fetchall()
        return [_entry(row) for row in rows]


def _entry(row: Sequence[object]) -> AuditEntry:
    number, column, function, identity, size, answered, rule, reason, answer, made, members = row
    known = None if answer is None else Fraction(str(answer))
    return AuditEntry(number, column, function, identity, size, bool(answered), rule, reason, known, made, members)  # type: ignore[arg-type]  # the types of the file's columns


def _numbers(listed: str | None) -> tuple[int, ...]:
    return tuple(sorted(map(int, listed.split(",")))) if listed else ()
