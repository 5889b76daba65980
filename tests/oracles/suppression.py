"""Brute force for local suppression: the least cost over all partitions, by dynamic programming over subsets of rows. Shares nothing with the product."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations

Row = tuple[object, ...]


def row_cost(rows: Sequence[Row], weights: Sequence[Fraction]) -> Fraction:
    """What a row of a class costs: the weights of the columns in which its rows differ."""
    return sum((w for j, w in enumerate(weights) if len({row[j] for row in rows}) > 1), Fraction(0))


def cost_of(rows: Sequence[Row], labels: Sequence[int], weights: Sequence[Fraction] | None = None) -> Fraction:
    """What a partition costs, class by class."""
    weights = weights or [Fraction(1)] * len(rows[0])
    total = Fraction(0)
    for label in set(labels):
        members = [row for row, own in zip(rows, labels, strict=True) if own == label]
        total += len(members) * row_cost(members, weights)
    return total


def optimum(rows: Sequence[Row], k: int, weights: Sequence[Fraction] | None = None) -> Fraction:
    """The least cost of a partition into classes of at least k rows; classes of k to 2k-1 rows are enough. At most about 12 rows."""
    weights = weights or [Fraction(1)] * len(rows[0])

    @cache
    def best(left: frozenset[int]) -> Fraction | None:
        if not left:
            return Fraction(0)
        first = min(left)
        others = sorted(left - {first})
        found: Fraction | None = None
        for size in range(k, 2 * k):
            for some in combinations(others, size - 1):
                members = (first, *some)
                rest = best(left - frozenset(members))
                if rest is not None:
                    cost = size * row_cost([rows[i] for i in members], weights) + rest
                    found = cost if found is None else min(found, cost)
        return found

    answer = best(frozenset(range(len(rows))))
    assert answer is not None
    return answer


def nearest_bound(rows: Sequence[Row], k: int, weights: Sequence[Fraction] | None = None) -> Fraction:
    """The sum over rows of the distance to the (k-1)-st nearest other row."""
    weights = weights or [Fraction(1)] * len(rows[0])
    total = Fraction(0)
    for i, row in enumerate(rows):
        apart = sorted(row_cost([row, other], weights) for j, other in enumerate(rows) if j != i)
        total += apart[k - 2] if k > 1 else 0
    return total


def cheapest_cut(rows: Sequence[Row]) -> Fraction:
    """The least cost of a cycle of at least six rows, in their order, cut into runs of three and as few of four as its length allows."""
    count, weights = len(rows), [Fraction(1)] * len(rows[0])

    @cache
    def best(start: int, left: int, fours: int) -> Fraction | None:
        if not left:
            return None if fours else Fraction(0)
        found: Fraction | None = None
        for size in (3, 4):
            rest = (
                best(start + size, left - size, fours - (size == 4)) if left >= size and fours >= (size == 4) else None
            )
            if rest is not None:
                run = [rows[(start + step) % count] for step in range(size)]
                cost = size * row_cost(run, weights) + rest
                found = cost if found is None else min(found, cost)
        return found

    ways = [best(start, count, count % 3) for start in range(4)]
    return min(way for way in ways if way is not None)


def printed_decompose(parent: Sequence[int], start: int, k: int, most: int | None = None) -> list[list[int]]:
    """The rows of every part of a tree that DECOMPOSE makes as it was printed, beginning at ``start``; parts of more than ``most`` vertices are cut again.

    A cut through a vertex leaves a Steiner copy of it in one part, which is not a row. Cutting such a part again may count the copy as if it were one.
    """
    links: dict[int, set[int]] = {vertex: set() for vertex in range(len(parent))}
    for vertex, above in enumerate(parent):
        if above >= 0:
            links[vertex].add(above)
            links[above].add(vertex)
    limit = max(2 * k - 1, 3 * k - 5) if most is None else most
    done, waiting = [], [(links, set(range(len(parent))), start)]
    while waiting:
        tree, rows, vertex = waiting.pop()
        if len(rows) <= limit:
            done.append(sorted(rows))
        else:
            waiting += _printed_cut(tree, rows, vertex, k)
    return done


_Tree = dict[int, set[int]]


def _beyond(tree: _Tree, vertex: int, other: int) -> set[int]:
    """The vertices that an edge leads to."""
    found, stack = {other}, [other]
    while stack:
        for near in tree[stack.pop()] - found - {vertex}:
            found.add(near)
            stack.append(near)
    return found


def _cut_out(tree: _Tree, rows: set[int], chosen: set[int], start: int) -> tuple[_Tree, set[int], int]:
    return {v: tree[v] & chosen for v in chosen}, rows & chosen, start


def _copied(
    tree: _Tree, rows: set[int], chosen: set[int], vertex: int
) -> tuple[tuple[_Tree, set[int], int], tuple[_Tree, set[int], int]]:
    """A tree cut at a vertex, which stays with what is not chosen; a Steiner copy of it, the least number not used, joins what is."""
    copy = min(0, *tree) - 1
    apart = {v: {copy if each == vertex else each for each in tree[v]} & (chosen | {copy}) for v in chosen}
    apart[copy] = tree[vertex] & chosen
    return (apart, rows & chosen, copy), _cut_out(tree, rows, set(tree) - chosen, vertex)


def _printed_cut(tree: _Tree, rows: set[int], vertex: int, k: int) -> list[tuple[_Tree, set[int], int]]:
    while True:
        sides = {other: _beyond(tree, vertex, other) for other in sorted(tree[vertex])}
        largest = max(sides, key=lambda other: len(sides[other] & rows))
        most = len(sides[largest] & rows)
        rest = len(rows) - most
        if rest >= k - 1:
            break
        vertex = largest
    if most >= k and rest >= k:
        return [
            _cut_out(tree, rows, sides[largest], largest),
            _cut_out(tree, rows, set(tree) - sides[largest], vertex),
        ]
    if rest == k - 1:
        return list(_copied(tree, rows, sides[largest] - {largest}, largest))
    gathered: set[int] = set()
    for other in [largest] if most == k - 1 else sides:
        gathered |= sides[other]
        if len(gathered & rows) >= k - 1:
            break
    others = set(tree) - gathered - {vertex}
    # The vertex goes with what lacks it, its copy with the other side.
    return list(_copied(tree, rows, others if len(gathered & rows) == k - 1 else gathered, vertex))


def compatible(rows: Sequence[Row], star: object) -> list[int]:
    """How many rows each row is compatible with if a star fits everything, itself included."""
    return [
        sum(all(a == b or star in (a, b) for a, b in zip(one, other, strict=True)) for other in rows) for one in rows
    ]
