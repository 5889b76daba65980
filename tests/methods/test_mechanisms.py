"""What holds for every registered method that publishes at random."""

from __future__ import annotations

import json
import random
import secrets
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import reticent as rt
from reticent.cli.app import app
from reticent.definitions import RandomMechanism
from reticent.errors import PolicyError
from reticent.release import publication
from reticent.reports import MechanismPreview
from reticent.workbench.tasks import explore
from tests.methods.mechanisms import CASES, FRAME, RANDOM


def test_every_registered_mechanism_is_tested() -> None:
    assert sorted(CASES) == RANDOM


@pytest.fixture
def no_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure of the test if anything asks for randomness, or drafts."""

    def drawn(*_: object, **__: object) -> None:
        raise AssertionError("something was drawn")

    monkeypatch.setattr(secrets, "token_bytes", drawn)
    monkeypatch.setattr(secrets, "randbelow", drawn)
    monkeypatch.setattr(np.random, "default_rng", drawn)
    monkeypatch.setattr(random.SystemRandom, "random", drawn)
    for case in CASES.values():
        monkeypatch.setattr(type(case.method), "draft", drawn)


@pytest.mark.parametrize("name", RANDOM)
def test_a_preview_of_a_mechanism_shows_its_error_and_never_a_draw(name: str, no_draws: None) -> None:
    case = CASES[name]
    assert isinstance(case.method, RandomMechanism)
    table = case.table(dataset="wards")
    found = rt.preview(table, case.definition, case.method)
    assert isinstance(found, MechanismPreview)
    assert found.error.figures["standard_error"] > 0
    assert found.utility == found.error.figures
    assert found.frame.height == 0
    assert found.groups is None
    told = json.dumps(found.as_dict())
    assert not any(str(person) in told for person in FRAME["person"])
    compared = rt.compare(table, case.definition, [case.method])
    assert compared.table["standard_error"].item() == found.error.figures["standard_error"]
    assert compared.table["rows"].item() is None


@pytest.mark.parametrize("name", RANDOM)
def test_an_error_does_not_depend_on_the_values_of_rows(name: str) -> None:
    case = CASES[name]
    other = FRAME.with_columns(illness=pl.lit("ulcer"))
    figures = [case.method.expected_error(case.table(frame), case.definition).figures for frame in (FRAME, other)]
    assert figures[0] == figures[1]


@pytest.mark.parametrize("name", RANDOM)
def test_weights_are_counted_with_their_sensitivity_or_refused(name: str) -> None:
    case = CASES[name]
    if getattr(case.method, "counts_weights", False):
        return
    roles = {
        key: [each for each in value if each != "jobs"] if key == "quasi" else value
        for key, value in case.roles.items()
    }
    table = rt.Table(FRAME, **roles, weight="jobs")
    for call in (rt.publish, rt.preview):
        with pytest.raises(PolicyError, match=rf"{name} counts each row as one, but this table has weights \('jobs'\)"):
            call(table, case.definition, case.method)


NOISY_POLICY = """
[data]
source = "rows.csv"
[[definition]]
name = "NoisyCounts"
epsilon = 1
[roles]
quasi = ["town", "illness"]
[method]
name = "CentralCounts"
[method.domain]
town = ["Aix", "Apt", "Arles"]
illness = ["flu", "cold", "asthma", "ulcer"]
"""


def test_a_dry_run_of_noisy_counts_draws_nothing(tmp_path: Path, no_draws: None) -> None:
    FRAME.select("town", "illness").write_csv(tmp_path / "rows.csv")
    (tmp_path / "policy.toml").write_text(NOISY_POLICY)
    for command in (["publish", "--dry-run", "-o", str(tmp_path / "out")], ["preview", "--compare"]):
        done = CliRunner().invoke(app, [command[0], str(tmp_path / "policy.toml"), *command[1:], "--json"])
        assert done.exit_code == 0, done.output
        told = json.loads(done.stdout)
        assert told["frame"] == []
        assert told["error"]["figures"]["standard_error"] == pytest.approx(2.8, abs=0.1)
        plain = CliRunner().invoke(app, [command[0], str(tmp_path / "policy.toml"), *command[1:]])
        assert plain.exit_code == 0
        assert "Nothing was sampled" in plain.stdout
    assert not (tmp_path / "out").exists()


def test_the_workbench_shows_the_error_of_noisy_counts_and_never_a_draw(tmp_path: Path, no_draws: None) -> None:
    FRAME.select("town", "illness").write_csv(tmp_path / "rows.csv")
    reporter = SimpleNamespace(context=rt.Context, early=lambda _: None)
    found = explore.candidate(reporter, str(tmp_path), NOISY_POLICY)  # type: ignore[arg-type]
    assert found["figures"]["standard_error"] == pytest.approx(2.8, abs=0.1)
    assert found["rows"] == 0
    assert not {"before", "after", "distributions", "query_error"} & set(found)


@pytest.mark.parametrize("name", ["CentralCounts", "GridSample", "Perturbation", "Synthetic"])
def test_a_table_that_cannot_be_recognised_is_refused_before_anything_is_written(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it costs could not be charged to anybody's account."""

    def written(*_: object, **__: object) -> None:
        raise AssertionError("something was written")

    case = CASES[name]
    monkeypatch.setattr(publication, "marks_of_people", lambda table, key: ())
    monkeypatch.setattr(publication, "contents_marks", lambda table, key: ())
    monkeypatch.setattr(publication.Spool, "of", written)
    with pytest.raises(PolicyError, match="This table has no name, and its rows are too few, or too many"):
        rt.publish(case.table(), case.definition, case.method, ledger=tmp_path / "ledger.sqlite")
