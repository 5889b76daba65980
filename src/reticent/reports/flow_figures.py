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
    drawn = [name for name in table.sensitive if name in rows.schema]
    groups = [name for name in table.quasi if name in rows.schema]
    if not side.seen.is_artificial or len(drawn) != 1 or len(groups) + 1 != len(rows.schema):
        return None
    value = drawn[0]
    context.step("comparing synthetic rows with true ones")
    frame, times = _true_rows(table, [*groups, value])
    shown = side.form.as_shown(side, frame)
    if shown is None:
        return None
    coded = CodedFlows.of((shown, times), rows.counted([*groups, value]), groups, value)
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
    below = _median(coded.truth, points)
    return FlowFacts(
        facts.group,
        facts.value,
        facts.levels,
        facts.queries,
        tuple(distances_by_size(coded.truth, coded.drawn, points)),
        tuple(distances_by_size(coded.truth, coded.drawn, points, below)),
        below,
        flow_map(coded, points),
    )


def _true_rows(table: Table, columns: Sequence[str]) -> tuple[pl.DataFrame, NDArray[np.int64]]:
    if table.weight is None:
        return table.held.counted(list(columns))
    frame, times = table.held.counted([*columns, table.weight])
    weights = frame[table.weight].cast(pl.Int64, strict=False)
    if weights.null_count():
        raise DataError(f"The weight column {table.weight!r} must hold whole numbers.", column=table.weight)
    return frame.select(columns), times * weights.to_numpy()


def _levels(table: Table, coded: CodedFlows, groups: Sequence[str], value: str) -> list[LevelMatch]:
    """Return the distances between shares for exact values and at each level of the table's hierarchies."""
    found = [_match("as published", coded.truth, coded.drawn)]
    own = _parts(table.sensitive, value, coded.values)
    outer = _parts(table.quasi, groups[0], coded.groups.to_series()) if len(groups) == 1 else []
    for level in range(max(len(own), len(outer))):
        by_group = outer[min(level, len(outer) - 1)] if outer else None
        by_value = own[min(level, len(own) - 1)] if own else None
        merged = [flows.merged(by_group, by_value) for flows in (coded.truth, coded.drawn)]
        found.append(_match(f"level {level + 1}", *merged))
    return found


def _match(level: str, truth: Flows, drawn: Flows) -> LevelMatch:
    alone = total_variation(truth.of_values(), drawn.of_values())
    return LevelMatch(level, len(truth.times), total_variation(truth, drawn), alone)


def _parts(declared: Any, name: str, values: pl.Series) -> list[NDArray[np.int64]]:
    """Return the category code of every value at each hierarchy level that has more than one category."""
    recipe = declared.get(name) if isinstance(declared, dict) else None
    if not isinstance(recipe, Hierarchy):
        return []
    bound = recipe.bind(values, name)
    codes = np.asarray(bound.codes(values), dtype=np.int64)
    parts = [np.asarray(level.parts, dtype=np.int64)[codes] for level in bound.levels[1:]]
    return [each for each in parts if len(np.unique(each)) > 1]


def _median(flows: Flows, points: GeoPoints) -> float:
    """Return the median distance of the original rows."""
    distance = points.kilometres(flows)
    order = np.argsort(np.where(np.isfinite(distance), distance, np.inf))
    rows = np.cumsum(flows.times[order])
    return float(distance[order][np.searchsorted(rows, rows[-1] / 2)])


def flow_map(coded: CodedFlows, points: GeoPoints) -> Figure:
    """Return a map of the largest flows between grid squares, original next to synthetic (stacked on a narrow page)."""
    by_group, by_value, middles = on_one_grid(points)
    maps = [flows.merged(by_group, by_value) for flows in (coded.truth, coded.drawn)]
    words = (
        f"The largest {_MOST_LINES} flows between squares of a grid, as it stood and as published; a line is as thick as its share of rows. "
        f"Shares of squares differ by {total_variation(*maps):.1%}."
    )
    rows = tuple(
        (f"{name}", f"{flows.rows:,}", f"{len(flows.times):,}")
        for name, flows in zip(("as it stood", "published"), maps, strict=True)
    )
    return Figure(
        "Where flows go",
        words,
        _maps(maps, middles, words, WIDTH, across=True),
        ("map", "rows", "pairs of squares"),
        rows,
        narrow=_maps(maps, middles, words, NARROW, across=False),
    )


def _maps(maps: Sequence[Flows], middles: NDArray[np.float64], label: str, width: float, *, across: bool) -> str:
    known = np.asarray(np.isfinite(middles).all(axis=1))
    shown = [_largest(flows, known) for flows in maps]
    ends = [part[each] for flows, each in zip(maps, shown, strict=True) for part in (flows.group, flows.value)]
    drawn = middles[np.unique(np.concatenate(ends))]
    if not len(drawn):
        return picture(width, _HEAD, [], label)
    low, high = drawn.min(axis=0), drawn.max(axis=0)
    # A degree of longitude becomes shorter than a degree of latitude away from the equator.
    tall = max(float(high[0] - low[0]), 1e-9)
    wide = max(float(high[1] - low[1]) * float(np.cos(np.radians((low[0] + high[0]) / 2))), 1e-9)
    each = (width - _GAP) / 2 if across else width
    height = min((each - 2 * _EDGE) * tall / wide, 460.0)
    scale = min((each - 2 * _EDGE) / wide, height / tall)
    parts = []
    most = max(float((flows.times / max(flows.rows, 1)).max(initial=0)) for flows in maps)
    for number, (flows, title, kind) in enumerate(
        zip(maps, ("as it stood", "published"), ("before", "after"), strict=True)
    ):
        left, top = (number * (each + _GAP), _HEAD) if across else (0.0, _HEAD + number * (height + _HEAD + _GAP))

        def at(part: int, left: float = left, top: float = top) -> tuple[float, float]:
            x = left + _EDGE + (middles[part, 1] - low[1]) / max(high[1] - low[1], 1e-9) * wide * scale
            return float(x), float(top + (high[0] - middles[part, 0]) * scale)

        parts.append(text(left + _EDGE, top - 10, title, "value"))
        parts += _lines(flows, shown[number], most, kind, at)
    total = height + _HEAD + _EDGE if across else 2 * (height + _HEAD) + _GAP + _EDGE
    return picture(width, total, parts, label)


def _largest(flows: Flows, known: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the indices of the largest flows with known coordinates, in ascending order of size."""
    times = np.where(known[flows.group] & known[flows.value], flows.times, 0)
    chosen = np.argsort(-times, kind="stable")[:_MOST_LINES]
    return np.asarray(chosen[times[chosen] > 0][::-1])


def _lines(flows: Flows, shown: NDArray[np.int64], most: float, kind: str, at: Any) -> list[str]:
    """Return SVG lines for flows, the largest on top, and a dot for flows within one square."""
    parts = []
    for place in shown.tolist():
        share = int(flows.times[place]) / max(flows.rows, 1)
        start, end = at(int(flows.group[place])), at(int(flows.value[place]))
        thick = max(_WIDEST * float(np.sqrt(share / most)), 0.4)
        tip = f"{int(flows.times[place]):,} rows ({share:.2%})"
        if start == end:
            parts.append(dot(start[0], start[1], thick, kind, tip))
        else:
            parts.append(
                f'<path d="M{start[0]:.1f} {start[1]:.1f}L{end[0]:.1f} {end[1]:.1f}" class="flow {kind}" stroke-width="{thick:.1f}">'
                f"<title>{tip}</title></path>"
            )
    return parts
