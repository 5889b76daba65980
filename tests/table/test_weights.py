"""Weights: exact counts, checked at birth, carried by both engines."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from reticent.engine import count_table
from reticent.errors import DataError, PolicyError
from reticent.table import Table
from tests.engine.making import frame_of

AGES = [30, 30, 31, 40]


def weighted(weights: list, **changes) -> Table:
    return Table(pl.DataFrame({"age": AGES, "w": pl.Series(weights)}), quasi=["age"], weight="w", **changes)


@pytest.mark.parametrize(
    ("weights", "unit", "counts"),
    [
        ([1, 2, 3, 4], 1, [3, 3, 4]),
        ([0.1, 0.2, 0.3, 1e3], Fraction(1, 10), [3, 3, 10_000]),
        ([1.25, 0.0, 0.005, 2.0], Fraction(1, 1000), [1250, 5, 2000]),
        ([1e-7, 1.0, 1.0, 1.0], Fraction(1, 10**7), [10_000_001, 10_000_000, 10_000_000]),
        ([Decimal("1.50"), Decimal("2.25"), Decimal("0.75"), Decimal(1)], Fraction(1, 100), [375, 75, 100]),
    ],
)
def test_weights_are_counted_exactly_in_their_last_decimal_place(weights, unit, counts):
    table = weighted(weights)
    assert table.weights.unit == unit
    assert count_table(table).extras["weight"].tolist() == counts


def test_a_unit_is_no_finer_than_lets_the_total_be_counted():
    table = weighted([1 / 3, 2e9, 1e9, 0.0])
    assert table.weights.unit == Fraction(1, 10**5)
    assert count_table(table).extras["weight"].tolist() == [2 * 10**14 + 33333, 10**14, 0]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (["a", "b", "c", "d"], "The weight column 'w' must be numeric, but it is String"),
        ([1.0, None, 1.0, 1.0], r"The weight column 'w' has no weight in row 2 \(None\)"),
        ([1.0, 1.0, float("nan"), 1.0], r"has a weight that is not a number in row 3 \(nan\)"),
        ([1.0, 1.0, 1.0, float("inf")], r"has a weight that is not a number in row 4 \(inf\)"),
        ([1, 1, -2, 1], r"has a negative weight in row 3 \(-2\)"),
        ([0, 0, 0, 0], "All weights in column 'w' are zero"),
        ([2**52, 1, 1, 1], "add up to 4.5036e.15, more than can be counted exactly"),
    ],
)
@pytest.mark.parametrize("engine", ["local", "streaming"])
def test_weights_that_cannot_be_are_refused(weights, message, engine):
    with pytest.raises(DataError, match=message):
        weighted(weights, engine=engine)


def test_both_engines_carry_weights_alike_and_publish_none_of_them(monkeypatch):
    frame = frame_of(2000, 11).with_row_index("id").with_columns((pl.col("id") % 7 / 4).alias("w"))
    roles = {"quasi": ["age", "zip"], "sensitive": "illness", "weight": "w"}
    local = Table(frame, **roles)
    monkeypatch.setattr("reticent.table.rows.rows_at_once", lambda columns: 130)
    streamed = Table(frame.lazy(), **roles, engine="streaming")
    first, second = count_table(local), count_table(streamed)
    assert np.array_equal(first.extras["weight"], second.extras["weight"])
    assert int(first.extras["weight"].sum()) == round(frame["w"].sum() * 100)
    coarse = first.generalize([1, 0])
    assert int(coarse.extras["weight"].sum()) == int(first.extras["weight"].sum())
    assert "w" not in local.unpublished
    with pytest.raises(PolicyError, match=r"The rows have no weights\. Name their column with weight="):
        count_table(Table(frame, quasi=["age"])).weighted()
