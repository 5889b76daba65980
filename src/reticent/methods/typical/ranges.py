"""Grids of typical values: one value in a column's own type represents the values of a label, on a grid determined by the label.

A range determines the grid of its typical value, so a reader of the manifest can check it, and the value discloses no
digit beyond the range's precision. Numbers are multiples of 1, 2 or 5 times a power of ten, dates and timestamps are
beginnings of years, months, days and so on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.table import Anything, Meaning, ValueType

Ids = NDArray[np.int64]
Mask = NDArray[np.bool_]

_LARGEST = 300
_ROUNDED_UP = 1 + 1e-12  # the difference of two decimals may be slightly less than the exact one
_EXACT_DIGITS = 22  # smaller powers of ten are exact floats
_DIGITS = np.repeat(np.arange(-_LARGEST, _LARGEST + 1), 3)
_STEPS = np.array([float(f"{digit}e{power}") for power in range(-_LARGEST, _LARGEST + 1) for digit in (1, 2, 5)])
_WHOLE_STEPS = np.array([digit * 10**power for power in range(18) for digit in (1, 2, 5)], dtype=np.int64)
_FIRST_DAY = 719_163
_DAY = 86_400_000_000
# Calendar units, each with its maximum length in microseconds.
_UNITS: tuple[tuple[str, int], ...] = (
    ("Y", 366 * _DAY),
    ("M", 31 * _DAY),
    ("D", _DAY),
    ("h", 3_600_000_000),
    ("m", 60_000_000),
    ("s", 1_000_000),
    ("us", 1),
)


@dataclass(frozen=True)
class RangeGrids:
    """The grids of many ranges of one type, with a step of at most a quarter of the range.

    ``low`` and ``high`` are positions on the line of the type, both included in the range. A range of one value has
    that value alone. Integral ends give an integral step.
    """

    kind: ValueType
    low: NDArray[Any]
    high: NDArray[Any]

    def nearest(self, places: NDArray[Any], others: NDArray[Any] | None = None) -> NDArray[Any]:
        """Return the grid point nearest to each of some positions of the ranges, or to the midpoint between these and
        ``others``; it is within the range.
        """
        others = places if others is None else others
        if self.kind.is_temporal:
            points = self._in_calendar(places + (others - places) // 2)
        elif self.kind is ValueType.REAL:
            # What overflows is outside its range, and is reset to the middle.
            with np.errstate(over="ignore", invalid="ignore"):
                points = self._in_steps(places / 2 + others / 2)
        else:
            points = self._in_whole_steps(places + others)
        return np.where(self.low == self.high, self.low, points)

    def _in_whole_steps(self, doubled: NDArray[Any]) -> NDArray[Any]:
        """Return the multiples of each range's step that are nearest to half of each ``doubled`` number; ties to even, so that sums are preserved."""
        quarter = np.minimum((self.high - self.low) // 4, _WHOLE_STEPS[-1]).astype(np.int64)
        step = _WHOLE_STEPS[np.maximum(np.searchsorted(_WHOLE_STEPS, quarter, side="right") - 1, 0)]
        multiple = doubled // (2 * step)
        remainder = doubled - multiple * 2 * step
        multiples = (multiple + ((remainder > step) | ((remainder == step) & (multiple % 2 == 1)))) * step
        multiples = np.where(multiples > self.high, multiples - step, multiples)
        return self._inside(np.where(multiples < self.low, multiples + step, multiples))

    def _in_steps(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """Return numbers rounded to a grid of 1, 2 or 5 times a power of ten, with about four steps in each range."""
        # Halve first, since the difference may overflow a float.
        quarter = (self.high / 4 - self.low / 4) * _ROUNDED_UP
        has_whole_ends = (np.floor(self.low) == self.low) & (np.floor(self.high) == self.high)
        step_index = np.maximum(np.searchsorted(_STEPS, quarter, side="right") - 1, 0)
        step_index = np.where(has_whole_ends, np.maximum(step_index, 3 * _LARGEST), step_index)
        # Counted in steps, so that every grid point is one number, however it is reached.
        count = np.rint(numbers / _STEPS[step_index])
        count = np.where(_multiples(count, step_index) > self.high, count - 1, count)
        count = np.where(_multiples(count, step_index) < self.low, count + 1, count)
        return self._inside(_multiples(count, step_index))

    def _in_calendar(self, positions_given: NDArray[Any]) -> NDArray[Any]:
        """Return dates or timestamps rounded down to the longest calendar unit that is at most a quarter of their range."""
        days = self.kind is ValueType.DATE
        low, high, moments = (_moments(positions, days) for positions in (self.low, self.high, positions_given))
        quarter = high // 4 - low // 4
        starts = moments.copy()
        is_decided = np.zeros(len(starts), dtype=bool)
        for unit, longest in _UNITS:
            has_unit = ~is_decided & (quarter >= longest)
            is_decided |= has_unit
            if has_unit.any():
                starts[has_unit] = _begun(moments[has_unit], low[has_unit], high[has_unit], unit)
        return starts // _DAY + _FIRST_DAY if days else starts

    def _inside(self, values: NDArray[Any]) -> NDArray[Any]:
        """Reset values outside their range, because a float is too coarse for the step, to the middle of it."""
        real = self.kind is ValueType.REAL
        middle = self.low / 2 + self.high / 2 if real else self.low + (self.high - self.low) // 2
        return np.where((values >= self.low) & (values <= self.high), values, middle)


def _multiples(count: NDArray[np.float64], step_index: Ids) -> NDArray[np.float64]:
    """Return the given multiples of each step size, as the nearest decimal number."""
    multiples: NDArray[np.float64] = count * _STEPS[step_index]
    for digits in np.unique(_DIGITS[step_index]).tolist():
        if abs(digits) < _EXACT_DIGITS:
            has_digits = _DIGITS[step_index] == digits
            multiples[has_digits] = np.round(multiples[has_digits], -digits)
    return multiples


def _moments(places: NDArray[Any], days: bool) -> Ids:
    return (places.astype(np.int64) - _FIRST_DAY) * _DAY if days else places.astype(np.int64)


def _begun(moments: Ids, low: Ids, high: Ids, unit: str) -> Ids:
    """Return the nearer beginning of a unit around each timestamp, within ``low`` and ``high``."""
    units = moments.astype("datetime64[us]").astype(f"datetime64[{unit}]")
    before, after = ((units + shift).astype("datetime64[us]").astype(np.int64) for shift in (0, 1))
    later = ((after - moments < moments - before) & (after <= high)) | (before < low)
    return np.where(later, after, before)


@dataclass(frozen=True)
class LabelRanges:
    """Labels of one column by their ranges: ``ranged`` masks the ranges, ``low`` and ``high`` are their ends.

    A label that is not a range lists its values, or is unrestricted. A range with an open end has no grid, and no
    typical value.
    """

    kind: ValueType
    meanings: Sequence[Meaning]

    @cached_property
    def _ends(self) -> tuple[Mask, NDArray[Any], NDArray[Any]]:
        """Return which labels are ranges, and the lowest and highest number of each."""
        ranged = np.zeros(len(self.meanings), dtype=bool)
        lows: list[Any] = [0] * len(self.meanings)
        highs: list[Any] = [0] * len(self.meanings)
        if self.kind not in (ValueType.TEXT, ValueType.BOOLEAN):
            for index, meaning in enumerate(self.meanings):
                segment = meaning.stretch(self.kind)
                if segment is None or segment.low is None or segment.high is None:
                    continue
                low = segment.low if segment.low_closed else np.nextafter(segment.low, np.inf)
                high = segment.high if segment.high_closed else np.nextafter(segment.high, -np.inf)
                ranged[index], lows[index], highs[index] = True, low, max(low, high)
        return ranged, _places(lows, self.kind), _places(highs, self.kind)

    @property
    def ranged(self) -> Mask:
        """Mask the labels that are ranges with two ends."""
        return self._ends[0]

    def grids(self, labels: Ids) -> RangeGrids:
        """Return the grids of some labels, each a range."""
        _, low, high = self._ends
        return RangeGrids(self.kind, low[labels], high[labels])

    @cached_property
    def bare(self) -> Mask:
        """Mask the labels that do not restrict a number: everything, or a range without an end."""
        line = self.kind not in (ValueType.TEXT, ValueType.BOOLEAN)
        unlisted = [isinstance(meaning, Anything) or meaning.listed(self.kind) is None for meaning in self.meanings]
        return np.array(unlisted, dtype=bool) & ~self.ranged & line


def _places(ends: Sequence[Any], kind: ValueType) -> NDArray[Any]:
    """Return the ends of ranges as an array: floats, or integers, which are Python objects if they may overflow."""
    if kind is ValueType.REAL:
        return np.array(ends, dtype=np.float64)
    needs_objects = any(end >= 2**61 for end in ends)
    return np.array([int(end) for end in ends], dtype=object if needs_objects else np.int64)


def places_of(values: pl.Series, kind: ValueType) -> NDArray[Any]:
    """Return values as positions on the line of their type; null is 0."""
    filled = kind.column(values)
    if kind is ValueType.REAL:
        return filled.fill_null(0.0).to_numpy()
    if kind is ValueType.DATE:
        return (filled.to_physical().cast(pl.Int64).fill_null(-_FIRST_DAY) + _FIRST_DAY).to_numpy()
    numbers = filled.to_physical().fill_null(0)
    needs_objects = numbers.dtype == pl.UInt64 and bool((numbers >= 2**61).any())
    return np.array(numbers.to_list(), dtype=object) if needs_objects else numbers.cast(pl.Int64).to_numpy()


def at_places(places: NDArray[Any], missing: Mask, kind: ValueType) -> pl.Series:
    """Return the values at positions on the line of a type, null where ``missing``."""
    if kind is ValueType.DATE:
        values = pl.Series(places.astype(np.int64) - _FIRST_DAY).cast(pl.Int32).cast(pl.Date)
    elif kind is ValueType.DATETIME:
        values = pl.Series(places.astype(np.int64)).cast(pl.Datetime("us"))
    elif places.dtype == object:
        values = kind.series(places.tolist())
    else:
        values = pl.Series(places).cast(kind.dtype)
    return pl.select(pl.when(pl.Series(~missing)).then(values).alias("typical")).to_series()
