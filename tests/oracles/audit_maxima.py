"""Max auditors as the source prints them: Algorithm 1, Algorithm 2, and enumeration over a small grid.

A history is a list of ``(frozenset of people, answer)``; everything is recomputed from it, nothing is shared with the product.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product

INFINITY = float("inf")


def extremes(history):
    """For each query of a history, its extreme people."""
    mu = {}
    for query, answer in history:
        for person in query:
            mu[person] = min(mu.get(person, INFINITY), answer)
    return [{person for person in query if mu[person] == answer} for query, answer in history]


def candidates(history, query):
    """The 2l+1 answers of Algorithm 1, in rising order; none when the query meets no earlier one."""
    known = sorted({Fraction(answer) for other, answer in history if other & query})
    if not known:
        return []
    between = [(low + high) / 2 for low, high in pairwise(known)]
    inner = [value for pair in zip(known, [*between, known[-1] + 1], strict=True) for value in pair]
    return [known[0] - 1, *inner]


def algorithm_1(history, query):
    """True = answer."""
    tried = candidates(history, query)
    if not tried:
        return len(query) > 1
    for answer in tried:
        sizes = [len(found) for found in extremes([*history, (query, answer)])]
        if min(sizes) > 0 and 1 in sizes:
            return False
    return True


def columns(history, query):
    """The conditions of Algorithm 2 for each candidate: A, B, C', D' and the literal D, as rows of truth values."""
    table = {name: [] for name in ("A", "B", "C", "D'", "literal D")}
    for answer in candidates(history, query):
        *others, last = extremes([*history, (query, answer)])
        sole = {next(iter(found)) for found in [*others, last] if len(found) == 1}
        table["A"].append(any(not found for found in others))
        table["B"].append(not last)
        table["C"].append(any(len(found) <= 1 for found in others))
        table["D'"].append(len(last) <= 1)
        table["literal D"].append(bool(sole & last))
    return table


def algorithm_2(history, query):
    """Answer iff [alpha, beta] lies inside [gamma, delta]; A and C' hold on a prefix, B and D' on a suffix (E5)."""
    table = columns(history, query)
    count = len(table["A"])
    if not count:
        return len(query) > 1
    alpha, gamma = _first_false(table["A"]), _first_false(table["C"])
    beta, delta = _last_false(table["B"]), _last_false(table["D'"])
    return alpha > beta or (gamma <= alpha and beta <= delta)


def _first_false(column):
    low, high = 0, len(column)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if column[middle] else (low, middle)
    return low


def _last_false(column):
    return len(column) - 1 - _first_false(column[::-1])


def worlds(history, people, grid):
    """Every assignment of grid values with the answered maxima."""
    for values in product(grid, repeat=people):
        if all(max(values[person] for person in query) == answer for query, answer in history):
            yield values


def enumerated(history, query, people, grid, *, distinct=False):
    """True = answer: no grid answer to the query is consistent and determines somebody above the grid's floor."""
    floor, seen = min(grid), {}
    for values in worlds(history, people, grid):
        if distinct and len(set(values)) < people:
            continue
        found = seen.setdefault(max(values[person] for person in query), [set() for _ in range(people)])
        for person, value in enumerate(values):
            found[person].add(value)
    return not any(len(found) == 1 and min(found) > floor for everybody in seen.values() for found in everybody)
