"""What somebody concludes who knows a randomized grouping method, by going through every table and every draw.

A world says who has which value; all worlds with the published number of each value are equally likely beforehand. The method is run in each of them
with every possible outcome of its draws, and the worlds are weighed by how likely they make what was published (Bayes).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import permutations
from math import factorial
from typing import Any

import numpy as np

Release = Hashable
World = tuple[int, ...]


@dataclass
class Coins:
    """Stands for the operating system's randomness, and goes through all of its outcomes, one run after the other."""

    script: list[int] = field(default_factory=list)
    sides: list[int] = field(default_factory=list)
    is_secure: bool = True
    in_file_order: bool = False

    def order(self, count: int) -> Any:
        """One of the orders of ``count`` things."""
        if self.in_file_order:
            return np.arange(count)
        left, number, found = list(range(count)), self._thrown(factorial(count)), []
        for size in range(count, 0, -1):
            number, place = divmod(number, size)
            found.append(left.pop(place))
        return np.array(found, dtype=np.int64)

    def integers(self, bound: int, count: int) -> Any:
        """Some numbers below a bound."""
        return np.array([self._thrown(bound) for _ in range(count)])

    def _thrown(self, sides: int) -> int:
        place = len(self.sides)
        self.sides.append(sides)
        if place == len(self.script):
            self.script.append(0)
        return self.script[place]

    @property
    def chance(self) -> Fraction:
        """How likely the draws of this run were."""
        return Fraction(1, int(np.prod([float(each) for each in self.sides]))) if self.sides else Fraction(1)

    def following(self) -> Coins | None:
        """The next outcome; None after the last."""
        script = self.script[: len(self.sides)]
        while script:
            script[-1] += 1
            if script[-1] < self.sides[len(script) - 1]:
                return Coins(script, in_file_order=self.in_file_order)
            script.pop()
        return None


def runs(method: Callable[[World, Coins], Release], world: World, first: Coins) -> Iterator[tuple[Release, Fraction]]:
    """What the method publishes in a world, with the probability of each run."""
    coins: Coins | None = Coins(in_file_order=first.in_file_order)
    while coins is not None:
        release = method(world, coins)
        yield release, coins.chance
        coins = coins.following()


def largest_beliefs(
    method: Callable[[World, Coins], Release], world: World, *, in_file_order: bool = False
) -> dict[Release, Fraction]:
    """For every release that the table may give, the largest probability of a value of somebody, to whoever knows the method."""
    coins, worlds = Coins(in_file_order=in_file_order), sorted(set(permutations(world)))
    chances: dict[Release, dict[World, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
    for each in worlds:
        total = Fraction(0)
        for release, chance in runs(method, each, coins):
            chances[release][each] += chance
            total += chance
        assert total == 1
    return {release: _largest(found, len(world)) for release, found in chances.items() if world in found}


def _largest(found: dict[World, Fraction], people: int) -> Fraction:
    whole = sum(found.values(), Fraction(0))
    shares: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
    for world, chance in found.items():
        for person in range(people):
            shares[person, world[person]] += chance / whole
    return max(shares.values())


def as_published(bucket: Sequence[int], world: World) -> Release:
    """What two tables show: which people share a bucket, and which values it has."""
    people: dict[int, list[int]] = defaultdict(list)
    for person, number in enumerate(bucket):
        people[number].append(person)
    return frozenset((tuple(who), tuple(sorted(world[person] for person in who))) for who in people.values())
