"""Distances between records of mixed columns: numbers, dates, coordinates, categories, hierarchies, and missing values.

A :class:`Metric` is one :class:`ColumnDistance` per column, weighted and summed (``L1``) or combined as the root of the
sum of squares (``L2``). Each is a metric, so the sum is one: the proofs of clustering need the triangle inequality. A
missing value is a value of its own, at the column's maximal distance from all others. Skipping missing values, as
Gower's coefficient does [Gower1971], violates the triangle inequality and is rejected.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.exact import Number, exact
from reticent.base.packing import Codes
from reticent.errors import DataError, PolicyError, did_you_mean
from reticent.table import BoundHierarchy

Floats = NDArray[np.float64]
Norm = Literal["L1", "L2"]
PairwiseDistances = Callable[[Any, Any], Any]
"""A custom distance: given the values of n and of m records, the n x m distances between them."""

EARTH_RADIUS = 6371.0
_TRIPLES = 20_000
_MOST_OWN = 5_000
_SLACK = 1e-9
_NARROWEST, _WIDEST = 1e-250, 1e250
_ROUND_NUMBERS = (1, 2, 5, 10)


@dataclass(frozen=True)
class ColumnDistance(ABC):
    """The distance between values of one column (two columns for coordinates).

    ``weight`` multiplies a distance of one scale.
    """

    names: tuple[str, ...]
    weight: float

    @abstractmethod
    def apart(self, left: NDArray[Any], right: NDArray[Any]) -> Floats:
        """The unweighted distances between values, elementwise after broadcasting."""


@dataclass(frozen=True)
class NumberDistance(ColumnDistance):
    """``|x - y| / scale``; NaN is the missing value, ``missing`` away from all numbers. Dates are numbers of days."""

    scale: float
    missing: float = 1.0

    def apart(self, left: NDArray[Any], right: NDArray[Any]) -> Floats:
        return _with_missing(np.abs(left - right) / self.scale, np.isnan(left), np.isnan(right), self.missing)


@dataclass(frozen=True)
class CategoryDistance(ColumnDistance):
    """0 for equal values, 1 otherwise; the missing value is one of the values."""

    def apart(self, left: NDArray[Any], right: NDArray[Any]) -> Floats:
        distances: Floats = np.not_equal(left, right).astype(np.float64)
        return distances


@dataclass(frozen=True, eq=False)
class HierarchyDistance(ColumnDistance):
    """The lowest level at which two values share a part, over the number of levels; 1 if they never do."""

    levels: tuple[NDArray[np.int32], ...]

    def apart(self, left: NDArray[Any], right: NDArray[Any]) -> Floats:
        """Return the share of hierarchy levels at which the values differ: 0 if equal, 1 if they share a part at none."""
        distances = np.zeros(np.broadcast_shapes(left.shape, right.shape))
        for parts in self.levels:
            distances += parts[left] != parts[right]
        return distances / len(self.levels)

    @property
    def ranks(self) -> NDArray[np.int64]:
        """The rank of every leaf in an order in which the parts of every level are contiguous."""
        ranks = np.empty(len(self.levels[0]), dtype=np.int64)
        ranks[np.lexsort(self.levels)] = np.arange(len(ranks))
        return ranks


@dataclass(frozen=True)
class PlaceDistance(ColumnDistance):
    """Great-circle distance in kilometres between two points of latitude and longitude in degrees, divided by ``scale``."""

    scale: float
    missing: float = 1.0

    def apart(self, left: NDArray[Any], right: NDArray[Any]) -> Floats:
        missing_masks = np.isnan(left).any(axis=-1), np.isnan(right).any(axis=-1)
        return _with_missing(great_circle(left, right) / self.scale, *missing_masks, self.missing)


@dataclass(frozen=True, eq=False)
class OwnDistance(ColumnDistance):
    """A user-defined distance, as a matrix of the distances between the leaves of a column; checked on random triples."""

    table: Floats

    def apart(self, left: NDArray[Any], right: NDArray[Any]) -> Floats:
        distances: Floats = self.table[left, right]
        return distances


@dataclass(frozen=True, eq=False)
class MetricRecords:
    """Records in the form that a metric compares: an array for each of its columns, row by row."""

    arrays: tuple[NDArray[Any], ...]

    def __len__(self) -> int:
        return len(self.arrays[0])

    def take(self, rows: NDArray[Any]) -> MetricRecords:
        """Some of the records."""
        return MetricRecords(tuple(array[rows] for array in self.arrays))


@dataclass(frozen=True, eq=False)
class Metric:
    """The distance between records: the weighted distances of their columns, summed (``L1``) or as the root of summed squares (``L2``)."""

    columns: tuple[ColumnDistance, ...]
    norm: Norm = "L2"

    def __post_init__(self) -> None:
        if not self.columns:
            raise PolicyError("A metric needs at least one column.")
        if self.norm not in ("L1", "L2"):
            raise PolicyError(f"norm must be L1 or L2, but it is {self.norm!r}.", setting=("norm",), value=self.norm)

    def between(self, left: MetricRecords, right: MetricRecords) -> Floats:
        """The distances between n records and m records, n x m."""
        rows, columns = (tuple(records.arrays) for records in (left, right))
        return self._apart([row[:, None] for row in rows], [column[None, :] for column in columns])

    def paired(self, left: MetricRecords, right: MetricRecords) -> Floats:
        """The distance between each record and its partner in ``right``."""
        return self._apart(left.arrays, right.arrays)

    def _apart(self, left: Sequence[NDArray[Any]], right: Sequence[NDArray[Any]]) -> Floats:
        """Return the distances of pairs of records: the weighted sum over the columns, or the root of the sum of squares."""
        total: Floats | None = None
        for column, left_values, right_values in zip(self.columns, left, right, strict=True):
            distance = column.apart(left_values, right_values)
            distance *= column.weight
            if self.norm == "L2":
                distance *= distance
            total = distance if total is None else np.add(total, distance, out=total)
        assert total is not None
        return np.sqrt(total, out=total) if self.norm == "L2" else total

    def within(self, records: MetricRecords) -> Floats:
        """The distances between all records, exactly symmetric, so a threshold is symmetric too."""
        distances = self.between(records, records)
        return np.maximum(distances, distances.T)


@dataclass(frozen=True)
class MetricChoices:
    """The steward's choices about distances; everything else follows from the columns.

    ``weights`` and ``scales`` are by column (a scale in units of the column, days for dates, kilometres for the
    latitude column of coordinates). ``places`` are pairs of a latitude and a longitude column. ``categories`` are
    columns compared for equality only. ``own`` are custom distances.
    """

    weights: Mapping[str, Number]
    scales: Mapping[str, Number]
    norm: Norm = "L2"
    places: tuple[tuple[str, str], ...] = ()
    categories: tuple[str, ...] = ()
    own: Mapping[str, PairwiseDistances] | None = None

    def check(self, names: Sequence[str]) -> None:
        """Raise if a choice names an unknown column."""
        chosen = {
            "weights": tuple(self.weights),
            "scales": tuple(self.scales),
            "places": tuple(name for pair in self.places for name in pair),
            "categories": self.categories,
            "distances": tuple(self.own or ()),
        }
        for setting, listed in chosen.items():
            for name in listed:
                if name not in names:
                    raise PolicyError(
                        f"{setting} names {name!r}, which is not a quasi column.{did_you_mean(name, names)}",
                        setting=(setting,),
                        value=name,
                    )


def metric_over(
    hierarchies: Sequence[BoundHierarchy], codes: Sequence[Codes], choices: MetricChoices
) -> tuple[Metric, MetricRecords]:
    """The metric over the columns of a table, and its records; ``codes`` has the leaf of every record in each column.

    Numbers and dates are compared by their difference, texts with a hierarchy by the lowest common level, others for
    equality. The default scale is the width of the column's values, rounded up to 1, 2 or 5 times a power of ten: it is
    published, so it must not reveal the extremes.
    """
    bound = {hierarchy.column: (hierarchy, leaves) for hierarchy, leaves in zip(hierarchies, codes, strict=True)}
    choices.check(list(bound))
    columns: list[ColumnDistance] = []
    arrays: list[NDArray[Any]] = []
    paired = {name: pair for pair in choices.places for name in pair}
    for name, (hierarchy, leaves) in bound.items():
        weight = _positive(choices.weights.get(name, 1), "weights", name)
        scale = _positive(choices.scales[name], "scales", name) if name in choices.scales else None
        if name in paired:
            if paired[name][0] == name:
                column, array = _place(bound, paired[name], weight, scale)
            else:
                continue
        elif choices.own is not None and name in choices.own:
            column, array = _own(hierarchy, leaves, weight, choices.own[name])
        elif name in choices.categories or not _measurable(hierarchy):
            column, array = _category(hierarchy, leaves, weight, plain=name in choices.categories)
        else:
            numbers = hierarchy.numbers()[leaves]
            column, array = NumberDistance((name,), weight, *_scale(name, numbers, scale)), numbers
        columns.append(column)
        arrays.append(array)
    return Metric(tuple(columns), choices.norm), MetricRecords(tuple(arrays))


def _measurable(hierarchy: BoundHierarchy) -> bool:
    """True if values of a column are numbers or days."""
    return hierarchy.leaves.dtype.is_numeric() or hierarchy.leaves.dtype == pl.Date


def _category(
    hierarchy: BoundHierarchy, leaves: Codes, weight: float, *, plain: bool
) -> tuple[ColumnDistance, NDArray[Any]]:
    """Return the distance of a column of categories, and every record's value in it: equality or, with a hierarchy of
    more than one step, the lowest common level.
    """
    name, steps = (hierarchy.column,), hierarchy.levels[:-1]
    if plain or len(steps) <= 1:
        return CategoryDistance(name, weight), leaves.astype(np.int64)
    top = hierarchy.levels[-1].parts
    # Values that are separate even at the last level have the maximum distance.
    levels = tuple(level.parts for level in steps)
    levels = levels if hierarchy.levels[-1].size == 1 else (*levels, top)
    return HierarchyDistance(name, weight, levels), leaves.astype(np.int64)


def _place(
    bound: Mapping[str, tuple[BoundHierarchy, Codes]], pair: tuple[str, str], weight: float, scale: float | None
) -> tuple[ColumnDistance, NDArray[Any]]:
    """Return the distance on the sphere for a pair of columns of latitude and longitude, and the coordinates of every record."""
    parts = []
    for name, limit in zip(pair, (90.0, 180.0), strict=True):
        hierarchy, leaves = bound[name]
        if not hierarchy.leaves.dtype.is_numeric():
            raise DataError(
                f"Column {name!r} of places= must hold degrees, but it has type {hierarchy.leaves.dtype}.", column=name
            )
        degrees = hierarchy.numbers()[leaves]
        if np.nanmax(np.abs(degrees), initial=0.0) > limit:
            raise DataError(
                f"Column {name!r} of places= has degrees beyond {limit:g}. The pairs of places= are latitude, then longitude.",
                column=name,
            )
        parts.append(degrees)
    coordinates = np.stack(parts, axis=1)
    complete = coordinates[~np.isnan(coordinates).any(axis=1)]
    corners = (complete.min(axis=0), complete.max(axis=0)) if len(complete) else (np.zeros(2), np.zeros(2))
    width = float(great_circle(*corners))
    unit = scale if scale is not None else round_up(width)
    # No two points of the column are farther apart than twice that, so the triangle inequality holds via a missing
    # value.
    return PlaceDistance(pair, weight, unit, max(1.0, math.pi * EARTH_RADIUS / unit)), coordinates


def _own(
    hierarchy: BoundHierarchy, leaves: Codes, weight: float, measure: PairwiseDistances
) -> tuple[ColumnDistance, NDArray[Any]]:
    """Return a custom distance as a table of all pairs of values, and every record's value in it."""
    values, subject = hierarchy.leaves, f"The distance of column {hierarchy.column!r}"
    if len(values) > _MOST_OWN:
        raise PolicyError(
            f"{subject} would be computed for all pairs of {len(values):,} values; a custom distance takes at most {_MOST_OWN:,}."
        )
    table = np.asarray(measure(values, values), dtype=np.float64)
    require_metric(table, subject)
    return OwnDistance((hierarchy.column,), weight, table), leaves.astype(np.int64)


def width_of(column: str, numbers: Floats) -> float:
    """The range of a column's numbers, ignoring NaN. Raises if it is infinite, too large or too small to compute with."""
    known = numbers[~np.isnan(numbers)]
    with np.errstate(over="ignore", invalid="ignore"):
        width = float(known.max() - known.min()) if len(known) else 0.0
    if width and not _NARROWEST <= width <= _WIDEST:
        raise DataError(
            f"The numbers of column {column!r} span {width:g}, so distances between them cannot be computed. Replace infinite values by nulls, scale the column, or pass "
            f"categories=[{column!r}] to compare its values for equality only.",
            column=column,
        )
    return width


def _scale(column: str, numbers: Floats, chosen: float | None) -> tuple[float, float]:
    """The scale of a column of numbers, and the distance of a missing value from all of them."""
    width = width_of(column, numbers)
    scale = chosen if chosen is not None else round_up(width)
    return scale, max(1.0, width / scale)


def round_up(width: float) -> float:
    """The smallest 1, 2 or 5 times a power of ten that is at least ``width``; 1 for 0."""
    if not width > 0:
        return 1.0
    power = math.floor(math.log10(width))
    return float(next(rounded for n in _ROUND_NUMBERS if (rounded := float(f"{n}e{power}")) >= width * (1 - 1e-12)))


def great_circle(left: NDArray[Any], right: NDArray[Any]) -> Floats:
    """Kilometres between points in degrees (the last axis is latitude, longitude)."""
    left_radians, right_radians = np.radians(left.astype(np.float64)), np.radians(right.astype(np.float64))
    difference = left_radians - right_radians
    half = (
        np.sin(difference[..., 0] / 2) ** 2
        + np.cos(left_radians[..., 0]) * np.cos(right_radians[..., 0]) * np.sin(difference[..., 1] / 2) ** 2
    )
    kilometres: Floats = 2 * EARTH_RADIUS * np.arcsin(np.sqrt(np.clip(half, 0.0, 1.0)))
    return kilometres


def require_metric(table: Floats, what: str, seed: int = 0) -> None:
    """Check a distance matrix on random triples. Raises :class:`PolicyError` naming values that violate the metric axioms.

    Distances must be finite, non-negative, 0 from a value to itself, symmetric, and satisfy the triangle inequality. A
    distance that skips missing values (Gower) fails here if values are missing.
    """
    n = len(table)
    if table.shape != (n, n):
        raise PolicyError(f"{what} must return a square matrix of distances, but its shape is {table.shape}.")
    rules = (
        (~np.isfinite(table) | (table < 0), "is not a number of at least 0"),
        (np.eye(n, dtype=bool) & (table > 0), "must be 0 from a value to itself"),
        (np.abs(table - table.T) > _SLACK * np.maximum(1, np.abs(table)), "differs from the distance back"),
    )
    for is_broken, why in rules:
        if is_broken.any():
            first, second = np.unravel_index(int(np.argmax(is_broken)), is_broken.shape)
            raise PolicyError(
                f"{what} is not a metric: between values {first} and {second} it is {table[first, second]:g}, which {why}."
            )
    a, b, c = np.random.default_rng(seed).integers(0, max(n, 1), (3, _TRIPLES if n else 0))
    violates = table[a, c] > (table[a, b] + table[b, c]) * (1 + _SLACK) + _SLACK
    if violates.any():
        worst = int(np.argmax(violates))
        raise PolicyError(
            f"{what} is not a metric: values {a[worst]} and {c[worst]} are {table[a[worst], c[worst]]:g} apart, but by way of {b[worst]} it is only "
            f"{table[a[worst], b[worst]] + table[b[worst], c[worst]]:g}. Distances that skip missing values do this: count a missing value as a value of its own."
        )


def _with_missing(distances: Floats, left: NDArray[np.bool_], right: NDArray[np.bool_], missing: float) -> Floats:
    """Distances with those from or to a missing value replaced by ``missing``, and 0 between two missing values."""
    if not (left.any() or right.any()):
        return distances
    return np.where(left & right, 0.0, np.where(left | right, missing, distances))


def _positive(value: Any, setting: str, name: str) -> float:
    """Return a weight or scale as a number. Raises unless it is above 0."""
    number = float(exact(value, f"{setting}: {name}"))
    if not number > 0:
        raise PolicyError(
            f"{setting}: the number of column {name!r} must be above 0, but it is {value!r}.", setting=(setting,)
        )
    return number
