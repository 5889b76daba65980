"""Segments: rows of a flat array in consecutive segments, given by offsets and lengths (CSR)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Places = NDArray[np.int64]


def starts_of(lengths: ArrayLike) -> Places:
    """The CSR offsets of segments: the start of each, and the end of the last."""
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths, dtype=np.int64)])


def places_in(starts: NDArray[Any], lengths: NDArray[Any]) -> Places:
    """The indices of some segments, concatenated: ``lengths[i]`` indices from ``starts[i]``."""
    before = np.cumsum(lengths) - lengths
    indices: Places = np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()))
    return indices


def ranks_among_equal(keys: NDArray[Any]) -> Places:
    """For each key the number of equal ones before it."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    starts = np.flatnonzero(np.append(np.ones(min(len(keys), 1), dtype=bool), ordered[1:] != ordered[:-1]))
    ranks = np.empty(len(keys), dtype=np.int64)
    ranks[order] = np.arange(len(keys)) - np.repeat(starts, np.diff(np.append(starts, len(keys))))
    return ranks
