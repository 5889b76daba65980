"""Flat rows with a level: of the rows that hold a point those of the greatest level are its class, in a spreadsheet as in the product."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import reticent as rt
from reticent.cli.app import app
from reticent.cli.console import run
from reticent.errors import PolicyError


def people(seed: int, count: int = 120) -> pl.DataFrame:
    """Two dense places in a thin space, so that regions lie inside others."""
    rng = np.random.default_rng(seed)
    dense = rng.random(count) < 0.7
    age = np.where(dense, rng.normal(30, 2, count), rng.uniform(0, 100, count)).clip(0, 99).astype(int)
    town = np.where(dense, rng.integers(3, 5, count), rng.integers(0, 16, count))
    return pl.DataFrame(
        {"age": age, "town": [f"t{each:02d}" for each in town], "ill": rng.choice(["a", "b", "c"], count)}
    )


def released(frame: pl.DataFrame, minimum: int, k: int) -> rt.Release:
    table = rt.Table(frame, quasi=["age", "town"], sensitive="ill")
    return rt.publish(table, rt.KAnonymity(k), method=rt.Bang(minimum=minimum))


@pytest.mark.parametrize("seed", range(2))
def test_the_greatest_level_among_fitting_rows_is_the_class_of_everybody(seed):
    frame = people(seed)
    release = released(frame, 5, 5)
    flat = rt.Bang.flat(release)
    assert flat.columns == ["group", "level", "age", "town", "age from", "age below", "town from", "town below", "ill"]
    places = {
        row["quasi value"]: row["place"]
        for row in release.tables["places"].rows(named=True)
        if row["quasi column"] == "town"
    }
    rows = flat.rows(named=True)
    reader, nested = release.reader, 0
    for age, town in frame.select("age", "town").unique().rows():
        fit = [
            row
            for row in rows
            if (row["age from"] is None or row["age from"] <= age)
            and (row["age below"] is None or age < row["age below"])
            and row["town from"] <= places[town] < row["town below"]
        ]
        deepest = max(row["level"] for row in fit)
        nested += deepest > min(row["level"] for row in fit)
        assert {row["group"] for row in fit if row["level"] == deepest} == {reader.at(age=age, town=town)}
    assert nested > 0
    shown = Counter((row["group"], row["ill"]) for row in rows)
    assert shown == Counter(release.frame.select("group", "ill").rows())
    assert Counter(row["ill"] for row in rows) == Counter(frame["ill"].to_list())


def test_classes_of_several_regions_and_other_formats_are_refused():
    with pytest.raises(PolicyError, match=r"classes have several regions.*Bang\(minimum=k\)"):
        rt.Bang.flat(released(people(1), 2, 20))
    table = rt.Table(people(1), quasi=["age", "town"], sensitive="ill")
    with pytest.raises(PolicyError, match="this one has the format 'generalize'"):
        rt.Bang.flat(rt.publish(table, rt.KAnonymity(5), method=rt.Mondrian()))


def test_the_command_writes_flat_rows(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    release = released(people(2), 5, 5)
    release.save("release")
    monkeypatch.setattr(sys, "argv", ["reticent", "index", "flat", "release", "-o", "flat.csv"])
    assert run(app) == 0
    assert "120 rows in flat.csv" in capsys.readouterr().out
    assert (
        pl.read_csv("flat.csv")
        .select("group", "level", "ill")
        .equals(rt.Bang.flat(release).select("group", "level", "ill"))
    )
    released(people(2), 2, 20).save("merged")
    monkeypatch.setattr(sys, "argv", ["reticent", "index", "flat", "merged", "-o", "none.csv"])
    assert run(app) == 2
    assert not Path("none.csv").exists()
