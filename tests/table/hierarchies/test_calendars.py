"""Hierarchies of dates and timestamps: weeks, weekdays and hours beside months, nested and with meanings that are counted."""

from __future__ import annotations

import datetime
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent as rt
from reticent.errors import DataError, PolicyError
from reticent.table import Hierarchy, LeafIndex, Meaning
from reticent.table.meaning import Recurring
from reticent.table.value_types import ValueType

DAYS = st.lists(st.dates(datetime.date(1900, 1, 1), datetime.date(2100, 12, 31)), min_size=1, max_size=30)
MOMENTS = st.lists(st.datetimes(datetime.datetime(1970, 1, 1), datetime.datetime(2100, 1, 1)), min_size=1, max_size=30)


def labels(hierarchy: Hierarchy, values: list[Any], level: int) -> list[str]:
    fitted = hierarchy.bind(pl.Series("x", values), "x")
    chosen = fitted.levels[level]
    return [chosen.labels[part] for part in chosen.parts[fitted.codes(pl.Series("x", values))]]


@given(DAYS)
def test_weeks_are_those_of_iso_8601(days: list[datetime.date]) -> None:
    expected = ["{}-W{:02d}".format(*day.isocalendar()) for day in days]
    assert labels(Hierarchy.dates(["week"]), days, 1) == expected


@given(DAYS)
def test_weekdays_are_named(days: list[datetime.date]) -> None:
    assert labels(Hierarchy.dates(["weekday"]), days, 1) == [f"{day:%A}" for day in days]


@given(MOMENTS)
def test_hours_and_hours_of_the_day_are_those_of_the_clock(moments: list[datetime.datetime]) -> None:
    hours = Hierarchy.dates(["hour", "hour_of_day"], timezone="UTC")
    assert labels(hours, moments, 1) == [f"{moment:%Y-%m-%d %H}h" for moment in moments]
    assert labels(hours, moments, 2) == [f"{moment.hour:02d}h" for moment in moments]


@given(
    MOMENTS,
    st.sampled_from([["hour"], ["week"], ["hour", "week"], ["weekday"], ["hour", "month", "year"], ["hour_of_day"]]),
)
def test_every_meaning_covers_exactly_the_leaves_of_its_part(
    moments: list[datetime.datetime], units: list[str]
) -> None:
    fitted = Hierarchy.dates(units, timezone="UTC").bind(pl.Series("x", moments).cast(pl.Datetime("us")), "x")
    index = LeafIndex.of(fitted.leaves, "x")
    for level in fitted.levels:
        for part, meaning in enumerate(level.meanings):
            assert sorted(index.under(meaning).tolist()) == [n for n, own in enumerate(level.parts) if own == part]


def test_a_zone_says_in_which_hour_a_moment_lies() -> None:
    late = datetime.datetime(2024, 7, 1, 23, 30, tzinfo=datetime.UTC)
    assert labels(Hierarchy.dates(["hour", "weekday"], timezone="Europe/Paris"), [late], 1) == ["2024-07-02 01h"]
    assert labels(Hierarchy.dates(["hour", "weekday"], timezone="Europe/Paris"), [late], 3) == ["Tuesday"]


def test_what_recurs_is_published_verified_and_counted_without_listing_moments() -> None:
    start = datetime.datetime(2024, 1, 1, 8, 15)
    rows = {
        "seen": [start + datetime.timedelta(days=i % 28, minutes=i) for i in range(280)],
        "ill": [("flu", "cold", "ulcer")[i % 3] for i in range(280)],
    }
    seen = Hierarchy.dates(["hour", "weekday"], timezone="UTC").limited(min_level=3, max_level=3)
    release = rt.publish(rt.Table(rows, quasi={"seen": seen}, sensitive="ill"), rt.KAnonymity(5), method=rt.Lattice())
    assert sorted(release.frame["seen"].unique()) == sorted(
        ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
    )
    manifest = str(release.manifest.as_json())
    assert "'weekday': 1" in manifest
    assert "2024-01" not in manifest
    found = release.count("seen >= '2024-01-01T00:00:00' and ill = 'flu'")
    low, high = found.bounds
    assert low <= sum(ill == "flu" for ill in rows["ill"]) <= high


@pytest.mark.parametrize(
    ("given_", "kind"),
    [({"weekday": 3}, ValueType.DATE), ({"hour_of_day": 0}, ValueType.DATETIME), ({"weekday": 7}, ValueType.DATE)],
)
def test_what_recurs_is_read_back(given_: dict[str, int], kind: ValueType) -> None:
    assert Meaning.read(given_, kind, "x").as_json() == given_
    assert isinstance(Meaning.read(given_, kind, "x"), Recurring)


@pytest.mark.parametrize(
    "wrong", [{"weekday": 0}, {"weekday": 8}, {"hour_of_day": 24}, {"weekday": True}, {"weekday": "1"}, {}]
)
def test_nonsense_does_not_recur(wrong: dict[str, Any]) -> None:
    with pytest.raises(DataError):
        Meaning.read(wrong, ValueType.DATE, "x")


@pytest.mark.parametrize(
    ("units", "message"),
    [
        (["week", "month"], "'week' and 'month' do not nest"),
        (["month", "weekday"], "'weekday' and 'month' do not nest"),
        (["day", "hour_of_day"], "'day' and 'hour_of_day' do not nest"),
        (["weekday", "hour_of_day"], "do not nest"),
        (["month", "week"], "levels must grow coarser"),
        (["fortnight"], "'fortnight' is not one of"),
        (["weeks"], "Did you mean 'week'"),
    ],
)
def test_units_that_do_not_nest_are_refused_by_name(units: list[str], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        Hierarchy.dates(units)


def test_hours_of_days_are_refused_with_the_column() -> None:
    with pytest.raises(
        DataError, match="Column 'x' holds days, so its hierarchy cannot have the level 'hour'"
    ) as caught:
        Hierarchy.dates(["hour"]).bind(pl.Series("x", [datetime.date(2024, 1, 1)]), "x")
    assert caught.value.column == "x"


def test_the_last_week_of_the_calendar_is_open() -> None:
    assert labels(Hierarchy.dates(["week"]), [datetime.date(9999, 12, 31)], 1) == ["9999-W52"]
