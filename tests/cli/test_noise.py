"""``reticent noise``: plans, trials and keys from the command line; runs of several hosts are in tests/methods/counts/test_deployment.py."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from reticent.cli.app import app


def told(*words: object, code: int = 0) -> dict:
    done = CliRunner().invoke(app, ["noise", *map(str, words), "--json"])
    assert done.exit_code == code, done.output
    return json.loads(done.output)


def refused(*words: object) -> str:
    done = CliRunner().invoke(app, ["noise", *map(str, words)])
    assert done.exception is not None
    return str(done.exception)


def test_a_plan_has_the_fields_of_the_python_object():
    found = told("plan", "--parties", 4, "--faults", 1, "--query", "histogram")
    assert (found["ok"], found["coins"], found["quota"], found["rounds"]) == (True, 148, 50, 32)
    assert found["printed"]["binomial_coins"] == 930
    assert found["delta"] == "1/1000000"


def test_a_plan_for_people_fits_a_screen():
    done = CliRunner().invoke(app, ["noise", "plan", "--law", "exponential", "--query", "sum", "--bits", "8"])
    assert done.exit_code == 0
    assert "312 honest coins for each number" in done.output
    assert len(done.output.splitlines()) < 40


def test_a_trial_with_made_up_rows_shows_the_true_answer_beside():
    found = told("run", "--parties", 4, "--query", "histogram", "--behave", "2=lie in proofs")
    assert found["made_up"]
    assert found["included"] == [1, 3, 4]
    assert found["blamed"] == {"2": "shared a value that is not a bit"}
    assert len(found["total"]) == len(found["true"]) == 6
    assert sum(found["true"]) == 75
    # 150 coins: a standard deviation of 6.1; six of them.
    assert all(abs(noisy - true) < 37 for noisy, true in zip(found["total"], found["true"], strict=True))


def test_a_trial_with_rows_of_a_file(tmp_path: Path):
    frame = pl.DataFrame({"clinic": ["a", "b", "c"] * 20, "ill": ["flu", "cold"] * 30, "days": [1, 2, 3] * 20})
    frame.write_csv(tmp_path / "rows.csv")
    given = ["run", tmp_path / "rows.csv", "--party", "clinic", "--level", "semi-honest"]
    count = told(*given, "--query", "count", "--where", "ill = 'flu'")
    assert abs(count["total"] - 30) < 60
    assert (count["names"], "true" in count) == (["a", "b", "c"], False)
    (tmp_path / "domain.toml").write_text('ill = ["flu", "cold"]\n')
    done = CliRunner().invoke(app, [str(each) for each in ("noise", *given, "--query", "histogram", "--domain", tmp_path / "domain.toml")])  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "flu" in done.output
    assert "level semi-honest" in done.output


def test_keys_have_the_right_modes(tmp_path: Path):
    found = told("keys", "-o", tmp_path, "--name", "St. Anna")
    assert stat.S_IMODE(Path(found["private"]).stat().st_mode) == 0o600
    assert Path(found["certificate"]).name == "St. Anna.crt"
    assert "never replaced" in refused("keys", "-o", tmp_path, "--name", "St. Anna")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["plan", "--epsilon", "0"], "epsilon must be above 0"),
        (["plan", "--query", "sums"], "Did you mean 'sum'"),
        (["run", "--parties", "0"], "must be from 1 to 64"),
        (["run", "--parties", "3"], "at least 4 parties"),
        (["run", "--behave", "two=garbage"], "NUMBER=FAULT"),
        (["run", "--behave", "2=garbag"], "Did you mean 'garbage'"),
        (["run", "nothing.csv"], "nothing.csv"),
        (["party", "--config", "nothing.toml"], "nothing.toml cannot be read"),
        (["keys", "--name", "a/b"], "name of a party"),
    ],
)
def test_what_cannot_be_done_is_said_without_a_traceback(words, message):
    assert message in refused(*words)


def test_data_without_parties_or_a_domain_are_refused(tmp_path: Path):
    pl.DataFrame({"clinic": ["a", None], "ill": ["flu", "cold"]}).write_csv(tmp_path / "rows.csv")
    assert "Did you mean 'clinic'" in refused(
        "run", tmp_path / "rows.csv", "--party", "clinics", "--where", "ill = 'flu'"
    )
    assert "some rows belong to no party" in refused(
        "run", tmp_path / "rows.csv", "--party", "clinic", "--where", "ill = 'flu'"
    )
    assert "needs --domain" in refused("run", tmp_path / "rows.csv", "--query", "histogram")


def test_every_command_shows_an_example():
    for name in ("plan", "run", "keys", "party"):
        done = CliRunner().invoke(app, ["noise", name, "--help"])
        assert f"Example: reticent noise {name}" in " ".join(done.output.split())
