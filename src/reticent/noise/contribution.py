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
        """The L1 sensitivity and the squared L2 sensitivity to ``rows`` records of one unit.

        Added or removed, they move the numbers of a level by at most ``rows`` times the largest contribution in all, so by at most as much in Euclidean distance. Replaced, each takes its contribution
        away and adds another: to another number (twice the sum, twice the squared distance), or to the same one, which then moves from one end to the other.
        """
        most = rows * max(abs(self.low), abs(self.high))
        if relation == "add/remove":
            return Fraction(self.levels * most), Fraction(self.levels * most**2)
        low, high = (min(self.low, 0), max(self.high, 0)) if self.optional else (self.low, self.high)
        same = rows * (high - low)
        if self.single:
            return Fraction(self.levels * same), Fraction(self.levels * same**2)
        return Fraction(self.levels * 2 * most), Fraction(self.levels * max(2 * most**2, same**2))
