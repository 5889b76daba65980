"""Grouping by several small-integer columns at once: pack them into one key, then number the distinct keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.data.hierarchy import Codes

_LARGEST_KEY = 2**62


def pack(codes: Sequence[Codes], sizes: Sequence[int], length: int) -> tuple[NDArray[Any], int]:
    """One integer per row that tells apart the rows that differ in any column, and the size of the key space.

    Columns whose product overflows a key are renumbered on the way (so 24 columns work as well as two).
    """
    keys: Any = np.zeros(length, dtype=np.int32)
    space = 1
    for column, size in zip(codes, sizes, strict=True):
        if space * size >= _LARGEST_KEY:
            keys, space = number(keys, space)
        dtype = np.int32 if space * size < 2**31 else np.int64
        packed: Any = keys * dtype(size) if space > 1 else np.zeros(length, dtype=dtype)
        packed += column
        keys, space = packed, space * size
    return keys, space


def is_dense(space: int, length: int) -> bool:
    """Whether a table over the whole key space is cheaper than sorting the keys."""
    return space <= max(16 * length, 1 << 14)


def number(keys: NDArray[Any], space: int) -> tuple[NDArray[Any], int]:
    """Distinct keys numbered from 0 in the order of the keys: the number of each key, and how many there are."""
    if is_dense(space, len(keys)):
        present = np.zeros(space, dtype=bool)
        present[keys] = True
        lookup = np.cumsum(present, dtype=np.int32)
        lookup -= 1
        return lookup[keys], int(lookup[-1]) + 1 if space else 0
    distinct, ids = np.unique(keys, return_inverse=True)
    return ids.astype(np.int32), len(distinct)


def first_rows(ids: NDArray[Any], groups: int) -> NDArray[np.int64]:
    """For each group the position of one row in it."""
    rows = np.empty(groups, dtype=np.int64)
    rows[ids] = np.arange(len(ids))
    return rows


def sum_by(ids: NDArray[Any], weights: NDArray[Any] | None, groups: int) -> NDArray[np.int64]:
    """Whole-number weights added up by group; exact below 2^53."""
    if weights is None:
        return np.bincount(ids, minlength=groups)
    return np.bincount(ids, weights=weights, minlength=groups).astype(np.int64)
