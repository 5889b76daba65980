"""Exact values as small integers that can be compared: the answers that maxima were given."""

from __future__ import annotations

import bisect
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

NO_BOUND = 0


class NumberedValues:
    """Numbers for exact values; ``rank`` puts the numbers in the order of their values. Number 0 is infinity.

    A value's number never changes, its rank does when smaller values arrive. So arrays of people hold numbers.
    """

    def __init__(self) -> None:
        self._numbers: dict[Fraction, int] = {}
        self._sorted: list[Fraction] = []
        self.rank: NDArray[np.int64] = np.zeros(1, dtype=np.int64)

    def find(self, value: Fraction) -> int | None:
        """The number of a value met before."""
        return self._numbers.get(value)

    def below(self, value: Fraction) -> int:
        """How many values met so far are smaller."""
        return bisect.bisect_left(self._sorted, value)

    def add(self, value: Fraction) -> int:
        """The number of ``value``, from now on if it is new."""
        known = self._numbers.get(value)
        if known is not None:
            return known
        place = self.below(value)
        self._sorted.insert(place, value)
        self.rank = np.append(self.rank + (self.rank >= place), place)
        return self._numbers.setdefault(value, len(self.rank) - 1)
