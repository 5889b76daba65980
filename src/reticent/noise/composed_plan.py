"""Composition of noisy steps: what a differential privacy plan provides to definitions and accounts, once its steps state their costs."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from typing import Literal, get_args

from reticent.base.privacy_cost import LossBound, Relation, concentrated_delta, concentrated_epsilon
from reticent.errors import DataError, PolicyError

Currency = Literal["rho", "epsilon"]
"""Accounting unit: zero-concentrated differential privacy (Gaussian noise), or pure epsilon (Laplace noise)."""
CURRENCIES: tuple[Currency, ...] = get_args(Currency)
_MANTISSA = 20
_MOST_SCALE = 2**50


class ComposedPlan(ABC):
    """Noisy steps with a total :meth:`cost` in a ``currency``, plus :meth:`failure` (delta).

    The total is fixed before the first step, and each step may depend on earlier noisy answers: adaptive composition
    within a budget (a privacy filter) holds for both currencies [Whitehouse2023]. Post-processing of the answers is free.
    """

    currency: Currency

    @abstractmethod
    def cost(self, relation: Relation) -> Fraction:
        """Return the total cost of all steps, in the plan's currency."""

    def failure(self, relation: Relation) -> Fraction:
        """Return the total delta of delta-approximate steps, which is additive ([Bun2016], section 8)."""
        return Fraction(0)

    def loss(self, relation: Relation, delta: Fraction) -> LossBound:
        """Return the loss charged to an account; ``delta`` is used for conversion, in addition to the steps' own."""
        total, beside = self.cost(relation), self.failure(relation)
        if self.currency == "epsilon":
            return LossBound(total, beside)
        return LossBound(concentrated_epsilon(total, delta), delta + beside, total, beside)

    def within(self, relation: Relation, epsilon: Fraction, delta: Fraction) -> bool:
        """True if the release is (epsilon, delta)-indistinguishable for neighbours by ``relation``."""
        total, remaining_delta = self.cost(relation), delta - self.failure(relation)
        if self.currency == "epsilon":
            return remaining_delta >= 0 and total <= epsilon
        return remaining_delta > 0 and concentrated_epsilon(total, remaining_delta) <= epsilon

    def delta_at(self, relation: Relation, epsilon: Fraction) -> Fraction:
        """Return a delta for which the plan is (epsilon, delta)-differentially private for neighbours by ``relation``,
        rounded up; 1 if none is known.
        """
        total, beside = self.cost(relation), self.failure(relation)
        if self.currency == "epsilon":
            return beside if total <= epsilon else Fraction(1)
        return min(Fraction(1), concentrated_delta(total, epsilon) + beside)

    def rho(self, relation: Relation) -> Fraction:
        """Return a valid rho of zero-concentrated differential privacy."""
        if self.failure(relation):
            raise DataError("The plan has steps with a delta, so it does not satisfy any rho.")
        total = self.cost(relation)
        return total if self.currency == "rho" else total**2 / 2

    def keeps_added_row(self, epsilon: Fraction, delta: Fraction) -> bool:
        """For :class:`reticent.definitions.UnboundedDP`."""
        return self.within("add/remove", epsilon, delta)

    def added_row_delta(self, epsilon: Fraction) -> Fraction:
        """For :class:`reticent.definitions.UnboundedDP`."""
        return self.delta_at("add/remove", epsilon)

    def keeps_replaced_row(self, epsilon: Fraction, delta: Fraction) -> bool:
        """For :class:`reticent.definitions.BoundedDP`."""
        return self.within("replace", epsilon, delta)

    def replaced_row_delta(self, epsilon: Fraction) -> Fraction:
        """For :class:`reticent.definitions.BoundedDP`."""
        return self.delta_at("replace", epsilon)


def least_scale(cost: Callable[[Fraction], Fraction], currency: Currency, paid: Fraction) -> Fraction:
    """Return the smallest scale of noise, with few binary digits, whose ``cost`` is at most ``paid``; costs fall with the
    scale (epsilon), or with its square (rho). Raises :class:`PolicyError` if numbers of 64 bits cannot hold such noise.
    """
    ratio = cost(Fraction(1)) / paid
    if ratio > (_MOST_SCALE if currency == "epsilon" else _MOST_SCALE**2):
        raise PolicyError(
            f"The budget allows only noise of a scale above {_MOST_SCALE:.0e}, in which every number would be lost. Allow a larger epsilon, or ask for less.",
            setting=("epsilon",),
        )
    near = math.sqrt(ratio) if currency == "rho" else float(ratio)
    step = Fraction(2) ** (math.frexp(near)[1] - _MANTISSA)
    scale = math.ceil(Fraction(near) / step) * step
    while cost(scale) > paid:
        scale += step
    return scale
