"""Flows row by row: shares, average distances and counts, without arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import asin, cos, radians, sin, sqrt

Pair = tuple[str, str]


def total_variation(one: Sequence[Pair], other: Sequence[Pair]) -> Fraction:
    first, second = Counter(one), Counter(other)
    return (
        sum(
            (abs(Fraction(first[key], len(one)) - Fraction(second[key], len(other))) for key in {*first, *second}),
            Fraction(0),
        )
        / 2
    )


def kilometres(one: tuple[float, float], other: tuple[float, float]) -> float:
    latitudes, longitudes = [radians(each[0]) for each in (one, other)], [radians(each[1]) for each in (one, other)]
    slope = sin((latitudes[1] - latitudes[0]) / 2) ** 2
    slope += cos(latitudes[0]) * cos(latitudes[1]) * sin((longitudes[1] - longitudes[0]) / 2) ** 2
    return 2 * 6371.0088 * asin(sqrt(slope))


def averages(rows: Sequence[Pair], places: Mapping[str, tuple[float, float]], below: float | None) -> dict[str, float]:
    """The average distance of each group's rows, where it has some."""
    lists: dict[str, list[float]] = {}
    for group, value in rows:
        distance = kilometres(places[group], places[value])
        if below is None or distance < below:
            lists.setdefault(group, []).append(distance)
    return {group: sum(each) / len(each) for group, each in lists.items()}
