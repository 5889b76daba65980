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
    for each in signature:
        if each == value:
            return True
        if each < 0:
            return False
    return False


@compiled
def _disjoint(one: Any, other: Any) -> bool:
    for each in one:
        if each < 0:
            return True
        if _holds(other, each):
            return False
    return True


@compiled
def fill_vacancies(
    rows: Any, value: Any, avoid: Any, book: Any, starts: Any, cells: Any, most: Any, found: Any
) -> None:
    """Give each of ``rows`` the signature with the most vacancies of its value among those disjoint from its ``avoid`` signature.

    The vacancies of value ``v`` are ``most[starts[v]:starts[v + 1]]``, decreasing, each of the signature
    ``cells[...]``; they are consumed. Vacancies only decrease, so a search may end at the first entry whose initial
    count is not above the best one found.
    """
    left = most.copy()
    for row in rows:
        best, where = 0, -1
        for place in range(starts[value[row]], starts[value[row] + 1]):
            if most[place] <= best:
                break
            if left[place] > best and _disjoint(book[cells[place]], book[avoid[row]]):
                best, where = left[place], place
        if where >= 0:
            left[where] -= 1
            found[row] = cells[where]


@compiled
def _stay_eligible(counts: Any, chosen: Any) -> bool:
    """True if rows with these value counts can still be partitioned into m-unique groups after one of each ``chosen`` value is removed."""
    most = 0
    for value in range(len(counts)):
        left = counts[value]
        for each in chosen:
            if each == value:
                left -= 1
        most = max(most, left)
    return bool(len(chosen) * most <= counts.sum() - len(chosen))


@compiled
def _take_again(
    stack: Any, starts: Any, counts: Any, avoid: Any, book: Any, chosen: Any, tries: int, members: Any
) -> bool:
    """Take a row of each ``chosen`` value that avoids none of them from the ends of the stacks; return False and take nothing if a value has none."""
    for size in range(len(chosen)):
        value = chosen[size]
        last = starts[value] + counts[value] - 1
        found = False
        for place in range(last, max(last - tries, starts[value] - 1), -1):
            row = stack[place]
            if _disjoint(chosen, book[avoid[row]]):
                stack[place], stack[last] = stack[last], row
                counts[value] -= 1
                members[size] = row
                found = True
                break
        if not found:
            for place in range(size):
                counts[chosen[place]] += 1
            return False
    return True


@compiled
def join_changed(
    stack: Any, starts: Any, rank: Any, avoid: Any, book: Any, known: Any, m: int, tries: int, group: Any
) -> int:
    """Form groups of ``m`` rows with distinct values, such that every row's avoided signature is disjoint from the group's values.

    ``stack[starts[v]:starts[v + 1]]`` are the rows with value ``v`` in random order. Signatures of the book are tried
    first, in the order ``known``; then the most frequent values, ties by ``rank``. A signature is reused while the rest
    stays m-eligible: groups of one signature can later fill each other's vacancies, so fewer signatures need fewer
    counterfeits. Returns the number of groups; ``group[row]`` stays -1 for unassigned rows.
    """
    values = len(starts) - 1
    counts = starts[1:] - starts[:-1]
    tried = np.zeros(values, dtype=np.bool_)
    members = np.empty(m, dtype=np.int64)
    chosen = np.empty(m, dtype=np.int64)
    groups = 0
    for signature in known:
        chosen[:] = book[signature, :m]
        while _stay_eligible(counts, chosen) and _take_again(
            stack, starts, counts, avoid, book, chosen, tries, members
        ):
            group[members] = groups
            groups += 1
    while True:
        tried[:] = False
        size = 0
        while size < m:
            value = -1
            for each in range(values):
                if tried[each] or counts[each] == 0:
                    continue
                same = value >= 0 and counts[each] == counts[value]
                if value < 0 or counts[each] > counts[value] or (same and rank[each] < rank[value]):
                    value = each
            if value < 0:
                break
            tried[value] = True
            wanted = True
            for place in range(size):
                if _holds(book[avoid[members[place]]], value):
                    wanted = False
            if not wanted:
                continue
            last = starts[value] + counts[value] - 1
            for place in range(last, max(last - tries, starts[value] - 1), -1):
                row = stack[place]
                fits = True
                for other in range(size):
                    if _holds(book[avoid[row]], chosen[other]):
                        fits = False
                if fits:
                    stack[place], stack[last] = stack[last], row
                    counts[value] -= 1
                    members[size], chosen[size] = row, value
                    size += 1
                    break
        if size == 0:
            return groups
        if size == m:
            taken = True
            while taken:
                group[members] = groups
                groups += 1
                taken = _stay_eligible(counts, chosen) and _take_again(
                    stack, starts, counts, avoid, book, chosen, tries, members
                )
        else:
            # The first row has no group; the others may fit another one.
            for place in range(1, size):
                counts[chosen[place]] += 1
                stack[starts[chosen[place]] + counts[chosen[place]] - 1] = members[place]


@compiled
def sign_by_supply(
    rows: Any, value: Any, avoid: Any, book: Any, known: Any, supply: Any, rank: Any, m: int, signed: Any
) -> Any:
    """Give each of ``rows`` a signature of its value and m - 1 values of arrivals, consuming their ``supply``.

    Preferred is the ``known`` signature of the book whose scarcest value has the largest supply; otherwise the values
    with the largest supply, ties by ``rank``. The signature is disjoint from the row's old one. Returns a mask of the
    rows with enough values; ``signed`` has their signatures, unsorted.
    """
    found = np.zeros(len(rows), dtype=np.bool_)
    for number in range(len(rows)):
        row, size = rows[number], 1
        signed[number, 0] = value[row]
        best_known, most = -1, 0
        for signature in known:
            if not _holds(book[signature], value[row]) or not _disjoint(book[signature], book[avoid[row]]):
                continue
            scarcest = 1 << 62
            for each in book[signature, :m]:
                if each != value[row]:
                    scarcest = min(scarcest, supply[each])
            if scarcest > most:
                best_known, most = signature, scarcest
        if best_known >= 0:
            for each in book[best_known, :m]:
                if each != value[row]:
                    signed[number, size] = each
                    size += 1
        while size < m:
            best = -1
            for each in range(len(supply)):
                if supply[each] == 0 or _holds(book[avoid[row]], each):
                    continue
                if best >= 0 and (
                    supply[each] < supply[best] or (supply[each] == supply[best] and rank[each] > rank[best])
                ):
                    continue
                taken = False
                for place in range(size):
                    if signed[number, place] == each:
                        taken = True
                if not taken:
                    best = each
            if best < 0:
                break
            signed[number, size] = best
            size += 1
        found[number] = size == m
        if found[number]:
            for place in range(1, m):
                supply[signed[number, place]] -= 1
    return found


@compiled
def match_near(
    points: Any, ordered: Any, starts: Any, width: int, totals: Any, first: Any, draws: Any, window: int, slot: Any
) -> None:
    """Partition the rows of every bucket into groups of one row per value, by distance.

    The rows of cell ``c = bucket * width + place`` are ``ordered[starts[c]:starts[c + 1]]``, in Hilbert order; a bucket
    has ``totals[bucket]`` groups. Groups are formed in windows of the curve: a random row of the fullest cell, then the
    row of each other non-empty cell nearest to the running mean.
    """
    columns = points.shape[1]
    mean = np.empty(columns)
    left = np.empty((width, window + 1), dtype=np.int64)
    # Copy the points of a window: gathering them from all rows takes longer than computing distances.
    near = np.empty((width, columns, window + 1))
    size = np.empty(width, dtype=np.int64)
    gaps = np.empty(window + 1)
    for bucket in range(len(totals)):
        total = totals[bucket]
        windows = (total + window - 1) // window
        full = 0
        for place in range(width):
            cell = bucket * width + place
            if starts[cell + 1] - starts[cell] > starts[bucket * width + full + 1] - starts[bucket * width + full]:
                full = place
        for number in range(windows):
            begin, end = total * number // windows, total * (number + 1) // windows
            for place in range(width):
                cell = bucket * width + place
                many = starts[cell + 1] - starts[cell]
                low, high = begin * many // total, end * many // total
                size[place] = high - low
                for each in range(high - low):
                    row = ordered[starts[cell] + low + each]
                    left[place, each] = row
                    for column in range(columns):
                        near[place, column, each] = points[row, column]
            for place_of_group in range(begin, end):
                seen = 0
                for step in range(width):
                    place = full if step == 0 else step - 1 if step <= full else step
                    many = size[place]
                    if many == 0:
                        continue
                    best = 0
                    if seen == 0:
                        best = draws[first[bucket] + place_of_group] % many
                    else:
                        gaps[:many] = 0.0
                        for column in range(columns):
                            for each in range(many):
                                gap = near[place, column, each] - mean[column]
                                gaps[each] += gap * gap
                        for each in range(1, many):
                            if gaps[each] < gaps[best]:
                                best = each
                    slot[left[place, best]] = place_of_group
                    seen += 1
                    size[place] -= 1
                    left[place, best] = left[place, many - 1]
                    for column in range(columns):
                        before = 0.0 if seen == 1 else mean[column]
                        mean[column] = before + (near[place, column, best] - before) / seen
                        near[place, column, best] = near[place, column, many - 1]


@compiled
def _densest(rows: Any, cells: Any, bits: int) -> Any:
    """Mask the rows in the grid region that contains closest to half of them: the fuller half of the space is bisected
    repeatedly, cycling through the columns, until it holds no more than half.
    """
    columns = cells.shape[1]
    inside = np.arange(len(rows))
    best, least = inside, len(rows)
    for level in range(bits * columns):
        column, shift = level % columns, bits - 1 - level // columns
        upper = 0
        for each in inside:
            upper += (cells[rows[each], column] >> shift) & 1
        wanted = 1 if 2 * upper > len(inside) else 0
        kept = np.empty(upper if wanted else len(inside) - upper, dtype=np.int64)
        many = 0
        for each in inside:
            if (cells[rows[each], column] >> shift) & 1 == wanted:
                kept[many] = each
                many += 1
        inside = kept
        if abs(len(rows) - 2 * many) < least:
            best, least = inside, abs(len(rows) - 2 * many)
        if 2 * many <= len(rows):
            break
    found = np.zeros(len(rows), dtype=np.bool_)
    found[best] = True
    return found


@compiled
def _balance(rows: Any, place: Any, points: Any, groups: int, inner: int, width: int, found: Any) -> None:
    """Exchange rows across the border of a region, nearest to its centre first, until both sides can be partitioned: no
    value has more rows than groups, with ``inner`` of ``groups`` groups inside.
    """
    columns = points.shape[1]
    mean = np.zeros(columns)
    for row in rows[found]:
        mean += points[row]
    mean /= max(found.sum(), 1)
    gaps = np.zeros(len(rows))
    for number in range(len(rows)):
        for column in range(columns):
            gaps[number] += (points[rows[number], column] - mean[column]) ** 2
    for value in range(width):
        mine = np.flatnonzero(place[rows] == value)
        have = found[mine].sum()
        wanted = min(max(have, len(mine) - (groups - inner)), min(len(mine), inner))
        if wanted == have:
            continue
        # Move out the farthest inside, move in the nearest outside.
        sides = mine[found[mine] == (wanted < have)]
        ranked = np.argsort(gaps[sides], kind="mergesort")
        moved = ranked[len(ranked) - (have - wanted) :] if wanted < have else ranked[: wanted - have]
        for each in moved:
            found[sides[each]] = wanted > have


@compiled
def split_regions(
    points: Any, ordered: Any, starts: Any, width: int, totals: Any, place: Any, bits: int, slot: Any
) -> None:
    """Partition the rows of every bucket into groups of one row per value, by regions of a grid of 2^bits cells per column.

    Arguments are those of :func:`match_near`; ``place`` is the index of each row's value in its signature. A part of a
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
            found = _densest(rows, cells, bits)
            inner = min(max((2 * groups * found.sum() + len(rows)) // (2 * len(rows)), 1), groups - 1)
            _balance(rows, place, points, groups, inner, width, found)
            many = begin
            for each in range(len(rows)):
                if found[each]:
                    work[many] = rows[each]
                    many += 1
            middle = many
            for each in range(len(rows)):
                if not found[each]:
                    work[many] = rows[each]
                    many += 1
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
        for place in range(size):
            values[place] = points[rows[place], widest]
        ranked = np.argsort(values, kind="mergesort")
        for place in range(size):
            order[begin + place] = rows[ranked[place]]
        cut = size // 2
        for step in range(size // 4 + 1):
            above, below = size // 2 + step, size // 2 - step
            if above <= size - least and values[ranked[above - 1]] < values[ranked[above]]:
                cut = above
                break
            if below >= least and values[ranked[below - 1]] < values[ranked[below]]:
                cut = below
                break
        open_runs.append((begin, begin + cut))
        open_runs.append((begin + cut, end))


@compiled
def trace_curve(points: Any, bits: int) -> Any:
    """Return the position of each point of the unit cube on the Hilbert curve with 2^bits cells per side (at most 2^30
    in all); points outside are clipped.

    Skilling's transform: undo excess work from the highest bit down, then Gray-decode, then interleave the bits. Points
    are processed in blocks without branches, so that the compiler can vectorise.
    """
    count, used = points.shape
    found = np.zeros(count, dtype=np.int32)
    x = np.empty((used, _BLOCK), dtype=np.int32)
    flip = np.empty(_BLOCK, dtype=np.int32)
    one, side = np.int32(1), 1 << bits
    for start in range(0, count, _BLOCK):
        size = min(_BLOCK, count - start)
        for place in range(used):
            for row in range(size):
                x[place, row] = np.int32(min(max(points[start + row, place] * side, 0.0), side - 1.0))
        for level in range(bits - 1, 0, -1):
            low = np.int32((1 << level) - 1)
            for place in range(used):
                for row in range(size):
                    # Inverted if the bit is set, exchanged if not.
                    inverted = -((x[place, row] >> level) & one) & low
                    swapped = (x[0, row] ^ x[place, row]) & (low ^ inverted)
                    x[0, row] ^= swapped | inverted
                    x[place, row] ^= swapped
        for place in range(1, used):
            for row in range(size):
                x[place, row] ^= x[place - 1, row]
        flip[:] = 0
        for level in range(bits - 1, 0, -1):
            low = np.int32((1 << level) - 1)
            for row in range(size):
                flip[row] ^= -((x[used - 1, row] >> level) & one) & low
        where = found[start : start + size]
        for level in range(bits - 1, -1, -1):
            for place in range(used):
                for row in range(size):
                    where[row] = (where[row] << 1) | (((x[place, row] ^ flip[row]) >> level) & one)
    return found


@compiled
def find_places(book: Any, signature: Any, value: Any) -> Any:
    """Return the index of each ``value`` in its ``signature``, a row of ``book``; -1 if absent."""
    found = np.full(len(value), -1, dtype=np.int64)
    for row in range(len(value)):
        for place in range(book.shape[1]):
            if book[signature[row], place] == value[row]:
                found[row] = place
                break
    return found


@compiled
def shuffle(words: Any) -> Any:
    """Return a random permutation from 64-bit random ``words``, one per element (Fisher-Yates)."""
    order = np.arange(len(words))
    for place in range(len(words) - 1, 0, -1):
        other = np.int64(words[place] % np.uint64(place + 1))
        order[place], order[other] = order[other], order[place]
    return order
