"""All worlds of a panel whose rows show a group of people and a wave: brute force over every way to give records to people, wave by wave.

A record is ``(group, wave, cells, value)``: the set of raw values that it may stand for in each quasi column, and a sensitive value that is the same in all rows of a person. The
adversary knows the raw values of everybody at every wave, and that all rows of a person are in one group.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import permutations, product
from typing import NamedTuple


class Record(NamedTuple):
    group: int
    wave: int
    cells: tuple[frozenset, ...]
    value: str


def worlds(people: Sequence[Mapping[int, tuple]], records: Sequence[Record]) -> Iterator[list[dict[int, Record]]]:
    """Every world: for each person the record of each wave. People are given by their raw values at each of their waves."""
    waves = sorted({record.wave for record in records})
    ways = []
    for wave in waves:
        known = [person for person, values in enumerate(people) if wave in values]
        there = [record for record in records if record.wave == wave]
        ways.append(
            [
                dict(zip(known, chosen, strict=True))
                for chosen in permutations(there)
                if all(_fits(people[person][wave], record) for person, record in zip(known, chosen, strict=True))
            ]
        )
    for chosen in product(*ways):
        world: list[dict[int, Record]] = [{} for _ in people]
        for wave, given in zip(waves, chosen, strict=True):
            for person, record in given.items():
                world[person][wave] = record
        if all(len({(record.group, record.value) for record in mine.values()}) == 1 for mine in world):
            yield world


def _fits(values: tuple, record: Record) -> bool:
    return all(value in cell for value, cell in zip(values, record.cells, strict=True))


def beliefs(people: Sequence[Mapping[int, tuple]], records: Sequence[Record]) -> list[dict[str, Fraction]]:
    """For each person the chance of each value."""
    counts: list[Counter[str]] = [Counter() for _ in people]
    total = 0
    for world in worlds(people, records):
        total += 1
        for person, mine in enumerate(world):
            counts[person][next(iter(mine.values())).value] += 1
    return [{value: Fraction(count, total) for value, count in each.items()} for each in counts]
