"""The public table of measured marginals: one row per cell, with its noisy count and standard error."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from reticent.methods.marginals.noisy_table import Measurement
from reticent.methods.noisy_columns import PublicColumn, cell_labels

MEASUREMENT, COLUMNS, CELL, COUNT, ERROR = "measurement", "columns", "cell", "noisy_count", "standard_error"
OWN_COLUMNS = (MEASUREMENT, COLUMNS, CELL, COUNT, ERROR)
_SCHEMA = {MEASUREMENT: pl.Int64, COLUMNS: pl.String, CELL: pl.String, COUNT: pl.Int64, ERROR: pl.Float64}


def marginal_table(
    measurements: Sequence[Measurement], counted_columns: Callable[[Sequence[str]], list[PublicColumn]]
) -> pl.DataFrame:
    """All measurements concatenated, numbered from 1; ``counted_columns`` are the columns of a measurement with the cells that it counts."""
    parts = [
        pl.DataFrame(
            {
                MEASUREMENT: np.full(len(measurement.counts), number),
                COLUMNS: [", ".join(measurement.columns)] * len(measurement.counts),
                CELL: cell_labels(counted_columns(measurement.columns)),
                COUNT: measurement.counts,
                ERROR: np.full(len(measurement.counts), measurement.deviation),
            },
            schema=_SCHEMA,
        )
        for number, measurement in enumerate(measurements, 1)
    ]
    return pl.concat(parts)
