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
    return [_column(each, frame[each.name]) for each in profile(frame, context)]


def _column(found: ColumnProfile, series: pl.Series) -> dict[str, Any]:
    return {
        "name": found.name,
        "type": found.type,
        "rows": found.rows,
        "distinct": found.distinct,
        "missing": found.nulls,
        "single": found.single,
        "uniqueness": float(found.uniqueness),
        "lowest": cell_text(found.lowest),
        "highest": cell_text(found.highest),
        "missing_words": list(found.missing_words),
        "missing_codes": list(found.missing_codes),
        "hidden": found.hidden,
        "chart": chart_of(found, series),
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
    low, high = (float(each) for each in np.quantile(values, [0.005, 0.995], method="nearest"))
    whole = kind in ("integer", "date")
    if whole:
        step = max(1.0, np.ceil((high - low + 1) / count))
        edges = low + step * np.arange(int(np.ceil((high - low + 1) / step)) + 1)
    else:
        edges = np.linspace(low, high if high > low else low + 1, count + 1)
    held = np.histogram(np.clip(values, edges[0], np.nextafter(edges[-1], -np.inf)), edges)[0]
    outside = bool(values.min() < low), bool(values.max() > high)
    return {
        "kind": "bins",
        "edges": [float(each) for each in edges],
        "labels": _bin_labels(edges, kind, outside),
        "ends": _end_labels(low, high, kind, outside),
        "counts": [int(each) for each in held],
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
    return ("or earlier", "or later") if kind in ("date", "timestamp") else ("or less", "or more")


def _edge_labels(values: Sequence[float], kind: str) -> list[str]:
    """Format values of a histogram alike. Years and codes read better without separators."""
    if kind == "date":
        return [str(datetime.date(1970, 1, 1) + datetime.timedelta(days=int(each))) for each in values]
    if kind == "timestamp":
        return [str(datetime.datetime.fromtimestamp(each / 1000, datetime.UTC).date()) for each in values]
    if max(abs(each) for each in values) >= _GROUPED:
        return [f"{each:,.0f}" for each in values]
    return [f"{each:.0f}" if kind == "integer" else f"{each:.4g}" for each in values]


def profiles(reporter: Reporter, folder: str, policy: str, stamp: str = "") -> dict[str, Any]:
    """Return the profile of every column of the file."""
    frame = frame_of(folder, policy)
    return {"rows": frame.height, "columns": profile_columns(frame, reporter.context())}


def exposure(reporter: Reporter, folder: str, policy: str, stamp: str = "") -> dict[str, Any]:
    """Return the re-identification risk in the unprotected table and the contribution of each column; contains no individual values."""
    table, context = table_of(folder, policy), reporter.context()
    if not table.quasi:
        return {"sets": [], "rows": table.rows}
    seen = exposures(table, (), 0, context=context)
    risks = risk_views(table, _SETS, context=context)
    return {
        "rows": table.rows,
        "several_rows": bool(table.several_rows),
        "sets": [
            {
                "columns": list(each.columns),
                "rows": each.rows,
                "groups": each.groups,
                "k": each.k,
                "unique": each.unique_rows,
                "success": float(each.success),
                "homogeneous": each.homogeneous_rows,
                "drivers": [
                    {
                        "column": one.column,
                        "values": one.values,
                        "alone": one.alone,
                        "drives": one.drives,
                        "adds": float(one.adds),
                        "success_without": float(one.success_without),
                    }
                    for one in risk.columns
                ],
                "combinations": [
                    {
                        "columns": list(one.columns),
                        "combinations": one.combinations,
                        "alone": one.alone,
                        "separation": float(one.separation),
                    }
                    for one in risk.sets
                ],
            }
            for each, risk in zip(seen, risks, strict=True)
        ],
    }


def exposed(reporter: Reporter, folder: str, policy: str, count: int = 8, stamp: str = "") -> dict[str, Any]:
    """Return the most exposed groups of people, with their values (on explicit request of the steward)."""
    table = table_of(folder, policy)
    return {
        "sets": [
            {
                "columns": list(each.columns),
                "groups": [
                    {
                        "quasi": {name: label_text(label) for name, label in one.quasi.items()},
                        "people": one.people,
                        "histogram": [[label_text(label), times] for label, times in one.histogram.items()],
                    }
                    for one in each.exposed
                ],
            }
            for each in exposures(table, (), min(count, _MOST_EXPOSED), context=reporter.context())
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
    place = list(table.quasi).index(column)
    frequencies = count_table(table, reporter.context(), sensitive=False)
    kept = frequencies.hierarchies[place]
    rows = np.bincount(frequencies.codes[place], weights=frequencies.sizes, minlength=kept.size)
    bound, leaf = (kept, np.arange(kept.size)) if description is None else _rebound(kept, rows > 0, description, folder)
    rest = [each for each in range(len(table.quasi)) if each != place]
    nobody = np.zeros(len(frequencies), np.int32)
    others, count = frequencies.group_ids(frequencies.levels, rest) if rest else (nobody, 1)
    here = leaf[frequencies.codes[place]]
    held = np.bincount(here, weights=frequencies.sizes, minlength=bound.size)
    levels = [_level(number, level, here, others, count, held) for number, level in enumerate(bound.levels)]
    return {
        "column": column,
        "leaves": kept.size,
        "levels": levels,
        "lowest": bound.lowest,
        "highest": bound.height,
        "numeric": kept.is_numeric,
        "rows": int(rows.sum()),
        "values": _leaves(kept, rows),
        "paths": _paths(bound, held),
    }


def _paths(bound: BoundHierarchy, held: _Array) -> list[list[str]]:
    """Return every occurring value with its label on each level except full suppression; empty if there are too many values to edit one by one."""
    used = np.flatnonzero(held)
    if len(used) > _EDITABLE:
        return []
    top = bound.levels[-1]
    inner = bound.levels[:-1] if len(bound.levels) > 1 and len(np.unique(top.parts[used])) == 1 else bound.levels
    return [[str(level.labels[int(level.parts[leaf])]) for level in inner] for leaf in used if leaf != bound.null_leaf]


def _leaves(kept: BoundHierarchy, rows: _Array) -> list[dict[str, Any]]:
    """Return the values with their row counts, in domain order; only the most frequent ones if there are many."""
    used = np.flatnonzero(rows)
    order = used if len(used) <= _EDITABLE else np.sort(np.argsort(-rows, kind="stable")[:_EDITABLE])
    return [{"value": cell_text(kept.leaves[int(each)]), "rows": int(rows[each])} for each in order]


def _level(number: int, level: Level, leaf: _Array, others: _Array, count: int, held: _Array) -> dict[str, Any]:
    """Return one level: its labels with row counts, and the number of distinct quasi-identifier combinations if the column is published at it."""
    rows = np.bincount(level.parts, weights=held, minlength=level.size)
    used = np.flatnonzero(rows)
    order = used if len(used) <= _MOST_LABELS else used[np.argsort(-rows[used], kind="stable")[:_MOST_LABELS]]
    return {
        "level": number,
        "size": len(used),
        "combinations": len(np.unique(level.parts[leaf].astype(np.int64) * count + others)),
        "values": [{"label": label_text(str(level.labels[int(each)])), "rows": int(rows[each])} for each in order],
        "more": len(used) - len(order),
    }


def _rebound(
    kept: BoundHierarchy, occurs: _Array, description: Mapping[str, Any], folder: str
) -> tuple[BoundHierarchy, _Array]:
    """Bind another hierarchy to the values of a column; return it with the new leaf index of every old leaf that occurs."""
    made = hierarchy_from(description, f"column {kept.column!r}", folder)
    missing = kept.null_leaf is not None and bool(occurs[kept.null_leaf])
    filled = np.flatnonzero(occurs & (np.arange(kept.size) != (-1 if kept.null_leaf is None else kept.null_leaf)))
    values = kept.leaves.gather(filled)
    bound = made.bind(values, kept.column)
    leaf = np.zeros(kept.size, dtype=np.int64)
    leaf[filled] = bound.codes(values)
    if missing:
        bound = bound.with_null_leaf()
        leaf[kept.null_leaf] = bound.size - 1
    return bound, leaf
