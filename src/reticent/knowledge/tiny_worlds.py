"""Every possible world of a tiny table, for knowledge that only a Python function can state.

Any predicate on tables is equivalent to as many basic implications as it excludes worlds.
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
    """Return the number of possible worlds: different assignments of the values in each bucket to its people."""
    return prod(
        factorial(population.size(bucket)) // prod(map(factorial, histogram.values()))
        for bucket, histogram in enumerate(population.histograms)
    )


def worlds(population: Population) -> Iterator[dict[str, str]]:
    """Yield every world once, as person -> value; a table with too many is a PolicyError."""
    world_count = number_of_worlds(population)
    if world_count > MOST_WORLDS:
        raise PolicyError(
            f"Knowledge given as a function needs an enumeration of all possible worlds, and this table has {world_count} of them (at most {MOST_WORLDS}). State the knowledge as facts such as 'Ed=flu -> Al=flu'."
        )
    members: list[list[str]] = [[] for _ in population.histograms]
    for person, bucket in sorted(population.bucket_of.items()):
        members[bucket].append(person)
    for bucket, bucket_people in enumerate(members):
        bucket_people += [
            f"person {number} of bucket {bucket}" for number in range(population.size(bucket) - len(bucket_people))
        ]
    arrangements = [list(_arrangements(dict(histogram))) for histogram in population.histograms]
    for chosen in product(*arrangements):
        yield {
            person: value
            for bucket_people, arrangement in zip(members, chosen, strict=True)
            for person, value in zip(bucket_people, arrangement, strict=True)
        }


def holds_in(world: World, clauses: Sequence[Clause]) -> bool:
    """True if all clauses are true in a world."""
    return all(
        any(world[atom.person] != atom.value for atom in clause.given)
        or any(world[atom.person] == atom.value for atom in clause.then)
        for clause in clauses
    )


def _arrangements(left: dict[str, int]) -> Iterator[tuple[str, ...]]:
    """Yield the distinct permutations of a multiset of values."""
    if not any(left.values()):
        yield ()
        return
    for value in sorted(left):
        if left[value]:
            left[value] -= 1
            for rest in _arrangements(left):
                yield (value, *rest)
            left[value] += 1
