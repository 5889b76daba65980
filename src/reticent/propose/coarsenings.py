"""Proposed coarsenings: the cheapest that leaves hardly anybody alone with an exact number or date."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.table import CalendarUnit, Coarsening, Digits, Microaggregation, Rounding

ALONE = Fraction(1, 50)
"""The largest share of rows that may have a number or date of their own; a release is called unsafe above 1/20, and loses rows on the way."""

_SHARED_BY = 5
_FACTORS = (1, 2, 5)
_DATA_DEPENDENT = 2.0
_HARDLY = 0.01
_DATE_UNITS = ("week", "month", "quarter", "year", "decade")


def share_alone(values: pl.Series) -> Fraction:
    """The share of rows with a value that no other row has; a missing value is nobody's own."""
    filled = values.drop_nulls()
    return Fraction(int(filled.is_unique().sum()), len(values)) if len(values) else Fraction(0)


def coarsening_for(values: pl.Series) -> Coarsening | None:
    """The cheapest coarsening after which at most :data:`ALONE` of the rows have a value of their own; None if there is none.

    Numbers: rounding to 1, 2 or 5 times a power of ten, significant digits, each with coded ends if that is needed, or microaggregation. Where rounding
    costs hardly anything, the coarsest such is taken. Rules that do not come from the data win unless microaggregation costs less than half.
    """
    if values.dtype in (pl.Date, pl.Datetime):
        units = (*(("hour", "day") if values.dtype != pl.Date else ()), *_DATE_UNITS)
        return next((each for each in map(CalendarUnit, units) if share_alone(each.of(values)) <= ALONE), None)
    if not values.dtype.is_numeric():
        return None
    plain = values.cast(pl.Float64, strict=False).fill_nan(None)
    filled = plain.drop_nulls().to_numpy()
    if len(filled) < 2 * _SHARED_BY or not np.isfinite(filled).all() or np.ptp(filled) == 0:
        return None
    cheap = [each for each in _roundings(plain, filled) if _cost(plain, each) <= _HARDLY]
    if cheap:
        return cheap[-1]
    priced = [
        (_cost(plain, each), each)
        for each in (next(_roundings(plain, filled), None), _digits(plain, filled))
        if each is not None
    ]
    together = Microaggregation(_SHARED_BY)
    price = _cost(plain, together)
    best = min([*priced, (_DATA_DEPENDENT * price, together)], key=lambda pair: pair[0])[1]
    return best if best.of(plain).n_unique() > 1 else None


def _roundings(values: pl.Series, filled: NDArray[np.float64]) -> Iterator[Coarsening]:
    """Roundings that do, from fine to coarse."""
    spread = float(np.ptp(filled))
    power = int(np.floor(np.log10(spread))) - 4
    if bool((filled == np.floor(filled)).all()):
        power = max(power, 0)
    low, high = _ends(filled)
    for exponent in range(power, power + 6):
        for factor in _FACTORS:
            step = Fraction(10) ** exponent * factor
            if step > Fraction(spread):
                return
            ends = ((low // step) * step, -((-high) // step) * step)
            for coded in ((None, None), (None, ends[1]), ends):
                if coded[0] is not None and coded[0] >= ends[1]:
                    continue
                found = Rounding(_plain(step), *(None if end is None else _plain(end) for end in coded))
                if share_alone(found.of(values)) <= ALONE:
                    yield found
                    break


def _digits(values: pl.Series, filled: NDArray[np.float64]) -> Coarsening | None:
    """The most significant digits that do."""
    _, high = _ends(filled)
    for digits in (3, 2, 1):
        top = Digits(digits).of(pl.Series([float(high)]))[0]
        for coded in (None, int(top) if float(top).is_integer() else top):
            if coded is not None and coded <= filled.min():
                continue
            found = Digits(digits, top=coded)
            if share_alone(found.of(values)) <= ALONE:
                return found
    return None


def _ends(filled: NDArray[np.float64]) -> tuple[Fraction, Fraction]:
    """Below and above which a few rows lie: enough to share a value."""
    ordered = np.sort(filled)
    rank = max(_SHARED_BY, len(ordered) // 200)
    return Fraction(float(ordered[rank - 1])), Fraction(float(ordered[-rank]))


def _cost(values: pl.Series, coarsening: Coarsening) -> float:
    """The mean change as a share of the mean distance from the median, or how much likelier two rows share their value, whichever is more.

    A few giants hide the first, and leave the second as it is.
    """
    shown = coarsening.of(values)
    changed, spread = (shown - values).abs().mean(), (values - values.median()).abs().mean()
    return max(float(changed) / float(spread), _tied(shown) - _tied(values))  # type: ignore[arg-type]  # both are means of numbers


def _tied(values: pl.Series) -> float:
    """The chance that two rows have the same value."""
    times = values.drop_nulls().value_counts(name="times")["times"].cast(pl.Float64)
    return float((times**2).sum()) / float(times.sum()) ** 2


def _plain(number: Fraction) -> Any:
    return int(number) if number.denominator == 1 else float(number)
