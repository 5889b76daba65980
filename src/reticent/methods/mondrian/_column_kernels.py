"""Compiled loops of column splits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reticent.base.compiled import compiled

_Ids = NDArray[np.int64]


@compiled
def settle(
    side: NDArray[np.int8],
    members: _Ids,
    labels: _Ids,
    counts: _Ids,
    people: _Ids,
    starts: _Ids,
    columns: _Ids,
    leasts: _Ids,
    fixed: NDArray[np.bool_],
    fewest: int,
) -> int:
    """Exempt units from a split that would put them into too small a label combination, until every combination of set ``s`` is empty or has ``leasts[s]`` people; return the number of labels read.

    The ``members`` have the label to be split; ``side`` is 0 (left), 1 (right) or 2 (keeps the label) for each. Set ``s`` of columns that an adversary knows besides the
    split one is ``columns[starts[s]:starts[s + 1]]``; unit ``u`` has label ``labels[j, u]`` of ``counts[j]`` in column ``j``. Columns that are
    ``fixed`` have the same label for all members and are skipped. Consecutive sets share the work for their common first columns.
    Stops once fewer than ``fewest`` people would be moved.
    """
    size, sets = len(members), len(starts) - 1
    deepest = 1
    for s in range(sets):
        deepest = max(deepest, starts[s + 1] - starts[s])
    ids = np.zeros((deepest + 1, size), np.int64)
    cells = np.ones(deepest + 1, np.int64)
    id_of_key, stamp_of_key = np.zeros(1024, np.int64), np.zeros(1024, np.int64)
    current_stamp = 0
    left, right, staying = np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size, np.int64)
    action = np.zeros(size, np.int64)
    moving = 0
    for index in range(size):
        if side[index] != 2:
            moving += people[members[index]]
    visits, unchanged, s, previous_set = 0, 0, 0, -1
    while unchanged < sets and moving >= fewest:
        depth, reused = starts[s + 1] - starts[s], 0
        if previous_set >= 0:
            shared = min(depth, starts[previous_set + 1] - starts[previous_set])
            while reused < shared and columns[starts[s] + reused] == columns[starts[previous_set] + reused]:
                reused += 1
        for step in range(reused, depth):
            j = columns[starts[s] + step]
            if fixed[j]:
                for index in range(size):
                    ids[step + 1, index] = ids[step, index]
                cells[step + 1] = cells[step]
                continue
            keys = cells[step] * counts[j]
            if keys > len(id_of_key):
                id_of_key, stamp_of_key = np.zeros(2 * keys, np.int64), np.zeros(2 * keys, np.int64)
            current_stamp += 1
            next_id = 0
            for index in range(size):
                key = ids[step, index] * counts[j] + labels[j, members[index]]
                if stamp_of_key[key] != current_stamp:
                    stamp_of_key[key] = current_stamp
                    id_of_key[key] = next_id
                    next_id += 1
                ids[step + 1, index] = id_of_key[key]
            cells[step + 1] = next_id
        visits += size * (depth - reused + 1)
        for cell in range(cells[depth]):
            left[cell], right[cell], staying[cell] = 0, 0, 0
        for index in range(size):
            cell, unit_people = ids[depth, index], people[members[index]]
            if side[index] == 0:
                left[cell] += unit_people
            elif side[index] == 1:
                right[cell] += unit_people
            else:
                staying[cell] += unit_people
        changes, minimum = False, leasts[s]
        for cell in range(cells[depth]):
            left_people, right_people, staying_people = left[cell], right[cell], staying[cell]
            stays = 0
            if 0 < left_people < minimum:
                stays, staying_people, left_people = 1, staying_people + left_people, 0
            if 0 < right_people < minimum:
                stays, staying_people, right_people = stays + 2, staying_people + right_people, 0
            if 0 < staying_people < minimum:
                # The smaller side that suffices keeps the label too, or both sides if neither suffices.
                smaller = (
                    left_people
                    if left_people > 0 and (right_people == 0 or left_people <= right_people)
                    else right_people
                )
                larger = left_people + right_people - smaller
                if staying_people + smaller >= minimum or larger == 0:
                    joining = smaller
                elif staying_people + larger >= minimum:
                    joining = larger
                else:
                    joining = left_people + right_people
                if joining == left_people + right_people:
                    stays = 3
                elif joining == left_people:
                    stays |= 1
                else:
                    stays |= 2
            action[cell] = stays
            changes = changes or stays != 0
        unchanged += 1
        if changes:
            for index in range(size):
                if side[index] != 2 and action[ids[depth, index]] & (side[index] + 1):
                    side[index] = 2
                    moving -= people[members[index]]
                    unchanged = 0
        previous_set, s = s, s + 1 if s + 1 < sets else 0
    return visits


@compiled
def number_cells(members: _Ids, labels: _Ids, counts: _Ids, starts: _Ids, columns: _Ids, cells: _Ids) -> int:
    """Number the label combinations of the members in every set of columns, set by set, into ``cells[set, member]``; return how many there are.

    Sets are given as in :func:`settle`, sorted by their columns.
    """
    size, sets = len(members), len(starts) - 1
    deepest = 1
    for s in range(sets):
        deepest = max(deepest, starts[s + 1] - starts[s])
    ids = np.zeros((deepest + 1, size), np.int64)
    cell_counts = np.ones(deepest + 1, np.int64)
    id_of_key, stamp_of_key = np.zeros(1024, np.int64), np.zeros(1024, np.int64)
    current_stamp, total = 0, 0
    for s in range(sets):
        depth, reused = starts[s + 1] - starts[s], 0
        if s > 0:
            shared = min(depth, starts[s] - starts[s - 1])
            while reused < shared and columns[starts[s] + reused] == columns[starts[s - 1] + reused]:
                reused += 1
        for step in range(reused, depth):
            j = columns[starts[s] + step]
            keys = cell_counts[step] * counts[j]
            if keys > len(id_of_key):
                id_of_key, stamp_of_key = np.zeros(2 * keys, np.int64), np.zeros(2 * keys, np.int64)
            current_stamp += 1
            next_id = 0
            for index in range(size):
                key = ids[step, index] * counts[j] + labels[j, members[index]]
                if stamp_of_key[key] != current_stamp:
                    stamp_of_key[key] = current_stamp
                    id_of_key[key] = next_id
                    next_id += 1
                ids[step + 1, index] = id_of_key[key]
            cell_counts[step + 1] = next_id
        for index in range(size):
            cells[s, index] = total + ids[depth, index]
        total += cell_counts[depth]
    return total
