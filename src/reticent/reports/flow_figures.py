"""Comparison of synthetic with original rows, for the steward: shares at every hierarchy level, counts, distances and a flow map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.context import Context
from reticent.base.figures import NARROW, WIDTH, Figure, dot, picture, text
from reticent.errors import DataError
from reticent.release import PublicSide
from reticent.table import Hierarchy, Table
from reticent.utility import (
    CodedFlows,
    DistanceBin,
    Flows,
    GeoPoints,
    QueryErrors,
    distances_by_size,
    on_one_grid,
    query_errors,
    total_variation,
)

_MOST_LINES, _WIDEST = 150, 7.0
_GAP, _EDGE, _HEAD = 16.0, 8.0, 26.0


@dataclass(frozen=True)
class LevelMatch:
    """Total variation distance between original and synthetic shares at one hierarchy level: of (group, value) pairs, and of values alone."""

    level: str
    pairs: int
    together: float
    values: float


@dataclass(frozen=True, eq=False)
class FlowFacts:
    """How well the synthetic rows of a release match the original ones. Confidential: computed from the original table."""

    group: str
    value: str
    levels: tuple[LevelMatch, ...]
    queries: tuple[QueryErrors, ...]
    distances: tuple[DistanceBin, ...] = ()
    short: tuple[DistanceBin, ...] = ()
    below: float = 0.0
    map: Figure | None = field(default=None, repr=False)


def flow_facts(
    table: Table, side: PublicSide, coordinates: pl.DataFrame | None = None, context: Context | None = None
) -> FlowFacts | None:
    """Compare synthetic with original rows at the granularity of the release; None unless the release has one sampled value column and group columns of the table.

    ``coordinates`` has a location in its first column and its latitude and longitude; with it distances are compared and a flow map is made.
    """
    context = context or Context()
    rows = side.rows[side.form.tables[0]]
    sampled_columns = [name for name in table.sensitive if name in rows.schema]
    groups = [name for name in table.quasi if name in rows.schema]
    if not side.seen.is_artificial or len(sampled_columns) != 1 or len(groups) + 1 != len(rows.schema):
        return None
    value = sampled_columns[0]
    context.step("comparing synthetic rows with true ones")
    frame, multiplicities = _true_rows(table, [*groups, value])
    true_rows = side.form.as_shown(side, frame)
    if true_rows is None:
        return None
    coded = CodedFlows.of((true_rows, multiplicities), rows.counted([*groups, value]), groups, value)
    points = None if coordinates is None else coded.located(coordinates)
    facts = FlowFacts(
        " and ".join(groups),
        value,
        tuple(_levels(table, coded, groups, value)),
        tuple(query_errors(coded.truth, coded.drawn)),
    )
    if points is None:
        return facts
    context.step("measuring distances")
    median = _median(coded.truth, points)
    return FlowFacts(
        facts.group,
        facts.value,
        facts.levels,
        facts.queries,
        tuple(distances_by_size(coded.truth, coded.drawn, points)),
        tuple(distances_by_size(coded.truth, coded.drawn, points, median)),
        median,
        flow_map(coded, points),
    )


def _true_rows(table: Table, columns: Sequence[str]) -> tuple[pl.DataFrame, NDArray[np.int64]]:
    """Return the distinct rows of the table in these columns and how often each occurs, by weight if the table has a weight column."""
    if table.weight is None:
        return table.held.counted(list(columns))
    frame, multiplicities = table.held.counted([*columns, table.weight])
    weights = frame[table.weight].cast(pl.Int64, strict=False)
    if weights.null_count():
        raise DataError(f"The weight column {table.weight!r} must hold whole numbers.", column=table.weight)
    return frame.select(columns), multiplicities * weights.to_numpy()


def _levels(table: Table, coded: CodedFlows, groups: Sequence[str], value: str) -> list[LevelMatch]:
    """Return the distances between true and synthetic shares: for exact values, and at each level of the table's hierarchies of the value column and of a single group column."""
    matches = [_match("as published", coded.truth, coded.drawn)]
    value_levels = _parts(table.sensitive, value, coded.values)
    group_levels = _parts(table.quasi, groups[0], coded.groups.to_series()) if len(groups) == 1 else []
    for level in range(max(len(value_levels), len(group_levels))):
        group_categories = group_levels[min(level, len(group_levels) - 1)] if group_levels else None
        value_categories = value_levels[min(level, len(value_levels) - 1)] if value_levels else None
        merged = [flows.merged(group_categories, value_categories) for flows in (coded.truth, coded.drawn)]
        matches.append(_match(f"level {level + 1}", *merged))
    return matches


def _match(level: str, truth: Flows, sampled: Flows) -> LevelMatch:
    """Return the total variation distances between true and sampled flows: of (group, value) pairs, and of values alone."""
    value_distance = total_variation(truth.of_values(), sampled.of_values())
    return LevelMatch(level, len(truth.times), total_variation(truth, sampled), value_distance)


def _parts(declared: Any, name: str, values: pl.Series) -> list[NDArray[np.int64]]:
    """Return the category code of every value at each level of a declared hierarchy that has more than one category; nothing if the column has no hierarchy."""
    hierarchy = declared.get(name) if isinstance(declared, dict) else None
    if not isinstance(hierarchy, Hierarchy):
        return []
    bound = hierarchy.bind(values, name)
    codes = np.asarray(bound.codes(values), dtype=np.int64)
    by_level = [np.asarray(level.parts, dtype=np.int64)[codes] for level in bound.levels[1:]]
    return [categories for categories in by_level if len(np.unique(categories)) > 1]


def _median(flows: Flows, points: GeoPoints) -> float:
    """Return the median distance of the original rows in kilometres; ``times`` of a flow counts its rows."""
    kilometres = points.kilometres(flows)
    by_distance = np.argsort(np.where(np.isfinite(kilometres), kilometres, np.inf))
    row_counts = np.cumsum(flows.times[by_distance])
    return float(kilometres[by_distance][np.searchsorted(row_counts, row_counts[-1] / 2)])


def flow_map(coded: CodedFlows, points: GeoPoints) -> Figure:
    """Return a map of the largest flows between grid squares, original next to synthetic (stacked on a narrow page)."""
    by_group, by_value, centers = on_one_grid(points)
    maps = [flows.merged(by_group, by_value) for flows in (coded.truth, coded.drawn)]
    caption = (
        f"The largest {_MOST_LINES} flows between squares of a grid, as it stood and as published; a line is as thick as its share of rows. "
        f"Shares of squares differ by {total_variation(*maps):.1%}."
    )
    rows = tuple(
        (f"{name}", f"{flows.rows:,}", f"{len(flows.times):,}")
        for name, flows in zip(("as it stood", "published"), maps, strict=True)
    )
    return Figure(
        "Where flows go",
        caption,
        _maps(maps, centers, caption, WIDTH, across=True),
        ("map", "rows", "pairs of squares"),
        rows,
        narrow=_maps(maps, centers, caption, NARROW, across=False),
    )


def _maps(maps: Sequence[Flows], centers: NDArray[np.float64], label: str, width: float, *, across: bool) -> str:
    """Draw the largest flows of both maps as SVG, original and synthetic side by side (``across``) or stacked; ``centers`` has latitude and longitude of every square, NaN if unknown."""
    located = np.asarray(np.isfinite(centers).all(axis=1))
    flow_indices = [_largest(flows, located) for flows in maps]
    ends = [
        codes[indices]
        for flows, indices in zip(maps, flow_indices, strict=True)
        for codes in (flows.group, flows.value)
    ]
    used_centers = centers[np.unique(np.concatenate(ends))]
    if not len(used_centers):
        return picture(width, _HEAD, [], label)
    low, high = used_centers.min(axis=0), used_centers.max(axis=0)
    # A degree of longitude becomes shorter than a degree of latitude away from the equator.
    latitude_span = max(float(high[0] - low[0]), 1e-9)
    longitude_span = max(float(high[1] - low[1]) * float(np.cos(np.radians((low[0] + high[0]) / 2))), 1e-9)
    map_width = (width - _GAP) / 2 if across else width
    height = min((map_width - 2 * _EDGE) * latitude_span / longitude_span, 460.0)
    scale = min((map_width - 2 * _EDGE) / longitude_span, height / latitude_span)
    parts = []
    largest_share = max(float((flows.times / max(flows.rows, 1)).max(initial=0)) for flows in maps)
    for panel, (flows, title, css_class) in enumerate(
        zip(maps, ("as it stood", "published"), ("before", "after"), strict=True)
    ):
        left, top = (panel * (map_width + _GAP), _HEAD) if across else (0.0, _HEAD + panel * (height + _HEAD + _GAP))

        def pixel(square: int, left: float = left, top: float = top) -> tuple[float, float]:
            """Return the x and y of a square's center on the picture."""
            x = left + _EDGE + (centers[square, 1] - low[1]) / max(high[1] - low[1], 1e-9) * longitude_span * scale
            return float(x), float(top + (high[0] - centers[square, 0]) * scale)

        parts.append(text(left + _EDGE, top - 10, title, "value"))
        parts += _lines(flows, flow_indices[panel], largest_share, css_class, pixel)
    total = height + _HEAD + _EDGE if across else 2 * (height + _HEAD) + _GAP + _EDGE
    return picture(width, total, parts, label)


def _largest(flows: Flows, located: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the indices of the largest flows with known coordinates, in ascending order of size."""
    times = np.where(located[flows.group] & located[flows.value], flows.times, 0)
    largest = np.argsort(-times, kind="stable")[:_MOST_LINES]
    return np.asarray(largest[times[largest] > 0][::-1])


def _lines(
    flows: Flows, flow_indices: NDArray[np.int64], largest_share: float, css_class: str, pixel: Any
) -> list[str]:
    """Return SVG lines for flows, the largest on top, and a dot for flows within one square. ``pixel`` maps a square to x and y; the share ``largest_share`` gets the widest line."""
    shapes = []
    for flow in flow_indices.tolist():
        share = int(flows.times[flow]) / max(flows.rows, 1)
        start, end = pixel(int(flows.group[flow])), pixel(int(flows.value[flow]))
        line_width = max(_WIDEST * float(np.sqrt(share / largest_share)), 0.4)
        tooltip = f"{int(flows.times[flow]):,} rows ({share:.2%})"
        if start == end:
            shapes.append(dot(start[0], start[1], line_width, css_class, tooltip))
        else:
            shapes.append(
                f'<path d="M{start[0]:.1f} {start[1]:.1f}L{end[0]:.1f} {end[1]:.1f}" class="flow {css_class}" stroke-width="{line_width:.1f}">'
                f"<title>{tooltip}</title></path>"
            )
    return shapes
