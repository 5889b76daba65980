"""The audited table: lock, decide, write down, compute, return.

One history counts for everybody, because users may tell each other what they learned. Processes take turns through the ledger;
whoever has the turn first catches up with what others decided. The same step, :meth:`AuditService._settle`, finishes a decision in ordinary
times and after a crash, so there is one way from a decision to an answer.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from types import TracebackType
from typing import Any, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.audit.decision import AggregateQuery, Decision
from reticent.audit.service.access import Tokens, check_quota, check_role
from reticent.audit.service.column import Asked, ColumnAudit
from reticent.audit.service.column_guarantee import guarantee
from reticent.audit.service.database import Database, TableSnapshot
from reticent.audit.service.row_variables import MISSING, People
from reticent.audit.service.service_replies import CellAnswer, Reply, Row
from reticent.audit.service.settings import STEWARD, Settings
from reticent.audit.service.statement import Aggregate, Statement
from reticent.base.disclosures import apart, unjudged
from reticent.base.privacy_cost import Amounts, DeclaredBudget
from reticent.errors import BudgetExhausted, PolicyError
from reticent.ledger import ANSWERS, NOISY_SUM, AuditEntry, AuditVerdict, Ledger, Question, noisy_sum_cost
from reticent.noise import noisy_total
from reticent.table import ValueType, marks_of_columns

MOST_ANSWERS = 1_000
_BUDGET = "noise"
_PAGE = 500
_PUBLIC = "Counts follow from public columns alone."
_ALLOW = "Nothing new is answered. The steward can allow it: beside = 'allow' in the audit policy."
_EMPTY = "No row meets the condition, so there is nothing to aggregate."


@dataclass(frozen=True)
class _Cell:
    """One combination of public values, and the rows that have it."""

    group: Mapping[str, Any]
    rows: NDArray[np.int64]


class AuditService:
    """An audited table that can be asked. Mutable because it stands for a database, a ledger and what was answered so far.

    One thread uses it at a time; several processes may share the ledger. Close it, or use it in a ``with`` block.
    """

    def __init__(self, settings: Settings, *, ledger: Ledger | None = None) -> None:
        self.settings = settings
        with ExitStack() as opened:
            self._database = open_database(settings)
            opened.callback(self._database.close)
            self._ledger = ledger if ledger is not None else Ledger(settings.ledger, newest=settings.newest)
            opened.callback(self._ledger.close)
            self._audits = self._ledger.audits
            self._turns = self._ledger.turns(settings.dataset)
            opened.callback(self._turns.close)
            self._set_up()
            self._opened = opened.pop_all()

    def _set_up(self) -> None:
        """Catch up with the table and with everything that was decided, and answer what is reserved."""
        settings = self.settings
        secret = self._ledger.secret
        self._beside = unjudged if settings.beside == "allow" else apart("audited answers", _ALLOW)
        self.tokens = Tokens(settings, self._audits, secret)
        self._people = People(settings, self._audits, secret)
        self._columns = {
            name: ColumnAudit(column, secret.digest(f"chance {settings.dataset} {name}".encode()))
            for name, column in settings.sensitive.items()
        }
        self._seen = 0
        self._open_budgets()
        self.new_values = self.sync()
        self._check_account()
        self.reserved = tuple(self.ask(text) for text in settings.reserved)

    @property
    def statements(self) -> Sequence[str]:
        """The last texts sent to the database; no part of them was written by whoever asked."""
        return tuple(self._database.statements)

    def close(self) -> None:
        """Let go of database and ledger."""
        self._opened.close()

    def __enter__(self) -> AuditService:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def sync(self) -> dict[str, int]:
        """Compare the table with what was registered; returns how many values of each column are new."""
        before = dict(self._people.registered)
        with self._turn():
            return {name: count - before[name] for name, count in self._people.registered.items()}

    def ask(self, text: str, user: str = STEWARD, *, allow_noise: bool = False) -> Reply:
        """Decide on a statement, and answer what is decided to be answered.

        Every aggregate of every cell is a query of its own: aggregates in the order of the text, cells in the order of their public
        values. ``allow_noise`` takes a noisy answer for a denied sum where the policy has a budget for it.
        """
        statement = Statement.parse(text, self.settings)
        role = self.settings.role_of(user)
        check_role(role, statement)
        with self._turn() as look:
            check_quota(self._audits, self.settings.dataset, user, role)
            cells = self._cells(statement)
            question = self._audits.ask(self.settings.dataset, user, text)
            columns = [
                [self._answer(look, aggregate, cell, question, allow_noise) for cell in cells]
                for aggregate in statement.aggregates
            ]
        return _reply(
            text, cells, [[self._told(each, question, user) for each in column] for column in columns], question
        )

    def would_answer(self, text: str, user: str = STEWARD) -> Reply:
        """The decision on every query of a statement if it were asked next; auditors remember nothing of it.

        Decisions follow from answers that others were given, so they are as confidential: the role must allow the question, and it counts
        as one of the user's questions.
        """
        statement = Statement.parse(text, self.settings)
        role = self.settings.role_of(user)
        check_role(role, statement)
        with self._turn():
            check_quota(self._audits, self.settings.dataset, user, role)
            if role.questions_per_day is not None:
                self._audits.ask(self.settings.dataset, user, text)
            cells = self._cells(statement)
            columns = [[self._forecast(aggregate, cell) for cell in cells] for aggregate in statement.aggregates]
        return _reply(text, cells, columns, None)

    def history(self, user: str | None = None, *, before: int | None = None, limit: int = 100) -> list[Question]:
        """The latest questions, last first: of one user, or of everybody (for the steward)."""
        found = self._audits.questions(self.settings.dataset, user, before=before, limit=limit)
        return [
            replace(
                each, decisions=tuple(self._shown(number, each.number, user or STEWARD) for number in each.decisions)
            )
            for each in found
        ]

    def decisions(self) -> list[AuditEntry]:
        """Every decision so far, first to last (for the steward)."""
        return self._audits.after(self.settings.dataset)

    def decision(self, number: int, user: str | None = None) -> AuditEntry | None:
        """One decision, if it exists and the user asked for it; with the number and the time that the user knows it by."""
        if user is None or user == STEWARD:
            return self._audits.decision(self.settings.dataset, number)
        before = None
        while page := self._audits.questions(self.settings.dataset, user, before=before, limit=_PAGE):
            for question in page:
                for each in question.decisions:
                    if self._shown(each, question.number, user) == number:
                        found = self._audits.decision(self.settings.dataset, each, user)
                        return None if found is None else replace(found, number=number, made=question.made)
            before = page[-1].number
        return None

    def _shown(self, decision: int, question: int, user: str) -> int:
        """The number that a user knows a decision by: it tells nothing about when the same was decided first, and for whom."""
        if user == STEWARD:
            return decision
        return int.from_bytes(self._ledger.secret.digest(f"decision {question} {decision}".encode())[:6], "big") + 1

    def _told(self, answer: CellAnswer, question: int, user: str) -> CellAnswer:
        return (
            answer
            if answer.decision is None
            else replace(answer, decision=self._shown(answer.decision, question, user))
        )

    def family(self, column: str) -> str | None:
        """The family of queries that a column is locked to, None before its first answer."""
        return self._columns[column].family

    def guarantee(self, column: str) -> list[str]:
        """What is promised about a column, in sentences."""
        promised = guarantee(self.settings.sensitive[column], self._columns[column].family)
        entries = self._ledger.entries(self.settings.dataset)
        # What else was given out, and was allowed without a judgement, weakens the promise.
        return [*promised, *(each.note for each in entries if each.kind == ANSWERS and each.note)]

    def describe(self, *, history: bool = True) -> dict[str, Any]:
        """What can be asked: the table, its public columns and the protected ones.

        Which functions a column is locked to, and what was given out beside the answers, follow from what others were told; without ``history`` only what
        the policy says is there.
        """
        with self._turn():
            kinds = self._people.public.schema
            public = [{"name": name, "kind": str(ValueType.of(kind, name))} for name, kind in kinds.items()]
            sensitive = []
            for name, column in self.settings.sensitive.items():
                family = self.family(name) if history else column.family
                promised = self.guarantee(name) if history else guarantee(column, family)
                sensitive.append({"name": name, "kind": "number", "family": family, "guarantee": promised})
            return {"table": self.settings.view, "public": public, "sensitive": sensitive}

    @contextmanager
    def _turn(self) -> Iterator[TableSnapshot]:
        """Our turn: nobody else decides, and we know the table and all decisions as they are."""
        with self._turns.taken(), self._database.look() as look:
            if look.state() != self._people.state:
                self._update(look)
            for entry in self._audits.after(self.settings.dataset, self._seen):
                self._settle(look, entry)
            yield look

    def _update(self, look: TableSnapshot) -> None:
        """Take the table as it is now, and tell the auditors whose every variable is."""
        rows = look.rows()
        columns = [*(values.alias(name) for name, values in rows.values.items()), *rows.public]
        self._ledger.know(self.settings.dataset, marks_of_columns([rows.keys], columns, self._ledger.people_key))
        self._people.update(rows)
        for name, column in self._columns.items():
            present = self._people.variables[name]
            column.extend(self._people.owners[name], present[present != MISSING])

    def _settle(self, look: TableSnapshot, entry: AuditEntry, members: NDArray[np.int64] | None = None) -> AuditEntry:
        """Finish a decision: work the answer out if it is not known, write it down, remember what was answered."""
        column = self._columns.get(entry.column)
        if entry.answered and column is not None and not entry.is_noisy:
            members = unpacked(entry) if members is None else members
            if members[-1] >= len(self._people.owners[entry.column]):
                # Another process saw the table in a state that we missed.
                self._update(look)
            function = cast(Asked, entry.function)
            if entry.answer is None:
                entry = self._computed(look, entry, members)
            if entry.answered:
                column.remember(function, members, entry.answer)
        if column is not None and not entry.is_noisy:
            column.count_round()
        self._seen = max(self._seen, entry.number)
        return entry

    def _computed(self, look: TableSnapshot, entry: AuditEntry, members: NDArray[np.int64]) -> AuditEntry:
        """The entry with its answer. Only here are sensitive values touched, after the decision is on the disk."""
        function = cast(Asked, entry.function)
        rows = self._people.rows_of(entry.column, members)
        if rows is None:
            # Its answer never left. Where decisions need no answers it is counted as answered all the same.
            return self._audits.withdraw(entry) if self._needs_answers(entry) else entry
        answer = look.total(entry.column, function, rows)
        # Where decisions need answers, nobody could work out a lost one after a change, so it must outlast a power cut.
        self._audits.answer(entry.number, answer, durable=self._needs_answers(entry))
        return replace(entry, answer=answer)

    def _needs_answers(self, entry: AuditEntry) -> bool:
        return entry.function != "sum" or self.settings.sensitive[entry.column].chance is not None

    def _cells(self, statement: Statement) -> list[_Cell]:
        """The row sets, from public columns alone, in the order of their public values."""
        public = self._people.public
        rows = np.arange(len(next(iter(self._people.variables.values()))))
        if statement.condition is not None:
            # A frame without columns has no rows either; a condition on constants alone still has to know how many there are.
            frame = public if public.width else pl.DataFrame({"row": rows})
            truth = statement.condition.truth(frame)
            # Filling nulls is half of the work of choosing rows, and there are seldom any.
            rows = np.flatnonzero((truth.fill_null(False) if truth.null_count() else truth).to_numpy())
        if not statement.groups:
            _check_length(1, statement)
            return [_Cell({}, rows)]
        names = list(statement.groups)
        # Names of our own, because a public column may have any name.
        groups = [f"group {place}" for place in range(len(names))]
        parted = public.select(pl.col(name).alias(group) for name, group in zip(names, groups, strict=True))
        chosen = parted[rows].with_columns(pl.Series("rows", rows))
        found = chosen.group_by(groups).agg("rows").sort(groups, nulls_last=True)
        _check_length(found.height, statement)
        values = found.drop("rows").rows()
        lists = found["rows"]
        return [
            _Cell(dict(zip(names, value, strict=True)), np.sort(lists[place].to_numpy()))
            for place, value in enumerate(values)
        ]

    def _answer(
        self, look: TableSnapshot, aggregate: Aggregate, cell: _Cell, question: int, allow_noise: bool
    ) -> CellAnswer:
        known = self._public_answer(aggregate, cell)
        if known is not None:
            return known
        query = self._query(aggregate, cell)
        column = str(aggregate.column)
        entry = self._audits.find(self.settings.dataset, column, query.function, query.identity)
        if entry is None:
            if refused := self._refused():
                return CellAnswer(aggregate.label, False, "beside", refused, len(query))
            decision = self._columns[column].decide(cast(Asked, query.function), query.members)
            verdict = _verdict(column, query, decision, query.function)
            entry = self._audits.decide(self.settings.dataset, question, verdict, beside=self._beside)
            entry = self._settle(look, entry, query.members)
        else:
            self._audits.asked_again(question, entry.number)
            if entry.answered and entry.answer is None:
                entry = self._computed(look, entry, query.members)
        if not entry.answered and allow_noise and query.function == "sum":
            entry = self._noisy_entry(look, column, query, question) or entry
        return _answered(aggregate, entry)

    def _forecast(self, aggregate: Aggregate, cell: _Cell) -> CellAnswer:
        known = self._public_answer(aggregate, cell)
        if known is not None:
            return replace(known, value=None)
        query = self._query(aggregate, cell)
        column = str(aggregate.column)
        entry = self._audits.find(self.settings.dataset, column, query.function, query.identity)
        if entry is None and (refused := self._refused()):
            return CellAnswer(aggregate.label, False, "beside", refused, len(query))
        decision: Decision | AuditEntry = (
            entry if entry is not None else self._columns[column].decide(cast(Asked, query.function), query.members)
        )
        answered = decision.answered if isinstance(decision, AuditEntry) else decision.answer
        return CellAnswer(aggregate.label, answered, decision.rule, decision.reason, len(query))

    def _refused(self) -> str | None:
        """Why nothing new is answered: something else was given out about the same people, and the two were not judged together."""
        return self._ledger.refusal(self.settings.dataset, ANSWERS, self._beside)

    def _public_answer(self, aggregate: Aggregate, cell: _Cell) -> CellAnswer | None:
        """Counts and empty selections: known without any protected value."""
        rows = cell.rows
        if aggregate.column in self.settings.sensitive:
            rows = rows[self._people.variables[str(aggregate.column)][rows] != MISSING]
        elif aggregate.column is not None:
            rows = rows[self._people.public[aggregate.column][rows].is_not_null().to_numpy()]
        if aggregate.function == "count":
            return CellAnswer(aggregate.label, True, "public", _PUBLIC, len(rows), Fraction(len(rows)))
        return CellAnswer(aggregate.label, True, "empty", _EMPTY, 0) if not rows.size else None

    def _query(self, aggregate: Aggregate, cell: _Cell) -> AggregateQuery:
        """The query's identity is its set of variables, however it was written; an average is its sum."""
        variables = self._people.variables[str(aggregate.column)][cell.rows]
        function = "sum" if aggregate.function == "avg" else aggregate.function
        return AggregateQuery(variables[variables != MISSING], function)

    def _noisy_entry(self, look: TableSnapshot, column: str, query: AggregateQuery, question: int) -> AuditEntry | None:
        """A noisy sum where the policy has a budget: paid and written down before the noise is drawn."""
        noise = self.settings.sensitive[column].noise
        if noise is None:
            return None
        entry = self._audits.find(self.settings.dataset, column, NOISY_SUM, query.identity)
        if entry is None:
            reason = f"A noisy sum at the cost of {noise.each} from the column's budget, instead of a denied exact one."
            decision = Decision(True, reason, "noisy")
            verdict = replace(_verdict(column, query, decision, NOISY_SUM), cost=noise.each)
            try:
                entry = self._audits.decide(
                    self.settings.dataset, question, verdict, _BUDGET, beside=self._beside, opening=self._account
                )
            except BudgetExhausted:
                return None
        else:
            self._audits.asked_again(question, entry.number)
        if entry.answer is None:
            rows = self._people.rows_of(column, query.members)
            assert rows is not None
            total = look.cut_sum(column, rows, noise.low, noise.high)
            unit = self.settings.sensitive[column].unit
            answer = noisy_total(total, noise.low, noise.high, noise.each, unit)
            # The same question must never get fresh noise after the first was seen.
            self._audits.answer(entry.number, answer, durable=True)
            entry = replace(entry, answer=answer)
        return entry

    def _open_budgets(self) -> None:
        for name, column in self.settings.sensitive.items():
            if column.noise is not None:
                self._ledger.budgets.open(self.settings.dataset, _BUDGET, column.noise.epsilon, column=name)

    def _check_account(self) -> None:
        """Refuse to begin where noisy sums could never be charged to the account that these people have; one that is exhausted leaves the exact answers."""
        for name, column in self.settings.sensitive.items():
            if column.noise is not None:
                with suppress(BudgetExhausted):
                    cost = noisy_sum_cost(name, column.noise.each)
                    self._ledger.affordable(self.settings.dataset, cost, opening=self._account)

    @property
    def _account(self) -> DeclaredBudget:
        """The account that the first noisy sum opens where there is none: it pays what the columns' budgets allow together."""
        noisy = [column.noise.epsilon for column in self.settings.sensitive.values() if column.noise is not None]
        return DeclaredBudget(Amounts(sum(noisy, Fraction(0))), "person", "replace")


def open_database(settings: Settings) -> Database:
    """The database that the settings name."""
    if settings.source.is_postgres:
        from reticent.audit.service.postgres import PostgresDatabase

        return PostgresDatabase(settings)
    from reticent.audit.service.embedded import EmbeddedDatabase

    return EmbeddedDatabase(settings)


def _check_length(cells: int, statement: Statement) -> None:
    """Nobody may keep the service busy with one question: every aggregate of every cell is a decision."""
    asked = len(statement.aggregates)
    if cells * asked <= MOST_ANSWERS:
        return
    said = f"The question has {asked} aggregates"
    if statement.groups:
        each = f" with {asked} aggregates each" if asked > 1 else ""
        said = f"GROUP BY {', '.join(statement.groups)} gives {cells} cells{each}"
    raise PolicyError(f"{said}, and at most {MOST_ANSWERS} answers are given at once. Group by less, or ask for less.")


def pack(members: NDArray[np.int64]) -> bytes:
    """A set of variables as a compressed bitmap."""
    bits = np.zeros(int(members[-1]) + 1, dtype=bool)
    bits[members] = True
    return zlib.compress(np.packbits(bits).tobytes(), 1)


def unpacked(entry: AuditEntry) -> NDArray[np.int64]:
    """The set of variables that an answered decision was about."""
    assert entry.members is not None
    return np.flatnonzero(np.unpackbits(np.frombuffer(zlib.decompress(entry.members), dtype=np.uint8)))


def _verdict(column: str, query: AggregateQuery, decision: Decision, function: str) -> AuditVerdict:
    members = pack(query.members) if decision.answer else None
    return AuditVerdict(
        column, function, query.identity, len(query), decision.answer, decision.rule, decision.reason, members
    )


def _answered(aggregate: Aggregate, entry: AuditEntry) -> CellAnswer:
    value = entry.answer
    if value is not None and aggregate.function == "avg":
        value /= entry.size
    return CellAnswer(
        aggregate.label, entry.answered, entry.rule, entry.reason, entry.size, value, entry.number, entry.is_noisy
    )


def _reply(text: str, cells: list[_Cell], columns: list[list[CellAnswer]], question: int | None) -> Reply:
    rows = [Row(cell.group, tuple(column[place] for column in columns)) for place, cell in enumerate(cells)]
    return Reply(text, tuple(rows), question)
