"""``rt.read``: rows with their roles, from a policy, from arguments, or from both."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from reticent.errors import DataError, PolicyError
from reticent.policy import inspect, read
from reticent.table import Hierarchy

POLICY = """
[data]
source = "a.csv"
types = { zip = "text" }
[roles]
quasi = ["age", "zip"]
sensitive = "disease"
[hierarchies.age]
kind = "intervals"
widths = [10]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pl.DataFrame({"age": [1, 22], "zip": ["11", "22"], "disease": ["x", "y"], "note": ["", ""]}).write_csv(
        tmp_path / "a.csv"
    )
    (tmp_path / "policy.toml").write_text(POLICY)
    return tmp_path


def test_the_policy_says_where_and_what(folder: Path) -> None:
    table = read(policy=folder / "policy.toml")
    assert table.frame.rows() == [(1, "11", "x"), (22, "22", "y")]
    assert table.unpublished == ("note",)
    assert table.hierarchies[0].height == 2


def test_another_source_is_read_as_the_policy_says(folder: Path) -> None:
    (folder / "b.csv").write_text("disease;zip;age\nz;33;44\n")
    assert read(folder / "b.csv", policy=folder / "policy.toml").frame.rows() == [(44, "33", "z")]
    frame = pl.DataFrame({"age": [5], "zip": ["1"], "disease": ["q"]})
    assert read(frame, policy=folder / "policy.toml").frame.equals(frame)


def test_arguments_win_over_the_policy(folder: Path) -> None:
    table = read(policy=folder / "policy.toml", quasi=["zip"], nulls="drop", types={"zip": "integer"})
    assert table.frame.rows() == [(11, "x"), (22, "y")]
    assert table.nulls == "drop"


def test_arguments_are_enough(folder: Path) -> None:
    table = read(folder / "a.csv", quasi={"age": Hierarchy.intervals(widths=[5])}, sensitive="disease", dataset="a")
    assert table.frame.columns == ["age", "disease"]
    assert table.unpublished == ("zip", "note")
    assert read(folder / "a.csv").unpublished == ("age", "zip", "disease", "note")


def test_what_cannot_be_read_is_refused(folder: Path) -> None:
    with pytest.raises(PolicyError, match="Pass what to read"):
        read()
    with pytest.raises(PolicyError, match=r"read has no parameter 'quasy'\. Did you mean 'quasi'\?"):
        read(folder / "a.csv", quasy=["age"])
    with pytest.raises(DataError, match="has no column 'ages'"):
        read(folder / "a.csv", quasi=["ages"])


def test_a_stream_is_read_with_its_roles_and_inspected_before() -> None:
    frame = pl.DataFrame({"age": [20 + i % 7 for i in range(70)], "disease": ["x", "y"] * 35})
    table = read(frame.to_arrow().to_reader(), quasi=["age"], sensitive="disease")
    assert table.frame.equals(frame)
    assert inspect(frame.to_arrow().to_reader()).table().rows == 70
