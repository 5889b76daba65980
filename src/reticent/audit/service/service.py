"""The audited table: lock, decide, record, compute, return.

One history applies to all users, because users may share what they learn. Processes take turns through the ledger; the
process in turn first catches up with the decisions of others. The same step, :meth:`AuditService._settle`, completes a
decision in normal operation and after a crash, so there is one path from a decision to an answer.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
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
from reticent.audit.service.noisy_numbers import estimated, identity_of, kind_of, noisy_numbers, noisy_sum
from reticent.audit.service.row_variables import MISSING, People
from reticent.audit.service.service_replies import CellAnswer, Reply, Row
from reticent.audit.service.settings import STEWARD, Settings
from reticent.audit.service.statement import Aggregate, Statement
from reticent.base.cards import sentence_case
from reticent.base.disclosures import apart, unjudged
from reticent.base.privacy_cost import Amounts, DeclaredBudget
from reticent.errors import BudgetExhausted, PolicyError
from reticent.ledger import ANSWERS, NOISY_SUM, AuditEntry, AuditVerdict, Ledger, Question, noisy_answer_cost
from reticent.table import ValueType, marks_of_columns

MOST_ANSWERS = 1_000
_BUDGET = "noise"
_PAGE = 500
_PUBLIC = "Counts follow from public columns alone."
_ALLOW = "No new query is answered. The steward can allow it: beside = 'allow' in the audit policy."
_NOISE_ONLY = 'This has noisy answers only, because an exact one could disclose values. Ask for one (--allow-noise, or "allow_noise": true).'
_NO_EXTREME = "There is no noisy maximum or minimum, which would be the value of one person. QUANTILE(column, 0.99) has a noisy answer."
_NO_BUDGET = "There is no noisy answer either, because the policy has no budget of noise for this column."
_USED_UP = "There is no noisy answer either: the budget of noise of the column, or of the data set, is used up."
_EMPTY = "No row meets the condition, so there is nothing to aggregate."


@dataclass(frozen=True)
class _Cell:
    """One combination of public values, and the rows that have it."""

    group: dict[str, Any]
    rows: NDArray[np.int64]


class AuditService:
    """An audited table that answers queries. Mutable: holds a database, a ledger and the audit state.

    For one thread at a time; several processes may share the ledger. Close it, or use it in a ``with`` block.
    """

    def __init__(self, settings: Settings, *, ledger: Ledger | None = None) -> None:
        """Open the table and the ledger, and catch up with all recorded decisions; everything is closed again if that
        fails.
        """
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
        """Catch up with the table and with all recorded decisions, and answer the reserved queries."""
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
        """The last statements sent to the database; no part of them comes from a user's query."""
        return tuple(self._database.statements)

    def close(self) -> None:
        """Close database and ledger."""
        self._opened.close()

    def __enter__(self) -> AuditService:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def sync(self) -> dict[str, int]:
        """Compare the table with its registered state; return the number of new values per column."""
        before = dict(self._people.registered)
        with self._turn():
            return {name: count - before[name] for name, count in self._people.registered.items()}

    def ask(self, text: str, user: str = STEWARD, *, allow_noise: bool = False) -> Reply:
        """Decide on a statement, and compute the answers that are allowed.

        Every aggregate of every cell is a separate query: aggregates in the order of the text, cells in the order of
        their public values. ``allow_noise`` accepts noisy answers where exact ones are denied, or do not exist, if the
        policy has a budget for them; cells of GROUP BY are disjoint, so noisy answers for all of them cost as much as one.
        """
        statement = Statement.parse(text, self.settings)
        role = self.settings.role_of(user)
        check_role(role, statement)
        with self._turn() as look:
            check_quota(self._audits, self.settings.dataset, user, role)
            cells = self._cells(statement)
            question = self._audits.ask(self.settings.dataset, user, text)
            columns = [
                self._answers(look, aggregate, cells, question, allow_noise) for aggregate in statement.aggregates
            ]
        answers = [[self._told(cell_answer, question, user) for cell_answer in column] for column in columns]
        return _reply(statement, cells, answers, question)

    def would_answer(self, text: str, user: str = STEWARD) -> Reply:
        """Return the decision on every query of a statement if it were sent next; nothing is recorded by the auditors.

        Decisions depend on answers given to others, so they are equally confidential: the role must allow the query,
        and it counts toward the user's quota.
        """
        statement = Statement.parse(text, self.settings)
        role = self.settings.role_of(user)
        check_role(role, statement)
        with self._turn():
            check_quota(self._audits, self.settings.dataset, user, role)
            if role.questions_per_day is not None:
                self._audits.ask(self.settings.dataset, user, text)
            cells = self._cells(statement)
            columns = [
                [forecast for cell in cells for forecast in _spread(aggregate, self._forecast(aggregate, cell))]
                for aggregate in statement.aggregates
            ]
        return _reply(statement, cells, columns, None)

    def history(self, user: str | None = None, *, before: int | None = None, limit: int = 100) -> list[Question]:
        """Return the latest statements, last first: of one user, or of all users (for the steward)."""
        questions = self._audits.questions(self.settings.dataset, user, before=before, limit=limit)
        return [
            replace(
                question,
                decisions=tuple(self._shown(number, question.number, user or STEWARD) for number in question.decisions),
            )
            for question in questions
        ]

    def decisions(self) -> list[AuditEntry]:
        """Return every decision so far, first to last (for the steward)."""
        return self._audits.after(self.settings.dataset)

    def decision(self, number: int, user: str | None = None) -> AuditEntry | None:
        """Return one decision, if it exists and belongs to the user; with the number and the time known to that user."""
        if user is None or user == STEWARD:
            return self._audits.decision(self.settings.dataset, number)
        before = None
        while page := self._audits.questions(self.settings.dataset, user, before=before, limit=_PAGE):
            for question in page:
                for decision_number in question.decisions:
                    if self._shown(decision_number, question.number, user) == number:
                        entry = self._audits.decision(self.settings.dataset, decision_number, user)
                        return None if entry is None else replace(entry, number=number, made=question.made)
            before = page[-1].number
        return None

    def _shown(self, decision: int, question: int, user: str) -> int:
        """Return the number by which a user knows a decision; it does not reveal when the same query was first decided, or for whom."""
        if user == STEWARD:
            return decision
        return int.from_bytes(self._ledger.secret.digest(f"decision {question} {decision}".encode())[:6], "big") + 1

    def _told(self, answer: CellAnswer, question: int, user: str) -> CellAnswer:
        """Return an answer with the number of its decision as this user may see it."""
        return (
            answer
            if answer.decision is None
            else replace(answer, decision=self._shown(answer.decision, question, user))
        )

    def family(self, column: str) -> str | None:
        """Return the family of queries that a column is locked to, None before its first answer."""
        return self._columns[column].family

    def guarantee(self, column: str) -> list[str]:
        """Return the guarantee of a column, in sentences."""
        promised = guarantee(self.settings.sensitive[column], self._columns[column].family)
        entries = self._ledger.entries(self.settings.dataset)
        # Other disclosures that were allowed without a joint assessment weaken the guarantee.
        return [*promised, *(entry.note for entry in entries if entry.kind == ANSWERS and entry.note)]

    def describe(self, *, history: bool = True) -> dict[str, Any]:
        """Return what can be queried: the table, its public columns and the protected ones.

        The family lock of a column and other disclosures depend on answers to others; without ``history`` only the
        policy is described.
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
        """Wait until no other process decides, bring the table and all decisions up to date, and yield a snapshot of
        the table.
        """
        with self._turns.taken(), self._database.look() as look:
            if look.state() != self._people.state:
                self._update(look)
            for entry in self._audits.after(self.settings.dataset, self._seen):
                self._settle(look, entry)
            yield look

    def _update(self, look: TableSnapshot) -> None:
        """Update to the current table, and pass the owner of every variable to the auditors."""
        rows = look.rows()
        columns = [*(values.alias(name) for name, values in rows.values.items()), *rows.public]
        self._ledger.know(self.settings.dataset, marks_of_columns([rows.keys], columns, self._ledger.people_key))
        self._people.update(rows)
        for name, column in self._columns.items():
            present = self._people.variables[name]
            column.extend(self._people.owners[name], present[present != MISSING])

    def _settle(self, look: TableSnapshot, entry: AuditEntry, members: NDArray[np.int64] | None = None) -> AuditEntry:
        """Complete a decision, and return it with its answer: compute the answer if it is not known, record it, update
        the auditors.

        ``members`` are unpacked from the record if they are not given.
        """
        column = self._columns.get(entry.column)
        if entry.answered and column is not None and not entry.is_noisy:
            members = unpacked(entry) if members is None else members
            if members[-1] >= len(self._people.owners[entry.column]):
                # Another process saw a state of the table that this one missed.
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
        """Return the entry with its answer. Only here are sensitive values read, after the decision is on disk."""
        function = cast(Asked, entry.function)
        rows = self._people.rows_of(entry.column, members)
        if rows is None:
            # Its answer was never returned. If decisions need no answers it still counts as answered.
            return self._audits.withdraw(entry) if self._needs_answers(entry) else entry
        answer = look.total(entry.column, function, rows)
        # If decisions need answers, a lost one could not be recomputed after a change, so it must survive a power
        # failure.
        self._audits.answer(entry.number, answer, durable=self._needs_answers(entry))
        return replace(entry, answer=answer)

    def _needs_answers(self, entry: AuditEntry) -> bool:
        return entry.function != "sum" or self.settings.sensitive[entry.column].chance is not None

    def _cells(self, statement: Statement) -> list[_Cell]:
        """Return the rows that a statement selects, split by its GROUP BY columns, from public columns alone; in the
        order of the public values.
        """
        public = self._people.public
        rows = np.arange(len(next(iter(self._people.variables.values()))))
        if statement.condition is not None:
            # A frame without columns has no rows; a condition on constants alone still needs the row count.
            frame = public if public.width else pl.DataFrame({"row": rows})
            truth = statement.condition.truth(frame)
            # Filling nulls is half of the cost of selecting rows, and there are seldom any.
            rows = np.flatnonzero((truth.fill_null(False) if truth.null_count() else truth).to_numpy())
        if not statement.groups:
            _check_length(1, statement)
            return [_Cell({}, rows)]
        names = list(statement.groups)
        # Generated names, because a public column may have any name.
        groups = [f"group {index}" for index in range(len(names))]
        public_values = public.select(pl.col(name).alias(group) for name, group in zip(names, groups, strict=True))
        chosen = public_values[rows].with_columns(pl.Series("rows", rows))
        grouped = chosen.group_by(groups).agg("rows").sort(groups, nulls_last=True)
        _check_length(grouped.height, statement)
        values = grouped.drop("rows").rows()
        lists = grouped["rows"]
        return [
            _Cell(dict(zip(names, value, strict=True)), np.sort(lists[index].to_numpy()))
            for index, value in enumerate(values)
        ]

    def _answers(
        self, look: TableSnapshot, aggregate: Aggregate, cells: Sequence[_Cell], question: int, allow_noise: bool
    ) -> list[CellAnswer]:
        """Return the answers of one aggregate, cell by cell: exact ones first, then noisy ones for what they deny."""
        answers: list[CellAnswer] = []
        is_paid = False
        for cell in cells:
            answer = self._answer(look, aggregate, cell, question)
            if answer.answered or answer.rule == "beside" or not allow_noise:
                answers += _spread(aggregate, answer)
                continue
            noisy, is_new = self._noisy_answers(look, aggregate, cell, answer, question, is_paid)
            answers += noisy
            is_paid |= is_new
        return answers

    def _answer(self, look: TableSnapshot, aggregate: Aggregate, cell: _Cell, question: int) -> CellAnswer:
        """Answer one aggregate of one cell without noise: from public columns, from the recorded decision, or by a new decision."""
        public_answer = self._public_answer(aggregate, cell)
        if public_answer is not None:
            return public_answer
        query = self._query(aggregate, cell)
        column = str(aggregate.column)
        if aggregate.noisy_only:
            return self._without_noise(aggregate, len(query))
        entry = self._audits.find(self.settings.dataset, column, query.function, query.identity)
        if entry is None:
            if refusal := self._refused():
                return CellAnswer(aggregate.label, False, "beside", refusal, len(query))
            decision = self._columns[column].decide(cast(Asked, query.function), query.members)
            verdict = _verdict(column, query, decision, query.function)
            entry = self._audits.decide(self.settings.dataset, question, verdict, beside=self._beside)
            entry = self._settle(look, entry, query.members)
        else:
            self._audits.asked_again(question, entry.number)
            if entry.answered and entry.answer is None:
                entry = self._computed(look, entry, query.members)
        return _answered(aggregate, entry)

    def _without_noise(self, aggregate: Aggregate, size: int) -> CellAnswer:
        """Return the denial of a query that has noisy answers only, or what other disclosures say."""
        if refused := self._refused():
            return CellAnswer(aggregate.label, False, "beside", refused, size)
        return CellAnswer(aggregate.label, False, "noise-only", _NOISE_ONLY, size)

    def _forecast(self, aggregate: Aggregate, cell: _Cell) -> CellAnswer:
        """Return the decision that an aggregate would get now, without recording it or reading values."""
        public_answer = self._public_answer(aggregate, cell)
        if public_answer is not None:
            return replace(public_answer, value=None)
        query = self._query(aggregate, cell)
        column = str(aggregate.column)
        if aggregate.noisy_only:
            return self._without_noise(aggregate, len(query))
        entry = self._audits.find(self.settings.dataset, column, query.function, query.identity)
        if entry is None and (refusal := self._refused()):
            return CellAnswer(aggregate.label, False, "beside", refusal, len(query))
        decision: Decision | AuditEntry = (
            entry if entry is not None else self._columns[column].decide(cast(Asked, query.function), query.members)
        )
        answered = decision.answered if isinstance(decision, AuditEntry) else decision.answer
        return CellAnswer(aggregate.label, answered, decision.rule, decision.reason, len(query))

    def _refused(self) -> str | None:
        """Return why no new query is answered: other disclosures about the same people were not assessed jointly."""
        return self._ledger.refusal(self.settings.dataset, ANSWERS, self._beside)

    def _public_answer(self, aggregate: Aggregate, cell: _Cell) -> CellAnswer | None:
        """Return counts and empty selections, which need no protected value."""
        rows = cell.rows
        if aggregate.column in self.settings.sensitive:
            rows = rows[self._people.variables[str(aggregate.column)][rows] != MISSING]
        elif aggregate.column is not None:
            rows = rows[self._people.public[aggregate.column][rows].is_not_null().to_numpy()]
        if aggregate.function == "count" and aggregate.cells is None:
            return CellAnswer(aggregate.label, True, "public", _PUBLIC, len(rows), Fraction(len(rows)))
        return CellAnswer(aggregate.label, True, "empty", _EMPTY, 0) if not rows.size else None

    def _query(self, aggregate: Aggregate, cell: _Cell) -> AggregateQuery:
        """Return the query that the auditors decide on: a maximum or minimum, or else the sum, of the values in a cell. Equal sets of variables are one query, however the statement was written."""
        variables = self._people.variables[str(aggregate.column)][cell.rows]
        function = aggregate.function if aggregate.function in ("max", "min") else "sum"
        return AggregateQuery(variables[variables != MISSING], function)

    def _noisy_answers(
        self, look: TableSnapshot, aggregate: Aggregate, cell: _Cell, denied: CellAnswer, question: int, is_paid: bool
    ) -> tuple[list[CellAnswer], bool]:
        """Return noisy answers for a denied query, or the denial with the reason why there are none; and whether noise
        was sampled.

        Each is charged and recorded before noise is sampled. With ``is_paid`` nothing more is charged, because another
        cell of the same query was.
        """
        column = self.settings.sensitive[str(aggregate.column)]
        kind, query = kind_of(aggregate.function), self._query(aggregate, cell)
        if kind is None or column.noise is None:
            reason = f"{denied.reason} {_NO_EXTREME if kind is None else _NO_BUDGET}"
            return _spread(aggregate, replace(denied, reason=reason)), False
        identity = identity_of(query.identity, aggregate.cells)
        entry = self._audits.find(self.settings.dataset, column.name, kind, identity)
        is_new = entry is None
        if entry is None:
            cost = None if is_paid else column.noise.each
            how_paid = (
                f"at a cost of epsilon = {cost} from the column's budget" if cost else "that its query has paid for"
            )
            decision = Decision(True, f"{sentence_case(kind)} {how_paid}, instead of a denied exact answer.", "noisy")
            verdict = _verdict(column.name, query, decision, kind)
            verdict = replace(verdict, identity=identity, cost=cost)
            try:
                entry = self._audits.decide(
                    self.settings.dataset, question, verdict, _BUDGET, beside=self._beside, opening=self._account
                )
            except BudgetExhausted:
                return _spread(aggregate, replace(denied, reason=f"{denied.reason} {_USED_UP}")), False
        else:
            self._audits.asked_again(question, entry.number)
        if not entry.is_computed:
            entry = self._measured(look, aggregate, entry, query)
        return _noisy(aggregate, entry), is_new

    def _measured(
        self, look: TableSnapshot, aggregate: Aggregate, entry: AuditEntry, query: AggregateQuery
    ) -> AuditEntry:
        """Return the entry with its noisy numbers. Only here are values read for them, after the decision is on disk."""
        column = self.settings.sensitive[entry.column]
        rows, kind = self._people.rows_of(column.name, query.members), kind_of(aggregate.function)
        assert rows is not None
        assert column.noise is not None
        assert kind is not None
        if kind == NOISY_SUM:
            total = look.cut_sum(column.name, rows, column.noise.low, column.noise.high)
            measured = noisy_sum(total, column.noise, column.unit)
        else:
            measured = noisy_numbers(kind, look.rows().values[column.name].gather(rows), column.noise, aggregate.cells)
        self._audits.measure(entry.number, measured)
        return replace(entry, measured=measured)

    def _open_budgets(self) -> None:
        for name, column in self.settings.sensitive.items():
            if column.noise is not None:
                self._ledger.budgets.open(self.settings.dataset, _BUDGET, column.noise.epsilon, column=name)

    def _check_account(self) -> None:
        """Refuse to start if noisy sums could never be charged to the existing privacy budget; an exhausted one still allows exact answers."""
        for name, column in self.settings.sensitive.items():
            if column.noise is not None:
                with suppress(BudgetExhausted):
                    cost = noisy_answer_cost(name, column.noise.each)
                    self._ledger.affordable(self.settings.dataset, cost, opening=self._account)

    @property
    def _account(self) -> DeclaredBudget:
        """Return the budget that the first noisy sum opens if there is none: the total of the columns' budgets."""
        noisy = [column.noise.epsilon for column in self.settings.sensitive.values() if column.noise is not None]
        return DeclaredBudget(Amounts(sum(noisy, Fraction(0))), "person", "replace")


def open_database(settings: Settings) -> Database:
    """Open the database that the settings name."""
    if settings.source.is_postgres:
        from reticent.audit.service.postgres import PostgresDatabase

        return PostgresDatabase(settings)
    from reticent.audit.service.embedded import EmbeddedDatabase

    return EmbeddedDatabase(settings)


def _check_length(cells: int, statement: Statement) -> None:
    """Refuse statements with too many answers: every aggregate of every cell is a decision, and one statement must not block the service."""
    buckets = statement.buckets
    cells *= 1 if buckets is None else buckets.size
    aggregate_count = len(statement.aggregates)
    if cells * aggregate_count <= MOST_ANSWERS:
        return
    problem = f"The query has {aggregate_count} aggregates"
    if statement.groups:
        per_cell = f" with {aggregate_count} aggregates each" if aggregate_count > 1 else ""
        problem = f"GROUP BY {', '.join(statement.groups)} gives {cells} cells{per_cell}"
    raise PolicyError(
        f"{problem}, and at most {MOST_ANSWERS} answers are returned at once. Use fewer GROUP BY columns or aggregates."
    )


def pack(members: NDArray[np.int64]) -> bytes:
    """Return a set of variables as a compressed bitmap."""
    bits = np.zeros(int(members[-1]) + 1, dtype=bool)
    bits[members] = True
    return zlib.compress(np.packbits(bits).tobytes(), 1)


def unpacked(entry: AuditEntry) -> NDArray[np.int64]:
    """Return the set of variables of an answered decision."""
    assert entry.members is not None
    return np.flatnonzero(np.unpackbits(np.frombuffer(zlib.decompress(entry.members), dtype=np.uint8)))


def _verdict(column: str, query: AggregateQuery, decision: Decision, function: str) -> AuditVerdict:
    """Return the record of a decision; its members are stored only if the query is answered."""
    members = pack(query.members) if decision.answer else None
    return AuditVerdict(
        column, function, query.identity, len(query), decision.answer, decision.rule, decision.reason, members
    )


def _answered(aggregate: Aggregate, entry: AuditEntry) -> CellAnswer:
    """Return the answer that a recorded decision gives; an average is the recorded sum divided by the number of
    members.
    """
    value = entry.answer
    if value is not None and aggregate.function == "avg":
        value /= entry.size
    return CellAnswer(aggregate.label, entry.answered, entry.rule, entry.reason, entry.size, value, entry.number)


def _noisy(aggregate: Aggregate, entry: AuditEntry) -> list[CellAnswer]:
    """Return the noisy answers that follow from the numbers of a decision."""
    answer = replace(_answered(aggregate, entry), noisy=True)
    if entry.measured is None:
        return [answer]
    statistics = estimated(aggregate.function, entry.measured, entry.size, aggregate.share)
    return [replace(answer, value=statistic.value, interval=statistic.interval) for statistic in statistics]


def _spread(aggregate: Aggregate, answer: CellAnswer) -> list[CellAnswer]:
    """Return the answer once for every bucket of the histogram that it is about."""
    return [answer] * (1 if aggregate.cells is None else aggregate.cells.size)


def _reply(statement: Statement, cells: list[_Cell], columns: list[list[CellAnswer]], question: int | None) -> Reply:
    """Return the answers of all columns as rows, one for each group and bucket."""
    buckets = statement.buckets
    groups = [
        cell.group | ({} if buckets is None else {buckets.label: label})
        for cell in cells
        for label in ((None,) if buckets is None else buckets.labels)
    ]
    rows = [Row(group, tuple(column[index] for column in columns)) for index, group in enumerate(groups)]
    return Reply(statement.text, tuple(rows), question)
