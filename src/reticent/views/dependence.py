"""Dependence proved by enumeration: a few rows, every database of them that satisfies all constraints, and both answers
in each, from a real database.

With keys alone, a row that changes both answers proves a disclosure ([Machanavajjhala2008], Theorem 2.5). With foreign
keys it does not, because a row may be impossible without another one, and a disclosure may need no common row. Here the
definition itself is evaluated: a prior of independent rows, conditioned on the constraints, under which the view's
answer changes the belief about the secret's answer. Rows that are not listed have probability 0, fixed rows probability
1; a dependence there persists under nearby priors with full support.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

from reticent.errors import ReticentError
from reticent.views.constants import NULL, Constant
from reticent.views.links import TieStep, parents_of
from reticent.views.queries import Query
from reticent.views.replay import (
    NotReplayed,
    TookTooLong,
    answer_rows,
    fill_table,
    replay_on,
    replayed,
    scratch_database,
    statement_for,
)
from reticent.views.row_rules import satisfies_checks
from reticent.views.schema import Relation, Schema, SchemaColumn
from reticent.views.witness import Database, DatabaseWitness, plausible
from reticent.views.witness_search import is_repeatable

Row = tuple[Constant, ...]
Fact = tuple[str, Row]
MOST_RANDOM = 9
_MOST_ROWS = 40
_SECONDS = 20.0


@dataclass(frozen=True)
class SmallWorld:
    """Fixed rows and random rows of tables with constraints."""

    schema: Schema
    fixed: tuple[Fact, ...]
    random: tuple[Fact, ...]

    def databases(self) -> Iterator[tuple[frozenset[Fact], tuple[Fact, ...]]]:
        """Yield every choice of random rows that satisfies the constraints, with the whole database."""
        for count in range(len(self.random) + 1):
            for chosen in combinations(self.random, count):
                facts = (*self.fixed, *chosen)
                if is_possible(facts, self.schema):
                    yield frozenset(chosen), facts


def is_possible(facts: Sequence[Fact], schema: Schema) -> bool:
    """True if a database satisfies keys, foreign keys and CHECK constraints."""
    for name in {name for name, _ in facts}:
        relation = schema.relation(name)
        rows = [row for table, row in facts if table == name]
        for key in relation.keys:
            filled = [values for row in rows if NULL not in (values := tuple(row[column] for column in key.columns))]
            if len(set(filled)) < len(filled):
                return False
        if not all(satisfies_checks(relation, row) for row in rows):
            return False
        for link in parents_of(name, schema):
            parent = schema.relation(link.parent).name
            parent_values = {
                tuple(row[column] for column in link.references) for table, row in facts if table == parent
            }
            for row in rows:
                referring = tuple(row[column] for column in link.columns)
                if NULL not in referring and referring not in parent_values:
                    return False
    return True


def prove(witness: DatabaseWitness, steps: Sequence[TieStep], seconds: float = _SECONDS) -> DatabaseWitness | None:
    """Return a witness in possible databases, after enumerating all databases of its rows and finding the answers
    dependent; None if they are not.

    ``witness`` has the rows that the two queries depend on and the databases in which they do, ignoring foreign keys;
    ``steps`` link one row to the other.
    """
    secret, view, schema = witness.about
    if not (is_repeatable(secret, schema) and is_repeatable(view, schema)):
        return None
    try:
        ends = (witness.relation, witness.row), (witness.view_relation, witness.view_row)
        chain = _chain(ends[0], ends[1], steps, schema)
        worlds = list(_worlds(chain, witness.secret_database, witness.view_database, schema))
    except (_NoSuchRows, ReticentError):
        return None
    engines = [("sqlite", False), ("duckdb", False)]
    # Rules are equivalent to the text if nothing was dropped from them.
    for engine, translated in engines if secret.inexact or view.inexact else [*engines, ("sqlite", True)]:
        try:
            statements = [statement_for(query, schema, engine, translated) for query in (secret, view)]
            for world in worlds:
                if len(world.random) <= MOST_RANDOM:
                    shown = _shown(world, witness, statements, engine, seconds)
                    if shown is not None:
                        return shown
        except (NotReplayed, TookTooLong):
            continue
    return None


def _worlds(chain: Sequence[Fact], secret: Database, view: Database, schema: Schema) -> Iterator[SmallWorld]:
    """Yield small families of possible databases: rows of ``chain`` are random, and the rows of both witness databases,
    or of one, are fixed.

    Also with every row random that refers to the chain, and with all rows random if they are few.
    """
    for databases in ([secret, view], [secret], [view]):
        database_rows = [(name, row) for database in databases for name, rows in database.items() for row in rows]
        completed = _completed([*chain, *database_rows], schema)
        yield SmallWorld(schema, tuple(fact for fact in completed if fact not in chain), tuple(chain))
        random_rows = _with_dependents(chain, completed, schema)
        if len(chain) < len(random_rows) < len(completed):
            yield SmallWorld(schema, tuple(fact for fact in completed if fact not in random_rows), tuple(random_rows))
        if len(chain) < len(completed) <= MOST_RANDOM:
            yield SmallWorld(schema, (), tuple(completed))


def _with_dependents(chain: Sequence[Fact], facts: Sequence[Fact], schema: Schema) -> list[Fact]:
    """Return the rows of the chain and, transitively, all rows that refer to them: a row can be absent only if they are."""
    rows = list(dict.fromkeys(chain))
    for name, row in rows:
        for child, child_row in facts:
            for link in parents_of(child, schema):
                referring = tuple(child_row[column] for column in link.columns)
                referred = tuple(row[column] for column in link.references)
                is_parent = (
                    schema.relation(link.parent).name == name and NULL not in referring and referring == referred
                )
                if is_parent and (child, child_row) not in rows:
                    rows.append((child, child_row))
    return rows


class _NoSuchRows(Exception):
    """The rows of a chain cannot be constructed."""


def _chain(first: Fact, last: Fact, steps: Sequence[TieStep], schema: Schema) -> list[Fact]:
    """Return rows from ``first`` to ``last``, each linked to the next by one of the steps; without steps these two.

    Values that the links do not determine are fresh. Raises if the links contradict the two rows.
    """
    if not steps:
        return list(dict.fromkeys([first, last]))
    rows: list[dict[int, Constant]] = [dict(enumerate(first[1]))]
    names = [first[0], *(step.relation for step in steps)]
    for step in steps:
        rows.append(
            {
                after: rows[-1][before]
                for before, after in zip(step.columns, step.next_columns, strict=True)
                if before in rows[-1]
            }
        )
    rows[-1] = dict(enumerate(last[1]))
    fresh = _FreshValues([*first[1], *last[1]])
    for index in range(len(steps) - 1, -1, -1):
        step, row = steps[index], rows[index]
        for before, after in zip(step.columns, step.next_columns, strict=True):
            value = rows[index + 1].setdefault(after, fresh.of(schema.relation(names[index + 1]).columns[after]))
            if row.setdefault(before, value) != value or value == NULL:
                raise _NoSuchRows
    return list(
        dict.fromkeys((name, fresh.row(schema.relation(name), row)) for name, row in zip(names, rows, strict=True))
    )


def _completed(facts: Sequence[Fact], schema: Schema) -> list[Fact]:
    """Return the rows, completed with parent rows until no foreign key is violated."""
    rows = list(dict.fromkeys(facts))
    fresh = _FreshValues([item for _, row in rows for item in row])
    for name, row in rows:
        for link in parents_of(name, schema):
            parent = schema.relation(link.parent)
            referring = tuple(row[column] for column in link.columns)
            parent_values = (
                tuple(row_of_parent[column] for column in link.references)
                for table, row_of_parent in rows
                if table == parent.name
            )
            if NULL in referring or referring in parent_values:
                continue
            if len(rows) >= _MOST_ROWS:
                raise _NoSuchRows
            rows.append((parent.name, fresh.row(parent, dict(zip(link.references, referring, strict=True)), schema)))
    return rows


@dataclass
class _FreshValues:
    """Values that no row has yet. Mutable: they are handed out one after the other."""

    taken: list[Constant]
    handed: int = 500

    def of(self, column: SchemaColumn) -> Constant:
        """Return a value for a column that was not used before, or the first value of its finite domain."""
        if column.domain is not None:
            return column.domain[0]
        item = None
        while item is None or item in self.taken:
            self.handed += 1
            item = plausible(column.kind or "number", column, self.handed)
        self.taken.append(item)
        return item

    def row(self, relation: Relation, given: dict[int, Constant], schema: Schema | None = None) -> Row:
        """Return a row with some given values; foreign-key columns are NULL if allowed, or refer to the row itself if it is its own parent."""
        links = list(parents_of(relation.name, schema)) if schema is not None else []
        foreign_key_columns = {column_index for link in links for column_index in link.columns}
        row = dict(given)
        for column_index, column in enumerate(relation.columns):
            if column_index not in row:
                row[column_index] = NULL if column_index in foreign_key_columns and column.nullable else self.of(column)
        for link in links:
            if link.parent.lower() == relation.name.lower():
                for column_index, referred in zip(link.columns, link.references, strict=True):
                    if column_index not in given and row[column_index] != NULL:
                        row[column_index] = row[referred]
        return tuple(row[column_index] for column_index in range(len(relation.columns)))


@dataclass
class _Answers:
    """The answers of both queries in every possible database of a small world."""

    seen: list[tuple[frozenset[Fact], tuple[Fact, ...], tuple[str, str]]] = field(default_factory=list)

    def dependent(self, random: Sequence[Fact]) -> bool:
        """True if the two answers are dependent when the random facts occur independently, all with odds 1, or with
        odds 2, 3, 4, ...

        Odds are integers, so the test is exact.
        """
        return any(
            self._under({fact: odds(rank) for rank, fact in enumerate(random)})
            for odds in (lambda _: 1, lambda rank: rank + 2)
        )

    def _under(self, odds: dict[Fact, int]) -> bool:
        """Return whether the two answers are dependent if every random fact has the given odds, in exact integers."""
        joint: Counter[tuple[str, str]] = Counter()
        for chosen, _, answers in self.seen:
            weight = 1
            for fact in chosen:
                weight *= odds[fact]
            joint[answers] += weight
        sides: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
        for answers, weight in joint.items():
            for side, answer in zip(sides, answers, strict=True):
                side[answer] += weight
        total = joint.total()
        return any(
            joint[secret_answer, view_answer] * total != sides[0][secret_answer] * sides[1][view_answer]
            for secret_answer in sides[0]
            for view_answer in sides[1]
        )

    def changed_by(self, fact: Fact, query_index: int) -> tuple[Fact, ...] | None:
        """Return a possible database to which ``fact`` can be added such that the answer of the secret (``query_index``
        0) or the view (1) changes; None if there is none.
        """
        by_rows = {chosen: (facts, answers) for chosen, facts, answers in self.seen}
        for chosen, (facts, answers) in by_rows.items():
            if (
                fact not in chosen
                and (after := by_rows.get(chosen | {fact})) is not None
                and after[1][query_index] != answers[query_index]
            ):
                return facts
        return None


def _shown(
    world: SmallWorld, witness: DatabaseWitness, statements: Sequence[str], engine: str, seconds: float
) -> DatabaseWitness | None:
    """Return a witness if both answers depend on each other when the random facts of ``world`` vary, measured in a
    database; None if they do not, or not in time.
    """
    secret, view, schema = witness.about
    used = {name for name, _ in (*world.fixed, *world.random)} | secret.relations() | view.relations()
    relations = [schema.relation(name) for name in sorted(used)]
    answers, deadline = _Answers(), time.monotonic() + seconds
    with scratch_database(engine, relations, seconds + 1) as execute:
        for chosen, facts in world.databases():
            if time.monotonic() > deadline:
                return None
            database = _database(facts)
            for relation in relations:
                fill_table(execute, engine, relation, database.get(relation.name, ()))
            answer_pair = [_told(execute, text, query) for text, query in zip(statements, (secret, view), strict=True)]
            answers.seen.append((chosen, facts, (answer_pair[0], answer_pair[1])))
    if not answers.dependent(world.random):
        return None
    return _witnessed(world, witness, answers, engine)


def _told(execute: Callable[..., Any], text: str, query: Query) -> str:
    """Return an answer as one text: all rows, or the distinct ones."""
    rows = sorted(map(repr, answer_rows(execute, text)))
    return repr(rows if query.duplicates else sorted(set(rows)))


def _database(facts: Sequence[Fact]) -> Database:
    return {
        name: tuple(row for where, row in facts if where == name) for name in dict.fromkeys(name for name, _ in facts)
    }


def _witnessed(world: SmallWorld, witness: DatabaseWitness, answers: _Answers, engine: str) -> DatabaseWitness | None:
    """Return the witness with the first random rows that change the answer of the secret and of the view, each in a
    possible database; None if one of them never changes.
    """
    secret_change, view_change = (
        next(
            ((fact, facts) for fact in world.random if (facts := answers.changed_by(fact, query_index)) is not None),
            None,
        )
        for query_index in (0, 1)
    )
    if secret_change is None or view_change is None:
        return None
    (name, row), before = secret_change
    (view_name, view_row), view_before = view_change
    result = replace(
        witness,
        relation=name,
        view_relation=view_name,
        row=row,
        view_row=view_row,
        secret_database=_database(before),
        view_database=_database(view_before),
        secret_answer=(),
        view_answer=(),
        engine=engine,
    )
    try:
        return replay_on(engine, result, *witness.about)
    except NotReplayed:
        return replayed(result, *witness.about)
