"""Bounds of numbers as a policy declares them, or to be placed by noisy counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import polars as pl

from reticent.base.exact import exact
from reticent.errors import DataError, PolicyError
from reticent.noise import Bounds

# Sums of 64 bits hold 2^28 numbers of at most 2^35 units; bounds that are placed may have a 256th of the width.
_MOST_WIDTHS, _MOST_WIDTHS_PLACED = 2**18, 2**10
_LEAST = Fraction(1, 10**15)


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
    if (
        max(abs(low), abs(high)) > (high - low) * (_MOST_WIDTHS_PLACED if noisy else _MOST_WIDTHS)
        or high - low < _LEAST
    ):
        raise PolicyError(
            f"bounds[{name!r}] from {ends[0]} to {ends[1]} are too close to each other for exact sums. Use wider bounds, or publish the column minus a constant, in a smaller unit.",
            setting=("bounds",),
        )
    bounds = Bounds(low, high)
    return NoisyBounds(bounds) if noisy else bounds


def check_numbers(frame: pl.DataFrame, names: Iterable[str]) -> None:
    """Raise :class:`DataError`, which only the steward sees, if a column with bounds holds anything but finite numbers and missing values."""
    for name in names:
        values = frame[name]
        if not values.dtype.is_numeric():
            raise DataError(f"Column {name!r} {_not_numbers(values)}", column=name)
        infinite = values.is_infinite().fill_null(False) if values.dtype.is_float() else None
        if infinite is not None and infinite.any():
            row = int(infinite.arg_max() or 0)
            raise DataError(
                f"Column {name!r}, row {row + 1}: the value is infinite. Replace it by a number if the true one is known to be large, or by a missing value (null) if it is unknown.",
                column=name,
            )


def _not_numbers(values: pl.Series) -> str:
    """What a column holds in place of numbers, and what to do about it."""
    if values.dtype != pl.String:
        return f"has type {values.dtype}, and bounds are for numbers. Convert the column to numbers, or group by it (by and domain)."
    texts = values.is_not_null() & values.str.strip_chars().cast(pl.Float64, strict=False).is_null()
    if not texts.any():
        return "holds numbers written as text, and bounds are for numbers. Convert the column to numbers."
    row = int(texts.arg_max() or 0)
    return (
        f"holds text, and bounds are for numbers: row {row + 1} has {values[row]!r}. Replace such values by missing ones (null) and convert the column to numbers; "
        "with nulls='category' the records are kept, and counted where the number is not needed."
    )
