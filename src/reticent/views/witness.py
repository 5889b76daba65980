"""A concrete disclosure: a row, two small databases, and four reproducible answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any

from reticent.views.collision import Collision
from reticent.views.constants import Constant, decimal_text
from reticent.views.integer_queries import Codebook, CodedQuery, Fact
from reticent.views.queries import Query
from reticent.views.schema import Schema, SchemaColumn

Database = Mapping[str, tuple[tuple[Constant, ...], ...]]
Answers = tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class DatabaseWitness:
    """Adding ``row`` to ``secret_database`` changes the secret's answer; the same for the view's side.

    Without keys both rows are the same. With keys the view's row may differ: the two agree on the key, so a database
    holds at most one of them. With foreign keys it may be a row of another table, ``view_relation``. ``secret_answer``
    and ``view_answer`` are the answers gained with the row, with everything that is counted; the replay adds the four
    answers as SQL returns them.
    """

    relation: str
    row: tuple[Constant, ...]
    view_row: tuple[Constant, ...]
    secret_database: Database
    view_database: Database
    secret_answer: tuple[Constant, ...]
    view_answer: tuple[Constant, ...]
    about: tuple[Query, Query, Schema] = field(repr=False, compare=False)
    secret_before: Answers = ()
    secret_after: Answers = ()
    view_before: Answers = ()
    view_after: Answers = ()
    engine: str = ""
    view_relation: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "view_relation", self.view_relation or self.relation)

    def replay(self) -> bool:
        """Run both queries on the databases again; return True if adding the row changes both answers."""
        from reticent.views.replay import replayed

        return bool(replayed(self, *self.about).engine)

    def databases(self) -> dict[str, Database]:
        """The four databases by the name of their answer."""
        return {
            "secret_before": self.secret_database,
            "secret_after": with_row(self.secret_database, self.relation, self.row),
            "view_before": self.view_database,
            "view_after": with_row(self.view_database, self.view_relation, self.view_row),
        }

    def constants(self) -> Iterator[Constant]:
        """Yield every value of the rows, with repeats."""
        yield from (*self.row, *self.view_row)
        for database in (self.secret_database, self.view_database):
            yield from (item for rows in database.values() for row in rows for item in row)

    def as_dict(self) -> dict[str, Any]:
        """Return the witness as plain data."""
        return {
            "relation": self.relation,
            "view_relation": self.view_relation,
            "row": plain_row(self.row),
            "view_row": plain_row(self.view_row),
            "secret_database": _plain_database(self.secret_database),
            "view_database": _plain_database(self.view_database),
            "secret_before": [list(map(plain, answer)) for answer in self.secret_before],
            "secret_after": [list(map(plain, answer)) for answer in self.secret_after],
            "view_before": [list(map(plain, answer)) for answer in self.view_before],
            "view_after": [list(map(plain, answer)) for answer in self.view_after],
            "engine": self.engine,
        }


def with_row(database: Database, relation: str, row: tuple[Constant, ...]) -> Database:
    """Return the database with one more row."""
    rows = database.get(relation, ())
    return {**database, relation: rows if row in rows else (*rows, row)}


def build(collision: Collision, secret: Query, view: Query, schema: Schema, book: Codebook) -> DatabaseWitness:
    """Return the witness of a collision, with plausible values of the columns' types for free variables."""
    values = _Values(collision, (secret, view), schema, book)
    row = values.row(collision.secret.atoms[min(collision.secret_gamma)].terms)
    other = collision.view.atoms[min(collision.view_gamma)]
    view_row = values.row(other.terms)
    return DatabaseWitness(
        collision.relation,
        row,
        view_row,
        values.database(collision.secret, collision.secret_gamma, (collision.relation, row)),
        values.database(collision.view, collision.view_gamma, (other.relation, view_row)),
        values.row(collision.secret.head),
        values.row(collision.view.head),
        (secret, view, schema),
        view_relation=other.relation,
    )


class _Values:
    """Constants for the classes of a collision. Mutable: values are assigned as classes occur."""

    def __init__(self, collision: Collision, queries: Iterable[Query], schema: Schema, book: Codebook) -> None:
        """Take the values of the model, and record for each of its variables the column and type that a fresh value
        must have.
        """
        self._model = collision.model
        self._schema = schema
        self._book = book
        self._given: dict[int, Constant] = {}
        self._home: dict[int, tuple[str, SchemaColumn]] = {}
        self._taken = {book.constant(code) for code in collision.model.values() if code < 0}
        self._handed = 0
        kinds: dict[tuple[str, int], set[str]] = {}
        for query in queries:
            self._taken |= query.constants
            for atom in query.atoms():
                for position, term in enumerate(atom.terms):
                    if isinstance(term, Constant):
                        kinds.setdefault((atom.relation, position), set()).add(term.kind)
        for coded in (*collision.secret.atoms, *collision.view.atoms):
            columns = schema.relation(coded.relation).columns
            for position, code in enumerate(coded.terms):
                if code >= 0:
                    column = columns[position]
                    constant_kinds = kinds.get((coded.relation, position), {"number"})
                    kind = column.kind or ("text" if constant_kinds == {"text"} else "number")
                    self._home.setdefault(collision.model[code], (kind, column))

    def row(self, terms: Fact) -> tuple[Constant, ...]:
        return tuple(self._constant(code if code < 0 else self._model[code]) for code in terms)

    def database(
        self, query: CodedQuery, gamma: frozenset[int], excluded: tuple[str, tuple[Constant, ...]]
    ) -> Database:
        """Return the rows of the subgoals outside ``gamma``, without the ``excluded`` row."""
        tables: dict[str, dict[tuple[Constant, ...], None]] = {}
        for index, atom in enumerate(query.atoms):
            row = self.row(atom.terms)
            if index not in gamma and (atom.relation, row) != excluded:
                tables.setdefault(atom.relation, {})[row] = None
        return {relation: tuple(rows) for relation, rows in tables.items()}

    def _constant(self, code: int) -> Constant:
        """Return the constant of a code; a variable (a code from 0) gets a value that nothing else has."""
        if code < 0:
            return self._book.constant(code)
        if code not in self._given:
            kind, column = self._home[code]
            item = None
            while item is None or item in self._taken:
                self._handed += 1
                item = plausible(kind, column, self._handed)
            self._given[code] = item
        return self._given[code]


def plausible(kind: str, column: SchemaColumn, number: int) -> Constant:
    """Return a plausible value of the column's kind; each number gives a different one."""
    if kind == "date":
        return Constant("date", date(2000, 1, 1) + timedelta(days=number))
    if kind in ("timestamp", "moment"):
        return Constant(kind, datetime(2000, 1, 1) + timedelta(days=number))
    if kind == "number":
        return Constant("number", number)
    if kind == "boolean":
        return Constant("boolean", number % 2 == 1)
    return Constant("text", f"{column.name.lower()}{number}")


def plain(value: object) -> object:
    """Return a value in JSON form."""
    if isinstance(value, Constant):
        value = value.value
    if isinstance(value, Fraction):
        return decimal_text(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)


def plain_row(row: Iterable[Constant]) -> list[object]:
    """Return a row in JSON form."""
    return [plain(item) for item in row]


def _plain_database(database: Database) -> dict[str, list[list[object]]]:
    return {relation: [plain_row(row) for row in rows] for relation, rows in database.items()}
