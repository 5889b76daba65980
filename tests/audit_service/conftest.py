"""One table of people in every kind of database that the service can stand in front of."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from reticent.audit.service import AuditService
from reticent.policy.audit_policy import AuditPolicy

PEOPLE = pl.DataFrame(
    {
        "id": [1, 2, 3, 4, 5, 6, 7, 8],
        "department": ["sales", "sales", "sales", "sales", "it", "it", "it", "hr"],
        "city": ["Bonn", "Köln", "Bonn", "Köln", "Bonn", "Bonn", "Köln", "Köln"],
        "age": [31, 42, 27, 55, 38, 44, 29, 61],
        "salary": [3000, 4100, 2800, 5200, 4700, 5100, 3900, 3600],
        "bonus": [10, 20, 30, 40, 50, 60, 70, 80],
    }
)
POLICY = """\
dataset = "staff"
ledger = "ledger.sqlite"

[database]
source = "{source}"
{table}
key = "id"
public = ["department", "city", "age"]

[sensitive.salary]
bounds = "ignored"

[sensitive.bonus]
bounds = "ignored"

[roles.analyst]

[roles.counter]
functions = ["count", "sum"]
columns = ["bonus"]
questions_per_day = 3

[users]
alice = "analyst"
bob = "analyst"
carol = "counter"
"""
_numbers = itertools.count()


class Place:
    """A database with one table, which tests can fill, change and open an audited service on."""

    def __init__(self, kind: str, folder: Path, url: str | None) -> None:
        self.kind, self.folder, self.url = kind, folder, url
        self.table = f"staff_{next(_numbers)}" if kind == "postgres" else "staff"
        self._open = ExitStack()

    def fill(self, frame: pl.DataFrame = PEOPLE) -> Place:
        """Put these rows there, instead of any others."""
        if self.kind == "csv":
            frame.write_csv(self.folder / "staff.csv")
        elif self.kind == "parquet":
            frame.write_parquet(self.folder / "staff.parquet")
        elif self.kind == "duckdb":
            with duckdb.connect(str(self.folder / "staff.duckdb")) as connection:
                connection.execute("CREATE OR REPLACE TABLE staff AS SELECT * FROM frame")
        elif self.kind == "sqlite":
            with closing(sqlite3.connect(self.folder / "staff.sqlite")) as connection, connection:
                connection.execute("DROP TABLE IF EXISTS staff")
                connection.execute(f"CREATE TABLE staff ({', '.join(frame.columns)})")
                connection.executemany(f"INSERT INTO staff VALUES ({', '.join('?' * frame.width)})", frame.rows())
        else:
            self._fill_postgres(frame)
        return self

    def run(self, statement: str) -> None:
        """Change the table by SQL, in which ``staff`` stands for it."""
        if self.kind == "duckdb":
            with duckdb.connect(str(self.folder / "staff.duckdb")) as connection:
                connection.execute(statement)
        elif self.kind == "sqlite":
            with closing(sqlite3.connect(self.folder / "staff.sqlite")) as connection, connection:
                connection.execute(statement)
        elif self.kind == "postgres":
            import psycopg

            with psycopg.connect(self.url) as connection:
                connection.execute(statement.replace("staff", self.table))
        else:
            with duckdb.connect() as connection:
                path = self.folder / f"staff.{self.kind}"
                connection.execute(f"CREATE TABLE staff AS SELECT * FROM '{path}'")
                connection.execute(statement)
                connection.execute(f"COPY (SELECT * FROM staff ORDER BY 1) TO '{path}'")

    def policy(self, text: str = POLICY) -> AuditPolicy:
        """The policy of the table."""
        table = f'table = "{self.table}"\nname = "staff"' if self.kind == "postgres" else ""
        if self.kind in ("duckdb", "sqlite"):
            table = 'table = "staff"'
        source = self.url if self.kind == "postgres" else f"staff.{self.kind}"
        return AuditPolicy.parse(text.replace("{source}", source).replace("{table}", table), "policy.toml", self.folder)

    def service(self, text: str = POLICY) -> AuditService:
        """A service in front of the table; closed when the test ends."""
        return self._open.enter_context(AuditService(self.policy(text).settings))

    def close(self) -> None:
        self._open.close()

    def _fill_postgres(self, frame: pl.DataFrame) -> None:
        import psycopg

        kinds: dict[Any, str] = {
            pl.Int64: "bigint", pl.String: "text", pl.Float64: "double precision", pl.Boolean: "boolean", pl.Date: "date",
            pl.Datetime: "timestamp", pl.Decimal: "numeric",
        }  # fmt: skip
        listed = ", ".join(f'"{name}" {kinds[dtype.base_type()]}' for name, dtype in frame.schema.items())
        with psycopg.connect(self.url) as connection, connection.cursor() as cursor:
            cursor.execute(f"DROP TABLE IF EXISTS {self.table}")
            cursor.execute(f"CREATE TABLE {self.table} ({listed})")
            with cursor.copy(f"COPY {self.table} FROM STDIN") as copy:
                for row in frame.rows():
                    copy.write_row(row)


@pytest.fixture
def make_place(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Callable[..., Place]]:
    """Places of a kind; each has a folder of its own."""
    made: list[Place] = []

    def make(kind: str = "csv") -> Place:
        folder = tmp_path / f"place{len(made)}"
        folder.mkdir()
        url = request.getfixturevalue("postgres_url") if kind == "postgres" else None
        made.append(Place(kind, folder, url))
        return made[-1]

    yield make
    for place in made:
        place.close()


@pytest.fixture(params=["csv", "duckdb", "postgres"])
def place(request: pytest.FixtureRequest, make_place: Callable[..., Place]) -> Place:
    """The same people in every kind of database."""
    return make_place(request.param).fill()


@pytest.fixture
def simple(make_place: Callable[..., Place]) -> Place:
    """The people in the quickest kind of database."""
    return make_place("csv").fill()
