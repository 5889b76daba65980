"""What the risk view and the adversaries say about single people stays with the steward: no published file has any of it."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner, Result

from reticent.cli.app import app
from reticent.policy import Policy
from reticent.propose import exposures, risk_views
from reticent.reports import write_report

# One person with values that nobody else has: the most exposed of all.
ZIP, AGE, JOB = "98765", 117, "lighthouse keeper"
POLICY = """
dataset = "people"
[data]
source = "people.csv"
types = {{ zip = "text" }}
[roles]
quasi = ["age", "zip", "job"]
sensitive = ["ill"]
[hierarchies.age]
kind = "intervals"
widths = [10, 20, 40]
domain = [0, 129]
[hierarchies.zip]
kind = "masking"
digits = 5
[hierarchies.job]
kind = "suppression"
[[definition]]
name = "KAnonymity"
k = 3
[method]
{method}
"""
METHODS = {
    "lattice": 'name = "Lattice"',
    "left out": 'name = "Lattice"\nsuppression = "0.2"',
    "datafly": 'name = "Datafly"\nsuppression = "0.1"',
    "mondrian": 'name = "Mondrian"\nvalues = "hierarchy"',
}


def run(*arguments: object) -> Result:
    done = CliRunner().invoke(app, [str(each) for each in arguments], env={"COLUMNS": "200"})
    assert done.exit_code in (0, 1), done.output
    return done


@pytest.fixture(params=METHODS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A release with the steward's report beside it."""
    jobs, ills = ["clerk", "cook", "nurse"], ["flu", "gout", "asthma"]
    crowd = [
        {"age": 20 + number % 40, "zip": f"1{number % 4}850", "job": jobs[number % 3], "ill": ills[number // 3 % 3]}
        for number in range(240)
    ]
    pl.DataFrame([*crowd, {"age": AGE, "zip": ZIP, "job": JOB, "ill": "flu"}]).write_csv(tmp_path / "people.csv")
    (tmp_path / "policy.toml").write_text(POLICY.format(method=METHODS[request.param]))
    run(
        "publish",
        tmp_path / "policy.toml",
        "-o",
        tmp_path / "release",
        "--ledger",
        tmp_path / "ledger.sqlite",
        "--report",
    )
    return tmp_path


def test_no_published_file_has_the_most_exposed(place: Path) -> None:
    table = Policy.read(place / "policy.toml").table()
    exposed = exposures(table, ())[0].exposed[0]
    assert exposed.quasi == {"age": str(AGE), "zip": ZIP, "job": JOB}
    assert {str(AGE), ZIP, JOB} <= {each.value for each in risk_views(table)[0].lone}
    steward = (place / "release" / "private" / "report.html").read_text("utf-8")
    assert ZIP in steward
    assert JOB in steward
    write_report(place / "release", place / "release" / "public" / "report.html", public=True)
    published = [path for path in (place / "release" / "public").rglob("*") if path.is_file()]
    assert len(published) >= 5
    for path in published:
        content = path.read_bytes().decode("utf-8", "replace")
        for told in (ZIP, JOB, f">{AGE}<", f'"{AGE}"', "were unique", "most exposed", "adversaries achieve"):
            assert told not in content, (path.name, told)


def test_the_commands_tell_the_steward(place: Path) -> None:
    """The same words are in what the steward asks for, so that the test above can fail."""
    told = json.loads(run("assess", place / "policy.toml", "--json").stdout)
    assert told["exposed"][0]["quasi"]["zip"] == ZIP
    attacked = run("attack", place / "release", "--raw", place / "policy.toml").stdout
    assert ZIP in attacked or JOB in attacked
    assert "internal; do not publish" in attacked
