"""Proposed types: whole numbers held as floats, codes held as numbers, dates in any spelling."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from reticent.policy import Policy, inspect
from reticent.propose.proposed_types import proposed_types

DAYS = [datetime.date(1931, 1, 5) + datetime.timedelta(days=613 * i) for i in range(40)]


def read_back(path: Path, folder: Path) -> pl.DataFrame:
    found = inspect(str(path), output=folder / "policy.toml", prices=False)
    found.save(folder / "policy.toml")
    return Policy.read(folder / "policy.toml").table().frame


@pytest.mark.parametrize(
    "form", ["%d-%b-%y", "%d-%b-%Y", "%d %B %Y", "%b %d, %Y", "%d%b%Y", "%Y%m%d", "%d.%m.%y", "%Y-%m", "%Y%m", "%b %Y"]
)
def test_dates_are_read_in_every_spelling(tmp_path: Path, form: str) -> None:
    pl.DataFrame({"born": [day.strftime(form) for day in DAYS], "sex": ["f", "m"] * 20}).write_csv(tmp_path / "a.csv")
    has_day = "%d" in form
    expected = [day if has_day else day.replace(day=1) for day in DAYS]
    assert read_back(tmp_path / "a.csv", tmp_path)["born"].to_list() == expected


@pytest.mark.parametrize("unit", [1, 1000])
def test_seconds_since_1970_are_moments(tmp_path: Path, unit: int) -> None:
    moments = [datetime.datetime(1990, 1, 1) + datetime.timedelta(hours=997 * i) for i in range(60)]
    seconds = [int((moment - datetime.datetime(1970, 1, 1)).total_seconds()) * unit for moment in moments]
    pl.DataFrame({"created_at": seconds, "sex": ["f", "m"] * 30}).write_csv(tmp_path / "a.csv")
    assert read_back(tmp_path / "a.csv", tmp_path)["created_at"].to_list() == moments


def test_whole_numbers_held_as_floats_are_whole_numbers(tmp_path: Path) -> None:
    frame = pl.DataFrame({"age": [float(20 + i % 50) for i in range(200)], "sex": ["f", "m"] * 100})
    frame = frame.with_columns(age=pl.when(pl.col("age") != 30).then("age"))
    for path in (tmp_path / "a.csv", tmp_path / "a.parquet"):
        frame.write_csv(path) if path.suffix == ".csv" else frame.write_parquet(path)
        age = read_back(path, tmp_path)["age"]
        assert age.dtype == pl.Int64
        assert age.drop_nulls().to_list() == [int(value) for value in frame["age"].drop_nulls()]


def test_a_declared_integer_that_is_none_is_still_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("age\n" + "30.5\n31\n" * 6)
    found = inspect(str(tmp_path / "a.csv"), output=tmp_path / "policy.toml", prices=False)
    assert "types" not in found.policy


@pytest.mark.parametrize(
    ("name", "values", "given"),
    [
        ("race", [1, 2, 3, 4], "text"),
        ("MARSTAT", [1, 2, 3, 9], "text"),
        ("region", [1.0, 2.0, 3.0], "text"),
        ("sex", [1, 2, 1], None),
        ("children", [0, 1, 2, 3], None),
        ("score", [1.5, 2.0], None),
        ("income", [1e300, 2.0], None),
        ("code", list(range(500)), None),
        ("zip", [10115, 20095, 99999], "text"),
        ("zip", [2138, 20095, 99999], None),
        ("visits", [202001, 202013, 202002], None),
    ],
)
def test_codes_of_categories_are_text_and_numbers_stay_numbers(name: str, values: list[Any], given: str | None) -> None:
    assert proposed_types(pl.DataFrame({name: values * 8})).get(name) == given


def test_codes_of_categories_never_become_intervals(tmp_path: Path) -> None:
    pl.DataFrame({"race": [1, 2, 3, 4, 5, 6] * 40, "age": [20 + i % 60 for i in range(240)]}).write_csv(
        tmp_path / "a.csv"
    )
    found = inspect(str(tmp_path / "a.csv"), output=tmp_path / "policy.toml", prices=False)
    kinds = {column.name: (column.hierarchy or {}).get("kind") for column in found.proposal.columns}
    assert kinds == {"race": "taxonomy", "age": "intervals"}
