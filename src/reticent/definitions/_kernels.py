"""Compiled loops over cells: records with equal labels in a set of columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reticent.base.compiled import compiled

_Ids = NDArray[np.int64]


@compiled
def count_cells(
    codes: _Ids,
    cards: _Ids,
    people: _Ids,
    starts: _Ids,
    order: _Ids,
    more: int,
    least: int,
    failing: NDArray[np.bool_],
    smallest: _Ids,
    columns: _Ids,
) -> None:
    """Count the people of every cell obtained by splitting the given cells by at most ``more`` columns, depth first.

    Point ``p`` is a distinct label combination: it has label ``codes[j, p]`` of ``cards[j]`` in column ``j`` and
    represents ``people[p]`` people. The initial cells are the segments ``order[0, starts[c]:starts[c + 1]]``; the other
    ``more`` rows of ``order`` are scratch space. Marks the points of cells with fewer than ``least`` people as
    ``failing``. ``smallest`` holds the minimum count so far, the number of its ``columns`` and one of its points; ties
    go to the fewest columns. Columns that do not split a cell are skipped, and a cell of one point is not split.
    """
    width = len(codes)
    room = 1
    for j in range(width):
        room = max(room, cards[j])
    weight, points, position = np.zeros(room, np.int64), np.zeros(room, np.int64), np.zeros(room, np.int64)
    touched = np.empty(room, np.int64)
    low, high = np.zeros(more + 1, np.int64), np.zeros(more + 1, np.int64)
    column, part = np.zeros(more + 1, np.int64), np.zeros(more + 1, np.int64)
    for cell in range(len(starts) - 1):
        depth = 0
        low[0], high[0], column[0], part[0] = starts[cell], starts[cell + 1], 0, -1
        while depth >= 0:
            j = column[depth]
            if j == width:
                depth -= 1
                continue
            if part[depth] >= 0:
                begin = part[depth]
                if begin == high[depth]:
                    column[depth] += 1
                    part[depth] = -1
                    continue
                label, end = codes[j, order[depth + 1, begin]], begin + 1
                while end < high[depth] and codes[j, order[depth + 1, end]] == label:
                    end += 1
                part[depth] = end
                if end > begin + 1:
                    depth += 1
                    low[depth], high[depth], column[depth], part[depth] = begin, end, j + 1, -1
                continue
            labels = 0
            for index in range(low[depth], high[depth]):
                point = order[depth, index]
                label = codes[j, point]
                if points[label] == 0:
                    touched[labels] = label
                    labels += 1
                points[label] += 1
                weight[label] += people[point]
            if labels > 1:
                fails = False
                for number in range(labels):
                    count = weight[touched[number]]
                    fails = fails or count < least
                    if count < smallest[0] or (count == smallest[0] and depth + 1 < smallest[1]):
                        smallest[0], smallest[1] = count, depth + 1
                        for index in range(low[depth], high[depth]):
                            if codes[j, order[depth, index]] == touched[number]:
                                smallest[2] = order[depth, index]
                                break
                        for above in range(depth + 1):
                            columns[above] = column[above]
                if fails:
                    for index in range(low[depth], high[depth]):
                        if weight[codes[j, order[depth, index]]] < least:
                            failing[order[depth, index]] = True
            if labels > 1 and depth + 1 < more:
                before = low[depth]
                for number in range(labels):
                    position[touched[number]] = before
                    before += points[touched[number]]
                for index in range(low[depth], high[depth]):
                    point = order[depth, index]
                    label = codes[j, point]
                    order[depth + 1, position[label]] = point
                    position[label] += 1
                part[depth] = low[depth]
            else:
                column[depth] += 1
            for number in range(labels):
                weight[touched[number]] = 0
                points[touched[number]] = 0
