"""Sorted sets of keys: the tuples of a table or a view as integers (or records of integers)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[Any]


def in_order(keys: Keys) -> Keys:
    """Return the keys sorted."""
    if keys.dtype.names is None:
        return np.sort(keys, kind="stable")
    ordered: Keys = keys[np.lexsort([keys[name] for name in reversed(keys.dtype.names)])]
    return ordered


def is_rising(keys: Keys) -> bool:
    """True if keys are strictly increasing; the first of several words is the most significant."""
    words = [keys] if keys.dtype.names is None else [keys[name] for name in keys.dtype.names]
    undecided = np.ones(max(len(keys) - 1, 0), dtype=bool)
    for word in words:
        if (undecided & (word[1:] < word[:-1])).any():
            return False
        undecided &= word[1:] == word[:-1]
    return not undecided.any()


def distinct(keys: Keys) -> Keys:
    """Return the distinct keys, sorted."""
    ordered = np.sort(keys) if keys.dtype.names is None else in_order(keys)
    if len(ordered) < 2:
        return ordered
    different = ordered[1:] != ordered[:-1]
    if different.all():
        return ordered
    chosen: Keys = ordered[np.concatenate([[True], different])]
    return chosen


def among(keys: Keys, others: Keys) -> NDArray[np.bool_]:
    """Return a mask of the keys that are in ``others``, which are sorted."""
    if len(others) == 0:
        return np.zeros(len(keys), dtype=bool)
    indices = np.searchsorted(others, keys).clip(max=len(others) - 1)
    is_member: NDArray[np.bool_] = others[indices] == keys
    return is_member


def without(keys: Keys, others: Keys) -> Keys:
    """Return the keys that are not in ``others``, both sorted. Looks up the smaller set in the larger."""
    if len(others) < len(keys):
        indices = np.searchsorted(keys, others).clip(max=len(keys) - 1)
        hits = indices[keys[indices] == others]
        return np.delete(keys, hits) if len(hits) else keys
    return keys[~among(keys, others)]


def union(first: Keys, second: Keys) -> Keys:
    """Return the sorted union of two sets."""
    return distinct(np.concatenate([first, second]))
