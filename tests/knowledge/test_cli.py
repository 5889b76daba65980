"""``reticent knowledge``: what machines and people are told, and the exit codes."""

from __future__ import annotations

import json
import shutil
import sys

import polars as pl
import pytest
import typer

import reticent as rt
from reticent.cli import knowledge
from reticent.cli.console import run
from reticent.definitions.background_knowledge import WorstCaseKnowledge
from reticent.methods.lattice import Lattice
from tests.knowledge.conftest import FIXTURES
from tests.knowledge.test_definition import flu_table

POLICY = """
[data]
source = "flu.csv"
[roles]
identifiers = ["name"]
quasi = ["zip", "age", "sex"]
sensitive = ["disease"]
[hierarchies.zip]
kind = "masking"
digits = 5
[hierarchies.age]
kind = "intervals"
widths = [5, 10]
origin = 0
domain = [20, 29]
[[definition]]
name = "WorstCaseKnowledge"
c = "0.7"
k = 1
"""
LEVELS = ("--level", "zip=1", "--level", "age=2")


@pytest.fixture
def call(monkeypatch, capsys):
    """Run a command as a user would: (exit code, what was printed)."""
    app = typer.Typer(pretty_exceptions_enable=False)
    app.callback()(lambda: None)
    knowledge.register(app)

    def run_it(*arguments: object) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["reticent", "knowledge", *map(str, arguments)])
        code = run(app)
        captured = capsys.readouterr()
        return code, captured.out + captured.err

    return run_it


@pytest.fixture
def policy(tmp_path):
    (tmp_path / "flu.csv").write_bytes((FIXTURES / "flu.csv").read_bytes())
    (tmp_path / "policy.toml").write_text(POLICY)
    return tmp_path / "policy.toml"


@pytest.fixture
def release(tmp_path):
    return rt.publish(flu_table(), WorstCaseKnowledge("0.7", 1), Lattice()).save(tmp_path / "release")


def test_the_curve_of_a_policy_at_levels(call, policy):
    code, text = call("curve", policy, *LEVELS, "--k", "0..3", "--json")
    found = json.loads(text)
    assert code == 1
    assert found["curve"] == ["2/5", "2/3", "1", "1"]
    assert found["negation_curve"] == ["2/5", "2/3", "1", "1"]
    assert found["c"] == "7/10"
    assert (found["ok"], found["holds"], found["breaking_point"], found["certainty_point"]) == (False, False, 2, 2)
    assert (found["groups"], found["rows"], found["sensitive"]) == (2, 10, "disease")
    assert any("each row counts as one person" in note for note in found["notes"])


def test_the_curve_of_a_release_holds_or_not(call, release):
    assert call("curve", release, "--k", "1", "--c", "0.67")[0] == 0
    code, text = call("curve", release, "--k", "1", "--c", "2/3")
    assert code == 1
    assert "does NOT hold" in text
    assert "1 fact reaches 2/3" in text
    code, text = call("curve", release)
    assert code == 0
    assert "2 facts make an adversary certain" in text


def test_the_curve_is_drawn(call, release, tmp_path):
    code, text = call("curve", release, "--chart", tmp_path / "both.svg", "--json")
    assert code == 0
    assert json.loads(text)["chart"].endswith("both.svg")
    assert (tmp_path / "both.svg").read_text().startswith("<svg")
    code, text = call("curve", release, "--chart", tmp_path / "both.gif")
    assert code == 2
    assert ".svg" in text


def test_the_worst_facts_in_words(call, policy, release):
    code, text = call("explain", policy, *LEVELS, "--k", "1", "--json")
    found = json.loads(text)
    assert code == 0
    assert found["facts"] == ["Bob does not have LungCancer"]
    assert found["conclusion"] == "Bob has Flu with probability 2/3 = 0.6667"
    assert found["disclosure"] == found["replayed"] == "2/3"
    assert found["negations"]["disclosure"] == "2/3"
    assert found["groups_attacked"][0]["histogram"] == {"Flu": 2, "LungCancer": 2, "Mumps": 1}
    code, text = call("explain", release, "--k", "2", "--c", "1")
    assert code == 1
    assert "does not have" in text
    assert "Replayed in the exact solver: 1" in text
    assert "Without any facts" in call("explain", release, "--k", "0")[1]


def test_what_if_on_a_policy_on_a_file_and_on_a_release(call, policy, release):
    question = ("--know", "Hannah=Flu -> Charlie=Flu", "--ask", "Charlie=Flu", "--json")
    plain = FIXTURES / "flu.csv"
    for source in (
        (policy, *LEVELS),
        (plain, "--quasi", "sex", "--sensitive", "disease", "--key", "name"),
        (release, "--people", plain),
    ):
        code, text = call("whatif", *source, *question)
        found = json.loads(text)
        assert code == 0
        assert (found["ok"], found["posterior"], found["prior"], found["cost"]) == (True, "10/19", "2/5", 1)
        assert (found["contradiction"], found["exact"]) == (False, True)


def test_what_if_says_when_facts_contradict_the_release(call, policy):
    facts = [part for name in ("Bob", "Charlie", "Dave", "Ed") for part in ("--know", f"{name} != Flu")]
    code, text = call("whatif", policy, *LEVELS, *facts, "--ask", "Frank=Flu")
    assert code == 1
    assert "contradict the release" in text
    assert json.loads(call("whatif", policy, *LEVELS, *facts, "--ask", "Frank=Flu", "--json")[1])["contradiction"]


def test_what_if_without_a_question_names_the_surest_statement(call, policy):
    code, text = call("whatif", policy, *LEVELS, "--know", "Ed != Flu")
    assert code == 0
    assert "Ed=LungCancer has probability 2/3" in text


def test_what_if_beyond_the_budget_is_labelled(call, policy):
    code, text = call("whatif", policy, *LEVELS, "--know", "Bob=Flu -> Ed=Flu", "--ask", "Ed=Flu", "--budget", "1")
    assert code == 0
    assert "NOT EXACT" in text


def test_what_if_uses_the_pseudonyms_of_the_private_side(call, tmp_path):
    table = flu_table(pseudonyms=["name"])
    rt.publish(table, WorstCaseKnowledge("0.7", 1), method=Lattice(format="bucketize")).save(tmp_path / "named")
    code, text = call("whatif", tmp_path / "named", "--know", "Ed != Flu", "--ask", "Ed=LungCancer", "--json")
    assert code == 0
    assert json.loads(text)["posterior"] == "2/3"


def test_the_breaking_point(call, release):
    code, text = call("breaking-point", release, "--c", "0.5", "--json")
    assert code == 0
    found = json.loads(text)
    assert (found["c"], found["breaking_point"], found["certainty_point"]) == ("1/2", 1, 2)
    assert "1 fact reaches 1/2" in call("breaking-point", release, "--c", "0.5")[1]
    assert call("breaking-point", release)[0] == 2


def test_the_monitor_warns_before_new_rows_make_a_release_unsafe(call, policy, release, tmp_path):
    rows = pl.DataFrame({"name": ["Al", "Bo"], "zip": [14850, 14850], "age": [21, 22], "sex": ["M", "M"]})
    rows.with_columns(disease=pl.Series(["Gout", "Flu"])).write_csv(tmp_path / "safe.csv")
    rows.with_columns(disease=pl.lit("Flu")).write_csv(tmp_path / "unsafe.csv")
    for source in ((policy, *LEVELS), (release,)):
        code, text = call("monitor", *source, "--add", tmp_path / "safe.csv", "--c", "0.7", "--json")
        assert code == 0
        assert json.loads(text)["first_unsafe_row"] is None
        code, text = call("monitor", *source, "--add", tmp_path / "unsafe.csv", "--c", "0.7", "--json")
        found = json.loads(text)
        assert code == 1
        assert (found["first_unsafe_row"], found["rows_added"], found["rows_outside"]) == (1, 2, 0)
        assert found["before"]["disclosure"] == "2/3"
    assert "still safe" in call("monitor", policy, *LEVELS, "--c", "0.7")[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("curve", "flu.csv"), "--quasi age"),
        (("curve", "{policy}", "--k", "three"), "--k must be"),
        (("curve", "{policy}", "--k", "2..4"), "--k must be"),
        (("curve", "{policy}", "--c", "1.5"), "at most 1"),
        (("curve", "{policy}", "--level", "age"), "--level must look like"),
        (("curve", "{policy}", "--level", "ago=1"), "no quasi column"),
        (("curve", "{release}", "--level", "age=1"), "measured as published"),
        (("whatif", "{policy}", "--know", "Ed", "--ask", "Ed=Flu"), "Expected '='"),
        (("whatif", "{policy}", "--know", "Eddy=Flu", "--ask", "Ed=Flu"), "There is no person called 'Eddy'"),
        (("curve", "nowhere.toml"), "no policy file"),
    ],
)
def test_bad_input_is_told_and_exits_with_2(call, policy, release, arguments, message):
    filled = [text.format(policy=policy, release=release) for text in arguments]
    code, text = call(*filled)
    assert code == 2
    assert message in text.replace("\n", " ")


def test_a_release_without_its_private_side_does_not_say_who_is_in_it(call, release):
    assert call("whatif", release, "--ask", "Ed=Flu")[0] == 0
    shutil.rmtree(release / "private")
    code, text = call("whatif", release, "--ask", "Ed=Flu")
    assert code == 2
    assert "does not name its people" in text.replace("\n", " ")


def test_errors_are_one_json_object_when_asked_for(call, policy):
    code, text = call("curve", policy, "--k", "x", "--json")
    assert code == 2
    assert json.loads(text)["ok"] is False


@pytest.mark.parametrize("k", ["99999999", "0..99999999", "5..2", "-1", "x"])
def test_a_number_of_facts_that_makes_no_sense_is_refused(call, policy, k):
    code, text = call("curve", policy, *LEVELS, "--k", k)
    assert code == 2
    assert "--k must be" in text
