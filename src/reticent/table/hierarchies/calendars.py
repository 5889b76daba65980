"""Hierarchies of dates and timestamps: hours, days, weeks, months and longer units, or recurring weekdays and hours."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from reticent.base.encoding import occurring
from reticent.errors import DataError, PolicyError, did_you_mean
from reticent.table.hierarchies.hierarchy import BoundHierarchy, Hierarchy, Level
from reticent.table.hierarchies.levels import group, identity, optional, suppressed
from reticent.table.meaning import RECURRING, Interval, Recurring

_WITHIN_DAYS = ("hour", "day")
_MONTHS = {"month": 1, "quarter": 3, "half": 6, "year": 12, "decade": 120}
_UNITS = (*_WITHIN_DAYS, "week", *_MONTHS, *RECURRING)
_OF_TIMESTAMPS = ("hour", "day", "hour_of_day")


@dataclass(frozen=True)
class Dates(Hierarchy):
    """Days, coarser calendar units, and suppressed. Timestamps start with the timestamp itself, and with hours if these
    are named.

    Weeks cross the ends of months, and recurring units (``weekday``, ``hour_of_day``) do not determine the date, so
    neither nests with months and longer units.
    """

    units: tuple[str, ...] = ("month", "quarter", "year")
    domain: tuple[Any, Any] | None = None
    timezone: str | None = None

    def __post_init__(self) -> None:
        """Check that the units are known and nest, and check the domain and the time zone."""
        for unit in self.units:
            if unit not in _UNITS:
                raise PolicyError(
                    f"dates: {unit!r} is not one of {', '.join(_UNITS)}.{did_you_mean(unit, _UNITS)}",
                    setting=("levels",),
                    value=unit,
                )
        if list(self.units) != sorted(set(self.units), key=_UNITS.index) or not self.units:
            raise PolicyError(
                f"dates: levels must grow coarser ({', '.join(_UNITS)}), but they are {list(self.units)}."
            )
        self._check_nesting()
        if self.domain is not None:
            low, high = (_as_date(bound) for bound in self.domain)
            if low > high:
                raise PolicyError(
                    f"dates: domain must be a pair (first, last), but it is ({low}, {high}).", setting=("domain",)
                )
        if self.timezone is not None:
            _check_timezone(self.timezone)

    def _check_nesting(self) -> None:
        """Raise if two units do not nest, such as weeks and months."""
        coarse = [unit for unit in self.units if unit not in _WITHIN_DAYS]
        outside_months = [unit for unit in coarse if unit not in _MONTHS]
        if outside_months and len(coarse) > 1:
            other = next(unit for unit in coarse if unit != outside_months[0])
            raise PolicyError(
                f"dates: {outside_months[0]!r} and {other!r} do not nest: one {outside_months[0]} can belong to more than one {other}. Choose one of them.",
                setting=("levels",),
                value=outside_months[0],
            )
        if "hour_of_day" in coarse and "day" in self.units:
            raise PolicyError(
                "dates: 'day' and 'hour_of_day' do not nest. Choose one of them.", setting=("levels",), value="day"
            )

    def bind(self, series: pl.Series, column: str) -> BoundHierarchy:
        """Return the hierarchy for a column of dates or timestamps: at every level a calendar unit."""
        leaves = self._leaves(series, column)
        local = self.local(leaves, column)
        levels = [identity(leaves)]
        levels.extend(_unit_level(local, unit) for unit in self._levels(leaves.dtype, column))
        levels.append(suppressed(leaves))
        return BoundHierarchy(column, leaves, tuple(levels), data_dependent=self.domain is None)

    def _levels(self, dtype: pl.DataType, column: str) -> list[str]:
        """The units above the value itself; for timestamps these include days, unless only the hour of the day is used."""
        if dtype == pl.Date:
            wrong = [unit for unit in self.units if unit in _OF_TIMESTAMPS]
            if wrong:
                raise DataError(
                    f"Column {column!r} holds days, so its hierarchy cannot have the level {wrong[0]!r}; that is for timestamps.",
                    setting=("levels",),
                    column=column,
                    value=wrong[0],
                )
            return list(self.units)
        daily = () if "hour_of_day" in self.units else ("day",)
        return sorted({*self.units, *daily}, key=_UNITS.index)

    def local(self, series: pl.Series, column: str) -> pl.Series:
        """Every value as a day, or as a timestamp in local time."""
        if series.dtype == pl.Date:
            return series
        if not isinstance(series.dtype, pl.Datetime):
            raise DataError(
                f"Column {column!r} has type {series.dtype}, not dates. Read it as dates, or choose another hierarchy."
            )
        if self.timezone is None:
            raise DataError(
                f"Column {column!r} holds timestamps: pass timezone= (such as 'Europe/Paris') to define where a day begins."
            )
        if series.dtype.time_zone is None:
            return series
        return series.dt.convert_time_zone(self.timezone).dt.replace_time_zone(None)

    def _leaves(self, series: pl.Series, column: str) -> pl.Series:
        """Return the days of the declared domain, or the dates that occur."""
        if self.domain is None:
            return occurring(series)
        if series.dtype != pl.Date:
            raise DataError(
                f"Column {column!r} has type {series.dtype}; a declared domain of days needs a column of dates."
            )
        low, high = (_as_date(bound) for bound in self.domain)
        return pl.date_range(low, high, eager=True)

    def describe(self) -> dict[str, Any]:
        return {"kind": "dates", "levels": list(self.units), **optional(domain=self.domain, timezone=self.timezone)}


def _unit_level(local: pl.Series, unit: str) -> Level:
    """Return the level of a calendar unit: the part of each date, with the labels and meanings of the parts."""
    if unit in RECURRING:
        recurring, parts = group(RECURRING[unit](local).to_list())
        meanings = tuple(Recurring(unit, number) for number in recurring)
        return Level(parts, tuple(meaning.text for meaning in meanings), meanings)
    if unit == "hour":
        starts, parts = group(local.dt.truncate("1h").to_list())
        hours = tuple(Interval(start, start + datetime.timedelta(hours=1)) for start in starts)
        return Level(parts, tuple(f"{start:%Y-%m-%d %H}h" for start in starts), hours)
    days = local if local.dtype == pl.Date else local.dt.date()
    if unit in ("day", "week"):
        length = 1 if unit == "day" else 7
        starts, parts = group((days if unit == "day" else days.dt.truncate("1w")).to_list())
        spans = tuple(Interval(start, _later(start, length)) for start in starts)
        labels = (start.isoformat() if unit == "day" else "{}-W{:02d}".format(*start.isocalendar()) for start in starts)
        return Level(parts, tuple(labels), spans)
    months = _MONTHS[unit]
    year, month = days.dt.year().to_numpy(), days.dt.month().to_numpy()
    number = (year.astype(np.int64) * 12 + month - 1) // months
    present, numbers = np.unique(number, return_inverse=True)
    firsts = [int(value) * months for value in present]
    stretches = tuple(Interval(_month_start(first), _month_start(first + months)) for first in firsts)
    return Level(numbers.astype(np.int32), tuple(_month_label(unit, first) for first in firsts), stretches)


def _later(day: datetime.date, days: int) -> datetime.date | None:
    """The date ``days`` later; None beyond the calendar."""
    try:
        return day + datetime.timedelta(days=days)
    except OverflowError:
        return None


def _as_date(value: Any) -> datetime.date:
    """Return a bound of the domain as a date. Raises if it is not one."""
    if isinstance(value, datetime.date):
        return value
    try:
        return datetime.date.fromisoformat(str(value))
    except ValueError:
        raise PolicyError(
            f"dates: the domain bound {value!r} is not a day such as 2024-01-31.", setting=("domain",), value=value
        ) from None


def _month_start(months: int) -> datetime.date | None:
    """The first day of a month counted from year 0; None beyond the calendar, so the interval is open there."""
    year, month = divmod(months, 12)
    return datetime.date(year, month + 1, 1) if datetime.MINYEAR <= year <= datetime.MAXYEAR else None


def _check_timezone(name: str) -> None:
    """Raise if there is no such timezone."""
    try:
        pl.select(pl.lit(datetime.datetime(2000, 1, 1)).dt.replace_time_zone("UTC").dt.convert_time_zone(name))
    except pl.exceptions.PolarsError:
        raise PolicyError(
            f"dates: there is no timezone {name!r}. Write it as 'Europe/Paris' or 'UTC'.",
            setting=("timezone",),
            value=name,
        ) from None


def _month_label(unit: str, start: int) -> str:
    """Return the label of a month, quarter, half, year or decade by its first month, counted from year 0."""
    year, month = divmod(start, 12)
    return {
        "month": f"{year:04d}-{month + 1:02d}",
        "quarter": f"{year:04d}-Q{month // 3 + 1}",
        "half": f"{year:04d}-H{month // 6 + 1}",
        "year": f"{year:04d}",
        "decade": f"{year:04d}s",
    }[unit]
