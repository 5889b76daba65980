"""Compiled loops of the lower bound on loss: nearest records of many points with the demanded sensitive values, and cheapest boxes around points."""

from __future__ import annotations

from typing import Any

import numpy as np

from reticent.base.compiled import compiled

_MOST_CANDIDATES = 5_000_000
"""Maximum candidates of a box times its records for which branch and bound is started."""


@compiled
def column_difference(value: int, other: int, spanned: bool) -> int:
    """Leaves beyond the first that a label needs to cover two values; -1 is a missing value, which belongs to no range."""
    if value == other:
        return 0
    return abs(value - other) if spanned and value >= 0 and other >= 0 else 1


@compiled
def nearest_records(
    codes: Any,
    weights: Any,
    spanned: Any,
    ends: Any,
    tops: Any,
    sizes: Any,
    prices: Any,
    chosen: Any,
    others: int,
    starts: Any,
    cell_values: Any,
    needed: Any,
    sums: Any,
    last: Any,
    radii: Any,
) -> int:
    """For each ``chosen`` point (distinct combination of quasi-identifier values, of ``sizes`` records) fill ``sums`` and ``last`` with the sum and the largest of its ``others`` smallest shares in the costs of pairs
    of records, and ``radii`` with the distance within which the demanded sensitive values occur; return the number of columns that were compared.

    A pair costs as much as labels that cover both records, split in proportion to their ``prices``. Point ``p`` has the values ``cell_values[:, starts[p]:starts[p + 1]]``, one row for each sensitive column, of which
    ``needed`` different ones are demanded. Points are sorted by their codes: ``ends[p, c]`` is the first point after ``p`` that differs from it in one of the columns up to ``c``, and ``tops[p, c]`` the highest price
    of the points that do not differ in these. So points that are too far by these columns alone are skipped together.
    """
    points, columns, depth, demands = len(sizes), len(weights), ends.shape[1], len(needed)
    nearest_shares, compared, width = np.empty(others), 0, 1
    for demand in range(demands):
        width = max(width, needed[demand])
    value_costs, kept_values = np.empty((demands, width)), np.empty((demands, width), dtype=np.int64)
    for index in range(len(chosen)):
        point = chosen[index]
        nearest_shares[:], value_costs[:], kept_values[:] = np.inf, np.inf, -1
        nearest_shares[: min(sizes[point] - 1, others)] = 0.0
        farthest = 0.0
        for demand in range(demands):
            for cell in range(starts[point], starts[point + 1]):
                insert_value(value_costs[demand], kept_values[demand], needed[demand], cell_values[demand, cell], 0.0)
            farthest = max(farthest, value_costs[demand, needed[demand] - 1])
        price = prices[point]
        for direction in range(2):
            other, end = (point + 1, points) if direction == 0 else (0, point)
            while other < end and max(nearest_shares[others - 1], farthest) > 0:
                following, cost, is_within, top = other + 1, 0.0, True, prices[other]
                for c in range(columns):
                    cost += weights[c] * column_difference(codes[point, c], codes[other, c], spanned[c])
                    compared += 1
                    # The point's share in a pair is smallest beside the highest price.
                    if c < depth:
                        top = tops[other, c]
                    if cost >= farthest and cost * price >= nearest_shares[others - 1] * (price + top):
                        following, is_within = ends[other, c] if c < depth else other + 1, False
                        break
                if is_within:
                    share = cost * price / (price + prices[other])
                    for _ in range(min(sizes[other], others)):
                        if share >= nearest_shares[others - 1]:
                            break
                        slot = others - 1
                        while slot > 0 and nearest_shares[slot - 1] > share:
                            nearest_shares[slot] = nearest_shares[slot - 1]
                            slot -= 1
                        nearest_shares[slot] = share
                    farthest = 0.0
                    for demand in range(demands):
                        if cost < value_costs[demand, needed[demand] - 1]:
                            for cell in range(starts[other], starts[other + 1]):
                                insert_value(
                                    value_costs[demand],
                                    kept_values[demand],
                                    needed[demand],
                                    cell_values[demand, cell],
                                    cost,
                                )
                        farthest = max(farthest, value_costs[demand, needed[demand] - 1])
                other = following
        sums[index], last[index], radii[index] = nearest_shares.sum(), nearest_shares[others - 1], farthest
    return compared


@compiled
def insert_value(costs: Any, values: Any, needed: int, value: int, cost: float) -> None:
    """Insert a value with its cost into ``values`` and ``costs``, which hold the ``needed`` cheapest different values in ascending order of cost; a value that is there already has its cost lowered."""
    slot = needed - 1
    for earlier in range(needed):
        if values[earlier] == value:
            slot = earlier
    if cost >= costs[slot]:
        return
    while slot > 0 and costs[slot - 1] > cost:
        costs[slot], values[slot] = costs[slot - 1], values[slot - 1]
        slot -= 1
    costs[slot], values[slot] = cost, value


@compiled
def box_cost(codes: Any, weights: Any, spanned: Any, members: Any, count: int, added: int, limit: float) -> float:
    """The cost of labels that cover the first ``count`` points of ``members`` and the point ``added``; infinite as soon as it reaches ``limit``."""
    cost = 0.0
    for c in range(len(weights)):
        value = codes[added, c]
        if spanned[c]:
            low, high, missing = 1 << 30, -1, 0
            for index in range(count + 1):
                other = value if index == count else codes[members[index], c]
                if other < 0:
                    missing = 1
                else:
                    low, high = min(low, other), max(high, other)
            covered = max(high - low + 1, 0) + missing
        else:
            covered = 1
            for index in range(count):
                other, is_new = codes[members[index], c], codes[members[index], c] != value
                for earlier in range(index):
                    if codes[members[earlier], c] == other:
                        is_new = False
                covered += is_new
        cost += weights[c] * (covered - 1)
        if cost >= limit:
            return np.inf
    return cost


@compiled
def reached_cost(
    costs: Any,
    candidates: Any,
    sizes: Any,
    first: int,
    count: int,
    rows: int,
    starts: Any,
    point_values: Any,
    present: Any,
    needed: int,
    stamp: Any,
    mark: int,
) -> float:
    """The cost of the candidate with which the ``candidates`` (points, in ascending order of cost, from position ``first`` on) together supply ``rows`` more records and ``needed`` more sensitive
    values that are not ``present``; infinite if all of them have too few.

    A value is counted once: ``stamp`` holds the call (``mark``) that counted it last.
    """
    gained, values = 0, 0
    if rows <= 0 and needed <= 0:
        return 0.0
    for position in range(first, count):
        point = candidates[position]
        gained += sizes[point]
        if values < needed:
            for cell in range(starts[point], starts[point + 1]):
                value = point_values[cell]
                if present[value] == 0 and stamp[value] != mark:
                    stamp[value] = mark
                    values += 1
        if gained >= rows and values >= needed:
            cost: float = costs[position]
            return cost
    return np.inf


@compiled
def add_values(point: int, starts: Any, point_values: Any, present: Any, step: int) -> int:
    """Add ``step`` (1 or -1) to the counts ``present`` of the sensitive values of a point; return how many different values that adds or removes."""
    changed = 0
    for cell in range(starts[point], starts[point + 1]):
        value = point_values[cell]
        changed += step == 1 and present[value] == 0
        present[value] += step
        changed -= step == -1 and present[value] == 0
    return changed


@compiled
def brings_value(point: int, starts: Any, point_values: Any, present: Any) -> bool:
    """Whether a point has a sensitive value that is not ``present`` yet (counts by value)."""
    missing = 0
    for cell in range(starts[point], starts[point + 1]):
        missing += present[point_values[cell]] == 0
    return missing > 0


@compiled
def cheapest_boxes(
    codes: Any,
    weights: Any,
    spanned: Any,
    sizes: Any,
    chosen: Any,
    rows: int,
    starts: Any,
    point_values: Any,
    needed: int,
    values: int,
    effort: int,
    bounds: Any,
) -> None:
    """For each ``chosen`` point (distinct combination of quasi-identifier values) fill ``bounds`` with a lower bound on the cost of labels (a box) that cover it, ``rows`` records and, if more than one is ``needed``, so many
    different sensitive values: the exact minimum, unless more than ``effort`` boxes (weighted by their points) are visited.

    Point ``p`` has the values ``point_values[starts[p]:starts[p + 1]]``, numbers below ``values``. Branch and bound over sets of points: the node at each depth adds one of its ``candidates`` to the ``members``. A set that
    still lacks records or values costs at least as much as the box at which single candidates, cheapest first, supply them; candidates that alone make the box costlier than the incumbent (``best``) are pruned, and so
    are, once there are enough records, those without a new value. When the effort is used up, the bound is the minimum over the open nodes.
    """
    points, depth_limit, mark = len(sizes), rows + needed, 0
    required_values = needed if needed > 1 else 0
    members, rows_at = np.zeros(depth_limit + 1, dtype=np.int64), np.zeros(depth_limit + 1, dtype=np.int64)
    values_at = np.zeros(depth_limit + 1, dtype=np.int64)
    next_slot, candidate_counts = np.zeros(depth_limit + 1, dtype=np.int64), np.zeros(depth_limit + 1, dtype=np.int64)
    nearby, distances = np.empty(points, dtype=np.int64), np.empty(points)
    nearest_costs, nearest_points = np.empty(rows), np.empty(rows, dtype=np.int64)
    present, stamp = np.zeros(values, dtype=np.int64), np.zeros(values, dtype=np.int64)
    for index in range(len(chosen)):
        point = chosen[index]
        present[:] = 0
        members[0], rows_at[0], values_at[0] = point, sizes[point], add_values(point, starts, point_values, present, 1)
        if rows_at[0] >= rows and values_at[0] >= required_values:
            bounds[index] = 0.0
            continue
        best = np.inf
        if required_values == 0:
            # The box of the nearest points is the first incumbent.
            nearest_costs[:], nearest_count = np.inf, 0
            for other in range(points):
                if other != point:
                    cost = box_cost(codes, weights, spanned, members, 1, other, nearest_costs[rows - 1])
                    if cost < nearest_costs[rows - 1]:
                        slot = rows - 1
                        while slot > 0 and nearest_costs[slot - 1] > cost:
                            nearest_costs[slot], nearest_points[slot] = (
                                nearest_costs[slot - 1],
                                nearest_points[slot - 1],
                            )
                            slot -= 1
                        nearest_costs[slot], nearest_points[slot] = cost, other
                        nearest_count = min(nearest_count + 1, rows)
            rows_gained = sizes[point]
            for slot in range(nearest_count):
                if rows_gained < rows:
                    best = box_cost(codes, weights, spanned, members, slot + 1, nearest_points[slot], np.inf)
                    members[slot + 1] = nearest_points[slot]
                    rows_gained += sizes[nearest_points[slot]]
            if rows_gained < rows:
                best = np.inf
        size = 0
        for other in range(points):
            if other != point:
                cost = box_cost(codes, weights, spanned, members, 1, other, best)
                if cost < best:
                    nearby[size], distances[size] = other, cost
                    size += 1
        order = np.argsort(distances[:size])
        nearby[:size], distances[:size] = nearby[:size][order], distances[:size][order]
        if required_values > 0:
            # The first incumbent takes the nearest points with new values, then the nearest ones.
            depth, rows_gained, held_values = 0, rows_at[0], values_at[0]
            for wants_value in (True, False):
                for slot in range(size):
                    other = nearby[slot]
                    takes_other = held_values < required_values and brings_value(other, starts, point_values, present)
                    if not wants_value:
                        takes_other = rows_gained < rows and not (members[1 : depth + 1] == other).any()
                    if takes_other and depth < depth_limit:
                        best = box_cost(codes, weights, spanned, members, depth + 1, other, np.inf)
                        depth += 1
                        members[depth] = other
                        rows_gained += sizes[other]
                        held_values += add_values(other, starts, point_values, present, 1)
            if held_values < required_values or rows_gained < rows:
                best = np.inf
            present[:] = 0
            add_values(point, starts, point_values, present, 1)
            while size > 0 and distances[size - 1] >= best:
                size -= 1
        levels = depth_limit + 1 if size * depth_limit <= _MOST_CANDIDATES else 1
        candidates, costs = np.empty((levels, size), dtype=np.int64), np.empty((levels, size))
        candidates[0], costs[0] = nearby[:size], distances[:size]
        candidate_counts[0], next_slot[0], depth, visited = size, 0, 0, 0
        while depth >= 0 and visited <= effort and levels > 1:
            start = next_slot[depth]
            mark += 1
            node_bound = reached_cost(
                costs[depth],
                candidates[depth],
                sizes,
                start,
                candidate_counts[depth],
                rows - rows_at[depth],
                starts,
                point_values,
                present,
                required_values - values_at[depth],
                stamp,
                mark,
            )
            if node_bound >= best:
                if depth > 0:
                    add_values(members[depth], starts, point_values, present, -1)
                depth -= 1
                continue
            next_slot[depth] = start + 1
            added = candidates[depth, start]
            if rows_at[depth] >= rows and not brings_value(added, starts, point_values, present):
                continue
            new_values = add_values(added, starts, point_values, present, 1)
            if rows_at[depth] + sizes[added] >= rows and values_at[depth] + new_values >= required_values:
                best = min(best, costs[depth, start])
                add_values(added, starts, point_values, present, -1)
                continue
            members[depth + 1], rows_at[depth + 1], size = added, rows_at[depth] + sizes[added], 0
            values_at[depth + 1] = values_at[depth] + new_values
            for slot in range(start + 1, candidate_counts[depth]):
                other = candidates[depth, slot]
                cost = box_cost(codes, weights, spanned, members, depth + 2, other, best)
                visited += depth + 1
                if cost < best:
                    candidates[depth + 1, size], costs[depth + 1, size] = other, cost
                    size += 1
            depth += 1
            order = np.argsort(costs[depth, :size])
            candidates[depth, :size], costs[depth, :size] = candidates[depth, :size][order], costs[depth, :size][order]
            candidate_counts[depth], next_slot[depth] = size, 0
        for level in range(depth, -1, -1):
            mark += 1
            open_bound = reached_cost(
                costs[level],
                candidates[level],
                sizes,
                next_slot[level],
                candidate_counts[level],
                rows - rows_at[level],
                starts,
                point_values,
                present,
                required_values - values_at[level],
                stamp,
                mark,
            )
            best = min(best, open_bound)
            if level > 0:
                add_values(members[level], starts, point_values, present, -1)
        bounds[index] = best
