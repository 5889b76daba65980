"""The public table of measured marginals: one row a cell, with its noisy count and standard error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from reticent.methods.marginals.columns import PublicColumn
from reticent.methods.marginals.noisy_table import Measurement

MEASUREMENT, COLUMNS, CELL, COUNT, ERROR = "measurement", "columns", "cell", "noisy_count", "standard_error"
OWN_COLUMNS = (MEASUREMENT, COLUMNS, CELL, COUNT, ERROR)
_SCHEMA = {MEASUREMENT: pl.Int64, COLUMNS: pl.String, CELL: pl.String, COUNT: pl.Int64, ERROR: pl.Float64}


def cell_labels(columns: Sequence[PublicColumn]) -> list[str]:
    """The label of every cell of some columns together, the last column varying fastest."""
    joined = pl.Series("cell", [""])
    for place, column in enumerate(columns):
        labels = pl.Series("label", [f"{', ' if place else ''}{column.name} = {label}" for label in column.labels])
        one = joined.gather(np.repeat(np.arange(len(joined)), len(labels)))
        other = labels.gather(np.tile(np.arange(len(labels)), len(joined)))
        joined = one + other
    return joined.to_list()


def marginal_table(measurements: Sequence[Measurement], columns: Mapping[str, PublicColumn]) -> pl.DataFrame:
    """All measurements below one another, numbered from 1."""
    parts = [
        pl.DataFrame(
            {
                MEASUREMENT: np.full(len(each.counts), number),
                COLUMNS: [", ".join(each.columns)] * len(each.counts),
                CELL: cell_labels([columns[name] for name in each.columns]),
                COUNT: each.counts,
                ERROR: np.full(len(each.counts), each.deviation),
            },
            schema=_SCHEMA,
        )
        for number, each in enumerate(measurements, 1)
    ]
    return pl.concat(parts)
