"""Correlations of many rows of numbers at once, some of which are missing or wrong."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from reticent.table.relations.relation import Numbers

_BLOCK, _FEWEST = 8, 6
_TYPICAL = 0.6


def by_blocks(measure: Callable[[Numbers, Numbers], Numbers], ones: Numbers, others: Numbers) -> Numbers:
    """Measure typical blocks of eight columns: the value that three fifths of the blocks stay below.

    One wrong value in forty spoils a fifth of the blocks, and not the answer. The measure gets all blocks at once, as a leading axis; blocks of unequal width are filled up with unknown values.
    """
    count = max(ones.shape[1] // _BLOCK, 1)
    return np.quantile(measure(_blocks(ones, count), _blocks(others, count)), _TYPICAL, axis=0)


def _blocks(rows: Numbers, count: int) -> Numbers:
    """Split the columns into ``count`` blocks of nearly equal width: an array of shape (blocks, rows, width)."""
    width, wider = divmod(rows.shape[1], count)
    starts = np.arange(count) * width + np.minimum(np.arange(count), wider)
    places = starts[:, None] + np.arange(width + 1)
    places[wider:, width] = rows.shape[1]
    padded = np.concatenate([rows, np.full((len(rows), 1), np.nan)], axis=1)
    return padded[:, places].swapaxes(0, 1)


def correlations(ones: Numbers, others: Numbers) -> Numbers:
    """Correlate every row of ``ones`` with every row of ``others`` over the columns where both are known; 0 where one of them hardly varies there.

    Leading axes are batches.
    """
    x_known, y_known = ((~np.isnan(each)).astype(np.float64) for each in (ones, others))
    with np.errstate(all="ignore"):
        x, y = (_standardized(each) for each in (ones, others))
        y_known_t = y_known.swapaxes(-1, -2)
        many = x_known @ y_known_t
        x_sum, y_sum = x @ y_known_t, x_known @ y.swapaxes(-1, -2)
        product = x @ y.swapaxes(-1, -2) - x_sum * y_sum / many
        x_square = x**2 @ y_known_t - x_sum**2 / many
        y_square = x_known @ (y**2).swapaxes(-1, -2) - y_sum**2 / many
        correlation: Numbers = product / np.sqrt(x_square * y_square)
    varies = (many >= _FEWEST) & (x_square > 1e-9) & (y_square > 1e-9)
    return np.where(varies, correlation, 0.0)


def _standardized(rows: Numbers) -> Numbers:
    """Rows with mean 0 and variance 1 where they are known, and 0 elsewhere."""
    known = ~np.isnan(rows)
    many = np.maximum(known.sum(axis=-1, keepdims=True), 1)
    filled = np.where(known, rows, 0.0)
    centred = np.where(known, filled - filled.sum(axis=-1, keepdims=True) / many, 0.0)
    scale = np.sqrt((centred**2).sum(axis=-1, keepdims=True) / many)
    # Rows whose variance overflows, such as exponentials of large numbers, are set to 0.
    return np.where(np.isfinite(scale), centred / np.where(scale > 0, scale, 1.0), 0.0)
