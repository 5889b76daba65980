"""Tasks of the page Columns: distributions, exposure by column, and the levels of a hierarchy."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from reticent.engine import count_table
from reticent.propose import ColumnProfile, exposures, profile, risk_views
from reticent.table import BoundHierarchy, Level, hierarchy_from
from reticent.workbench.tasks.data import cell_text, label_text
from reticent.workbench.tasks.opened import frame_of, table_of
from reticent.workbench.worker import Reporter

_BINS, _TOP = 24, 8
_Array = np.ndarray[Any, Any]
_MOST_LABELS = 60
_SETS = 12
_EDITABLE = 1000
_MOST_EXPOSED = 50
_GROUPED = 10_000


def profile_columns(frame: pl.DataFrame, context: Any = None) -> list[dict[str, Any]]:
    """Return a profile of every column: content, how far it singles people out, and distribution."""
    return [_column(column_profile, frame[column_profile.name]) for column_profile in profile(frame, context)]


def _column(column_profile: ColumnProfile, series: pl.Series) -> dict[str, Any]:
    """Return the profile of one column as JSON-compatible data, with the chart of its distribution."""
    return {
        "name": column_profile.name,
        "type": column_profile.type,
        "rows": column_profile.rows,
        "distinct": column_profile.distinct,
        "missing": column_profile.nulls,
        "single": column_profile.single,
        "uniqueness": float(column_profile.uniqueness),
        "lowest": cell_text(column_profile.lowest),
        "highest": cell_text(column_profile.highest),
        "missing_words": list(column_profile.missing_words),
        "missing_codes": list(column_profile.missing_codes),
        "hidden": column_profile.hidden,
        "chart": chart_of(column_profile, series),
    }


def chart_of(found: ColumnProfile, series: pl.Series) -> dict[str, Any]:
    """Return the distribution: bins for numbers and dates, otherwise the most frequent values and the number of remaining rows."""
    if found.distinct == 0:
        return {"kind": "none"}
    if found.type in ("integer", "number", "date", "timestamp") and found.distinct > _TOP:
        return bins_of(series, found.type)
    top = [
        {"label": cell_text(value), "count": count}
        for value, count in zip(found.sample.head(_TOP).to_list(), found.times[:_TOP], strict=True)
    ]
    return {"kind": "values", "values": top, "others": found.filled - sum(found.times[:_TOP])}


def bins_of(series: pl.Series, kind: str, count: int = _BINS) -> dict[str, Any]:
    """Return counts in equal-width bins between the 0.5 % and 99.5 % quantiles; outliers count in the first and last bin."""
    values = on_line(series, kind)
    values = values[np.isfinite(values)]
    if not len(values):
        return {"kind": "none"}
    low, high = (float(value) for value in np.quantile(values, [0.005, 0.995], method="nearest"))
    whole = kind in ("integer", "date")
    if whole:
        step = max(1.0, np.ceil((high - low + 1) / count))
        edges = low + step * np.arange(int(np.ceil((high - low + 1) / step)) + 1)
    else:
        edges = np.linspace(low, high if high > low else low + 1, count + 1)
    counts = np.histogram(np.clip(values, edges[0], np.nextafter(edges[-1], -np.inf)), edges)[0]
    outside = bool(values.min() < low), bool(values.max() > high)
    return {
        "kind": "bins",
        "edges": [float(value) for value in edges],
        "labels": _bin_labels(edges, kind, outside),
        "ends": _end_labels(low, high, kind, outside),
        "counts": [int(value) for value in counts],
    }


def on_line(series: pl.Series, kind: str) -> _Array:
    """Return values as numbers: dates as days and timestamps as milliseconds since 1970, missing values as NaN."""
    if kind == "timestamp":
        series = series.dt.epoch("ms")
    elif kind == "date":
        series = series.dt.epoch("d")
    return series.cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy()


def _bin_labels(edges: _Array, kind: str, outside: tuple[bool, bool]) -> list[str]:
    """Return the values that each bin holds, in words: ``5 to 8``. The first and the last bin hold the values ``outside`` the edges, too."""
    last = 1 if kind in ("integer", "date") else 0
    labels = []
    for low, high in pairwise(edges):
        first_text, last_text = _edge_labels((low, high - last), kind)
        labels.append(first_text if first_text == last_text else f"{first_text} to {last_text}")
    less, more = _beyond(kind)
    if outside[0]:
        labels[0] = f"{_edge_labels((edges[1] - last,), kind)[0]} {less}"
    if outside[1]:
        labels[-1] = f"{_edge_labels((edges[-2],), kind)[0]} {more}"
    return labels


def _end_labels(low: float, high: float, kind: str, outside: tuple[bool, bool]) -> list[str]:
    """Return the labels of both ends of a histogram."""
    texts, words = _edge_labels((low, high), kind), _beyond(kind)
    return [f"{text} {word}" if beyond else text for text, word, beyond in zip(texts, words, outside, strict=True)]


def _beyond(kind: str) -> tuple[str, str]:
    """Return the words for values below the first and above the last bin."""
    return ("or earlier", "or later") if kind in ("date", "timestamp") else ("or less", "or more")


def _edge_labels(values: Sequence[float], kind: str) -> list[str]:
    """Format values of a histogram alike. Years and codes read better without separators."""
    if kind == "date":
        return [str(datetime.date(1970, 1, 1) + datetime.timedelta(days=int(value))) for value in values]
    if kind == "timestamp":
        return [str(datetime.datetime.fromtimestamp(value / 1000, datetime.UTC).date()) for value in values]
    if max(abs(value) for value in values) >= _GROUPED:
        return [f"{value:,.0f}" for value in values]
    return [f"{value:.0f}" if kind == "integer" else f"{value:.4g}" for value in values]


def profiles(reporter: Reporter, folder: str, policy: str, stamp: str = "") -> dict[str, Any]:
    """Return the profile of every column of the file."""
    frame = frame_of(folder, policy)
    return {"rows": frame.height, "columns": profile_columns(frame, reporter.context())}


def exposure(reporter: Reporter, folder: str, policy: str, stamp: str = "") -> dict[str, Any]:
    """Return the re-identification risk in the unprotected table, for each set of columns that an adversary may know.

    It includes how much each column and combination contributes, and no individual values.
    """
    table, context = table_of(folder, policy), reporter.context()
    if not table.quasi:
        return {"sets": [], "rows": table.rows}
    known_sets = exposures(table, (), 0, context=context)
    risks = risk_views(table, _SETS, context=context)
    return {
        "rows": table.rows,
        "several_rows": bool(table.several_rows),
        "sets": [
            {
                "columns": list(known_set.columns),
                "rows": known_set.rows,
                "groups": known_set.groups,
                "k": known_set.k,
                "unique": known_set.unique_rows,
                "success": float(known_set.success),
                "homogeneous": known_set.homogeneous_rows,
                "drivers": [
                    {
                        "column": column.column,
                        "values": column.values,
                        "alone": column.alone,
                        "drives": column.drives,
                        "adds": float(column.adds),
                        "success_without": float(column.success_without),
                    }
                    for column in risk.columns
                ],
                "combinations": [
                    {
                        "columns": list(combination.columns),
                        "combinations": combination.combinations,
                        "alone": combination.alone,
                        "separation": float(combination.separation),
                    }
                    for combination in risk.sets
                ],
            }
            for known_set, risk in zip(known_sets, risks, strict=True)
        ],
    }


def exposed(reporter: Reporter, folder: str, policy: str, count: int = 8, stamp: str = "") -> dict[str, Any]:
    """Return the most exposed groups of people, with their values (on explicit request of the steward)."""
    table = table_of(folder, policy)
    return {
        "sets": [
            {
                "columns": list(known_set.columns),
                "groups": [
                    {
                        "quasi": {name: label_text(label) for name, label in group.quasi.items()},
                        "people": group.people,
                        "histogram": [[label_text(label), times] for label, times in group.histogram.items()],
                    }
                    for group in known_set.exposed
                ],
            }
            for known_set in exposures(table, (), min(count, _MOST_EXPOSED), context=reporter.context())
        ]
    }


def hierarchy(
    reporter: Reporter,
    folder: str,
    policy: str,
    column: str,
    description: Mapping[str, Any] | None = None,
    stamp: str = "",
) -> dict[str, Any]:
    """Return the levels of a column's hierarchy, or of an unsaved ``description``: labels, rows per label, and the number of distinct combinations."""
    table = table_of(folder, policy)
    index = list(table.quasi).index(column)
    frequencies = count_table(table, reporter.context(), sensitive=False)
    current = frequencies.hierarchies[index]
    rows = np.bincount(frequencies.codes[index], weights=frequencies.sizes, minlength=current.size)
    bound, leaf = (
        (current, np.arange(current.size)) if description is None else _rebound(current, rows > 0, description, folder)
    )
    other_columns = [column_index for column_index in range(len(table.quasi)) if column_index != index]
    one_group = np.zeros(len(frequencies), np.int32)
    other_groups, group_count = (
        frequencies.group_ids(frequencies.levels, other_columns) if other_columns else (one_group, 1)
    )
    leaf_by_group = leaf[frequencies.codes[index]]
    leaf_rows = np.bincount(leaf_by_group, weights=frequencies.sizes, minlength=bound.size)
    levels = [
        _level(number, level, leaf_by_group, other_groups, group_count, leaf_rows)
        for number, level in enumerate(bound.levels)
    ]
    return {
        "column": column,
        "leaves": current.size,
        "levels": levels,
        "lowest": bound.lowest,
        "highest": bound.height,
        "numeric": current.is_numeric,
        "rows": int(rows.sum()),
        "values": _leaves(current, rows),
        "paths": _paths(bound, leaf_rows),
    }


def _paths(bound: BoundHierarchy, leaf_rows: _Array) -> list[list[str]]:
    """Return every occurring value with its label on each level except full suppression; empty if there are too many values to edit one by one.

    ``leaf_rows`` holds the number of rows of each value (leaf of the hierarchy).
    """
    used = np.flatnonzero(leaf_rows)
    if len(used) > _EDITABLE:
        return []
    top = bound.levels[-1]
    inner = bound.levels[:-1] if len(bound.levels) > 1 and len(np.unique(top.parts[used])) == 1 else bound.levels
    return [[str(level.labels[int(level.parts[leaf])]) for level in inner] for leaf in used if leaf != bound.null_leaf]


def _leaves(bound: BoundHierarchy, rows: _Array) -> list[dict[str, Any]]:
    """Return the values with their row counts, in domain order; only the most frequent ones if there are many."""
    used = np.flatnonzero(rows)
    order = used if len(used) <= _EDITABLE else np.sort(np.argsort(-rows, kind="stable")[:_EDITABLE])
    return [{"value": cell_text(bound.leaves[int(leaf)]), "rows": int(rows[leaf])} for leaf in order]


def _level(
    number: int, level: Level, leaf_by_group: _Array, other_groups: _Array, group_count: int, leaf_rows: _Array
) -> dict[str, Any]:
    """Return one level: its labels with row counts, and the number of distinct quasi-identifier combinations if the column is published at it.

    For each distinct combination, ``leaf_by_group`` is the column's value index and ``other_groups`` the group (below ``group_count``) of all other columns.
    """
    rows = np.bincount(level.parts, weights=leaf_rows, minlength=level.size)
    used = np.flatnonzero(rows)
    order = used if len(used) <= _MOST_LABELS else used[np.argsort(-rows[used], kind="stable")[:_MOST_LABELS]]
    return {
        "level": number,
        "size": len(used),
        "combinations": len(np.unique(level.parts[leaf_by_group].astype(np.int64) * group_count + other_groups)),
        "values": [
            {"label": label_text(str(level.labels[int(label_index)])), "rows": int(rows[label_index])}
            for label_index in order
        ],
        "more": len(used) - len(order),
    }


def _rebound(
    current: BoundHierarchy, occurs: _Array, description: Mapping[str, Any], folder: str
) -> tuple[BoundHierarchy, _Array]:
    """Bind another hierarchy to the values of a column; return it with the new leaf index of every old leaf that occurs.

    ``occurs`` is a mask over the leaves (values) of the current hierarchy.
    """
    unbound = hierarchy_from(description, f"column {current.column!r}", folder)
    has_missing = current.null_leaf is not None and bool(occurs[current.null_leaf])
    filled = np.flatnonzero(
        occurs & (np.arange(current.size) != (-1 if current.null_leaf is None else current.null_leaf))
    )
    values = current.leaves.gather(filled)
    bound = unbound.bind(values, current.column)
    leaf = np.zeros(current.size, dtype=np.int64)
    leaf[filled] = bound.codes(values)
    if has_missing:
        bound = bound.with_null_leaf()
        leaf[current.null_leaf] = bound.size - 1
    return bound, leaf
