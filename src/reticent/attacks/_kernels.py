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
def _distances(block: Any, numbers: Any, person: Any, chosen: Any, cap: Any, limit: Any, sums: Any) -> bool:
    """Fill ``sums`` with the distances of the records of a block; return False as soon as all exceed ``limit``."""
    lanes = len(sums)
    sums[:] = 0
    for step in range(len(chosen)):
        column = chosen[step]
        value, lane = person[column], block[column]
        if numbers[column]:
            for position in range(lanes):
                sums[position] += min(abs(lane[position] - value), cap)
        else:
            for position in range(lanes):
                sums[position] += cap if lane[position] != value else np.int32(0)
        if step % _A_FEW == _A_FEW - 1 and np.min(sums) > limit:
            return False
    return bool(np.min(sums) <= limit)


@compiled
def nearest(
    blocks: Any, lows: Any, highs: Any, numbers: Any, people: Any, chosen: Any, cap: Any, distances: Any
) -> None:
    """Fill ``distances`` with each person's distance to the nearest record by the ``chosen`` columns."""
    bounds, sums = np.empty(len(lows), dtype=np.int64), np.empty(blocks.shape[2], dtype=np.int32)
    for index in range(len(people)):
        person = people[index]
        _bounds(lows, highs, numbers, person, chosen, cap, bounds)
        best = np.int64(cap) * len(chosen)
        first = np.argmin(bounds)
        if _distances(blocks[first], numbers, person, chosen, cap, best, sums):
            best = np.int64(np.min(sums))
        for block in range(len(bounds)):
            if bounds[block] < best and _distances(blocks[block], numbers, person, chosen, cap, best - 1, sums):
                best = np.int64(np.min(sums))
        distances[index] = best


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
    multiplicities: Any,
    values: Any,
    guesses: Any,
) -> None:
    """Fill ``guesses`` with the most frequent value (``values[block, lane]``) among the rows at each person's minimum ``distance``; ties: the first."""
    bounds, sums = np.empty(len(lows), dtype=np.int64), np.empty(blocks.shape[2], dtype=np.int32)
    votes = np.zeros(np.max(values) + 1, dtype=np.int64)
    for index in range(len(people)):
        person, nearest = people[index], distance[index]
        _bounds(lows, highs, numbers, person, chosen, cap, bounds)
        votes[:] = 0
        for block in range(len(bounds)):
            if bounds[block] <= nearest and _distances(blocks[block], numbers, person, chosen, cap, nearest, sums):
                for lane in range(len(sums)):
                    if sums[lane] == nearest:
                        votes[values[block, lane]] += multiplicities[block, lane]
        guesses[index] = np.argmax(votes)


@compiled
def fitting(
    blocks: Any, multiplicities: Any, lows: Any, highs: Any, least: Any, most: Any, rows: Any, example: Any
) -> None:
    """Count the ``rows`` within ``least`` and ``most`` of each description (2 means more than one), and store the
    position of one of them in ``example``.
    """
    lanes = blocks.shape[2]
    inside = np.empty(lanes, dtype=np.bool_)
    for description in range(len(least)):
        low, high, matches = least[description], most[description], 0
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
                    for position in range(lanes):
                        inside[position] &= (lane[position] >= low[column]) & (lane[position] <= high[column])
            for position in range(lanes):
                if inside[position] and multiplicities[block, position]:
                    matches += multiplicities[block, position]
                    example[description] = block * lanes + position
            if matches > 1:
                break
        rows[description] = min(matches, 2)
