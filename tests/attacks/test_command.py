"""``reticent attack`` tells people and machines what the adversaries achieved."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner, Result

from reticent.cli.app import app
from reticent.demo import hospital, hospital_policy_text, voter_roll
from reticent.errors import DataError, PolicyError

ANOTHER = """
[data]
source = "hospital.csv"
[roles]
quasi = ["sex"]
sensitive = ["diagnosis"]
[[definition]]
name = "KAnonymity"
k = 2
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A policy with its data, a release of them, a list of people and a control group."""
    folder = tmp_path_factory.mktemp("attack")
    register = hospital(1500)
    register.write_csv(folder / "hospital.csv")
    voter_roll(register).write_csv(folder / "voters.csv")
    hospital(800, seed=99).write_csv(folder / "others.csv")
    (folder / "policy.toml").write_text(hospital_policy_text())
    (folder / "another.toml").write_text(ANOTHER)
    done = run("publish", folder / "policy.toml", "-o", folder / "release", "--ledger", folder / "ledger.sqlite")
    assert done.exit_code == 0, done.output
    return folder


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(each) for each in arguments], env={"COLUMNS": "200"})


def test_a_release_is_attacked_from_its_public_side_alone(place: Path) -> None:
    for folder in (place / "release", place / "release" / "public"):
        done = run("attack", folder, "--json")
        assert done.exit_code == 0, done.output
        told = json.loads(done.stdout)
        assert told["ok"] is True
        assert [each["adversary"] for each in told["attacks"]] == [
            "homogeneity",
            "exclusion",
            "skewness",
            "singling out",
            "column in turn",
        ]
        for each in told["attacks"]:
            assert each["interval"][0] <= each["share"] <= each["interval"][1]
            assert each["before"] is None
            assert each["example"]
            assert each["knows"]


def test_with_the_table_it_shows_before_and_after(place: Path) -> None:
    arguments = ["attack", place / "release", "--raw", place / "policy.toml", "--control", place / "others.csv"]
    told = json.loads(run(*arguments, "--json").stdout)
    found = {each["adversary"]: each for each in told["attacks"]}
    assert len(found) == 8
    assert found["linkage"]["before"]["share"] > 0.9
    assert found["linkage"]["hits"] == found["homogeneity"]["hits"] == 0
    assert found["inference"]["details"]["compared_with"] == "800 people who are not in the data"
    text = run(*arguments).stdout
    for words in ("original", "published", "95 % interval", "Linkage knows a list of 1,500 people", "Original: "):
        assert words in text


def test_people_of_another_list_are_looked_up_by_name(place: Path) -> None:
    done = run("attack", place / "policy.toml", "--people", place / "voters.csv", "--who", "name")
    names = pl.read_csv(place / "voters.csv")["name"].to_list()
    assert any(f"  {name} (" in done.stdout for name in names)
    assert "more likely than not theirs" in done.stdout


def test_a_limit_decides_the_exit_code(place: Path) -> None:
    assert run("attack", place / "release", "--limit", "0.9").exit_code == 0
    assert run("attack", place / "policy.toml", "--limit", "0.9").exit_code == 1


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        (["--who", "name"], PolicyError, "add --people"),
        (["--control", "others.csv"], PolicyError, "add --raw, --original, or --people"),
        (["--people", "voters.csv", "--who", "nmae"], DataError, "Did you mean 'name'"),
        (["--model", "florest"], PolicyError, "no model 'florest'. Did you mean 'forest'"),
        (
            ["--people", "hospital.csv", "--control", "voters.csv"],
            DataError,
            "The control group has no column 'diagnosis'",
        ),
        (["--raw", "another.toml"], DataError, "The release has the quasi column 'age' and the table does not"),
    ],
)
def test_what_does_not_go_together_is_refused(
    place: Path, options: list[str], kind: type[Exception], message: str
) -> None:
    given = [place / each if each.endswith((".csv", ".toml")) else each for each in options]
    with pytest.raises(kind, match=message):
        raise run("attack", place / "release", *given).exception  # type: ignore[misc]  # there is one


@pytest.mark.parametrize(
    ("share", "shown"),
    [(0.0, "0%"), (5 / 29_086, "0.02%"), (1e-9, "under 0.0001%"), (0.116, "11.6%"), (0.99999, "99.9%"), (1.0, "100%")],
)
def test_a_few_people_are_not_shown_as_nobody(share: float, shown: str) -> None:
    from reticent.base.cards import percent

    assert percent(share, 1) == shown


def test_a_folder_without_a_release_is_refused(place: Path) -> None:
    assert isinstance(run("attack", place).exception, DataError)
