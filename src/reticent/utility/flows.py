"""How well sampled flows match true ones: rows from groups to values, such as commuters from a workplace to a home.

Everything is computed from the confidential table and stays with the steward, after the sample was recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.errors import DataError

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
EARTH_KM = 6371.0088
SIZE_BINS = (1, 2, 5, 10, 20, 50, 100, 500)
"""Bin edges of group sizes."""


@dataclass(frozen=True, eq=False)
class Flows:
    """The number of rows (``times``) from each group to each value, as codes in ascending order; pairs without rows are omitted."""

    group: Ints = field(repr=False)
    value: Ints = field(repr=False)
    times: Ints = field(repr=False)
    groups: int
    values: int

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.times.sum())

    def merged(self, group_parts: Ints | None, value_parts: Ints | None) -> Flows:
        """The flows between merged groups and values: ``group_parts[g]`` is the new code of group ``g``, likewise for values; None merges nothing."""
        group = self.group if group_parts is None else group_parts[self.group]
        value = self.value if value_parts is None else value_parts[self.value]
        groups = self.groups if group_parts is None else int(group_parts.max(initial=-1)) + 1
        values = self.values if value_parts is None else int(value_parts.max(initial=-1)) + 1
        pairs, pair_numbers = np.unique(group * values + value, return_inverse=True)
        times = np.bincount(pair_numbers, weights=self.times, minlength=len(pairs)).astype(np.int64)
        return Flows(pairs // max(values, 1), pairs % max(values, 1), times, groups, values)

    def of_values(self) -> Flows:
        """The values of all groups together."""
        return self.merged(np.zeros(self.groups, dtype=np.int64), None)


def total_variation(one: Flows, other: Flows) -> float:
    """The total variation distance of two flows with the same codes: half the sum of the absolute differences between the shares of their (group, value) pairs."""
    pairs = np.concatenate([flows.group * flows.values + flows.value for flows in (one, other)])
    shares = np.concatenate([one.times / max(one.rows, 1), -other.times / max(other.rows, 1)])
    _, pair_numbers = np.unique(pairs, return_inverse=True)
    return float(np.abs(np.bincount(pair_numbers, weights=shares)).sum() / 2)


@dataclass(frozen=True)
class QueryErrors:
    """Errors of counting queries of one width: a range of groups and a range of values, each about a share ``width`` of them."""

    width: float
    true_rows: float
    mean_error: float
    relative_error: float


def query_errors(
    truth: Flows, drawn: Flows, widths: Sequence[float] = (0.05, 0.2, 0.5), queries: int = 200, seed: int = 0
) -> list[QueryErrors]:
    """The errors of counts on the sampled rows, for ranges of groups and of values at random positions; each range has about a share ``width`` of all groups or values.

    An error is relative to the true count, or to a thousandth of the rows if that is more.
    """
    results = []
    random = np.random.default_rng(seed)
    for width in widths:
        groups, values = (_random_ranges(size, width, queries, random) for size in (truth.groups, truth.values))
        counts = np.array(
            [[_count_inside(flows, groups, values, query) for query in range(queries)] for flows in (truth, drawn)]
        )
        errors = np.abs(counts[1] - counts[0])
        relative = errors / np.maximum(counts[0], truth.rows / 1000)
        results.append(
            QueryErrors(width, float(counts[0].mean()), float(errors.mean()), float(relative.mean())),
        )
    return results


def _random_ranges(size: int, width: float, queries: int, random: np.random.Generator) -> tuple[Ints, int]:
    """Return the first codes of ``queries`` random ranges among ``size`` codes, and their common length, a share ``width`` of the codes."""
    length = max(1, round(size * width))
    return (random.random(queries) * (size - length + 1)).astype(np.int64), length


def _count_inside(flows: Flows, groups: tuple[Ints, int], values: tuple[Ints, int], query: int) -> int:
    """Return the rows of the flows in one query: a range of groups and a range of values, each given by first codes and a length."""
    (first_group, group_count), (first_value, value_count) = groups, values
    # Pairs are sorted by group.
    start, end = np.searchsorted(flows.group, [first_group[query], first_group[query] + group_count])
    value = flows.value[start:end] - first_value[query]
    return int(flows.times[start:end][(value >= 0) & (value < value_count)].sum())


@dataclass(frozen=True, eq=False)
class GeoPoints:
    """The coordinates of groups and values: latitude and longitude in degrees; NaN if unknown."""

    groups: Floats = field(repr=False)
    values: Floats = field(repr=False)

    def kilometres(self, flows: Flows) -> Floats:
        """The great-circle distance of every pair in kilometres; NaN if an end is unknown."""
        start, end = (
            np.radians(points[codes]) for points, codes in ((self.groups, flows.group), (self.values, flows.value))
        )
        half_angles = (end - start) / 2
        haversine = (
            np.sin(half_angles[:, 0]) ** 2 + np.cos(start[:, 0]) * np.cos(end[:, 0]) * np.sin(half_angles[:, 1]) ** 2
        )
        return np.asarray(2 * EARTH_KM * np.arcsin(np.sqrt(np.clip(haversine, 0, 1))))


@dataclass(frozen=True)
class DistanceBin:
    """Average distances of the groups in a size bin, true and sampled: the mean absolute error of a group's average, and
    the bias (sampled minus true).
    """

    low: int
    high: int | None
    groups: int
    true_mean: float
    drawn_mean: float
    mean_error: float
    bias: float

    @property
    def name(self) -> str:
        """The bin's range of sizes in words."""
        if self.high is None:
            return f"{self.low:,} or more"
        return f"{self.low:,}" if self.high == self.low + 1 else f"{self.low:,} to {self.high - 1:,}"


def distances_by_size(
    truth: Flows, drawn: Flows, points: GeoPoints, below: float | None = None, bins: Sequence[int] = SIZE_BINS
) -> list[DistanceBin]:
    """Compare the average distance of each group's true rows with that of its sampled rows, in bins by the group's number of true rows; with ``below``, of rows of shorter
    distances (kilometres) only.

    Groups without such a row on one of the two sides cannot be compared and are omitted.
    """
    sizes = np.bincount(truth.group, weights=truth.times, minlength=truth.groups)
    means = [_means(flows, points, below) for flows in (truth, drawn)]
    known = np.isfinite(means[0]) & np.isfinite(means[1])
    compared_bins = []
    for low, high in zip(bins, [*bins[1:], None], strict=True):
        in_bin = known & (sizes >= low) & ((sizes < high) if high is not None else True)
        if in_bin.any():
            true_means, drawn_means = means[0][in_bin], means[1][in_bin]
            differences = drawn_means - true_means
            compared_bins.append(
                DistanceBin(
                    low,
                    high,
                    int(in_bin.sum()),
                    float(true_means.mean()),
                    float(drawn_means.mean()),
                    float(np.abs(differences).mean()),
                    float(differences.mean()),
                )
            )
    return compared_bins


def _means(flows: Flows, points: GeoPoints, below: float | None) -> Floats:
    """Return the mean distance of each group's rows in kilometres, of those shorter than ``below``; NaN for a group without any."""
    distance = points.kilometres(flows)
    used = np.isfinite(distance) & (distance < (np.inf if below is None else below))
    rows = np.bincount(flows.group[used], weights=flows.times[used], minlength=flows.groups)
    total = np.bincount(flows.group[used], weights=(flows.times * distance)[used], minlength=flows.groups)
    return np.asarray(np.divide(total, rows, out=np.full(flows.groups, np.nan), where=rows > 0), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class CodedFlows:
    """True and sampled flows in the same codes: the groups and values that occur on either side, ascending."""

    truth: Flows
    drawn: Flows
    groups: pl.DataFrame = field(repr=False)
    values: pl.Series = field(repr=False)

    @classmethod
    def of(
        cls, truth: tuple[pl.DataFrame, Ints], drawn: tuple[pl.DataFrame, Ints], groups: Sequence[str], value: str
    ) -> CodedFlows:
        """Build them from the distinct rows of both sides, each with its multiplicity."""
        rows = [frame.select([*groups, value]) for frame, _ in (truth, drawn)]
        all_rows = pl.concat(
            [rows[0].cast(pl.Schema({name: rows[1].schema[name] for name in rows[0].columns})), rows[1]]
        )
        distinct_groups = all_rows.select(groups).unique().sort(groups) if groups else pl.DataFrame({"": [""]})
        values = all_rows[value].unique().sort()
        group_codes = (
            _codes(all_rows.select(groups), distinct_groups) if groups else np.zeros(all_rows.height, dtype=np.int64)
        )
        value_codes = _codes(all_rows.select(value), values.to_frame())
        true_height = rows[0].height
        flows = [
            Flows(group_codes[side], value_codes[side], times, distinct_groups.height, len(values)).merged(None, None)
            for side, (_, times) in ((slice(0, true_height), truth), (slice(true_height, None), drawn))
        ]
        return cls(flows[0], flows[1], distinct_groups, values)

    def located(self, places: Any) -> GeoPoints | None:
        """The coordinates of groups and values, by a table with place, latitude and longitude; None if groups are not places."""
        listed = _place_coordinates(places)
        if self.groups.width != 1:
            return None
        points = [_coordinates_of(series, listed) for series in (self.groups.to_series(), self.values)]
        for series, coordinates in zip((self.groups.to_series(), self.values), points, strict=True):
            if not np.isfinite(coordinates).any():
                raise DataError(
                    f"The coordinates have no place of column {series.name!r}, such as {series[0]!r}. Their first column must hold the same codes.",
                    column=series.name,
                )
        return GeoPoints(*points)


def _codes(rows: pl.DataFrame, listed: pl.DataFrame) -> Ints:
    """The row number in ``listed`` (distinct rows) of each of ``rows``."""
    names = listed.columns
    joined = rows.join(listed.with_row_index(""), on=names, how="left", nulls_equal=True, maintain_order="left")
    return joined[""].to_numpy().astype(np.int64)


_LATITUDES = ("latitude", "lat", "blklatdd", "intptlat", "y")
_LONGITUDES = ("longitude", "lon", "lng", "long", "blklondd", "intptlon", "x")


def _place_coordinates(places: pl.DataFrame) -> pl.DataFrame:
    """The table of places with the columns ``place``, ``latitude`` and ``longitude``."""
    named = {name.lower(): name for name in places.columns}
    coordinate_columns = [
        next((named[candidate] for candidate in names if candidate in named), None)
        for names in (_LATITUDES, _LONGITUDES)
    ]
    if not all(coordinate_columns) or places.width < 3:
        raise DataError(
            "Coordinates need a column with the place first, and columns named latitude and longitude (or lat and lon); "
            f"the columns are: {', '.join(places.columns)}."
        )
    latitude, longitude = (pl.col(str(name)).cast(pl.Float64, strict=False) for name in coordinate_columns)
    return places.select(
        pl.col(places.columns[0]).cast(pl.String).alias("place"),
        latitude.alias("latitude"),
        longitude.alias("longitude"),
    ).unique("place", keep="first", maintain_order=True)


def _coordinates_of(series: pl.Series, listed: pl.DataFrame) -> Floats:
    """Return latitude and longitude of each place of a column by the table of ``listed`` places; NaN for a place that it lacks."""
    wanted_places = series.cast(pl.String).alias("place").to_frame()
    joined = wanted_places.join(listed, on="place", how="left", maintain_order="left")
    return joined.select("latitude", "longitude").fill_null(float("nan")).to_numpy().astype(np.float64)


def grid_parts(points: Floats, cells: int = 14) -> tuple[Ints, Floats]:
    """The grid cell of every point (the last one for points without coordinates), and the centre of each cell's points."""
    known = np.asarray(np.isfinite(points).all(axis=1))
    low, high = points[known].min(axis=0), points[known].max(axis=0)
    share = np.where(known[:, None], (points - low) / np.where(high > low, high - low, 1), 0)
    squares = np.minimum((share * cells).astype(np.int64), cells - 1) @ np.array([cells, 1])
    squares[~known] = cells * cells
    _, cell_numbers = np.unique(squares, return_inverse=True)
    counts = np.bincount(cell_numbers)
    centers = np.stack([np.bincount(cell_numbers, weights=points[:, axis]) / counts for axis in (0, 1)], axis=1)
    return cell_numbers.astype(np.int64), centers


def on_one_grid(points: GeoPoints, cells: int = 14) -> tuple[Ints, Ints, Floats]:
    """The grid cells of groups and of values on one grid, and the coordinates of each cell."""
    cell_numbers, centers = grid_parts(np.concatenate([points.groups, points.values]), cells)
    return cell_numbers[: len(points.groups)], cell_numbers[len(points.groups) :], centers
