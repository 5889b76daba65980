"""Hierarchies of numbers: intervals of fixed widths, and intervals between cut points. Both are exact at any size."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.data.hierarchy import BoundHierarchy, Hierarchy
from reticent.data.leaves import check_range, numeric_leaves
from reticent.data.levels import identity, level_by_number, optional, suppressed
from reticent.errors import PolicyError
from reticent.exact import exact


@dataclass(frozen=True)
class Intervals(Hierarchy):
    """Half-open intervals ``[origin + i * width, origin + (i + 1) * width)`` on each level, then suppressed."""

    widths: tuple[float | str, ...]
    origin: float | str = 0
    domain: tuple[Any, Any] | None = None

    def __post_init__(self) -> None:
        exact(self.origin, "origin")
        if not self.widths:
            raise PolicyError(
                "intervals: widths is empty. Give at least one width, or use suppression.", setting=("widths",)
            )
        exact_widths = [exact(width, "widths") for width in self.widths]
        for low, high in zip([None, *exact_widths], exact_widths, strict=False):
            if high <= 0:
                raise PolicyError(f"intervals: a width of {high} is not positive.", setting=("widths",), value=high)
            if low is not None and (high / low).denominator != 1:
                raise PolicyError(
                    f"intervals: width {high} is not a multiple of width {low}, so its intervals would cut through the finer ones. "
                    "Choose widths that divide each other, such as 5, 10, 20.",
                    setting=("widths",),
                    value=high,
                )
        check_range(self.domain)

    def bind(self, series: pl.Series, column: str) -> BoundHierarchy:
        leaves = numeric_leaves(series, self.domain, column)
        origin, whole = exact(self.origin, "origin"), leaves.dtype.is_integer()
        levels = [identity(leaves)]
        for given in self.widths:
            width = exact(given, "widths")
            numbers = _floor_divide(leaves, origin, width)
            levels.append(level_by_number(numbers, lambda i, w=width: (origin + i * w, origin + (i + 1) * w)))
        levels.append(suppressed(leaves))
        return BoundHierarchy(column, leaves, tuple(levels), data_dependent=self.domain is None or not whole)

    def describe(self) -> dict[str, Any]:
        return {
            "kind": "intervals",
            "widths": list(self.widths),
            "origin": self.origin,
            **optional(domain=self.domain),
        }


@dataclass(frozen=True)
class Cuts(Hierarchy):
    """Intervals between explicit cut points; the outermost ones are open-ended."""

    points: tuple[tuple[float | str, ...], ...]
    domain: tuple[Any, Any] | None = None

    def __post_init__(self) -> None:
        if not self.points:
            raise PolicyError("cuts: no level given. Give at least one list of cut points.", setting=("levels",))
        finer: set[Fraction] | None = None
        for number, level in enumerate(self.points, start=1):
            cuts = [exact(point, "cuts") for point in level]
            if cuts != sorted(set(cuts)) or not cuts:
                raise PolicyError(
                    f"cuts, level {number}: the points {list(level)} must be rising and at least one.",
                    setting=("levels",),
                )
            if finer is not None and not set(cuts) <= finer:
                extra = sorted(set(cuts) - finer)[0]
                raise PolicyError(
                    f"cuts, level {number}: point {extra} is not among those of level {number - 1}, so the levels do not nest."
                )
            finer = set(cuts)
        check_range(self.domain)

    def bind(self, series: pl.Series, column: str) -> BoundHierarchy:
        leaves = numeric_leaves(series, self.domain, column)
        whole = leaves.dtype.is_integer()
        levels = [identity(leaves)]
        for given in self.points:
            cuts = [exact(point, "cuts") for point in given]
            edges: list[Fraction | None] = [None, *cuts, None]
            numbers = _count_below(leaves, cuts)
            levels.append(level_by_number(numbers, lambda i, e=edges: (e[i], e[i + 1])))
        levels.append(suppressed(leaves))
        return BoundHierarchy(column, leaves, tuple(levels), data_dependent=self.domain is None or not whole)

    def describe(self) -> dict[str, Any]:
        return {"kind": "cuts", "levels": [list(level) for level in self.points], **optional(domain=self.domain)}


def _floor_divide(leaves: pl.Series, origin: Fraction, width: Fraction) -> NDArray[Any]:
    """``floor((leaf - origin) / width)``, exactly: in 64-bit integers where these suffice, otherwise in Python's."""
    if leaves.dtype.is_integer() and len(leaves):
        scale = origin.denominator * width.denominator
        shift, step = int(origin * scale), int(width * scale)
        ends = [int(end) * scale - shift for end in (leaves[0], leaves[-1])]
        reach = max(
            abs(number) for number in (*ends, *(int(end) * scale for end in (leaves[0], leaves[-1])), shift, step)
        )
        if reach < 2**63:
            quotient: NDArray[np.int64] = np.floor_divide(leaves.cast(pl.Int64).to_numpy() * scale - shift, step)
            return quotient
    return _integers([(exact(value, "value") - origin) // width for value in leaves.to_list()])


def _count_below(leaves: pl.Series, cuts: Sequence[Fraction]) -> NDArray[Any]:
    """How many of the rising ``cuts`` are at or below each leaf, exactly."""
    if leaves.dtype.is_integer():
        # A whole number reaches a cut when it reaches the next whole number.
        rising = [-((-cut) // 1) for cut in cuts]
        if all(-(2**63) <= cut < 2**63 for cut in rising) and leaves.dtype not in (pl.UInt64, pl.Int128):
            return np.searchsorted(np.array(rising, dtype=np.int64), leaves.cast(pl.Int64).to_numpy(), side="right")
    return _integers([bisect.bisect_right(cuts, exact(value, "value")) for value in leaves.to_list()])


def _integers(numbers: Sequence[int]) -> NDArray[Any]:
    """Whole numbers as an array of 64-bit integers, or of Python's where one does not fit."""
    fits = all(-(2**63) <= number < 2**63 for number in numbers)
    return np.array(numbers, dtype=np.int64 if fits else object)
