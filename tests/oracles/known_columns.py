"""Adversaries who know some columns, by enumeration: every set of columns, every cell, every way to link people with records. Shares no code with the product."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, permutations

Row = tuple[object, ...]
Relations = Sequence[tuple[tuple[int, ...], int]]


def closed(columns: tuple[int, ...], relations: Relations) -> tuple[int, ...]:
    """Columns by number, and all that follows from them."""
    known = list(columns)
    for _ in range(100):
        known += [
            target for sources, target in relations if target not in known and all(each in known for each in sources)
        ]
    return tuple(sorted(set(known)))


def sets_of_columns(width: int, most: int, relations: Relations = ()) -> Iterator[tuple[int, ...]]:
    """Every set of at most so many columns, closed."""
    for size in range(min(most, width) + 1):
        for chosen in combinations(range(width), size):
            yield closed(chosen, relations)


def cells(rows: Sequence[Row], columns: Sequence[int]) -> list[list[int]]:
    """Records, by number, with equal labels in some columns."""
    found: dict[Row, list[int]] = {}
    for place, row in enumerate(rows):
        found.setdefault(tuple(row[column] for column in columns), []).append(place)
    return list(found.values())


def failing(rows: Sequence[Row], most: int, passes: Callable[[list[int]], bool], relations: Relations = ()) -> set[int]:
    """The records in some cell, of some set of columns, that does not pass."""
    if not rows:
        return set()
    every = sets_of_columns(len(rows[0]), most, relations)
    return {record for chosen in every for cell in cells(rows, chosen) if not passes(cell) for record in cell}


def smallest(rows: Sequence[Row], most: int, relations: Relations = ()) -> int:
    """The fewest records of a cell."""
    return min(len(cell) for chosen in sets_of_columns(len(rows[0]), most, relations) for cell in cells(rows, chosen))


def worlds(
    people: Sequence[Row], labels: Sequence[Sequence[frozenset[object]]], columns: Sequence[int]
) -> list[tuple[int, ...]]:
    """All ways to give each person another record that fits her raw values in some columns: ``world[person]`` is her record."""
    return [
        world
        for world in permutations(range(len(labels)))
        if all(people[p][c] in labels[record][c] for p, record in enumerate(world) for c in columns)
    ]
