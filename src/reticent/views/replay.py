"""Run the user's own SQL on a witness, in SQLite or DuckDB, to demonstrate a disclosure."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, datetime
from fractions import Fraction
from typing import Any

from reticent.views.constants import Constant, rounds_alike
from reticent.views.queries import Query
from reticent.views.schema import Relation, Schema, SchemaColumn
from reticent.views.sql_text import quoted, table_name, to_sql
from reticent.views.witness import Answers, Database, DatabaseWitness

_SQLITE_TYPES = {
    "number": "NUMERIC",
    "text": "TEXT",
    "boolean": "BOOLEAN",
    "date": "TEXT",
    "timestamp": "TEXT",
    "moment": "TEXT",
    "other": "TEXT",
}
_DUCKDB_TYPES = {
    "number": "DOUBLE",
    "text": "VARCHAR",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "moment": "TIMESTAMPTZ",
    "other": "VARCHAR",
}


SECONDS = 2.0
_MOST_ROWS = 100_000


class NotReplayed(Exception):
    """No available engine can run this query text."""


class TookTooLong(Exception):
    """The answers are too many to list in the time allowed."""


def replayed(witness: DatabaseWitness, secret: Query, view: Query, schema: Schema) -> DatabaseWitness:
    """Return the witness with its four answers, after checking that adding the row changes both.

    SQLite is tried first; DuckDB supports dates and more functions. A query text that neither runs is replaced by its
    translation to a conjunctive query. If the answers change in no engine, that is an internal error; raises
    :class:`TookTooLong` if there are too many answers to list, :class:`NotReplayed` if no engine can store the witness.
    """
    if not all(_is_held(item) for item in (*witness.constants(), *secret.constants, *view.constants)):
        raise NotReplayed("the available engines round numbers that the queries distinguish")
    ran = False
    for texts in ((secret.text, view.text), ("", "")):
        for engine in ("sqlite", "duckdb"):
            try:
                result = _run(engine, witness, (secret, texts[0]), (view, texts[1]), schema)
            except NotReplayed:
                continue
            ran = True
            if _differ(result.secret_before, result.secret_after, secret) and _differ(
                result.view_before, result.view_after, view
            ):
                return result
    if not ran:
        raise NotReplayed("no available engine can store the witness")
    raise RuntimeError(
        f"the witness for {secret.name} and {view.name} on {witness.relation} did not change both answers"
    )


def replay_on(engine: str, witness: DatabaseWitness, secret: Query, view: Query, schema: Schema) -> DatabaseWitness:
    """Return the witness with the answers of the original texts in one engine; :class:`NotReplayed` unless adding the row changes both."""
    result = _run(engine, witness, (secret, secret.text), (view, view.text), schema)
    if _differ(result.secret_before, result.secret_after, secret) and _differ(
        result.view_before, result.view_after, view
    ):
        return result
    raise NotReplayed(f"{engine} gives the same answers with and without the row")


def statement_for(query: Query, schema: Schema, engine: str, translated: bool = False) -> str:
    """Return a query's own text for an engine, or its translated rules; :class:`NotReplayed` if the engine cannot run either."""
    return _statement(query, "" if translated else query.text, schema, engine)


@contextmanager
def scratch_database(engine: str, relations: Sequence[Relation], seconds: float) -> Iterator[Callable[..., Any]]:
    """Open an in-memory database with empty tables and case-sensitive LIKE; what it refuses is :class:`NotReplayed`."""
    types, value = (_SQLITE_TYPES, _sqlite_value) if engine == "sqlite" else (_DUCKDB_TYPES, _duckdb_value)
    with _session(engine, time.monotonic() + seconds) as execute:
        if engine == "sqlite":
            execute("PRAGMA case_sensitive_like = ON")
        for relation in relations:
            _create(execute, relation, (), types, value)
        yield execute


def holds_in_sqlite(relation: Relation, condition: str, row: tuple[Constant, ...]) -> bool:
    """True if a condition on one row is not false in SQLite; :class:`NotReplayed` if it cannot be evaluated."""
    from sqlglot import transpile

    try:
        (text,) = transpile(condition, write="sqlite")
    except Exception as error:
        raise NotReplayed(str(error)) from None
    with scratch_database("sqlite", [relation], SECONDS) as execute:
        fill_table(execute, "sqlite", relation, [row])
        ((holds,),) = execute(f"SELECT coalesce(({text}), 1) FROM {table_name(relation.name)}").fetchall()
    return bool(holds)


def answer_rows(execute: Callable[..., Any], statement: str) -> list[tuple[Any, ...]]:
    """Return the rows of an answer; :class:`TookTooLong` if there are more than small databases have, as in an infinite recursion."""
    rows: list[tuple[Any, ...]] = execute(statement).fetchmany(_MOST_ROWS + 1)
    if len(rows) > _MOST_ROWS:
        raise TookTooLong
    return rows


def fill_table(
    execute: Callable[..., Any], engine: str, relation: Relation, rows: Sequence[tuple[Constant, ...]]
) -> None:
    """Replace the contents of a table by some rows."""
    value = _sqlite_value if engine == "sqlite" else _duckdb_value
    name = table_name(relation.name)
    execute(f"DELETE FROM {name}")
    if rows:
        marks = f"({', '.join('?' for _ in relation.columns)})"
        execute(
            f"INSERT INTO {name} VALUES {', '.join([marks] * len(rows))}", [value(item) for row in rows for item in row]
        )


def write_sqlite(witness: DatabaseWitness, secret: Query, view: Query, schema: Schema, path: str) -> None:
    """Write the four databases of a witness into one SQLite file, as tables with a prefix, with the queries as notes."""
    with sqlite3.connect(path) as connection:
        for name, database in witness.databases().items():
            for relation in _relations(witness, schema):
                rows = database.get(relation.name, ())
                _create(connection.execute, relation, rows, _SQLITE_TYPES, _sqlite_value, prefix=f"{name}__")
        connection.execute("CREATE TABLE about (what TEXT PRIMARY KEY, text TEXT)")
        notes = {
            "relation": witness.relation,
            "row": str(tuple(map(str, witness.row))),
            "view_row": str(tuple(map(str, witness.view_row))),
            "secret": secret.text,
            "view": view.text,
        }
        connection.executemany("INSERT INTO about VALUES (?, ?)", notes.items())
    connection.close()


def _is_held(item: Constant) -> bool:
    """True if SQLite and DuckDB store the constant exactly."""
    if item.kind != "number":
        return item.kind != "double"
    return (isinstance(item.value, int) and abs(item.value) < 2**63) or rounds_alike(item.value)


def _relations(witness: DatabaseWitness, schema: Schema) -> list[Relation]:
    names = {witness.relation, witness.view_relation, *witness.secret_database, *witness.view_database}
    return [schema.relation(name) for name in sorted(names)]


def _run(
    engine: str, witness: DatabaseWitness, secret: tuple[Query, str], view: tuple[Query, str], schema: Schema
) -> DatabaseWitness:
    """Return the witness with the answers that an engine gives on its databases."""
    statements = [_statement(query, text, schema, engine) for query, text in (secret, view)]
    names = {*secret[0].relations(), *view[0].relations(), *witness.secret_database, *witness.view_database}
    relations = [schema.relation(name) for name in sorted({witness.relation, witness.view_relation, *names})]
    if engine == "sqlite" and any(column.kind == "moment" for relation in relations for column in relation.columns):
        raise NotReplayed("SQLite has no time zones")
    with _session(engine, time.monotonic() + SECONDS) as execute:
        answers = {
            name: _ask(execute, engine, database, relations, statements[name.startswith("view")])
            for name, database in witness.databases().items()
        }
    return replace(
        witness,
        engine=engine,
        secret_before=answers["secret_before"],
        secret_after=answers["secret_after"],
        view_before=answers["view_before"],
        view_after=answers["view_after"],
    )


@contextmanager
def _session(engine: str, deadline: float) -> Iterator[Callable[..., Any]]:
    """Open an in-memory database, and yield its ``execute``; any error means that the text cannot be replayed there.

    Statements are interrupted at the deadline.
    """
    if engine == "sqlite":
        connection = sqlite3.connect(":memory:")
        connection.set_progress_handler(lambda: time.monotonic() > deadline, 10_000)
        try:
            yield connection.execute
        except (sqlite3.Error, OverflowError) as error:
            raise _failure(error, deadline) from None
        finally:
            connection.close()
        return
    import duckdb

    with duckdb.connect(":memory:", config={"threads": 1}) as other:
        timer = threading.Timer(max(0.0, deadline - time.monotonic()), other.interrupt)
        timer.start()
        try:
            yield other.execute
        except duckdb.Error as error:
            raise _failure(error, deadline) from None
        finally:
            timer.cancel()


def _failure(error: Exception, deadline: float) -> Exception:
    return TookTooLong() if time.monotonic() > deadline else NotReplayed(str(error))


def _statement(query: Query, text: str, schema: Schema, engine: str) -> str:
    """Return a query in the SQL of an engine. Raises :class:`NotReplayed` if that is not possible."""
    if not text or query.language == "datalog":
        return _native(to_sql(query, schema), engine)
    from reticent.views.sql.dialect import runnable

    try:
        return runnable(text, schema, query.language, engine)
    except Exception as error:
        raise NotReplayed(str(error)) from None


def _native(text: str, engine: str) -> str:
    if engine == "sqlite":
        return text.replace("IS NOT DISTINCT FROM", "IS").replace("IS DISTINCT FROM", "IS NOT")
    return text


def _ask(
    execute: Callable[..., Any], engine: str, database: Database, relations: Sequence[Relation], statement: str
) -> Answers:
    """Fill the tables of an engine, and return the sorted answers to a statement."""
    types, value = (_SQLITE_TYPES, _sqlite_value) if engine == "sqlite" else (_DUCKDB_TYPES, _duckdb_value)
    for relation in relations:
        execute(f"DROP TABLE IF EXISTS {table_name(relation.name)}")
        _create(execute, relation, database.get(relation.name, ()), types, value)
    return tuple(sorted((tuple(row) for row in answer_rows(execute, statement)), key=repr))


def _create(
    execute: Callable[..., Any],
    relation: Relation,
    rows: Iterable[tuple[Constant, ...]],
    types: dict[str, str],
    value: Callable[[Constant], object],
    prefix: str = "",
) -> None:
    """Create a table in an engine and insert rows."""
    rows = list(rows)
    columns = ", ".join(
        f"{quoted(column.name)} {_column_type(column, position, rows, types)}"
        for position, column in enumerate(relation.columns)
    )
    name = quoted(prefix + relation.name.replace(".", "__")) if prefix else table_name(relation.name)
    execute(f"CREATE TABLE {name} ({columns})")
    marks = ", ".join("?" for _ in relation.columns)
    for row in rows:
        execute(f"INSERT INTO {name} VALUES ({marks})", [value(item) for item in row])


def _column_type(
    column: SchemaColumn, position: int, rows: Sequence[tuple[Constant, ...]], types: dict[str, str]
) -> str:
    """Return the SQL type of a column, by its declaration or by its values."""
    kinds = {row[position].kind for row in rows} - {"null"}
    if column.kind is None and types is _SQLITE_TYPES:
        return ""
    name = types[column.kind or (kinds.pop() if len(kinds) == 1 else "text")]
    if column.whole and column.kind == "number":
        name = "BIGINT"
    return f"{name} COLLATE NOCASE" if column.folds_case else name


def _sqlite_value(item: Constant) -> object:
    """Return a constant as a value that SQLite stores."""
    if isinstance(item.value, Fraction):
        return float(item.value)
    if isinstance(item.value, datetime):
        return item.value.isoformat(sep=" ")
    return item.value.isoformat() if isinstance(item.value, date) else item.value


def _duckdb_value(item: Constant) -> object:
    if item.kind == "moment":
        return str(item).strip("'")
    return float(item.value) if isinstance(item.value, Fraction) else item.value


def _differ(before: Answers, after: Answers, query: Query) -> bool:
    """True if two lists of answers differ, compared as text because DuckDB returns lists and other unhashable values."""
    counts = [Counter(map(repr, answers)) for answers in (before, after)]
    return counts[0] != counts[1] if query.duplicates else counts[0].keys() != counts[1].keys()
