"""A SQLite file as the audited table: the same decisions and answers as everywhere else."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from reticent.errors import DataError
from reticent.io.source import read_frame


def value(service, condition: str, function: str = "SUM(salary)"):
    return service.ask(f"SELECT {function} FROM staff WHERE {condition}").rows[0].answers[0].value


def test_a_sqlite_file_is_audited_like_any_table(make_place):
    place = make_place("sqlite").fill()
    service = place.service()
    assert value(service, "age > 0") == 32400
    assert value(service, "department <> 'hr'") is None
    assert value(service, "city = 'Bonn'", "AVG(bonus)") == 150 / 4
    place.run("INSERT INTO staff VALUES (9, 'it', 'Bonn', 35, 9000, 90)")
    assert service.sync() == {"salary": 1, "bonus": 1}
    assert value(service, "age > 0") is None
    again = make_place("csv").fill()
    again.folder = place.folder
    place.run("DELETE FROM staff WHERE id = 9")
    again.fill()
    assert again.service().new_values == {"salary": 0, "bonus": 0}, "a table may move to a file of another kind"


def test_changes_that_wait_in_the_log_of_sqlite_are_seen(make_place):
    place = make_place("sqlite").fill()
    with closing(sqlite3.connect(place.folder / "staff.sqlite")) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        service = place.service()
        assert value(service, "department = 'it'", "COUNT(*)") == 3
        with writer:
            writer.execute("INSERT INTO staff VALUES (9, 'it', 'Bonn', 35, 9000, 90)")
        assert value(service, "department = 'it'", "COUNT(*)") == 4


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (["1", "'a'"], "mixes values of the types integer, text"),
        (["x'00'", "x'01'"], "or holds blobs"),
        (["0.5", "9007199254740993"], "mixes fractions with 1 whole numbers beyond 2"),
    ],
)
def test_columns_without_one_type_are_refused_by_name(tmp_path, values, words):
    path = tmp_path / "people.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE people (id INTEGER, pay)")
        for number, each in enumerate(values):
            connection.execute(f"INSERT INTO people VALUES ({number}, {each})")
    assert read_frame(path, columns=["id"]).height == 2
    with pytest.raises(DataError, match=words):
        read_frame(path)


def test_what_is_not_a_sqlite_file_is_told(tmp_path):
    path = tmp_path / "people.db"
    path.write_text("no database " * 100)
    with pytest.raises(DataError, match=r"Is it a SQLite file\?"):
        read_frame(path)
    with closing(sqlite3.connect(tmp_path / "two.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE a (x)")
        connection.execute("CREATE TABLE b (x)")
    with pytest.raises(DataError, match="has no table 'c'"):
        read_frame(tmp_path / "two.sqlite", table="c")
