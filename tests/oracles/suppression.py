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


def compatible(rows: Sequence[Row], star: object) -> list[int]:
    """How many rows each row is compatible with if a star fits everything, itself included."""
    return [
        sum(all(a == b or star in (a, b) for a, b in zip(one, other, strict=True)) for other in rows) for one in rows
    ]
