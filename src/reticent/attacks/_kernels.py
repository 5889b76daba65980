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
def _bounds(lows: Any, highs: Any, is_numeric: Any, person: Any, columns: Any, cap: int, bounds: Any) -> None:
    """Fill ``bounds`` with a lower bound of the distance of ``person`` to the records of each block.

    A block is a batch of records, and lies between ``lows[block]`` and ``highs[block]`` in every column. A distance is the
    sum over the compared ``columns``: of numeric ones the difference, at most ``cap``; of others ``cap`` if they differ.
    """
    for block in range(len(lows)):
        total = 0
        for column in columns:
            gap = max(lows[block, column] - person[column], person[column] - highs[block, column], 0)
            total += min(gap, cap) if is_numeric[column] else cap if gap else 0
        bounds[block] = total


@compiled
def _distances(block: Any, is_numeric: Any, person: Any, columns: Any, cap: Any, limit: Any, sums: Any) -> bool:
    """Fill ``sums`` with the distance of ``person`` to each record of a block (``block[column, record]``).

    Return whether some distance is at most ``limit``; the sums are incomplete if not. A distance adds, over the compared
    ``columns``, the difference of numeric ones (at most ``cap``), and ``cap`` for others that differ.
    """
    record_count = len(sums)
    sums[:] = 0
    for step in range(len(columns)):
        column = columns[step]
        value, coordinates = person[column], block[column]
        if is_numeric[column]:
            for record in range(record_count):
                sums[record] += min(abs(coordinates[record] - value), cap)
        else:
            for record in range(record_count):
                sums[record] += cap if coordinates[record] != value else np.int32(0)
        # Distances only grow, so a block whose nearest record is too far is given up early.
        if step % _A_FEW == _A_FEW - 1 and np.min(sums) > limit:
            return False
    return bool(np.min(sums) <= limit)


@compiled
def nearest(
    blocks: Any, lows: Any, highs: Any, is_numeric: Any, people: Any, columns: Any, cap: Any, distances: Any
) -> None:
    """Fill ``distances`` with each person's distance to the nearest record by the compared ``columns``.

    Records are stored in ``blocks[block, column, record]``, each with its bounding box (``lows``, ``highs``): a block
    whose box is farther away than the best record so far is skipped. ``is_numeric`` and ``cap`` define the distance, see
    ``_bounds``.
    """
    bounds, sums = np.empty(len(lows), dtype=np.int64), np.empty(blocks.shape[2], dtype=np.int32)
    for index in range(len(people)):
        person = people[index]
        _bounds(lows, highs, is_numeric, person, columns, cap, bounds)
        best = np.int64(cap) * len(columns)
        # The block that may be nearest is tried first, so that most others can be skipped.
        first = np.argmin(bounds)
        if _distances(blocks[first], is_numeric, person, columns, cap, best, sums):
            best = np.int64(np.min(sums))
        for block in range(len(bounds)):
            if bounds[block] < best and _distances(blocks[block], is_numeric, person, columns, cap, best - 1, sums):
                best = np.int64(np.min(sums))
        distances[index] = best


@compiled
def vote(
    blocks: Any,
    lows: Any,
    highs: Any,
    is_numeric: Any,
    people: Any,
    columns: Any,
    cap: Any,
    distance: Any,
    multiplicities: Any,
    values: Any,
    guesses: Any,
) -> None:
    """Fill ``guesses`` with the most frequent value among the rows at each person's minimum ``distance``; ties: the first.

    ``values[block, record]`` is the value code of a record, ``multiplicities[block, record]`` how many rows it stands for.
    The other arrays are those of ``nearest``, which computed ``distance``.
    """
    bounds, sums = np.empty(len(lows), dtype=np.int64), np.empty(blocks.shape[2], dtype=np.int32)
    votes = np.zeros(np.max(values) + 1, dtype=np.int64)
    for index in range(len(people)):
        person, nearest = people[index], distance[index]
        _bounds(lows, highs, is_numeric, person, columns, cap, bounds)
        votes[:] = 0
        for block in range(len(bounds)):
            if bounds[block] <= nearest and _distances(blocks[block], is_numeric, person, columns, cap, nearest, sums):
                for record in range(len(sums)):
                    if sums[record] == nearest:
                        votes[values[block, record]] += multiplicities[block, record]
        guesses[index] = np.argmax(votes)


@compiled
def fitting(
    blocks: Any, multiplicities: Any, lows: Any, highs: Any, minimum: Any, maximum: Any, rows: Any, example: Any
) -> None:
    """Count the records that match each description (2 means more than one), and store the index of one of them in ``example``.

    A description is an interval of coordinates per column, from ``minimum[description]`` to ``maximum[description]``. A
    record ``blocks[block, :, record]`` stands for ``multiplicities[block, record]`` rows; ``lows`` and ``highs`` bound
    the coordinates of each block. Its index is ``block * record_count + record``.
    """
    record_count = blocks.shape[2]
    is_inside = np.empty(record_count, dtype=np.bool_)
    for description in range(len(minimum)):
        low, high, matches = minimum[description], maximum[description], 0
        for block in range(len(lows)):
            possible = True
            for column in range(len(low)):
                if low[column] > highs[block, column] or high[column] < lows[block, column]:
                    possible = False
                    break
            if not possible:
                continue
            is_inside[:] = True
            for column in range(len(low)):
                if low[column] > lows[block, column] or high[column] < highs[block, column]:
                    coordinates = blocks[block, column]
                    for record in range(record_count):
                        is_inside[record] &= (coordinates[record] >= low[column]) & (
                            coordinates[record] <= high[column]
                        )
            for record in range(record_count):
                if is_inside[record] and multiplicities[block, record]:
                    matches += multiplicities[block, record]
                    example[description] = block * record_count + record
            if matches > 1:
                break
        rows[description] = min(matches, 2)
