"""The clustered units: people (or rows, or points) as records of a metric space, sorted by content, and parts of them
small enough for a proven algorithm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.context import Context
from reticent.core import (
    ColumnDistance,
    HierarchyDistance,
    Metric,
    MetricChoices,
    MetricRecords,
    NumberDistance,
    metric_over,
)
from reticent.engine import engine_of
from reticent.errors import DataError, PolicyError
from reticent.methods.grouping import rows_of_people
from reticent.table import Table

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]
_NUMBERS_AT_ONCE = 1 << 24
_MOST_ASKED = 256
_LARGEST = 1e150


@dataclass(frozen=True, eq=False)
class ClusterUnits:
    """Metric records sorted by content, which alone breaks ties: the row order has no effect.

    ``owner[i]`` is the index of row ``i`` of the table (or of the points) among the records; several rows of one person
    are one record.
    """

    metric: Metric
    records: MetricRecords
    owner: Ids

    def __len__(self) -> int:
        return len(self.records)

    @classmethod
    def of_points(cls, points: Any) -> ClusterUnits:
        """Build from numeric points (rows of an array) with the Euclidean distance.

        NaN is missing: its distance to any other value is the width of the column, the largest distance between two values.
        """
        array = np.asarray(points.to_numpy() if isinstance(points, pl.DataFrame) else points)
        if array.ndim != 2 or array.dtype.kind not in "iufb":
            raise DataError(
                f"Points must be a numeric array with one row per point, but this has the shape {array.shape} and the type {array.dtype}. Pass a Table for columns of other types."
            )
        numbers = array.astype(np.float64)
        if (np.abs(numbers) > _LARGEST).any():
            raise DataError(
                f"Points must be finite numbers of at most {_LARGEST:g}, so that squares of distances can be computed."
            )
        if not numbers.size:
            raise DataError("There are no points.")
        is_known = ~np.isnan(numbers)
        spread = np.where(is_known.any(axis=0), _width(numbers, is_known), 0.0)
        columns = tuple(
            NumberDistance((str(index),), 1.0, 1.0, float(width) or 1.0) for index, width in enumerate(spread)
        )
        return cls._sorted(Metric(columns), MetricRecords(tuple(numbers.T.copy())), np.arange(len(numbers)))

    @classmethod
    def of_table(cls, table: Table, choices: MetricChoices, context: Context) -> ClusterUnits:
        """Build from the rows of a table, one per person.

        Equal records are in random order, which decides their assignment.
        """
        several = rows_of_people("Clustering", table)
        if several is not None:
            raise PolicyError(several)
        mixed = context.randomness.order(table.rows)
        codes = engine_of(table, context).single_rows(table, mixed).codes
        owner = np.empty(table.rows, dtype=np.int64)
        owner[mixed] = np.arange(table.rows)
        metric, records = metric_over(table.hierarchies, codes, choices)
        return cls._sorted(metric, records, owner)

    @classmethod
    def _sorted(cls, metric: Metric, records: MetricRecords, owner: Ids) -> ClusterUnits:
        """Return the units with their records sorted by value, so that the order of rows does not matter."""
        keys = [part for array in records.arrays for part in (array.T if array.ndim > 1 else array[None])]
        order = np.lexsort(keys[::-1])
        position_of = np.empty(len(order), dtype=np.int64)
        position_of[order] = np.arange(len(order))
        return cls(metric, records.take(order), position_of[owner])

    def parts(self, limit: int, minimum: int) -> list[Ids]:
        """Return parts of the records of at most ``limit`` and at least ``minimum`` each, from repeatedly halving the widest column.

        Consecutive parts are neighbours in the splits.
        """
        finished, open_parts = [], [np.arange(len(self))]
        while open_parts:
            part = open_parts.pop()
            if len(part) <= limit or len(part) < 2 * minimum:
                finished.append(part)
            else:
                left, right = self._halves(part, minimum)
                open_parts += [right, left]
        return finished

    def _halves(self, part: Ids, minimum: int) -> tuple[Ids, Ids]:
        """Return two halves of a part along its widest column, split between different values near the median if there are any."""
        widths = [
            _spread(column, array[part]) for column, array in zip(self.metric.columns, self.records.arrays, strict=True)
        ]
        widest = int(np.argmax(widths))
        keys = _line(self.metric.columns[widest], self.records.arrays[widest][part])
        order = np.argsort(keys, kind="stable")
        ordered, middle = keys[order], len(part) // 2
        # Between two different values, if one is near the median.
        borders = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
        borders = borders[
            (borders >= max(minimum, len(part) // 4)) & (borders <= len(part) - max(minimum, len(part) // 4))
        ]
        split_at = int(borders[np.argmin(np.abs(borders - middle))]) if len(borders) else middle
        return part[np.sort(order[:split_at])], part[np.sort(order[split_at:])]

    def farthest_neighbour(self, at_most: Floats, r: int, context: Context) -> float:
        """Return the largest distance of a unit to its (r-1)-st neighbour, or a lower bound of it.

        ``at_most`` bounds it for each unit: units are tried in decreasing order until no bound exceeds the best value.
        After 256 units the search stops; the best value is then a lower bound.
        """
        best = 0.0
        for unit in np.argsort(-at_most, kind="stable")[:_MOST_ASKED].tolist():
            if at_most[unit] <= best:
                break
            context.check("bounding the radius from below")
            best = max(best, self._neighbour(unit, r))
        return best

    def _neighbour(self, record: int, r: int) -> float:
        """Return the distance from a record to its ``r``-th nearest record, itself included."""
        single = self.records.take(np.array([record]))
        return float(np.partition(self.metric.between(single, self.records)[0], r - 1)[r - 1])

    def synthetic(self, labels: Ids, count: int) -> MetricRecords:
        """Return a synthetic centre for every cluster: the midpoint of the range of numbers, the most frequent category.

        Ties of categories go to the first by content; numbers are missing if all are.
        """
        inside = np.flatnonzero(labels >= 0)
        clusters_of_members, arrays = labels[inside], list[NDArray[Any]]()
        for array in self.records.arrays:
            values = array[inside]
            if values.dtype.kind == "f":
                flat = values.reshape(len(values), -1)
                middles = np.stack(
                    [_middle(flat[:, index], clusters_of_members, count) for index in range(flat.shape[1])], axis=1
                )
                arrays.append(middles.reshape(count, *values.shape[1:]))
            else:
                arrays.append(modes(values, clusters_of_members, count))
        return MetricRecords(tuple(arrays))

    def radii(self, centres: MetricRecords, labels: Ids) -> Floats:
        """Return the distance of the farthest member of each cluster from its centre."""
        inside = np.flatnonzero(labels >= 0)
        radii = np.zeros(len(centres))
        step = max(_NUMBERS_AT_ONCE // 8, 1)
        for start in range(0, len(inside), step):
            batch = inside[start : start + step]
            distances = self.metric.paired(self.records.take(batch), centres.take(labels[batch]))
            np.maximum.at(radii, labels[batch], distances)
        return radii

    def widest(self, labels: Ids, count: int) -> float:
        """Return the largest distance between two members of one cluster."""
        order = np.argsort(labels, kind="stable")
        starts = np.searchsorted(labels[order], np.arange(count + 1))
        largest = 0.0
        for cluster in range(count):
            members = self.records.take(order[starts[cluster] : starts[cluster + 1]])
            largest = max(largest, float(self.metric.within(members).max()))
        return largest


def modes(values: Ids, labels: Ids, count: int) -> Ids:
    """Return the most frequent value of every cluster, the smallest of ties."""
    size = int(values.max(initial=0)) + 1
    keys, counts = np.unique(labels * size + values, return_counts=True)
    owners = keys // size
    order = np.lexsort((keys, -counts, owners))
    first = order[np.searchsorted(owners[order], np.arange(count))]
    values_found: Ids = keys[first] % size
    return values_found


def _middle(values: Floats, labels: Ids, count: int) -> Floats:
    """Return the midpoint of the range of each cluster's numbers; NaN if all are missing."""
    lowest, highest = np.full(count, np.inf), np.full(count, -np.inf)
    is_known = ~np.isnan(values)
    np.minimum.at(lowest, labels[is_known], values[is_known])
    np.maximum.at(highest, labels[is_known], values[is_known])
    with np.errstate(invalid="ignore"):
        return np.where(lowest <= highest, lowest + (highest - lowest) / 2, np.nan)


def _width(numbers: Floats, is_known: NDArray[np.bool_]) -> Floats:
    """Return the width of the range of each column's known values; 0 if none is known."""
    low = np.where(is_known, numbers, np.inf).min(axis=0)
    high = np.where(is_known, numbers, -np.inf).max(axis=0)
    return np.where(is_known.any(axis=0), high - low, 0.0)


def _spread(column: ColumnDistance, values: NDArray[Any]) -> float:
    """Return the approximate spread of a column's values; used only to choose the column to split."""
    if values.dtype.kind == "f":
        flat = values.reshape(len(values), -1)
        low, high = np.fmin.reduce(flat, axis=0), np.fmax.reduce(flat, axis=0)
        if values.ndim > 1:
            return column.weight * float(column.apart(low, high))
        return column.weight * float(np.nan_to_num((high - low)[0]) / getattr(column, "scale", 1.0))
    if isinstance(column, HierarchyDistance):
        return column.weight * sum(int(np.ptp(parts[values])) > 0 for parts in column.levels) / len(column.levels)
    return column.weight * float(np.ptp(values) > 0)


def _line(column: ColumnDistance, values: NDArray[Any]) -> NDArray[Any]:
    """Return values of a column as numbers in an order that keeps similar ones together."""
    if values.ndim > 1:
        widest = np.argmax(np.fmax.reduce(values, axis=0) - np.fmin.reduce(values, axis=0))
        values = values[:, widest]
    if values.dtype.kind == "f":
        numbers: Floats = np.nan_to_num(values, nan=np.inf, posinf=np.inf)
        return numbers
    return column.ranks[values] if isinstance(column, HierarchyDistance) else values
