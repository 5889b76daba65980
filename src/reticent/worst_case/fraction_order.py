"""Exact order of many fractions at once: integer arrays, in 64 bits if they fit and in Python integers otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from reticent.worst_case.histogram_buckets import Integers

WholeNumbers: TypeAlias = NDArray[Any]
"""64-bit integers, or objects that are Python integers."""

_ROOM = 1 << 62


def ascending(numerators: WholeNumbers, denominators: WholeNumbers) -> Iterator[list[int]]:
    """Yield the indices of the fractions in ascending order, those of equal fractions together.

    Floats only guess the order; cross-multiplication decides it.
    """
    pending = np.arange(len(numerators))
    while len(pending):
        tops, bottoms = numerators[pending], denominators[pending]
        candidate = int(np.argmin((tops / bottoms).astype(np.float64)))
        while True:
            top, bottom = int(tops[candidate]), int(bottoms[candidate])
            cross_left, cross_right = _times(tops, bottom), _times(bottoms, top)
            smaller = np.flatnonzero(cross_left < cross_right)
            if len(smaller) == 0:
                break
            candidate = int(smaller[len(smaller) // 2])
        equal = (cross_left == cross_right).astype(bool)
        yield pending[equal].tolist()
        pending = pending[~equal]


def least_chances_exactly(sizes: Integers, top: Integers) -> tuple[WholeNumbers, WholeNumbers]:
    """Return the minimum probability, per bucket, that none of h = len(top) well chosen atoms "person i has value s" is
    true, as (numerators, denominators).

    ``top`` has the count of the most frequent value of each bucket in row 0, and so on; buckets must have more than h
    values. The recursion is that of :class:`reticent.worst_case.minimize1.AtomTable`, for many buckets at once.
    """
    atoms = len(top)
    fits = int(sizes.max()) ** atoms < _ROOM
    remaining_people = [_wide(sizes - person, fits) for person in range(atoms)]
    covered = [_wide(row, fits) for row in np.cumsum(top, axis=0)]
    placed: list[dict[int, WholeNumbers]] = [{} for _ in range(atoms + 1)]
    placed[0][atoms] = _wide(np.ones(len(sizes), dtype=np.int64), fits)
    for person in reversed(range(atoms)):
        placed[0][person] = placed[0][person + 1] * remaining_people[person]
    for largest_share in range(1, atoms + 1):
        for atoms_used in range(largest_share, atoms + 1):
            for person in range((atoms - atoms_used) // largest_share + 1):
                value = (remaining_people[person] - covered[largest_share - 1]) * placed[atoms_used - largest_share][
                    person + 1
                ]
                previous = placed[atoms_used].get(person)
                placed[atoms_used][person] = value if previous is None else np.minimum(previous, value)
    return placed[atoms][0], placed[0][0]


def _wide(values: Integers, fits: bool) -> WholeNumbers:
    return values if fits else values.astype(object)


def _times(values: WholeNumbers, factor: int) -> WholeNumbers:
    """``values * factor`` without overflow."""
    if values.dtype != object and int(values.max()) * factor < _ROOM:
        return values * np.int64(factor)
    return values.astype(object) * factor
