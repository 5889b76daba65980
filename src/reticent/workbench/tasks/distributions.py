"""The distribution of each column before and after publication, over the same values: a published label counts evenly for the values that it covers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.reports import Preview
from reticent.table import LeafIndex, Meaning, Table
from reticent.workbench.tasks.columns import bins_of, on_line
from reticent.workbench.tasks.data import cell_text, type_name

_BARS = 8
_MOST_VALUES = 20_000


def distributions(table: Table, made: Preview) -> list[dict[str, Any]]:
    """Return a chart with both distributions for every published column; none of streamed tables, and none of columns with very many values."""
    if table.streamed:
        return []
    labels_by_column = {column.name: column.labels for column in made.side.manifest.columns}
    published = made.side.frame
    charts = []
    for name in (*table.quasi, *table.sensitive):
        if name not in published.columns:
            continue
        counted = table.frame[name].value_counts(sort=True, name="times")
        if counted.height <= _MOST_VALUES:
            after = spread(counted[name], published[name], labels_by_column.get(name) or {})
            charts.append({"column": name, **_chart(table.frame[name], counted, after)})
    return charts


def spread(values: pl.Series, published: pl.Series, meanings: Mapping[str, Meaning]) -> NDArray[np.float64]:
    """Return how many published rows count for each of the ``values``: a row counts for its value, or in equal parts for all that its label covers."""
    index, totals = LeafIndex.of(values, values.name), np.zeros(len(values))
    position_by_text = {cell_text(value): position for position, value in enumerate(values.to_list())}
    counted = published.value_counts(name="times")
    for label, times in zip(counted[published.name].to_list(), counted["times"].to_list(), strict=True):
        meaning = meanings.get(label) if isinstance(label, str) else None
        if meaning is not None:
            covered = meaning.covers(index)
            totals[covered] += times / max(len(covered), 1)
        elif (position := position_by_text.get(cell_text(label))) is not None:
            totals[position] += times
    return totals


def _chart(series: pl.Series, counted: pl.DataFrame, after: NDArray[np.float64]) -> dict[str, Any]:
    """Return bins for numbers and dates with many values, else the most frequent values; each with its rows before and after."""
    values, kind = counted[series.name], type_name(series.dtype)
    if kind in ("integer", "number", "date", "timestamp") and counted.height > _BARS:
        chart = bins_of(series, kind)
        if chart["kind"] == "bins":
            line = on_line(values, kind)
            known, edges = np.isfinite(line), np.array(chart["edges"])
            inside = np.clip(line[known], edges[0], np.nextafter(edges[-1], -np.inf))
            after_counts = np.histogram(inside, edges, weights=after[known])[0]
            return {**chart, "after": [float(count) for count in after_counts]}
    times = counted["times"].to_numpy()
    return {
        "kind": "values",
        "labels": [cell_text(value) or "missing" for value in values.head(_BARS).to_list()],
        "counts": [int(count) for count in times[:_BARS]],
        "after": [float(count) for count in after[:_BARS]],
        "others": [int(times[_BARS:].sum()), float(after[_BARS:].sum())],
    }
