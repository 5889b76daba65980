"""MINIMIZE1: the minimum probability that none of h well chosen atoms is true inside one bucket.

Everything here is exact. A bucket of ``n`` people whose values occur ``counts`` times (descending) is represented by
its key: ``n`` and the top counts. With ``F(q)`` people holding the ``q`` most frequent values, assigning person ``i``
the ``q`` most frequent values as atoms multiplies the probability by ``(n - i - F(q)) / (n - i)``, and an attacker
distributes atoms in a *profile* ``k_0 >= k_1 >= ...``.

Source: [Martin2007]; corrected: numerators are clamped at 0 and people beyond the last are not used; the printed form
divides by zero on small buckets.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache

CACHED_TABLES = 1 << 14


def atom_table(size: int, counts: tuple[int, ...], atoms: int) -> AtomTable:
    """The table for 0..``atoms`` atoms in a bucket of ``size`` people; buckets with equal keys share it."""
    return _cached(size, counts[:atoms], min(len(counts), atoms + 1), atoms)


@lru_cache(maxsize=CACHED_TABLES)
def _cached(size: int, top: tuple[int, ...], distinct: int, atoms: int) -> AtomTable:
    return AtomTable(size, top, distinct, atoms)


@dataclass(frozen=True)
class AtomTable:
    """M[h] for h = 0..``atoms`` of one key, with the profile that reaches each.

    ``top`` holds at most ``atoms`` counts, descending; ``distinct`` is the number of different values, or any number above ``atoms`` if
    there are more than that.

    >>> [str(AtomTable(5, (2, 1, 1, 1), 4, 4).least(h)) for h in range(5)]
    ['1', '3/5', '3/10', '1/10', '0']
    >>> AtomTable(5, (2, 1, 1, 1), 4, 4).profile(3)
    (1, 1, 1)
    """

    size: int
    top: tuple[int, ...]
    distinct: int
    atoms: int
    _known: dict[int, Fraction] = field(default_factory=dict, compare=False, repr=False)
    _chosen: dict[tuple[int, int, int], tuple[int, int]] = field(default_factory=dict, compare=False, repr=False)

    def least(self, atoms: int) -> Fraction:
        """Return the minimum probability that none of ``atoms`` well chosen atoms "person i has value s" is true."""
        if atoms not in self._known:
            self._known[atoms] = Fraction(self._numerators[atoms], self._denominator)
        return self._known[atoms]

    def holding(self, atoms: int) -> Fraction:
        """The minimum ratio Pr(no atom holds) / Pr(A) with A and ``atoms`` more atoms in this bucket."""
        return self.least(atoms + 1) * Fraction(self.size, self.top[0])

    def profile(self, atoms: int) -> tuple[int, ...]:
        """The number of atoms of each person at the minimum; ties go to the fewest people, then to the most atoms on the
        first.

        More atoms than values give certainty about one person, and the surplus is padding.
        """
        if atoms == 0:
            return ()
        if atoms >= self.distinct:
            return (atoms,)
        shape: list[int] = []
        person, largest_share, atoms_left = 0, atoms, atoms
        while atoms_left:
            share = self._choices(person, largest_share, atoms_left)[1]
            shape.append(share)
            person, largest_share, atoms_left = person + 1, share, atoms_left - share
        return tuple(shape)

    def people(self, atoms: int) -> int:
        """The number of people in the profile."""
        return len(self.profile(atoms))

    @cached_property
    def _persons(self) -> int:
        return min(self.size, self.atoms)

    @cached_property
    def _covered(self) -> list[int]:
        """Return F(q) for q = 0..atoms: how many people have one of the q most frequent values; all of them if there
        are no more values.
        """
        covered = [0]
        for rank in range(self.atoms):
            covered.append(covered[-1] + self.top[rank] if rank < len(self.top) else self.size)
        return covered

    @cached_property
    def _left_over(self) -> list[int]:
        """Return for i = 0, 1, ... the product of (size - j) over persons j >= i: the common denominator of their
        factors, so that integers stay integers until the very end.
        """
        products = [1]
        for person in reversed(range(self._persons)):
            products.append(products[-1] * (self.size - person))
        return products[::-1]

    @property
    def _denominator(self) -> int:
        return self._left_over[0]

    @cached_property
    def _numerators(self) -> list[int]:
        *_, last = self._steps()
        return [row[0] for row in last]

    @cached_property
    def _layers(self) -> list[list[list[int]]]:
        """``_layers[u][r][i]``: the numerator of g(i, u, r), persons i.. with at most u atoms each and r to assign."""
        return [[row[:] for row in layer] for layer in self._steps()]

    def _steps(self) -> Iterator[list[list[int]]]:
        """Yield the table of g(i, u, r), as ``layer[r][i]``, for u = 0..atoms; updated in place.

        g is the least numerator of the probability that r atoms are all false if persons i, i + 1, ... get at most u
        atoms each: ``g(i, u, r) = min(g(i, u-1, r), f(i, u) g(i+1, u, r-u))`` with ``f(i, u) = size - i - (people with
        one of the u most frequent values)``. Only states with ``i u + r <= atoms`` are used, and for those an atom can
        always be assigned by u = 1.
        """
        atoms, persons = self.atoms, self._persons
        layer = [self._left_over + [1] * (atoms + 2 - len(self._left_over))]
        layer += [[0] * (atoms + 2) for _ in range(atoms)]
        yield layer
        for largest_share in range(1, atoms + 1):
            factor = [max(0, self.size - i - self._covered[largest_share]) for i in range(persons)]
            for atoms_left in range(largest_share, atoms + 1):
                row, source = layer[atoms_left], layer[atoms_left - largest_share]
                for person in range(min(persons, (atoms - atoms_left) // largest_share + 1)):
                    value = factor[person] * source[person + 1]
                    if largest_share == 1 or value < row[person]:
                        row[person] = value
            yield layer

    def _choices(self, person: int, largest_share: int, atoms_left: int) -> tuple[int, int]:
        """Return (fewest people, atoms of the first of them) over all optimal ways to assign ``atoms_left`` atoms to
        ``person`` and later ones.

        Each person gets at most ``largest_share`` atoms.
        """
        if atoms_left == 0:
            return 0, 0
        largest_share = min(largest_share, atoms_left)
        state = person, largest_share, atoms_left
        if state in self._chosen:
            return self._chosen[state]
        best: tuple[int, int] | None = None
        value = self._layers[largest_share][atoms_left][person]
        for share in range(largest_share, 0, -1):
            remainder = self._layers[min(share, atoms_left - share)][atoms_left - share][person + 1]
            if (self.size - person - self._covered[share]) * remainder == value:
                people = 1 + self._choices(person + 1, share, atoms_left - share)[0]
                if best is None or people < best[0]:
                    best = people, share
        assert best is not None, "an optimal profile always exists"
        self._chosen[state] = best
        return best
