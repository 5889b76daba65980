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
    """Indices of equal fractions together, the smallest first.

    Floats only guess the order; cross-multiplication decides it.
    """
    left = np.arange(len(numerators))
    while len(left):
        parts, wholes = numerators[left], denominators[left]
        place = int(np.argmin((parts / wholes).astype(np.float64)))
        while True:
            part, whole = int(parts[place]), int(wholes[place])
            ours, theirs = _times(parts, whole), _times(wholes, part)
            smaller = np.flatnonzero(ours < theirs)
            if len(smaller) == 0:
                break
            place = int(smaller[len(smaller) // 2])
        equal = (ours == theirs).astype(bool)
        yield left[equal].tolist()
        left = left[~equal]


def least_chances_exactly(sizes: Integers, top: Integers) -> tuple[WholeNumbers, WholeNumbers]:
    """M_b[h] for h = len(top) as (numerators, denominators), for buckets with more than h different values.

    The recursion of :class:`reticent.worst_case.minimize1.AtomTable` for many buckets at once.
    """
    atoms = len(top)
    fits = int(sizes.max()) ** atoms < _ROOM
    there = [_wide(sizes - person, fits) for person in range(atoms)]
    covered = [_wide(row, fits) for row in np.cumsum(top, axis=0)]
    placed: list[dict[int, WholeNumbers]] = [{} for _ in range(atoms + 1)]
    placed[0][atoms] = _wide(np.ones(len(sizes), dtype=np.int64), fits)
    for person in reversed(range(atoms)):
        placed[0][person] = placed[0][person + 1] * there[person]
    for most in range(1, atoms + 1):
        for left in range(most, atoms + 1):
            for person in range((atoms - left) // most + 1):
                value = (there[person] - covered[most - 1]) * placed[left - most][person + 1]
                before = placed[left].get(person)
                placed[left][person] = value if before is None else np.minimum(before, value)
    return placed[atoms][0], placed[0][0]


def _wide(values: Integers, fits: bool) -> WholeNumbers:
    return values if fits else values.astype(object)


def _times(values: WholeNumbers, factor: int) -> WholeNumbers:
    """``values * factor`` without overflow."""
    if values.dtype != object and int(values.max()) * factor < _ROOM:
        return values * np.int64(factor)
    return values.astype(object) * factor
