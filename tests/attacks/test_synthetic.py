"""Generators whose leaks are known: copies and near copies are found, new people and independent columns are not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import reticent as rt
from reticent.attacks import Cohorts, Findings, Isolation, Linkability, Membership, NearestGuess, attack, synthetic
from reticent.base.context import Context
from reticent.cli.app import app
from reticent.core import AdversaryView
from reticent.errors import Cancelled, DataError, PolicyError, ReticentError
from reticent.table import Table

Generator = Callable[[pl.DataFrame, np.random.Generator], pl.DataFrame]


def people(rows: int, seed: int) -> pl.DataFrame:
    """People whose columns go together: jobs by place and age, wages by job."""
    random = np.random.default_rng(seed)
    place = random.integers(0, 12, rows)
    age = random.integers(18, 80, rows)
    job = (place + age // 10 + random.integers(0, 6, rows)) % 15
    return pl.DataFrame(
        {
            "place": [f"place {number}" for number in place],
            "age": age,
            "job": [f"job {number}" for number in job],
            "household": random.integers(1, 7, rows),
            "origin": random.choice([f"origin {number}" for number in range(20)], rows),
            "wage": (job * 10 + random.normal(100, 15, rows)).round(0),
        }
    )


def copied(original: pl.DataFrame, random: np.random.Generator) -> pl.DataFrame:
    return original.sample(fraction=1, shuffle=True, seed=1)


def independent(original: pl.DataFrame, random: np.random.Generator) -> pl.DataFrame:
    rows = original.height
    return pl.DataFrame([original[name].gather(random.integers(0, rows, rows)) for name in original.columns])


def one_value_changed(original: pl.DataFrame, random: np.random.Generator) -> pl.DataFrame:
    other, which = independent(original, random), pl.Series(random.integers(0, original.width, original.height))
    return original.with_columns(
        pl.when(which == place).then(other[name]).otherwise(original[name]).alias(name)
        for place, name in enumerate(original.columns)
    )


def new_people(original: pl.DataFrame, random: np.random.Generator) -> pl.DataFrame:
    return people(original.height, 77)


def some_remembered(original: pl.DataFrame, random: np.random.Generator) -> pl.DataFrame:
    remembered = original.height // 20
    return pl.concat([original[:remembered], new_people(original, random)[remembered:]])


ORIGINAL, CONTROL = people(3000, 1), people(3000, 2)


def tried(made: Generator, control: bool) -> dict[str, Findings]:
    records = made(ORIGINAL, np.random.default_rng(5))
    found = synthetic(records, ORIGINAL, CONTROL if control else None, sensitive=["job"], sample=1500)
    return {each.adversary: each for each in found}


@pytest.mark.parametrize("control", [True, False], ids=["control", "split"])
def test_a_copy_is_found_by_everybody(control: bool) -> None:
    found = tried(copied, control)
    assert list(found) == ["membership", "singling out", "linkability", "inference of job"]
    assert [each.adversary for each in found.values() if not each.succeeds] == []
    # Half of the records take part where the table was split, so half of the people are found at most.
    assert found["membership"].share > (0.8 if control else 0.35)
    assert found["linkability"].share == 1 if control else 0.4 < found["linkability"].share < 0.6


@pytest.mark.parametrize("control", [True, False], ids=["control", "split"])
def test_rows_with_one_value_changed_are_found(control: bool) -> None:
    found = tried(one_value_changed, control)
    assert all(found[name].succeeds for name in ("membership", "linkability", "inference of job"))


@pytest.mark.parametrize("made", [independent, new_people])
@pytest.mark.parametrize("control", [True, False], ids=["control", "split"])
def test_independent_columns_and_new_people_are_not_called_a_leak(made: Generator, control: bool) -> None:
    found = tried(made, control)
    assert not [each.adversary for each in found.values() if each.succeeds]


def test_one_row_in_twenty_that_was_remembered_is_found_and_its_share_is_right() -> None:
    found = tried(some_remembered, True)["membership"]
    low, high = found.excess
    assert found.succeeds
    assert 0 < low < 0.05 < high < 0.1
    assert found.baseline is not None
    assert found.baseline < 0.03


def test_what_the_columns_say_about_everybody_is_guessed_and_is_no_leak() -> None:
    random = np.random.default_rng(3)
    rows = [str(number) for number in random.integers(0, 50, 6000)]
    frame = pl.DataFrame({"known": rows, "secret": [f"s{int(each) // 5}" for each in rows]})
    (guess,) = (
        each
        for each in synthetic(frame[:2000], frame[2000:4000], frame[4000:], sensitive=["secret"])
        if each.adversary == "inference of secret"
    )
    assert guess.share == guess.baseline == 1
    assert not guess.succeeds


def test_intervals_hold_for_new_people_again_and_again() -> None:
    """Of 40 files of new people, each adversary may call a leak one in 40 times; six or more would be luck beyond five sigma."""
    calls: dict[str, int] = {}
    for seed in range(40):
        files = [people(400, 1000 + 3 * seed + part) for part in range(3)]
        for each in synthetic(*files, sensitive=["job"], sample=200, seed=seed):
            calls[each.adversary] = calls.get(each.adversary, 0) + each.succeeds
    assert max(calls.values()) <= 6, calls


def test_releases_and_seen_records_are_attacked_by_adversaries_of_ones_own_choice() -> None:
    cohorts = Cohorts.of(ORIGINAL, CONTROL, sample=200)
    seen = AdversaryView.in_noise(ORIGINAL)
    found = attack(
        seen,
        Membership(cohorts, alarms="0.05"),
        Linkability(cohorts, first=["age", "job"]),
        NearestGuess(cohorts, "wage", tolerance=0),
        Isolation(cohorts, descriptions=300),
    )
    assert [each.succeeds for each in found] == [True] * 4
    assert found[1].details["second"] == ["place", "household", "origin", "wage"]
    assert found[3].unit == "descriptions"
    assert "descriptions" in found[3].summary()
    assert found[3].people <= 300


def test_true_rows_are_left_to_other_adversaries() -> None:
    cohorts = Cohorts.of(ORIGINAL, CONTROL, sample=200)
    table = Table(ORIGINAL, quasi=["age"], sensitive="job")
    with pytest.raises(PolicyError, match="these are true rows"):
        attack(table, Membership(cohorts))
    with pytest.raises(PolicyError, match="compares 'place', which was not published"):
        attack(AdversaryView.in_noise(ORIGINAL.drop("place")), Membership(cohorts))


def test_roles_come_from_the_table_or_from_what_was_said() -> None:
    table = Table(ORIGINAL, quasi=["age", "place"], sensitive="job")
    found = synthetic(ORIGINAL, table, CONTROL, sample=100)
    assert [each.adversary for each in found][-1] == "inference of job"
    assert found[-1].details["columns"] == ["place", "age"]
    every = synthetic(ORIGINAL, ORIGINAL, CONTROL, sample=100)
    assert len(every) == 3 + ORIGINAL.width


def test_types_of_two_files_may_differ_as_long_as_they_say_the_same() -> None:
    texts = ORIGINAL.with_columns(pl.col("age").cast(pl.Float64), pl.col("household").cast(pl.String))
    found = synthetic(texts, ORIGINAL, CONTROL, sample=300, sensitive=["job"])
    assert all(each.succeeds for each in found)


@pytest.mark.parametrize(
    ("target", "original", "control", "options", "words"),
    [
        (ORIGINAL, ORIGINAL[:5], None, {}, "The original table has 5 rows"),
        (ORIGINAL, ORIGINAL, CONTROL[:0], {}, "The control group has 0 rows"),
        (ORIGINAL, ORIGINAL, CONTROL.drop("age"), {}, "The control group has no column 'age'"),
        (ORIGINAL.select(pl.all().name.prefix("x")), ORIGINAL, None, {}, "have no column in common"),
        (ORIGINAL, ORIGINAL, None, {"sensitive": ["jop"]}, "have no column 'jop'"),
        (ORIGINAL, ORIGINAL, None, {"sample": 0}, "sample must be at least 1"),
        (ORIGINAL[:0], ORIGINAL, None, {}, "no synthetic record"),
    ],
)
def test_bad_input_is_named(target: Any, original: Any, control: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises((DataError, PolicyError), match=words):
        synthetic(target, original, control, **options)


def test_missing_values_and_duplicates_are_ordinary() -> None:
    holes = pl.concat(
        [ORIGINAL[:400].with_columns(age=pl.lit(None, pl.Int64), job=pl.lit("job 1")), ORIGINAL[:400], ORIGINAL[:400]]
    )
    found = synthetic(holes, holes, None, sample=100)
    assert len(found) == 3 + ORIGINAL.width


def test_a_run_tells_progress_and_can_be_stopped() -> None:
    heard: list[str] = []
    synthetic(ORIGINAL, ORIGINAL, None, sample=300, context=Context(listen=lambda event: heard.append(event.stage)))
    assert {"preparing", "attacking", "looking for near records"} <= set(heard)
    with pytest.raises(Cancelled):
        synthetic(ORIGINAL, ORIGINAL, None, context=Context(stop=lambda: len(heard) > 0))


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["attack", *map(str, arguments)])


@pytest.fixture
def files(tmp_path: Path) -> Path:
    ORIGINAL.write_csv(tmp_path / "patients.csv")
    CONTROL.write_csv(tmp_path / "others.csv")
    copied(ORIGINAL, np.random.default_rng(1)).write_csv(tmp_path / "copy.csv")
    new_people(ORIGINAL, np.random.default_rng(1)).write_csv(tmp_path / "new.csv")
    return tmp_path


def test_the_command_takes_a_file_that_somebody_else_made(files: Path) -> None:
    given = ["--original", files / "patients.csv", "--control", files / "others.csv", "--sensitive", "job"]
    told = json.loads(run(files / "copy.csv", *given, "--json").stdout)
    assert told["ok"] is True
    assert [each["succeeds"] for each in told["attacks"]] == [True] * 4
    limited = run(files / "copy.csv", *given, "--limit", "0.05")
    assert limited.exit_code == 1
    assert "are hit because of what was published" in limited.stdout.replace("\n", " ")
    harmless = run(files / "new.csv", *given, "--limit", "0.05")
    assert harmless.exit_code == 0
    assert "learns nothing about individual people" in " ".join(harmless.stdout.split())


def test_the_command_says_what_does_not_go_together(files: Path) -> None:
    for given, words in [
        (["--control", files / "others.csv"], "--original"),
        (["--original", files / "patients.csv", "--raw", "policy.toml"], "remove --raw"),
        (["--sensitive", "job"], "add --original"),
        (["--original", files / "missing.csv"], "missing.csv"),
    ]:
        done = run(files / "copy.csv", *given)
        assert isinstance(done.exception, ReticentError)
        assert done.exception.exit_code == 2
        assert words in str(done.exception)


def test_the_python_face_reads_files(files: Path) -> None:
    found = rt.attacks.synthetic(
        files / "copy.csv", original=files / "patients.csv", control=str(files / "others.csv"), sensitive=["job"]
    )
    assert found[0].succeeds
