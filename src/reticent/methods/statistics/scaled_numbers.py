"""Bounded numbers as integer multiples of a small unit, for sums with discrete noise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.exact import exact
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


@dataclass(frozen=True)
class NoisyBounds:
    """Bounds to be placed by noisy counts between public ones."""

    outer: Bounds


def declared_bounds(name: str, entry: Any) -> Bounds | NoisyBounds:
    """The bounds that a policy declares for a numeric column: ``[0, 200000]``, or ``{"low": 0, "high": 10000000, "chosen": "noisy"}``."""
    ends = entry
    noisy = isinstance(entry, Mapping)
    if isinstance(entry, Mapping):
        if set(entry) != {"low", "high", "chosen"} or entry["chosen"] != "noisy":
            raise PolicyError(
                f"bounds[{name!r}] must be [low, high] or {{'low': .., 'high': .., 'chosen': 'noisy'}}, but it is {dict(entry)!r}.",
                setting=("bounds",),
            )
        ends = [entry["low"], entry["high"]]
    if isinstance(ends, str) or not isinstance(ends, list | tuple) or len(ends) != 2:
        raise PolicyError(f"bounds[{name!r}] must be [low, high], but it is {entry!r}.", setting=("bounds",))
    low, high = (exact(end, f"bounds[{name!r}]", low=-(10**15), high=10**15) for end in ends)
    if low >= high:
        raise PolicyError(
            f"bounds[{name!r}] must be increasing, but they go from {ends[0]} to {ends[1]}.", setting=("bounds",)
        )
    found = Bounds(low, high)
    return NoisyBounds(found) if noisy else found
