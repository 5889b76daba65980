"""Ends of ranges are readable, and ranges hold the same values."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent as rt
from reticent.methods.grouping.short_ends import short_end


@pytest.mark.parametrize(
    ("values", "place", "lower", "upper"),
    [
        ([23.32602739726027, 45.79452054794521, 61.4], 1, 45.0, 46.0),
        ([45.7, 45.79452054794521, 45.9], 1, 45.79, 45.8),
        ([0.1234, 0.1235], 0, 0.0, 0.1234),
        ([1.25, 2.125], 0, None, None),
        ([-0.00012], 0, -1.0, 0.0),
        ([3, 4], 0, None, None),
    ],
)
def test_an_end_has_the_fewest_digits_on_its_side_of_the_middle(
    values: list[float], place: int, lower: float | None, upper: float | None
) -> None:
    found = short_end(values, place, upper=False), short_end(values, place, upper=True)
    assert (found[0], found[1]) == (lower, upper if upper != values[place] else None)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=12, unique=True).map(sorted))
def test_ranges_between_short_ends_hold_the_same_values(values: list[float]) -> None:
    lows = [short_end(values, place, upper=False) for place in range(len(values))]
    highs = [short_end(values, place, upper=True) for place in range(len(values))]
    for place, value in enumerate(values):
        low = value if lows[place] is None else lows[place]
        high = value if highs[place] is None else highs[place]
        assert low <= value <= high
        assert place == 0 or low > values[place - 1]
        assert place + 1 == len(values) or high < values[place + 1]
        if place:
            before = values[place - 1] if highs[place - 1] is None else highs[place - 1]
            assert before < low


def test_ages_in_a_release_are_readable_and_verified(tmp_path: Path) -> None:
    ages = [20 + n * 365 % 9973 / 365.25 for n in range(200)]
    table = rt.Table(pl.DataFrame({"age": ages, "ill": ["a", "b", "c", "d"] * 50}), quasi=["age"], sensitive="ill")
    release = rt.publish(table, rt.KAnonymity(5), rt.Mondrian(values="ranges"))
    labels = release.frame["age"].unique().to_list()
    assert max(map(len, labels)) <= len("[20.12, 20.45]")
    shown = [tuple(map(float, label.strip("[]").split(", "))) for label in labels]
    assert all(sum(low <= age <= high for low, high in shown) == 1 for age in ages)
    folder = release.save(tmp_path / "release")
    assert rt.verify(folder).ok
