"""Grants keep functions of the grantee away from rows that a view leaves out; a real PostgreSQL shows it."""

from __future__ import annotations

import pytest

from reticent import views
from reticent.errors import Denied, PolicyError
from reticent.views.grants import Grant, grant

DDL = "CREATE TABLE patient (name TEXT NOT NULL, code TEXT NOT NULL)"
SECRET = "SELECT name FROM patient WHERE code = 'cancer'"
VIEW = "SELECT name FROM patient WHERE code = 'flu'"


def _grant(view: str = VIEW, dialect: str = "postgres", name: str = "flu", to: str = "analyst") -> Grant:
    schema, (hidden, shown) = views.prepare([SECRET, view], views.load_schema(DDL, dialect), dialect=dialect)
    return grant(shown, [views.Checker(schema).check(hidden, shown)], to, name, dialect)


@pytest.mark.xdist_group("postgres")
def test_a_plain_view_shows_filtered_rows_to_a_function_and_a_granted_one_does_not(postgres_url: str) -> None:
    import psycopg

    assert views.check(SECRET, VIEW, schema=DDL).status == "PRIVATE"
    with psycopg.connect(postgres_url, autocommit=True) as owner:
        owner.execute("DROP SCHEMA IF EXISTS granting CASCADE")
        owner.execute("DROP ROLE IF EXISTS analyst")
        owner.execute("CREATE ROLE analyst")
        owner.execute("CREATE SCHEMA granting")
        owner.execute("GRANT USAGE, CREATE ON SCHEMA granting TO analyst")
        owner.execute("SET search_path = granting")
        owner.execute(DDL.encode())
        owner.execute("INSERT INTO patient VALUES ('ann', 'flu'), ('bob', 'cancer')")
        owner.execute(f"CREATE VIEW plain AS {VIEW}; GRANT SELECT ON plain TO analyst".encode())
        owner.execute(_grant().sql.encode())
        heard: list[str] = []
        owner.add_notice_handler(lambda notice: heard.append(str(notice.message_primary)))
        owner.execute("SET ROLE analyst")
        owner.execute(
            "CREATE FUNCTION granting.peek(text) RETURNS boolean LANGUAGE plpgsql COST 0.0001 AS "
            "$$ BEGIN RAISE NOTICE '%', $1; RETURN true; END $$"
        )
        assert owner.execute("SELECT name FROM plain WHERE peek(name)").fetchall() == [("ann",)]
        assert "bob" in heard
        heard.clear()
        assert owner.execute("SELECT name FROM flu WHERE peek(name)").fetchall() == [("ann",)]
        assert heard == ["ann"]
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            owner.execute("SELECT * FROM patient")
        owner.execute("RESET ROLE")
        owner.execute("DROP SCHEMA granting CASCADE")
        owner.execute("DROP ROLE analyst")


def test_a_view_that_discloses_is_not_granted() -> None:
    with pytest.raises(Denied, match="may not be granted: DISCLOSES"):
        _grant("SELECT name FROM patient")


def test_each_engine_says_what_it_lacks() -> None:
    assert "LEAKPROOF" in " ".join(_grant().warnings)
    assert "ALGORITHM = TEMPTABLE" in _grant(dialect="mysql").sql
    assert "no security barrier" in " ".join(_grant(dialect="tsql").warnings)
    for dialect in ("duckdb", "sqlite"):
        with pytest.raises(PolicyError, match="no users and no privileges"):
            _grant(dialect=dialect)
    with pytest.raises(PolicyError, match="Grants are written for"):
        _grant(dialect="oracle")


def test_names_are_quoted_where_they_must_be() -> None:
    told = _grant(f"CREATE VIEW old AS {VIEW}", name="my view", to="Ana'; DROP ROLE x")
    assert told.sql.startswith('CREATE VIEW "my view" WITH (security_barrier) AS\nSELECT')
    assert """TO "Ana'; DROP ROLE x";""" in told.sql
