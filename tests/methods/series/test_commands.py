"""``reticent republish`` as a steward types it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import polars as pl
import pytest

from reticent.cli.app import app
from reticent.cli.console import run
from tests.methods.series.drafts import random_months

DOMAIN, FRAMES = random_months(5, 30, 3, 6)
POLICY = f"""
dataset = "wards"
[data]
source = "0.csv"
[roles]
key = "id"
identifiers = ["id"]
quasi = ["age", "town"]
sensitive = "job"
[[definition]]
name = "TauSafety"
m = 2
[method]
name = "Republish"
domain = {json.dumps(DOMAIN)}
"""


@pytest.fixture
def reticent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RETICENT_LEDGER", str(tmp_path / "ledger.sqlite"))
    Path("policy.toml").write_text(POLICY)
    for number, frame in enumerate(FRAMES):
        frame.write_csv(f"{number}.csv")

    def call(*words: str) -> tuple[int, dict, str]:
        monkeypatch.setattr(sys, "argv", ["reticent", *words])
        code = run(app)
        said = capsys.readouterr()
        return code, json.loads(said.out) if "--json" in words and said.out else {}, said.out + said.err

    return call


def test_forgetting_people_comes_with_a_warning(reticent):
    begun = ("republish", "policy.toml", "--history", "h", "--retention", "2")
    code, _, said = reticent(*begun)
    assert code == 0
    assert "Warning: People who left are forgotten after 2 releases" in " ".join(said.split())
    _, found, _ = reticent("republish", "policy.toml", "--history", "h", "--data", "1.csv", "--json")
    assert "are excluded from the series" in found["warning"]


def test_months_are_published_one_after_the_other(reticent):
    code, first, _ = reticent("republish", "policy.toml", "--history", "h", "--json")
    assert (code, first["ok"], first["number"], first["events"]["inserted"]) == (0, True, 1, FRAMES[0].height)
    _, planned, _ = reticent("republish", "policy.toml", "--history", "h", "--data", "1.csv", "--dry-run", "--json")
    assert planned["dry_run"]
    assert not Path("h/releases/0002").exists()
    _, second, _ = reticent("republish", "policy.toml", "--history", "h", "--data", "1.csv", "--json")
    assert second["events"] == planned["events"]
    assert Path(second["folder"], "public", "data.csv").exists()
    code, again, _ = reticent("republish", "policy.toml", "--history", "h", "--data", "1.csv", "--json")
    assert (again["number"], again["new"]) == (2, False)
    code, _, said = reticent("republish", "policy.toml", "--history", "h", "--data", "2.csv")
    assert "It satisfies TauSafety(m=2) for all releases together" in said
    assert reticent("verify", "h/releases/0001", "h/releases/0002", "h/releases/0003", "--json")[1]["ok"]
    assert reticent("query", "h/releases/0003", "job = 'v1'", "--json")[1]["counterfeits"] >= 0


def test_k_anonymity_beside_the_promise_about_the_series_makes_batches(reticent):
    asked = '[[definition]]\nname = "KAnonymity"\nk = 3\n[method]'
    Path("policy.toml").write_text(POLICY.replace("[method]", asked))
    code, first, _ = reticent("republish", "policy.toml", "--history", "h", "--json")
    assert code == 0
    assert len(FRAMES[0]) // 5 <= first["buckets"] <= len(FRAMES[0]) // 3
    _, _, said = reticent("republish", "policy.toml", "--history", "h", "--data", "1.csv")
    assert "together, and KAnonymity(k=3) for each" in " ".join(said.split())
    assert reticent("verify", "h/releases/0001", "h/releases/0002", "--json")[1]["ok"]
    Path("policy.toml").write_text(POLICY.replace("[method]", asked.replace("3", "4")))
    code, _, said = reticent("republish", "policy.toml", "--history", "h", "--data", "2.csv")
    assert (code, "k was fixed by the first release" in said) == (2, True)
    # A policy that asks for less finds the promise of the history.
    Path("policy.toml").write_text(POLICY)
    assert reticent("republish", "policy.toml", "--history", "h", "--data", "2.csv", "--json")[1]["buckets"] > 0


def test_changes_are_taken_instead_of_a_snapshot(reticent):
    reticent("republish", "policy.toml", "--history", "h", "--json")
    FRAMES[0][:2].with_columns(change=pl.lit("delete")).write_csv("feed.csv")
    code, found, _ = reticent("republish", "policy.toml", "--history", "h", "--changes", "feed.csv", "--json")
    assert (code, found["events"]["deleted"], found["number"]) == (0, 2, 2)


@pytest.mark.parametrize(
    ("wrong", "right", "problem"),
    [
        ('name = "TauSafety"\nm = 2', 'name = "KAnonymity"\nk = 2', "a series needs the definition TauSafety"),
        ('name = "Republish"', 'name = "Republish"\nchoice = "best"', "choice must be one of"),
        ('key = "id"\nidentifiers = ["id"]\n', "", "identifies a person"),
        ("m = 2", "m = 3", "at least 8"),
        (
            'quasi = ["age", "town"]\nsensitive = "job"',
            'quasi = ["age"]\nsensitive = "job"\n[declared]\ntown = "nobody knows it"',
            "link people across releases",
        ),
    ],
)
def test_a_policy_that_does_not_fit_is_told_and_leaves_nothing(reticent, wrong, right, problem):
    Path("policy.toml").write_text(POLICY.replace(wrong, right))
    code, _, said = reticent("republish", "policy.toml", "--history", "h")
    assert code == 2
    assert problem in said
    assert "Traceback" not in said
    assert not Path("h/releases").exists()
