"""BCF-anonymity and m-Distinct by listing every matching: rows and sets in plain Python, nothing of ``reticent``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from typing import Any

Row = tuple[int, int]
"""A group and a value."""
Boxes = Sequence[tuple[float, float]]


def matchings(first: Sequence[Row], second: Sequence[Row], boxes1: Boxes, boxes2: Boxes) -> Iterator[tuple[int, ...]]:
    """All ways in which every row of the first release is another row of the second, with its value and an overlapping box."""

    def fits(one: Row, other: Row) -> bool:
        (low, high), (down, up) = boxes1[one[0]], boxes2[other[0]]
        return one[1] == other[1] and low <= up and down <= high

    for chosen in permutations(range(len(second)), len(first)):
        if all(fits(row, second[place]) for row, place in zip(first, chosen, strict=True)):
            yield chosen


def bcf(
    first: Sequence[Row],
    second: Sequence[Row],
    boxes1: Boxes,
    boxes2: Boxes,
    pairs: Sequence[tuple[int, int]],
    new: Sequence[int],
) -> tuple[int, int | None]:
    """The least numbers of rows that can be the victim's at the same time: of those in both releases, and of newcomers."""
    through = dict.fromkeys(pairs, 0)
    unmatched = dict.fromkeys(new, 0)
    for chosen in matchings(first, second, boxes1, boxes2):
        for one, other in pairs:
            count = sum(row[0] == one and second[place][0] == other for row, place in zip(first, chosen, strict=True))
            through[one, other] = max(through[one, other], count)
        for group in new:
            free = sum(row[0] == group and place not in chosen for place, row in enumerate(second))
            unmatched[group] = max(unmatched[group], free)
    return min(through.values()), min(unmatched.values(), default=None)


def least_left(
    months: Sequence[Sequence[tuple[Sequence[Any], Sequence[int]]]], updates: Mapping[int, Sequence[int]]
) -> int:
    """The size of the smallest candidate set after propagation; months are lists of groups (members, values)."""
    left = {
        (place, person): set(shown)
        for place, groups in enumerate(months)
        for members, shown in groups
        for person in members
    }
    before: dict[Any, set[int]] = {}
    while before != left:
        before = {key: set(values) for key, values in left.items()}
        for place, groups in enumerate(months):
            for members, shown in groups:
                ways = [
                    way
                    for way in permutations(shown, len(members))
                    if all(value in left[place, person] for person, value in zip(members, way, strict=True))
                ]
                for number, person in enumerate(members):
                    left[place, person] &= {way[number] for way in ways}
        for (place, person), values in left.items():
            after = left.get((place + 1, person))
            if after is not None:
                after &= {target for value in values for target in updates.get(value, (value,))}
                values &= {value for value in values if after & set(updates.get(value, (value,)))}
    return min(len(values) for values in left.values())
