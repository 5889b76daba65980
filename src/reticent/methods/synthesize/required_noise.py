"""Noise requirement of a group: the smallest prior weight whose outputs are disclosing with probability at most delta.

The noise of a value is ``scale`` times its public weight. An output is *representative* if no value occurs in it more
than c (alpha_i + [n_i - 1]+) times, with c = E - 1; no representative output distinguishes neighbours by more than E.
The probability that a value occurs more often is a tail of a beta-binomial distribution, and a union bound over values
bounds the probability that an output is not representative, for every table.

If values that nobody has are retained only with a public probability f (``keep``), an output is representative if a
value with at most one person occurs at most (E f/T - 1) alpha_i times, and one with x >= 2 people at most (E/T - 1)
(alpha_i + x - 1) times; ``domain_reduction`` proves it, and defines the ``charge`` T.
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
    """Number of values of one public weight and one public retention probability."""

    weight: int
    count: int
    keep: Fraction = Fraction(1)


@dataclass(frozen=True)
class RequiredNoise:
    """Requirement of one group: ``size`` people and ``drawn`` samples, over classes of values, within ``ratio`` except with probability ``delta``.

    ``total`` is a lower bound of the weight of all values: with dropped values, of the retained ones. ``charge`` is the
    cost of dropping in the ratio besides the probabilities of the classes; 1 if nothing is dropped.
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
        return tuple(self.ratio * record_class.keep / self.charge - 1 for record_class in self.classes)

    @property
    def enough(self) -> Fraction:
        """The scale of plain differential privacy: every output is representative. Without dropping, every alpha is then m/(E - 1)."""
        steps = (excess * record_class.weight for excess, record_class in zip(self.excesses, self.classes, strict=True))
        return short(self.drawn / min(steps))

    @cached_property
    def weights(self) -> Floats:
        """The weights of the classes."""
        return np.array([record_class.weight for record_class in self.classes], dtype=np.float64)

    @cached_property
    def counts(self) -> Floats:
        """The numbers of values of the classes."""
        return np.array([float(record_class.count) for record_class in self.classes])

    @cached_property
    def keeps(self) -> Floats:
        """The retention probabilities of the classes."""
        return np.array([float(record_class.keep) for record_class in self.classes])

    @cached_property
    def totals(self) -> Floats:
        """The weight of all values if one of the class is present: at least its own."""
        return np.maximum(float(self.total), self.weights)

    def failure(self, scale: Fraction) -> float:
        """Return an upper bound, for every table, of the probability that the group's output is not representative (some
        value occurs too often) with noise ``scale``. Thresholds are exact; the sum of tails is raised by its rounding error.
        """
        # With this much noise every output is representative.
        if scale >= self.enough:
            return 0.0
        people, tails = self._tails(scale)
        return float(self.bound(np.array(self.size), people, tails)) * (1 + self._error(scale))

    def holds(self, scale: Fraction) -> bool:
        """True if this scale is certified."""
        return self.failure(scale) <= float(self.delta)

    def worst(self, scale: Fraction) -> int:
        """Return the number of people who share a value, at least 1, for which that value is most likely to occur too often; 0 if no number matters."""
        people, tails = self._tails(scale)
        return int(people[tails.max(axis=0)[1:].argmax() + 1]) if len(people) > 1 else 0

    def bound(self, size: NDArray[np.int64], people: NDArray[np.int64], tails: Floats) -> Floats:
        """Return the union bound, for groups of some sizes, of the probability that any value occurs too often.

        ``tails`` are the probabilities for one value, by weight class (next to last axis) and number of people who have
        it (last axis, ``people``, 0 first). A value that nobody has occurs only if it is retained.
        """
        at_zero = tails[..., 0] * self.keeps
        with_people = tails[..., 1:]
        by_person = (with_people / people[..., None, 1:]).max(axis=(-2, -1), initial=0)
        by_value = np.maximum(at_zero, with_people.max(axis=-1, initial=0))
        return np.asarray(np.minimum(by_value @ self.counts, at_zero @ self.counts + size * by_person))

    def _error(self, scale: Fraction) -> float:
        """Return the relative rounding error of tails with noise ``scale``."""
        return relative_error(self.size + self.drawn + float(scale) * self.total)

    def _tails(self, scale: Fraction) -> tuple[NDArray[np.int64], Floats]:
        """Return the possible numbers of people who share a value and, by weight class (row) and that number (column), the
        probability that the value occurs too often; zero where it cannot be the largest.
        """
        people, thresholds = self._thresholds(scale)
        inside = people + float(scale) * self.weights[:, None]
        outside = np.maximum(self.size + float(scale) * self.totals[:, None] - inside, 1e-300)
        drawn = np.full(inside.shape, self.drawn)
        few_people = slice(0, _FEW_PEOPLE)
        tails = np.zeros(inside.shape)
        tails[:, few_people] = tails_of(
            drawn[:, few_people], inside[:, few_people], outside[:, few_people], thresholds[:, few_people]
        )
        if len(people) > _FEW_PEOPLE:
            # With many people of one value tails are small; only those that may be the largest, by tail or by person,
            # are summed.
            many_people = slice(_FEW_PEOPLE, None)
            tail_bounds = tail_ceilings(
                drawn[:, many_people], inside[:, many_people], outside[:, many_people], thresholds[:, many_people]
            )
            by_person = tails[:, 1:_FEW_PEOPLE] / people[1:_FEW_PEOPLE]
            is_relevant = (tail_bounds > tails.max(axis=1)[:, None]) | (
                tail_bounds / people[many_people] > by_person.max()
            )
            class_index, people_index = np.nonzero(is_relevant)
            people_index = people_index + _FEW_PEOPLE
            tails[class_index, people_index] = tails_of(
                drawn[class_index, people_index],
                inside[class_index, people_index],
                outside[class_index, people_index],
                thresholds[class_index, people_index],
            )
        return people, tails

    def _thresholds(self, scale: Fraction) -> tuple[NDArray[np.int64], Floats]:
        """Return the possible numbers of people who share a value and, by weight class (row) and that number (column), how
        often the value may occur in a representative output, exactly.

        Numbers of people for which every output is representative are omitted.
        """
        least_alpha = scale * min(weight_class.weight for weight_class in self.classes)
        most_people = min(self.size, max(1, math.ceil(self.drawn / self.excess - least_alpha + 1)))
        people = np.arange(most_people + 1)
        other_people_counts = np.maximum(people - 1, 0)
        excess_float, rows = float(self.excess), []
        for weight_class, first_excess in zip(self.classes, self.excesses, strict=True):
            alpha = scale * weight_class.weight
            approximate = excess_float * (float(alpha) + other_people_counts)
            class_thresholds = np.floor(approximate)
            # Floats decide unless they are close to an integer.
            near_integer = np.flatnonzero(np.abs(approximate - np.rint(approximate)) <= 1e-9 * (1 + approximate))
            base, per_person = self.excess * alpha, self.excess
            denominator = math.lcm(base.denominator, per_person.denominator)
            base_units, per_person_units = int(base * denominator), int(per_person * denominator)
            class_thresholds[near_integer] = [
                (base_units + per_person_units * other_people) // denominator
                for other_people in other_people_counts[near_integer].tolist()
            ]
            class_thresholds[:2] = math.floor(first_excess * alpha)
            rows.append(class_thresholds)
        return people, np.array(rows)


def tails_of(drawn: NDArray[np.int64], inside: Floats, outside: Floats, thresholds: Floats) -> Floats:
    """Return the beta-binomial tails P(hits > threshold), elementwise for arrays that broadcast, computed in chunks."""
    flat = [
        np.ascontiguousarray(np.broadcast_to(array, thresholds.shape), dtype=np.float64).ravel()
        for array in (drawn, inside, np.maximum(outside, 1e-300), thresholds)
    ]
    parts = [
        upper_tails(*(array[start : start + _PROBLEMS_AT_ONCE] for array in flat))
        for start in range(0, max(len(flat[0]), 1), _PROBLEMS_AT_ONCE)
    ]
    return np.concatenate(parts).reshape(thresholds.shape)


def short(value: Fraction) -> Fraction:
    """Round up to a decimal of 10 digits: short enough for urns in machine integers, and readable."""
    with localcontext() as context:
        context.prec, context.rounding = _DIGITS, ROUND_CEILING
        return Fraction(Decimal(value.numerator) / Decimal(value.denominator))
