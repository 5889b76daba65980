"""All worlds of a release whose rows belong to people with several rows each: brute force over every way to give published records to known rows.

A row is ``(owner, cell, value)``. The adversary knows owner and cell of every row (a register of all rows of all people), and sees in every cell the values of its
records. A world gives the records of each cell to the known rows of that cell, one to one. Where values are static, only worlds in which all records of an owner
have the same value remain. At most about eight rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, permutations, product

Row = tuple[str, int, str]
World = tuple[tuple[str, int], ...]
"""For every record its owner, in the order of the records."""


def worlds(rows: Sequence[Row], *, static: bool) -> Iterator[dict[int, str]]:
    """Every world: the owner of each record, by the record's place."""
    cells: dict[int, list[int]] = {}
    for place, (_, cell, _) in enumerate(rows):
        cells.setdefault(cell, []).append(place)
    for chosen in product(*(permutations(places) for places in cells.values())):
        world = {
            record: rows[known][0]
            for places, records in zip(cells.values(), chosen, strict=True)
            for known, record in zip(places, records, strict=True)
        }
        if not static or _one_value_each(rows, world):
            yield world


def _one_value_each(rows: Sequence[Row], world: dict[int, str]) -> bool:
    values: dict[str, set[str]] = {}
    for record, owner in world.items():
        values.setdefault(owner, set()).add(rows[record][2])
    return all(len(each) == 1 for each in values.values())


def chance_of_owner(rows: Sequence[Row], owner: str) -> list[Fraction]:
    """For every record the chance that it is the owner's."""
    hits, total = Counter[int](), 0
    for world in worlds(rows, static=False):
        total += 1
        hits.update(record for record, whose in world.items() if whose == owner)
    return [Fraction(hits[record], total) for record in range(len(rows))]


def belief(rows: Sequence[Row], owner: str, *, static: bool) -> tuple[dict[str, Fraction], int]:
    """The chance that some record of the owner has a value, for each value, and the number of worlds."""
    hits, total = Counter[str](), 0
    for world in worlds(rows, static=static):
        total += 1
        hits.update({rows[record][2] for record, whose in world.items() if whose == owner})
    return {value: Fraction(count, total) for value, count in hits.items()}, total


def belief_from_own_rows(rows: Sequence[Row], owner: str) -> dict[str, Fraction]:
    """The same for an adversary who knows the owner's rows only, where values are static: any choice of as many records of one value in her cells is as likely."""
    known = Counter(cell for whose, cell, _ in rows if whose == owner)
    ways = Counter[str]()
    for value in {row[2] for row in rows}:
        records = {cell: [place for place, row in enumerate(rows) if row[1:] == (cell, value)] for cell in known}
        ways[value] = sum(1 for _ in product(*(combinations(records[cell], many) for cell, many in known.items())))
    total = sum(ways.values())
    return {value: Fraction(count, total) for value, count in ways.items() if count}


def sharing_profile(rows: Sequence[Row], known: Counter[int]) -> set[str]:
    """The owners whose rows contain, cell by cell, as many as are known."""
    profiles: dict[str, Counter[int]] = {}
    for owner, cell, _ in rows:
        profiles.setdefault(owner, Counter())[cell] += 1
    return {owner for owner, profile in profiles.items() if all(profile[cell] >= many for cell, many in known.items())}
