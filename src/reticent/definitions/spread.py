"""Entropy of the sensitive values of groups, with don't-care counts lowered optimally."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from reticent.base.ragged import starts_of
from reticent.core import Groups, Histograms

_LOOKED_UP = 1 << 14


@dataclass(frozen=True)
class Spread:
    """The components of the entropy of every group.

    Some counts of a group are fixed: their sum ``total`` = W, ``weighted_logs`` = sum of n ln n, ``values`` of them,
    the largest ``top``. The other ``capped`` = j counts are don't-care counts lowered to a common cap. At the optimal
    cap t the gain of raising it, ``-ln(t/W')``, equals the entropy, so ``t = exp(sum(n ln n)/W)`` and ``exp(H) = j +
    exp(H of the fixed counts)``. A don't-care count below the cap is fixed as well.
    """

    total: NDArray[np.int64]
    weighted_logs: NDArray[np.float64]
    values: NDArray[np.int64]
    top: NDArray[np.int64]
    capped: NDArray[np.int64]

    @cached_property
    def uniform(self) -> NDArray[np.bool_]:
        """Mask of groups whose fixed counts are all equal: ``exp(H)`` is then exactly ``values + capped``."""
        equal: NDArray[np.bool_] = self.top * self.values == self.total
        return equal

    @cached_property
    def effective(self) -> NDArray[np.float64]:
        """Return the effective number of values of every group, e to the entropy; infinite if it has don't-care values
        only.
        """
        total = np.maximum(self.total, 1)
        fixed = np.exp(np.log(total) - self.weighted_logs / total)
        effective = np.where(self.uniform, self.values, fixed).astype(np.float64) + self.capped
        effective[self.total == 0] = np.inf
        return effective


def spread_of(groups: Groups, dont_care: NDArray[np.bool_] | None) -> Spread:
    """Return the components of every group's entropy; ``dont_care`` marks the values whose counts may be lowered to
    maximize it.
    """
    # Without don't-care values the result depends on the groups only and is cached there.
    return (
        _spread_sparing(groups, dont_care) if dont_care is not None else groups.found("spread", lambda: _spread(groups))
    )


def _spread(groups: Groups) -> Spread:
    histograms, zeros = groups.histograms, np.zeros(len(groups), dtype=np.int64)
    weighted_logs = histograms.sum_cells(_weighted_logs(histograms.counts))
    return Spread(groups.sizes, weighted_logs, values=histograms.distinct, top=histograms.top, capped=zeros)


def _spread_sparing(groups: Groups, dont_care: NDArray[np.bool_]) -> Spread:
    """Return the components of every group's entropy: over the values that count, and the number of don't-care values
    that are lowered to the common cap.
    """
    histograms, zeros = groups.histograms, np.zeros(len(groups), dtype=np.int64)
    logs = _weighted_logs(histograms.counts)
    is_dont_care = dont_care[histograms.values]
    counts = np.where(is_dont_care, 0, histograms.counts)
    fixed = Spread(
        histograms.add_cells(counts),
        histograms.sum_cells(np.where(is_dont_care, 0.0, logs)),
        values=histograms.add_cells((~is_dont_care).astype(np.int64)),
        top=histograms.reduce_max(counts),
        capped=zeros,
    )
    return _with_capped(fixed, _only(histograms, is_dont_care))


def _weighted_logs(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """``n ln n`` of every count; small counts, nearly all of them, use a lookup table."""
    table = _table_of_weighted_logs()
    if int(counts.max(initial=0)) < len(table):
        logs: NDArray[np.float64] = table.take(counts)
        return logs
    return counts.astype(np.float64) * np.log(counts)


@cache
def _table_of_weighted_logs() -> NDArray[np.float64]:
    counts = np.arange(_LOOKED_UP, dtype=np.float64)
    return counts * np.log(np.maximum(counts, 1))


def _with_capped(fixed: Spread, dont_care: Histograms) -> Spread:
    """Return the sums of the counts after the don't-care counts are capped where that increases the entropy.

    In ascending order, each count below the current optimal cap becomes fixed, which lowers the cap; the others stay
    capped.
    """
    total, logs, values = fixed.total.copy(), fixed.weighted_logs.copy(), fixed.values.copy()
    capped = dont_care.distinct.copy()
    open_groups = np.flatnonzero((capped > 0) & (total > 0))
    while len(open_groups):
        smallest = dont_care.ranked[dont_care.offsets[open_groups] + capped[open_groups] - 1]
        weighted = np.log(smallest)
        is_below_cap = weighted * total[open_groups] < logs[open_groups]
        open_groups, smallest, weighted = open_groups[is_below_cap], smallest[is_below_cap], weighted[is_below_cap]
        total[open_groups] += smallest
        logs[open_groups] += smallest * weighted
        values[open_groups] += 1
        capped[open_groups] -= 1
        open_groups = open_groups[capped[open_groups] > 0]
    return Spread(total, logs, values, top=fixed.top, capped=capped)


def _only(histograms: Histograms, cells: NDArray[np.bool_]) -> Histograms:
    """Histograms restricted to the selected entries."""
    return Histograms(starts_of(cells)[histograms.offsets], histograms.values[cells], histograms.counts[cells])
