"""The tree of :class:`RPlusTree`, compiled: points are inserted one by one, and an overflowing leaf is split in two.

A leaf with more than ``capacity`` rows finds its two farthest points, pair by pair, and is split on the axis on which
these differ most, as near to the median of its rows as leaves ``minimum`` on both sides; if that axis has no such
split, on the next one. A leaf without any tries again after ``minimum`` further rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reticent.base.compiled import compiled

# Maximum number of points compared pair by pair, for leaves that could not be split for long.
_MOST_SEEDS = 512


@compiled
def _seeds(points: Any, inside: Any) -> tuple[int, int]:
    """Return the two points that are farthest apart."""
    step = max(1, -(-len(inside) // _MOST_SEEDS))
    best, first_seed, second_seed = -1.0, inside[0], inside[0]
    for first in range(0, len(inside), step):
        for second in range(first + step, len(inside), step):
            distance = 0.0
            for axis in range(points.shape[1]):
                distance += (points[inside[first], axis] - points[inside[second], axis]) ** 2
            if distance > best:
                best, first_seed, second_seed = distance, inside[first], inside[second]
    return first_seed, second_seed


@compiled
def _cut(points: Any, rows: Any, inside: Any, axis: int, minimum: int) -> tuple[bool, float]:
    """Return whether points can be split on an axis such that both sides have ``minimum`` rows, and the value that splits
    them most evenly; points with this value belong to the lower side.
    """
    order = np.argsort(points[inside, axis], kind="mergesort")
    total = 0
    for index in range(len(inside)):
        total += rows[inside[index]]
    rows_before, best, is_found, value = 0, total + 1, False, 0.0
    for index in range(len(inside) - 1):
        point = inside[order[index]]
        rows_before += rows[point]
        next_point = inside[order[index + 1]]
        if points[point, axis] < points[next_point, axis] and rows_before >= minimum and total - rows_before >= minimum:
            imbalance = abs(2 * rows_before - total)
            if imbalance < best:
                best, is_found, value = imbalance, True, points[point, axis]
    return is_found, value


@compiled
def leaves_of(points: Any, rows: Any, order: Any, minimum: int, capacity: int) -> Any:
    """Return the leaf of every point after inserting all in an ``order``; leaves are numbered in tree order."""
    count, axes = points.shape
    most = 2 * count + 1
    axis = np.full(most, -1, dtype=np.int64)
    value = np.zeros(most)
    child = np.zeros(most, dtype=np.int64)
    head, rows_held, retry = (
        np.full(most, -1, dtype=np.int64),
        np.zeros(most, dtype=np.int64),
        np.zeros(most, dtype=np.int64),
    )
    following = np.full(count, -1, dtype=np.int64)
    members = np.zeros(most, dtype=np.int64)
    nodes = 1
    for point in order:
        node = 0
        while axis[node] >= 0:
            node = child[node] + (1 if points[point, axis[node]] > value[node] else 0)
        following[point], head[node] = head[node], point
        rows_held[node] += rows[point]
        members[node] += 1
        if rows_held[node] <= capacity or rows_held[node] < retry[node] or members[node] < 2:
            continue
        inside = np.empty(members[node], dtype=np.int64)
        index, member = 0, head[node]
        while member >= 0:
            inside[index] = member
            index, member = index + 1, following[member]
        inside.sort()
        first_seed, second_seed = _seeds(points, inside)
        axes_by_distance = np.argsort(-np.abs(points[first_seed] - points[second_seed]), kind="mergesort")
        is_found, split_value = False, 0.0
        for turn in range(axes):
            is_found, split_value = _cut(points, rows, inside, axes_by_distance[turn], minimum)
            if is_found:
                axis[node], value[node], child[node] = axes_by_distance[turn], split_value, nodes
                break
        if not is_found:
            retry[node] = rows_held[node] + minimum
            continue
        for member in inside:
            side = nodes + (1 if points[member, axis[node]] > split_value else 0)
            following[member], head[side] = head[side], member
            rows_held[side] += rows[member]
            members[side] += 1
        nodes += 2
    leaf_of = np.empty(count, dtype=np.int64)
    waiting = np.empty(most, dtype=np.int64)
    waiting[0], open_nodes, leaves = 0, 1, 0
    while open_nodes:
        open_nodes -= 1
        node = waiting[open_nodes]
        if axis[node] >= 0:
            waiting[open_nodes], waiting[open_nodes + 1] = child[node] + 1, child[node]
            open_nodes += 2
        else:
            member = head[node]
            while member >= 0:
                leaf_of[member] = leaves
                member = following[member]
            leaves += 1
    return leaf_of
