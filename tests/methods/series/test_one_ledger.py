"""One ledger for everything: a history keeps to its own, refuses another, and what else is out about the same people is known."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import reticent as rt
from reticent.cli.app import app
from reticent.errors import DataError, LedgerError, PolicyError
from reticent.ledger import Ledger
from reticent.methods.series import History
from tests.methods.series.examples import DOMAIN, MONTHS, UNSAFE_GROUPS

SETTINGS = {"m": 2, "key": "id", "sensitive": "disease", "quasi": {"age": None, "zip": None}, "domain": DOMAIN}


@pytest.fixture(autouse=True)
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The ledger of the user who runs the test."""
    monkeypatch.setenv("RETICENT_LEDGER", str(tmp_path / "user.sqlite"))
    return tmp_path / "user.sqlite"


def begin(path: Path, **more: object) -> History:
    return rt.republish.History.open(path, **{**SETTINGS, **more})


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(each.relative_to(folder)): each.read_bytes() for each in folder.rglob("*") if each.is_file()}


def test_reading_a_history_changes_no_file(tmp_path):
    history = begin(tmp_path / "wards", ledger=tmp_path / "company.sqlite")
    for month in MONTHS:
        history.publish(month)
    before = files_of(tmp_path / "wards")
    again = History.open(tmp_path / "wards")
    assert len(again.series) == len(again.folders) == 3
    again.check(), again.facts(), again.current(), rt.attacks.series(again)
    assert files_of(tmp_path / "wards") == before


@pytest.mark.parametrize("how", ["another", "missing", "older"])
def test_a_ledger_that_does_not_know_the_releases_is_refused_and_takes_nothing_away(tmp_path, monkeypatch, how):
    company = tmp_path / "company.sqlite"
    history = begin(tmp_path / "wards", ledger=company)
    history.publish(MONTHS[0])
    shutil.copytree(tmp_path, tmp_path / "backup", ignore=lambda *_: ["wards", "backup"])
    history.publish(MONTHS[1])
    before, named = files_of(tmp_path / "wards"), {}
    if how == "another":
        named = {"ledger": tmp_path / "other.sqlite"}
    for each in tmp_path.glob("company.sqlite*"):
        if how != "another":
            each.unlink()
        if how == "older":
            shutil.copy(tmp_path / "backup" / each.name, each)
    with pytest.raises(LedgerError, match=r"is not that ledger|is an older copy"):
        History.open(tmp_path / "wards", **named)
    found = CliRunner().invoke(
        app, ["attack", "--history", str(tmp_path / "wards"), *(["--ledger", str(named["ledger"])] if named else [])]
    )
    assert isinstance(found.exception, LedgerError)
    assert files_of(tmp_path / "wards") == before


def test_a_mistyped_history_does_not_begin_a_second_series_of_the_same_people(tmp_path):
    history = begin(tmp_path / "wards", dataset="wards")
    # By seeds: two releases of six people that are equal by chance tell nothing new, and are not refused.
    history.publish(MONTHS[0], insecure_seed=1)
    with pytest.raises(LedgerError, match=r"has 1 releases of the data set 'wards', in the history .*wards"):
        begin(tmp_path / "wads", dataset="wards")
    assert not (tmp_path / "wads").exists()
    other = begin(tmp_path / "other", dataset="other")
    with pytest.raises(
        LedgerError, match=r"release 1 of 'wards'.*'other' seems to be about the same people as 'wards'"
    ):
        other.publish(MONTHS[0], insecure_seed=2)
    assert (len(other), len(history)) == (0, 1)
    with pytest.raises(LedgerError, match="seems to be about the same people as 'wards'"):
        other.import_release(MONTHS[0], UNSAFE_GROUPS[0])


def test_a_release_by_other_means_knows_the_series(tmp_path, user):
    begin(tmp_path / "wards", dataset="wards").publish(MONTHS[0])
    for name in ("wards", "another name"):
        table = rt.Table(MONTHS[1], quasi=["age", "zip"], sensitive="disease", identifiers=["id"], dataset=name)
        with pytest.raises(LedgerError, match="'wards' was released already"):
            rt.publish(table, rt.KAnonymity(2))


def test_a_folder_that_was_copied_is_refused_when_the_series_went_on_elsewhere(tmp_path):
    history = begin(tmp_path / "wards")
    history.publish(MONTHS[0])
    shutil.copytree(tmp_path / "wards", tmp_path / "copy")
    history.publish(MONTHS[1])
    with pytest.raises(LedgerError, match="does not hold them"):
        History.open(tmp_path / "copy")


def test_imported_months_that_give_people_away_end_the_series(tmp_path):
    history = begin(tmp_path / "wards")
    for month, groups in zip(MONTHS, UNSAFE_GROUPS, strict=True):
        history.import_release(month, groups)
    with pytest.raises(
        PolicyError, match=r"imported releases do not satisfy TauSafety\(m=2\) together: 6 violations, 4 people"
    ):
        history.publish(MONTHS[2].with_columns(age=pl.col("age") + 1))
    with pytest.raises(PolicyError, match="No certificate could be true"):
        history.preview(MONTHS[0])
    assert (len(history), history.folders) == (3, ())


@pytest.mark.parametrize("name", ["secret", "history.json", "people.parquet", "gone.parquet", "state.json"])
@pytest.mark.parametrize("how", ["missing", "changed"])
@pytest.mark.parametrize("newest", [True, False])
def test_a_file_that_is_missing_or_was_changed_is_refused(tmp_path, name, how, newest):
    history = begin(tmp_path / "wards")
    for month in MONTHS[:2]:
        history.publish(month)
    place = next(iter(sorted((tmp_path / "wards").rglob(name), reverse=newest)))
    if how == "missing":
        place.unlink()
    elif name == "history.json":
        place.write_text(place.read_text().replace('"near"', '"random"'))
    else:
        place.write_bytes(bytes(each ^ 1 for each in place.read_bytes()))
    with pytest.raises((DataError, PolicyError), match=r"backup|does not hold a history yet"):
        History.open(tmp_path / "wards").publish(MONTHS[2])
    assert not (tmp_path / "wards" / "releases" / "0003").exists()


def test_an_old_snapshot_is_refused(tmp_path):
    history = begin(tmp_path / "wards")
    for month in MONTHS[:2]:
        history.publish(month)
    with pytest.raises(DataError, match="exactly that of release 1, and release 2 came after it"):
        history.publish(MONTHS[0])
    assert history.publish(MONTHS[0], again=True).number == 3


@pytest.mark.parametrize(
    ("column", "values", "problem"),
    [
        ("id", [1.5, 2.5, 3.5, 4.5, 5.5, 6.5], "has the type|has type Float64"),
        ("id", ["1", "2", "3", "4", "5", "06"], r"'06', which would become 6"),
        ("age", [21.5, 22.0, 24.0, 23.0, 41.0, 42.0], r"21.5, which would become 21"),
    ],
)
def test_keys_and_numbers_are_not_read_as_others(tmp_path, column, values, problem):
    """Numbers of people were cut to whole ones, and texts became numbers: another person's signature."""
    history = begin(tmp_path / "wards")
    january = MONTHS[0].with_columns(id=pl.Series(range(1, 7)))
    history.publish(january)
    with pytest.raises(DataError, match=problem):
        history.publish(january.with_columns(pl.Series(column, values)))
    assert history.publish(january.with_columns(pl.col("id").cast(pl.String), age=pl.col("age") + 1.0)).number == 2
    with pytest.raises(DataError, match="identified by whole numbers or text"):
        begin(tmp_path / "other", ledger=tmp_path / "o.sqlite").publish(
            january.with_columns(pl.col("id").cast(pl.Float64))
        )


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        (["1.0", "2.0", "3.0", "4.0", "5.0", "6.0"], r"'1.0', and the release before has '1'.* 6 keys are affected"),
        (["1", "2", "3", "4", "5", "6."], r"'6.', and the release before has '6'.* 1 keys are affected"),
        (["001", "002", "003", "004", "005", "006"], r"'001', and the release before has '1'"),
    ],
)
def test_texts_that_write_known_numbers_in_another_way_are_refused(tmp_path, keys, problem):
    """A file that went through a column of floats: everybody would have left, and as many others come."""
    history = begin(tmp_path / "wards")
    january = MONTHS[0].with_columns(id=pl.Series(["1", "2", "3", "4", "5", "6"]))
    history.publish(january)
    with pytest.raises(DataError, match=problem):
        history.publish(january.with_columns(id=pl.Series(keys), age=pl.col("age") + 1))
    others = january.with_columns(id=pl.Series(["1", "2", "3", "4", "06", "15"]), age=pl.col("age") + 1)
    assert history.publish(others).number == 2


def test_a_history_of_an_earlier_version_is_told_in_words(tmp_path):
    history = begin(tmp_path / "wards")
    history.publish(MONTHS[0])
    with Ledger(tmp_path / "user.sqlite") as book:
        ((state, _),) = book.states("wards", "republished table")
        book.amend_states("wards", [replace(state, details={"number": 1})])
    with pytest.raises(DataError, match="started by an earlier version"):
        History.open(tmp_path / "wards")


def test_people_of_a_history_beside_it_begin_no_second_series_under_another_ledger(tmp_path):
    first = begin(tmp_path / "wards", ledger=tmp_path / "mine.sqlite")
    first.publish(MONTHS[0])
    second = begin(tmp_path / "ward", ledger=tmp_path / "home" / "other.sqlite")
    with pytest.raises(
        LedgerError,
        match=r"people are also in the history '.*wards', which belongs to the ledger '.*mine.sqlite'",
    ):
        second.publish(MONTHS[1])
    assert not second.folders
    # Other people, other keys, and whoever says so.
    strangers = MONTHS[0].with_columns(id=pl.lit("x") + pl.col("id").cast(pl.String))
    assert (
        begin(tmp_path / "clinic", ledger=tmp_path / "home" / "other.sqlite", dataset="clinic").publish(strangers).new
    )
    renamed = begin(tmp_path / "named", ledger=tmp_path / "third.sqlite", key="person")
    assert renamed.publish(MONTHS[0].rename({"id": "person"})).new
    assert begin(tmp_path / "said", ledger=tmp_path / "fourth.sqlite").publish(MONTHS[0], again=True).new
    # A history beside it that cannot be read tells nothing, and stops nobody.
    for state in (tmp_path / "wards" / "states").glob("*/people.parquet"):
        state.write_bytes(b"")
    for other in ("named", "said"):
        shutil.rmtree(tmp_path / other)
    assert second.publish(MONTHS[1]).new
