"""Schemas from a live PostgreSQL and a DuckDB file say the same as the DDL that made them."""

from __future__ import annotations

from pathlib import Path

import pytest

from reticent import views
from reticent.errors import DataError, PolicyError
from reticent.views.schema import Schema
from reticent.views.sql.database_schema import from_duckdb, from_postgres
from reticent.views.sql.ddl import read_schema

DDL = """
CREATE TYPE mood AS ENUM ('low', 'high');
CREATE TABLE person (id INT PRIMARY KEY, name TEXT NOT NULL, email TEXT UNIQUE, feels mood, ok BOOLEAN NOT NULL,
  grade INT CHECK (grade IN (1, 2, 3)));
CREATE TABLE visit (person INT NOT NULL REFERENCES person (id), day DATE NOT NULL, cost NUMERIC(10,2),
  PRIMARY KEY (person, day));
CREATE VIEW happy AS SELECT id, name FROM person WHERE feels = 'high';
"""


def _shape(schema: Schema) -> object:
    return {
        name: (
            [(c.name, c.kind, c.whole, c.nullable, c.domain) for c in relation.columns],
            {(key.columns, key.partial) for key in relation.keys},
        )
        for name, relation in schema.relations.items()
    }


def _verdicts(schema: Schema, dialect: str) -> list[str]:
    secret = "SELECT name FROM person WHERE feels = 'low'"
    shown = ["SELECT * FROM happy", "SELECT day FROM visit", "SELECT email FROM person"]
    return [views.check(secret, view, schema=schema, dialect=dialect).status for view in shown]


@pytest.mark.xdist_group("postgres")
def test_a_live_postgresql_catalogue(postgres_url: str) -> None:
    import psycopg

    # A database of its own: the server is shared with other tests.
    with psycopg.connect(postgres_url, autocommit=True) as server:
        server.execute("CREATE DATABASE catalogue")
    own = postgres_url.replace("/postgres?", "/catalogue?")
    with psycopg.connect(own, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA other")
        for statement in DDL.split(";"):
            if statement.strip():
                connection.execute(statement.encode())
        live = from_postgres(own)
    assert _shape(live) == _shape(read_schema(DDL))
    assert [link.parent for link in live.foreign_keys] == ["person"]
    # Visits are tied to people by the foreign key.
    assert _verdicts(live, "postgres") == ["DISCLOSES", "DISCLOSES", "DISCLOSES"]


def test_a_duckdb_file(tmp_path: Path) -> None:
    import duckdb

    path = tmp_path / "store.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(DDL)
    live = from_duckdb(path)
    assert _shape(live) == _shape(read_schema(DDL))
    assert _verdicts(live, "duckdb") == ["DISCLOSES", "DISCLOSES", "DISCLOSES"]


def test_a_catalogue_that_cannot_be_read_is_an_error_without_traceback(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="could not be read"):
        from_postgres("postgresql://nobody@127.0.0.1:1/none")
    with pytest.raises(PolicyError, match="no DuckDB file"):
        from_duckdb(tmp_path / "none.duckdb")
    (tmp_path / "text.duckdb").write_text("hello")
    with pytest.raises(DataError, match="could not be read"):
        from_duckdb(tmp_path / "text.duckdb")
