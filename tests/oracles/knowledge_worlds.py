"""Every world of a tiny release as one bit of an integer: beliefs by counting bits, worst facts by trying them all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import reduce
from itertools import combinations, combinations_with_replacement, product

Atom = tuple[int, int, int]
"""(bucket, person in the bucket, value)."""


def arrangements(counts: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The distinct orders of a bucket's values."""
    if not sum(counts):
        return [()]
    found = []
    for value, count in enumerate(counts):
        if count:
            rest = (*counts[:value], count - 1, *counts[value + 1 :])
            found += [(value, *order) for order in arrangements(rest)]
    return found


class Worlds:
    """All worlds of a few buckets. ``mask[atom]`` has a bit for every world in which the atom holds."""

    def __init__(self, histograms: list[tuple[int, ...]]) -> None:
        self.worlds = list(product(*(arrangements(counts) for counts in histograms)))
        self.everything = (1 << len(self.worlds)) - 1
        self.atoms: list[Atom] = [
            (bucket, person, value)
            for bucket, counts in enumerate(histograms)
            for person in range(sum(counts))
            for value in range(len(counts))
        ]
        self.mask = {
            (bucket, person, value): sum(
                1 << number for number, world in enumerate(self.worlds) if world[bucket][person] == value
            )
            for bucket, person, value in self.atoms
        }

    def implication(self, given: Iterable[Atom], then: Iterable[Atom]) -> int:
        """Worlds in which the implication holds."""
        left = reduce(int.__and__, (self.mask[atom] for atom in given), self.everything)
        right = reduce(int.__or__, (self.mask[atom] for atom in then), 0)
        return self.everything & (~left | right)

    def belief(self, known: int, asked: int) -> Fraction | None:
        """The share of the known worlds in which the asked ones lie."""
        return Fraction((known & asked).bit_count(), known.bit_count()) if known else None

    def risk(self, known: int) -> Fraction:
        """The surest atom given what is known."""
        return max(Fraction((known & self.mask[atom]).bit_count(), known.bit_count()) for atom in self.atoms)

    def worst(self, clauses: Iterable[int], k: int) -> Fraction:
        """The greatest risk over all consistent conjunctions of up to ``k`` clauses."""
        single = set(clauses) | {self.everything}
        reached = {self.everything}
        for _ in range(k):
            reached = {before & clause for before in reached for clause in single} - {0}
        return max(map(self.risk, reached))

    def simple(self) -> Iterator[int]:
        """All simple implications, antecedent and consequent free."""
        return (self.implication([given], [then]) for given in self.atoms for then in self.atoms)

    def basic(self, most: int) -> Iterator[int]:
        """All basic implications with at most ``most`` atoms on either side."""
        sides = [side for size in range(1, most + 1) for side in combinations(self.atoms, size)]
        left = {reduce(int.__and__, (self.mask[atom] for atom in side)) for side in sides}
        right = {reduce(int.__or__, (self.mask[atom] for atom in side)) for side in sides}
        return (self.everything & (~given | then) for given in left for then in right)

    def negations(self) -> Iterator[int]:
        """All negated atoms."""
        return (self.everything & ~self.mask[atom] for atom in self.atoms)


def least_chance(counts: tuple[int, ...], atoms: int) -> Fraction:
    """The smallest chance that none of ``atoms`` atoms (repeats allowed) about one bucket holds, by trying them all."""
    worlds = Worlds([counts])
    best = len(worlds.worlds)
    for chosen in combinations_with_replacement(sorted(set(worlds.mask.values())), atoms):
        some = reduce(int.__or__, chosen, 0)
        best = min(best, (worlds.everything & ~some).bit_count())
    return Fraction(best, len(worlds.worlds))


def histograms_of_size(people: int) -> Iterator[tuple[int, ...]]:
    """All ways to share ``people`` among values, falling: the partitions of a number."""

    def parts(left: int, most: int) -> Iterator[tuple[int, ...]]:
        if not left:
            yield ()
        for first in range(min(left, most), 0, -1):
            yield from ((first, *rest) for rest in parts(left - first, first))

    return parts(people, people)
