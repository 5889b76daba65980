"""The command line on a table larger than memory says what it says of the same table in memory."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from reticent.cli.app import app
from tests.engine.making import frame_of

POLICY = """
dataset = "rows"
[data]
source = "rows.csv"
[roles]
quasi = ["age", "zip"]
sensitive = ["illness"]
key = "id"
weight = "w"
[hierarchies.age]
kind = "intervals"
widths = [5, 10]
[definition]
name = "KAnonymity"
k = 12
[method]
suppression = "0.05"
"""


def told(*arguments: str) -> dict:
    done = CliRunner().invoke(app, [*arguments, "--json"], catch_exceptions=False)
    assert done.exit_code in (0, 1), done.output
    return json.loads(done.output)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    weights = np.random.default_rng(1).integers(1, 9, 4000) / 2
    frame = frame_of(4000, 2).with_row_index("id").with_columns(pl.Series("w", weights))
    frame.select("id", "age", "zip", "illness", "stay", "w").write_csv(tmp_path / "rows.csv")
    (tmp_path / "policy.toml").write_text(POLICY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def everything(place: Path, name: str) -> list[dict]:
    """What each command says, without what differs from run to run."""
    ledger = ["--ledger", f"{name}.sqlite"]
    published = told("publish", "policy.toml", "-o", name, "--report", *ledger)
    kept = ("levels", "groups", "rows", "suppressed", "utility", "unpublished", "proven")
    certificate = {key: published["certificate"][key] for key in ("claims", "files", "ledger")}
    verified = told("verify", name)
    told("report", name, "--policy", "policy.toml", "-o", f"{name}.html")
    return [
        told("assess", "policy.toml"),
        {key: published[key] for key in kept},
        certificate,
        {"holds": verified["holds"], "checks": verified["checks"]},
        told("query", name, "age < 30 and illness = 'flu'"),
    ]


def test_every_command_says_the_same_of_a_stream(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = everything(place, "memory")
    assert expected[1]["utility"]["weighted_loss"] != expected[1]["utility"]["loss"]
    assert '"people"' in json.dumps(expected[0])
    assert expected[3]["holds"]
    monkeypatch.setenv("RETICENT_MEMORY", "100KB")
    assert everything(place, "stream") == expected
    assert sorted(path.name for path in place.iterdir() if path.name.startswith(".")) == []


def test_a_policy_can_say_the_engine_and_the_command_line_wins(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RETICENT_MEMORY", "100KB")
    text = POLICY.replace('source = "rows.csv"', 'source = "rows.csv"\nengine = "streaming"')
    (place / "policy.toml").write_text(text.replace('suppression = "0.05"', 'name = "Mondrian"\nties = "divide"'))
    refused = CliRunner().invoke(app, ["publish", "policy.toml", "-o", "out", "--ledger", "l.sqlite"])
    assert "ties='divide' needs all rows in memory, and this table is streamed" in str(refused.exception)
    told("publish", "policy.toml", "-o", "out", "--ledger", "l.sqlite", "--engine", "local")
    wrong = CliRunner().invoke(app, ["publish", "policy.toml", "-o", "out2", "--engine", "sparc"])
    assert "engine must be 'local', 'streaming' or 'spark', but it is 'sparc'" in str(wrong.exception)
    (place / "policy.toml").write_text(text.replace('"streaming"', '"sparc"'))
    misspelt = CliRunner().invoke(app, ["publish", "policy.toml", "-o", "out2"])
    assert "engine" in str(misspelt.exception)
