"""Compiled loops over the units of open groups, for tables with hundreds of thousands of units: widths, splits, and halves.

``cache=True`` keeps the machine code on disk; small inputs are handled by the equivalent numpy code in :mod:`reticent.methods.grouping.stage`.
Units are sorted by group, so each loop reads memory sequentially.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reticent.base.compiled import compiled


@compiled
def extents(starts: Any, ranks: Any, leaves: Any, nulls: Any, is_changed: Any, extents_of: Any) -> None:
    """For every group ``g`` marked in ``is_changed``, fill ``extents_of[j, :, g]`` with the number of distinct ranks of its units in column ``j``, the lowest and the highest (ignoring the rank ``nulls[j]``), and whether ``nulls[j]`` occurs.

    Group ``g`` has the units ``starts[g]:starts[g + 1]``; ``leaves[j]`` is the number of possible ranks.
    """
    last_group = np.full(np.max(leaves), -1, dtype=np.int64)
    for j in range(len(leaves)):
        last_group[:] = -1
        for group in range(len(starts) - 1):
            if is_changed[group]:
                count, low, high, missing = 0, len(last_group), -1, 0
                for unit in range(starts[group], starts[group + 1]):
                    rank = int(ranks[j, unit])
                    if last_group[rank] != group:
                        last_group[rank] = group
                        count += 1
                        if rank == nulls[j]:
                            missing = 1
                        else:
                            low, high = min(low, rank), max(high, rank)
                extents_of[j, 0, group], extents_of[j, 1, group] = count, low
                extents_of[j, 2, group], extents_of[j, 3, group] = high, missing


@compiled
def half_extents(starts: Any, ranks: Any, leaves: Any, nulls: Any, right: Any, extents_of: Any) -> None:
    """For the left and the ``right`` half of every group ``g``, fill ``extents_of[j, :, 2 * g]`` and ``extents_of[j, :, 2 * g + 1]`` with the number of distinct ranks in column ``j``, the lowest and the highest (ignoring ``nulls[j]``), and whether ``nulls[j]`` occurs."""
    last_group = np.full((2, np.max(leaves)), -1, dtype=np.int64)
    for j in range(len(leaves)):
        last_group[:] = -1
        for group in range(len(starts) - 1):
            for side in range(2):
                half = 2 * group + side
                extents_of[j, 0, half], extents_of[j, 1, half] = 0, last_group.shape[1]
                extents_of[j, 2, half], extents_of[j, 3, half] = -1, 0
            for unit in range(starts[group], starts[group + 1]):
                rank, side = int(ranks[j, unit]), int(right[unit])
                if last_group[side, rank] != group:
                    last_group[side, rank] = group
                    half = 2 * group + side
                    extents_of[j, 0, half] += 1
                    if rank == nulls[j]:
                        extents_of[j, 3, half] = 1
                    else:
                        extents_of[j, 1, half] = min(extents_of[j, 1, half], rank)
                        extents_of[j, 2, half] = max(extents_of[j, 2, half], rank)


@compiled
def tallied(ranks: Any, sizes: Any, first: int, last: int, rows_of_rank: Any, is_present: Any, values: Any) -> int:
    """Return the number of distinct ranks of the units ``first:last``. The ranks are written to the start of ``values`` in ascending order, the rows of each to ``rows_of_rank``; ``is_present`` marks them."""
    count = 0
    for unit in range(first, last):
        rank = int(ranks[unit])
        rows_of_rank[rank] += sizes[unit]
        if not is_present[rank]:
            is_present[rank] = True
            values[count] = rank
            count += 1
    values[:count].sort()
    return count


@compiled
def cuts(
    starts: Any,
    ranks: Any,
    sizes: Any,
    column: Any,
    rows: Any,
    least: int,
    leaves: Any,
    barriers: Any,
    left: Any,
    right: Any,
) -> None:
    """Split every group along its column between two values, as near to the median as possible with at least ``least`` rows on both sides.

    ``barriers[j, r]`` is the number of hierarchy levels that separate the ranks ``r`` and ``r + 1`` of column ``j`` (an array without columns: no hierarchy); splits
    with more levels are preferred. Fills ``left[g]`` with the rows left of the split (0: no split), and ``right[u]`` with whether unit ``u`` is on the right.
    """
    rows_of_rank, is_present = np.zeros(np.max(leaves), dtype=np.int64), np.zeros(np.max(leaves), dtype=np.bool_)
    values = np.empty(np.max(leaves), dtype=np.int64)
    has_levels = barriers.shape[1] > 0
    for group in range(len(starts) - 1):
        j, first, last = column[group], starts[group], starts[group + 1]
        count = tallied(ranks[j], sizes, first, last, rows_of_rank, is_present, values)
        total, left_rows = rows[group], 0
        nearest, highest, cut_rank, left_rows_at_cut = -1, -1, -1, 0
        for index in range(count - 1):
            left_rows += rows_of_rank[values[index]]
            if left_rows >= least and total - left_rows >= least:
                barrier = 0
                if has_levels:
                    for rank in range(values[index], values[index + 1]):
                        barrier = max(barrier, barriers[j, rank])
                distance = abs(2 * left_rows - total)
                if barrier > highest or (barrier == highest and distance < nearest):
                    nearest, highest, cut_rank, left_rows_at_cut = distance, barrier, values[index], left_rows
        for index in range(count):
            rows_of_rank[values[index]] = 0
            is_present[values[index]] = False
        left[group] = left_rows_at_cut
        for unit in range(first, last):
            right[unit] = cut_rank >= 0 and ranks[j, unit] > cut_rank


@compiled
def measured_cuts(
    starts: Any,
    ranks: Any,
    sizes: Any,
    rows: Any,
    least: int,
    leaves: Any,
    nulls: Any,
    spanned: Any,
    shares: Any,
    losses: Any,
) -> None:
    """Fill ``losses[g, j]`` with the mean loss per row of group ``g`` after splitting it along column ``j`` as :func:`cuts` does; entries without a possible split are not changed.

    In column ``i`` a half loses ``shares[i]`` for each leaf that it covers beyond the first: if the column is ``spanned``, all leaves of its range and the missing value, otherwise those that occur.
    """
    widest, longest = np.max(leaves), np.max(starts[1:] - starts[:-1])
    rows_of_value, occurs = np.zeros(widest, dtype=np.int64), np.zeros(widest, dtype=np.bool_)
    values = np.empty(widest, dtype=np.int64)
    side, last_stamp = np.zeros(longest, dtype=np.int64), np.zeros((2, widest), dtype=np.int64)
    low, high = np.zeros(2, dtype=np.int64), np.zeros(2, dtype=np.int64)
    missing, count = np.zeros(2, dtype=np.int64), np.zeros(2, dtype=np.int64)
    in_half, covered = np.zeros(2, dtype=np.int64), np.zeros(2)
    stamp = 0
    for group in range(len(starts) - 1):
        first, last = starts[group], starts[group + 1]
        for j in range(len(leaves)):
            value_count = tallied(ranks[j], sizes, first, last, rows_of_value, occurs, values)
            total, rows_before, nearest, chosen = rows[group], 0, -1, -1
            for index in range(value_count - 1):
                rows_before += rows_of_value[values[index]]
                if rows_before >= least and total - rows_before >= least:
                    distance = abs(2 * rows_before - total)
                    if chosen < 0 or distance < nearest:
                        nearest, chosen = distance, values[index]
            for index in range(value_count):
                rows_of_value[values[index]] = 0
                occurs[values[index]] = False
            if chosen < 0:
                continue
            in_half[:] = 0
            for unit in range(first, last):
                side[unit - first] = int(ranks[j, unit] > chosen)
                in_half[side[unit - first]] += sizes[unit]
            covered[:] = 0.0
            for i in range(len(leaves)):
                low[:], high[:] = widest, -1
                missing[:], count[:] = 0, 0
                stamp += 1
                for unit in range(first, last):
                    rank, half = int(ranks[i, unit]), side[unit - first]
                    if spanned[i]:
                        if rank == nulls[i]:
                            missing[half] = 1
                        else:
                            low[half], high[half] = min(low[half], rank), max(high[half], rank)
                    elif last_stamp[half, rank] != stamp:
                        last_stamp[half, rank] = stamp
                        count[half] += 1
                for half in range(2):
                    width = max(high[half] - low[half] + 1, 0) + missing[half] if spanned[i] else count[half]
                    covered[half] += (width - 1) * shares[i]
            losses[group, j] = (covered[0] * in_half[0] + covered[1] * in_half[1]) / total


@compiled
def halves_apart(starts: Any, right: Any, order: Any, lefts: Any) -> None:
    """Fill ``order`` with the units sorted by group and then by side, left first, and ``lefts`` with the number of units on the left of each group."""
    for group in range(len(starts) - 1):
        position = starts[group]
        for unit in range(starts[group], starts[group + 1]):
            if not right[unit]:
                order[position] = unit
                position += 1
        lefts[group] = position - starts[group]
        for unit in range(starts[group], starts[group + 1]):
            if right[unit]:
                order[position] = unit
                position += 1
