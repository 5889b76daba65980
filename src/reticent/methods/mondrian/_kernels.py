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
    """Return ``count`` empty groups for the columns of ``points``."""
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
    """Return whether a group together with a unit, ``rows`` rows in all, meets the conditions that are necessary for the
    definition: enough rows, enough distinct sensitive values, and no share of a value above its limit.
    """
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
    """Return whether a unit adds a sensitive value to a group that has too few, or lowers a share that exceeds its limit there."""
    for c in range(len(points.needed)):
        held_values = groups.bits[group, c]
        if points.needed[c] > 0 and points.bits[unit, c] & ~held_values and ones(held_values) < points.needed[c]:
            return True
    for c in range(len(points.least_slack)):
        if points.slack[unit, c] > 0 and groups.slack[group, c] < points.least_slack[c]:
            return True
    return False


@compiled
def box_columns(low: Any, high: Any, bits: Any, chosen: Any) -> Any:
    """Return the boxes of the ``chosen`` units or groups as columns, from arrays with a row for each: the ends of ranges
    (``low``, ``high``) and the sets of values as ``bits``.
    """
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
def swap_boxes(boxes: Any, box: int, other_box: int) -> None:
    """Exchange two boxes."""
    for j in range(boxes.low.shape[0]):
        boxes.low[j, box], boxes.low[j, other_box] = boxes.low[j, other_box], boxes.low[j, box]
        boxes.high[j, box], boxes.high[j, other_box] = boxes.high[j, other_box], boxes.high[j, box]
    for c in range(boxes.bits.shape[0]):
        boxes.bits[c, box], boxes.bits[c, other_box] = boxes.bits[c, other_box], boxes.bits[c, box]


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
    first_pair, leaves = points.pairs[column], points.leaves[column]
    if first_pair >= 0:
        known: int = points.pair_leaves[first_pair + first * leaves + last]
        return known
    for level in range(points.levels[column], points.levels[column + 1]):
        if points.parts[level, first] == points.parts[level, last]:
            covered: int = points.covers[level, first]
            return covered
    all_leaves: int = leaves
    return all_leaves


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
    members, ungrouped, group, next_member = np.arange(size), size, 0, start
    boxes, costs = box_columns(points.low, points.high, points.bits, pool), np.empty(size)
    while ungrouped > 0:
        ungrouped_before = ungrouped
        while next_member >= 0:
            ungrouped -= 1
            members[next_member], members[ungrouped] = members[ungrouped], members[next_member]
            swap_boxes(boxes, next_member, ungrouped)
            join(points, groups, group, pool[members[ungrouped]])
            costs_with(points, boxes, groups.low[group], groups.high[group], groups.bits[group], costs[:ungrouped])
            next_member, best_cost, too_small = -1, np.inf, groups.rows[group] < points.least
            if not is_enough(points, groups, group, groups.rows[group], -1):
                for other in range(ungrouped):
                    if costs[other] < best_cost and (too_small or brings(points, groups, group, pool[members[other]])):
                        next_member, best_cost = other, costs[other]
        if not is_enough(points, groups, group, groups.rows[group], -1):
            ungrouped = ungrouped_before
            break
        groups.costs[group] = cost_with(points, groups, group, -1, np.inf)
        farthest = -1.0
        for other in range(ungrouped):
            if costs[other] > farthest:
                next_member, farthest = other, costs[other]
        for other in range(ungrouped, ungrouped_before):
            label[members[other]] = group
        group += 1
    if group == 0:
        return 0
    homes = box_columns(groups.low, groups.high, groups.bits, np.arange(group))
    for other in range(ungrouped):
        unit, home, best_cost = pool[members[other]], -1, np.inf
        costs_with(points, homes, points.low[unit], points.high[unit], points.bits[unit], costs[:group])
        for candidate in range(group):
            cost_before = groups.rows[candidate] * groups.costs[candidate]
            growth = (groups.rows[candidate] + points.rows[unit]) * costs[candidate] - cost_before
            if growth < best_cost:
                home, best_cost = candidate, growth
        join(points, groups, home, unit)
        homes.low[:, home], homes.high[:, home], homes.bits[:, home] = (
            groups.low[home],
            groups.high[home],
            groups.bits[home],
        )
        groups.costs[home] = cost_with(points, groups, home, -1, np.inf)
        label[members[other]] = home
    return group


@compiled
def partition_cost(points: Any, pool: Any, label: Any, count: int) -> float:
    """The cost of a partition of a pool into ``count`` groups."""
    groups, total = empty_boxes(points, count), 0.0
    for index in range(len(pool)):
        join(points, groups, label[index], pool[index])
    for group in range(count):
        total += groups.rows[group] * cost_with(points, groups, group, -1, np.inf)
    return total


@compiled
def renew(points: Any, pool: Any, label: Any, group: int, groups: Any, others: Any) -> None:
    """Recompute the box of a group and, for each of its units, the box of its other units (``others``); the last of the ``groups`` is scratch space."""
    scratch = len(groups.rows) - 1
    clear(groups, group)
    clear(groups, scratch)
    for index in range(len(pool)):
        if label[index] == group:
            clear(others, index)
            join(groups, others, index, group)
            join(points, groups, group, pool[index])
    for index in range(len(pool) - 1, -1, -1):
        if label[index] == group:
            join(groups, others, index, scratch)
            join(points, groups, scratch, pool[index])
            others.costs[index] = cost_with(points, others, index, -1, np.inf)
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
        for index in range(size):
            home = label[index]
            since = -1 if changed[home] > examined[index] else examined[index]
            target, partner_index = best_exchange(points, pool, label, count, groups, others, index, changed, since)
            if target < 0:
                examined[index] = clock
                continue
            moved = True
            label[index] = target
            if partner_index >= 0:
                label[partner_index] = home
            clock += 1
            changed[home] = changed[target] = clock
            renew(points, pool, label, home, groups, others)
            renew(points, pool, label, target, groups, others)
        if not moved:
            break
    total_cost: float = (groups.rows[:count] * groups.costs[:count]).sum()
    return total_cost


@compiled
def best_exchange(
    points: Any,
    pool: Any,
    label: Any,
    count: int,
    groups: Any,
    others: Any,
    index: int,
    changed: Any,
    since: int,
) -> tuple[int, int]:
    """Return the group that the unit at ``index`` of the pool should move to, and the index of the unit to swap with (-1: a move), of groups ``changed`` after ``since``; -1 for both if nothing gains.

    A box never costs less than a box inside it, so most pairs are ruled out without computing the cost of a new box.
    """
    unit, home = pool[index], label[index]
    rows, home_cost = points.rows[unit], groups.rows[home] * groups.costs[home]
    cost_without = others.rows[index] * others.costs[index]
    best, target, partner_index = -_LEAST_GAIN, -1, -1
    if is_enough(points, others, index, others.rows[index], -1):
        saved = home_cost - cost_without
        for group in range(count):
            if group != home and changed[group] > since:
                total, cost_before = groups.rows[group] + rows, groups.rows[group] * groups.costs[group]
                if total * groups.costs[group] - cost_before - saved < best:
                    cost = cost_with(points, groups, group, unit, (saved + cost_before + best) / total)
                    if total * cost - cost_before - saved < best:
                        best, target = total * cost - cost_before - saved, group
    for other in range(len(pool)):
        group = label[other]
        if group == home or changed[group] <= since:
            continue
        partner = pool[other]
        home_rows, partner_rows = others.rows[index] + points.rows[partner], others.rows[other] + rows
        cost_before = home_cost + groups.rows[group] * groups.costs[group]
        if home_rows * others.costs[index] + partner_rows * others.costs[other] - cost_before >= best:
            continue
        cost = cost_with(
            points, others, index, partner, (cost_before + best - partner_rows * others.costs[other]) / home_rows
        )
        if cost == np.inf:
            continue
        partner_cost = cost_with(points, others, other, unit, (cost_before + best - home_rows * cost) / partner_rows)
        if (
            home_rows * cost + partner_rows * partner_cost - cost_before < best
            and is_enough(points, others, index, home_rows, partner)
            and is_enough(points, others, other, partner_rows, unit)
        ):
            best, target, partner_index = home_rows * cost + partner_rows * partner_cost - cost_before, group, other
    return target, partner_index


@compiled
def rebuild(
    points: Any,
    group: Any,
    order: Any,
    starts: Any,
    seeds: Any,
    widths: Any,
    firsts: Any,
    unit_limit: int,
    pool_of: Any,
    label_of: Any,
) -> None:
    """Rebuild neighbourhoods: the group of each unit of ``seeds`` and its nearest groups, unless an earlier neighbourhood has them.

    Group ``g`` has the units ``order[starts[g]:starts[g + 1]]``. Neighbourhood ``n`` has up to ``1 + widths[n]`` groups and ``unit_limit`` units. Where the new groups
    cost less than the old ones, ``pool_of`` is set to ``n`` for their units and ``label_of`` to their group in it.
    """
    count, widest = len(starts) - 1, np.max(widths)
    groups, used = empty_boxes(points, count), np.zeros(count, dtype=np.bool_)
    for unit in range(len(group)):
        join(points, groups, group[unit], unit)
    for other in range(count):
        groups.costs[other] = cost_with(points, groups, other, -1, np.inf)
    boxes, costs = box_columns(groups.low, groups.high, groups.bits, np.arange(count)), np.empty(count)
    near, growths = np.empty(widest + 1, dtype=np.int64), np.empty(widest + 1)
    pool, label = np.empty(unit_limit, dtype=np.int64), np.empty(unit_limit, dtype=np.int64)
    for number in range(len(seeds)):
        unit, width = seeds[number], widths[number]
        home = group[unit]
        if used[home]:
            continue
        near[0], growths[0], near_count = home, -1.0, 1
        costs_with(points, boxes, points.low[unit], points.high[unit], points.bits[unit], costs)
        for other in range(count):
            if not used[other] and other != home:
                limit = growths[width] if near_count > width else np.inf
                cost_before = groups.rows[other] * groups.costs[other]
                growth = (groups.rows[other] + points.rows[unit]) * costs[other] - cost_before
                if growth < limit:
                    slot = near_count if near_count <= width else width
                    near_count = max(near_count, slot + 1)
                    while growths[slot - 1] > growth:
                        near[slot], growths[slot] = near[slot - 1], growths[slot - 1]
                        slot -= 1
                    near[slot], growths[slot] = other, growth
        size, old_cost = 0, 0.0
        for other in near[:near_count]:
            if size + starts[other + 1] - starts[other] <= unit_limit:
                used[other] = True
                old_cost += groups.rows[other] * groups.costs[other]
                for slot in range(starts[other], starts[other + 1]):
                    pool[size] = order[slot]
                    size += 1
        if size < 2:
            continue
        new_groups = gather(points, pool[:size], firsts[number] % size, label[:size])
        if new_groups > 0 and exchange(points, pool[:size], label[:size], new_groups) < old_cost - _LEAST_GAIN:
            for slot in range(size):
                pool_of[pool[slot]], label_of[pool[slot]] = number, label[slot]


@compiled
def pair_up(points: Any, group: Any, count: int, chosen: Any, into: Any) -> None:
    """Merge each of the ``chosen`` groups with the group for which this costs least, in disjoint pairs: ``into`` is the group that each is merged into, if any."""
    groups, merged, paired = empty_boxes(points, count), empty_boxes(points, 1), np.zeros(count, dtype=np.bool_)
    for unit in range(len(group)):
        join(points, groups, group[unit], unit)
    for number in range(count):
        groups.costs[number] = cost_with(points, groups, number, -1, np.inf)
    for failing_group in chosen:
        least_growth, partner = np.inf, -1
        for other in range(count):
            if other != failing_group and not paired[other] and not paired[failing_group]:
                clear(merged, 0)
                join(groups, merged, 0, failing_group)
                join(groups, merged, 0, other)
                cost_before = (
                    groups.rows[failing_group] * groups.costs[failing_group] + groups.rows[other] * groups.costs[other]
                )
                growth = (
                    merged.rows[0] * cost_with(points, merged, 0, -1, (least_growth + cost_before) / merged.rows[0])
                    - cost_before
                )
                if growth < least_growth:
                    partner, least_growth = other, growth
        if partner >= 0:
            into[partner], paired[partner], paired[failing_group] = failing_group, True, True
