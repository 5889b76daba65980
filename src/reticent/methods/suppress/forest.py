"""Any k: a forest of nearest neighbours, whose trees are split bottom-up into parts of k to max(2k-1, 3k-5) rows.

Guarantee: the weight of the forest is at most the optimal cost, and parts use disjoint edges of it, so the cost is at
most max(2k-1, 3k-5) times the optimum. Cost: all distances, so quadratic in the rows. Source: [Aggarwal2005];
corrected: its DECOMPOSE splits off parts that are too small and is not used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from reticent.base.context import Context
from reticent.methods.suppress.ladders import Ids, Units

_ROWS_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class Neighbours:
    """The k-1 nearest other units of every unit, nearest first, with their distances; ties by unit order."""

    nearest: Ids
    distance: Ids


def neighbours(units: Units, context: Context) -> Neighbours:
    """Return the nearest units of every unit, by exhaustive comparison; needs at least k units."""
    count, wanted = len(units), units.least - 1
    nearest, distance = np.empty((count, wanted), dtype=np.int64), np.empty((count, wanted), dtype=np.int64)
    everybody = np.arange(count)
    step = max(_ROWS_AT_ONCE // max(count, 1), 1)
    for start in range(0, count, step):
        context.step("measuring distances", start, count)
        some = everybody[start : start + step]
        # Distance and index in one number, so that ties are broken by index.
        keys = units.distances(some, everybody) * count + everybody
        keys[np.arange(len(some)), some] = np.iinfo(np.int64).max
        found = np.sort(np.partition(keys, wanted - 1, axis=1)[:, :wanted], axis=1)
        nearest[some], distance[some] = found % count, found // count
    return Neighbours(nearest, distance)


@dataclass(frozen=True)
class NeighbourForest:
    """Trees of at least k vertices each: ``parent[v]`` is the end of the edge of ``v``, -1 at a root; ``weight`` is the sum of all edges."""

    parent: Ids
    weight: int


def forest(near: Neighbours, least: int) -> NeighbourForest:
    """Join every component of fewer than ``least`` vertices to the nearest neighbour of its root outside it."""
    count = len(near.nearest)
    parent, weight = np.full(count, -1, dtype=np.int64), 0
    component, members = list(range(count)), [[vertex] for vertex in range(count)]
    root = list(range(count))
    for start in range(count):
        own = component[start]
        while len(members[own]) < least:
            vertex = root[own]
            # One of its k-1 nearest is outside: the component has at most k-2 others.
            place = next(p for p, other in enumerate(near.nearest[vertex].tolist()) if component[other] != own)
            other = int(near.nearest[vertex, place])
            parent[vertex], weight = other, weight + int(near.distance[vertex, place])
            into = component[other]
            large, small = (into, own) if len(members[into]) >= len(members[own]) else (own, into)
            root[large] = root[into]
            for moved in members[small]:
                component[moved] = large
            members[large] += members[small]
            members[small] = []
            own = large
    return NeighbourForest(parent, weight)


@dataclass
class _Part:
    """Vertices that become a class; ``at`` is the vertex at which it was closed. A ``group`` may consist of several
    ``residuals`` joined through ``at``. Mutable: the remainder at a root may join it.
    """

    at: int
    vertices: list[int]
    residuals: list[list[int]] = field(default_factory=list)


def split(parent: Ids, least: int) -> list[list[int]]:
    """Split every tree into parts of ``least`` to max(2k-1, 3k-5) vertices that use disjoint edges."""
    children: list[list[int]] = [[] for _ in range(len(parent))]
    roots = []
    for vertex, above in enumerate(parent.tolist()):
        if above < 0:
            roots.append(vertex)
        else:
            children[above].append(vertex)
    found: list[list[int]] = []
    for root in roots:
        found += _split_tree(root, children, least)
    return found


def _split_tree(root: int, children: Sequence[Sequence[int]], least: int) -> list[list[int]]:
    order, stack = [], [root]
    while stack:
        vertex = stack.pop()
        order.append(vertex)
        stack += children[vertex]
    parts: list[_Part] = []
    residual: dict[int, list[int]] = {}
    for vertex in reversed(order):
        pool = [residual.pop(child) for child in children[vertex]]
        taken: list[list[int]] = []
        for each in (each for each in pool if each):
            taken.append(each)
            if sum(map(len, taken)) >= least:
                parts.append(_Part(vertex, [v for some in taken for v in some], taken))
                taken = []
        left = [vertex, *(v for some in taken for v in some)]
        if len(left) == least:
            parts.append(_Part(vertex, left))
            left = []
        residual[vertex] = left
    rest = residual[root]
    if rest:
        _settle(rest, parts, children, least)
    return [part.vertices for part in parts]


def _settle(rest: list[int], parts: list[_Part], children: Sequence[Sequence[int]], least: int) -> None:
    """Join the remainder at the root, fewer than ``least`` vertices, to a part connected by an edge or a shared vertex."""
    below = {child for vertex in rest for child in children[vertex]}
    for part in parts:
        if not part.residuals and part.at in below:
            part.vertices += rest
            return
    inside = set(rest)
    part = next(part for part in parts if part.residuals and part.at in inside)
    if len(part.vertices) + len(rest) <= max(2 * least - 1, 3 * least - 5):
        part.vertices += rest
        return
    *before, last = part.residuals
    earlier = [v for some in before for v in some]
    small, large = (last, earlier) if len(last) == least - 1 else (earlier, last)
    part.vertices = [*small, part.at]
    parts.append(_Part(part.at, [*large, *(v for v in rest if v != part.at)]))


def by_forest(units: Units, context: Context) -> Ids:
    """Return the class of every unit, by a forest of nearest neighbours that is split bottom-up; needs single rows, and at least k of them."""
    if units.least == 1:
        return np.arange(len(units))
    near = neighbours(units, context)
    group = np.empty(len(units), dtype=np.int64)
    for place, part in enumerate(split(forest(near, units.least).parent, units.least)):
        group[part] = place
    return group
