"""k = 2 and k = 3: classes from the cheapest factor of the complete graph of rows, found by mixed-integer programming.

Guarantee: for k = 2 the cost is at most 2 times the optimum, and 3/2 times if every column is binary; for k = 3 and
binary columns at most 2 times. Other columns are allowed for k = 3, without a proven factor. Cost: one variable for
each pair of rows; about a second for 150 rows. Source: [Aggarwal2005], with corrections.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from reticent.base.context import Context
from reticent.errors import Infeasible
from reticent.methods.suppress.ladders import Ids, Units

Edges = NDArray[np.int64]


def factor(distances: NDArray[np.int64], fewest: int, context: Context) -> Edges:
    """Return the edges of minimal weight such that every vertex has at least ``fewest`` and at most 2 of them, one edge
    per row; ties by vertex order.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    context.check("matching rows")
    count = len(distances)
    first, second = np.triu_indices(count, 1)
    edges = np.arange(len(first))
    ends = csr_array(
        (np.ones(2 * len(first)), (np.concatenate([first, second]), np.tile(edges, 2))), shape=(count, len(first))
    )
    solution = milp(
        distances[first, second].astype(np.float64),
        integrality=np.ones(len(first), dtype=np.int8),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(ends, fewest, 2),
        options={"mip_rel_gap": 0},
    )
    if solution.x is None:
        raise Infeasible(f"No factor was found for {count} rows: {solution.message}")
    chosen = np.flatnonzero(solution.x > 0.5)
    return np.stack([first[chosen], second[chosen]], axis=1)


def pairs_and_paths(edges: Edges, count: int) -> Ids:
    """Return the components of a [1,2]-factor after removing edges whose ends both have another edge: pairs, and paths of three."""
    degree = np.bincount(edges.ravel(), minlength=count)
    links: list[list[int]] = [[] for _ in range(count)]
    for first, second in edges.tolist():
        if degree[first] == 2 and degree[second] == 2:
            degree[first] -= 1
            degree[second] -= 1
        else:
            links[first].append(second)
            links[second].append(first)
    group = np.full(count, -1, dtype=np.int64)
    for number, component in enumerate(_components(links)):
        group[component] = number
    return group


def _components(links: list[list[int]]) -> Iterator[list[int]]:
    """Yield the components of a graph, each in the order of its edges."""
    is_visited = [False] * len(links)
    for start in range(len(links)):
        if is_visited[start]:
            continue
        component, stack = [], [start]
        while stack:
            vertex = stack.pop()
            if not is_visited[vertex]:
                is_visited[vertex] = True
                component.append(vertex)
                stack += [other for other in links[vertex] if not is_visited[other]]
        yield component


def cycles(edges: Edges, count: int) -> Iterator[list[int]]:
    """Yield the cycles of a 2-factor, each as its vertices in order."""
    links: list[list[int]] = [[] for _ in range(count)]
    for first, second in edges.tolist():
        links[first].append(second)
        links[second].append(first)
    yield from _components(links)


def cut_cycle(units: Units, cycle: list[int]) -> list[list[int]]:
    """Return the segments of a cycle of units, cut at minimal cost: three units each, and one or two of four if the length requires it.

    All rotations and, with two segments of four, all positions of the second are compared.
    """
    length = len(cycle)
    if length <= 5:
        return [cycle]
    four_count = length % 3
    segment_count = (length - 4 * four_count) // 3 + four_count
    windows = np.array(cycle)[np.add.outer(np.arange(length), np.arange(4)) % length]
    price_of_size = {size: _prices(units, windows[:, :size]) for size in (3, 4)}
    options = []
    for second in range(1, segment_count) if four_count == 2 else (0,):
        sizes = [4 if four_count and position in (0, second) else 3 for position in range(segment_count)]
        starts = np.cumsum([0, *sizes[:-1]])
        # One row for every segment, one column for every rotation.
        start_rows = (starts[:, None] + np.arange(length)) % length
        cost = np.sum(
            [price_of_size[size][rows_of_rotation] for size, rows_of_rotation in zip(sizes, start_rows, strict=True)],
            axis=0,
        )
        rotation = int(np.argmin(cost))
        options.append((int(cost[rotation]), sizes, start_rows[:, rotation].tolist()))
    _, sizes, chosen = min(options, key=lambda option: option[0])
    return [windows[start, :size].tolist() for size, start in zip(sizes, chosen, strict=True)]


def _prices(units: Units, classes: Ids) -> Ids:
    """Return the cost of each of several classes of equal size, one per row."""
    count, size = classes.shape
    costs: Ids = size * units.select(classes.ravel()).prices(np.repeat(np.arange(count), size), count)
    return costs


def by_factor(units: Units, context: Context) -> Ids:
    """Return the class of every unit from a minimum-weight 1- or 2-factor, for a minimum class size of two or three; needs
    single rows, at least as many as a class has.
    """
    all_units = np.arange(len(units))
    distances = units.distances(all_units, all_units)
    if units.least == 2:
        return pairs_and_paths(factor(distances, 1, context), len(units))
    group = np.empty(len(units), dtype=np.int64)
    number = 0
    for cycle in cycles(factor(distances, 2, context), len(units)):
        for run in cut_cycle(units, cycle):
            group[run] = number
            number += 1
    return group
