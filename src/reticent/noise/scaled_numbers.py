"""Bounded numbers as integer multiples of a small unit, for sums with discrete noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.errors import DataError, PolicyError

_BITS = 16


@dataclass(frozen=True)
class Bounds:
    """Bounds to which values are clamped, and a unit to which they are rounded: ``high - low`` is between 2^16 and 2^17 units."""

    low: Fraction
    high: Fraction

    def __post_init__(self) -> None:
        if self.low >= self.high:
            raise PolicyError(
                f"bounds must be increasing, but they go from {float(self.low):g} to {float(self.high):g}."
            )

    @property
    def unit(self) -> Fraction:
        """The unit, a power of two."""
        return Fraction(2) ** (math.floor(math.log2(self.high - self.low)) - _BITS)

    @property
    def ends(self) -> tuple[int, int]:
        """The minimum and the maximum value, in units."""
        return math.floor(self.low / self.unit), math.ceil(self.high / self.unit)

    @property
    def middle(self) -> int:
        """The origin of sums for means and variances, in units."""
        low, high = self.ends
        return (low + high) // 2

    def scaled(self, values: pl.Series) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Every value in units, and which are known; unknown ones are 0."""
        if not values.dtype.is_numeric():
            raise DataError(
                f"Column {values.name!r} has type {values.dtype}, and bounds are for numbers.", column=values.name
            )
        numbers = values.cast(pl.Float64).fill_nan(None)
        known = numbers.is_not_null().to_numpy()
        clamped = numbers.fill_null(float(self.low)).clip(float(self.low), float(self.high)).to_numpy()
        low, high = self.ends
        units = np.clip(np.rint(clamped / float(self.unit)), low, high).astype(np.int64)
        return np.where(known, units, 0), known

    def as_json(self) -> list[str]:
        """The bounds as plain data."""
        return [str(self.low), str(self.high)]

    @classmethod
    def from_json(cls, written: list[str]) -> Bounds:
        """The bounds that :meth:`as_json` wrote."""
        low, high = written
        return cls(Fraction(low), Fraction(high))
