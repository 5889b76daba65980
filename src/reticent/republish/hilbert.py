"""Places on a Hilbert curve: an order of points in which neighbours are near in every column."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reticent.republish._kernels import trace_curve

_BITS = 62
_FINEST = 16


def hilbert_places(points: NDArray[np.float64]) -> NDArray[np.int64]:
    """The place on the curve of each point of the unit cube (points by columns); points outside are clipped.

    A column is cut into 2^b cells, with as many bits as fit into one machine word.
    """
    count, columns = points.shape
    used = min(columns, _BITS)
    if used == 0:
        return np.zeros(count, dtype=np.int64)
    bits = max(1, min(_FINEST, _BITS // used))
    cells = np.clip(points[:, :used] * (1 << bits), 0, (1 << bits) - 1).astype(np.int64)
    places: NDArray[np.int64] = trace_curve(cells, bits)
    return places
