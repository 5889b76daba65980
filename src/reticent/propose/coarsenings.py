"""Proposed coarsenings: the cheapest one that leaves hardly any number or date unique to one row."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.table import CalendarUnit, Coarsening, Digits, Microaggregation, Rounding, Steps

ALONE = Fraction(1, 50)
"""The largest share of rows that may have a unique number or date. It is stricter than 1/20, above which a release counts as unsafe, because a release suppresses rows."""

_SHARED_BY = 5
_FACTORS = (1, 2, 5)
_DATA_DEPENDENT = 2.0
_HARDLY = 0.01
_Numeric = Rounding | Digits | Steps
_DATE_UNITS = ("week", "month", "quarter", "year", "decade")


def share_alone(values: pl.Series) -> Fraction:
    """Return the share of rows with a unique value; missing values are not unique."""
    filled = values.drop_nulls()
    return Fraction(int(filled.is_unique().sum()), len(values)) if len(values) else Fraction(0)


def coarsening_for(values: pl.Series) -> Coarsening | None:
    """Return the cheapest coarsening after which at most a share :data:`ALONE` of the rows has a unique value; None if
    there is none.

    Numbers: rounding to 1, 2 or 5 times a power of ten, significant digits, each with top and bottom coding if needed,
    or microaggregation. Among roundings with hardly any loss the coarsest is chosen. Data-independent rules are
    preferred unless microaggregation costs less than half.
    """
    if values.dtype in (pl.Date, pl.Datetime):
        units = (*(("hour", "day") if values.dtype != pl.Date else ()), *_DATE_UNITS)
        return next(
            (coarsening for coarsening in map(CalendarUnit, units) if share_alone(coarsening.of(values)) <= ALONE), None
        )
    if not values.dtype.is_numeric():
        return None
    numbers_or_null = values.cast(pl.Float64, strict=False).fill_nan(None)
    filled = numbers_or_null.drop_nulls().to_numpy()
    if len(filled) < 2 * _SHARED_BY or not np.isfinite(filled).all() or np.ptp(filled) == 0:
        return None
    numbers = _FilledNumbers(filled, len(values))
    roundings = list(_roundings(numbers))
    nearly_lossless = [coarsening for coarsening in roundings if numbers.cost(coarsening) <= _HARDLY]
    if nearly_lossless:
        return nearly_lossless[-1]
    costs: list[tuple[float, _Numeric]] = [
        (numbers.cost(coarsening), coarsening)
        for coarsening in (*roundings[:1], _digits(numbers))
        if coarsening is not None
    ]
    microaggregation = Microaggregation(_SHARED_BY)
    microaggregated = microaggregation.fitted(numbers_or_null)
    best = min([*costs, (_DATA_DEPENDENT * numbers.cost(microaggregated), microaggregated)], key=lambda pair: pair[0])[
        1
    ]
    if len(np.unique(best.of_numbers(filled))) < 2:
        return None
    return microaggregation if best is microaggregated else best


class _FilledNumbers:
    """The non-null numbers of a column, with the effect of coarsenings on them."""

    def __init__(self, filled: NDArray[np.float64], rows: int) -> None:
        self.filled, self.rows = filled, rows
        self._spread = float(np.abs(filled - np.median(filled)).mean())
        self._tied = _tied(filled)

    def alone(self, coarsening: _Numeric) -> Fraction:
        """Return the share of rows with a unique number."""
        _, times = np.unique(coarsening.of_numbers(self.filled), return_counts=True)
        return Fraction(int((times == 1).sum()), self.rows)

    def cost(self, coarsening: _Numeric) -> float:
        """Return the mean change relative to the mean distance from the median, or the increase of the probability that
        two rows share a value, whichever is larger.

        The second measure is robust against outliers, which hide the first.
        """
        coarse = coarsening.of_numbers(self.filled)
        return max(float(np.abs(coarse - self.filled).mean()) / self._spread, _tied(coarse) - self._tied)


def _tied(numbers: NDArray[np.float64]) -> float:
    """Return the probability that two rows have the same number."""
    _, times = np.unique(numbers, return_counts=True)
    return float((times.astype(np.float64) ** 2).sum()) / len(numbers) ** 2


def _roundings(numbers: _FilledNumbers) -> Iterator[Rounding]:
    """Yield roundings that leave at most a share ``ALONE`` of values unique, from fine to coarse.

    For each step without and with top coding, then with top and bottom coding: the first that suffices.
    """
    value_range = float(np.ptp(numbers.filled))
    power = int(np.floor(np.log10(value_range))) - 4
    if bool((numbers.filled == np.floor(numbers.filled)).all()):
        power = max(power, 0)
    low, high = _ends(numbers.filled)
    for exponent in range(power, power + 6):
        for factor in _FACTORS:
            step = Fraction(10) ** exponent * factor
            if step > Fraction(value_range):
                return
            ends = ((low // step) * step, -((-high) // step) * step)
            for bounds in ((None, None), (None, ends[1]), ends):
                if bounds[0] is not None and bounds[0] >= ends[1]:
                    continue
                rounding = Rounding(_plain(step), *(None if end is None else _plain(end) for end in bounds))
                if numbers.alone(rounding) <= ALONE:
                    yield rounding
                    break


def _digits(numbers: _FilledNumbers) -> Digits | None:
    """Return the largest sufficient number of significant digits."""
    _, high = _ends(numbers.filled)
    for digits in (3, 2, 1):
        top = Digits(digits).of(pl.Series([float(high)]))[0]
        for top_code in (None, int(top) if float(top).is_integer() else top):
            if top_code is not None and top_code <= numbers.filled.min():
                continue
            candidate = Digits(digits, top=top_code)
            if numbers.alone(candidate) <= ALONE:
                return candidate
    return None


def _ends(filled: NDArray[np.float64]) -> tuple[Fraction, Fraction]:
    """Return bounds for bottom and top coding, each with enough rows beyond it to share a value."""
    ordered = np.sort(filled)
    rank = max(_SHARED_BY, len(ordered) // 200)
    return Fraction(float(ordered[rank - 1])), Fraction(float(ordered[-rank]))


def _plain(number: Fraction) -> Any:
    return int(number) if number.denominator == 1 else float(number)
