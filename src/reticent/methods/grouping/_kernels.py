"""Compiled loops over the units of open groups, for tables with hundreds of thousands of them: widths, cuts, and halves.

``cache=True`` keeps the machine code on disk, and small inputs never come here. Units stand group after group, so that each loop reads
memory in order. The twins in numpy are in :mod:`reticent.methods.grouping.stage`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reticent.base.compiled import compiled


@compiled
def extents(starts: Any, ranks: Any, leaves: Any, nulls: Any, fresh: Any, found: Any) -> None:
    """Fill ``found[j, :, g]`` with the number of values that fresh group ``g`` has in column ``j``, the first and the last of them but for ``nulls[j]``, and whether it has that."""
    seen = np.full(np.max(leaves), -1, dtype=np.int64)
    for j in range(len(leaves)):
        seen[:] = -1
        for group in range(len(starts) - 1):
            if fresh[group]:
                count, low, high, missing = 0, len(seen), -1, 0
                for unit in range(starts[group], starts[group + 1]):
                    rank = int(ranks[j, unit])
                    if seen[rank] != group:
                        seen[rank] = group
                        count += 1
                        if rank == nulls[j]:
                            missing = 1
                        else:
                            low, high = min(low, rank), max(high, rank)
                found[j, 0, group], found[j, 1, group] = count, low
                found[j, 2, group], found[j, 3, group] = high, missing


@compiled
def half_extents(starts: Any, ranks: Any, leaves: Any, nulls: Any, right: Any, found: Any) -> None:
    """Fill ``found[j, :, 2 * g]`` and ``found[j, :, 2 * g + 1]`` as :func:`extents` does, for the units of group ``g`` that are not ``right`` and for those that are."""
    seen = np.full((2, np.max(leaves)), -1, dtype=np.int64)
    for j in range(len(leaves)):
        seen[:] = -1
        for group in range(len(starts) - 1):
            for side in range(2):
                half = 2 * group + side
                found[j, 0, half], found[j, 1, half] = 0, seen.shape[1]
                found[j, 2, half], found[j, 3, half] = -1, 0
            for unit in range(starts[group], starts[group + 1]):
                rank, side = int(ranks[j, unit]), int(right[unit])
                if seen[side, rank] != group:
                    seen[side, rank] = group
                    half = 2 * group + side
                    found[j, 0, half] += 1
                    if rank == nulls[j]:
                        found[j, 3, half] = 1
                    else:
                        found[j, 1, half] = min(found[j, 1, half], rank)
                        found[j, 2, half] = max(found[j, 2, half], rank)


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
    """Cut every group in its column between two values, as near to the median as leaves ``least`` rows on both sides.

    ``barriers[j, r]`` says how high the barrier between the values ``r`` and ``r + 1`` of column ``j`` is (none where it has no columns); the
    highest come first. ``left[g]`` becomes the rows left of the cut (0 where there is none), ``right[u]`` whether unit ``u`` lies to the right of it.
    """
    held, there = np.zeros(np.max(leaves), dtype=np.int64), np.zeros(np.max(leaves), dtype=np.bool_)
    values = np.empty(np.max(leaves), dtype=np.int64)
    tall = barriers.shape[1] > 0
    for group in range(len(starts) - 1):
        j, first, last = column[group], starts[group], starts[group + 1]
        count = 0
        for unit in range(first, last):
            rank = int(ranks[j, unit])
            held[rank] += sizes[unit]
            if not there[rank]:
                there[rank] = True
                values[count] = rank
                count += 1
        values[:count].sort()
        total, before = rows[group], 0
        nearest, highest, chosen, kept = -1, -1, -1, 0
        for place in range(count - 1):
            before += held[values[place]]
            if before >= least and total - before >= least:
                height = 0
                if tall:
                    for rank in range(values[place], values[place + 1]):
                        height = max(height, barriers[j, rank])
                distance = abs(2 * before - total)
                if height > highest or (height == highest and distance < nearest):
                    nearest, highest, chosen, kept = distance, height, values[place], before
        for place in range(count):
            held[values[place]] = 0
            there[values[place]] = False
        left[group] = kept
        for unit in range(first, last):
            right[unit] = chosen >= 0 and ranks[j, unit] > chosen


@compiled
def halves_apart(starts: Any, right: Any, order: Any, lefts: Any) -> None:
    """Fill ``order`` with the units, those left of their group's cut before those right of it, and ``lefts`` with their number."""
    for group in range(len(starts) - 1):
        place = starts[group]
        for unit in range(starts[group], starts[group + 1]):
            if not right[unit]:
                order[place] = unit
                place += 1
        lefts[group] = place - starts[group]
        for unit in range(starts[group], starts[group + 1]):
            if right[unit]:
                order[place] = unit
                place += 1
