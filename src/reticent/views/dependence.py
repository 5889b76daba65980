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
        rows = [row for where, row in facts if where == name]
        for key in relation.keys:
            filled = [values for row in rows if NULL not in (values := tuple(row[place] for place in key.columns))]
            if len(set(filled)) < len(filled):
                return False
        if not all(satisfies_checks(relation, row) for row in rows):
            return False
        for link in parents_of(name, schema):
            parent = schema.relation(link.parent).name
            there = {tuple(row[place] for place in link.references) for where, row in facts if where == parent}
            for row in rows:
                named = tuple(row[place] for place in link.columns)
                if NULL not in named and named not in there:
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
    own = [("sqlite", False), ("duckdb", False)]
    # Rules are equivalent to the text if nothing was dropped from them.
    for engine, translated in own if secret.inexact or view.inexact else [*own, ("sqlite", True)]:
        try:
            statements = [statement_for(query, schema, engine, translated) for query in (secret, view)]
            for world in worlds:
                if len(world.random) <= MOST_RANDOM:
                    found = _shown(world, witness, statements, engine, seconds)
                    if found is not None:
                        return found
        except (NotReplayed, TookTooLong):
            continue
    return None


def _worlds(chain: Sequence[Fact], secret: Database, view: Database, schema: Schema) -> Iterator[SmallWorld]:
    """Yield worlds: the chain with the fixed databases of both sides, or of one of them; and everything random, if that is small enough."""
    for databases in ([secret, view], [secret], [view]):
        around = [(name, row) for database in databases for name, rows in database.items() for row in rows]
        completed = _completed([*chain, *around], schema)
        yield SmallWorld(schema, tuple(fact for fact in completed if fact not in chain), tuple(chain))
        moving = _with_dependents(chain, completed, schema)
        if len(chain) < len(moving) < len(completed):
            yield SmallWorld(schema, tuple(fact for fact in completed if fact not in moving), tuple(moving))
        if len(chain) < len(completed) <= MOST_RANDOM:
            yield SmallWorld(schema, (), tuple(completed))


def _with_dependents(chain: Sequence[Fact], facts: Sequence[Fact], schema: Schema) -> list[Fact]:
    """Return the rows of the chain and, transitively, all rows that refer to them: a row can be absent only if they are."""
    found = list(dict.fromkeys(chain))
    for name, row in found:
        for child, other in facts:
            for link in parents_of(child, schema):
                named = tuple(other[place] for place in link.columns)
                referred = tuple(row[place] for place in link.references)
                is_parent = schema.relation(link.parent).name == name and NULL not in named and named == referred
                if is_parent and (child, other) not in found:
                    found.append((child, other))
    return found


class _NoSuchRows(Exception):
    """The rows of a chain cannot be constructed."""


def _chain(first: Fact, last: Fact, steps: Sequence[TieStep], schema: Schema) -> list[Fact]:
    """Return rows from the first to the last, each linked to the next; without steps the two ends."""
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
    for place in range(len(steps) - 1, -1, -1):
        step, row = steps[place], rows[place]
        for before, after in zip(step.columns, step.next_columns, strict=True):
            wanted = rows[place + 1].setdefault(after, fresh.of(schema.relation(names[place + 1]).columns[after]))
            if row.setdefault(before, wanted) != wanted or wanted == NULL:
                raise _NoSuchRows
    return list(
        dict.fromkeys((name, fresh.row(schema.relation(name), row)) for name, row in zip(names, rows, strict=True))
    )


def _completed(facts: Sequence[Fact], schema: Schema) -> list[Fact]:
    """Return the rows, completed with parent rows until no foreign key is violated."""
    found = list(dict.fromkeys(facts))
    fresh = _FreshValues([item for _, row in found for item in row])
    for name, row in found:
        for link in parents_of(name, schema):
            parent = schema.relation(link.parent)
            named = tuple(row[place] for place in link.columns)
            there = (tuple(each[place] for place in link.references) for where, each in found if where == parent.name)
            if NULL in named or named in there:
                continue
            if len(found) >= _MOST_ROWS:
                raise _NoSuchRows
            found.append((parent.name, fresh.row(parent, dict(zip(link.references, named, strict=True)), schema)))
    return found


@dataclass
class _FreshValues:
    """Values that no row has yet. Mutable: they are handed out one after the other."""

    taken: list[Constant]
    handed: int = 500

    def of(self, column: SchemaColumn) -> Constant:
        if column.domain is not None:
            return column.domain[0]
        item = None
        while item is None or item in self.taken:
            self.handed += 1
            item = plausible(column.kind or "number", column, self.handed)
        self.taken.append(item)
        return item

    def row(self, relation: Relation, known: dict[int, Constant], schema: Schema | None = None) -> Row:
        """Return a row with some given values; foreign-key columns are NULL if allowed, or refer to the row itself if it is its own parent."""
        links = list(parents_of(relation.name, schema)) if schema is not None else []
        naming = {place for link in links for place in link.columns}
        row = dict(known)
        for place, column in enumerate(relation.columns):
            if place not in row:
                row[place] = NULL if place in naming and column.nullable else self.of(column)
        for link in links:
            if link.parent.lower() == relation.name.lower():
                for place, own in zip(link.columns, link.references, strict=True):
                    if place not in known and row[place] != NULL:
                        row[place] = row[own]
        return tuple(row[place] for place in range(len(relation.columns)))


@dataclass
class _Answers:
    """The answers of both queries in every possible database of a small world."""

    seen: list[tuple[frozenset[Fact], tuple[Fact, ...], tuple[str, str]]] = field(default_factory=list)

    def dependent(self, random: Sequence[Fact]) -> bool:
        """True if the answers are dependent under one of two priors; odds are integers, so this is exact."""
        return any(
            self._under({fact: odds(place) for place, fact in enumerate(random)})
            for odds in (lambda _: 1, lambda place: place + 2)
        )

    def _under(self, odds: dict[Fact, int]) -> bool:
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
            joint[one, other] * total != sides[0][one] * sides[1][other] for one in sides[0] for other in sides[1]
        )

    def changed_by(self, fact: Fact, place: int) -> tuple[Fact, ...] | None:
        """Return a possible database that is also possible with one more row, which changes an answer."""
        by_rows = {chosen: (facts, answers) for chosen, facts, answers in self.seen}
        for chosen, (facts, answers) in by_rows.items():
            if (
                fact not in chosen
                and (after := by_rows.get(chosen | {fact})) is not None
                and after[1][place] != answers[place]
            ):
                return facts
        return None


def _shown(
    world: SmallWorld, witness: DatabaseWitness, statements: Sequence[str], engine: str, seconds: float
) -> DatabaseWitness | None:
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
            told = [_told(execute, text, query) for text, query in zip(statements, (secret, view), strict=True)]
            answers.seen.append((chosen, facts, (told[0], told[1])))
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
    """Return the first random rows that change one answer each, in possible databases."""
    hidden, shown = (
        next(((fact, facts) for fact in world.random if (facts := answers.changed_by(fact, place)) is not None), None)
        for place in (0, 1)
    )
    if hidden is None or shown is None:
        return None
    (name, row), before = hidden
    (view_name, view_row), view_before = shown
    found = replace(
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
        return replay_on(engine, found, *witness.about)
    except NotReplayed:
        return replayed(found, *witness.about)
