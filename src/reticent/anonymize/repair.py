"""Saving part of a failing group: rows are left out one value at a time until the rest passes (R-LD-24)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reticent.data.frequencies import WEIGHT
from reticent.data.groups import Groups, Histograms
from reticent.definitions import GroupDefinition


def caps(groups: Groups, failing: NDArray[np.bool_], definition: GroupDefinition) -> NDArray[np.int64]:
    """For each failing group how many rows of any one sensitive value may stay, so that the group passes; 0 if none.

    Frequent values are what makes a group fail, so they are cut down first: the largest cap is sought under which the group
    passes. Groups that pass as they are keep everything. The answer is checked: a group whose cap does not pass is given up.
    """
    untouched = int(groups.histograms.counts.max(initial=0))
    found = np.where(failing, 0, untouched)
    chosen = np.flatnonzero(failing)
    if not len(chosen) or not definition.local:
        return found
    part = groups.select(failing)
    low = np.zeros(len(chosen), dtype=np.int64)
    high = part.histograms.top.copy()
    while (high - low > 1).any():
        middle = (low + high) // 2
        passes = ~definition.failing(capped(part, middle))
        low = np.where(passes, middle, low)
        high = np.where(passes, high, middle)
    found[chosen] = low
    return found


def capped(groups: Groups, limits: NDArray[np.int64]) -> Groups:
    """The groups with at most ``limits[g]`` rows of each value."""
    cells = groups.histograms
    counts = np.minimum(cells.counts, limits[cells.owners])
    kept = counts > 0
    offsets = np.concatenate([[0], np.cumsum(np.bincount(cells.owners[kept], minlength=len(groups)))])
    histograms = Histograms(offsets, cells.values[kept], counts[kept])
    sizes = histograms.sum_cells(histograms.counts).astype(np.int64)
    # People cannot be told apart here: each row that is lost may have been the only one of somebody, and the weight is not known.
    cut = bool(((sizes > 0) & (sizes < groups.sizes)).any())
    extras = {
        name: np.maximum(values - (groups.sizes - sizes), sizes > 0) if name == "persons" else values
        for name, values in groups.extras.items()
        if not (cut and name == WEIGHT)
    }
    return Groups(sizes, histograms, groups.reference, groups.domain, extras)
