"""The rows of a group that remain after an adversary rules out its most frequent other values."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reticent.core import Histograms


def leading(histograms: Histograms, dont_care: NDArray[np.bool_] | None) -> NDArray[np.int64]:
    """The count of each group's most frequent value that is not don't-care; 0 if there is none."""
    if dont_care is None:
        return histograms.top
    return histograms.reduce_max(np.where(dont_care[histograms.values], 0, histograms.counts))


def tails(
    histograms: Histograms, sizes: NDArray[np.int64], lead: NDArray[np.int64], exclusions: int
) -> NDArray[np.int64]:
    """Return the rows of each group with neither its leading value (``lead``: its rows) nor one of the ``exclusions``
    most frequent others.

    With counts in descending order, let S be the sum and r the last of the first ``exclusions + 1``. If the leading
    count v is among these, the others among them sum to S - v, otherwise the first ``exclusions`` sum to S - r: in both
    cases ``S - max(v, r)``, for any order of ties.
    """
    if exclusions == 0:
        return sizes - lead
    exclusions = min(exclusions, int(histograms.distinct.max(initial=0)))
    starts, ends = histograms.offsets[:-1], histograms.offsets[1:]
    after = np.minimum(starts + exclusions + 1, ends)
    first = histograms.ranked_sums[after] - histograms.ranked_sums[starts]
    reached = starts + exclusions < ends
    last = np.zeros_like(lead)
    last[reached] = histograms.ranked[starts[reached] + exclusions]
    rest: NDArray[np.int64] = sizes - lead - first + np.maximum(lead, last)
    return rest


def tail_bounds(
    histograms: Histograms, sizes: NDArray[np.int64], lead: NDArray[np.int64], exclusions: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Bounds on :func:`tails` that need no sorting.

    Excluded values are at least as frequent as the average other value, and at most as frequent as the top one; every
    value that is not excluded has a row.
    """
    other_rows = sizes - lead
    values = np.maximum(histograms.distinct - 1, 0)
    exclusions = min(exclusions, int(values.max(initial=0)))
    remaining_values = np.maximum(values - exclusions, 0)
    low = np.maximum(other_rows - exclusions * histograms.top, remaining_values)
    share = np.divide(remaining_values, values, out=np.zeros(len(values)), where=values > 0)
    # Rounded up plus one, so that float error cannot make the bound too low.
    high = np.minimum(np.ceil(other_rows * share).astype(np.int64) + 1, other_rows)
    return low, np.where(remaining_values > 0, high, 0)
