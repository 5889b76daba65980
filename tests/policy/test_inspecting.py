"""rt.inspect proposes the same in Python as on the command line, for files and for frames."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import reticent as rt
from reticent.cli.app import app
from reticent.demo import hospital
from reticent.errors import Infeasible


@pytest.fixture
def file(tmp_path: Path) -> Path:
    hospital(300).write_csv(tmp_path / "hospital.csv")
    return tmp_path / "hospital.csv"


def test_it_proposes_what_the_command_writes(file: Path) -> None:
    policy = file.parent / "policy.toml"
    assert CliRunner().invoke(app, ["inspect", str(file), "-o", str(policy)]).exit_code == 0
    found = rt.inspect(file, output=policy)
    assert found.policy == policy.read_text("utf-8")
    assert found.roles["diagnosis"] == "sensitive"


def test_the_proposed_table_can_be_published(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RETICENT_LEDGER", str(file.parent / "ledger.sqlite"))
    found = rt.inspect(str(file))
    table = found.table()
    assert len(table.frame) == 300
    release = rt.publish(table, found.parsed().definition)
    assert release.groups.sizes.min() >= 2


def test_a_frame_is_inspected_like_its_file(file: Path) -> None:
    frame = pl.read_csv(file, try_parse_dates=True)
    of_frame, of_file = rt.inspect(frame, prices=False), rt.inspect(file, prices=False)
    assert of_frame.roles == of_file.roles
    assert of_frame.notes == of_file.notes
    assert "source" not in of_frame.policy
    assert len(of_frame.table().frame) == 300


def test_words_for_missing_values_in_a_frame_become_nulls() -> None:
    frame = pl.DataFrame(
        {"age": [30, 40] * 20, "work": ["a", "?", "b", "?"] * 10, "disease": ["x", "y", "z", "x"] * 10}
    )
    found = rt.inspect(frame)
    assert found.roles.keys() == set(frame.columns)
    assert "null_values" in found.policy
    assert found.parsed().sections.data.null_values == ["?"]


def test_nothing_is_written_unless_it_is_saved(file: Path) -> None:
    before = set(file.parent.iterdir())
    found = rt.inspect(file, output=file.parent / "policy.toml", prices=False)
    assert set(file.parent.iterdir()) == before
    assert len(rt.read(policy=found.save(file.parent / "policy.toml")).frame) == 300


@pytest.mark.parametrize("rows", [0, 1, 9])
def test_too_few_people_are_said_and_no_policy_is_given(file: Path, rows: int) -> None:
    pl.read_csv(file).head(rows).write_parquet(file.with_suffix(".parquet"))
    found = rt.inspect(file.with_suffix(".parquet"), output=file.parent / "policy.toml")
    (note,) = found.notes
    for refused in (lambda: found.policy, found.parsed, found.table, lambda: found.save(file.parent / "policy.toml")):
        with pytest.raises(Infeasible, match=re.escape(note)):
            refused()
    assert not (file.parent / "policy.toml").exists()
