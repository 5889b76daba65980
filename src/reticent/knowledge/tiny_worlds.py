"""Every world of a tiny table, for knowledge that only a Python function can state (F1).

Any predicate on tables is worth as many basic implications as there are worlds that it forbids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from math import factorial, prod
from typing import TypeAlias

from reticent.errors import PolicyError
from reticent.worst_case import Clause, Population

World: TypeAlias = Mapping[str, str]
Predicate: TypeAlias = Callable[[World], bool]

MOST_WORLDS = 500_000


def number_of_worlds(population: Population) -> int:
    """How many different worlds there are."""
    return prod(
        factorial(population.size(bucket)) // prod(map(factorial, histogram.values()))
        for bucket, histogram in enumerate(population.histograms)
    )


def worlds(population: Population) -> Iterator[dict[str, str]]:
    """Every world once, as person -> value; a table with too many is a PolicyError."""
    many = number_of_worlds(population)
    if many > MOST_WORLDS:
        raise PolicyError(
            f"A function as knowledge needs every world to be tried, and this table has {many} of them "
            f"(at most {MOST_WORLDS}). State the knowledge as facts such as 'Ed=flu -> Al=flu'."
        )
    members: list[list[str]] = [[] for _ in population.histograms]
    for person, bucket in sorted(population.bucket_of.items()):
        members[bucket].append(person)
    for bucket, named in enumerate(members):
        named += [f"somebody {number} of bucket {bucket}" for number in range(population.size(bucket) - len(named))]
    arrangements = [list(_arrangements(dict(histogram))) for histogram in population.histograms]
    for chosen in product(*arrangements):
        yield {
            person: value
            for named, arrangement in zip(members, chosen, strict=True)
            for person, value in zip(named, arrangement, strict=True)
        }


def holds_in(world: World, clauses: Sequence[Clause]) -> bool:
    """Whether all clauses are true in a world."""
    return all(
        any(world[atom.person] != atom.value for atom in clause.given)
        or any(world[atom.person] == atom.value for atom in clause.then)
        for clause in clauses
    )


def _arrangements(left: dict[str, int]) -> Iterator[tuple[str, ...]]:
    """The different orders of a multiset of values."""
    if not any(left.values()):
        yield ()
        return
    for value in sorted(left):
        if left[value]:
            left[value] -= 1
            for rest in _arrangements(left):
                yield (value, *rest)
            left[value] += 1
