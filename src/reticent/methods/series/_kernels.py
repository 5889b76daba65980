"""Compiled loops of the publisher: assignment of changed rows to vacancies and to new groups, matching the rows of a
bucket by distance, k-anonymous boxes, Hilbert curve positions, signature lookups, random permutations.

A signature is a row of ``book``: increasing value codes, padded with -1. ``cache=True`` keeps the machine code on disk.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reticent.base.compiled import compiled

_BLOCK = 1024


@compiled
def _holds(signature: Any, value: int) -> bool:
    """Return whether a signature, padded by -1, contains a value."""
    for member in signature:
        if member == value:
            return True
        if member < 0:
            return False
    return False


@compiled
def _disjoint(values: Any, signature: Any) -> bool:
    """Return whether two signatures, padded by -1, have no value in common."""
    for value in values:
        if value < 0:
            return True
        if _holds(signature, value):
            return False
    return True


@compiled
def fill_vacancies(
    rows: Any, value: Any, avoid: Any, book: Any, starts: Any, signatures: Any, vacancies: Any, signature_of: Any
) -> None:
    """Assign each of ``rows`` to the signature (set of sensitive values) with the most vacancies of the row's value, among
    those disjoint from its ``avoid`` signature: fills ``signature_of``.

    The vacancies of value ``v`` are ``vacancies[starts[v]:starts[v + 1]]``, decreasing, and ``signatures`` has the
    signature of each as a row of ``book``. Vacancies only decrease, so a search may end at the first entry whose initial
    count is not above the best one.
    """
    remaining = vacancies.copy()
    for row in rows:
        best, best_entry = 0, -1
        for entry in range(starts[value[row]], starts[value[row] + 1]):
            if vacancies[entry] <= best:
                break
            if remaining[entry] > best and _disjoint(book[signatures[entry]], book[avoid[row]]):
                best, best_entry = remaining[entry], entry
        if best_entry >= 0:
            remaining[best_entry] -= 1
            signature_of[row] = signatures[best_entry]


@compiled
def _stay_eligible(counts: Any, chosen: Any) -> bool:
    """True if rows with these value counts can still be partitioned into m-unique groups after one of each ``chosen`` value is removed."""
    largest = 0
    for value in range(len(counts)):
        remaining = counts[value]
        for removed in chosen:
            if removed == value:
                remaining -= 1
        largest = max(largest, remaining)
    return bool(len(chosen) * largest <= counts.sum() - len(chosen))


@compiled
def _take_again(
    stack: Any, starts: Any, counts: Any, avoid: Any, book: Any, chosen: Any, tries: int, members: Any
) -> bool:
    """Fill ``members`` with a row of each ``chosen`` value, taken from the ends of the values' stacks; a row whose avoided
    signature contains a chosen value is passed over, ``tries`` times. Return False and take nothing if a value has no row.
    """
    for size in range(len(chosen)):
        value = chosen[size]
        last = starts[value] + counts[value] - 1
        is_found = False
        for position in range(last, max(last - tries, starts[value] - 1), -1):
            row = stack[position]
            if _disjoint(chosen, book[avoid[row]]):
                stack[position], stack[last] = stack[last], row
                counts[value] -= 1
                members[size] = row
                is_found = True
                break
        if not is_found:
            for position in range(size):
                counts[chosen[position]] += 1
            return False
    return True


@compiled
def join_changed(
    stack: Any, starts: Any, rank: Any, avoid: Any, book: Any, signatures: Any, m: int, tries: int, group: Any
) -> int:
    """Fill ``group`` with groups of ``m`` rows with distinct values, such that every row's avoided signature is disjoint from the group's values.

    ``stack[starts[v]:starts[v + 1]]`` are the rows with value ``v`` in random order. Signatures of the book are tried
    first, in the order ``signatures``; then the most frequent values, ties by ``rank``. A signature is reused while the rest
    stays m-eligible: groups of one signature can later fill each other's vacancies, so fewer signatures need fewer
    counterfeits. Returns the number of groups; ``group[row]`` stays -1 for unassigned rows.
    """
    values = len(starts) - 1
    counts = starts[1:] - starts[:-1]
    is_tried = np.zeros(values, dtype=np.bool_)
    members = np.empty(m, dtype=np.int64)
    chosen = np.empty(m, dtype=np.int64)
    groups = 0
    for signature in signatures:
        chosen[:] = book[signature, :m]
        while _stay_eligible(counts, chosen) and _take_again(
            stack, starts, counts, avoid, book, chosen, tries, members
        ):
            group[members] = groups
            groups += 1
    while True:
        is_tried[:] = False
        size = 0
        while size < m:
            value = -1
            for candidate in range(values):
                if is_tried[candidate] or counts[candidate] == 0:
                    continue
                is_tie = value >= 0 and counts[candidate] == counts[value]
                if value < 0 or counts[candidate] > counts[value] or (is_tie and rank[candidate] < rank[value]):
                    value = candidate
            if value < 0:
                break
            is_tried[value] = True
            is_allowed = True
            for position in range(size):
                if _holds(book[avoid[members[position]]], value):
                    is_allowed = False
            if not is_allowed:
                continue
            last = starts[value] + counts[value] - 1
            for position in range(last, max(last - tries, starts[value] - 1), -1):
                row = stack[position]
                fits = True
                for member in range(size):
                    if _holds(book[avoid[row]], chosen[member]):
                        fits = False
                if fits:
                    stack[position], stack[last] = stack[last], row
                    counts[value] -= 1
                    members[size], chosen[size] = row, value
                    size += 1
                    break
        if size == 0:
            return groups
        if size == m:
            formed = True
            while formed:
                group[members] = groups
                groups += 1
                formed = _stay_eligible(counts, chosen) and _take_again(
                    stack, starts, counts, avoid, book, chosen, tries, members
                )
        else:
            # The first row has no group; the others may fit another one.
            for position in range(1, size):
                counts[chosen[position]] += 1
                stack[starts[chosen[position]] + counts[chosen[position]] - 1] = members[position]


@compiled
def sign_by_supply(
    rows: Any, value: Any, avoid: Any, book: Any, known: Any, supply: Any, rank: Any, m: int, signed: Any
) -> Any:
    """Give each of ``rows`` a signature of its value and m - 1 values of arrivals, consuming their ``supply``.

    Preferred is the ``known`` signature of the book whose scarcest value has the largest supply; otherwise the values
    with the largest supply, ties by ``rank``. The signature is disjoint from the row's old one. Returns a mask of the
    rows with enough values; ``signed`` has their signatures, unsorted.
    """
    is_signed = np.zeros(len(rows), dtype=np.bool_)
    for index in range(len(rows)):
        row, size = rows[index], 1
        signed[index, 0] = value[row]
        best_known, largest_supply = -1, 0
        for signature in known:
            if not _holds(book[signature], value[row]) or not _disjoint(book[signature], book[avoid[row]]):
                continue
            scarcest = 1 << 62
            for other in book[signature, :m]:
                if other != value[row]:
                    scarcest = min(scarcest, supply[other])
            if scarcest > largest_supply:
                best_known, largest_supply = signature, scarcest
        if best_known >= 0:
            for other in book[best_known, :m]:
                if other != value[row]:
                    signed[index, size] = other
                    size += 1
        while size < m:
            best = -1
            for other in range(len(supply)):
                if supply[other] == 0 or _holds(book[avoid[row]], other):
                    continue
                if best >= 0 and (
                    supply[other] < supply[best] or (supply[other] == supply[best] and rank[other] > rank[best])
                ):
                    continue
                is_used = False
                for position in range(size):
                    if signed[index, position] == other:
                        is_used = True
                if not is_used:
                    best = other
            if best < 0:
                break
            signed[index, size] = best
            size += 1
        is_signed[index] = size == m
        if is_signed[index]:
            for position in range(1, m):
                supply[signed[index, position]] -= 1
    return is_signed


@compiled
def match_near(
    points: Any, ordered: Any, starts: Any, width: int, totals: Any, first: Any, draws: Any, window: int, slot: Any
) -> None:
    """Partition the rows of every bucket into groups of one row per value, by distance.

    A bucket is all rows of one signature, a cell its rows of one value. Those of cell ``c = bucket * width + value index``
    are ``ordered[starts[c]:starts[c + 1]]``, in Hilbert order; a bucket has ``totals[bucket]`` groups, and ``slot``
    becomes the group of each row. Groups are formed in windows of the curve: a random row of the fullest cell, then the
    row of each other non-empty cell nearest to the running mean.
    """
    columns = points.shape[1]
    mean = np.empty(columns)
    remaining_rows = np.empty((width, window + 1), dtype=np.int64)
    # Copy the points of a window: gathering them from all rows takes longer than computing distances.
    remaining_points = np.empty((width, columns, window + 1))
    size = np.empty(width, dtype=np.int64)
    gaps = np.empty(window + 1)
    for bucket in range(len(totals)):
        total = totals[bucket]
        windows = (total + window - 1) // window
        fullest = 0
        for slot_of_cell in range(width):
            cell = bucket * width + slot_of_cell
            if (
                starts[cell + 1] - starts[cell]
                > starts[bucket * width + fullest + 1] - starts[bucket * width + fullest]
            ):
                fullest = slot_of_cell
        for number in range(windows):
            begin, end = total * number // windows, total * (number + 1) // windows
            for slot_of_cell in range(width):
                cell = bucket * width + slot_of_cell
                rows_left = starts[cell + 1] - starts[cell]
                low, high = begin * rows_left // total, end * rows_left // total
                size[slot_of_cell] = high - low
                for position in range(high - low):
                    row = ordered[starts[cell] + low + position]
                    remaining_rows[slot_of_cell, position] = row
                    for column in range(columns):
                        remaining_points[slot_of_cell, column, position] = points[row, column]
            for group in range(begin, end):
                rows_taken = 0
                for step in range(width):
                    slot_of_cell = fullest if step == 0 else step - 1 if step <= fullest else step
                    rows_left = size[slot_of_cell]
                    if rows_left == 0:
                        continue
                    best = 0
                    if rows_taken == 0:
                        best = draws[first[bucket] + group] % rows_left
                    else:
                        gaps[:rows_left] = 0.0
                        for column in range(columns):
                            for position in range(rows_left):
                                gap = remaining_points[slot_of_cell, column, position] - mean[column]
                                gaps[position] += gap * gap
                        for position in range(1, rows_left):
                            if gaps[position] < gaps[best]:
                                best = position
                    slot[remaining_rows[slot_of_cell, best]] = group
                    rows_taken += 1
                    size[slot_of_cell] -= 1
                    remaining_rows[slot_of_cell, best] = remaining_rows[slot_of_cell, rows_left - 1]
                    for column in range(columns):
                        before = 0.0 if rows_taken == 1 else mean[column]
                        mean[column] = before + (remaining_points[slot_of_cell, column, best] - before) / rows_taken
                        remaining_points[slot_of_cell, column, best] = remaining_points[
                            slot_of_cell, column, rows_left - 1
                        ]


@compiled
def _densest(rows: Any, cells: Any, bits: int) -> Any:
    """Mask the rows in the grid region that contains closest to half of them: the fuller half of the space is bisected
    repeatedly, cycling through the columns, until it holds no more than half.
    """
    columns = cells.shape[1]
    inside = np.arange(len(rows))
    best, smallest_gap = inside, len(rows)
    for level in range(bits * columns):
        column, shift = level % columns, bits - 1 - level // columns
        upper = 0
        for member in inside:
            upper += (cells[rows[member], column] >> shift) & 1
        half = 1 if 2 * upper > len(inside) else 0
        next_inside = np.empty(upper if half else len(inside) - upper, dtype=np.int64)
        count = 0
        for member in inside:
            if (cells[rows[member], column] >> shift) & 1 == half:
                next_inside[count] = member
                count += 1
        inside = next_inside
        if abs(len(rows) - 2 * count) < smallest_gap:
            best, smallest_gap = inside, abs(len(rows) - 2 * count)
        if 2 * count <= len(rows):
            break
    is_inside = np.zeros(len(rows), dtype=np.bool_)
    is_inside[best] = True
    return is_inside


@compiled
def _balance(rows: Any, value_index: Any, points: Any, groups: int, inner: int, width: int, is_inside: Any) -> None:
    """Change ``is_inside`` (which rows are in a region) until both sides can be partitioned into groups of one row per
    value: no value has more rows than a side has groups, ``inner`` of ``groups`` inside. Farthest rows leave, nearest enter.
    """
    columns = points.shape[1]
    mean = np.zeros(columns)
    for row in rows[is_inside]:
        mean += points[row]
    mean /= max(is_inside.sum(), 1)
    gaps = np.zeros(len(rows))
    for number in range(len(rows)):
        for column in range(columns):
            gaps[number] += (points[rows[number], column] - mean[column]) ** 2
    for value in range(width):
        rows_of_value = np.flatnonzero(value_index[rows] == value)
        inside_count = is_inside[rows_of_value].sum()
        target = min(max(inside_count, len(rows_of_value) - (groups - inner)), min(len(rows_of_value), inner))
        if target == inside_count:
            continue
        # Move out the farthest inside, move in the nearest outside.
        movable = rows_of_value[is_inside[rows_of_value] == (target < inside_count)]
        ranked = np.argsort(gaps[movable], kind="mergesort")
        chosen = (
            ranked[len(ranked) - (inside_count - target) :]
            if target < inside_count
            else ranked[: target - inside_count]
        )
        for index in chosen:
            is_inside[movable[index]] = target > inside_count


@compiled
def split_regions(
    points: Any, ordered: Any, starts: Any, width: int, totals: Any, value_index: Any, bits: int, slot: Any
) -> None:
    """Partition the rows of every bucket into groups of one row per value, by regions of a grid of 2^bits cells per column.

    Arguments are those of :func:`match_near`; ``value_index`` is the index of each row's value in its signature. A part of a
    bucket is split into a region with about half of its rows and the remainder; rows of values that are too frequent on
    one side move to the other, so that both sides keep the signature. A part with one group is final.
    """
    side = 1 << bits
    cells = np.empty(points.shape, dtype=np.int64)
    for row in range(len(points)):
        for column in range(points.shape[1]):
            cells[row, column] = np.int64(min(max(points[row, column] * side, 0.0), side - 1.0))
    for bucket in range(len(totals)):
        first, last = starts[bucket * width], starts[(bucket + 1) * width]
        work = ordered[first:last].copy()
        parts = [(0, len(work), totals[bucket], 0)]
        while len(parts):
            begin, end, groups, number = parts.pop()
            rows = work[begin:end].copy()
            if groups <= 1:
                for row in rows:
                    slot[row] = number
                continue
            is_inside = _densest(rows, cells, bits)
            inner = min(max((2 * groups * is_inside.sum() + len(rows)) // (2 * len(rows)), 1), groups - 1)
            _balance(rows, value_index, points, groups, inner, width, is_inside)
            filled = begin
            for index in range(len(rows)):
                if is_inside[index]:
                    work[filled] = rows[index]
                    filled += 1
            middle = filled
            for index in range(len(rows)):
                if not is_inside[index]:
                    work[filled] = rows[index]
                    filled += 1
            parts.append((begin, middle, inner, number))
            parts.append((middle, end, groups - inner, number + inner))


@compiled
def halve(points: Any, order: Any, least: int, first: Any) -> None:
    """Order rows into segments of at least ``least`` rows, marked by ``first``: the widest column of a segment is split
    near its median while both parts are large enough.

    A split between different values within the middle half is preferred; otherwise rows with equal values are separated
    in their order in ``order``.
    """
    open_runs = [(0, len(order))]
    while len(open_runs):
        begin, end = open_runs.pop()
        size = end - begin
        if size < 2 * least:
            first[begin] = True
            continue
        rows = order[begin:end].copy()
        widest, spread = 0, -1.0
        for column in range(points.shape[1]):
            low = high = points[rows[0], column]
            for row in rows:
                low, high = min(low, points[row, column]), max(high, points[row, column])
            if high - low > spread:
                widest, spread = column, high - low
        values = np.empty(size)
        for index in range(size):
            values[index] = points[rows[index], widest]
        ranked = np.argsort(values, kind="mergesort")
        for index in range(size):
            order[begin + index] = rows[ranked[index]]
        split_at = size // 2
        for step in range(size // 4 + 1):
            above, below = size // 2 + step, size // 2 - step
            if above <= size - least and values[ranked[above - 1]] < values[ranked[above]]:
                split_at = above
                break
            if below >= least and values[ranked[below - 1]] < values[ranked[below]]:
                split_at = below
                break
        open_runs.append((begin, begin + split_at))
        open_runs.append((begin + split_at, end))


@compiled
def trace_curve(points: Any, bits: int) -> Any:
    """Return the position of each point of the unit cube on the Hilbert curve with 2^bits cells per side (at most 2^30
    in all); points outside are clipped.

    Skilling's transform: undo excess work from the highest bit down, then Gray-decode, then interleave the bits. Points
    are processed in blocks without branches, so that the compiler can vectorise.
    """
    count, used = points.shape
    codes = np.zeros(count, dtype=np.int32)
    x = np.empty((used, _BLOCK), dtype=np.int32)
    flip = np.empty(_BLOCK, dtype=np.int32)
    unit_bit, side = np.int32(1), 1 << bits
    for start in range(0, count, _BLOCK):
        size = min(_BLOCK, count - start)
        for column in range(used):
            for row in range(size):
                x[column, row] = np.int32(min(max(points[start + row, column] * side, 0.0), side - 1.0))
        for level in range(bits - 1, 0, -1):
            low = np.int32((1 << level) - 1)
            for column in range(used):
                for row in range(size):
                    # Inverted if the bit is set, exchanged if not.
                    inverted = -((x[column, row] >> level) & unit_bit) & low
                    swapped = (x[0, row] ^ x[column, row]) & (low ^ inverted)
                    x[0, row] ^= swapped | inverted
                    x[column, row] ^= swapped
        for column in range(1, used):
            for row in range(size):
                x[column, row] ^= x[column - 1, row]
        flip[:] = 0
        for level in range(bits - 1, 0, -1):
            low = np.int32((1 << level) - 1)
            for row in range(size):
                flip[row] ^= -((x[used - 1, row] >> level) & unit_bit) & low
        block_codes = codes[start : start + size]
        for level in range(bits - 1, -1, -1):
            for column in range(used):
                for row in range(size):
                    block_codes[row] = (block_codes[row] << 1) | (((x[column, row] ^ flip[row]) >> level) & unit_bit)
    return codes


@compiled
def find_places(book: Any, signature: Any, value: Any) -> Any:
    """Return the index of each ``value`` in its ``signature``, a row of ``book``; -1 if absent."""
    indices = np.full(len(value), -1, dtype=np.int64)
    for row in range(len(value)):
        for index in range(book.shape[1]):
            if book[signature[row], index] == value[row]:
                indices[row] = index
                break
    return indices


@compiled
def shuffle(words: Any) -> Any:
    """Return a random permutation from 64-bit random ``words``, one per element (Fisher-Yates)."""
    order = np.arange(len(words))
    for last in range(len(words) - 1, 0, -1):
        other = np.int64(words[last] % np.uint64(last + 1))
        order[last], order[other] = order[other], order[last]
    return order
