"""Values drawn within the range of a group: never outside, uniform, and no separation where typical values cause one."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import reticent as rt


def people(rows: int = 240, seed: int = 3) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": draw.integers(20, 70, rows),
            "pay": draw.normal(2000, 300, rows).round(2),
            "town": draw.choice(["Aix", "Apt", "Arles", "Arras"], rows),
            "seen": [datetime.date(2024, 1, 1) + datetime.timedelta(int(day)) for day in draw.integers(0, 300, rows)],
            "ill": draw.choice(["flu", "gout", "cold"], rows),
        }
    )


def test_drawn_values_lie_in_their_ranges_and_the_release_verifies(tmp_path: Path) -> None:
    table = rt.Table(people(), quasi=["age", "pay", "town", "seen"], sensitive="ill")
    release = rt.publish(table, rt.KAnonymity(5), rt.Mondrian(values="drawn"))
    release.save(tmp_path / "release")
    assert rt.verify(tmp_path / "release").holds
    assert [release.frame.schema[name] for name in ("age", "pay", "town", "seen")] == [
        pl.Int64,
        pl.Float64,
        pl.String,
        pl.Date,
    ]
    statement = (tmp_path / "release" / "public" / "STATEMENT.txt").read_text(encoding="utf-8")
    assert "drawn at random" in " ".join(statement.split())
    assert "median" not in statement


def test_a_drawn_value_outside_its_label_fails_verification(tmp_path: Path) -> None:
    table = rt.Table(people(), quasi=["age", "town"], sensitive="ill")
    rt.publish(table, rt.KAnonymity(5), rt.Mondrian(values="drawn")).save(tmp_path / "release")
    data = tmp_path / "release" / "public" / "data.csv"
    rows = pl.read_csv(data)
    rows.with_columns(pl.when(pl.col("group") == 1).then(19).otherwise(pl.col("age")).alias("age")).write_csv(data)
    assert not rt.verify(tmp_path / "release").holds


# A confidential copy of a column that must take two values in every group keeps Mondrian from cutting the column itself.
MIXED = rt.KAnonymity(5) & rt.DistinctLDiversity(2, column="copy", alone=True)


def test_draws_are_uniform_over_the_values_of_a_label() -> None:
    rows = pl.DataFrame({"x": ["a", "b"] * 1500, "y": np.repeat(np.arange(600), 5), "copy": ["a", "b"] * 1500})
    table = rt.Table(rows, quasi=["x", "y"], sensitive="copy")
    release = rt.publish(table, MIXED, rt.Mondrian(values="drawn"), insecure_seed=7)
    shown = release.frame.unique(["group"])
    assert shown.height >= 200
    share = (shown["x"] == "a").mean()
    assert isinstance(share, float)
    assert abs(share - 0.5) < 5 * 0.5 / shown.height**0.5


def test_without_a_seed_draws_come_from_the_operating_system() -> None:
    table = rt.Table(people(), quasi=["age", "pay"], sensitive="ill")
    one, other = (rt.publish(table, rt.KAnonymity(5), rt.Mondrian(values="drawn")) for _ in range(2))
    assert one.certificate["randomness"]["releasable"]
    assert not one.frame.equals(other.frame)


def separated_by_modes() -> rt.Table:
    """Everybody of an age is sick or not; most of the sick smoke, and few others do: the most frequent value of a group tells which, a single value does not."""
    sick = np.repeat(np.arange(60) % 2, 5)
    smokes = np.where(np.arange(300) % 5 < 4, sick, 1 - sick)
    rows = {"age": np.repeat(np.arange(60), 5), "smokes": smokes, "sick": sick, "copy": smokes}
    return rt.Table(pl.DataFrame(rows), quasi=["age", "smokes"], sensitive=["sick", "copy"])


@pytest.mark.parametrize(("values", "splits"), [("typical", True), ("drawn", False), ("ranges", False)])
def test_drawn_values_do_not_separate_an_outcome(values: Any, splits: bool) -> None:
    table, models = separated_by_modes(), ["sick ~ smokes"]
    found = rt.preview(table, MIXED, rt.Mondrian(values=values), models=models, insecure_seed=1).analysis
    assert found is not None
    assert ("separated" in {each.change for each in found.conclusions}) == splits
