"""Labels of clusters in one column: ranges on a public grid, nodes of the hierarchy, or rounded means, medians and modes; and centres."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import polars as pl

from reticent.base.exact import Number, exact
from reticent.base.packing import Codes
from reticent.core import RegionColumn, round_up, width_of
from reticent.errors import PolicyError
from reticent.methods.clusters.radii import Floats, Ids
from reticent.methods.clusters.units import modes
from reticent.methods.grouping import column_cells
from reticent.table import (
    NULL_LABEL,
    SUPPRESSED,
    Anything,
    BoundHierarchy,
    Hierarchy,
    Interval,
    Meaning,
    Missing,
    Value,
    ValueType,
    unused,
)

Statistic = Literal["mean", "median", "mode"]
ShownCategories = Literal["sets", "hierarchy"]
_STEPS = 20


@dataclass(frozen=True)
class NumberGrid:
    """The multiples of ``step`` that numbers or dates of a column are rounded to, and the type of its values."""

    column: str
    step: Fraction
    kind: ValueType

    @classmethod
    def of(cls, hierarchy: BoundHierarchy, step: Number | None) -> NumberGrid:
        """Return the grid of a column, with an optional given step; integral for integers and dates.

        The default is about a twentieth of the width of the column's values, rounded up to 1, 2 or 5 times a power of
        ten: it discloses only the order of magnitude of the width.
        """
        kind = ValueType.published(hierarchy.leaves.dtype)
        is_whole = kind is not ValueType.REAL
        if step is not None:
            chosen = exact(step, f"grid: {hierarchy.column}", above=0)
            if is_whole and chosen.denominator != 1:
                raise PolicyError(
                    f"grid: the step of column {hierarchy.column!r}, which has whole numbers or dates, must be whole, but it is {step}.",
                    setting=("grid",),
                    value=step,
                )
            return cls(hierarchy.column, chosen, kind)
        width = width_of(hierarchy.column, hierarchy.numbers())
        found = exact(repr(round_up(round_up(width) / _STEPS)), "grid")
        return cls(hierarchy.column, max(Fraction(1), found) if is_whole else found, kind)

    def value(self, at: Fraction) -> Any:
        """Convert a position on the line to a value of the column."""
        if self.kind is ValueType.DATE:
            return datetime.date(1970, 1, 1) + datetime.timedelta(days=int(at))
        return int(at) if self.kind is not ValueType.REAL else float(at)

    def place(self, value: Any) -> Fraction:
        """Convert a value of the column to its exact position on the line."""
        if isinstance(value, datetime.date):
            return Fraction((value - datetime.date(1970, 1, 1)).days)
        return exact(repr(value) if isinstance(value, float) else value, self.column)

    def below(self, value: Any) -> Fraction:
        """Return the largest multiple of the step that is not above a value."""
        return math.floor(self.place(value) / self.step) * self.step

    def above(self, value: Any) -> Fraction:
        """Return the smallest multiple of the step that is not below a value."""
        return math.ceil(self.place(value) / self.step) * self.step

    def nearest(self, numbers: Floats) -> Floats:
        """Return the nearest multiples of the step."""
        up, down = self.step.numerator, self.step.denominator
        found: Floats = np.rint(numbers * down / up) * up / down
        return found


def is_line(hierarchy: BoundHierarchy, categories: Sequence[str]) -> bool:
    """True if the column is published as ranges, not as nodes of its hierarchy."""
    dtype = hierarchy.leaves.dtype
    return (dtype.is_numeric() or dtype == pl.Date) and hierarchy.column not in categories


def range_column(
    hierarchy: BoundHierarchy, recipe: Hierarchy, grid: NumberGrid, leaves: Codes, group: Ids, count: int
) -> RegionColumn:
    """Return every cluster as the range of its numbers, rounded outward; unrestricted if some are missing."""
    order = np.argsort(hierarchy.numbers(), kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    missing = np.zeros(count, dtype=np.int64)
    low, high = np.full(count, len(order)), np.full(count, -1)
    inside = group >= 0
    mine, at = group[inside], leaves[inside]
    gone = hierarchy.leaves.is_null().to_numpy()[at]
    np.add.at(missing, mine[gone], 1)
    np.minimum.at(low, mine[~gone], rank[at[~gone]])
    np.maximum.at(high, mine[~gone], rank[at[~gone]])
    # A label is the pair of its ends on the grid; -1 if unbounded.
    values = hierarchy.leaves.gather(order).to_list()
    used = np.unique(np.concatenate([low[high >= 0], high[high >= 0]]))
    below, above = ({at: end(values[at]) for at in used.tolist()} for end in (grid.below, grid.above))
    ends = [
        None if top < 0 else (below[bottom], above[top])
        for bottom, top in zip(low.tolist(), high.tolist(), strict=True)
    ]
    cells: dict[Meaning, int] = {}
    of_group = [
        cells.setdefault(_range_meaning(grid, each, bool(some)), len(cells))
        for each, some in zip(ends, missing.tolist(), strict=True)
    ]
    labels = _labels(list(cells), grid.kind)
    shown = pl.Series(hierarchy.column, labels, dtype=pl.String)
    return RegionColumn(
        hierarchy.column, recipe, hierarchy.leaves, shown, tuple(cells), np.array(of_group, dtype=np.int64)
    )


def _range_meaning(grid: NumberGrid, ends: tuple[Fraction, Fraction] | None, missing: bool) -> Meaning:
    if ends is None:
        return Missing()
    if missing:
        return Anything()
    low, high = (grid.value(end) for end in ends)
    return Value(low) if low == high else Interval(low, high, "both")


def category_column(
    hierarchy: BoundHierarchy, recipe: Hierarchy, leaves: Codes, group: Ids, count: int, values: ShownCategories
) -> RegionColumn:
    """Return every cluster as the set of its values, or as the lowest node of the hierarchy that covers them; unrestricted if there is none."""
    inside = group >= 0
    style: Literal["ranges", "hierarchy"] = "ranges" if values == "sets" else "hierarchy"
    return column_cells(hierarchy, leaves[inside], group[inside], count, style).as_column(hierarchy, recipe)


def statistic_column(ranges: RegionColumn, grid: NumberGrid, numbers: Floats) -> RegionColumn:
    """Return every cluster as one number (``numbers``, NaN if all are missing); a number means the union of the ranges of
    all clusters that show it.
    """
    shown = [None if math.isnan(each) else grid.value(exact(repr(each), grid.column)) for each in numbers.tolist()]
    hulls: dict[Any, list[Meaning]] = {}
    for value, cell in zip(shown, ranges.of_group.tolist(), strict=True):
        hulls.setdefault(value, []).append(ranges.meanings[cell])
    values = sorted(hulls, key=lambda value: (value is None, value if value is not None else 0))
    place = {value: at for at, value in enumerate(values)}
    return RegionColumn(
        ranges.name,
        ranges.hierarchy,
        ranges.leaves,
        pl.Series(ranges.name, values, dtype=grid.kind.dtype),
        tuple(_hull(hulls[value]) for value in values),
        np.array([place[value] for value in shown], dtype=np.int64),
    )


def _hull(meanings: Sequence[Meaning]) -> Meaning:
    """Return the smallest range that covers several."""
    if any(isinstance(each, Anything) for each in meanings):
        return Anything()
    ends = [end for each in meanings for end in each.written()]
    if not ends:
        return Missing()
    if any(isinstance(each, Missing) for each in meanings):
        return Anything()
    return Interval(min(ends), max(ends), "both")


def statistics(statistic: Statistic, numbers: Floats, group: Ids, count: int) -> Floats:
    """Return the mean, median or mode of every cluster's numbers, ignoring missing ones; NaN if all are missing."""
    known = (group >= 0) & ~np.isnan(numbers)
    mine, values = group[known], numbers[known]
    sizes = np.bincount(mine, minlength=count)
    found = np.full(count, np.nan)
    there = sizes > 0
    if statistic == "mean":
        found[there] = np.bincount(mine, weights=values, minlength=count)[there] / sizes[there]
    elif statistic == "median":
        ordered = values[np.lexsort((values, mine))]
        starts = np.cumsum(sizes) - sizes
        low, high = starts + (sizes - 1) // 2, starts + sizes // 2
        found[there] = (ordered[low[there]] + ordered[high[there]]) / 2
    else:
        distinct, places = np.unique(values, return_inverse=True)
        # Clusters without numbers are skipped by renumbering the others.
        numbered = np.cumsum(there) - 1
        found[there] = distinct[modes(places.ravel().astype(np.int64), numbered[mine], int(there.sum()))]
    return found


def _labels(meanings: Sequence[Meaning], kind: ValueType) -> list[str]:
    """Return one label each, spelled as in manifests; a value may be spelled like another label."""
    taken: dict[str, None] = {}
    for meaning in meanings:
        if isinstance(meaning, Missing):
            label = NULL_LABEL
        elif isinstance(meaning, Interval):
            label = meaning.text
        else:
            label = SUPPRESSED if isinstance(meaning, Anything) else str(meaning.label(kind))
        taken[unused(label, taken)] = None
    return list(taken)
