"""Who is determined by a session over a table that changes: from the definitions, with no code of src.

A variable is any hashable name of one value of one person. What everybody knows: the answered questions, and which variables differ
(two values of one person; in a distinct column also two values that were in the table together).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator
from fractions import Fraction

from .audit_sums import reduced

Variable = Hashable
Answered = tuple[frozenset[Variable], Fraction]


def echelon(rows: Iterable[frozenset[Variable]], names: list[Variable]) -> list[list[Fraction]]:
    """The reduced row echelon form of sets of variables as 0/1 rows."""
    return reduced([[int(name in row) for name in names] for row in rows])


def determined_by_sums(answered: Iterable[frozenset[Variable]]) -> set[Variable]:
    """The variables that are alone in a row of the reduced form: their value follows, whatever the answers are."""
    rows = list(answered)
    names = sorted(frozenset().union(*rows), key=repr)
    alone = ([name for name, entry in zip(names, row, strict=True) if entry] for row in echelon(rows, names))
    return {found[0] for found in alone if len(found) == 1}


def free_direction(
    answered: Iterable[frozenset[Variable]], everybody: Iterable[Variable], draw: Callable[[], int]
) -> dict[Variable, int]:
    """A random whole-number change of all values that changes no answered sum."""
    rows, names = list(answered), sorted(everybody, key=repr)
    reduced = echelon(rows, names)
    pivots = [next(place for place, entry in enumerate(row) if entry) for row in reduced]
    moved = [Fraction(0) if place in pivots else Fraction(draw()) for place in range(len(names))]
    for row, pivot in zip(reduced, pivots, strict=True):
        moved[pivot] = -sum(entry * moved[place] for place, entry in enumerate(row) if place != pivot)
    scale = 1
    for move in moved:
        scale *= (move * scale).denominator
    return {name: int(move * scale) for name, move in zip(names, moved, strict=True)}


def explanations(
    answered: Iterable[Answered], differ: Callable[[Variable, Variable], bool]
) -> Iterator[tuple[Fraction, list[frozenset[Variable]]]]:
    """For every answer that was given as a maximum: all sets of variables that may have exactly this value together."""
    rows = list(answered)
    for level in sorted({answer for _, answer in rows}):
        below = frozenset().union(*(members for members, answer in rows if answer < level))
        asked = [members - below for members, answer in rows if answer == level]
        names = sorted(frozenset().union(*asked), key=repr)
        found = []
        for size in range(1, len(names) + 1):
            for chosen in map(frozenset, itertools.combinations(names, size)):
                apart = not any(differ(*pair) for pair in itertools.combinations(chosen, 2))
                if apart and all(members & chosen for members in asked):
                    found.append(chosen)
        yield level, found


def determined_by_maxima(answered: Iterable[Answered], differ: Callable[[Variable, Variable], bool]) -> set[Variable]:
    """The variables that have the answered value in every explanation. A log without any explanation is an error."""
    determined: set[Variable] = set()
    for level, found in explanations(answered, differ):
        assert found, f"nothing explains the maximum {level}"
        determined |= frozenset.intersection(*found)
    return determined
