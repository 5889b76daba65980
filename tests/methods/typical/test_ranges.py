"""Grids: a typical value lies in its range, on a grid that the range alone gives."""

import datetime

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reticent.methods.typical import at_places, places_of
from reticent.methods.typical.ranges import LabelRanges, RangeGrids
from reticent.table import Anything, Interval, Values, ValueType
from reticent.table.meaning import Value
from tests.oracles.typical import grid_days, grid_places

WHOLE = st.integers(-(10**12), 10**12)
REAL = st.floats(-1e9, 1e9).map(lambda value: round(value, 3) + 0.0)
DAY = st.dates(datetime.date(1900, 1, 1), datetime.date(2030, 1, 1))


def nearest(kind: ValueType, low: object, high: object, value: object) -> object:
    series = pl.Series([low, high, value], dtype=kind.dtype)
    places = places_of(series, kind)
    found = RangeGrids(kind, places[:1], places[1:2]).nearest(places[2:])
    return at_places(found, np.zeros(1, dtype=bool), kind)[0]


@given(st.tuples(WHOLE, WHOLE, WHOLE))
def test_whole_numbers_go_to_the_next_multiple_of_the_step_in_their_range(three: tuple[int, int, int]) -> None:
    low, value, high = sorted(three)
    found = nearest(ValueType.INTEGER, low, high, value)
    places = [low] if low == high else grid_places(low, high)
    assert found in places
    assert abs(found - value) == min(abs(place - value) for place in places)  # type: ignore[operator]


TENTHS = st.integers(-200, 200).map(lambda value: value / 10)


@example((3.3, 3.3, 4.5))
@given(st.tuples(TENTHS, TENTHS, TENTHS))
def test_a_place_of_the_grid_is_one_number_however_it_is_reached(three: tuple[float, float, float]) -> None:
    """3.4 and not 3.4000000000000004, which came of adding a step to what was rounded out of its range."""
    low, value, high = sorted(three)
    found = nearest(ValueType.REAL, low, high, value)
    assert found == round(found, 2)  # type: ignore[call-overload]
    assert nearest(ValueType.REAL, low, high, found) == found


@given(st.tuples(REAL, REAL, REAL))
def test_numbers_with_fractions_stay_in_range_on_the_grid_and_there(three: tuple[float, float, float]) -> None:
    low, value, high = sorted(three)
    found = nearest(ValueType.REAL, low, high, value)
    assert low <= found <= high  # type: ignore[operator]
    assert nearest(ValueType.REAL, low, high, found) == found
    if high - low > 1e-3:
        places = [float(place) for place in grid_places(low, high)]
        assert min(abs(found - place) for place in places) <= 1e-6 * (high - low)  # type: ignore[operator]
        assert abs(found - value) <= min(abs(place - value) for place in places) + 1e-6 * (high - low)  # type: ignore[operator]


@given(st.tuples(DAY, DAY, DAY))
def test_dates_go_to_the_next_beginning_of_a_year_a_month_or_a_day(three: tuple[datetime.date, ...]) -> None:
    low, value, high = sorted(three)
    found = nearest(ValueType.DATE, low, high, value)
    places = grid_days(low, high)
    assert found in places
    assert abs(found - value) == min(abs(place - value) for place in places)  # type: ignore[operator]


def test_moments_go_to_hours_where_the_range_is_a_day() -> None:
    day = datetime.datetime(2020, 5, 17)
    found = nearest(
        ValueType.DATETIME, day, day + datetime.timedelta(hours=23), day + datetime.timedelta(hours=7, minutes=40)
    )
    assert found == day + datetime.timedelta(hours=8)


@pytest.mark.parametrize(
    ("low", "high"), [(0.1, 0.1), (1e300, 1.7e308), (-1.7e308, 1.7e308), (5e-324, 1e-323), (1e17, 1e17 + 64)]
)
def test_extreme_floats_stay_in_range(low: float, high: float) -> None:
    for value in (low, low / 2 + high / 2, high):
        found = nearest(ValueType.REAL, low, high, value)
        assert low <= found <= high  # type: ignore[operator]
        assert nearest(ValueType.REAL, low, high, found) == found


def test_whole_numbers_beyond_63_bits_are_rounded_like_others() -> None:
    top = 2**64 - 1
    found = nearest(ValueType.UNSIGNED, top - 1000, top, top - 500)
    assert top - 1000 <= found <= top  # type: ignore[operator]
    assert found % 200 == 0  # type: ignore[operator]


def test_a_label_is_a_range_only_where_it_has_two_ends() -> None:
    meanings = [Interval(1, 5, "both"), Interval(None, 5), Interval(5, None), Anything(), Values((1, 2)), Value(3)]
    found = LabelRanges(ValueType.INTEGER, meanings)
    assert found.ranged.tolist() == [True, False, False, False, False, False]
    assert found.bare.tolist() == [False, True, True, True, False, False]
    assert not LabelRanges(ValueType.TEXT, [Values(("a", "b")), Anything()]).bare.any()
