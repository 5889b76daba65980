"""Search for witnesses of queries beyond the exact fragment: the original SQL is run on small databases until one row
changes both answers.

Aggregates, outer joins, LIKE, CASE, window functions and the like are over-approximated by the rows that they read, so
an overlap alone proves nothing. A database does: if removing one row changes the answer of the view, and in some
database also that of the secret, the row is critical to both, and the view discloses. An unsuccessful search proves
nothing.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from itertools import islice
from typing import Any

from sqlglot import exp

from reticent.errors import ReticentError
from reticent.views.constants import NULL, Constant, constant
from reticent.views.links import parents_of
from reticent.views.queries import Query
from reticent.views.replay import (
    NotReplayed,
    TookTooLong,
    answer_rows,
    fill_table,
    replay_on,
    scratch_database,
    statement_for,
)
from reticent.views.schema import Relation, Schema, SchemaColumn
from reticent.views.sql.dialect import body_of, fold, parse_statements
from reticent.views.witness import Database, DatabaseWitness

SECONDS = 20.0
_TRIALS = 120
_ROWS_TRIED = 8
_SIZES = (1, 2, 2, 3, 3, 4, 6, 8)
_SMALL = (1, 1, 1, 2)
_ATTEMPTS = 6
_LARGEST = 30
_REMEMBERED = 12
_NARROW = 0.5
_GRACE = 1.0
_COMPARISONS = (
    exp.EQ,
    exp.NEQ,
    exp.LT,
    exp.LTE,
    exp.GT,
    exp.GTE,
    exp.Between,
    exp.In,
    exp.Like,
    exp.ILike,
    exp.Case,
    exp.If,
)
BY_CHANCE = (exp.Rand, exp.CurrentDate, exp.CurrentTimestamp, exp.CurrentTime, exp.CurrentDatetime, exp.TableSample)
Row = tuple[Constant, ...]


def search(
    secret: Query,
    view: Query,
    schema: Schema,
    seconds: float = SECONDS,
    accepted: Callable[[DatabaseWitness], DatabaseWitness | None] | None = None,
) -> DatabaseWitness | None:
    """Return a witness that changes both answers in a real database, or None if none was found within the trials.

    With ``accepted``, which returns a witness under all constraints or None, small databases are tried whose rows refer
    to existing rows, as foreign keys require.
    """
    try:
        values = _TrialValues(schema, [each for query in (secret, view) for each in _parsed(query, schema)])
        shared = sorted(secret.relations() & view.relations())
        if not values.repeatable or secret.boundless or view.boundless or not (shared or accepted):
            return None
        relations = [schema.relation(name) for name in sorted(secret.relations() | view.relations())]
        if accepted is not None:
            relations = _parents_first(relations, schema)
    except (ReticentError, RecursionError):
        return None
    for engine in ("sqlite", "duckdb"):
        try:
            return _WitnessSearch(secret, view, schema, relations, shared, values, accepted).run(engine, seconds)
        except (NotReplayed, TookTooLong):
            continue
    return None


def _parents_first(relations: Sequence[Relation], schema: Schema) -> list[Relation]:
    """Return the tables and all that they reference, each after those that it references, except for cycles."""
    ordered: dict[str, Relation] = {}
    visited: set[str] = set()

    def add(relation: Relation) -> None:
        """Append a table after the tables that it references."""
        if relation.name not in visited:
            visited.add(relation.name)
            for link in parents_of(relation.name, schema):
                add(schema.relation(link.parent))
            ordered[relation.name] = relation

    for relation in relations:
        add(relation)
    return list(ordered.values())


def is_repeatable(query: Query, schema: Schema) -> bool:
    """True if the answers of a query depend on its tables alone: not on randomness, the time, or functions that may read anything."""
    try:
        return not query.boundless and not any(node.find(*BY_CHANCE) for node in _parsed(query, schema))
    except (ReticentError, RecursionError):
        return False


def _parsed(query: Query, schema: Schema) -> Iterator[exp.Expr]:
    """Yield the syntax trees of a query and of the stored views that it reads."""
    if query.language == "datalog":
        return
    waiting, read = [query.text], set[str]()
    while waiting:
        for statement in parse_statements(waiting.pop(), query.language, query.name or "The query"):
            node = body_of(statement)
            yield node
            names = {table.name for table in node.find_all(exp.Table)} - read
            read |= names
            waiting += [text for name in names if (text := schema.find_view(name)) is not None]


@dataclass(frozen=True)
class _TrialValues:
    """The values to try: constants that the queries compare a column with, neighbouring values, and a few shared by joins."""

    schema: Schema
    nodes: Sequence[exp.Expr]
    compared: Mapping[str, list[Constant]] = field(init=False)
    sizes: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        """Collect from the queries the constants that each column is compared with, and table sizes around the
        constants that counts are compared with.
        """
        compared: dict[str, list[Constant]] = {}
        counts: list[int] = []
        for node in self.nodes:
            for comparison in node.find_all(*_COMPARISONS):
                items = [
                    item
                    for literal in comparison.find_all(exp.Literal, exp.Boolean, exp.Cast)
                    if (item := fold(literal)) is not None
                ]
                for column in comparison.find_all(exp.Column):
                    compared.setdefault(column.name.lower(), []).extend(items)
                if comparison.find(exp.Count):
                    counts += [
                        int(item.value) for item in items if item.kind == "number" and 0 <= item.value < _LARGEST
                    ]
        object.__setattr__(self, "compared", compared)
        object.__setattr__(self, "sizes", (*_SIZES, *(count + step for count in counts for step in (0, 1, 2))))

    @property
    def repeatable(self) -> bool:
        """True if the answers depend on the tables alone."""
        return not any(node.find(*BY_CHANCE) for node in self.nodes)

    def of(self, column: SchemaColumn, rows: int) -> list[Constant]:
        """Return the values of a column in tables of this many rows."""
        if column.domain is not None:
            return [*column.domain, *([NULL] if column.nullable else [])]
        compared = self.compared.get(column.name.lower(), ())
        fills = [
            "",
            "x",
            *(constant_compared.value.strip("%") for constant_compared in compared if constant_compared.kind == "text"),
        ]
        named = [item for constant_compared in compared for item in _around(constant_compared, column, fills)]
        usual = _usual(column, rows)
        # Values that are compared matter most.
        return [*named, *named, *usual, *([NULL] if column.nullable else [])]


def _around(item: Constant, column: SchemaColumn, fills: Sequence[str]) -> Iterator[Constant]:
    """Yield a constant and neighbouring values; for a pattern, texts with its wildcards filled."""
    if item.kind == "text" and ("%" in item.value or "_" in item.value):
        texts = [item.value.replace("%", filled).replace("_", "a") for filled in fills]
    else:
        texts = []
    for candidate in [*(constant(text) for text in texts), item]:
        try:
            stored = column.read(candidate)
        except ValueError:
            continue
        neighbours = [stored]
        if stored.kind == "number":
            neighbours += [Constant("number", stored.value + step) for step in (-1, 1)]
        elif stored.kind in ("date", "timestamp") and isinstance(stored.value, date | datetime):
            neighbours += [Constant(stored.kind, stored.value + timedelta(days=step)) for step in (-1, 1)]
        yield from (neighbour for neighbour in neighbours if column.holds(neighbour))


def _usual(column: SchemaColumn, rows: int) -> list[Constant]:
    """Return a few usual values of a column's type."""
    if column.kind == "date":
        return [Constant("date", date(2020, 1, 1) + timedelta(days=40 * step)) for step in range(2)]
    if column.kind in ("timestamp", "moment"):
        return [Constant(column.kind, datetime(2020, 1, 1) + timedelta(days=40 * step)) for step in range(2)]
    if column.kind == "boolean":
        return [Constant("boolean", True), Constant("boolean", False)]
    if column.kind == "number":
        return [Constant("number", step) for step in range(1, max(rows, 2) + 1)]
    return [Constant("text", letter) for letter in "ab"]


@dataclass
class _WitnessSearch:
    """One search. Mutable: remembers rows that changed one of the answers. Deterministic for the same queries."""

    secret: Query
    view: Query
    schema: Schema
    relations: list[Relation]
    shared: list[str]
    values: _TrialValues
    accepted: Callable[[DatabaseWitness], DatabaseWitness | None] | None = None
    critical: tuple[dict[tuple[str, Row], Database], dict[tuple[str, Row], Database]] = field(
        default_factory=lambda: ({}, {})
    )
    narrow: bool = False
    attempts: int = _ATTEMPTS
    rng: random.Random = field(default_factory=lambda: random.Random(20))

    def run(self, engine: str, seconds: float) -> DatabaseWitness | None:
        """Try random databases until rows change both answers, or the time is over."""
        deadline = time.monotonic() + seconds
        statements = [statement_for(query, self.schema, engine) for query in (self.secret, self.view)]
        with scratch_database(engine, self.relations, seconds + _GRACE) as execute:
            for _ in range(_TRIALS):
                if time.monotonic() > deadline:
                    return None
                witness = self._tried(execute, engine, statements)
                if witness is not None:
                    return witness
        return None

    def _tried(self, execute: Callable[..., Any], engine: str, statements: Sequence[str]) -> DatabaseWitness | None:
        """Return a witness that one random database gives; None if it gives none.

        Removes its rows one by one, and keeps each row that changes an answer for later trials.
        """
        database = self._database()
        for relation in self.relations:
            fill_table(execute, engine, relation, database.get(relation.name, ()))
        before = [_answers(execute, text) for text in statements]
        if not any(before):
            return None
        tables = self.shared if self.accepted is None else list(database)
        rows = [(name, row) for name in tables for row in database.get(name, ())]
        changing: tuple[list[tuple[str, Row]], list[tuple[str, Row]]] = ([], [])
        for name, row in self.rng.sample(rows, min(len(rows), _ROWS_TRIED)):
            relation = self.schema.relation(name)
            without = {**database, name: tuple(kept_row for kept_row in database[name] if kept_row != row)}
            fill_table(execute, engine, relation, without[name])
            after = [_answers(execute, text) for text in statements]
            fill_table(execute, engine, relation, database[name])
            for critical_rows, changing_rows, query, answer_before, answer_after in zip(
                self.critical, changing, (self.secret, self.view), before, after, strict=True
            ):
                if (
                    (answer_before != answer_after)
                    if query.duplicates
                    else (answer_before.keys() != answer_after.keys())
                ):
                    critical_rows.setdefault((name, row), without)
                    changing_rows.append((name, row))
            for secret_row, view_row in self._meeting(name, row):
                witness = self._confirmed(name, secret_row, view_row)
                if witness is not None:
                    return witness
        return self._tied(database, *changing) if self.accepted is not None else None

    def _tied(
        self, database: Database, secret_rows: Sequence[tuple[str, Row]], view_rows: Sequence[tuple[str, Row]]
    ) -> DatabaseWitness | None:
        """Return a witness of rows of one database that change one answer each; only foreign keys may link them."""
        for (name, row), (view_name, view_row) in zip(secret_rows[:1], view_rows[:1], strict=False):
            if self.attempts and self.accepted is not None:
                self.attempts -= 1
                about = (self.secret, self.view, self.schema)
                return self.accepted(
                    DatabaseWitness(name, row, view_row, database, database, (), (), about, view_relation=view_name)
                )
        return None

    def _meeting(self, name: str, row: Row) -> list[tuple[Row, Row]]:
        """Return rows critical to the secret and to the view, one of them ``row``, that are equal or mutually exclusive by a key."""
        keys = [key.columns for key in self.schema.relation(name).keys]

        def meets(other: Row) -> bool:
            """True if a row is equal to ``row``, or has the same key without NULL."""
            return other == row or any(
                all(other[column] == row[column] and row[column] != NULL for column in key) for key in keys
            )

        secret_rows, view_rows = (
            [critical_row for table, critical_row in critical_rows if table == name and meets(critical_row)]
            for critical_rows in self.critical
        )
        pairs = [(row, critical_row) for critical_row in view_rows if row in secret_rows] + [
            (critical_row, row) for critical_row in secret_rows if row in view_rows
        ]
        return list(dict.fromkeys(pairs))[:2]

    def _pool(self, relation: Relation, position: int, count: int) -> list[Constant]:
        """Return the values of a column; in a narrow database one or two, so that groups are large and joins match, except for keys."""
        pool = self.values.of(relation.columns[position], count)
        if not self.narrow or any(key.columns == (position,) for key in relation.keys):
            return pool
        return self.rng.choices(pool, k=self.rng.choice((1, 1, 2)))

    def _confirmed(self, name: str, row: Row, view_row: Row) -> DatabaseWitness | None:
        """Return the witness that two rows give, if the first engine that can run both texts confirms it; otherwise
        forget the rows.
        """
        if any(
            (name, row_of_side) not in critical_rows
            for critical_rows, row_of_side in zip(self.critical, (row, view_row), strict=True)
        ):
            # It was tried together with another row, and was not a witness.
            return None
        secret_database, view_database = (
            critical_rows[name, row_of_side]
            for critical_rows, row_of_side in zip(self.critical, (row, view_row), strict=True)
        )
        about = (self.secret, self.view, self.schema)
        witness = DatabaseWitness(name, row, view_row, secret_database, view_database, (), (), about)
        for engine in ("duckdb", "sqlite"):
            try:
                replayed = replay_on(engine, witness, *about)
            except (NotReplayed, TookTooLong):
                continue
            confirmed = replayed if self.accepted is None else self.accepted(replayed)
            if confirmed is not None:
                return confirmed
            break
        for critical_rows, row_of_side in zip(self.critical, (row, view_row), strict=True):
            critical_rows.pop((name, row_of_side), None)
        return None

    def _database(self) -> Database:
        """Return random rows of every table that both queries read, each key once, and rows that changed one of the answers before."""
        count = self.rng.choice(self.values.sizes if self.accepted is None else _SMALL)
        self.narrow = self.rng.random() < _NARROW
        database: Database = {}
        for relation in self.relations:
            pools = [self._pool(relation, position, count) for position in range(len(relation.columns))]
            rows = [tuple(map(self.rng.choice, pools)) for _ in range(count)]
            if self.accepted is not None:
                rows = [self._naming(row, relation, database) for row in rows]
            database = {**database, relation.name: tuple(_keyed(rows, relation))}
        remembered = [pair for critical_rows in self.critical for pair in islice(critical_rows, _REMEMBERED)]
        for name, row in self.rng.sample(remembered, min(len(remembered), 2)):
            relation = self.schema.relation(name)
            database = {**database, name: tuple(_keyed([row, *database[name]], relation))}
        return database

    def _naming(self, row: Row, relation: Relation, database: Database) -> Row:
        """Return the row with its foreign-key columns set to the values of random existing parents."""
        values = list(row)
        for link in parents_of(relation.name, self.schema):
            parents = database.get(self.schema.relation(link.parent).name, ())
            if parents:
                parent = self.rng.choice(parents)
                for position, referred in zip(link.columns, link.references, strict=True):
                    values[position] = parent[referred]
        return tuple(values)


def _answers(execute: Callable[..., Any], statement: str) -> Counter[str]:
    return Counter(map(repr, answer_rows(execute, statement)))


def _keyed(rows: Sequence[Row], relation: Relation) -> list[Row]:
    """Return rows of which no two agree on a key."""
    distinct_rows: list[Row] = []
    used_keys: set[tuple[int, Row]] = set()
    for row in dict.fromkeys(rows):
        keys = [
            (number, tuple(row[position] for position in key.columns))
            for number, key in enumerate(relation.keys)
            if NULL not in [row[position] for position in key.columns]
        ]
        if not any(key_values in used_keys for key_values in keys):
            used_keys.update(keys)
            distinct_rows.append(row)
    return distinct_rows
