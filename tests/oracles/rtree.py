"""The R+-tree, as lists and recursion: every point walks down, an overflowing leaf compares all pairs of its points."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations

Point = tuple[float, ...]


@dataclass
class Leaf:
    points: list[int] = field(default_factory=list)
    retry: int = 0


@dataclass
class Inner:
    axis: int
    value: float
    low: Leaf | Inner
    high: Leaf | Inner


def leaves(points: list[Point], rows: list[int], order: list[int], minimum: int) -> list[list[int]]:
    """The points of every leaf, from the lowest to the highest."""
    root: Leaf | Inner = Leaf()
    for point in order:
        root = _inserted(root, point, points, rows, minimum)
    return list(_listed(root))


def _inserted(node: Leaf | Inner, point: int, points: list[Point], rows: list[int], minimum: int) -> Leaf | Inner:
    if isinstance(node, Inner):
        if points[point][node.axis] > node.value:
            node.high = _inserted(node.high, point, points, rows, minimum)
        else:
            node.low = _inserted(node.low, point, points, rows, minimum)
        return node
    node.points.append(point)
    held = sum(rows[each] for each in node.points)
    if held <= 2 * minimum or held < node.retry or len(node.points) < 2:
        return node
    one, other = max(
        combinations(sorted(node.points), 2),
        key=lambda pair: sum((a - b) ** 2 for a, b in zip(points[pair[0]], points[pair[1]], strict=True)),
    )
    differences = [abs(a - b) for a, b in zip(points[one], points[other], strict=True)]
    for axis in sorted(range(len(differences)), key=lambda each: -differences[each]):
        values = sorted({points[each][axis] for each in node.points})
        legal = []
        for value in values[:-1]:
            below = sum(rows[each] for each in node.points if points[each][axis] <= value)
            if below >= minimum and held - below >= minimum:
                legal.append((abs(2 * below - held), value))
        if legal:
            value = min(legal)[1]
            low = [each for each in node.points if points[each][axis] <= value]
            high = [each for each in node.points if points[each][axis] > value]
            return Inner(axis, value, Leaf(low), Leaf(high))
    node.retry = held + minimum
    return node


def _listed(node: Leaf | Inner):
    if isinstance(node, Leaf):
        yield node.points
    else:
        yield from _listed(node.low)
        yield from _listed(node.high)
