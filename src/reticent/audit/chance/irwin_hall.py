"""The distribution of the sum of m independent uniform values on [0, 1], without cancellation.

The textbook formula alternates in sign and loses all digits beyond m = 20. Here every term is positive: the density for
m + 1 is a mixture of that for m at two points (the recurrence of B-splines), so the relative error grows only like m
units in the last place. The distribution function is a sum of densities: ``F_m(x) = f_{m+1}(x) + f_{m+1}(x-1) + ...``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]


def density(m: int, values: ArrayLike) -> FloatArray:
    """Return the density of the sum of ``m`` >= 1 uniform values.

    Points that differ by integers (up to 10^-12) share one computation, so a regular grid is cheap.
    """
    points = np.atleast_1d(np.asarray(values, dtype=float))
    below = np.floor(points)
    parts, index_of = np.unique(np.round(points - below, 12), return_inverse=True)
    highest = below.max(initial=0.0)
    table = _shifted(m, highest + parts, int(highest - below.min(initial=highest)) + 1)
    return np.asarray(table[index_of, (highest - below).astype(np.int64)])


def cumulative(m: int, values: ArrayLike) -> FloatArray:
    """Return the probability that the sum of ``m`` >= 0 uniform values is at most each value."""
    points = np.atleast_1d(np.asarray(values, dtype=float))
    if m == 0:
        return (points >= 0).astype(float)
    mirrored = points > m / 2
    nearer = np.clip(np.where(mirrored, m - points, points), 0.0, None)
    shifts = int(np.floor(nearer.max(initial=0.0))) + 1
    below = _shifted(m + 1, nearer, shifts).sum(axis=1)
    return np.asarray(np.where(mirrored, 1 - below, below))


def _shifted(m: int, points: FloatArray, shifts: int) -> FloatArray:
    """Return the density of the sum of ``m`` values at ``x, x-1, ..., x-shifts+1``, one row per point."""
    offsets = points[:, None] - np.arange(m + shifts - 1)
    table = ((offsets >= 0) & (offsets < 1)).astype(float)
    for k in range(2, m + 1):
        positions = offsets[:, : m + shifts - k]
        # Outside [0, k] both densities vanish; the clipped weights keep every term non-negative.
        table = (np.clip(positions, 0, None) * table[:, :-1] + np.clip(k - positions, 0, None) * table[:, 1:]) / (k - 1)
    return table
