"""Twins of the sharing: decoding by trying every set of points, and dealing as it was printed, without the check of 7.1."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations


def value_at(points: Sequence[int], values: Sequence[int], at: int, prime: int) -> int:
    """The polynomial through all points, at another one."""
    total = 0
    for one, value in zip(points, values, strict=True):
        above = below = 1
        for other in points:
            if other != one:
                above, below = above * (at - other) % prime, below * (one - other) % prime
        total += value * above * pow(below, -1, prime)
    return total % prime


def decoded(
    points: Sequence[int], values: Sequence[int], degree: int, agreeing: int, prime: int
) -> tuple[int, list[int]] | None:
    """The value at zero of a polynomial that at least ``agreeing`` points lie on, and the points off it; None if there is none."""
    for chosen in combinations(range(len(points)), degree + 1):
        some, known = [points[i] for i in chosen], [values[i] for i in chosen]
        off = [x for x, y in zip(points, values, strict=True) if value_at(some, known, x, prime) != y]
        if len(points) - len(off) >= agreeing:
            return value_at(some, known, 0, prime), off
    return None


def printed_vote(holder: int, parts: dict[int, tuple[Sequence[int], Sequence[int]]], prime: int) -> bool:
    """Whether a holder finds nothing wrong by the checks as printed: f_i(j) = g_j(i) and g_i(j) = f_j(i) for all *other* holders j."""
    rows, columns = parts[holder]
    for other, (their_rows, their_columns) in parts.items():
        if other == holder:
            continue
        if _at(rows, other, prime) != _at(their_columns, holder, prime):
            return False
        if _at(columns, other, prime) != _at(their_rows, holder, prime):
            return False
    return True


def on_one_polynomial(shares: dict[int, int], degree: int, prime: int) -> bool:
    """Whether shares lie on a polynomial of the degree."""
    points = sorted(shares)
    base = points[: degree + 1]
    return all(value_at(base, [shares[i] for i in base], x, prime) == shares[x] for x in points)


def _at(coefficients: Sequence[int], point: int, prime: int) -> int:
    return sum(int(c) * point**k for k, c in enumerate(coefficients)) % prime
