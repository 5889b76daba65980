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
    columns, words = points.low.shape[1], points.bits.shape[1]
    return GroupBoxes(
        np.full((count, columns), NOBODY_LOW, dtype=np.int32),
        np.full((count, columns), -1, dtype=np.int32),
        np.zeros((count, words), dtype=np.int64),
        np.zeros(count, dtype=np.int64),
        np.zeros((count, points.slack.shape[1]), dtype=np.int64),
        np.zeros(count),
    )


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
                covered = points.leaves[j]
                for level in range(points.levels[j], points.levels[j + 1]):
                    if points.parts[level, first] == points.parts[level, last]:
                        covered = points.covers[level, first]
                        break
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
def gather(points: Any, pool: Any, start: int, label: Any) -> int:
    """Group the units of a pool greedily: each group starts with the unit farthest from the previous group (the first with the unit at
    ``start``) and adds the unit that widens it least until it is large enough. Remaining units join the groups that they widen least.

    Fills ``label`` with the group of every unit of the pool. Returns the number of groups; 0 if not even one is possible.
    """
    size = len(pool)
    groups = empty_boxes(points, min(size, points.rows[pool].sum() // points.least) + 1)
    # The indices of units that are in no group yet come first.
    rest, left, group, place = np.arange(size), size, 0, start
    while left > 0:
        before = left
        while place >= 0:
            left -= 1
            rest[place], rest[left] = rest[left], rest[place]
            join(points, groups, group, pool[rest[left]])
            place, least, few = -1, np.inf, groups.rows[group] < points.least
            if not is_enough(points, groups, group, groups.rows[group], -1):
                for other in range(left):
                    if few or brings(points, groups, group, pool[rest[other]]):
                        cost = cost_with(points, groups, group, pool[rest[other]], least)
                        if cost < least:
                            place, least = other, cost
        if not is_enough(points, groups, group, groups.rows[group], -1):
            left = before
            break
        groups.costs[group] = cost_with(points, groups, group, -1, np.inf)
        farthest = -1.0
        for other in range(before):
            if other < left:
                cost = cost_with(points, groups, group, pool[rest[other]], np.inf)
                if cost > farthest:
                    place, farthest = other, cost
            else:
                label[rest[other]] = group
        group += 1
    for other in range(left if group > 0 else 0):
        unit, home, least = pool[rest[other]], -1, np.inf
        for each in range(group):
            rows, paid = groups.rows[each] + points.rows[unit], groups.rows[each] * groups.costs[each]
            growth = rows * cost_with(points, groups, each, unit, (least + paid) / rows) - paid
            if growth < least:
                home, least = each, growth
        join(points, groups, home, unit)
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
def clear(groups: Any, group: int) -> None:
    """Empty a group."""
    groups.low[group], groups.high[group], groups.bits[group] = NOBODY_LOW, -1, 0
    groups.rows[group], groups.slack[group] = 0, 0


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
    for _ in range(_MOST_SWEEPS):
        moved = False
        for place in range(size):
            unit, here = pool[place], label[place]
            rows, paid = points.rows[unit], groups.rows[here] * groups.costs[here]
            saved, best, there, mate = paid - others.rows[place] * others.costs[place], -_LEAST_GAIN, -1, -1
            if is_enough(points, others, place, others.rows[place], -1):
                for group in range(count):
                    if group != here:
                        total, before = groups.rows[group] + rows, groups.rows[group] * groups.costs[group]
                        cost = cost_with(points, groups, group, unit, (saved + before + best) / total)
                        if total * cost - before - saved < best:
                            best, there = total * cost - before - saved, group
            for other in range(size):
                if label[other] != here:
                    group, partner = label[other], pool[other]
                    mine, theirs = others.rows[place] + points.rows[partner], others.rows[other] + rows
                    before = paid + groups.rows[group] * groups.costs[group]
                    cost = cost_with(points, others, place, partner, (before + best) / mine)
                    if cost < np.inf:
                        back = cost_with(points, others, other, unit, (before + best - mine * cost) / theirs)
                        if (
                            mine * cost + theirs * back - before < best
                            and is_enough(points, others, place, mine, partner)
                            and is_enough(points, others, other, theirs, unit)
                        ):
                            best, there, mate = mine * cost + theirs * back - before, group, other
            if there >= 0:
                moved = True
                label[place] = there
                if mate >= 0:
                    label[mate] = here
                renew(points, pool, label, here, groups, others)
                renew(points, pool, label, there, groups, others)
        if not moved:
            break
    reached: float = (groups.rows[:count] * groups.costs[:count]).sum()
    return reached


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
    near, growths = np.empty(widest + 1, dtype=np.int64), np.empty(widest + 1)
    pool, label = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    for number in range(len(seeds)):
        unit, width = seeds[number], widths[number]
        home = group[unit]
        if taken[home]:
            continue
        near[0], growths[0], found = home, -1.0, 1
        for each in range(count):
            if not taken[each] and each != home:
                limit = growths[width] if found > width else np.inf
                rows, paid = groups.rows[each] + points.rows[unit], groups.rows[each] * groups.costs[each]
                growth = rows * cost_with(points, groups, each, unit, (limit + paid) / rows) - paid
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
