"""The command line and the contract, as written."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest
import typer
from typer.testing import CliRunner

from reticent import BoundedBelief, Table, publish
from reticent.cli import randomize as commands
from reticent.errors import DataError, PolicyError
from reticent.methods import randomize
from reticent.release import generate_keys, verify
from tests.methods.randomize.examples import ADULT, SCORES, scores_domain, scores_frame


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
    run("plan", "--n", "6", "--domain", "domain.json", "--k", "1", "--gamma", "2/3", "--views", "3", "-o", "other.json")
    with pytest.raises(PolicyError, match="was started by another plan"):
        run("republish", "scores.csv", "--series", "s", "--plan", "other.json", "--dataset", "scores")


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


@pytest.mark.parametrize(
    ("domain", "message"),
    [
        ({"a": []}, "domain\\['a'\\] has no values"),
        ({"a": [1, 1]}, "lists 1 more than once"),
        ({"a": [1, "x"]}, "of one type .* there are 'x' and 1"),
        ({"a": -4}, "at least 1, but it is -4"),
        ({"a": {"values": 5}}, "values must be a list, but it is 5"),
        ({"a": {"type": "txt", "values": ["x"]}}, "type must be one of .*'txt'"),
        ({"a": {"from": 1, "to": "x"}}, "whole numbers, but one of them is 'x'"),
        ({"a": {"from": 5, "to": 1}}, "which has no value"),
        ({"a": "abc"}, "a list of values"),
        ({"domain": 5}, "must map every column"),
        ([1, 2], "must map every column"),
    ],
    ids=str,
)
def test_a_domain_that_cannot_be_is_refused_by_name(run, domain, message):
    Path("domain.json").write_text(json.dumps(domain))
    with pytest.raises(PolicyError, match=message):
        run("plan", "--n", "6", "--domain", "domain.json", "--k", "1")


def test_files_that_are_not_there_or_not_readable_are_named(run):
    scores_frame().write_csv("scores.csv")
    Path("broken.json").write_text('{"a": 2')
    Path("list.json").write_text("[1]")
    Path("no-plan.json").write_text("{}")
    for words, message in [
        (("plan", "--n", "6", "--domain", "nowhere.json", "--k", "1"), "no file 'nowhere.json'"),
        (("plan", "--n", "6", "--domain", "broken.json", "--k", "1"), "broken.json cannot be read"),
        (("publish", "scores.csv", "--plan", "nowhere.json", "-o", "view"), "no file 'nowhere.json'"),
        (("publish", "scores.csv", "--plan", "list.json", "-o", "view"), "holds no plan"),
        (("publish", "scores.csv", "--plan", "no-plan.json", "-o", "view"), "not a plan of version 1"),
        (("verify", "nowhere"), "no release at 'nowhere'"),
        (("estimate", "nowhere", "true"), "no release at 'nowhere'"),
    ]:
        with pytest.raises((PolicyError, DataError), match=message):
            run(*words)


def test_records_that_are_asked_about_must_be_records(run):
    scores_frame().write_csv("scores.csv")
    Path("domain.json").write_text(json.dumps(SCORES["domain"]))
    run("plan", "--n", "6", "--domain", "domain.json", "--k", "1", "--gamma", "1/3", "-o", "plan.json")
    run("publish", "scores.csv", "--plan", "plan.json", "-o", "view")
    known = '{"age": 25, "nationality": "British", "score": 99}'
    for given, message in [
        (("[1, 2]",), "every column its value"),
        (("5",), "every column its value"),
        (("{",), "must be a JSON object"),
        (('{"age": 25}',), "no column 'nationality'"),
        (('{"age": {"x": 1}, "nationality": "British", "score": 99}',), "Column 'age' has type Struct"),
        (('{"age": 25.5, "nationality": "British", "score": 99}',), "25.5 is not in the declared domain"),
        (('{"age": 250, "nationality": "British", "score": 99}',), "250 is not in the declared domain"),
        ((known, known), "twice"),
    ]:
        words = [word for text in given for word in ("--tuple", text, "--prior", f"1/{len(given)}")]
        with pytest.raises((PolicyError, DataError), match=message):
            run("audit", "view", *words)


def test_a_side_table_restricts_an_estimate_from_a_signed_view(run):
    scores_frame().write_csv("scores.csv")
    Path("domain.json").write_text(json.dumps(SCORES["domain"]))
    run("plan", "--n", "6", "--domain", "domain.json", "--k", "1", "--gamma", "1/3", "-o", "plan.json")
    keys = generate_keys(".", "office")
    run(
        "publish",
        "scores.csv",
        "--plan",
        "plan.json",
        "-o",
        "view",
        "--sign",
        str(keys.private),
        "--insecure-seed",
        "3",
    )
    assert verify("view", key=keys.public).signed
    Path("eligible.csv").write_text("age,nationality\n25,British\n32,Indian\n")
    assert run("estimate", "view", "score > 90", "--within", "eligible.csv")["domain_count"] == 20
    assert run("estimate", "view", "true", "--average", "score")["interval"][0] >= 81


def test_perturbed_records_and_series_answer_sums_averages_and_groups(run):
    made = publish(
        Table(scores_frame(), quasi=["age", "nationality"], sensitive="score"),
        BoundedBelief("1/1200", "1/3", "record"),
        method=randomize.Frapp(domain=scores_domain()),
        insecure_seed=1,
    )
    made.save("records")
    assert run("estimate", "records", "true", "--sum", "score")["interval"] == [6 * 81, 6 * 100]
    assert run("estimate", "records", "true", "--average", "score")["interval"][0] >= 81
    groups = run("estimate", "records", "score > 90", "--group-by", "nationality", "--error", "1/4")["groups"]
    assert groups == made.reader.group_by("nationality", "score > 90", error="1/4").to_dicts()
    series = randomize.Series(randomize.plan(n=8, domain=scores_domain(), k=1, gamma="1/2", views=2))
    series = series.publish(scores_frame(), insecure_seed=1).publish(scores_frame(), insecure_seed=2)
    series.save("s")
    found = run("estimate", "s/view-1", "s/view-2", "true", "--group-by", "nationality", "--queries", "3")["groups"]
    assert found == series.views[-1].group_by("nationality", queries=3).to_dicts()
    with pytest.raises(PolicyError, match="Pass only one of"):
        run("estimate", "records", "true", "--sum", "score", "--group-by", "nationality")
