"""The ledger through the command line as a newcomer meets it: trials leave no trace, other people are other data sets, the same people are recognised."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from reticent.release.release import Release
from tests.cli.conftest import Command
from tests.sampling import first

STRICTER = ("--definition", "KAnonymity(9)")
KILLED = """
import os, sys
from reticent.release.release import Release
Release._write = lambda *_, **__: os._exit(9)
from reticent.cli import main
sys.argv = ["reticent", *sys.argv[1:]]
sys.exit(main())
"""


def people(first: int) -> pl.DataFrame:
    numbers = range(first, first + 240)
    return pl.DataFrame(
        {
            "name": [f"Person {number}" for number in numbers],
            "age": [20 + (number * number) % 61 for number in numbers],
            "zip": [f"{13000 + (number * 37) % 90}" for number in numbers],
            "disease": [("flu", "cold", "ulcer")[(number * 7 + number // 3) % 3] for number in numbers],
        }
    )


@pytest.fixture
def folders(place: Path, reticent: Command) -> Path:
    """Two files of one name in two folders, about different people, each with the policy that inspect proposes."""
    for folder, start in (("north", 0), ("south", 5000)):
        (place / folder).mkdir()
        people(start).write_csv(place / folder / "data.csv")
        assert reticent("inspect", f"{folder}/data.csv", "-o", f"{folder}/policy.toml").code == 0
    return place


def test_a_trial_is_no_release(folders: Path, reticent: Command) -> None:
    assert reticent("preview", "north/policy.toml").code == 0
    assert reticent("publish", "north/policy.toml", "-o", "release", "--dry-run").code == 0
    assert reticent("assess", "north/policy.toml").code in (0, 1)
    assert not (folders / "release").exists()
    assert not (folders / "ledger" / "ledger.sqlite").exists()
    assert reticent("publish", "north/policy.toml", "-o", "release").code == 0
    assert reticent("preview", "north/policy.toml", *STRICTER).code == 0


def test_files_of_one_name_in_two_folders_are_two_data_sets(folders: Path, reticent: Command) -> None:
    for folder in ("north", "south"):
        made = reticent("publish", f"{folder}/policy.toml", "-o", f"{folder}/release")
        assert made.code == 0, made.err
    listed = {entry["dataset"] for entry in reticent("ledger", "list", "--json").json["entries"]}
    assert listed == {"north/data", "south/data"}


@pytest.mark.parametrize("change", first(["some ages", "half of them", "without names", "another order"], 2))
def test_a_changed_copy_of_the_same_people_is_recognised(folders: Path, reticent: Command, change: str) -> None:
    assert reticent("publish", "north/policy.toml", "-o", "release").code == 0
    rows = people(0)
    changed = {
        "some ages": rows.with_columns(age=pl.when(pl.int_range(240) % 20 == 0).then(99).otherwise(pl.col("age"))),
        "without names": rows.drop("name"),
        "half of them": rows.head(120),
        "another order": rows.sample(240, shuffle=True, seed=1),
    }[change]
    (folders / "elsewhere").mkdir()
    changed.write_csv(folders / "elsewhere" / "copy.csv")
    assert reticent("inspect", "elsewhere/copy.csv", "-o", "copy.toml").code == 0
    refused = reticent("publish", "copy.toml", "-o", "second", *STRICTER)
    assert refused.code == 2, refused.out
    assert "seems to be about the same people as 'north/data'" in refused.err
    assert not (folders / "second").exists()


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), OSError(30, "Read-only file system")])
def test_a_release_that_could_not_be_saved_is_not_released(
    folders: Path, reticent: Command, monkeypatch: pytest.MonkeyPatch, error: OSError
) -> None:
    with monkeypatch.context() as broken:

        def fails(*_: object, **__: object) -> None:
            raise error

        broken.setattr("reticent.release.release.write_new", fails)
        failed = reticent("publish", "north/policy.toml", "-o", "release")
    assert failed.code == 2
    assert str(error.strerror) in failed.err
    assert not (folders / "release").exists()
    assert [entry["status"] for entry in reticent("ledger", "list", "--json").json["entries"]] == ["withdrawn"]
    # Another content than the one that was lost.
    assert reticent("publish", "north/policy.toml", "-o", "release", *STRICTER).code == 0


def test_a_killed_publication_says_how_to_go_on(folders: Path, reticent: Command) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, "publish", "north/policy.toml", "-o", "release"],
        cwd=folders,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
        capture_output=True,
    )
    assert done.returncode == 9
    assert Release._write.__module__ == "reticent.release.release"
    assert not (folders / "release").exists()
    refused = reticent("publish", "north/policy.toml", "-o", "release", *STRICTER)
    assert refused.code == 2
    assert "It was never saved" in refused.err
    assert "reticent ledger withdraw 'north/data' 1 --reason 'never saved'" in refused.err
    assert reticent("ledger", "withdraw", "north/data", "1", "--reason", "never saved").code == 0
    assert reticent("publish", "north/policy.toml", "-o", "release", *STRICTER).code == 0


@pytest.mark.slow
def test_the_same_content_is_saved_after_a_kill_without_more_ado(folders: Path, reticent: Command) -> None:
    subprocess.run(
        [sys.executable, "-c", KILLED, "publish", "north/policy.toml", "-o", "release"],
        cwd=folders,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
        capture_output=True,
    )
    assert reticent("publish", "north/policy.toml", "-o", "release").code == 0
    assert [entry["status"] for entry in reticent("ledger", "list", "--json").json["entries"]] == ["given out"]
