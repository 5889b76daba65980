"""Compiled loops over pairs of records: nearest neighbours, and the number of records that match a description.

Records are integers (:mod:`reticent.attacks.numeric_records`): category codes, which are equal or not, and scaled
numbers. A column adds at most ``cap`` to a distance. Records are stored in ``blocks[block, column, lane]``, so that one
column of a block is compared at once, and each block has the minimum and maximum of every column, so that distant
blocks are skipped. ``cache=True`` keeps the machine code on disk.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reticent.base.compiled import compiled

_A_FEW = 3


@compiled
def _bounds(lows: Any, highs: Any, numbers: Any, person: Any, chosen: Any, cap: int, bounds: Any) -> None:
    """Compute the smallest distance by the ``chosen`` columns that a record of each block can have."""
    for block in range(len(lows)):
        total = 0
        for column in chosen:
            gap = max(lows[block, column] - person[column], person[column] - highs[block, column], 0)
            total += min(gap, cap) if numbers[column] else cap if gap else 0
        bounds[block] = total


@compiled
def _distances(block: Any, numbers: Any, person: Any, chosen: Any, cap: Any, most: Any, sums: Any) -> bool:
    """Fill ``sums`` with the distances of the records of a block; return False as soon as all exceed ``most``."""
    lanes = len(sums)
    sums[:] = 0
    for step in range(len(chosen)):
        column = chosen[step]
        value, lane = person[column], block[column]
        if numbers[column]:
            for place in range(lanes):
                sums[place] += min(abs(lane[place] - value), cap)
        else:
            for place in range(lanes):
                sums[place] += cap if lane[place] != value else np.int32(0)
        if step % _A_FEW == _A_FEW - 1 and np.min(sums) > most:
            return False
    return bool(np.min(sums) <= most)


@compiled
def nearest(blocks: Any, lows: Any, highs: Any, numbers: Any, people: Any, chosen: Any, cap: Any, found: Any) -> None:
    """Fill ``found`` with each person's distance to the nearest record by the ``chosen`` columns."""
    bounds, sums = np.empty(len(lows), dtype=np.int64), np.empty(blocks.shape[2], dtype=np.int32)
    for number in range(len(people)):
        person = people[number]
        _bounds(lows, highs, numbers, person, chosen, cap, bounds)
        best = np.int64(cap) * len(chosen)
        first = np.argmin(bounds)
        if _distances(blocks[first], numbers, person, chosen, cap, best, sums):
            best = np.int64(np.min(sums))
        for block in range(len(bounds)):
            if bounds[block] < best and _distances(blocks[block], numbers, person, chosen, cap, best - 1, sums):
                best = np.int64(np.min(sums))
        found[number] = best


@compiled
def vote(
    blocks: Any,
    lows: Any,
    highs: Any,
    numbers: Any,
    people: Any,
    chosen: Any,
    cap: Any,
    distance: Any,
    times: Any,
    values: Any,
    found: Any,
) -> None:
    """Fill ``found`` with the most frequent value (``values[block, lane]``) among the rows at each person's minimum ``distance``; ties: the first."""
    bounds, sums = np.empty(len(lows), dtype=np.int64), np.empty(blocks.shape[2], dtype=np.int32)
    votes = np.zeros(np.max(values) + 1, dtype=np.int64)
    for number in range(len(people)):
        person, least = people[number], distance[number]
        _bounds(lows, highs, numbers, person, chosen, cap, bounds)
        votes[:] = 0
        for block in range(len(bounds)):
            if bounds[block] <= least and _distances(blocks[block], numbers, person, chosen, cap, least, sums):
                for lane in range(len(sums)):
                    if sums[lane] == least:
                        votes[values[block, lane]] += times[block, lane]
        found[number] = np.argmax(votes)


@compiled
def fitting(blocks: Any, times: Any, lows: Any, highs: Any, least: Any, most: Any, rows: Any, example: Any) -> None:
    """Count the ``rows`` within ``least`` and ``most`` of each description (2 means more than one), and store the
    position of one of them in ``example``.
    """
    lanes = blocks.shape[2]
    inside = np.empty(lanes, dtype=np.bool_)
    for description in range(len(least)):
        low, high, found = least[description], most[description], 0
        for block in range(len(lows)):
            possible = True
            for column in range(len(low)):
                if low[column] > highs[block, column] or high[column] < lows[block, column]:
                    possible = False
                    break
            if not possible:
                continue
            inside[:] = True
            for column in range(len(low)):
                if low[column] > lows[block, column] or high[column] < highs[block, column]:
                    lane = blocks[block, column]
                    for place in range(lanes):
                        inside[place] &= (lane[place] >= low[column]) & (lane[place] <= high[column])
            for place in range(lanes):
                if inside[place] and times[block, place]:
                    found += times[block, place]
                    example[description] = block * lanes + place
            if found > 1:
                break
        rows[description] = min(found, 2)
