"""Hilbert curve order: neighbours on the curve are close in every column."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reticent.base.packing import sort_equal
from reticent.methods.series._kernels import trace_curve

_BITS = 30
_FINEST = 16


def grid_bits(columns: int) -> int:
    """Return the number of bits per column, so that there are at most 2^30 cells in all."""
    return min(_FINEST, max(_BITS // max(columns, 1), 1))


def curve_order(points: NDArray[np.float64], ties: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the order of points of the unit cube (points by columns) along the curve; ties within a cell in the order ``ties``.

    A column is split into 2^b cells: about 2^30 in all are finer than any table needs, and few enough to sort quickly.
    Columns beyond the 30th are ignored.
    """
    used = min(points.shape[1], _BITS)
    if used == 0:
        return ties
    bits = grid_bits(used)
    codes = trace_curve(points[:, :used], bits)[ties]
    order: NDArray[np.int64] = ties[sort_equal(codes, 1 << (bits * used))[0]]
    return order
