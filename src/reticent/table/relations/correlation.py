"""Correlations of many rows of numbers at once, some of which are missing or wrong."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from reticent.table.relations.relation import Numbers

_BLOCK, _FEWEST = 8, 6
_TYPICAL = 0.6


def by_blocks(measure: Callable[[Numbers, Numbers], Numbers], left: Numbers, right: Numbers) -> Numbers:
    """Return a robust value of ``measure``: columns are split into blocks of eight, and the 60 % quantile over the
    blocks is taken.

    One wrong value in forty spoils a fifth of the blocks, and not the result. The measure gets all blocks at once, as a
    leading axis; blocks of unequal width are filled up with unknown values.
    """
    count = max(left.shape[1] // _BLOCK, 1)
    return np.quantile(measure(_blocks(left, count), _blocks(right, count)), _TYPICAL, axis=0)


def _blocks(rows: Numbers, count: int) -> Numbers:
    """Split the columns into ``count`` blocks of nearly equal width: an array of shape (blocks, rows, width)."""
    width, wider = divmod(rows.shape[1], count)
    starts = np.arange(count) * width + np.minimum(np.arange(count), wider)
    columns = starts[:, None] + np.arange(width + 1)
    columns[wider:, width] = rows.shape[1]
    padded = np.concatenate([rows, np.full((len(rows), 1), np.nan)], axis=1)
    return padded[:, columns].swapaxes(0, 1)


def correlations(left: Numbers, right: Numbers) -> Numbers:
    """Correlate every row of ``left`` with every row of ``right`` over the columns where both are known; 0 where one of them hardly varies there.

    Leading axes are batches.
    """
    x_known, y_known = ((~np.isnan(rows)).astype(np.float64) for rows in (left, right))
    with np.errstate(all="ignore"):
        x, y = (_standardized(rows) for rows in (left, right))
        y_known_t = y_known.swapaxes(-1, -2)
        counts = x_known @ y_known_t
        x_sum, y_sum = x @ y_known_t, x_known @ y.swapaxes(-1, -2)
        product = x @ y.swapaxes(-1, -2) - x_sum * y_sum / counts
        x_square = x**2 @ y_known_t - x_sum**2 / counts
        y_square = x_known @ (y**2).swapaxes(-1, -2) - y_sum**2 / counts
        correlation: Numbers = product / np.sqrt(x_square * y_square)
    varies = (counts >= _FEWEST) & (x_square > 1e-9) & (y_square > 1e-9)
    return np.where(varies, correlation, 0.0)


def _standardized(rows: Numbers) -> Numbers:
    """Rows with mean 0 and variance 1 where they are known, and 0 elsewhere."""
    is_known = ~np.isnan(rows)
    counts = np.maximum(is_known.sum(axis=-1, keepdims=True), 1)
    filled = np.where(is_known, rows, 0.0)
    centred = np.where(is_known, filled - filled.sum(axis=-1, keepdims=True) / counts, 0.0)
    scale = np.sqrt((centred**2).sum(axis=-1, keepdims=True) / counts)
    # Rows whose variance overflows, such as exponentials of large numbers, are set to 0.
    return np.where(np.isfinite(scale), centred / np.where(scale > 0, scale, 1.0), 0.0)
