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
    count, neighbour_count = len(units), units.least - 1
    nearest, distance = (
        np.empty((count, neighbour_count), dtype=np.int64),
        np.empty((count, neighbour_count), dtype=np.int64),
    )
    all_units = np.arange(count)
    step = max(_ROWS_AT_ONCE // max(count, 1), 1)
    for start in range(0, count, step):
        context.step("measuring distances", start, count)
        batch = all_units[start : start + step]
        # Distance and index in one number, so that ties are broken by index.
        keys = units.distances(batch, all_units) * count + all_units
        keys[np.arange(len(batch)), batch] = np.iinfo(np.int64).max
        nearest_keys = np.sort(np.partition(keys, neighbour_count - 1, axis=1)[:, :neighbour_count], axis=1)
        nearest[batch], distance[batch] = nearest_keys % count, nearest_keys // count
    return Neighbours(nearest, distance)


@dataclass(frozen=True)
class NeighbourForest:
    """Trees of at least k vertices each: ``parent[v]`` is the end of the edge of ``v``, -1 at a root; ``weight`` is the sum of all edges."""

    parent: Ids
    weight: int


def forest(neighbours_of: Neighbours, minimum: int) -> NeighbourForest:
    """Return the forest from joining every component of fewer than ``minimum`` vertices to the nearest neighbour of its root
    outside it, starting with single vertices.
    """
    count = len(neighbours_of.nearest)
    parent, weight = np.full(count, -1, dtype=np.int64), 0
    component, members = list(range(count)), [[vertex] for vertex in range(count)]
    root = list(range(count))
    for start in range(count):
        component_id = component[start]
        while len(members[component_id]) < minimum:
            vertex = root[component_id]
            # One of its k-1 nearest is outside: the component has at most k-2 others.
            rank = next(
                position
                for position, neighbour in enumerate(neighbours_of.nearest[vertex].tolist())
                if component[neighbour] != component_id
            )
            neighbour = int(neighbours_of.nearest[vertex, rank])
            parent[vertex], weight = neighbour, weight + int(neighbours_of.distance[vertex, rank])
            joined = component[neighbour]
            large, small = (
                (joined, component_id) if len(members[joined]) >= len(members[component_id]) else (component_id, joined)
            )
            root[large] = root[joined]
            for moved in members[small]:
                component[moved] = large
            members[large] += members[small]
            members[small] = []
            component_id = large
    return NeighbourForest(parent, weight)


@dataclass
class _Part:
    """Vertices that become a class; ``at`` is the vertex at which it was closed. A ``group`` may consist of several
    ``residuals`` joined through ``at``. Mutable: the remainder at a root may join it.
    """

    at: int
    vertices: list[int]
    residuals: list[list[int]] = field(default_factory=list)


def split(parent: Ids, minimum: int) -> list[list[int]]:
    """Return parts of the trees of a forest (``parent`` of each vertex, -1 at roots), of ``minimum`` k to max(2k-1, 3k-5)
    vertices each, that use disjoint edges.
    """
    children: list[list[int]] = [[] for _ in range(len(parent))]
    roots = []
    for vertex, parent_vertex in enumerate(parent.tolist()):
        if parent_vertex < 0:
            roots.append(vertex)
        else:
            children[parent_vertex].append(vertex)
    parts: list[list[int]] = []
    for root in roots:
        parts += _split_tree(root, children, minimum)
    return parts


def _split_tree(root: int, children: Sequence[Sequence[int]], minimum: int) -> list[list[int]]:
    """Return parts of at least ``minimum`` vertices that cover one tree, from the leaves up: the vertices that children
    could not place yet (residuals) are collected until they are enough.
    """
    order, stack = [], [root]
    while stack:
        vertex = stack.pop()
        order.append(vertex)
        stack += children[vertex]
    parts: list[_Part] = []
    residual: dict[int, list[int]] = {}
    for vertex in reversed(order):
        pool = [residual.pop(child) for child in children[vertex]]
        collected: list[list[int]] = []
        for part_residual in (child_residual for child_residual in pool if child_residual):
            collected.append(part_residual)
            if sum(map(len, collected)) >= minimum:
                parts.append(_Part(vertex, [v for joined_residual in collected for v in joined_residual], collected))
                collected = []
        remaining = [vertex, *(v for kept_residual in collected for v in kept_residual)]
        if len(remaining) == minimum:
            parts.append(_Part(vertex, remaining))
            remaining = []
        residual[vertex] = remaining
    remainder = residual[root]
    if remainder:
        _settle(remainder, parts, children, minimum)
    return [part.vertices for part in parts]


def _settle(remainder: list[int], parts: list[_Part], children: Sequence[Sequence[int]], minimum: int) -> None:
    """Join the remainder at the root, fewer than ``minimum`` vertices, to a part connected by an edge or a shared vertex."""
    children_below = {child for vertex in remainder for child in children[vertex]}
    for part in parts:
        if not part.residuals and part.at in children_below:
            part.vertices += remainder
            return
    remainder_set = set(remainder)
    part = next(part for part in parts if part.residuals and part.at in remainder_set)
    if len(part.vertices) + len(remainder) <= max(2 * minimum - 1, 3 * minimum - 5):
        part.vertices += remainder
        return
    *earlier_residuals, last = part.residuals
    earlier = [v for earlier_residual in earlier_residuals for v in earlier_residual]
    small, large = (last, earlier) if len(last) == minimum - 1 else (earlier, last)
    part.vertices = [*small, part.at]
    parts.append(_Part(part.at, [*large, *(v for v in remainder if v != part.at)]))


def by_forest(units: Units, context: Context) -> Ids:
    """Return the class of every unit, by a forest of nearest neighbours that is split bottom-up; needs single rows, and at least k of them."""
    if units.least == 1:
        return np.arange(len(units))
    nearest = neighbours(units, context)
    group = np.empty(len(units), dtype=np.int64)
    for index, part in enumerate(split(forest(nearest, units.least).parent, units.least)):
        group[part] = index
    return group
