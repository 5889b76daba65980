"""Distances between synthetic and true records: by hand, and from a twin that counts rows."""

from __future__ import annotations

from collections import Counter
from datetime import date, timedelta

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.utility import record_fit
from tests.sampling import examples

VALUES = st.lists(st.tuples(st.sampled_from(["a", "b", None]), st.sampled_from([1, 2, None])), min_size=1, max_size=12)


def frame(rows: list[tuple[str | None, int | None]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={"letter": pl.String, "number": pl.Int64}, orient="row")


def distance(one: list[object], other: list[object]) -> float:
    shares = [Counter(rows) for rows in (one, other)]
    return sum(abs(shares[0][each] / len(one) - shares[1][each] / len(other)) for each in {*one, *other}) / 2


@examples(100)
@given(VALUES, VALUES)
def test_distances_are_those_of_counted_shares(one: list[tuple], other: list[tuple]) -> None:
    fit = record_fit(frame(one), frame(other), ["letter", "number"])
    for place, name in enumerate(("letter", "number")):
        assert fit.columns[name] == pytest.approx(distance([row[place] for row in one], [row[place] for row in other]))
    assert fit.pairs["letter", "number"] == pytest.approx(distance(list(one), list(other)))


def test_a_file_has_no_distance_to_itself_and_the_whole_distance_to_one_that_shares_no_value() -> None:
    true = pl.DataFrame({"x": list(range(200)), "day": [date(2020, 1, 1) + timedelta(each) for each in range(200)]})
    assert record_fit(true, true, true.columns).mean_pair == 0
    other = record_fit(true, true.select(pl.col("x") + 1000, pl.col("day")), true.columns)
    # All numbers belong to the last twentieth then.
    assert other.columns == {"x": pytest.approx(0.95), "day": 0}
    assert other.worst_pairs(1) == [(("x", "day"), pytest.approx(0.95))]


def test_numbers_written_otherwise_are_the_same_numbers() -> None:
    true = pl.DataFrame({"x": [1, 2, 3] * 10, "age": list(range(30))})
    texts = true.select(pl.col("x").cast(pl.Float64), pl.col("age").cast(pl.String))
    assert record_fit(true, texts, true.columns).columns == {"x": 0, "age": 0}


def test_one_column_has_no_pairs() -> None:
    assert record_fit(frame([("a", 1)]), frame([("b", 1)]), ["letter"]).mean_pair is None
