"""How much noise a group needs: the least prior weight whose outputs give somebody away with a chance of at most delta.

The noise of a value is ``scale`` times its public weight. An output is *representative* if no value occurs in it more than c (alpha_i + [n_i - 1]+) times, with
c = E - 1; no representative output distinguishes neighbours by more than E. How likely a value occurs more often is a tail of a beta-binomial law,
and a union bound over values gives the chance that an output is not representative, whatever the table.

Where values of nobody stay with a public probability f only (``keep``), an output is representative if a value with at most one person occurs at most
(E f/T - 1) alpha_i times, and one with x >= 2 people at most (E/T - 1) (alpha_i + x - 1) times; ``dropping`` proves it, and says what the ``charge`` T is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from reticent.methods.synthesize.beta_binomial import Floats, relative_error, tail_ceilings, upper_tails

_DIGITS = 10
_PROBLEMS_AT_ONCE = 1 << 18
_FEW_PEOPLE = 2048


@dataclass(frozen=True)
class WeightClass:
    """Values of one public weight that stay with one public probability if nobody has them: how many there are."""

    weight: int
    count: int
    keep: Fraction = Fraction(1)


@dataclass(frozen=True)
class RequiredNoise:
    """What one group needs: ``size`` people of which ``drawn`` are drawn, over classes of values, within ``ratio`` but for the chance ``delta``.

    ``total`` is the weight that all values have together, at least: with dropped values that of those that stay. ``charge`` is what dropping costs of the ratio
    besides the probabilities of the classes; 1 if nothing is dropped.
    """

    size: int
    drawn: int
    classes: tuple[WeightClass, ...]
    total: int
    ratio: Fraction
    delta: Fraction
    charge: Fraction = Fraction(1)

    @property
    def excess(self) -> Fraction:
        """c = E/T - 1, for values with two people or more; E - 1 if nothing is dropped."""
        return self.ratio / self.charge - 1

    @cached_property
    def excesses(self) -> tuple[Fraction, ...]:
        """E f/T - 1 of each class, for values with one person or nobody."""
        return tuple(self.ratio * each.keep / self.charge - 1 for each in self.classes)

    @property
    def enough(self) -> Fraction:
        """The scale of plain differential privacy: every output is representative. Without dropping every alpha is m/(E - 1) then."""
        steps = (excess * each.weight for excess, each in zip(self.excesses, self.classes, strict=True))
        return short(self.drawn / min(steps))

    @cached_property
    def weights(self) -> Floats:
        """The weights of the classes."""
        return np.array([each.weight for each in self.classes], dtype=np.float64)

    @cached_property
    def counts(self) -> Floats:
        """The numbers of values of the classes."""
        return np.array([float(each.count) for each in self.classes])

    @cached_property
    def keeps(self) -> Floats:
        """The probabilities with which values of the classes stay."""
        return np.array([float(each.keep) for each in self.classes])

    @cached_property
    def totals(self) -> Floats:
        """The weight of all values, if one of the class is there: at least its own."""
        return np.maximum(float(self.total), self.weights)

    def failure(self, scale: Fraction) -> float:
        """An upper bound of the chance that an output is not representative, for every table; thresholds are exact, tails carry a margin."""
        if scale >= self.enough:
            return 0.0
        people, tails = self._tails(scale)
        return float(self.bound(np.array(self.size), people, tails)) * (1 + self._error(scale))

    def holds(self, scale: Fraction) -> bool:
        """Whether this scale is certified."""
        return self.failure(scale) <= float(self.delta)

    def worst(self, scale: Fraction) -> int:
        """The number of people with one value for which an output is most likely not representative."""
        people, tails = self._tails(scale)
        return int(people[tails.max(axis=0)[1:].argmax() + 1]) if len(people) > 1 else 0

    def bound(self, size: NDArray[np.int64], people: NDArray[np.int64], tails: Floats) -> Floats:
        """The union bound over all values of groups of some sizes, from tails by class (next to last axis) and number of people with a value (last axis, 0 first).

        A value of nobody shows only if it stayed.
        """
        at_zero = tails[..., 0] * self.keeps
        some = tails[..., 1:]
        by_person = (some / people[..., None, 1:]).max(axis=(-2, -1), initial=0)
        apart = np.maximum(at_zero, some.max(axis=-1, initial=0))
        return np.asarray(np.minimum(apart @ self.counts, at_zero @ self.counts + size * by_person))

    def _error(self, scale: Fraction) -> float:
        return relative_error(self.size + self.drawn + float(scale) * self.total)

    def _tails(self, scale: Fraction) -> tuple[NDArray[np.int64], Floats]:
        people, thresholds = self._thresholds(scale)
        inside = people + float(scale) * self.weights[:, None]
        outside = np.maximum(self.size + float(scale) * self.totals[:, None] - inside, 1e-300)
        drawn = np.full(inside.shape, self.drawn)
        few = slice(0, _FEW_PEOPLE)
        tails = np.zeros(inside.shape)
        tails[:, few] = tails_of(drawn[:, few], inside[:, few], outside[:, few], thresholds[:, few])
        if len(people) > _FEW_PEOPLE:
            # With many people of one value tails are small; only those are summed that may be the largest of all, by tail or by person.
            rest = slice(_FEW_PEOPLE, None)
            ceilings = tail_ceilings(drawn[:, rest], inside[:, rest], outside[:, rest], thresholds[:, rest])
            by_person = tails[:, 1:_FEW_PEOPLE] / people[1:_FEW_PEOPLE]
            matters = (ceilings > tails.max(axis=1)[:, None]) | (ceilings / people[rest] > by_person.max())
            kind, place = np.nonzero(matters)
            place = place + _FEW_PEOPLE
            tails[kind, place] = tails_of(
                drawn[kind, place], inside[kind, place], outside[kind, place], thresholds[kind, place]
            )
        return people, tails

    def _thresholds(self, scale: Fraction) -> tuple[NDArray[np.int64], Floats]:
        """The numbers of people that one value may have, and for each class how often it occurs at most in a representative output; exact.

        Numbers of people beyond those for which every output is representative are left out.
        """
        least = scale * min(each.weight for each in self.classes)
        most = min(self.size, max(1, math.ceil(self.drawn / self.excess - least + 1)))
        people = np.arange(most + 1)
        others = np.maximum(people - 1, 0)
        c, rows = float(self.excess), []
        for each, first in zip(self.classes, self.excesses, strict=True):
            alpha = scale * each.weight
            roughly = c * (float(alpha) + others)
            found = np.floor(roughly)
            # Floats decide unless they are near a whole number.
            near = np.flatnonzero(np.abs(roughly - np.rint(roughly)) <= 1e-9 * (1 + roughly))
            zero, step = self.excess * alpha, self.excess
            below = math.lcm(zero.denominator, step.denominator)
            zero_units, step_units = int(zero * below), int(step * below)
            found[near] = [(zero_units + step_units * other) // below for other in others[near].tolist()]
            found[:2] = math.floor(first * alpha)
            rows.append(found)
        return people, np.array(rows)


def tails_of(drawn: NDArray[np.int64], inside: Floats, outside: Floats, thresholds: Floats) -> Floats:
    """Upper tails of arrays of any one shape, a part at a time."""
    flat = [
        np.ascontiguousarray(np.broadcast_to(each, thresholds.shape), dtype=np.float64).ravel()
        for each in (drawn, inside, np.maximum(outside, 1e-300), thresholds)
    ]
    parts = [
        upper_tails(*(each[start : start + _PROBLEMS_AT_ONCE] for each in flat))
        for start in range(0, max(len(flat[0]), 1), _PROBLEMS_AT_ONCE)
    ]
    return np.concatenate(parts).reshape(thresholds.shape)


def short(value: Fraction) -> Fraction:
    """A decimal of 10 digits, at least ``value``: short enough for urns in machine integers, and to be read."""
    with localcontext() as context:
        context.prec, context.rounding = _DIGITS, ROUND_CEILING
        return Fraction(Decimal(value.numerator) / Decimal(value.denominator))
