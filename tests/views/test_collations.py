"""Texts, types and row security as databases treat them: what a database finds equal, shows or reads, no verdict may take for different or hidden."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import combinations_with_replacement, product
from typing import Any

import pytest

from reticent import views
from reticent.errors import PolicyError, ReticentError
from reticent.views.sql.database_schema import from_postgres

_TEXTS = [
    "'a'", "'A'", "'a '", "' a'", "'a' || ''", "'á'", "'a\u0301'", "''", "'ab'", "'1'", "1", "'01'", "1.0", "'ss'", "'ß'", "'a\t'", "'a''b'", "TRUE",
    "'i'", "'I'", "'ı'", "'İ'", "'ﬁ'", "'fi'", "CAST('a' AS VARCHAR)", "'B'", "'b'", "'Z'", "'_'",
]  # fmt: skip
_LEVELS = ["'low'", "'medium'", "'high'", "CAST('low' AS level)"]
_OTHERS = ["'1 day'", "'24 hours'", "'127.0.0.1'", "'127.0.0.1/32'", "'$1.00'", "'1'", "'1.004'", "1", "'01'", "'{\"a\": 1}'", "'{\"a\":1}'", "TRUE", "'{1,2}'", "'{1, 2}'", "'10:00'", "'10:00:00'"]  # fmt: skip
_CONDITIONS = [
    "x = {}",
    "x <> {}",
    "x < {}",
    "x >= {}",
    "x IN ({})",
    "x BETWEEN {} AND 'b'",
    "x IS NOT DISTINCT FROM {}",
]
_MOST = [60, pytest.param(4000, marks=pytest.mark.slow)]

Ask = Callable[[str], list[tuple[Any, ...]]]


def _raises(ask: Ask, statement: str) -> bool:
    try:
        ask(statement)
    except Exception:
        return True
    return False


def _false_private(ask: Ask, kind: str, constants: list[str], dialect: str, most: int, ddl: str = "") -> list[object]:
    """Pairs of conditions that one value meets, or makes fail, in the database and of which we say that nothing is shared."""
    ask("DROP TABLE IF EXISTS probe")
    ask(f"CREATE TABLE probe (id INTEGER, x {kind})")
    for constant in constants:
        for value in (f"CAST({constant} AS {kind.split(' COLLATE')[0]})", constant):
            _raises(ask, f"INSERT INTO probe SELECT 1, {value}")
    conditions = list(dict.fromkeys(text.format(each) for text, each in product(_CONDITIONS, constants)))
    kept = [condition for condition in conditions if not _raises(ask, f"SELECT 1 FROM probe WHERE {condition}")]
    rows = ask(f"SELECT {', '.join(f'CASE WHEN {each} THEN 1 ELSE 0 END' for each in kept)} FROM probe") if kept else []
    schema = views.load_schema(f"{ddl}CREATE TABLE probe (id INTEGER NOT NULL, x {kind} NOT NULL)", dialect)
    assert schema is not None
    queries: dict[int, views.Query] = {}
    for place, condition in enumerate(kept):
        try:
            text = f"SELECT id FROM probe WHERE {condition}"
            _, (queries[place],) = views.prepare([text], schema, dialect=dialect, names=[condition])
        except ReticentError:
            continue
    pairs = [
        pair for pair in combinations_with_replacement(queries, 2) if any(row[pair[0]] and row[pair[1]] for row in rows)
    ]
    checker = views.Checker(schema, replay="definition")
    chosen = random.Random(kind).sample(pairs, min(most, len(pairs)))
    return [
        (kept[first], kept[second])
        for first, second in chosen
        if checker.check(queries[first], queries[second]).status == "PRIVATE"
    ]


@contextmanager
def _postgres(url: str, *statements: str) -> Iterator[Ask]:
    """A schema of its own in the server, with what the statements make in it."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:

        def ask(text: str) -> list[tuple[Any, ...]]:
            cursor = connection.execute(text.encode())
            return cursor.fetchall() if cursor.description else []

        ask("DROP SCHEMA IF EXISTS collated CASCADE")
        ask("CREATE SCHEMA collated")
        ask("CREATE EXTENSION IF NOT EXISTS citext SCHEMA public")
        ask("SET search_path = collated, public")
        try:
            for statement in statements:
                ask(statement)
            yield ask
        finally:
            ask("DROP SCHEMA collated CASCADE")


@pytest.mark.parametrize("most", _MOST)
@pytest.mark.parametrize(
    ("kind", "constants"),
    [
        ("TEXT", _TEXTS), ("TEXT COLLATE NOCASE", _TEXTS), ("TEXT COLLATE RTRIM", _TEXTS), ("VARCHAR(2)", _TEXTS), ("BLOB", _TEXTS),
        ("INTEGER", [*_OTHERS, "2", "TRUE"]), ("BOOLEAN", [*_OTHERS, "2", "TRUE"]),
    ],
)  # fmt: skip
def test_sqlite_finds_nothing_equal_that_we_call_private(kind: str, constants: list[str], most: int) -> None:
    import sqlite3

    with sqlite3.connect(":memory:") as connection:
        ask = lambda text: connection.execute(text).fetchall()  # noqa: E731
        assert _false_private(ask, kind, constants, "sqlite", most) == []


@pytest.mark.parametrize("most", _MOST)
@pytest.mark.parametrize(
    ("kind", "constants"),
    [
        ("VARCHAR", _TEXTS), ("VARCHAR COLLATE NOCASE", _TEXTS), ("VARCHAR COLLATE NFC", _TEXTS), ("BIT", _OTHERS), ("INTERVAL", _OTHERS), ("DECIMAL(5,2)", _OTHERS),
        ("level", _LEVELS),
    ],
)  # fmt: skip
def test_duckdb_finds_nothing_equal_that_we_call_private(kind: str, constants: list[str], most: int) -> None:
    import duckdb

    with duckdb.connect(":memory:", config={"threads": 1}) as connection:
        level = "CREATE TYPE level AS ENUM ('low', 'medium', 'high');"
        connection.execute(level)
        ask = lambda text: connection.execute(text).fetchall()  # noqa: E731
        assert _false_private(ask, kind, constants, "duckdb", most, level) == []


@pytest.mark.xdist_group("postgres")
@pytest.mark.parametrize("most", _MOST)
@pytest.mark.parametrize(
    ("kind", "constants"),
    [
        ("TEXT", _TEXTS), ("CITEXT", _TEXTS), ("folded", _TEXTS), ("CHAR(3)", _TEXTS), ("TEXT COLLATE loose", _TEXTS), ("TEXT COLLATE looser", _TEXTS),
        ('TEXT COLLATE "en-x-icu"', _TEXTS), ('TEXT COLLATE "C"', _TEXTS), ('"char"', _TEXTS), ("level", _LEVELS), ("CIDR", _OTHERS), ("MONEY", _OTHERS),
        ("XID", _OTHERS), ("INTERVAL", _OTHERS), ("BIT(2)", _OTHERS), ("exactly", _OTHERS), ("JSONB", _OTHERS),
    ],
)  # fmt: skip
def test_postgresql_finds_nothing_equal_that_we_call_private(
    kind: str, constants: list[str], most: int, postgres_url: str
) -> None:
    made = [
        "CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
        "CREATE COLLATION looser (provider = icu, locale = 'und-u-ks-level1', deterministic = false)",
        "CREATE TYPE level AS ENUM ('low', 'medium', 'high')",
        "CREATE DOMAIN folded AS citext",
        "CREATE DOMAIN exactly AS numeric(5, 2)",
    ]
    with _postgres(postgres_url, *made) as ask:
        assert _false_private(ask, kind, constants, "postgres", most, f"{made[2]};") == []


_NUMBERS = ["1", "1.0", "0.1", "0.1000000000000000055", "9007199254740993", "9007199254740992", "16777217", "16777216", "'1'", "1e0", "1.005", "1.00"]  # fmt: skip
_MOMENTS = [
    "'2024-01-01'", "'2024-01-01 00:00:00'", "'2024-01-01 01:00:00+01'", "'2024-01-01 00:00:00+00'", "'2023-12-31 23:00:00'", "DATE '2024-01-01'",
    "TIMESTAMP '2024-01-01 00:00:00'", "TIMESTAMPTZ '2024-01-01 00:00:00+00'", "'2024-03-31 02:30:00'", "'2024-03-31 01:30:00+00'",
]  # fmt: skip


def _falsely_joined(
    ask: Ask, kinds: list[str], constants: list[str], dialect: str, most: int
) -> tuple[int, list[object]]:
    """How many pairs of a condition and a join through another column were judged, and those that values meet and that we call private."""
    judged, wrong = 0, []
    for first, second in product(kinds, repeat=2):
        for name, kind in (("r", first), ("s", second)):
            ask(f"DROP TABLE IF EXISTS {name}")
            ask(f"CREATE TABLE {name} (id INTEGER, {'xy'[name == 's']} {kind})")
            for constant in constants:
                for value in (f"CAST({constant} AS {kind.split(' COLLATE')[0]})", constant):
                    _raises(ask, f"INSERT INTO {name} SELECT 1, {value}")
        ddl = f"CREATE TABLE r (id INTEGER NOT NULL, x {first} NOT NULL); CREATE TABLE s (id INTEGER NOT NULL, y {second} NOT NULL)"
        schema = views.load_schema(ddl, dialect)
        assert schema is not None
        checker = views.Checker(schema, replay="definition")
        cases = list(product(constants, constants, ("=", "<", ">=", "<>"), ("=", "<")))
        for known, asked, operator, join in random.Random(ddl).sample(cases, min(most, len(cases))):
            view = f"SELECT s.id FROM r JOIN s ON r.x {join} s.y WHERE r.x = {known}"
            secret = f"SELECT s.id FROM s WHERE s.y {operator} {asked}"
            try:
                met = ask(f"{view} AND s.y {operator} {asked}")
                _, pair = views.prepare([secret, view], schema, dialect=dialect)
            except Exception:
                continue
            judged += 1
            if met and checker.check(*pair).private:
                wrong.append((first, second, secret, view))
    return judged, wrong


@pytest.mark.xdist_group("postgres")
@pytest.mark.parametrize("most", [4, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("kinds", "constants"),
    [
        (["INTEGER", "BIGINT", "DOUBLE PRECISION", "REAL", "NUMERIC", "NUMERIC(10,2)"], _NUMBERS),
        (["DATE", "TIMESTAMP", "TIMESTAMPTZ"], _MOMENTS),
        (["TEXT", "CITEXT", "CHAR(3)", "VARCHAR(3)", 'TEXT COLLATE "C"'], _TEXTS[:8]),
    ],
)
def test_postgresql_joins_nothing_that_we_call_private(
    kinds: list[str], constants: list[str], most: int, postgres_url: str
) -> None:
    with _postgres(postgres_url, "SET TimeZone = 'Europe/Berlin'") as ask:
        judged, wrong = _falsely_joined(ask, kinds, constants, "postgres", most)
    assert wrong == []
    assert judged > most


@pytest.mark.parametrize("most", [4, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("engine", "kinds", "constants"),
    [
        ("sqlite", ["INTEGER", "REAL", "NUMERIC", "TEXT", "BLOB"], [*_NUMBERS, *_TEXTS[:8]]),
        ("duckdb", ["INTEGER", "DOUBLE", "FLOAT", "DECIMAL(10,2)", "VARCHAR"], _NUMBERS),
        ("duckdb", ["DATE", "TIMESTAMP", "TIMESTAMPTZ", "VARCHAR"], _MOMENTS),
    ],
)
def test_engines_join_nothing_that_we_call_private(
    engine: str, kinds: list[str], constants: list[str], most: int
) -> None:
    import sqlite3

    import duckdb

    connection: Any = (
        sqlite3.connect(":memory:") if engine == "sqlite" else duckdb.connect(":memory:", config={"threads": 1})
    )
    judged, wrong = _falsely_joined(lambda text: connection.execute(text).fetchall(), kinds, constants, engine, most)
    connection.close()
    assert wrong == []
    assert judged > most


@pytest.mark.parametrize("kind", ["VARCHAR", "TIMESTAMP", "DATE"])
def test_a_moment_is_not_the_text_that_it_was_written_as(kind: str) -> None:
    """DuckDB reads a text, a day or a timestamp as a moment to compare it with one: texts that are written in other ways are equal to it."""
    import duckdb

    connection = duckdb.connect(":memory:", config={"threads": 1})
    connection.execute("CREATE TABLE s (id INTEGER, y VARCHAR); INSERT INTO s VALUES (1, '2024-01-01 01:00:00+01')")
    moment = "TIMESTAMPTZ '2024-01-01 00:00:00+00'"
    assert connection.execute(f"SELECT id FROM s WHERE y = {moment} AND y <> '2024-01-01 00:00:00+00'").fetchall()
    connection.close()
    ddl = f"CREATE TABLE s (id INTEGER NOT NULL, y {kind} NOT NULL)"
    secret, view = f"SELECT id FROM s WHERE y <> {moment.partition(' ')[2]}", f"SELECT id FROM s WHERE y = {moment}"
    assert not views.check(secret, view, schema=ddl, dialect="duckdb").private


@pytest.mark.xdist_group("postgres")
def test_the_catalogue_tells_which_texts_a_column_finds_equal(postgres_url: str) -> None:
    made = [
        "CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
        "CREATE COLLATION plain (provider = icu, locale = 'de')",
        'CREATE TABLE t (id INT NOT NULL, a TEXT COLLATE loose NOT NULL, b TEXT COLLATE plain NOT NULL, c CITEXT NOT NULL, d TEXT COLLATE "C" NOT NULL)',
        "INSERT INTO t VALUES (1, 'A', 'A', 'A', 'A')",
        "CREATE VIEW shown AS SELECT id FROM t WHERE d = 'a'",
    ]
    with _postgres(postgres_url, *made) as ask:
        schema = from_postgres(postgres_url)
        met = {name: bool(ask(f"SELECT 1 FROM t WHERE {name} = 'a'")) for name in "abcd"}
    status = {
        name: views.check(f"SELECT id FROM t WHERE {name} = 'a'", f"SELECT id FROM t WHERE {name} = 'A'", schema).status
        for name in "abcd"
    }
    assert met == {"a": True, "b": False, "c": True, "d": False}
    assert status == {"a": "UNKNOWN", "b": "PRIVATE", "c": "DISCLOSES", "d": "PRIVATE"}
    between = ["SELECT id FROM t WHERE {} < 'B'", "SELECT id FROM t WHERE {} >= 'a'"]
    assert [views.check(*(text.format(name) for text in between), schema).status for name in "bd"] == [
        "UNKNOWN",
        "PRIVATE",
    ]
    assert views.check("SELECT id FROM t WHERE d = 'A'", "SELECT * FROM shown", schema).status == "PRIVATE"


@pytest.mark.xdist_group("postgres")
@pytest.mark.parametrize(
    ("kind", "one", "other"), [("CITEXT", "'a'", "'A'"), ("NUMERIC", "1.0", "1.00"), ("DOUBLE PRECISION", "0", "'-0'"), ("INTERVAL", "'1 day'", "'24 hours'")]
)  # fmt: skip
def test_of_equal_values_that_look_different_one_is_shown(kind: str, one: str, other: str, postgres_url: str) -> None:
    """Which one depends on all of them, so that a row shows although another gives the same answer."""
    view = "SELECT DISTINCT r.x FROM r JOIN r AS again ON r.x = again.x WHERE again.b = 1"
    with _postgres(postgres_url, f"CREATE TABLE r (x {kind} NOT NULL, b INT NOT NULL)") as ask:
        seen = set()
        for rows in (f"({one}, 1)", f"({one}, 1), ({other}, 2)", f"({other}, 2), ({one}, 1)"):
            ask("TRUNCATE r")
            ask(f"INSERT INTO r VALUES {rows}")
            seen.add(str(ask(f"SELECT x::text FROM ({view}) AS shown")))
        schema = from_postgres(postgres_url)
    assert len(seen) == 2
    assert views.check("SELECT x FROM r WHERE b = 2", view, schema).status == "UNKNOWN"
    for way in (view.replace("DISTINCT ", "") + " GROUP BY r.x", f"{view} UNION {view}"):
        assert views.check("SELECT x FROM r WHERE b = 2", way, schema).status == "UNKNOWN"


@pytest.mark.xdist_group("postgres")
@pytest.mark.parametrize(
    ("policy", "status"),
    [
        ("a = 1", "PRIVATE"),
        ("owner = current_user AND a <> 2", "PRIVATE"),
        ("EXISTS (SELECT 1 FROM member WHERE member.who = owner)", "UNKNOWN"),
        ("a IN (SELECT grade FROM member)", "UNKNOWN"),
        ("allowed(a)", "UNKNOWN"),
        ("1 / a > 0", "UNKNOWN"),
    ],
)
def test_what_row_security_reads_every_query_of_the_table_reads(policy: str, status: str, postgres_url: str) -> None:
    made = [
        "CREATE TABLE member (who TEXT NOT NULL, grade INT NOT NULL)",
        "CREATE TABLE r (owner TEXT NOT NULL, a INT NOT NULL)",
        "CREATE FUNCTION allowed(a INT) RETURNS boolean LANGUAGE sql AS 'SELECT EXISTS (SELECT 1 FROM collated.member WHERE grade = a)'",
        f"CREATE POLICY mine ON r FOR SELECT USING ({policy})",
        "ALTER TABLE r ENABLE ROW LEVEL SECURITY",
    ]
    pair = ["SELECT who FROM member", "SELECT a FROM r WHERE a = 3"]
    with _postgres(postgres_url, *made):
        from_catalogue = from_postgres(postgres_url)
    assert views.check(*pair, from_catalogue).status == status
    assert views.check(*pair, "; ".join(made[:2] + made[3:])).status == status


@pytest.mark.xdist_group("postgres")
def test_a_policy_shows_rows_of_the_table_that_it_reads(postgres_url: str) -> None:
    """The leak itself: the same query of one table tells what is in another."""
    made = [
        "CREATE TABLE member (who TEXT NOT NULL)",
        "CREATE TABLE r (owner TEXT NOT NULL, a INT NOT NULL)",
        "INSERT INTO r VALUES ('ann', 1)",
        "CREATE POLICY mine ON r USING (EXISTS (SELECT 1 FROM member WHERE who = owner))",
        "ALTER TABLE r ENABLE ROW LEVEL SECURITY",
        "DROP ROLE IF EXISTS reader",
        "CREATE ROLE reader",
        "GRANT USAGE ON SCHEMA collated TO reader",
        "GRANT SELECT ON ALL TABLES IN SCHEMA collated TO reader",
    ]
    with _postgres(postgres_url, *made) as ask:
        answers = []
        for change in ("DELETE FROM member", "INSERT INTO member VALUES ('ann')"):
            ask(change)
            ask("SET ROLE reader")
            answers.append(ask("SELECT a FROM r"))
            ask("RESET ROLE")
        ask("DROP OWNED BY reader")
        ask("DROP ROLE reader")
    assert answers == [[], [(1,)]]


def test_a_collation_that_the_schema_makes_may_find_anything_equal() -> None:
    ddl = "CREATE COLLATION de_DE (provider = icu, locale = 'de', deterministic = false); CREATE TABLE t (id INT NOT NULL, x TEXT COLLATE de_DE NOT NULL)"
    pair = ["SELECT id FROM t WHERE x = 'a'", "SELECT id FROM t WHERE x = 'A'"]
    assert views.check(*pair, ddl).status == "UNKNOWN"
    assert views.check(*pair, ddl.split("; ")[1]).status == "PRIVATE"


def test_a_policy_of_an_unknown_table_is_refused() -> None:
    with pytest.raises(PolicyError, match="is declared later or not at all"):
        views.load_schema("CREATE POLICY p ON r USING (a = 1); CREATE TABLE r (a INT)")


def test_one_constant_divides_texts_alike_in_every_collation() -> None:
    ddl = "CREATE TABLE t (id INT NOT NULL, c TEXT NOT NULL)"
    pair = ["SELECT id FROM t WHERE c < 'M'", "SELECT id FROM t WHERE c >= 'M'"]
    assert views.check(*pair, ddl).status == "PRIVATE"
    assert views.check(pair[0].replace("'M'", "'B'"), pair[1].replace("'M'", "'a'"), ddl).status == "UNKNOWN"


_VALUES = {
    "VARCHAR": ["'abc'", "'1'"], "INTEGER": ["2147483647"], "BIGINT": ["9223372036854775807"], "DOUBLE": ["1e300"], "DECIMAL(5,2)": ["999.99"],
    "DECIMAL(38,30)": ["1.5"], "DECIMAL(38,0)": ["99999999999999999999999999999999999999"], "DATE": ["'2024-01-01'"], "TIMESTAMP": ["'2024-01-01 10:00:00'"],
    "BOOLEAN": ["true"], "HUGEINT": ["170141183460469231731687303715884105727"], "TIME": ["'10:00:00'"], "UUID": ["'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'"],
}  # fmt: skip
_COMPARED = ["1", "1.5", "'1'", "'abc'", "1e0", "true", "DATE '2024-01-01'", "'2024-01-01'", "99999999999999999999999", "0.0000000000000000000000000001", "1000.001"]  # fmt: skip


_SHARES = [8, pytest.param(1, marks=pytest.mark.slow)]


def _private(view: str, ddl: str) -> bool:
    schema = views.load_schema(ddl, "duckdb")
    try:
        _, (secret, shown) = views.prepare(["SELECT a, x FROM r WHERE a = 2", view], schema, dialect="duckdb")
    except PolicyError:
        return False
    assert schema is not None
    return views.Checker(schema, replay="definition").check(secret, shown).private


@pytest.mark.parametrize("share", _SHARES)
def test_a_comparison_that_fails_for_some_rows_shows_them_in_duckdb(share: int) -> None:
    """DuckDB turns a column into another type to compare it; a row that cannot be turned raises an error, wherever it stands."""
    import duckdb

    raised, wrong = 0, []
    cases = list(product(_VALUES.items(), _COMPARED, ("x = {}", "x < {}", "x IN ({}, {})")))
    with duckdb.connect(":memory:", config={"threads": 1}) as connection:
        for (kind, values), constant, text in random.Random(share).sample(cases, len(cases) // share):
            condition = text.format(constant, constant)
            connection.execute(f"CREATE OR REPLACE TABLE r (a INT, x {kind})")
            if _raises(connection.execute, f"SELECT a FROM r WHERE {condition}"):
                continue
            for value in values:
                connection.execute(f"INSERT INTO r VALUES (2, CAST({value} AS {kind}))")
            if not _raises(lambda sql: connection.execute(sql).fetchall(), f"SELECT a FROM r WHERE {condition}"):
                continue
            raised += 1
            ddl = f"CREATE TABLE r (a INT NOT NULL, x {kind} NOT NULL)"
            if _private(f"SELECT a FROM r WHERE a = 1 AND {condition}", ddl):
                wrong.append((kind, condition))
    assert wrong == []
    assert raised > 100 / share


@pytest.mark.parametrize("share", _SHARES)
def test_a_join_that_fails_for_some_rows_shows_them_in_duckdb(share: int) -> None:
    import duckdb

    raised, private, wrong = 0, 0, []
    cases = list(product(_VALUES.items(), repeat=2))
    with duckdb.connect(":memory:", config={"threads": 1}) as connection:
        for (kind, values), (other, others) in random.Random(share).sample(cases, len(cases) // share):
            connection.execute(f"CREATE OR REPLACE TABLE r (a INT, x {kind})")
            connection.execute(f"CREATE OR REPLACE TABLE s (b INT, y {other})")
            view = "SELECT r.a FROM r JOIN s ON r.x = s.y"
            if _raises(connection.execute, view):
                continue
            connection.execute(f"INSERT INTO r VALUES {', '.join(f'(2, CAST({each} AS {kind}))' for each in values)}")
            connection.execute(f"INSERT INTO s VALUES {', '.join(f'(2, CAST({each} AS {other}))' for each in others)}")
            fails = _raises(lambda sql: connection.execute(sql).fetchall(), view)
            ddl = f"CREATE TABLE r (a INT NOT NULL, x {kind} NOT NULL); CREATE TABLE s (b INT NOT NULL, y {other} NOT NULL)"
            found = _private(f"{view} WHERE r.a = 1", ddl)
            raised, private = raised + fails, private + found
            if fails and found:
                wrong.append((kind, other))
    assert wrong == []
    assert raised > 30 / share
    assert private > 15 / share
