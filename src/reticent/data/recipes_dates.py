"""Hierarchies of dates: days in ever coarser calendar units."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from reticent.data.hierarchy import BoundHierarchy, Hierarchy, Level
from reticent.data.levels import group, identity, optional, suppressed
from reticent.data.meaning import Interval
from reticent.errors import DataError, PolicyError

_DATE_UNITS = ("month", "quarter", "half", "year", "decade")


@dataclass(frozen=True)
class Dates(Hierarchy):
    """Days, coarser calendar units, and suppressed."""

    units: tuple[str, ...] = ("month", "quarter", "year")
    domain: tuple[Any, Any] | None = None
    timezone: str | None = None

    def __post_init__(self) -> None:
        for unit in self.units:
            if unit not in _DATE_UNITS:
                raise PolicyError(
                    f"dates: {unit!r} is not one of {', '.join(_DATE_UNITS)}.", setting=("levels",), value=unit
                )
        if list(self.units) != sorted(set(self.units), key=_DATE_UNITS.index) or not self.units:
            raise PolicyError(
                f"dates: levels must grow coarser ({', '.join(_DATE_UNITS)}), but they are {list(self.units)}."
            )
        if self.domain is not None:
            low, high = (_as_date(bound) for bound in self.domain)
            if low > high:
                raise PolicyError(
                    f"dates: domain must be a pair (first, last), but it is ({low}, {high}).", setting=("domain",)
                )
        if self.timezone is not None:
            _check_timezone(self.timezone)

    def bind(self, series: pl.Series, column: str) -> BoundHierarchy:
        leaves = self._leaves(series, column)
        days = self.days(leaves, column)
        levels = [identity(leaves)]
        if leaves.dtype != pl.Date:
            levels.append(self._unit_level(days, "day"))
        levels.extend(self._unit_level(days, unit) for unit in self.units)
        levels.append(suppressed(leaves))
        return BoundHierarchy(column, leaves, tuple(levels), data_dependent=self.domain is None)

    def days(self, series: pl.Series, column: str) -> pl.Series:
        """The calendar day of every value."""
        if series.dtype == pl.Date:
            return series
        if not isinstance(series.dtype, pl.Datetime):
            raise DataError(
                f"Column {column!r} has type {series.dtype}, not dates. Read it as dates, or choose another hierarchy."
            )
        if self.timezone is None:
            raise DataError(
                f"Column {column!r} holds timestamps: say in which timezone= a day begins, such as 'Europe/Paris'."
            )
        local = series if series.dtype.time_zone is None else series.dt.convert_time_zone(self.timezone)
        return local.dt.date()

    def _leaves(self, series: pl.Series, column: str) -> pl.Series:
        if self.domain is None:
            return series.drop_nulls().unique().sort()
        if series.dtype != pl.Date:
            raise DataError(
                f"Column {column!r} has type {series.dtype}; a declared domain of days needs a column of dates."
            )
        low, high = (_as_date(bound) for bound in self.domain)
        return pl.date_range(low, high, eager=True)

    @staticmethod
    def _unit_level(days: pl.Series, unit: str) -> Level:
        year, month = days.dt.year().to_numpy(), days.dt.month().to_numpy()
        months = {"month": 1, "quarter": 3, "half": 6, "year": 12, "decade": 120}.get(unit)
        if months is None:
            labels, parts = group(days.to_list())
            meanings = tuple(Interval(day, day + datetime.timedelta(days=1)) for day in labels)
            return Level(parts, tuple(day.isoformat() for day in labels), meanings)
        number = (year.astype(np.int64) * 12 + month - 1) // months
        present, numbers = np.unique(number, return_inverse=True)
        starts = [int(value) * months for value in present]
        meanings = tuple(Interval(_month_start(start), _month_start(start + months)) for start in starts)
        return Level(numbers.astype(np.int32), tuple(_unit_label(unit, start) for start in starts), meanings)

    def describe(self) -> dict[str, Any]:
        return {"kind": "dates", "levels": list(self.units), **optional(domain=self.domain, timezone=self.timezone)}


def _as_date(value: Any) -> datetime.date:
    if isinstance(value, datetime.date):
        return value
    try:
        return datetime.date.fromisoformat(str(value))
    except ValueError:
        raise PolicyError(
            f"dates: the domain bound {value!r} is not a day such as 2024-01-31.", setting=("domain",), value=value
        ) from None


def _month_start(months: int) -> datetime.date | None:
    """The first day of a month counted from year 0; None beyond the calendar, so that the interval is open there."""
    year, month = divmod(months, 12)
    return datetime.date(year, month + 1, 1) if datetime.MINYEAR <= year <= datetime.MAXYEAR else None


def _check_timezone(name: str) -> None:
    try:
        pl.select(pl.lit(datetime.datetime(2000, 1, 1)).dt.replace_time_zone("UTC").dt.convert_time_zone(name))
    except pl.exceptions.PolarsError:
        raise PolicyError(
            f"dates: there is no timezone {name!r}. Write it as 'Europe/Paris' or 'UTC'.",
            setting=("timezone",),
            value=name,
        ) from None


def _unit_label(unit: str, start: int) -> str:
    year, month = divmod(start, 12)
    return {
        "month": f"{year:04d}-{month + 1:02d}",
        "quarter": f"{year:04d}-Q{month // 3 + 1}",
        "half": f"{year:04d}-H{month // 6 + 1}",
        "year": f"{year:04d}",
        "decade": f"{year:04d}s",
    }[unit]
