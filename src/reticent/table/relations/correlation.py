"""Correlations of many rows of numbers at once, some of which are missing or wrong."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from reticent.table.relations.relation import Numbers

_BLOCK, _FEWEST = 8, 6
_TYPICAL = 0.6


def by_blocks(measure: Callable[[Numbers, Numbers], Numbers], ones: Numbers, others: Numbers) -> Numbers:
    """What a measure finds in typical blocks of eight places: better than in three fifths of them. One wrong value in forty spoils a fifth of the blocks, and not the answer."""
    many = max(ones.shape[1] // _BLOCK, 1)
    found = [
        measure(one, other)
        for one, other in zip(np.array_split(ones, many, axis=1), np.array_split(others, many, axis=1), strict=True)
    ]
    return np.quantile(np.array(found), _TYPICAL, axis=0)


def correlations(ones: Numbers, others: Numbers) -> Numbers:
    """The correlation of every row of ``ones`` with every row of ``others``, over the places where both are known; 0 where one of them hardly varies there."""
    x_known, y_known = ((~np.isnan(each)).astype(np.float64) for each in (ones, others))
    with np.errstate(all="ignore"):
        x, y = (_standardized(each) for each in (ones, others))
        many = x_known @ y_known.T
        x_sum, y_sum = x @ y_known.T, x_known @ y.T
        product = x @ y.T - x_sum * y_sum / many
        x_square = x**2 @ y_known.T - x_sum**2 / many
        y_square = x_known @ (y**2).T - y_sum**2 / many
        found: Numbers = product / np.sqrt(x_square * y_square)
    varies = (many >= _FEWEST) & (x_square > 1e-9) & (y_square > 1e-9)
    return np.where(varies, found, 0.0)


def _standardized(rows: Numbers) -> Numbers:
    """Rows with mean 0 and variance 1 where they are known, and 0 elsewhere."""
    known = ~np.isnan(rows)
    many = np.maximum(known.sum(axis=1, keepdims=True), 1)
    filled = np.where(known, rows, 0.0)
    centred = np.where(known, filled - filled.sum(axis=1, keepdims=True) / many, 0.0)
    scale = np.sqrt((centred**2).sum(axis=1, keepdims=True) / many)
    # What varies beyond all numbers, such as the exponential of a large one, is left out.
    return np.where(np.isfinite(scale), centred / np.where(scale > 0, scale, 1.0), 0.0)
