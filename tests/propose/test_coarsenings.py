"""Proposed coarsenings leave hardly anybody alone, cost little, and are rules rather than data where they can be."""

from __future__ import annotations

import datetime
import random

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.propose.coarsenings import ALONE, coarsening_for, share_alone
from reticent.table import CalendarUnit, Digits, Microaggregation, Rounding


@given(values=st.lists(st.one_of(st.floats(-1e9, 1e9), st.none()), min_size=1, max_size=200))
def test_what_is_proposed_is_shared(values: list[float | None]) -> None:
    series = pl.Series("v", values, dtype=pl.Float64)
    found = coarsening_for(series)
    if found is not None:
        assert share_alone(found.fitted(series).of(series)) <= ALONE


def test_even_numbers_are_rounded_and_skewed_ones_keep_digits() -> None:
    chance = random.Random(3)
    even = coarsening_for(pl.Series([chance.random() * 1000 for _ in range(3000)]))
    assert isinstance(even, Rounding)
    skewed = coarsening_for(pl.Series([chance.lognormvariate(5, 3) for _ in range(3000)]))
    assert isinstance(skewed, Digits | Microaggregation)


def test_giants_do_not_make_everybody_else_alike() -> None:
    chance = random.Random(6)
    values = pl.Series([chance.gauss(500, 100) for _ in range(1000)] + [10.0**9] * 5)
    found = coarsening_for(values)
    assert found is not None
    assert found.of(values).n_unique() > 40


@pytest.mark.parametrize(("days", "unit"), [(200, "week"), (2000, "month"), (9000, "quarter"), (40000, "year")])
def test_days_become_the_finest_calendar_unit_that_is_shared(days: int, unit: str) -> None:
    chance = random.Random(5)
    values = pl.Series([datetime.date(1900, 1, 1) + datetime.timedelta(chance.randrange(days)) for _ in range(500)])
    assert coarsening_for(values) == CalendarUnit(unit)


def test_too_few_numbers_are_not_coarsened() -> None:
    assert coarsening_for(pl.Series([1.5, 2.5, 3.5])) is None
    assert coarsening_for(pl.Series(["a", "b"])) is None
