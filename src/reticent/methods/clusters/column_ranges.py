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
            step_given = exact(step, f"grid: {hierarchy.column}", above=0)
            if is_whole and step_given.denominator != 1:
                raise PolicyError(
                    f"grid: the step of column {hierarchy.column!r}, which has whole numbers or dates, must be whole, but it is {step}.",
                    setting=("grid",),
                    value=step,
                )
            return cls(hierarchy.column, step_given, kind)
        width = width_of(hierarchy.column, hierarchy.numbers())
        default_step = exact(repr(round_up(round_up(width) / _STEPS)), "grid")
        return cls(hierarchy.column, max(Fraction(1), default_step) if is_whole else default_step, kind)

    def value(self, position: Fraction) -> Any:
        """Convert a position on the line to a value of the column."""
        if self.kind is ValueType.DATE:
            return datetime.date(1970, 1, 1) + datetime.timedelta(days=int(position))
        return int(position) if self.kind is not ValueType.REAL else float(position)

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
        numerator, denominator = self.step.numerator, self.step.denominator
        rounded: Floats = np.rint(numbers * denominator / numerator) * numerator / denominator
        return rounded


def is_line(hierarchy: BoundHierarchy, categories: Sequence[str]) -> bool:
    """True if the column is published as ranges, not as nodes of its hierarchy."""
    dtype = hierarchy.leaves.dtype
    return (dtype.is_numeric() or dtype == pl.Date) and hierarchy.column not in categories


def range_column(
    hierarchy: BoundHierarchy, recipe: Hierarchy, grid: NumberGrid, leaves: Codes, group: Ids, count: int
) -> RegionColumn:
    """Return the published labels of a numeric column: each of ``count`` clusters has the range of its numbers, rounded
    outward to the grid, or is unrestricted if some are missing.

    ``leaves`` is the value code of every row, ``group`` its cluster (-1: suppressed), ``recipe`` the declared hierarchy.
    """
    order = np.argsort(hierarchy.numbers(), kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    missing = np.zeros(count, dtype=np.int64)
    low, high = np.full(count, len(order)), np.full(count, -1)
    is_clustered = group >= 0
    groups_of_units, clustered_leaves = group[is_clustered], leaves[is_clustered]
    clustered_null = hierarchy.leaves.is_null().to_numpy()[clustered_leaves]
    np.add.at(missing, groups_of_units[clustered_null], 1)
    np.minimum.at(low, groups_of_units[~clustered_null], rank[clustered_leaves[~clustered_null]])
    np.maximum.at(high, groups_of_units[~clustered_null], rank[clustered_leaves[~clustered_null]])
    # A label is the pair of its ends on the grid; -1 if unbounded.
    values = hierarchy.leaves.gather(order).to_list()
    used = np.unique(np.concatenate([low[high >= 0], high[high >= 0]]))
    below, above = (
        {rank_used: end(values[rank_used]) for rank_used in used.tolist()} for end in (grid.below, grid.above)
    )
    ends = [
        None if top < 0 else (below[bottom], above[top])
        for bottom, top in zip(low.tolist(), high.tolist(), strict=True)
    ]
    cells: dict[Meaning, int] = {}
    of_group = [
        cells.setdefault(_range_meaning(grid, ends_of_cluster, bool(missing_count)), len(cells))
        for ends_of_cluster, missing_count in zip(ends, missing.tolist(), strict=True)
    ]
    labels = _labels(list(cells), grid.kind)
    label_series = pl.Series(hierarchy.column, labels, dtype=pl.String)
    return RegionColumn(
        hierarchy.column, recipe, hierarchy.leaves, label_series, tuple(cells), np.array(of_group, dtype=np.int64)
    )


def _range_meaning(grid: NumberGrid, ends: tuple[Fraction, Fraction] | None, missing: bool) -> Meaning:
    """Return the meaning of a cluster's range; unrestricted if some of its values are missing."""
    if ends is None:
        return Missing()
    if missing:
        return Anything()
    low, high = (grid.value(end) for end in ends)
    return Value(low) if low == high else Interval(low, high, "both")


def category_column(
    hierarchy: BoundHierarchy, recipe: Hierarchy, leaves: Codes, group: Ids, count: int, values: ShownCategories
) -> RegionColumn:
    """Return the published labels of a column of categories: each of ``count`` clusters has the set of its values, or the
    lowest hierarchy node that covers them; unrestricted if there is none.

    ``leaves`` is the value code of every row, ``group`` its cluster (-1: suppressed), ``recipe`` the declared hierarchy.
    """
    is_clustered = group >= 0
    style: Literal["ranges", "hierarchy"] = "ranges" if values == "sets" else "hierarchy"
    return column_cells(hierarchy, leaves[is_clustered], group[is_clustered], count, style).as_column(hierarchy, recipe)


def statistic_column(ranges: RegionColumn, grid: NumberGrid, numbers: Floats) -> RegionColumn:
    """Return the published labels of a numeric column with one number for every cluster (``numbers``, NaN if all are
    missing). A number means the range that covers the ``ranges`` of all clusters with this number.
    """
    published_values = [
        None if math.isnan(number) else grid.value(exact(repr(number), grid.column)) for number in numbers.tolist()
    ]
    hulls: dict[Any, list[Meaning]] = {}
    for value, cell in zip(published_values, ranges.of_group.tolist(), strict=True):
        hulls.setdefault(value, []).append(ranges.meanings[cell])
    values = sorted(hulls, key=lambda value: (value is None, value if value is not None else 0))
    position_of = {value: position for position, value in enumerate(values)}
    return RegionColumn(
        ranges.name,
        ranges.hierarchy,
        ranges.leaves,
        pl.Series(ranges.name, values, dtype=grid.kind.dtype),
        tuple(_hull(hulls[value]) for value in values),
        np.array([position_of[value] for value in published_values], dtype=np.int64),
    )


def _hull(meanings: Sequence[Meaning]) -> Meaning:
    """Return the smallest range that covers several."""
    if any(isinstance(meaning, Anything) for meaning in meanings):
        return Anything()
    ends = [end for meaning in meanings for end in meaning.written()]
    if not ends:
        return Missing()
    if any(isinstance(meaning, Missing) for meaning in meanings):
        return Anything()
    return Interval(min(ends), max(ends), "both")


def statistics(statistic: Statistic, numbers: Floats, group: Ids, count: int) -> Floats:
    """Return the mean, median or mode of every cluster's numbers, ignoring missing ones; NaN if all are missing."""
    is_known = (group >= 0) & ~np.isnan(numbers)
    groups_known, values = group[is_known], numbers[is_known]
    sizes = np.bincount(groups_known, minlength=count)
    result = np.full(count, np.nan)
    has_numbers = sizes > 0
    if statistic == "mean":
        result[has_numbers] = (
            np.bincount(groups_known, weights=values, minlength=count)[has_numbers] / sizes[has_numbers]
        )
    elif statistic == "median":
        ordered = values[np.lexsort((values, groups_known))]
        starts = np.cumsum(sizes) - sizes
        low, high = starts + (sizes - 1) // 2, starts + sizes // 2
        result[has_numbers] = (ordered[low[has_numbers]] + ordered[high[has_numbers]]) / 2
    else:
        distinct, codes = np.unique(values, return_inverse=True)
        # Clusters without numbers are skipped by renumbering the others.
        numbered = np.cumsum(has_numbers) - 1
        result[has_numbers] = distinct[
            modes(codes.ravel().astype(np.int64), numbered[groups_known], int(has_numbers.sum()))
        ]
    return result


def _labels(meanings: Sequence[Meaning], kind: ValueType) -> list[str]:
    """Return one label each, spelled as in manifests; a value may be spelled like another label."""
    labels: dict[str, None] = {}
    for meaning in meanings:
        if isinstance(meaning, Missing):
            label = NULL_LABEL
        elif isinstance(meaning, Interval):
            label = meaning.text
        else:
            label = SUPPRESSED if isinstance(meaning, Anything) else str(meaning.label(kind))
        labels[unused(label, labels)] = None
    return list(labels)
