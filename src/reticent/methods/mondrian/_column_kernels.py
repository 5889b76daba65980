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
    number, stamp = np.zeros(1024, np.int64), np.zeros(1024, np.int64)
    mark = 0
    left, right, staying = np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size, np.int64)
    action = np.zeros(size, np.int64)
    moving = 0
    for place in range(size):
        if side[place] != 2:
            moving += people[members[place]]
    visits, unchanged, s, before = 0, 0, 0, -1
    while unchanged < sets and moving >= fewest:
        depth, same = starts[s + 1] - starts[s], 0
        if before >= 0:
            shared = min(depth, starts[before + 1] - starts[before])
            while same < shared and columns[starts[s] + same] == columns[starts[before] + same]:
                same += 1
        for step in range(same, depth):
            j = columns[starts[s] + step]
            if fixed[j]:
                for place in range(size):
                    ids[step + 1, place] = ids[step, place]
                cells[step + 1] = cells[step]
                continue
            room = cells[step] * counts[j]
            if room > len(number):
                number, stamp = np.zeros(2 * room, np.int64), np.zeros(2 * room, np.int64)
            mark += 1
            fresh = 0
            for place in range(size):
                key = ids[step, place] * counts[j] + labels[j, members[place]]
                if stamp[key] != mark:
                    stamp[key] = mark
                    number[key] = fresh
                    fresh += 1
                ids[step + 1, place] = number[key]
            cells[step + 1] = fresh
        visits += size * (depth - same + 1)
        for cell in range(cells[depth]):
            left[cell], right[cell], staying[cell] = 0, 0, 0
        for place in range(size):
            cell, own = ids[depth, place], people[members[place]]
            if side[place] == 0:
                left[cell] += own
            elif side[place] == 1:
                right[cell] += own
            else:
                staying[cell] += own
        changes, least = False, leasts[s]
        for cell in range(cells[depth]):
            one, other, rest = left[cell], right[cell], staying[cell]
            stays = 0
            if 0 < one < least:
                stays, rest, one = 1, rest + one, 0
            if 0 < other < least:
                stays, rest, other = stays + 2, rest + other, 0
            if 0 < rest < least:
                # The smaller side that suffices keeps the label too, or both sides if neither suffices.
                small = one if one > 0 and (other == 0 or one <= other) else other
                large = one + other - small
                if rest + small >= least or large == 0:
                    joins = small
                elif rest + large >= least:
                    joins = large
                else:
                    joins = one + other
                if joins == one + other:
                    stays = 3
                elif joins == one:
                    stays |= 1
                else:
                    stays |= 2
            action[cell] = stays
            changes = changes or stays != 0
        unchanged += 1
        if changes:
            for place in range(size):
                if side[place] != 2 and action[ids[depth, place]] & (side[place] + 1):
                    side[place] = 2
                    moving -= people[members[place]]
                    unchanged = 0
        before, s = s, s + 1 if s + 1 < sets else 0
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
    found = np.ones(deepest + 1, np.int64)
    number, stamp = np.zeros(1024, np.int64), np.zeros(1024, np.int64)
    mark, total = 0, 0
    for s in range(sets):
        depth, same = starts[s + 1] - starts[s], 0
        if s > 0:
            shared = min(depth, starts[s] - starts[s - 1])
            while same < shared and columns[starts[s] + same] == columns[starts[s - 1] + same]:
                same += 1
        for step in range(same, depth):
            j = columns[starts[s] + step]
            room = found[step] * counts[j]
            if room > len(number):
                number, stamp = np.zeros(2 * room, np.int64), np.zeros(2 * room, np.int64)
            mark += 1
            fresh = 0
            for place in range(size):
                key = ids[step, place] * counts[j] + labels[j, members[place]]
                if stamp[key] != mark:
                    stamp[key] = mark
                    number[key] = fresh
                    fresh += 1
                ids[step + 1, place] = number[key]
            found[step + 1] = fresh
        for place in range(size):
            cells[s, place] = total + ids[depth, place]
        total += found[depth]
    return total
