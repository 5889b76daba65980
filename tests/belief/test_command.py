"""``reticent belief`` and ``reticent assess --advise`` as users call them."""

from __future__ import annotations

import json
import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest

import reticent as rt
from reticent.cli.app import app
from reticent.cli.console import run
from reticent.table import Hierarchy, Table
from tests.oracles import belief_worlds as oracle

PEOPLE = pl.DataFrame(
    {
        "age": [21, 21, 21, 34, 34, 34, 35],
        "illness": ["flu", "hiv", "hiv", "flu", "flu", "hiv", "flu"],
    }
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    table = Table(
        pl.DataFrame({"age": [21, 34, 34], "illness": ["flu", "flu", "hiv"]}),
        quasi={"age": Hierarchy.suppression([21, 34, 35])},
        sensitive="illness",
    )
    rt.publish(table, rt.KAnonymity(3), rt.Lattice()).save(tmp_path / "release")
    PEOPLE.write_csv(tmp_path / "people.csv")
    return tmp_path


@pytest.fixture
def reticent(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    def command(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["reticent", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", "200")
        capsys.readouterr()
        code = run(app)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return command


def test_beliefs_are_those_of_counting_all_worlds(folder, reticent):
    code, out, _ = reticent(
        "belief", folder / "release", "--population", folder / "people.csv", "--where", "age=21", "--json"
    )
    told = json.loads(out)
    assert code == 0
    assert told["people"] == 3
    population = {
        age: Counter(PEOPLE.filter(pl.col("age") == age)["illness"].to_list()) for age in PEOPLE["age"].unique().sort()
    }
    expected = oracle.posterior(population, dict.fromkeys(population, "*"), {"*": {"flu": 2, "hiv": 1}}, 21)
    found = {row["value"]: Fraction(row["posterior"]) for row in told["beliefs"]}
    assert found == expected
    assert {row["value"]: row["prior"] for row in told["beliefs"]} == {"flu": "1/3", "hiv": "2/3"}


def test_a_policy_stands_for_its_table_as_it_stands_and_for_the_population(folder, reticent):
    PEOPLE.write_csv(folder / "rows.csv")
    (folder / "policy.toml").write_text(
        '[data]\nsource = "rows.csv"\n[roles]\nquasi = ["age"]\nsensitive = ["illness"]\n'
        '[[definition]]\nname = "KAnonymity"\nk = 2\n'
    )
    code, out, _ = reticent("belief", folder / "policy.toml", "--population", folder / "people.csv", "--json")
    told = json.loads(out)
    assert code == 0
    assert told["people"] == 7
    assert all(row["prior"] == row["posterior"] for row in told["beliefs"])
    code, out, _ = reticent("belief", folder / "release", "--population", folder / "policy.toml", "--json")
    assert json.loads(out)["people"] == 7


def test_beliefs_that_are_not_counted_world_by_world_say_so(folder, reticent):
    """A bucket of forty people of different ages with five values has too many worlds to count."""
    ages = list(range(20, 60))
    frame = pl.DataFrame({"age": ages, "illness": ["abcde"[age % 5] for age in ages]})
    table = Table(frame, quasi={"age": Hierarchy.suppression(ages)}, sensitive="illness")
    rt.publish(table, rt.DistinctLDiversity(2), rt.Lattice(format="bucketize")).save(folder / "b")
    frame.write_csv(folder / "all.csv")
    arguments = ("belief", folder / "b", "--population", folder / "all.csv")
    told = json.loads(reticent(*arguments, "--json")[1])
    assert told["people"] == 40
    assert not any(row["exact"] for row in told["beliefs"])
    assert "not computed by counting possible worlds" in told["limits"]
    code, out, _ = reticent(*arguments)
    assert code == 0
    assert "~" in out


def test_a_disclosure_that_was_asked_for_exits_with_1(folder, reticent):
    arguments = ("belief", folder / "release", "--population", folder / "people.csv")
    code, out, _ = reticent(*arguments, "--delta", "0.01", "--json")
    told = json.loads(out)
    assert code == 1
    assert told["disclosures"] == 1
    assert told["people_disclosed"] == 1
    assert told["beliefs"][0]["quasi"] == {"age": 35}
    assert told["beliefs"][0]["tests"] == ["positive"]
    code, out, _ = reticent(*arguments, "--rho", "0.35,0.4")
    assert code == 1
    assert "internal; do not publish" in out
    assert "breach" in out
    assert reticent(*arguments, "--epsilon", "0.1")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--where", "age"), "--where needs a column and a value"),
        (("--where", "aeg=21"), "There is no quasi column 'aeg'. Did you mean 'age'?"),
        (("--where", "age=99"), "The population has no one with age=99."),
        (("--rho", "0.3"), "--rho needs two numbers"),
        (("--sensitive", "ilness"), "There is no sensitive column 'ilness'. Did you mean 'illness'?"),
        (("--delta", "much"), "delta must be a number"),
        (("--rho", "0.6,0.3"), "rho1 must be at most rho2 = 0.3, but it is 0.6."),
        (("--where", "age=21", "--where", "age=34"), "--where names the column 'age' twice"),
    ],
)
def test_bad_input_is_told_without_a_traceback(folder, reticent, arguments, message):
    code, _, err = reticent("belief", folder / "release", "--population", folder / "people.csv", *arguments)
    assert code == 2
    assert message in err
    assert "Traceback" not in err


def test_people_about_whom_nothing_is_published_are_counted(folder, reticent):
    pl.concat([PEOPLE, pl.DataFrame({"age": [35, 99], "illness": ["measles", "measles"]})]).write_csv(
        folder / "more.csv"
    )
    arguments = ("belief", folder / "release", "--population", folder / "more.csv")
    told = json.loads(reticent(*arguments, "--json")[1])
    assert (told["people"], told["left_out"]) == (8, 1)
    assert "1 more people of the population match no published group" in reticent(*arguments)[1]
    told = json.loads(reticent(*arguments, "--where", "age=99", "--json")[1])
    assert (told["people"], told["left_out"], told["beliefs"]) == (0, 1, [])


def test_a_data_file_is_no_release_and_the_way_out_is_told(folder, reticent):
    code, _, err = reticent("belief", folder / "people.csv", "--population", folder / "people.csv")
    assert code == 2
    assert "neither the folder of a release nor a policy. Let `reticent inspect" in " ".join(err.split())


def test_a_population_without_the_sensitive_column_is_named(folder, reticent):
    PEOPLE.drop("illness").write_csv(folder / "bare.csv")
    code, _, err = reticent("belief", folder / "release", "--population", folder / "bare.csv")
    assert code == 2
    assert "The population has no column 'illness'" in err


def test_advice_names_what_is_not_covered(folder, reticent):
    given = (
        "assess",
        folder / "people.csv",
        "--quasi",
        "age",
        "--sensitive",
        "illness",
        "--definition",
        "KAnonymity(1)",
    )
    code, out, _ = reticent(*given, "--advise", "--json")
    advice = json.loads(out)["advice"]
    assert code == 0
    assert advice["covered"]["identity"] == ["KAnonymity"]
    assert advice["uncovered"] == ["attribute", "membership", "belief"]
    assert any(each["definition"] == "DeltaPresence" for each in advice["models"])
    code, out, _ = reticent(*given, "--advise")
    for text in ("Which definition covers which threat", "no requested definition", "explained only"):
        assert text in out
    assert "advice" not in json.loads(reticent(*given, "--json")[1])


def test_an_application_is_judged_model_by_model(folder, reticent):
    given = ("assess", folder / "people.csv", "--quasi", "age", "--sensitive", "illness", "--definition")
    form = ("--protect", "attribute", "--knows", "quasi", "--knows", "exclusions")
    told = json.loads(reticent(*given, "DistinctLDiversity(l=1)", *form, "--json")[1])["advice"]["application"]
    assert told["knows"] == ["exclusions", "quasi"]
    covering = {each["model"]: each["chosen"] for each in told["models"] if each["covers"]}
    assert covering["distinct l-diversity"] is True
    assert covering["recursive (c,l)-diversity"] is False
    code, out, _ = reticent(*given, "KAnonymity(1)", *form)
    assert code == 0
    assert "Models that protect attribute against an adversary who knows exclusions, quasi" in out
    assert "it does not protect a person's sensitive value" in " ".join(out.split())
    code, _, err = reticent(*given, "KAnonymity(1)", "--knows", "others")
    assert code == 2
    assert "need --protect" in err
