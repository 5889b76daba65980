"""Values drawn within the range of a group: never outside, uniform, and no separation where typical values cause one."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import polars as pl

import reticent as rt
from reticent.table import ValueType


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


def test_draws_are_uniform_over_the_values_of_a_label() -> None:
    draw = np.random.default_rng(2)
    rows = {
        "town": draw.choice(list("abcdefghij"), 4000),
        "age": draw.integers(0, 90, 4000),
        "size": draw.integers(0, 60, 4000),
    }
    release = rt.publish(
        rt.Table(rows, quasi=list(rows)), rt.KAnonymity(5), rt.Mondrian(values="drawn"), insecure_seed=7
    )
    labels = {name: meaning.listed(ValueType.TEXT) or [] for name, meaning in release.meanings["town"].items()}
    groups = release.tables["groups"].filter(
        pl.col("town").is_in([name for name, each in labels.items() if len(each) > 1])
    )
    shown = release.frame.unique(["group"]).select("group", drawn="town").join(groups, on="group")
    assert shown.height >= 100
    ranks = [
        (sorted(labels[label]).index(value), len(labels[label]))
        for label, value in shown.select("town", "drawn").rows()
    ]
    # Each rank is uniform on 0 .. n - 1, with mean (n - 1) / 2 and variance (n^2 - 1) / 12.
    total = sum((rank - (many - 1) / 2) / ((many**2 - 1) / 12) ** 0.5 for rank, many in ranks)
    assert abs(total) < 5 * len(ranks) ** 0.5


def test_without_a_seed_draws_come_from_the_operating_system() -> None:
    table = rt.Table(people(), quasi=["age", "pay"], sensitive="ill")
    one, other = (rt.publish(table, rt.KAnonymity(5), rt.Mondrian(values="drawn")) for _ in range(2))
    assert one.certificate["randomness"]["releasable"]
    assert not one.frame.equals(other.frame)
