"""Near records and descriptions by going through every pair of rows in plain Python, with fractions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

Row = Mapping[str, Any]


def distance(one: Row, other: Row, columns: Sequence[str], lengths: Mapping[str, Fraction]) -> Fraction:
    """A category that differs adds one; a number (a column with a length) adds its share of the length, at most one; two missing values are alike."""
    total = Fraction(0)
    for name in columns:
        left, right = one[name], other[name]
        if left == right:
            continue
        if name in lengths and left is not None and right is not None:
            total += min(Fraction(1), abs(Fraction(left) - Fraction(right)) / lengths[name])
        else:
            total += 1
    return total


def nearest(person: Row, rows: Sequence[Row], columns: Sequence[str], lengths: Mapping[str, Fraction]) -> Fraction:
    return min(distance(person, each, columns, lengths) for each in rows)


def votes(
    person: Row, rows: Sequence[Row], columns: Sequence[str], column: str, lengths: Mapping[str, Fraction]
) -> set[Any]:
    """The values that most of the nearest rows have."""
    least = nearest(person, rows, columns, lengths)
    counted = Counter(each[column] for each in rows if distance(person, each, columns, lengths) == least)
    return {value for value, count in counted.items() if count == max(counted.values())}


def linked(
    person: Row, rows: Sequence[Row], one: Sequence[str], two: Sequence[str], lengths: Mapping[str, Fraction]
) -> bool:
    """Whether some row is the nearest by both sets of columns."""
    first, second = (nearest(person, rows, columns, lengths) for columns in (one, two))
    return any(
        distance(person, each, one, lengths) == first and distance(person, each, two, lengths) == second
        for each in rows
    )
