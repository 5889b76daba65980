"""Compiled loops of the fixpoint: the remaining values of each track, group by group.

Sets of values are bits in rows of 64-bit words. A group lists its members (tracks) and its published values, rising;
the members need one value each and counterfeits take the rest. ``cache=True`` keeps the machine code on disk.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reticent.base.compiled import compiled

_WORD = 6
_BIT = np.uint64(1)
_LOW = np.uint64(63)


@compiled
def gathered(keys: Any, count: int) -> Any:
    """Return positions grouped by key: those of ``k`` are ``indices[starts[k]:starts[k + 1]]``, in rising order."""
    starts = np.zeros(count + 1, dtype=np.int64)
    for key in keys:
        starts[key + 1] += 1
    for key in range(count):
        starts[key + 1] += starts[key]
    indices = np.empty(len(keys), dtype=np.int32)
    next_free = starts[:-1].copy()
    for index in range(len(keys)):
        indices[next_free[keys[index]]] = index
        next_free[keys[index]] += 1
    return starts, indices


@compiled
def intersect(starts: Any, members: Any, offsets: Any, values: Any, masks: Any) -> None:
    """Restrict every track to the values that all of its groups publish."""
    published = np.zeros(masks.shape[1], dtype=np.uint64)
    for group in range(len(starts) - 1):
        published[:] = 0
        for index in range(offsets[group], offsets[group + 1]):
            value = values[index]
            published[value >> _WORD] |= _BIT << (np.uint64(value) & _LOW)
        for index in range(starts[group], starts[group + 1]):
            for word in range(len(published)):
                masks[members[index], word] &= published[word]


@compiled
def left_over(masks: Any) -> Any:
    """Return the size of each value set."""
    sizes = np.zeros(len(masks), dtype=np.int32)
    for row in range(len(masks)):
        for word in range(masks.shape[1]):
            bits = masks[row, word]
            while bits:
                bits &= bits - _BIT
                sizes[row] += 1
    return sizes


@compiled
def matched(allowed: Any, room: Any, chosen: Any) -> bool:
    """Assign every member an allowed value, none more often than its capacity; False if impossible. Augmenting paths."""
    members, kinds = allowed.shape
    used = np.zeros(kinds, dtype=np.int64)
    owner = np.empty(kinds, dtype=np.int64)
    queue = np.empty(kinds, dtype=np.int64)
    chosen[:] = -1
    for member in range(members):
        owner[:] = -1
        head, tail, end = 0, 0, -1
        for value in range(kinds):
            if allowed[member, value]:
                owner[value] = member
                queue[tail] = value
                tail += 1
        while head < tail:
            value = queue[head]
            head += 1
            if used[value] < room[value]:
                end = value
                break
            for other in range(members):
                if chosen[other] == value:
                    for move in range(kinds):
                        if allowed[other, move] and owner[move] < 0:
                            owner[move] = other
                            queue[tail] = move
                            tail += 1
        if end < 0:
            return False
        used[end] += 1
        while True:
            mover = owner[end]
            before = chosen[mover]
            chosen[mover] = end
            if mover == member:
                break
            end = before
    return True


@compiled
def usable(allowed: Any, room: Any, chosen: Any) -> None:
    """Forbid every pair of member and value that is in no perfect matching, given one matching (``chosen``).

    A member may take a value if, from a member who holds it, an alternating path leads to a free row, or to the value
    that the member gives up.
    """
    members, kinds = allowed.shape
    reach = np.zeros((kinds, kinds), dtype=np.bool_)
    free = room.copy()
    for member in range(members):
        free[chosen[member]] -= 1
        for value in range(kinds):
            if allowed[member, value]:
                reach[chosen[member], value] = True
    for middle in range(kinds):
        for start in range(kinds):
            if reach[start, middle]:
                for end in range(kinds):
                    if reach[middle, end]:
                        reach[start, end] = True
    spare = free > 0
    for start in range(kinds):
        for end in range(kinds):
            if reach[start, end] and free[end] > 0:
                spare[start] = True
    for member in range(members):
        for value in range(kinds):
            if allowed[member, value] and value != chosen[member]:
                allowed[member, value] = spare[value] or reach[value, chosen[member]]


@compiled
def sweep(
    starts: Any,
    members: Any,
    offsets: Any,
    values: Any,
    home_starts: Any,
    homes: Any,
    before: Any,
    after: Any,
    masks: Any,
    dirty: Any,
    first: int,
    last: int,
) -> tuple[int, int]:
    """Prune the dirty groups of ``first..last``; return the number of sets that shrank, and a group without a matching,
    or -1.

    ``homes`` are the groups of each track. ``before`` and ``after`` are tracks with a value known to be different (-1:
    none).
    """
    words = masks.shape[1]
    shrunk = 0
    for group in range(first, last):
        if not dirty[group]:
            continue
        dirty[group] = False
        # Distinct values with their capacity.
        shown = np.zeros(words, dtype=np.uint64)
        size = offsets[group + 1] - offsets[group]
        kinds = 0
        distinct = np.empty(size, dtype=np.int64)
        room = np.zeros(size, dtype=np.int64)
        for place in range(offsets[group], offsets[group + 1]):
            value = values[place]
            if kinds == 0 or distinct[kinds - 1] != value:
                distinct[kinds] = value
                kinds += 1
                shown[value >> _WORD] |= _BIT << (np.uint64(value) & _LOW)
            room[kinds - 1] += 1
        count = starts[group + 1] - starts[group]
        whole = True
        for place in range(starts[group], starts[group + 1]):
            for word in range(words):
                if masks[members[place], word] != shown[word]:
                    whole = False
        if whole and kinds > 1:
            continue
        allowed = np.zeros((count, kinds), dtype=np.bool_)
        for row in range(count):
            track = members[starts[group] + row]
            for column in range(kinds):
                value = distinct[column]
                allowed[row, column] = (masks[track, value >> _WORD] >> (np.uint64(value) & _LOW)) & _BIT
        chosen = np.empty(count, dtype=np.int64)
        if not matched(allowed, room[:kinds], chosen):
            return shrunk, group
        usable(allowed, room[:kinds], chosen)
        for row in range(count):
            track = members[starts[group] + row]
            changed = False
            held = 0
            only = -1
            for column in range(kinds):
                value = distinct[column]
                bit = _BIT << (np.uint64(value) & _LOW)
                if allowed[row, column]:
                    held += 1
                    only = value
                elif masks[track, value >> _WORD] & bit:
                    masks[track, value >> _WORD] &= ~bit
                    changed = True
            if changed:
                shrunk += 1
                for place in range(home_starts[track], home_starts[track + 1]):
                    if homes[place] != group:
                        dirty[homes[place]] = True
            if held == 1:
                bit = _BIT << (np.uint64(only) & _LOW)
                for other in (before[track], after[track]):
                    if other >= 0 and masks[other, only >> _WORD] & bit:
                        masks[other, only >> _WORD] &= ~bit
                        shrunk += 1
                        for place in range(home_starts[other], home_starts[other + 1]):
                            dirty[homes[place]] = True
    return shrunk, -1


@compiled
def chances(groups: Any, tracks: Any, offsets: Any, values: Any, masks: Any) -> Any:
    """Return for each sighting the rows of its group with the most frequent remaining value, and the rows with any remaining value."""
    figures = np.zeros((len(groups), 2), dtype=np.int64)
    for sighting in range(len(groups)):
        group, track = groups[sighting], tracks[sighting]
        count, last = 0, -1
        for index in range(offsets[group], offsets[group + 1]):
            value = values[index]
            if value != last:
                count, last = 0, value
            if (masks[track, value >> _WORD] >> (np.uint64(value) & _LOW)) & _BIT:
                count += 1
                figures[sighting, 1] += 1
                figures[sighting, 0] = max(figures[sighting, 0], count)
    return figures


@compiled
def _is_inside(point: Any, low: Any, high: Any) -> bool:
    inside = True
    for column in range(len(point)):
        inside &= low[column] <= point[column] <= high[column]
    return inside


@compiled
def covering(points: Any, low: Any, high: Any, block_low: Any, block_high: Any, lanes: int, most: int) -> Any:
    """Return pairs of a point and a box that contains it, at most ``most`` (plus one if there are more). Boxes are in blocks with bounds."""
    found_points = np.empty(1024, dtype=np.int32)
    found_boxes = np.empty(1024, dtype=np.int32)
    count = 0
    for point in range(len(points)):
        for block in range(len(block_low)):
            if not _is_inside(points[point], block_low[block], block_high[block]):
                continue
            for box in range(block * lanes, min((block + 1) * lanes, len(low))):
                if _is_inside(points[point], low[box], high[box]):
                    if count == len(found_points):
                        found_points = np.append(found_points, np.empty(count, dtype=np.int32))
                        found_boxes = np.append(found_boxes, np.empty(count, dtype=np.int32))
                    found_points[count] = point
                    found_boxes[count] = box
                    count += 1
                    if count > most:
                        return found_points[:count], found_boxes[:count]
    return found_points[:count], found_boxes[:count]


@compiled
def equal_or_disjoint(previous: Any, starts: Any, shown: Any, masks: Any) -> Any:
    """Return which signatures a track may have so that it and the track before it (``previous``, -1: none) have equal
    or disjoint ones.

    Track ``t`` may have the signatures ``shown[starts[t]:starts[t + 1]]``, whose values are the bits of
    ``masks[signature]``. A track without any was not seen, and imposes no constraint.
    """
    is_allowed = np.ones(len(shown), dtype=np.bool_)
    for track in range(len(previous)):
        other = previous[track]
        if other < 0 or starts[track] == starts[track + 1] or starts[other] == starts[other + 1]:
            continue
        for index in range(starts[track], starts[track + 1]):
            is_allowed[index] &= _fits(shown[index], shown[starts[other] : starts[other + 1]], masks)
        for index in range(starts[other], starts[other + 1]):
            is_allowed[index] &= _fits(shown[index], shown[starts[track] : starts[track + 1]], masks)
    return is_allowed


@compiled
def _fits(signature: int, others: Any, masks: Any) -> bool:
    fits = False
    for candidate in others:
        fits = candidate == signature or not (masks[signature] & masks[candidate]).any()
        if fits:
            break
    return fits
