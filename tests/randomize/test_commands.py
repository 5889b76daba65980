"""The command line and the contract, as written."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest
import typer
from typer.testing import CliRunner

from reticent import randomize
from reticent.cli import randomize as commands
from tests.randomize.examples import ADULT, SCORES, scores_frame


@pytest.fixture
def run(tmp_path, monkeypatch):
    app = typer.Typer()
    commands.register(app)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RETICENT_LEDGER", str(tmp_path / "ledger.sqlite"))

    def invoke(*words: str) -> dict:
        done = CliRunner().invoke(app, ["randomize", *words, "--json"], catch_exceptions=False)
        return json.loads(done.stdout) | {"exit": done.exit_code}

    return invoke


def test_plan_publish_estimate_audit_and_verify_on_the_command_line(run, tmp_path):
    scores_frame().write_csv("scores.csv")
    Path("domain.json").write_text(json.dumps(SCORES["domain"]))
    made = run("plan", "--n", "6", "--domain", "domain.json", "--k", "1", "--gamma", "1/3", "-o", "plan.json")
    assert made["ok"]
    assert made["worst_posterior"] == "1/3"
    assert "Not covered" in made["words"]
    done = run(
        "publish", "scores.csv", "--plan", "plan.json", "-o", "view", "--dataset", "scores", "--insecure-seed", "1"
    )
    assert done["rows"] == pl.read_csv("view/public/view.csv").height
    found = run("estimate", "view", "score < 3*age and nationality = 'Indian'")
    assert found["domain_count"] == 183
    assert Fraction(found["value"]) == pytest.approx(found["decimal"])
    assert len(run("estimate", "view", "true", "--group-by", "nationality")["groups"]) == 3
    audit = run("audit", "view", "--tuple", '{"age": 25, "nationality": "British", "score": 99}', "--prior", "1/200")
    assert Fraction(audit["posterior"]) <= Fraction(1, 3)
    assert run("verify", "view")["ok"]
    assert run("compare", "--plan", "plan.json")["kept_share"] == "1/3"
    assert run("chart", "--n", "6", "--domain", "domain.json", "--k", "1", "-o", "chart.svg")["points"]
    assert "<svg" in Path("chart.svg").read_text()


def test_a_series_on_the_command_line(run):
    scores_frame().write_csv("scores.csv")
    Path("domain.json").write_text(json.dumps(SCORES["domain"]))
    run("plan", "--n", "6", "--domain", "domain.json", "--k", "1", "--gamma", "1/2", "--views", "2", "-o", "plan.json")
    assert run("republish", "scores.csv", "--series", "s", "--plan", "plan.json", "--dataset", "scores")["index"] == 1
    assert run("republish", "scores.csv", "--series", "s", "--dataset", "scores")["index"] == 2
    assert "value" in run("estimate", "s/view-1", "s/view-2", "score > 90")


def test_the_contract_of_the_room(tmp_path, monkeypatch):
    monkeypatch.setenv("RETICENT_LEDGER", str(tmp_path / "ledger.sqlite"))
    p = randomize.plan(
        n=30162, domain=ADULT["domain"], k=10, gamma="1/5", preset="tight", adversary="independent", views=1
    )
    assert p.alpha + p.beta == Fraction(1, 2)
    assert p.worst_posterior == Fraction(1, 5)
    assert round(p.expected_rows) == 618574
    assert p.verdict == "guaranteed"
    sizes = {"age": 20, "nationality": 3, "score": 20}
    small = randomize.plan(n=6, domain=sizes, k=1, gamma="1/3")
    domain = {
        "age": list(range(20, 40)),
        "nationality": ["British", "Indian", "American"],
        "score": list(range(81, 101)),
    }
    v = randomize.publish(scores_frame(), small, domain=domain, dataset="scores")
    found = v.estimate("score < 3*age")
    assert found.standard_error > 0
    assert found.interval[0] <= found.interval[1]
    assert randomize.count_domain("score < 3*age", domain) == 549
    assert randomize.estimate(v, "score < 3*age") == found
