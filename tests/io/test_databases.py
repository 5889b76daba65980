"""Any database that SQLAlchemy reaches: rows come in with their types, releases go out whole or not at all, and no message has a password."""

from __future__ import annotations

import datetime
import sqlite3
from pathlib import Path

import polars as pl
import pytest

import reticent as rt
from reticent.errors import DataError, PolicyError
from reticent.io.databases import database_tables
from reticent.io.source import Source, read_frame
from reticent.table.rows import FrameRows, StreamRows

ROWS = pl.DataFrame(
    {
        "a b": [1, None, 2**62],
        "share": [0.1 + 0.2, None, 1e300],
        "name": ["O'Neill, é", "", None],
        "born": [datetime.date(1980, 1, 2), None, datetime.date(1900, 1, 1)],
        "seen": [datetime.datetime(2024, 1, 2, 3, 4, 5, 123456), None, None],
        "ill": [True, False, None],
    }
)


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'people.data'}"


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str:
    if request.param == "sqlite":
        return str(request.getfixturevalue("sqlite_url"))
    import psycopg

    address = str(request.getfixturevalue("postgres_url"))
    with psycopg.connect(address) as connection:
        connection.execute("drop table if exists people, released, released_quasi, released_sensitive")
    return address.replace("postgresql://", "postgresql+psycopg://", 1)


def test_what_is_written_is_read_again(url: str) -> None:
    with database_tables(url, {"people": FrameRows(ROWS)}):
        pass
    assert read_frame(url, table="people").equals(ROWS)
    chosen = read_frame(url, query='select "name", ill from people where "a b" is not null;', columns=["ill"])
    assert [value is not None and bool(value) for value in chosen["ill"]] == [True, False]
    assert Source(url, table="people").columns() == ROWS.columns
    assert isinstance(Source(url, table="people").open(engine="streaming"), StreamRows)
    with pytest.raises(DataError, match=r"has no table 'peopel'\. Did you mean 'people'"):
        read_frame(url, table="peopel")
    with pytest.raises(DataError, match=r"has no column 'nam'\. Did you mean 'name'"):
        read_frame(url, table="people", columns=["nam"])
    with pytest.raises(DataError, match="The database says"):
        read_frame(url, query="select nothing from nowhere")


def test_a_failure_on_the_way_leaves_no_table(url: str) -> None:
    def fails() -> None:
        raise RuntimeError("no")

    with pytest.raises(RuntimeError), database_tables(url, {"people": FrameRows(ROWS)}):
        fails()
    with pytest.raises(DataError, match="has no table 'people'"):
        read_frame(url, table="people")


def test_a_table_that_is_there_is_left_alone(url: str) -> None:
    with database_tables(url, {"people": FrameRows(ROWS.head(1))}):
        pass
    with (
        pytest.raises(DataError, match="has a table 'people' already"),
        database_tables(url, {"people": FrameRows(ROWS)}),
    ):
        pass
    assert read_frame(url, table="people").height == 1


def table() -> rt.Table:
    frame = pl.DataFrame({"age": [20, 21, 22, 23] * 10, "sex": ["f", "m"] * 20, "ill": ["yes", "no", "no", "no"] * 10})
    return rt.Table(frame, quasi=["age", "sex"], sensitive="ill")


def test_a_release_goes_to_its_folder_and_to_the_database(url: str, tmp_path: Path) -> None:
    release = rt.publish(table(), rt.KAnonymity(5))
    release.save(tmp_path / "release", to=url, table="released")
    assert rt.verify(tmp_path / "release").holds
    found = read_frame(url, table="released")
    assert found.sort(found.columns).equals(release.frame.sort(release.frame.columns))
    buckets = rt.publish(table(), rt.DistinctLDiversity(2), rt.Lattice(format="bucketize"))
    buckets.save(tmp_path / "buckets", to=url, table="released")
    assert read_frame(url, table="released_quasi").height == 40


def test_neither_folder_nor_table_is_left_when_one_of_them_fails(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = rt.publish(table(), rt.KAnonymity(5))
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(DataError, match="could not be saved"):
        release.save(tmp_path / "file" / "release", to=sqlite_url, table="released")
    with pytest.raises(DataError, match="has no table 'released'"):
        read_frame(sqlite_url, table="released")
    # The database fails at the last moment: when it is told to commit.
    from sqlalchemy.engine import Connection
    from sqlalchemy.exc import OperationalError

    def broken(_: Connection) -> None:
        raise OperationalError("COMMIT", None, Exception("the server is gone"))

    monkeypatch.setattr(Connection, "commit", broken)
    with pytest.raises(DataError, match="The database says: the server is gone"):
        release.save(tmp_path / "release", to=sqlite_url, table="released")
    monkeypatch.undo()
    assert not (tmp_path / "release").exists()
    release.save(tmp_path / "release", to=sqlite_url, table="released")
    assert rt.verify(tmp_path / "release").holds


def test_what_is_missing_or_wrong_is_named_without_a_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for address, told in {
        "mysql+pymysql://ann:secret@host/db": "pip install",
        "nosuch://ann:secret@host/db": "no database of the kind 'nosuch'",
        "sqlite:////no/such/folder/file": "unable to open database file",
    }.items():
        with pytest.raises(DataError, match=told) as caught:
            read_frame(address, table="people")
        assert "secret" not in str(caught.value)
    release = rt.publish(table(), rt.KAnonymity(5))
    with pytest.raises(PolicyError, match="and the table name"):
        release.save(tmp_path / "release", to="sqlite://")
    with pytest.raises(PolicyError, match="environment variable NO_SUCH is not set"):
        release.save(tmp_path / "release", to="env:NO_SUCH", table="x")
    monkeypatch.setenv("SOME_DATABASE", f"sqlite:///{tmp_path / 'a.data'}")
    release.save(tmp_path / "release", to="env:SOME_DATABASE", table="x")
    assert rt.read("env:SOME_DATABASE", quasi=["age"]).rows == 40


def test_a_column_of_several_types_is_refused(tmp_path: Path, sqlite_url: str) -> None:
    with sqlite3.connect(tmp_path / "people.data") as connection:
        connection.execute("create table people (a, b)")
        connection.executemany("insert into people values (?, ?)", [(1, b"x"), ("two", b"y")])
    with pytest.raises(DataError, match="column 'a' has values of the types int, str"):
        read_frame(sqlite_url, columns=["a"])
    with pytest.raises(DataError, match="column 'b' has values of the types bytes"):
        read_frame(sqlite_url, columns=["b"])
