"""Exact values numbered by small integers that compare fast: the answers to maximum queries."""

from __future__ import annotations

import bisect
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

NO_BOUND = 0


class NumberedValues:
    """Numbers of exact values; ``rank`` maps a number to the rank of its value. Number 0 is infinity.

    The number of a value never changes; its rank does when smaller values arrive. So per-person arrays hold numbers.
    """

    def __init__(self) -> None:
        self._numbers: dict[Fraction, int] = {}
        self._sorted: list[Fraction] = []
        self.rank: NDArray[np.int64] = np.zeros(1, dtype=np.int64)

    def find(self, value: Fraction) -> int | None:
        """Return the number of a known value; None if it is new."""
        return self._numbers.get(value)

    def below(self, value: Fraction) -> int:
        """Return how many known values are smaller."""
        return bisect.bisect_left(self._sorted, value)

    def add(self, value: Fraction) -> int:
        """Return the number of ``value``, assigning the next one if it is new; numbers never change, ``rank`` orders
        them by value.
        """
        number = self._numbers.get(value)
        if number is not None:
            return number
        position = self.below(value)
        self._sorted.insert(position, value)
        self.rank = np.append(self.rank + (self.rank >= position), position)
        return self._numbers.setdefault(value, len(self.rank) - 1)
