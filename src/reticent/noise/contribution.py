"""How far the records of one unit move the noisy numbers of a step: its sensitivity."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from reticent.base.privacy_cost import Relation


@dataclass(frozen=True)
class Contribution:
    """The contribution of one record to the numbers of a step: an integer from ``low`` to ``high``, added to one number on each of ``levels`` levels; possibly none if it is ``optional``.

    ``single`` is whether a level has one number only.
    """

    low: int = 0
    high: int = 1
    single: bool = False
    optional: bool = True
    levels: int = 1

    def moves(self, rows: int, relation: Relation) -> tuple[Fraction, Fraction]:
        """Return the L1 sensitivity and the squared L2 sensitivity of the numbers to ``rows`` records of one unit.

        Records that are added or removed change the numbers of a level by at most ``rows`` times the largest absolute
        contribution, in L1 and so in L2. A replaced record changes two numbers that much, or one number from one bound
        to the other.
        """
        largest_change = rows * max(abs(self.low), abs(self.high))
        if relation == "add/remove":
            return Fraction(self.levels * largest_change), Fraction(self.levels * largest_change**2)
        low, high = (min(self.low, 0), max(self.high, 0)) if self.optional else (self.low, self.high)
        change_of_one_number = rows * (high - low)
        if self.single:
            return Fraction(self.levels * change_of_one_number), Fraction(self.levels * change_of_one_number**2)
        return Fraction(self.levels * 2 * largest_change), Fraction(
            self.levels * max(2 * largest_change**2, change_of_one_number**2)
        )
