"""PostgreSQL in place, on a real server: schemas, identity columns, generalized views, and a refresh as the next release."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest

import reticent as rt
from reticent.cli.app import app
from reticent.cli.console import run
from reticent.errors import DataError, PolicyError
from reticent.postgres import generalized_view
from tests.cli.conftest import PATIENTS, POLICY

psycopg = pytest.importorskip("psycopg", reason="PostgreSQL needs the extra postgres")
pytestmark = pytest.mark.xdist_group("postgres")
VIEWS_POLICY = POLICY.replace(
    'name = "RecursiveLDiversity"\nc = 3\nl = 2', 'name = "DistinctLDiversity"\nl = 2'
).replace("[method]\nobjective", '[method]\nname = "Lattice"\nobjective')


@pytest.fixture
def database(postgres_url: str) -> Iterator[psycopg.Connection]:
    """A database with people in one schema and another for what is published."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("drop schema if exists raw cascade")
        connection.execute("drop schema if exists reporting cascade")
        connection.execute("create schema raw")
        connection.execute("create schema reporting")
        connection.execute(
            "create table raw.patients (id bigint generated always as identity primary key, name text, age int, zip text, disease text, note text)"
        )
        with connection.cursor() as cursor:
            cursor.executemany(
                "insert into raw.patients (name, age, zip, disease, note) values (%s, %s, %s, %s, %s)", PATIENTS.rows()
            )
        yield connection
        connection.execute("drop schema raw cascade")
        connection.execute("drop schema reporting cascade")


@pytest.fixture
def place(tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RETICENT_LEDGER", str(tmp_path / "ledger" / "ledger.sqlite"))
    monkeypatch.setenv("DATABASE_URL", postgres_url)
    (tmp_path / "policy.toml").write_text(VIEWS_POLICY)
    return tmp_path


@pytest.fixture
def reticent(place: Path, monkeypatch, capsys) -> Callable[..., dict]:
    def command(*words: str, code: int = 0) -> dict:
        monkeypatch.setattr(sys, "argv", ["reticent", *words, "--json"])
        capsys.readouterr()
        found = run(app)
        text = capsys.readouterr().out
        assert found == code, text
        return json.loads(text)

    return command


FROM = ("--from", "env:DATABASE_URL", "--from-table", "raw.patients")
TO = ("--to", "env:DATABASE_URL", "--to-table", "reporting.patients", "--identity", "row")


def test_a_release_goes_from_one_schema_to_another_with_an_identity_column(
    database: psycopg.Connection, reticent, place: Path
) -> None:
    reticent("publish", "policy.toml", "-o", "release", *FROM, *TO)
    rows = database.execute('select "row", age, zip, disease from reporting.patients order by "row"').fetchall()
    published = pl.read_csv(place / "release" / "public" / "data.csv", schema_overrides={"zip": pl.String})
    assert [row[1:] for row in rows] == published.select("age", "zip", "disease").rows()
    assert [row[0] for row in rows] == list(range(1, 121))
    kind = database.execute(
        "select is_identity, identity_generation from information_schema.columns where table_schema = 'reporting' and column_name = 'row'"
    ).fetchone()
    assert kind == ("YES", "ALWAYS")
    assert rt.verify(place / "release").holds


def test_a_schema_that_is_not_there_or_a_table_that_is_ends_without_a_trace(
    database: psycopg.Connection, reticent, place: Path
) -> None:
    wrong = [*TO[:3], "reportng.patients"]
    said = reticent("publish", "policy.toml", "-o", "release", *FROM, *wrong, code=2)
    assert "no schema 'reportng'. Did you mean 'reporting'?" in said["error"]["message"]
    database.execute("create table reporting.patients (a int)")
    said = reticent("publish", "policy.toml", "-o", "release", *FROM, *TO, code=2)
    assert "has a table 'reporting.patients' already" in said["error"]["message"]
    assert not (place / "release").exists()
    taken = [*TO[:3], "reporting.other", "--identity", "age"]
    assert (
        "'age' already"
        in reticent("publish", "policy.toml", "-o", "release", *FROM, *taken, code=2)["error"]["message"]
    )
    said = reticent("publish", "policy.toml", "-o", "release", "--from-table", "raw.patients", code=2)
    assert "pass both" in said["error"]["message"]


def run_sql(database: psycopg.Connection, path: Path) -> None:
    database.execute(path.read_text())


def views(reticent, release: str = "release") -> dict:
    words = ("--release", release, "--name", "reporting.visits", "--table", "raw.patients", "--grant", "analysts")
    return reticent("postgres", "views", "policy.toml", *words, "-o", "views.sql")


@pytest.fixture
def viewed(database: psycopg.Connection, reticent, place: Path) -> Iterator[psycopg.Connection]:
    """The view of a release's recoding, and a role that may select from it alone."""
    reticent("publish", "policy.toml", "-o", "release", *FROM)
    database.execute("create role analysts")
    database.execute("grant usage on schema reporting, raw to analysts")
    views(reticent)
    run_sql(database, place / "views.sql")
    yield database
    database.execute("reset role")
    database.execute("drop owned by analysts")
    database.execute("drop role analysts")


def shown(database: psycopg.Connection) -> list[tuple[str, ...]]:
    return sorted(database.execute("select age, zip, disease from reporting.visits").fetchall())


def test_a_view_shows_the_rows_of_the_release_and_its_hash(viewed: psycopg.Connection, reticent, place: Path) -> None:
    published = pl.read_csv(place / "release" / "public" / "data.csv", schema_overrides={"zip": pl.String})
    assert shown(viewed) == sorted(published.select("age", "zip", "disease").rows())
    told = views(reticent)
    comment = viewed.execute("select obj_description('reporting.visits'::regclass)").fetchone()[0]
    assert told["certificate"] in comment
    assert "release 1 of patients" in comment
    options = viewed.execute("select reloptions from pg_class where oid = 'reporting.visits'::regclass").fetchone()[0]
    assert "security_barrier=true" in options
    assert any("ledger" in line for line in told["not_promised"])


def test_the_role_sees_the_view_and_not_the_rows(viewed: psycopg.Connection) -> None:
    viewed.execute("set role analysts")
    assert len(shown(viewed)) == 120
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        viewed.execute("select * from raw.patients")
    viewed.execute("reset role")
    # A function that shows what it is called with does not see rows that the view leaves out.
    viewed.execute("insert into raw.patients (name, age, zip, disease) values ('zzmarker', 119, '99999', 'zzmarker')")
    viewed.execute(
        "create function reporting.peek(text) returns boolean language plpgsql cost 0.0001 as $$ begin raise notice 'seen %', $1; return true; end $$"
    )
    viewed.execute("grant execute on function reporting.peek(text) to analysts")
    notices: list[str] = []
    viewed.add_notice_handler(lambda each: notices.append(str(each.message_primary)))
    viewed.execute("set role analysts")
    viewed.execute("select * from reporting.visits where reporting.peek(disease)")
    assert notices
    assert not any("zzmarker" in each for each in notices)


def test_groups_that_became_too_small_or_uniform_are_not_shown(viewed: psycopg.Connection) -> None:
    before = shown(viewed)
    age, zip_, _ = before[0]
    low = int(age.strip("[").split(",")[0])
    viewed.execute(
        "update raw.patients set disease = 'flu' where age >= %s and age < %s and zip like %s",
        (low, low + 10, zip_.rstrip("*") + "%"),
    )
    assert not [row for row in shown(viewed) if row[:2] == (age, zip_)]
    viewed.execute("delete from raw.patients where id > 3")
    assert shown(viewed) == []


def test_a_refresh_is_the_next_release_and_replaces_the_view(viewed: psycopg.Connection, reticent, place: Path) -> None:
    for number in range(40):
        viewed.execute(
            "insert into raw.patients (name, age, zip, disease) values (%s, %s, '13001', %s)",
            (f"New {number}", 20 + number, ("flu", "cold")[number % 2]),
        )
    refused = reticent("publish", "policy.toml", "-o", "second", *FROM, code=2)
    assert "patients" in refused["error"]["message"]
    reticent("publish", "policy.toml", "-o", "second", *FROM, "--again")
    second = views(reticent, "second")
    run_sql(viewed, place / "views.sql")
    comment = viewed.execute("select obj_description('reporting.visits'::regclass)").fetchone()[0]
    assert second["certificate"] in comment
    assert "release 2 of patients" in comment
    published = pl.read_csv(place / "second" / "public" / "data.csv", schema_overrides={"zip": pl.String})
    assert shown(viewed) == sorted(published.select("age", "zip", "disease").rows())


def test_a_release_whose_labels_depend_on_the_group_is_refused(tmp_path: Path) -> None:
    table = rt.Table(PATIENTS, quasi=["age"], sensitive="disease")
    rt.publish(table, rt.KAnonymity(4), method=rt.Mondrian(values="sets")).save(tmp_path / "release")
    with pytest.raises(PolicyError, match="made by Mondrian"):
        generalized_view(tmp_path / "release", "raw.patients", "reporting.visits")
    with pytest.raises(DataError):
        generalized_view(tmp_path, "raw.patients", "reporting.visits")


def test_names_and_values_cannot_end_their_quotes(database: psycopg.Connection, tmp_path: Path) -> None:
    town = "Aix'; drop table raw.patients; --\\'"
    frame = pl.DataFrame({'to"wn': [town, "Apt"] * 5, "ill": ["flu", "cold", "gout", "flu", "cold"] * 2})
    table = rt.Table(frame, quasi=['to"wn'], sensitive="ill")
    rt.publish(table, rt.KAnonymity(2), method=rt.Lattice()).save(tmp_path / "release")
    database.execute('create table raw."o""dd" ("to""wn" text, ill text)')
    with database.cursor() as cursor:
        cursor.executemany('insert into raw."o""dd" values (%s, %s)', frame.rows())
    made = generalized_view(tmp_path / "release", 'raw.o"dd', 'reporting.o"dd', grant=[])
    database.execute(made.sql)
    rows = database.execute('select * from reporting."o""dd"').fetchall()
    assert sorted(rows) == sorted(frame.rows())
    assert database.execute("select count(*) from raw.patients").fetchone() == (120,)
