"""Compiled loops of the lower bound on loss: nearest records of many points with the demanded sensitive values, and cheapest boxes around points."""

from __future__ import annotations

from typing import Any

import numpy as np

from reticent.base.compiled import compiled

_MOST_CANDIDATES = 5_000_000
"""Maximum candidates of a box times its records for which branch and bound is started."""


@compiled
def column_difference(mine: int, other: int, spanned: bool) -> int:
    """Leaves beyond the first that a label needs to cover two values; -1 is a missing value, which belongs to no range."""
    if mine == other:
        return 0
    return abs(mine - other) if spanned and mine >= 0 and other >= 0 else 1


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
    own: Any,
    needed: Any,
    sums: Any,
    last: Any,
    radii: Any,
) -> int:
    """For each chosen point compute the sum of its shares in the cost of pairs with its ``others`` cheapest records (``sums``), the largest of these shares (``last``), and the distance within which the demanded
    sensitive values occur (``radii``); return the number of columns that were compared.

    Point ``p`` has the values ``own[:, starts[p]:starts[p + 1]]``, one row for each sensitive column, of which ``needed`` different ones are demanded. Points are sorted by their codes: ``ends[p, c]`` is the first point after
    ``p`` that differs from it in one of the columns up to ``c``, and ``tops[p, c]`` the highest price of the points that do not differ in these. So points that are too far by these columns alone are skipped together.
    """
    points, columns, depth, demands = len(sizes), len(weights), ends.shape[1], len(needed)
    nearest, compared, width = np.empty(others), 0, 1
    for demand in range(demands):
        width = max(width, needed[demand])
    near, value = np.empty((demands, width)), np.empty((demands, width), dtype=np.int64)
    for number in range(len(chosen)):
        point = chosen[number]
        nearest[:], near[:], value[:] = np.inf, np.inf, -1
        nearest[: min(sizes[point] - 1, others)] = 0.0
        farthest = 0.0
        for demand in range(demands):
            for cell in range(starts[point], starts[point + 1]):
                insert_value(near[demand], value[demand], needed[demand], own[demand, cell], 0.0)
            farthest = max(farthest, near[demand, needed[demand] - 1])
        price = prices[point]
        for part in range(2):
            other, end = (point + 1, points) if part == 0 else (0, point)
            while other < end and max(nearest[others - 1], farthest) > 0:
                following, cost, is_near, top = other + 1, 0.0, True, prices[other]
                for c in range(columns):
                    cost += weights[c] * column_difference(codes[point, c], codes[other, c], spanned[c])
                    compared += 1
                    # The point's share in a pair is smallest beside the highest price.
                    if c < depth:
                        top = tops[other, c]
                    if cost >= farthest and cost * price >= nearest[others - 1] * (price + top):
                        following, is_near = ends[other, c] if c < depth else other + 1, False
                        break
                if is_near:
                    share = cost * price / (price + prices[other])
                    for _ in range(min(sizes[other], others)):
                        if share >= nearest[others - 1]:
                            break
                        place = others - 1
                        while place > 0 and nearest[place - 1] > share:
                            nearest[place] = nearest[place - 1]
                            place -= 1
                        nearest[place] = share
                    farthest = 0.0
                    for demand in range(demands):
                        if cost < near[demand, needed[demand] - 1]:
                            for cell in range(starts[other], starts[other + 1]):
                                insert_value(near[demand], value[demand], needed[demand], own[demand, cell], cost)
                        farthest = max(farthest, near[demand, needed[demand] - 1])
                other = following
        sums[number], last[number], radii[number] = nearest.sum(), nearest[others - 1], farthest
    return compared


@compiled
def insert_value(near: Any, values: Any, needed: int, value: int, cost: float) -> None:
    """Keep ``needed`` different values with their least costs, in ascending order of cost: add a value, or lower its cost."""
    place = needed - 1
    for earlier in range(needed):
        if values[earlier] == value:
            place = earlier
    if cost >= near[place]:
        return
    while place > 0 and near[place - 1] > cost:
        near[place], values[place] = near[place - 1], values[place - 1]
        place -= 1
    near[place], values[place] = cost, value


@compiled
def box_cost(codes: Any, weights: Any, spanned: Any, members: Any, count: int, added: int, limit: float) -> float:
    """The cost of labels that cover ``count`` members and one more point; infinite as soon as it reaches ``limit``."""
    cost = 0.0
    for c in range(len(weights)):
        value = codes[added, c]
        if spanned[c]:
            low, high, missing = 1 << 30, -1, 0
            for place in range(count + 1):
                other = value if place == count else codes[members[place], c]
                if other < 0:
                    missing = 1
                else:
                    low, high = min(low, other), max(high, other)
            covered = max(high - low + 1, 0) + missing
        else:
            covered = 1
            for place in range(count):
                other, new = codes[members[place], c], codes[members[place], c] != value
                for before in range(place):
                    if codes[members[before], c] == other:
                        new = False
                covered += new
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
    own: Any,
    present: Any,
    needed: int,
    stamp: Any,
    mark: int,
) -> float:
    """The cost at which the candidates from ``first`` on, in ascending order of cost, reach ``rows`` more records and ``needed`` more values, none of them ``present``; infinite if all together have fewer."""
    gained, values = 0, 0
    if rows <= 0 and needed <= 0:
        return 0.0
    for place in range(first, count):
        point = candidates[place]
        gained += sizes[point]
        if values < needed:
            for cell in range(starts[point], starts[point + 1]):
                value = own[cell]
                if present[value] == 0 and stamp[value] != mark:
                    stamp[value] = mark
                    values += 1
        if gained >= rows and values >= needed:
            cost: float = costs[place]
            return cost
    return np.inf


@compiled
def add_values(point: int, starts: Any, own: Any, present: Any, step: int) -> int:
    """Count the values of a point in (``step`` 1) or out (-1); return how many different ones that adds or removes."""
    changed = 0
    for cell in range(starts[point], starts[point + 1]):
        value = own[cell]
        changed += step == 1 and present[value] == 0
        present[value] += step
        changed -= step == -1 and present[value] == 0
    return changed


@compiled
def brings_value(point: int, starts: Any, own: Any, present: Any) -> bool:
    """Whether a point has a value that is not present."""
    lacking = 0
    for cell in range(starts[point], starts[point + 1]):
        lacking += present[own[cell]] == 0
    return lacking > 0


@compiled
def cheapest_boxes(
    codes: Any,
    weights: Any,
    spanned: Any,
    sizes: Any,
    chosen: Any,
    rows: int,
    starts: Any,
    own: Any,
    needed: int,
    values: int,
    effort: int,
    found: Any,
) -> None:
    """For each chosen point fill ``found`` with a lower bound on the cost of labels that cover it, ``rows`` records and, if more than one is ``needed``, so many different sensitive values: the exact minimum, unless more
    than ``effort`` boxes (weighted by their points) are visited.

    Point ``p`` has the values ``own[starts[p]:starts[p + 1]]``, numbers below ``values``. Branch and bound over sets of points. A set that still lacks records or values costs at least as much as the box at which single candidates,
    cheapest first, supply them; candidates that alone make the box costlier than the incumbent are pruned, and so are, once there are enough records, those without a new value. When the effort is used up, the
    minimum over the open nodes is returned.
    """
    points, most, mark = len(sizes), rows + needed, 0
    least = needed if needed > 1 else 0
    members, held = np.zeros(most + 1, dtype=np.int64), np.zeros(most + 1, dtype=np.int64)
    known = np.zeros(most + 1, dtype=np.int64)
    position, count = np.zeros(most + 1, dtype=np.int64), np.zeros(most + 1, dtype=np.int64)
    close, distances = np.empty(points, dtype=np.int64), np.empty(points)
    nearest, near = np.empty(rows), np.empty(rows, dtype=np.int64)
    present, stamp = np.zeros(values, dtype=np.int64), np.zeros(values, dtype=np.int64)
    for number in range(len(chosen)):
        point = chosen[number]
        present[:] = 0
        members[0], held[0], known[0] = point, sizes[point], add_values(point, starts, own, present, 1)
        if held[0] >= rows and known[0] >= least:
            found[number] = 0.0
            continue
        best = np.inf
        if least == 0:
            # The box of the nearest points is the first incumbent.
            nearest[:], kept = np.inf, 0
            for other in range(points):
                if other != point:
                    cost = box_cost(codes, weights, spanned, members, 1, other, nearest[rows - 1])
                    if cost < nearest[rows - 1]:
                        place = rows - 1
                        while place > 0 and nearest[place - 1] > cost:
                            nearest[place], near[place] = nearest[place - 1], near[place - 1]
                            place -= 1
                        nearest[place], near[place] = cost, other
                        kept = min(kept + 1, rows)
            gained = sizes[point]
            for place in range(kept):
                if gained < rows:
                    best = box_cost(codes, weights, spanned, members, place + 1, near[place], np.inf)
                    members[place + 1] = near[place]
                    gained += sizes[near[place]]
            if gained < rows:
                best = np.inf
        size = 0
        for other in range(points):
            if other != point:
                cost = box_cost(codes, weights, spanned, members, 1, other, best)
                if cost < best:
                    close[size], distances[size] = other, cost
                    size += 1
        order = np.argsort(distances[:size])
        close[:size], distances[:size] = close[:size][order], distances[:size][order]
        if least > 0:
            # The first incumbent takes the nearest points with new values, then the nearest ones.
            depth, gained, held_values = 0, held[0], known[0]
            for wants_value in (True, False):
                for place in range(size):
                    other = close[place]
                    wanted = held_values < least and brings_value(other, starts, own, present)
                    if not wants_value:
                        wanted = gained < rows and not (members[1 : depth + 1] == other).any()
                    if wanted and depth < most:
                        best = box_cost(codes, weights, spanned, members, depth + 1, other, np.inf)
                        depth += 1
                        members[depth] = other
                        gained += sizes[other]
                        held_values += add_values(other, starts, own, present, 1)
            if held_values < least or gained < rows:
                best = np.inf
            present[:] = 0
            add_values(point, starts, own, present, 1)
            while size > 0 and distances[size - 1] >= best:
                size -= 1
        levels = most + 1 if size * most <= _MOST_CANDIDATES else 1
        candidates, costs = np.empty((levels, size), dtype=np.int64), np.empty((levels, size))
        candidates[0], costs[0] = close[:size], distances[:size]
        count[0], position[0], depth, compared = size, 0, 0, 0
        while depth >= 0 and compared <= effort and levels > 1:
            start = position[depth]
            mark += 1
            limit = reached_cost(
                costs[depth],
                candidates[depth],
                sizes,
                start,
                count[depth],
                rows - held[depth],
                starts,
                own,
                present,
                least - known[depth],
                stamp,
                mark,
            )
            if limit >= best:
                if depth > 0:
                    add_values(members[depth], starts, own, present, -1)
                depth -= 1
                continue
            position[depth] = start + 1
            taken = candidates[depth, start]
            if held[depth] >= rows and not brings_value(taken, starts, own, present):
                continue
            more = add_values(taken, starts, own, present, 1)
            if held[depth] + sizes[taken] >= rows and known[depth] + more >= least:
                best = min(best, costs[depth, start])
                add_values(taken, starts, own, present, -1)
                continue
            members[depth + 1], held[depth + 1], size = taken, held[depth] + sizes[taken], 0
            known[depth + 1] = known[depth] + more
            for place in range(start + 1, count[depth]):
                other = candidates[depth, place]
                cost = box_cost(codes, weights, spanned, members, depth + 2, other, best)
                compared += depth + 1
                if cost < best:
                    candidates[depth + 1, size], costs[depth + 1, size] = other, cost
                    size += 1
            depth += 1
            order = np.argsort(costs[depth, :size])
            candidates[depth, :size], costs[depth, :size] = candidates[depth, :size][order], costs[depth, :size][order]
            count[depth], position[depth] = size, 0
        for level in range(depth, -1, -1):
            mark += 1
            still = reached_cost(
                costs[level],
                candidates[level],
                sizes,
                position[level],
                count[level],
                rows - held[level],
                starts,
                own,
                present,
                least - known[level],
                stamp,
                mark,
            )
            best = min(best, still)
            if level > 0:
                add_values(members[level], starts, own, present, -1)
        found[number] = best
