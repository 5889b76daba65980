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
    label_limit = 1
    for j in range(width):
        label_limit = max(label_limit, cards[j])
    people_by_label, points_by_label, next_slot = (
        np.zeros(label_limit, np.int64),
        np.zeros(label_limit, np.int64),
        np.zeros(label_limit, np.int64),
    )
    labels_present = np.empty(label_limit, np.int64)
    cell_start, cell_end = np.zeros(more + 1, np.int64), np.zeros(more + 1, np.int64)
    column, segment_start = np.zeros(more + 1, np.int64), np.zeros(more + 1, np.int64)
    for cell in range(len(starts) - 1):
        depth = 0
        cell_start[0], cell_end[0], column[0], segment_start[0] = starts[cell], starts[cell + 1], 0, -1
        while depth >= 0:
            j = column[depth]
            if j == width:
                depth -= 1
                continue
            if segment_start[depth] >= 0:
                begin = segment_start[depth]
                if begin == cell_end[depth]:
                    column[depth] += 1
                    segment_start[depth] = -1
                    continue
                label, end = codes[j, order[depth + 1, begin]], begin + 1
                while end < cell_end[depth] and codes[j, order[depth + 1, end]] == label:
                    end += 1
                segment_start[depth] = end
                if end > begin + 1:
                    depth += 1
                    cell_start[depth], cell_end[depth], column[depth], segment_start[depth] = begin, end, j + 1, -1
                continue
            label_count = 0
            for index in range(cell_start[depth], cell_end[depth]):
                point = order[depth, index]
                label = codes[j, point]
                if points_by_label[label] == 0:
                    labels_present[label_count] = label
                    label_count += 1
                points_by_label[label] += 1
                people_by_label[label] += people[point]
            if label_count > 1:
                fails = False
                for number in range(label_count):
                    count = people_by_label[labels_present[number]]
                    fails = fails or count < least
                    if count < smallest[0] or (count == smallest[0] and depth + 1 < smallest[1]):
                        smallest[0], smallest[1] = count, depth + 1
                        for index in range(cell_start[depth], cell_end[depth]):
                            if codes[j, order[depth, index]] == labels_present[number]:
                                smallest[2] = order[depth, index]
                                break
                        for ancestor in range(depth + 1):
                            columns[ancestor] = column[ancestor]
                if fails:
                    for index in range(cell_start[depth], cell_end[depth]):
                        if people_by_label[codes[j, order[depth, index]]] < least:
                            failing[order[depth, index]] = True
            if label_count > 1 and depth + 1 < more:
                slot = cell_start[depth]
                for number in range(label_count):
                    next_slot[labels_present[number]] = slot
                    slot += points_by_label[labels_present[number]]
                for index in range(cell_start[depth], cell_end[depth]):
                    point = order[depth, index]
                    label = codes[j, point]
                    order[depth + 1, next_slot[label]] = point
                    next_slot[label] += 1
                segment_start[depth] = cell_start[depth]
            else:
                column[depth] += 1
            for number in range(label_count):
                people_by_label[labels_present[number]] = 0
                points_by_label[labels_present[number]] = 0
