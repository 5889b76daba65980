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
    best, one, other = -1.0, inside[0], inside[0]
    for first in range(0, len(inside), step):
        for second in range(first + step, len(inside), step):
            distance = 0.0
            for axis in range(points.shape[1]):
                distance += (points[inside[first], axis] - points[inside[second], axis]) ** 2
            if distance > best:
                best, one, other = distance, inside[first], inside[second]
    return one, other


@compiled
def _cut(points: Any, rows: Any, inside: Any, axis: int, minimum: int) -> tuple[bool, float]:
    """Return where to split points on an axis so that both sides have enough rows, as evenly as possible; the split value goes to the lower side."""
    order = np.argsort(points[inside, axis], kind="mergesort")
    total = 0
    for place in range(len(inside)):
        total += rows[inside[place]]
    before, best, found, value = 0, total + 1, False, 0.0
    for place in range(len(inside) - 1):
        here = inside[order[place]]
        before += rows[here]
        after = inside[order[place + 1]]
        if points[here, axis] < points[after, axis] and before >= minimum and total - before >= minimum:
            uneven = abs(2 * before - total)
            if uneven < best:
                best, found, value = uneven, True, points[here, axis]
    return found, value


@compiled
def leaves_of(points: Any, rows: Any, order: Any, minimum: int, capacity: int) -> Any:
    """Return the leaf of every point after inserting all in an ``order``; leaves are numbered in tree order."""
    count, axes = points.shape
    most = 2 * count + 1
    axis = np.full(most, -1, dtype=np.int64)
    value = np.zeros(most)
    child = np.zeros(most, dtype=np.int64)
    head, held, retry = (
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
        held[node] += rows[point]
        members[node] += 1
        if held[node] <= capacity or held[node] < retry[node] or members[node] < 2:
            continue
        inside = np.empty(members[node], dtype=np.int64)
        place, each = 0, head[node]
        while each >= 0:
            inside[place] = each
            place, each = place + 1, following[each]
        inside.sort()
        one, other = _seeds(points, inside)
        apart = np.argsort(-np.abs(points[one] - points[other]), kind="mergesort")
        found, where = False, 0.0
        for turn in range(axes):
            found, where = _cut(points, rows, inside, apart[turn], minimum)
            if found:
                axis[node], value[node], child[node] = apart[turn], where, nodes
                break
        if not found:
            retry[node] = held[node] + minimum
            continue
        for each in inside:
            side = nodes + (1 if points[each, axis[node]] > where else 0)
            following[each], head[side] = head[side], each
            held[side] += rows[each]
            members[side] += 1
        nodes += 2
    leaf_of = np.empty(count, dtype=np.int64)
    waiting = np.empty(most, dtype=np.int64)
    waiting[0], left, leaves = 0, 1, 0
    while left:
        left -= 1
        node = waiting[left]
        if axis[node] >= 0:
            waiting[left], waiting[left + 1] = child[node] + 1, child[node]
            left += 2
        else:
            each = head[node]
            while each >= 0:
                leaf_of[each] = leaves
                each = following[each]
            leaves += 1
    return leaf_of
