"""The minimality attack by brute force: every permutation of values, and a publisher of its own. Shares no code with src."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction

Passes = Callable[[list[str]], bool]


def coarsenings(points: Sequence[int]) -> list[dict[int, object]]:
    """Ways to publish one column, the finest first: the value itself, the pair that it belongs to, nothing."""
    return [{point: point for point in points}, {point: point // 2 for point in points}, dict.fromkeys(points, "*")]


def published(points: Sequence[int], values: Sequence[str], passes: Passes) -> int | None:
    """The finest way whose groups all pass."""
    for number, coarse in enumerate(coarsenings(points)):
        groups: dict[object, list[str]] = {}
        for point, value in zip(points, values, strict=True):
            groups.setdefault(coarse[point], []).append(value)
        if all(passes(group) for group in groups.values()):
            return number
    return None


def beliefs(points: Sequence[int], values: Sequence[str], passes: Passes) -> list[dict[str, Fraction]] | None:
    """For every person the chance of each value, over all worlds that are published in the same way with the same groups."""
    chosen = published(points, values, passes)
    if chosen is None:
        return None
    coarse = coarsenings(points)[chosen]
    places: dict[object, list[int]] = {}
    for person, point in enumerate(points):
        places.setdefault(coarse[point], []).append(person)
    found: list[Counter[str]] = [Counter() for _ in points]
    total = 0
    for parts in itertools.product(
        *(itertools.permutations([values[person] for person in inside]) for inside in places.values())
    ):
        world = list(values)
        for inside, part in zip(places.values(), parts, strict=True):
            for person, value in zip(inside, part, strict=True):
                world[person] = value
        if published(points, world, passes) == chosen:
            total += 1
            for person, value in enumerate(world):
                found[person][value] += 1
    return [{value: Fraction(count, total) for value, count in each.items()} for each in found]


def groups(points: Sequence[int], values: Sequence[str], passes: Passes) -> list[list[str]]:
    """For every person the values of the published group."""
    coarse = coarsenings(points)[published(points, values, passes) or 0]
    return [
        [value for point, value in zip(points, values, strict=True) if coarse[point] == coarse[mine]] for mine in points
    ]


def same_releases(
    people: int, values: Sequence[object], look: Callable[[list[object]], object | None], shown: object
) -> list[dict[object, Fraction]]:
    """For every person the chance of each value, over all ways to give people values that are published alike, whoever is left out.

    ``look`` says what would be published of some values, one a person; None where nothing can be.
    """
    found: list[Counter[object]] = [Counter() for _ in range(people)]
    total = 0
    for world in itertools.product(values, repeat=people):
        if look(list(world)) == shown:
            total += 1
            for person, value in enumerate(world):
                found[person][value] += 1
    return [{value: Fraction(each[value], total) for value in values} for each in found]
