"""Compiled loops of the local search: greedy construction of groups, exchange of units between groups, and both for many neighbourhoods.

A *box* is the label combination of a group, as a row of ``low``, ``high`` and ``bits``: minimum, maximum and union of its units' rows of the same arrays
(``points``, a :class:`reticent.methods.mondrian.box_points.BoxPoints`; unit -1 is empty and widens no box). A group costs its rows times
the cost of its box.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from reticent.base.compiled import compiled

_LEAST_GAIN = 1e-9
_MOST_SWEEPS = 30
NOBODY_LOW = 1 << 30
"""``low`` of the empty unit: above all ranks of a column. Its ``high`` is -1."""


class GroupBoxes(NamedTuple):
    """Groups: their boxes, their rows, the slack below the limited shares of sensitive values, and the costs of their boxes."""

    low: Any
    high: Any
    bits: Any
    rows: Any
    slack: Any
    costs: Any


class BoxColumns(NamedTuple):
    """Many boxes, column by column: row ``j`` of each array is column ``j`` of all boxes. Loops over boxes then run over adjacent numbers."""

    low: Any
    high: Any
    bits: Any


@compiled
def ones(word: int) -> int:
    """The number of set bits of a word, whose highest two bits are never set."""
    word = word - ((word >> 1) & 0x5555555555555555)
    word = (word & 0x3333333333333333) + ((word >> 2) & 0x3333333333333333)
    word = (word + (word >> 4)) & 0x0F0F0F0F0F0F0F0F
    return (word * 0x0101010101010101) >> 56


@compiled
def empty_boxes(points: Any, count: int) -> Any:
    """``count`` empty groups."""
    columns, words, shares = points.low.shape[1], points.bits.shape[1], points.slack.shape[1]
    groups = GroupBoxes(
        np.empty((count, columns), dtype=np.int32),
        np.empty((count, columns), dtype=np.int32),
        np.empty((count, words), dtype=np.int64),
        np.empty(count, dtype=np.int64),
        np.empty((count, shares), dtype=np.int64),
        np.empty(count, dtype=np.float64),
    )
    for group in range(count):
        clear(groups, group)
    return groups


@compiled
def clear(groups: Any, group: int) -> None:
    """Empty a group."""
    for j in range(groups.low.shape[1]):
        groups.low[group, j], groups.high[group, j] = NOBODY_LOW, -1
    for c in range(groups.bits.shape[1]):
        groups.bits[group, c] = 0
    for c in range(groups.slack.shape[1]):
        groups.slack[group, c] = 0
    groups.rows[group], groups.costs[group] = 0, 0.0


@compiled
def cost_with(points: Any, groups: Any, group: int, unit: int, limit: float) -> float:
    """The cost of a group's box when a unit joins it; infinite as soon as it exceeds ``limit``."""
    cost = 0.0
    for c in range(len(points.bit_weights)):
        if points.bit_weights[c] > 0:
            cost += points.bit_weights[c] * ones(groups.bits[group, c] | points.bits[unit, c])
    for j in range(len(points.span_weights)):
        if cost > limit:
            return np.inf
        first = min(groups.low[group, j], points.low[unit, j])
        last = max(groups.high[group, j], points.high[unit, j])
        if first <= last:
            covered = last - first + 1
            if points.levels[j] < points.levels[j + 1]:
                covered = node_leaves(points, j, first, last)
            cost += points.span_weights[j] * covered
    return np.inf if cost > limit else cost


@compiled
def join(points: Any, groups: Any, group: int, unit: int) -> None:
    """Widen the box of a group by a unit."""
    for j in range(points.low.shape[1]):
        groups.low[group, j] = min(groups.low[group, j], points.low[unit, j])
        groups.high[group, j] = max(groups.high[group, j], points.high[unit, j])
    for c in range(points.bits.shape[1]):
        groups.bits[group, c] |= points.bits[unit, c]
    for c in range(points.slack.shape[1]):
        groups.slack[group, c] += points.slack[unit, c]
    groups.rows[group] += points.rows[unit]


@compiled
def is_enough(points: Any, groups: Any, group: int, rows: int, unit: int) -> bool:
    """Whether a group together with a unit, ``rows`` rows in all, meets the necessary conditions that are known here."""
    if rows < points.least:
        return False
    for c in range(len(points.needed)):
        if points.needed[c] > 0 and ones(groups.bits[group, c] | points.bits[unit, c]) < points.needed[c]:
            return False
    for c in range(len(points.least_slack)):
        if groups.slack[group, c] + points.slack[unit, c] < points.least_slack[c]:
            return False
    return True


@compiled
def brings(points: Any, groups: Any, group: int, unit: int) -> bool:
    """Whether a unit adds a sensitive value that a group still needs, or lowers a share that exceeds its limit."""
    for c in range(len(points.needed)):
        held = groups.bits[group, c]
        if points.needed[c] > 0 and points.bits[unit, c] & ~held and ones(held) < points.needed[c]:
            return True
    for c in range(len(points.least_slack)):
        if points.slack[unit, c] > 0 and groups.slack[group, c] < points.least_slack[c]:
            return True
    return False


@compiled
def box_columns(low: Any, high: Any, bits: Any, chosen: Any) -> Any:
    """The boxes of the ``chosen`` rows of three arrays."""
    count = len(chosen)
    boxes = BoxColumns(
        np.empty((low.shape[1], count), dtype=np.int32),
        np.empty((low.shape[1], count), dtype=np.int32),
        np.empty((bits.shape[1], count), dtype=np.int64),
    )
    for box in range(count):
        for j in range(low.shape[1]):
            boxes.low[j, box], boxes.high[j, box] = low[chosen[box], j], high[chosen[box], j]
        for c in range(bits.shape[1]):
            boxes.bits[c, box] = bits[chosen[box], c]
    return boxes


@compiled
def swap_boxes(boxes: Any, one: int, other: int) -> None:
    """Exchange two boxes."""
    for j in range(boxes.low.shape[0]):
        boxes.low[j, one], boxes.low[j, other] = boxes.low[j, other], boxes.low[j, one]
        boxes.high[j, one], boxes.high[j, other] = boxes.high[j, other], boxes.high[j, one]
    for c in range(boxes.bits.shape[0]):
        boxes.bits[c, one], boxes.bits[c, other] = boxes.bits[c, other], boxes.bits[c, one]


@compiled
def costs_with(points: Any, boxes: Any, low: Any, high: Any, bits: Any, costs: Any) -> None:
    """Fill ``costs`` with the cost of each of the first ``len(costs)`` boxes when it is widened by one more box (a row of ``low``, ``high`` and ``bits``): that of :func:`cost_with`."""
    count = len(costs)
    costs[:] = 0.0
    for c in range(len(points.bit_weights)):
        weight, word, words = points.bit_weights[c], bits[c], boxes.bits[c]
        if weight > 0:
            for box in range(count):
                costs[box] += weight * ones(words[box] | word)
    for j in range(len(points.span_weights)):
        weight, least, most = points.span_weights[j], low[j], high[j]
        lows, highs = boxes.low[j], boxes.high[j]
        if points.levels[j] == points.levels[j + 1]:
            for box in range(count):
                # An empty span is far below zero.
                costs[box] += weight * max(max(highs[box], most) - min(lows[box], least) + 1, 0)
        else:
            for box in range(count):
                first, last = min(lows[box], least), max(highs[box], most)
                if first <= last:
                    costs[box] += weight * node_leaves(points, j, first, last)


@compiled
def node_leaves(points: Any, column: int, first: int, last: int) -> int:
    """The leaves of the lowest node of a column's hierarchy that covers the ranks from ``first`` to ``last``."""
    listed, leaves = points.pairs[column], points.leaves[column]
    if listed >= 0:
        known: int = points.pair_leaves[listed + first * leaves + last]
        return known
    for level in range(points.levels[column], points.levels[column + 1]):
        if points.parts[level, first] == points.parts[level, last]:
            covered: int = points.covers[level, first]
            return covered
    every: int = leaves
    return every


@compiled
def gather(points: Any, pool: Any, start: int, label: Any) -> int:
    """Group the units of a pool greedily: each group starts with the unit farthest from the previous group (the first with the unit at
    ``start``) and adds the unit that widens it least until it is large enough. Remaining units join the groups that they widen least.

    Fills ``label`` with the group of every unit of the pool. Returns the number of groups; 0 if not even one is possible.
    """
    size, rows = len(pool), 0
    for unit in pool:
        rows += points.rows[unit]
    groups = empty_boxes(points, min(size, rows // points.least) + 1)
    # The units that are in no group yet come first, and their boxes with them.
    rest, left, group, place = np.arange(size), size, 0, start
    boxes, costs = box_columns(points.low, points.high, points.bits, pool), np.empty(size)
    while left > 0:
        before = left
        while place >= 0:
            left -= 1
            rest[place], rest[left] = rest[left], rest[place]
            swap_boxes(boxes, place, left)
            join(points, groups, group, pool[rest[left]])
            costs_with(points, boxes, groups.low[group], groups.high[group], groups.bits[group], costs[:left])
            place, least, few = -1, np.inf, groups.rows[group] < points.least
            if not is_enough(points, groups, group, groups.rows[group], -1):
                for other in range(left):
                    if costs[other] < least and (few or brings(points, groups, group, pool[rest[other]])):
                        place, least = other, costs[other]
        if not is_enough(points, groups, group, groups.rows[group], -1):
            left = before
            break
        groups.costs[group] = cost_with(points, groups, group, -1, np.inf)
        farthest = -1.0
        for other in range(left):
            if costs[other] > farthest:
                place, farthest = other, costs[other]
        for other in range(left, before):
            label[rest[other]] = group
        group += 1
    if group == 0:
        return 0
    homes = box_columns(groups.low, groups.high, groups.bits, np.arange(group))
    for other in range(left):
        unit, home, least = pool[rest[other]], -1, np.inf
        costs_with(points, homes, points.low[unit], points.high[unit], points.bits[unit], costs[:group])
        for each in range(group):
            growth = (groups.rows[each] + points.rows[unit]) * costs[each] - groups.rows[each] * groups.costs[each]
            if growth < least:
                home, least = each, growth
        join(points, groups, home, unit)
        homes.low[:, home], homes.high[:, home], homes.bits[:, home] = (
            groups.low[home],
            groups.high[home],
            groups.bits[home],
        )
        groups.costs[home] = cost_with(points, groups, home, -1, np.inf)
        label[rest[other]] = home
    return group


@compiled
def partition_cost(points: Any, pool: Any, label: Any, count: int) -> float:
    """The cost of a partition of a pool into ``count`` groups."""
    groups, total = empty_boxes(points, count), 0.0
    for place in range(len(pool)):
        join(points, groups, label[place], pool[place])
    for group in range(count):
        total += groups.rows[group] * cost_with(points, groups, group, -1, np.inf)
    return total


@compiled
def renew(points: Any, pool: Any, label: Any, group: int, groups: Any, others: Any) -> None:
    """Recompute the box of a group and, for each of its units, the box of its other units (``others``); the last of the ``groups`` is scratch space."""
    behind = len(groups.rows) - 1
    clear(groups, group)
    clear(groups, behind)
    for place in range(len(pool)):
        if label[place] == group:
            clear(others, place)
            join(groups, others, place, group)
            join(points, groups, group, pool[place])
    for place in range(len(pool) - 1, -1, -1):
        if label[place] == group:
            join(groups, others, place, behind)
            join(points, groups, behind, pool[place])
            others.costs[place] = cost_with(points, others, place, -1, np.inf)
    groups.costs[group] = cost_with(points, groups, group, -1, np.inf)


@compiled
def exchange(points: Any, pool: Any, label: Any, count: int) -> float:
    """Move units of a pool between groups, or swap two, while that lowers the cost and both groups stay large enough. Returns the final cost."""
    size = len(pool)
    groups, others = empty_boxes(points, count + 1), empty_boxes(points, size)
    for group in range(count):
        renew(points, pool, label, group, groups, others)
    # A unit without a gain is examined again only with groups that have changed since.
    clock, changed, examined = 0, np.zeros(count, dtype=np.int64), np.full(size, -1, dtype=np.int64)
    for _ in range(_MOST_SWEEPS):
        moved = False
        for place in range(size):
            here = label[place]
            since = -1 if changed[here] > examined[place] else examined[place]
            there, mate = best_exchange(points, pool, label, count, groups, others, place, changed, since)
            if there < 0:
                examined[place] = clock
                continue
            moved = True
            label[place] = there
            if mate >= 0:
                label[mate] = here
            clock += 1
            changed[here] = changed[there] = clock
            renew(points, pool, label, here, groups, others)
            renew(points, pool, label, there, groups, others)
        if not moved:
            break
    reached: float = (groups.rows[:count] * groups.costs[:count]).sum()
    return reached


@compiled
def best_exchange(
    points: Any,
    pool: Any,
    label: Any,
    count: int,
    groups: Any,
    others: Any,
    place: int,
    changed: Any,
    since: int,
) -> tuple[int, int]:
    """Return the group that the unit at ``place`` should move to and the place of the unit to swap with (-1: a move), of groups ``changed`` after ``since``; -1 for both if nothing gains.

    A box never costs less than a box inside it, so most pairs are ruled out without computing the cost of a new box.
    """
    unit, here = pool[place], label[place]
    rows, paid = points.rows[unit], groups.rows[here] * groups.costs[here]
    rest = others.rows[place] * others.costs[place]
    best, there, mate = -_LEAST_GAIN, -1, -1
    if is_enough(points, others, place, others.rows[place], -1):
        saved = paid - rest
        for group in range(count):
            if group != here and changed[group] > since:
                total, before = groups.rows[group] + rows, groups.rows[group] * groups.costs[group]
                if total * groups.costs[group] - before - saved < best:
                    cost = cost_with(points, groups, group, unit, (saved + before + best) / total)
                    if total * cost - before - saved < best:
                        best, there = total * cost - before - saved, group
    for other in range(len(pool)):
        group = label[other]
        if group == here or changed[group] <= since:
            continue
        partner = pool[other]
        mine, theirs = others.rows[place] + points.rows[partner], others.rows[other] + rows
        before = paid + groups.rows[group] * groups.costs[group]
        if mine * others.costs[place] + theirs * others.costs[other] - before >= best:
            continue
        cost = cost_with(points, others, place, partner, (before + best - theirs * others.costs[other]) / mine)
        if cost == np.inf:
            continue
        back = cost_with(points, others, other, unit, (before + best - mine * cost) / theirs)
        if (
            mine * cost + theirs * back - before < best
            and is_enough(points, others, place, mine, partner)
            and is_enough(points, others, other, theirs, unit)
        ):
            best, there, mate = mine * cost + theirs * back - before, group, other
    return there, mate


@compiled
def rebuild(
    points: Any,
    group: Any,
    order: Any,
    starts: Any,
    seeds: Any,
    widths: Any,
    firsts: Any,
    most: int,
    pool_of: Any,
    label_of: Any,
) -> None:
    """Rebuild neighbourhoods: the group of each unit of ``seeds`` and its nearest groups, unless an earlier neighbourhood has them.

    Group ``g`` has the units ``order[starts[g]:starts[g + 1]]``. Neighbourhood ``n`` has up to ``1 + widths[n]`` groups and ``most`` units. Where the new groups
    cost less than the old ones, ``pool_of`` is set to ``n`` for their units and ``label_of`` to their group in it.
    """
    count, widest = len(starts) - 1, np.max(widths)
    groups, taken = empty_boxes(points, count), np.zeros(count, dtype=np.bool_)
    for unit in range(len(group)):
        join(points, groups, group[unit], unit)
    for each in range(count):
        groups.costs[each] = cost_with(points, groups, each, -1, np.inf)
    boxes, costs = box_columns(groups.low, groups.high, groups.bits, np.arange(count)), np.empty(count)
    near, growths = np.empty(widest + 1, dtype=np.int64), np.empty(widest + 1)
    pool, label = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    for number in range(len(seeds)):
        unit, width = seeds[number], widths[number]
        home = group[unit]
        if taken[home]:
            continue
        near[0], growths[0], found = home, -1.0, 1
        costs_with(points, boxes, points.low[unit], points.high[unit], points.bits[unit], costs)
        for each in range(count):
            if not taken[each] and each != home:
                limit = growths[width] if found > width else np.inf
                growth = (groups.rows[each] + points.rows[unit]) * costs[each] - groups.rows[each] * groups.costs[each]
                if growth < limit:
                    place = found if found <= width else width
                    found = max(found, place + 1)
                    while growths[place - 1] > growth:
                        near[place], growths[place] = near[place - 1], growths[place - 1]
                        place -= 1
                    near[place], growths[place] = each, growth
        size, paid = 0, 0.0
        for each in near[:found]:
            if size + starts[each + 1] - starts[each] <= most:
                taken[each] = True
                paid += groups.rows[each] * groups.costs[each]
                for place in range(starts[each], starts[each + 1]):
                    pool[size] = order[place]
                    size += 1
        if size < 2:
            continue
        made = gather(points, pool[:size], firsts[number] % size, label[:size])
        if made > 0 and exchange(points, pool[:size], label[:size], made) < paid - _LEAST_GAIN:
            for place in range(size):
                pool_of[pool[place]], label_of[pool[place]] = number, label[place]


@compiled
def pair_up(points: Any, group: Any, count: int, chosen: Any, into: Any) -> None:
    """Merge each of the ``chosen`` groups with the group for which this costs least, in disjoint pairs: ``into`` is the group that each is merged into, if any."""
    groups, both, taken = empty_boxes(points, count), empty_boxes(points, 1), np.zeros(count, dtype=np.bool_)
    for unit in range(len(group)):
        join(points, groups, group[unit], unit)
    for each in range(count):
        groups.costs[each] = cost_with(points, groups, each, -1, np.inf)
    for mine in chosen:
        least, near = np.inf, -1
        for other in range(count):
            if other != mine and not taken[other] and not taken[mine]:
                clear(both, 0)
                join(groups, both, 0, mine)
                join(groups, both, 0, other)
                paid = groups.rows[mine] * groups.costs[mine] + groups.rows[other] * groups.costs[other]
                growth = both.rows[0] * cost_with(points, both, 0, -1, (least + paid) / both.rows[0]) - paid
                if growth < least:
                    near, least = other, growth
        if near >= 0:
            into[near], taken[near], taken[mine] = mine, True, True
