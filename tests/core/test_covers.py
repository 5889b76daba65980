"""Values are matched with labels by what the labels mean, however the values are written."""

from __future__ import annotations

import datetime
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.core.adversary_view import AdversaryColumn
from reticent.core.covers import cover
from reticent.table.meaning import Anything, Interval, Missing, Prefix, Value, Values
from tests.sampling import examples


def covers(meaning: dict[str, Any], value: object, column: str) -> bool:
    return bool(cover(pl.Series([value]), [meaning], column).matrix()[0, 0])


@pytest.mark.parametrize(
    ("meaning", "inside", "outside"),
    [
        (Anything(), [1, "x", None], []),
        (Missing(), [None], [1]),
        (Value(3), [3, "3"], [4, None]),
        (Values(("a", "b")), ["a"], ["c"]),
        (Prefix("148", 5), [14850, "14899"], ["1485", 24850]),
        (Prefix("01", 5), [1234], [12345]),
        (Interval(20, 30), [20, 29.5], [30, 19]),
        (Interval(None, 30, "both"), [30, -5], [31]),
        (
            Interval("2020-01-01", None),
            [datetime.date(2020, 1, 1)],
            [datetime.date(2019, 12, 31)],
        ),
        (Interval("2020-01-01", "2021-01-01"), [datetime.datetime(2020, 5, 1)], [datetime.datetime(2021, 1, 1)]),
    ],
)
def test_which_values_a_label_stands_for(meaning, inside, outside):
    assert all(covers(meaning, value, "column") for value in inside)
    assert not any(covers(meaning, value, "column") for value in outside)


def test_a_missing_value_may_also_be_one_that_nobody_told() -> None:
    meanings = [Missing(), Value("a"), Anything()]
    values = pl.Series(["a", None])
    assert cover(values, meanings, "c").matrix().tolist() == [[False, True, True], [True, False, True]]
    told = cover(values, meanings, "c", null_is_unknown=True)
    assert told.matrix().tolist() == [[False, True, True], [True, True, True]]
    assert told.is_single.tolist() == [False, False]


def test_two_spellings_of_one_number_fit_the_same_range_and_what_is_no_number_fits_none() -> None:
    meanings = [Interval(30, 40), Values((50, 51))]
    found = cover(pl.Series(["33", "33.0", "fifty", "50"]), meanings, "age")
    assert found.matrix().tolist() == [[True, False], [True, False], [False, False], [False, True]]
    assert found.lookup().tolist() == [0, 0, -1, 1]


def test_whole_numbers_beyond_the_floats_are_told_apart() -> None:
    edge = 2**53
    meanings = [Interval(edge, edge + 1), Value(str(edge + 1))]
    assert cover(pl.Series([edge, edge + 1]), meanings, "id").lookup().tolist() == [0, 1]


def test_a_label_of_another_kind_covers_nothing() -> None:
    meanings = [Value("n/a"), Values(("n/a", "7"))]
    assert cover(pl.Series([7, 8]), meanings, "c").matrix().tolist() == [[False, True], [False, False]]


@examples(60)
@given(
    values=st.lists(st.none() | st.integers(-5, 30), min_size=1, max_size=8, unique=True),
    bounds=st.lists(st.tuples(st.integers(-5, 30), st.integers(0, 9)), min_size=1, max_size=5),
    closed=st.sampled_from(["left", "right", "both", "neither"]),
)
def test_ranges_hold_what_lies_between_their_ends(
    values: list[int | None], bounds: list[tuple[int, int]], closed: str
) -> None:
    meanings = [Interval(low, low + width, closed) for low, width in bounds]
    found = cover(pl.Series(values, dtype=pl.Int64), meanings, "c").matrix()
    for row, value in zip(found, values, strict=True):
        for fits, (low, width) in zip(row, bounds, strict=True):
            inside = value is not None and (
                low < value < low + width
                or (value == low and width >= 0 and closed in ("left", "both") and (width > 0 or closed == "both"))
                or (value == low + width and closed in ("right", "both") and (width > 0 or closed == "both"))
            )
            assert bool(fits) == inside


def test_a_column_matches_the_same_values_once_and_every_other_question_anew() -> None:
    column = AdversaryColumn.of(pl.Series("age", ["3", "4"]), {"3": Value("3"), "4": Value("4")})
    values = pl.Series("age", ["4", None])
    first = column.cover(values)
    assert column.cover(pl.Series("age", ["4", None])) is first
    others = [(values, False), (pl.Series("age", ["3", None]), True), (pl.Series("age", [4, None]), True)]
    for asked, unknown in others:
        mine = column.cover(asked, null_is_unknown=unknown)
        again = cover(asked, column.meanings, "age", null_is_unknown=unknown)
        assert (mine.values.tolist(), mine.labels.tolist()) == (again.values.tolist(), again.labels.tolist())
