"""Columns that follow from each other: found with their rule, counted once, and consistent with what is published."""

from __future__ import annotations

import datetime
import random
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from reticent.policy import inspect, publish_policy
from reticent.propose import propose
from reticent.propose.relations import families, relations


def people(rows: int = 300, seed: int = 3) -> pl.DataFrame:
    draw = random.Random(seed)
    return pl.DataFrame(
        {
            "age": [draw.randrange(18, 80) for _ in range(rows)],
            "exper": [draw.randrange(0, 40) for _ in range(rows)],
            "hours": [draw.randrange(10, 60) for _ in range(rows)],
            "wage": [round(draw.lognormvariate(2, 0.5), 2) for _ in range(rows)],
        }
    )


def how(frame: pl.DataFrame, dear: dict[str, int] | None = None) -> dict[str, str]:
    return {each.derived: each.how for each in relations(frame, frame.columns, dear or {})}


@pytest.mark.parametrize(
    ("name", "made", "rule"),
    [
        ("lwage", pl.col("wage").log(), "is the natural logarithm of 'wage'"),
        ("expersq", pl.col("exper") ** 2, "is the square of 'exper'"),
        ("months", pl.col("exper") * 12, "is 12 times 'exper'"),
        ("f", pl.col("age") * 1.8 + 32, "is 1.8 times 'age' plus 32"),
        ("root", pl.col("hours").sqrt(), "is the square root of 'hours'"),
        ("share", 1 / pl.col("hours"), "is 1 / 'hours'"),
        ("total", pl.col("exper") + pl.col("hours"), "is 'exper' plus 'hours'"),
        ("change", pl.col("hours") - pl.col("exper"), "is 'hours' minus 'exper'"),
        ("pay", pl.col("wage") * pl.col("hours"), "is 'hours' times 'wage'"),
        ("old", (pl.col("age") >= 65).cast(pl.Int64), "follows from 'age': 0 below 65, 1 from 65 on"),
        (
            "group",
            pl.when(pl.col("age") < 30)
            .then(pl.lit("young"))
            .when(pl.col("age") < 60)
            .then(pl.lit("middle"))
            .otherwise(pl.lit("old")),
            "follows from 'age': young below 30, middle from 30 on, old from 60 on",
        ),
    ],
)
def test_what_follows_is_found_with_its_rule(name: str, made: pl.Expr, rule: str) -> None:
    assert how(people().with_columns(made.alias(name))) == {name: rule}


def test_numbers_that_were_stored_in_single_precision_are_found() -> None:
    frame = people().with_columns(lwage=pl.col("wage").log().cast(pl.Float32).cast(pl.Float64))
    assert how(frame) == {"lwage": "is the natural logarithm of 'wage'"}


def test_the_plainer_column_is_kept_whichever_comes_first() -> None:
    frame = people().select(
        pl.col("wage").log().alias("lwage"), (pl.col("exper") ** 2).alias("expersq"), "wage", "exper"
    )
    assert how(frame) == {"lwage": "is the natural logarithm of 'wage'", "expersq": "is the square of 'exper'"}
    codes = people().select("age", pl.col("age").rank("dense").cast(pl.Int64).alias("code"))
    assert list(how(codes, {"age": 0})) == ["code"]


def test_an_interaction_is_left_out_and_not_what_it_is_made_of() -> None:
    """A column of men's schooling tells who is a man; sex is what people want."""
    draw = random.Random(1)
    frame = pl.DataFrame(
        {"male": [draw.randrange(2) for _ in range(300)], "educ": [draw.randrange(8, 20) for _ in range(300)]}
    )
    frame = frame.with_columns(mleeduc=pl.col("male") * pl.col("educ"))
    assert how(frame) == {"mleeduc": "is 'educ' times 'male'"}


def test_dates_and_their_parts() -> None:
    start = datetime.datetime(2020, 1, 1)
    moments = [start + datetime.timedelta(hours=37 * i) for i in range(300)]
    frame = pl.DataFrame({"seen": moments}).with_columns(
        year=pl.col("seen").dt.year(), weekday=pl.col("seen").dt.weekday(), hour=pl.col("seen").dt.hour()
    )
    assert how(frame) == {
        "year": "is the year of 'seen'",
        "weekday": "is the weekday of 'seen'",
        "hour": "is the hour of 'seen'",
    }


def test_what_follows_from_something_derived_follows_from_its_source() -> None:
    frame = people().select("age").with_columns(half=pl.col("age") // 2, tens=pl.col("age") // 10)
    found = {
        each.derived: each.sources
        for each in relations(frame.select("half", "tens", "age"), ["half", "tens", "age"], {})
    }
    assert found == {"half": ("age",), "tens": ("age",)}


def test_missing_values_are_no_rule() -> None:
    """A column that is missing in the first term tells the term, but says nothing of what it is."""
    draw = random.Random(2)
    terms = [draw.randrange(1, 3) for _ in range(300)]
    frame = pl.DataFrame({"term": terms, "change": [None if term == 1 else draw.random() for term in terms]})
    assert how(frame) == {}


@pytest.mark.parametrize("rows", [5, 19])
def test_few_rows_tell_nothing(rows: int) -> None:
    frame = people(rows).with_columns(expersq=pl.col("exper") ** 2)
    assert how(frame) == {}


def test_chance_is_no_relation() -> None:
    draw = random.Random(9)
    frame = pl.DataFrame({f"c{n}": [draw.randrange(2 + n) for _ in range(400)] for n in range(12)})
    assert how(frame) == {}


def test_indicators_of_one_category_are_a_family_even_without_the_last() -> None:
    draw = random.Random(4)
    region = [draw.randrange(4) for _ in range(300)]
    frame = pl.DataFrame(
        {f"r{n}": [int(each == n) for each in region] for n in range(4)} | {"own": [draw.randrange(2) for _ in region]}
    )
    assert families(frame, frame.columns) == [("r0", "r1", "r2", "r3")]
    assert families(frame.drop("r3"), ["r0", "r1", "r2", "own"]) == [("r0", "r1", "r2")]
    assert how(frame) == {"r3": "is 1 exactly where none of 'r0', 'r1', 'r2' is"}
    assert how(frame.drop("r3")) == {}


def test_a_policy_says_what_was_left_out_and_that_it_can_be_recomputed_only_where_that_is_true() -> None:
    """What a coarser wage tells of the logarithm is not the logarithm; where few wages are published as they are, it is."""
    frame = people().with_columns(lwage=pl.col("wage").log(), sex=pl.Series(["f", "m"] * 150))
    found = inspect(frame)
    assert found.roles["lwage"] is None
    assert "'lwage' is the natural logarithm of 'wage'" in " ".join(found.notes)
    assert "is the natural logarithm of 'wage', and would undo its protection" in found.policy
    assert [each.derived for each in found.proposal.relations] == ["lwage"]
    few = frame.with_columns(wage=pl.col("wage").rank("dense").cast(pl.Int64) % 9 + 10).with_columns(
        lwage=pl.col("wage").log()
    )
    assert "is the natural logarithm of 'wage', and can be recomputed" in inspect(few).policy


def test_what_a_study_is_about_stays_where_it_follows_from_others() -> None:
    """Whoever was alive when a study ended follows from a day and a time: the day goes, and the outcome stays."""
    draw = random.Random(8)
    start = datetime.date(1970, 1, 1)
    admitted = [start + datetime.timedelta(draw.randrange(900)) for _ in range(240)]
    futime = [draw.randrange(1, 600) for _ in admitted]
    ended = [each + datetime.timedelta(days) for each, days in zip(admitted, futime, strict=True)]
    frame = pl.DataFrame(
        {
            "age": [draw.randrange(20, 80) for _ in admitted],
            "surgery.date": admitted,
            "futime": futime,
            "fustat": [int(each < datetime.date(1971, 12, 1)) for each in ended],
        }
    )
    columns = {column.name: column for column in propose(frame).columns}
    assert columns["surgery.date"].role is None
    assert columns["surgery.date"].reason == "together with others it discloses 'fustat', which a study is likely about"
    assert columns["fustat"].role == columns["futime"].role == "sensitive"


def test_what_is_recomputed_from_a_release_agrees_with_it(tmp_path: Path) -> None:
    """Formulas on published numbers, sums of them, and bands of published ranges: no row contradicts its original."""
    frame = people(400).with_columns(
        lwage=pl.col("wage").log(),
        agesq=pl.col("age") ** 2,
        old=(pl.col("age") >= 65).cast(pl.Int64),
        sex=pl.Series(["f", "m"] * 200),
        number=pl.int_range(400) + 1000,
    )
    frame.write_csv(tmp_path / "people.csv")
    found = inspect(str(tmp_path / "people.csv"), output=tmp_path / "policy.toml")
    found.save(tmp_path / "policy.toml")
    rules = {each.derived: each for each in found.proposal.relations}
    assert set(rules) == {"lwage", "agesq", "old"}
    release = publish_policy(found.parsed(), tmp_path / "release", ledger=str(tmp_path / "ledger.sqlite")).release
    published = release.tables["data"]
    assert not set(rules) & set(published.columns)
    formula = rules["lwage"].rule
    assert formula is not None
    recomputed = formula.of(published["wage"].cast(pl.Float64).to_numpy())
    assert np.allclose(recomputed, np.log(published["wage"].cast(pl.Float64).to_numpy()))
    # The distribution of what is recomputed is that of the original column, up to the coarsening of its source.
    assert abs(float(recomputed.mean()) - float(frame["lwage"].mean())) < 0.05
    ages = {each.name: each for each in release.manifest.columns}["age"].labels
    squares = rules["agesq"].rule
    assert squares is not None
    for meaning in ages.values():
        ends = meaning.listed(release_kind()) or [meaning.low, meaning.high]
        low, high = min(ends), max(ends)
        inside = frame.filter(pl.col("age").is_between(low, high))
        assert squares.of(np.array([low], dtype=float))[0] <= inside["agesq"].min()
        assert inside["agesq"].max() <= squares.of(np.array([high], dtype=float))[0]
        if high < 65 or low >= 65:
            assert inside["old"].unique().to_list() == [int(low >= 65)]


def release_kind() -> Any:
    from reticent.table.value_types import ValueType

    return ValueType.INTEGER


def test_sensitive_values_that_follow_from_quasi_columns_hide_these() -> None:
    frame = people().with_columns(
        diagnosis=pl.when(pl.col("hours") > 40).then(pl.lit("stress")).otherwise(pl.lit("none"))
    )
    found = {column.name: column for column in propose(frame).columns}
    assert found["diagnosis"].role == "sensitive"
    assert found["hours"].role is None
    assert "discloses the sensitive" in found["hours"].reason
