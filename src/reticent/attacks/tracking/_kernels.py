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
    """Return the positions of ``keys`` grouped by key (a counting sort, in CSR form): those of ``k`` are
    ``indices[starts[k]:starts[k + 1]]``, in rising order.
    """
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
    """Restrict the candidate values of every track (``masks[track]``, a bit set) to those that all of its groups
    publish.

    A track is a period in which a person keeps one sensitive value. Group ``g`` has the tracks
    ``members[starts[g]:starts[g + 1]]`` and publishes ``values[offsets[g]:offsets[g + 1]]``.
    """
    published_bits = np.zeros(masks.shape[1], dtype=np.uint64)
    for group in range(len(starts) - 1):
        published_bits[:] = 0
        for entry in range(offsets[group], offsets[group + 1]):
            value = values[entry]
            published_bits[value >> _WORD] |= _BIT << (np.uint64(value) & _LOW)
        for entry in range(starts[group], starts[group + 1]):
            for word in range(len(published_bits)):
                masks[members[entry], word] &= published_bits[word]


@compiled
def left_over(masks: Any) -> Any:
    """Return the number of values in each bit set ``masks[row]``."""
    sizes = np.zeros(len(masks), dtype=np.int32)
    for row in range(len(masks)):
        for word in range(masks.shape[1]):
            bits = masks[row, word]
            while bits:
                bits &= bits - _BIT  # clears the lowest bit
                sizes[row] += 1
    return sizes


@compiled
def matched(allowed: Any, capacity: Any, assigned: Any) -> bool:
    """Assign every member an allowed value, none more often than its capacity; False if impossible.

    ``allowed[member, value]`` is the bipartite graph, and ``assigned[member]`` receives the matching. Members are added one
    by one along augmenting paths, which a breadth-first search over values finds.
    """
    members, value_count = allowed.shape
    used = np.zeros(value_count, dtype=np.int64)
    reached_from = np.empty(value_count, dtype=np.int64)
    queue = np.empty(value_count, dtype=np.int64)
    assigned[:] = -1
    for member in range(members):
        reached_from[:] = -1
        head, tail, last_value = 0, 0, -1
        for value in range(value_count):
            if allowed[member, value]:
                reached_from[value] = member
                queue[tail] = value
                tail += 1
        while head < tail:
            value = queue[head]
            head += 1
            if used[value] < capacity[value]:
                last_value = value
                break
            for other in range(members):
                if assigned[other] == value:
                    for next_value in range(value_count):
                        if allowed[other, next_value] and reached_from[next_value] < 0:
                            reached_from[next_value] = other
                            queue[tail] = next_value
                            tail += 1
        if last_value < 0:
            return False
        used[last_value] += 1
        # Along the path, every member hands its value to the one before and takes the next.
        while True:
            moved = reached_from[last_value]
            previous_value = assigned[moved]
            assigned[moved] = last_value
            if moved == member:
                break
            last_value = previous_value
    return True


@compiled
def usable(allowed: Any, capacity: Any, assigned: Any) -> None:
    """Set ``allowed`` to False for every pair of member and value that is in no perfect matching, given one matching
    (``assigned``).

    A member may take a value if, from a member who holds it, an alternating path leads to a value with capacity to
    spare, or to the value that the member gives up.
    """
    members, value_count = allowed.shape
    is_reachable = np.zeros((value_count, value_count), dtype=np.bool_)
    free = capacity.copy()
    for member in range(members):
        free[assigned[member]] -= 1
        for value in range(value_count):
            if allowed[member, value]:
                is_reachable[assigned[member], value] = True
    # Transitive closure (Warshall).
    for middle in range(value_count):
        for start in range(value_count):
            if is_reachable[start, middle]:
                for end in range(value_count):
                    if is_reachable[middle, end]:
                        is_reachable[start, end] = True
    leads_to_free = free > 0
    for start in range(value_count):
        for end in range(value_count):
            if is_reachable[start, end] and free[end] > 0:
                leads_to_free[start] = True
    for member in range(members):
        for value in range(value_count):
            if allowed[member, value] and value != assigned[member]:
                allowed[member, value] = leads_to_free[value] or is_reachable[value, assigned[member]]


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
    """Remove from each track of the groups ``first`` to ``last - 1`` the values that no perfect matching of the group
    assigns to it.

    A track is a period in which a person keeps one value; only groups marked ``dirty`` are examined, and the groups of
    tracks that change are marked. Group ``g`` has the tracks ``members[starts[g]:starts[g + 1]]`` and publishes
    ``values[offsets[g]:offsets[g + 1]]``, sorted. The groups of track ``t`` are ``homes[home_starts[t]:home_starts[t +
    1]]``, its candidate values the bit set ``masks[t]``. ``before[t]`` and ``after[t]`` are tracks with a value known
    to be different (-1: none). Returns the number of bit sets that shrank, and a group without a perfect matching, or
    -1.
    """
    words = masks.shape[1]
    shrunk = 0
    for group in range(first, last):
        if not dirty[group]:
            continue
        dirty[group] = False
        # Distinct values with their capacity.
        published_bits = np.zeros(words, dtype=np.uint64)
        size = offsets[group + 1] - offsets[group]
        value_count = 0
        distinct = np.empty(size, dtype=np.int64)
        capacity = np.zeros(size, dtype=np.int64)
        for entry in range(offsets[group], offsets[group + 1]):
            value = values[entry]
            if value_count == 0 or distinct[value_count - 1] != value:
                distinct[value_count] = value
                value_count += 1
                published_bits[value >> _WORD] |= _BIT << (np.uint64(value) & _LOW)
            capacity[value_count - 1] += 1
        count = starts[group + 1] - starts[group]
        is_unrestricted = True
        for entry in range(starts[group], starts[group + 1]):
            for word in range(words):
                if masks[members[entry], word] != published_bits[word]:
                    is_unrestricted = False
        if is_unrestricted and value_count > 1:
            continue
        allowed = np.zeros((count, value_count), dtype=np.bool_)
        for row in range(count):
            track = members[starts[group] + row]
            for column in range(value_count):
                value = distinct[column]
                allowed[row, column] = (masks[track, value >> _WORD] >> (np.uint64(value) & _LOW)) & _BIT
        assigned = np.empty(count, dtype=np.int64)
        if not matched(allowed, capacity[:value_count], assigned):
            return shrunk, group
        usable(allowed, capacity[:value_count], assigned)
        for row in range(count):
            track = members[starts[group] + row]
            changed = False
            candidates = 0
            last_candidate = -1
            for column in range(value_count):
                value = distinct[column]
                bit = _BIT << (np.uint64(value) & _LOW)
                if allowed[row, column]:
                    candidates += 1
                    last_candidate = value
                elif masks[track, value >> _WORD] & bit:
                    masks[track, value >> _WORD] &= ~bit
                    changed = True
            if changed:
                shrunk += 1
                for entry in range(home_starts[track], home_starts[track + 1]):
                    if homes[entry] != group:
                        dirty[homes[entry]] = True
            if candidates == 1:
                bit = _BIT << (np.uint64(last_candidate) & _LOW)
                for other in (before[track], after[track]):
                    if other >= 0 and masks[other, last_candidate >> _WORD] & bit:
                        masks[other, last_candidate >> _WORD] &= ~bit
                        shrunk += 1
                        for entry in range(home_starts[other], home_starts[other + 1]):
                            dirty[homes[entry]] = True
    return shrunk, -1


@compiled
def chances(groups: Any, tracks: Any, offsets: Any, values: Any, masks: Any) -> Any:
    """Return two numbers for each sighting of a person in a group: the rows of the group with the most frequent of the
    person's possible values, and the rows with any of them.

    Sighting ``i`` is that of ``tracks[i]`` in ``groups[i]``, which publishes ``values[offsets[g]:offsets[g + 1]]``,
    sorted. ``masks[track]`` is the bit set of possible values.
    """
    rows = np.zeros((len(groups), 2), dtype=np.int64)
    for sighting in range(len(groups)):
        group, track = groups[sighting], tracks[sighting]
        run_length, previous = 0, -1
        for index in range(offsets[group], offsets[group + 1]):
            value = values[index]
            if value != previous:
                run_length, previous = 0, value
            if (masks[track, value >> _WORD] >> (np.uint64(value) & _LOW)) & _BIT:
                run_length += 1
                rows[sighting, 1] += 1
                rows[sighting, 0] = max(rows[sighting, 0], run_length)
    return rows


@compiled
def _is_inside(point: Any, low: Any, high: Any) -> bool:
    """True if every coordinate of the point is within its bounds."""
    inside = True
    for column in range(len(point)):
        inside &= low[column] <= point[column] <= high[column]
    return inside


@compiled
def covering(
    points: Any, low: Any, high: Any, block_low: Any, block_high: Any, boxes_per_block: int, limit: int
) -> Any:
    """Return pairs of a point and a box that contains it, at most ``limit`` (plus one if there are more).

    Box ``b`` extends from ``low[b]`` to ``high[b]``. Every ``boxes_per_block`` consecutive boxes form a block with common
    bounds, which is skipped if it does not contain the point. The result arrays double when they are full.
    """
    found_points = np.empty(1024, dtype=np.int32)
    found_boxes = np.empty(1024, dtype=np.int32)
    count = 0
    for point in range(len(points)):
        for block in range(len(block_low)):
            if not _is_inside(points[point], block_low[block], block_high[block]):
                continue
            for box in range(block * boxes_per_block, min((block + 1) * boxes_per_block, len(low))):
                if _is_inside(points[point], low[box], high[box]):
                    if count == len(found_points):
                        found_points = np.append(found_points, np.empty(count, dtype=np.int32))
                        found_boxes = np.append(found_boxes, np.empty(count, dtype=np.int32))
                    found_points[count] = point
                    found_boxes[count] = box
                    count += 1
                    if count > limit:
                        return found_points[:count], found_boxes[:count]
    return found_points[:count], found_boxes[:count]


@compiled
def equal_or_disjoint(previous: Any, starts: Any, shown: Any, masks: Any) -> Any:
    """Return a mask of the entries of ``shown`` that are consistent with the other track of the same person.

    A signature is the set of sensitive values of a group. Track ``t`` may have the signatures
    ``shown[starts[t]:starts[t + 1]]``, whose values are the bits of ``masks[signature]``; it and the track before it
    (``previous[t]``, -1: none) must have equal or disjoint ones. A track without any was not seen, and imposes no
    constraint.
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
    """True if the signature equals one of the ``others``, or shares no value with it (``masks[s]`` are the values of ``s`` as bits)."""
    fits = False
    for candidate in others:
        fits = candidate == signature or not (masks[signature] & masks[candidate]).any()
        if fits:
            break
    return fits
