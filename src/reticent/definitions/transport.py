"""The earth mover's distance between each group and the whole table, in integers.

All three ground distances have closed forms; each function returns ``work`` by group such that the distance is ``work /
(group size * rows of the table * unit)``. Numbers that exceed 64 bits become Python integers. Source: [Rubner2000],
[Li2007].
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.base.packing import sum_by
from reticent.core import Groups, Histograms
from reticent.definitions.scaled_comparison import WIDEST
from reticent.table import BoundHierarchy

_ROUNDS = 2
_LEAST_ROOM = 1e-9


def equal_work(histograms: Histograms, sizes: NDArray[np.int64], reference: NDArray[np.int64]) -> NDArray[Any]:
    """Return for each group the earth mover's distance to the table if any two values are at distance 1, as an integer.

    It is the sum of the surpluses ``n_s/n - R_s/N``, times the rows of the group and of the table. A surplus can only
    occur at a value that the group has, so only its histogram entries are visited.
    """
    rows = int(reference.sum())
    number = _number_type(int(sizes.max(initial=0)) * rows)
    surplus = histograms.counts.astype(number) * rows
    surplus -= np.repeat(sizes, histograms.distinct).astype(number) * reference[histograms.values].astype(number)
    np.maximum(surplus, 0, out=surplus)
    return histograms.add_cells(surplus)


def most_rows_within(
    t: float, histograms: Histograms, sizes: NDArray[np.int64], reference: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Upper bound on the rows of each group that can be kept within distance ``t`` of the table, for equal ground
    distances.

    Of m kept rows at most ``min(n_s, m q_s)`` with value s fit under the table's share q_s, and those that do not fit
    are at most ``t m``. So for every set S of values ``(1 - t) m <= sum of n_s in S + m * sum of q_s outside S``, which
    bounds m. Starting from the values below their share, each round takes the set that is tightest for the previous
    bound; few rounds are needed.
    """
    shares = (reference / reference.sum())[histograms.values]
    kept = sizes.astype(np.float64)
    for _ in range(_ROUNDS):
        is_below_share = histograms.counts < np.repeat(kept, histograms.distinct) * shares
        denominator = (1 - t) - histograms.sum_cells(np.where(is_below_share, 0.0, shares))
        inside = histograms.sum_cells(np.where(is_below_share, histograms.counts, 0))
        # If the margin is only rounding error, there is no bound.
        kept = np.minimum(
            kept, np.divide(inside, denominator, out=np.full(len(kept), np.inf), where=denominator > _LEAST_ROOM)
        )
    return kept


def ordered_work(
    histograms: Histograms, sizes: NDArray[np.int64], reference: NDArray[np.int64], ranks: NDArray[np.int64]
) -> NDArray[Any]:
    """Return for each group the earth mover's distance to the table in the ordered distance by ``ranks``, as an
    integer.

    It is the sum of ``|P_i - Q_i|`` over cumulative shares, times the rows of the group and of the table, so the unit
    is ``d - 1``. Between two values of a group its cumulative count C is constant and the table's Q_i only rises, so
    ``|N C - n Q_i|`` changes sign once, where Q_i passes ``floor(N C / n)``; prefix sums of Q give both sides at once.
    """
    rows, values = int(reference.sum()), len(reference)
    number = _number_type(int(sizes.max(initial=0)) * rows * max(values, 1))
    cumulated = np.cumsum(_in_order(reference, ranks))
    prefix = np.concatenate([[0], np.cumsum(cumulated.astype(number))])
    entry_ranks, counts = _cells_in_order(histograms, ranks)
    starts, filled = histograms.offsets[:-1], histograms.distinct > 0
    own_size = np.repeat(sizes, histograms.distinct)
    running = np.cumsum(counts)
    before = np.concatenate([[0], running])[starts]
    reached = (running - np.repeat(before, histograms.distinct)).astype(number) * rows
    next_ranks = np.append(entry_ranks[1:], values)
    next_ranks[histograms.offsets[1:][filled] - 1] = values
    level = (reached // own_size.astype(number)).astype(np.int64)
    sign_change = np.clip(np.searchsorted(cumulated, level, side="right"), entry_ranks, next_ranks)
    above = reached * (sign_change - entry_ranks) - own_size.astype(number) * (
        prefix[sign_change] - prefix[entry_ranks]
    )
    below = own_size.astype(number) * (prefix[next_ranks] - prefix[sign_change]) - reached * (next_ranks - sign_change)
    work = histograms.add_cells(above + below)
    # Before the first value of a group only the table's share counts.
    work[filled] += sizes[filled].astype(number) * prefix[entry_ranks[starts[filled]]]
    return work


def hierarchical_work(
    histograms: Histograms, sizes: NDArray[np.int64], reference: NDArray[np.int64], hierarchy: BoundHierarchy
) -> NDArray[Any]:
    """Return for each group the earth mover's distance to the table if two values are as far apart as the level of
    their lowest common ancestor, as an integer.

    It is multiplied by the rows of the group, the rows of the table, and :func:`tree_height`. On a tree the mass that
    must leave a subtree is its surplus. A step up from each level costs half of 1/height, and the step down the same,
    so the distance is the sum over levels below the root of the equal distances between their parts.
    """
    rows = int(reference.sum())
    work: NDArray[Any] = np.zeros(
        len(sizes), dtype=_number_type(int(sizes.max(initial=0)) * rows * (hierarchy.height + 1))
    )
    for level in hierarchy.levels[: tree_height(hierarchy)]:
        merged = Histograms.from_cells(
            histograms.owners, level.parts[histograms.values], histograms.counts, len(sizes), level.size
        )
        work = work + equal_work(merged, sizes, sum_by(level.parts, reference, level.size))
    return work


def tree_height(hierarchy: BoundHierarchy) -> int:
    """The number of steps from a value to the root. A hierarchy without a single top part gets a root above it."""
    return hierarchy.height + (hierarchy.levels[-1].size > 1)


def scales(groups: Groups, unit: int) -> NDArray[Any]:
    """The denominators: group size times rows of the table times ``unit``."""
    rows = int(groups.reference.sum())
    number = _number_type(int(groups.sizes.max(initial=0)) * rows * unit)
    scale: NDArray[Any] = groups.sizes.astype(number) * (rows * unit)
    return scale


def _number_type(largest: int) -> Any:
    return np.int64 if 2 * largest < WIDEST else object


def _in_order(reference: NDArray[np.int64], ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    ordered = np.empty_like(reference)
    ordered[ranks] = reference
    return ordered


def _cells_in_order(histograms: Histograms, ranks: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rank and the count of every histogram entry, ascending by rank within each group."""
    entry_ranks = ranks[histograms.values]
    if (np.diff(ranks) > 0).all():
        return entry_ranks, histograms.counts
    order = np.lexsort((entry_ranks, histograms.owners))
    return entry_ranks[order], histograms.counts[order]
