"""Numbers and moments that databases round or shift: a real database judges which conditions overlap, and PRIVATE must agree."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from reticent import views
from reticent.errors import PolicyError

_NUMBERS = [
    "9007199254740992", "9007199254740993", "9007199254740993.0", "0.1", "0.1000000000000000000001", "0.1000000000000000055", "1e-1", "0.3", "0.1 + 0.2",
    "16777216", "16777217", "16777217.0", "'0.1'", "'9007199254740993'", "1e16", "10000000000000001", "0.5", "5e-1", "0", "-0.0",
]  # fmt: skip
_CASTS = [
    "0.1::float8",
    "9007199254740993::float8",
    "9007199254740992::float8",
    "0.1::numeric",
    "0.5::float8",
    "0.1::real",
]
_MOMENTS = [
    "'2024-01-01 01:00:00'", "'2024-01-01 01:00:00+01'", "'2024-01-01 00:00:00+00'", "'2024-01-01T00:00:00Z'", "'2024-01-01'", "DATE '2024-01-01'",
    "TIMESTAMP '2024-01-01 01:00:00+01'", "TIMESTAMPTZ '2024-01-01 01:00:00+01'", "'2024-03-31 02:30:00'", "'2024-03-31 03:30:00'",
    "'2024-01-01 00:00:00.1234566'", "'2024-01-01 00:00:00.123457'",
]  # fmt: skip
_MOST = [30, pytest.param(None, marks=pytest.mark.slow)]
_OPERATORS = ["=", "<>", "<", "<=", ">", ">="]

Ask = Callable[[str], list[tuple[Any, ...]]]


def _overlaps(ask: Ask, kind: str, constants: list[str]) -> tuple[list[str], set[tuple[str, str]]]:
    """The conditions that the database accepts, and the pairs of them that a row of some value meets together."""
    ask("DROP TABLE IF EXISTS probe")
    ask(f"CREATE TABLE probe (id INTEGER, x {kind})")
    for constant in constants:
        _tried(ask, f"INSERT INTO probe SELECT 1, CAST({constant} AS {kind})")
        _tried(ask, f"INSERT INTO probe SELECT 1, {constant}")
    conditions = [f"x {operator} {constant}" for operator, constant in product(_OPERATORS, constants)]
    kept = [condition for condition in conditions if _tried(ask, f"SELECT 1 FROM probe WHERE {condition}")]
    columns = ", ".join(f"CASE WHEN {condition} THEN 1 ELSE 0 END" for condition in kept)
    rows = ask(f"SELECT {columns} FROM probe")
    pairs = {
        (kept[left], kept[right])
        for row in rows
        for left in range(len(kept))
        for right in range(len(kept))
        if row[left] and row[right]
    }
    return kept, pairs


def _tried(ask: Ask, statement: str) -> bool:
    try:
        ask(statement)
    except Exception:
        return False
    return True


def _check(
    ask: Ask, kind: str, constants: list[str], dialect: str, most: int | None, expects_private: bool = True
) -> None:
    kept, pairs = _overlaps(ask, kind, constants)
    schema = views.load_schema(f"CREATE TABLE probe (id INTEGER NOT NULL, x {kind} NOT NULL)", dialect)
    assert schema is not None
    texts = [f"SELECT id FROM probe WHERE {condition}" for condition in kept]
    queries = {}
    for condition, text in zip(kept, texts, strict=True):
        try:
            _, (queries[condition],) = views.prepare([text], schema, dialect=dialect, names=[condition])
        except PolicyError:
            continue
    checker = views.Checker(schema, replay="definition")
    overlapping = sorted(pair for pair in pairs if pair[0] in queries and pair[1] in queries)
    chosen = overlapping if most is None else random.Random(kind).sample(overlapping, min(most, len(overlapping)))
    assert [pair for pair in chosen if checker.check(*(queries[each] for each in pair)).status == "PRIVATE"] == []
    apart = [pair for pair in sorted(product(queries, queries)) if pair not in pairs]
    told = {checker.check(*(queries[each] for each in pair)).status for pair in random.Random(kind).sample(apart, 60)}
    assert "PRIVATE" in told or not expects_private


@pytest.mark.parametrize("most", _MOST)
@pytest.mark.parametrize("kind", ["REAL", "NUMERIC", "INTEGER", "DECIMAL(10,2)"])
def test_sqlite_agrees_where_numbers_are_private(kind: str, most: int | None) -> None:
    with sqlite3.connect(":memory:") as connection:
        _check(lambda text: connection.execute(text).fetchall(), kind, _NUMBERS, "sqlite", most)


@pytest.mark.parametrize("most", _MOST)
@pytest.mark.parametrize("kind", ["DOUBLE", "FLOAT", "DECIMAL(38,20)", "BIGINT"])
def test_duckdb_agrees_where_numbers_are_private(kind: str, most: int | None) -> None:
    import duckdb

    with duckdb.connect(":memory:", config={"threads": 1}) as connection:
        _check(lambda text: connection.execute(text).fetchall(), kind, [*_NUMBERS, *_CASTS], "duckdb", most)


@pytest.mark.xdist_group("postgres")
@pytest.mark.parametrize("most", _MOST)
@pytest.mark.parametrize("kind", ["DOUBLE PRECISION", "REAL", "NUMERIC", "BIGINT", "TIMESTAMP", "TIMESTAMPTZ"])
def test_postgresql_agrees_where_numbers_and_moments_are_private(
    kind: str, most: int | None, postgres_url: str
) -> None:
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("SET TimeZone = 'Europe/Berlin'")

        def ask(text: str) -> list[tuple[Any, ...]]:
            cursor = connection.execute(text.encode())
            return cursor.fetchall() if cursor.description else []

        constants = _MOMENTS if kind.startswith("TIME") else [*_NUMBERS, *_CASTS]
        _check(ask, kind, constants, "postgres", most, kind != "TIMESTAMPTZ")


@pytest.mark.parametrize("join", ["x = y", "z = y", "i = y"])
def test_columns_of_exact_and_binary_numbers_are_not_joined_by_identity(join: str) -> None:
    """REAL 0.1 is no DOUBLE 0.1, and a NUMERIC that rounds to a DOUBLE equals it."""
    ddl = """CREATE TABLE r (x REAL NOT NULL, z NUMERIC NOT NULL, i BIGINT NOT NULL);
        CREATE TABLE s (id INT NOT NULL, y DOUBLE PRECISION NOT NULL)"""
    view = f"SELECT s.id FROM r JOIN s ON {join} WHERE r.{join[0]} = 1"
    assert views.check("SELECT id FROM s WHERE y = 2", view, schema=ddl).status == "UNKNOWN"


def test_two_narrow_ranges_are_answered_without_a_failure() -> None:
    ddl = "CREATE TABLE r (a INT NOT NULL, d DOUBLE PRECISION NOT NULL, n NUMERIC NOT NULL)"
    for column, status in (("d", "UNKNOWN"), ("n", "DISCLOSES")):
        secret = f"SELECT a FROM r WHERE {column} > 0.1 AND {column} < 0.10000000000000001"
        verdict = views.check(secret, f"SELECT a FROM r WHERE {column} > 0 AND {column} < 1", schema=ddl)
        assert verdict.status == status


@pytest.mark.parametrize(
    "view",
    [
        "SELECT a FROM r WHERE a = 1 AND 1 / b > 0",
        "SELECT a FROM r WHERE a = 1 AND c::int = 5",
        "SELECT a FROM r WHERE a = 1 AND b * 1000000 > 7",
        "SELECT a FROM r WHERE a = 1 AND b = (SELECT b FROM s)",
        "SELECT a FROM r WHERE a = 1 AND c LIKE c",
        "SELECT q.a FROM (SELECT a, 1 / b AS x FROM r) q WHERE q.a = 1",
        "WITH q AS (SELECT a, 1 / b AS x FROM r) SELECT a FROM q WHERE a = 1",
        "SELECT a FROM stored WHERE a = 1",
        "SELECT r.a FROM r JOIN s ON r.a = s.b AND 1 / r.b > 0 WHERE r.a = 1",
    ],
)
def test_an_error_tells_of_rows_that_other_conditions_exclude(view: str) -> None:
    """Whether 1 / b is evaluated for rows with a = 2 is the database's choice; the error shows such a row."""
    ddl = """CREATE TABLE r (a INT NOT NULL, b INT NOT NULL, c TEXT NOT NULL); CREATE TABLE s (b INT NOT NULL);
        CREATE VIEW stored AS SELECT a, 1 / b AS x FROM r"""
    assert views.check("SELECT a FROM r WHERE a = 2 AND b = 0", view, schema=ddl).status == "UNKNOWN"


def test_what_is_shown_is_computed_for_the_rows_that_are_left() -> None:
    ddl = "CREATE TABLE r (a INT NOT NULL, b INT NOT NULL)"
    view = "SELECT 1 / b FROM r WHERE a = 1"
    assert views.check("SELECT a FROM r WHERE a = 2 AND b = 0", view, schema=ddl).status == "PRIVATE"


def test_a_datalog_constant_that_databases_read_differently_is_refused() -> None:
    ddl = "CREATE TABLE r (a INT NOT NULL, d DOUBLE PRECISION NOT NULL)"
    with pytest.raises(PolicyError, match="depends on how the database rounds"):
        views.check("S(x) :- r(x, 0.5)", "V(x) :- r(x, 9007199254740993)", schema=ddl)
