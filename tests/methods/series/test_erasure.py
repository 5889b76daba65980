"""People of whom a history keeps nothing but a keyed hash: forgotten after some releases, or erased on request."""

from __future__ import annotations

import io
import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import reticent as rt
from reticent.base.files import write_whole
from reticent.cli.app import app
from reticent.errors import DataError, PolicyError
from reticent.ledger import Ledger
from tests.methods.series.test_history import EVERYBODY, Killed, begin

NAMES = [f"person-{number}" for number in range(8)]
TABLE = EVERYBODY.with_columns(id=pl.Series(NAMES))
AWAY = TABLE.filter(pl.col("id") != NAMES[7])


def older(table: pl.DataFrame, years: int) -> pl.DataFrame:
    return table.with_columns(age=pl.col("age") + years)


def held_of(folder: Path, key: str, town: str) -> list[str]:
    """Where a key, or a quasi value that nobody else has, is in a file that is not public: in any byte, and in any cell of a table. A value at which a published box ends is public."""
    public = b"".join(each.read_bytes() for each in folder.rglob("public/*"))
    words = [key, *([] if town.encode() in public else [town])]
    found = []
    for path in (each for each in folder.rglob("*") if each.is_file() and "public" not in each.parts):
        content = path.read_bytes()
        cells = pl.read_parquet(io.BytesIO(content)).write_json().encode() if path.suffix == ".parquet" else b""
        found += [f"{path.name}: {word}" for word in words if word.encode() in content + cells]
    return found


@pytest.fixture(params=["text", "numbers"])
def months(request):
    """The table and the keys of whom it is about, as texts and as numbers."""
    numbers = {name: 7_340_000 + place for place, name in enumerate(NAMES)}
    if request.param == "text":
        return TABLE, AWAY, NAMES[7]
    return (*(each.with_columns(pl.col("id").replace_strict(numbers)) for each in (TABLE, AWAY)), numbers[NAMES[7]])


def rows_of(history, key) -> int:
    """How many rows of states have a value, or a quasi value, of a person."""
    return sum(int(((release.people == key) | release.quasi["town"].eq("Zzyzx")).sum()) for release in history.series)


def test_after_the_retention_no_byte_is_about_people_who_left(tmp_path, months):
    table, away, key = months
    with pytest.warns(UserWarning, match="forgotten"):
        history = begin(tmp_path / "history", retention=2)
    for number, frame in enumerate((table, away, away, away)):
        # Whoever left is remembered for two releases.
        history.publish(older(frame, number))
        assert (rows_of(history, key) > 0) == (number < 3)
    assert held_of(tmp_path, str(key), "Zzyzx") == []
    assert history.check().holds
    assert rt.attacks.series(history).highest <= 1 / 2
    assert history.publish(older(table, 9)).change["kept_out"] == 1


@pytest.mark.parametrize("who", ["present", "left"])
def test_an_erased_person_leaves_a_keyed_hash_and_a_record(tmp_path, months, who):
    table, away, key = months
    history = begin(tmp_path / "history")
    history.publish(table)
    history.publish(older(table if who == "present" else away, 1))
    assert held_of(tmp_path, str(key), "Zzyzx") or not isinstance(key, str)
    assert rows_of(history, key)
    history.erase(key, "on request of the person")
    assert rows_of(history, key) == 0
    assert held_of(tmp_path, str(key), "Zzyzx") == []
    with Ledger(tmp_path / "history" / "ledger.sqlite") as book:
        entry = book.entries("history")[-1]
    assert (entry.kind, entry.status, entry.details["reason"]) == ("erasure", "given out", "on request of the person")
    assert sorted(history.current()["id"].to_list()) == sorted(away["id"].to_list())
    made = history.publish(older(table, 2))
    assert (made.number, made.change["kept_out"], made.change["people"]) == (3, 1, 7)
    assert held_of(tmp_path, str(key), "Zzyzx") == []
    assert rt.verify(history.folders).holds
    assert history.check().holds
    assert rt.attacks.series(history).highest <= 1 / 2
    with pytest.raises(DataError, match="has no data about a person with the key"):
        history.erase(key, "once more")


def test_a_person_who_waits_is_erased(tmp_path):
    history = begin(tmp_path / "history")
    history.publish(AWAY)
    waits = TABLE.filter(pl.col("id") == NAMES[7])
    assert history.publish(pl.concat([older(AWAY, 1), waits])).waiting == 1
    assert held_of(tmp_path, NAMES[7], "Zzyzx")
    history.erase(NAMES[7], "on request")
    assert held_of(tmp_path, NAMES[7], "Zzyzx") == []


@pytest.mark.parametrize("step", range(1, 9))
def test_an_erasure_that_is_killed_is_finished_by_the_next_publication(tmp_path, monkeypatch, step):
    history = begin(tmp_path / "history")
    history.publish(TABLE)
    history.publish(older(TABLE, 1))
    calls = []

    def counted(true):
        def call(*arguments, **named):
            calls.append(true.__name__)
            if len(calls) == step:
                raise Killed
            return true(*arguments, **named)

        return call

    with monkeypatch.context() as patched:
        for owner, name in ((Ledger, "record"), (Ledger, "give_out"), (Ledger, "amend_states")):
            patched.setattr(owner, name, counted(getattr(owner, name)))
        patched.setattr("reticent.methods.series.history_folder.write_whole", counted(write_whole))
        ended = False
        try:
            history.erase(NAMES[7], "on request")
        except Killed:
            ended = True
    assert ended
    again = rt.republish.History.open(tmp_path / "history")
    assert again.check().holds
    if step == 1:
        again.erase(NAMES[7], "on request")
    again.publish(older(TABLE, 2))
    assert held_of(tmp_path, NAMES[7], "Zzyzx") == []
    assert again.check().holds


def test_erasing_from_the_command_line(tmp_path, monkeypatch):
    monkeypatch.setenv("RETICENT_LEDGER", str(tmp_path / "ledger.sqlite"))
    history = begin(tmp_path / "history", ledger=None)
    history.publish(TABLE)
    words = ["republish", "erase", NAMES[7], "--history", str(history.path)]
    refused = CliRunner().invoke(app, [*words, "--reason", " "])
    assert isinstance(refused.exception, PolicyError)
    found = CliRunner().invoke(app, [*words, "--reason", "on request", "--json"])
    assert (found.exit_code, json.loads(found.output)["ok"]) == (0, True)
    assert held_of(tmp_path, NAMES[7], "Zzyzx") == []
