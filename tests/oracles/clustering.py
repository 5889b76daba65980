"""Optimal clusters by trying all of them, linear programs over all candidate clusters, and two algorithms as they were printed.

Shares nothing with ``reticent.methods.clusters``: plain Python over tables of distances, and HiGHS for the programs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

Distances = Sequence[Sequence[float]]


def distances_of(points: Sequence[Sequence[float]] | Sequence[float]) -> list[list[float]]:
    """Euclidean distances."""
    rows = [list(each) if isinstance(each, (list, tuple)) else [each] for each in points]
    return [[sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) ** 0.5 for other in rows] for one in rows]


def diameter(distances: Distances, members: Sequence[int]) -> float:
    return max((distances[i][j] for i, j in combinations(members, 2)), default=0.0)


def record_radius(distances: Distances, members: Sequence[int]) -> float:
    return min(max(distances[v][i] for i in members) for v in members)


def any_record_radius(distances: Distances, members: Sequence[int]) -> float:
    """The best centre that is a record, of this cluster or another."""
    return min(max(distances[v][i] for i in members) for v in range(len(distances)))


def best(
    n: int,
    r: int,
    price: Callable[[Sequence[int]], float],
    *,
    add: bool,
    spare: int = 0,
    k: int | None = None,
) -> float:
    """The least of the largest price of a cluster (or, with ``add``, of all prices added up) over all clusters of at least r points, at most k of them, for all but ``spare`` points."""
    infinite = float("inf")
    prices = {mask: price(_members(mask, n)) for mask in range(1 << n) if mask.bit_count() >= r}
    most = n // r if k is None else min(k, n // r)
    table = [[infinite] * (1 << n) for _ in range(most + 1)]
    table[0][0] = 0.0
    for used in range(1, most + 1):
        for mask in range(1, 1 << n):
            low, found, sub = mask & -mask, infinite, mask
            while sub:
                if sub & low and sub in prices:
                    before = table[used - 1][mask ^ sub]
                    found = min(found, before + prices[sub] if add else max(before, prices[sub]))
                sub = (sub - 1) & mask
            table[used][mask] = found
    return min(
        (each[mask] for each in table[1:] for mask in range(1 << n) if mask.bit_count() >= n - spare), default=infinite
    )


def _members(mask: int, n: int) -> list[int]:
    return [i for i in range(n) if mask >> i & 1]


def candidates(distances: Distances, r: int) -> list[tuple[int, float, list[int]]]:
    """All pairs of a centre and a reach with at least r points within it."""
    found = []
    for v, row in enumerate(distances):
        for reach in sorted(set(row)):
            members = [i for i, away in enumerate(row) if away <= reach]
            if len(members) >= r:
                found.append((v, reach, members))
    return found


def program(distances: Distances, setup: Callable[[float], float], r: int, *, whole: bool) -> float:
    """The linear program of cellular clustering over all candidates, or with whole numbers."""
    n, listed = len(distances), candidates(distances, r)
    pairs = [(i, c) for c, (_, _, members) in enumerate(listed) for i in members]
    cost = np.array([setup(reach) for _, reach, _ in listed] + [listed[c][1] for _, c in pairs])
    rows, limits = [], []
    for i in range(n):
        row = np.zeros(len(cost))
        row[[len(listed) + at for at, (point, _) in enumerate(pairs) if point == i]] = -1
        rows.append(row)
        limits.append(-1.0)
    for at, (_, c) in enumerate(pairs):
        row = np.zeros(len(cost))
        row[len(listed) + at], row[c] = 1, -1
        rows.append(row)
        limits.append(0.0)
    if whole:
        solved = milp(
            cost,
            constraints=LinearConstraint(np.array(rows), ub=limits),
            integrality=np.ones(len(cost)),
            bounds=Bounds(0, 1),
        )
        return float(solved.fun)
    return float(linprog(cost, A_ub=np.array(rows), b_ub=limits, bounds=(0, 1), method="highs").fun)


def gathers_within(distances: Distances, r: int, radius: float) -> bool:
    """Whether clusters of at least r points exist whose members are all within a radius of a centre that is a record, by a program in whole numbers."""
    n = len(distances)
    pairs = [(i, v) for v in range(n) for i in range(n) if distances[v][i] <= radius]
    width = n + len(pairs)
    rows, low, high = [], [], []
    for i in range(n):
        row = np.zeros(width)
        row[[n + at for at, (point, _) in enumerate(pairs) if point == i]] = 1
        rows.append(row)
        low.append(1.0)
        high.append(1.0)
    for v in range(n):
        row = np.zeros(width)
        row[[n + at for at, (_, centre) in enumerate(pairs) if centre == v]] = 1
        row[v] = -r
        rows.append(row)
        low.append(0.0)
        high.append(np.inf)
    for at, (_, v) in enumerate(pairs):
        row = np.zeros(width)
        row[n + at], row[v] = 1, -1
        rows.append(row)
        low.append(-np.inf)
        high.append(0.0)
    solved = milp(
        np.zeros(width),
        constraints=LinearConstraint(np.array(rows), low, high),
        integrality=np.ones(width),
        bounds=Bounds(0, 1),
    )
    return bool(solved.success)


def printed_centres_with_outliers(
    distances: Distances, k: int, r: int, spare: int
) -> tuple[float, list[list[int]]] | None:
    """(k,r,eps)-center with the printed filter: points with r points within 2R, whoever these are. The clusters may be too small."""
    n = len(distances)
    for threshold in sorted({each for row in distances for each in row}):
        stay = [v for v in range(n) if sum(each <= threshold for each in distances[v]) >= r]
        if len(stay) < n - spare:
            continue
        left, centres = set(stay), []
        while left and len(centres) < k:
            centres.append(max(sorted(left), key=lambda v: sum(distances[v][u] <= threshold for u in left)))
            left -= {u for u in left if distances[centres[-1]][u] <= 2 * threshold}
        covered = [v for v in stay if v not in left]
        if len(covered) >= n - spare:
            nearest = {v: min(centres, key=lambda c: distances[c][v]) for v in covered}
            return threshold, [[v for v in covered if nearest[v] == c] for c in centres]
    return None


def printed_cellular(distances: Distances, r: int) -> list[tuple[int, list[int]]]:
    """The shared clusters of r-cellular clustering as printed: Algorithm 5 with set-up costs of r times the reach, then borrowing.

    A cluster is a centre and its members. Opening widens a cluster beyond the reach that was paid for, which is what breaks the factor.
    """
    n = len(distances)
    listed = [(v, reach, frozenset(members)) for v, reach, members in candidates(distances, r)]
    price = [0.0] * n
    state = ["unassigned"] * n
    owner: dict[int, list[int]] = {}
    shut = set[int]()

    def price_of(i: int, now: float) -> float:
        return now if state[i] == "unassigned" else price[i]

    def due(c: int) -> float:
        _, reach, members = listed[c]
        waiting = [i for i in members if state[i] == "unassigned"]
        paid = sum(max(0.0, price[i] - reach) for i in members if state[i] != "unassigned")
        return reach + max(0.0, r * reach - paid) / len(waiting) if waiting else float("inf")

    while "unassigned" in state:
        c = min(
            (each for each in range(len(listed)) if each not in shut),
            key=lambda each: (due(each), listed[each][1], each),
        )
        now = due(c)

        def tight(i: int, which: int, now: float = now) -> bool:
            return i in listed[which][2] and price_of(i, now) >= listed[which][1]

        fresh = [i for i in range(n) if state[i] == "unassigned" and tight(i, c)]
        resting = [i for i in range(n) if state[i] == "idle" and tight(i, c)]
        touched = {
            other
            for other in range(len(listed))
            if other not in shut and any(tight(i, other) for i in (*fresh, *resting))
        }
        joining = [
            i
            for i in range(n)
            if state[i] == "unassigned" and i not in fresh and any(tight(i, other) for other in touched)
        ]
        owner[c] = fresh + joining
        for i in (*fresh, *joining):
            price[i] = now
        for i in (*fresh, *resting):
            state[i] = "dead"
        for i in joining:
            state[i] = "idle"
        shut |= touched | {c}
    found = []
    for c, members in owner.items():
        v = listed[c][0]
        mine = list(members)
        for i in sorted(range(n), key=lambda i: (distances[v][i], i)):
            if len(mine) < r and i not in mine:
                mine.append(i)
        found.append((v, mine))
    return found


def cost_of_sharing(distances: Distances, clusters: Sequence[tuple[int, Sequence[int]]]) -> float:
    return sum(len(members) * max(distances[v][i] for i in members) for v, members in clusters)


def printed_r_cellular(distances: Distances, r: int) -> float:
    """What the printed pipeline costs in the end: borrowed points are given back, small remainders join a cluster that has their points, and every cluster gets its best centre."""
    shared = printed_cellular(distances, r)
    taken: dict[int, int] = {}
    clusters: list[list[int]] = []
    for _, members in sorted(shared, key=lambda each: max(distances[each[0]][i] for i in each[1])):
        free = [i for i in members if i not in taken]
        if len(free) >= r:
            clusters.append(free)
            taken.update(dict.fromkeys(free, len(clusters) - 1))
        else:
            target = next(taken[i] for i in members if i in taken)
            clusters[target] += free
            taken.update(dict.fromkeys(free, target))
    return sum(len(members) * record_radius(distances, members) for members in clusters)
