"""Probabilistic differential privacy: for every table, outputs that distinguish it from a neighbour are rare.

A mechanism is judged by two figures of its plan: the largest likelihood ratio between neighbouring tables over all
outputs outside a set, and an upper bound on the probability of that set that holds for every table.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from typing import ClassVar, Protocol, cast, runtime_checkable

from reticent.core import MechanismPlan
from reticent.definitions.claim_scope import GENERAL, ClaimScope
from reticent.definitions.definition import Assessment, Witness
from reticent.definitions.epsilon_delta import EpsilonDelta

LARGEST_EPSILON = 50
_RATIO_DIGITS = 12
_FIRST_PRECISION = 40


@dataclass(frozen=True)
class PrivacyLoss:
    """At most the factor ``ratio`` between neighbouring tables, except for outputs of total probability at most ``delta``."""

    ratio: Fraction
    delta: Fraction


@runtime_checkable
class ProbabilisticMechanism(Protocol):
    """A randomized mechanism whose plan determines its privacy loss."""

    def privacy_loss(self) -> PrivacyLoss:
        """The privacy loss of the plan, recomputed from its parameters."""


def ratio_within(epsilon: Fraction) -> Fraction:
    """A decimal of 12 digits, at most e^epsilon: likelihood ratios up to it satisfy the guarantee."""
    if not epsilon:
        return Fraction(1)
    with localcontext() as context:
        context.prec = _FIRST_PRECISION
        value = (Decimal(epsilon.numerator) / Decimal(epsilon.denominator)).exp() * (1 - Decimal(10) ** -30)
        context.prec, context.rounding = _RATIO_DIGITS, ROUND_FLOOR
        return max(Fraction(+value), Fraction(1))


def exceeds_exponential(ratio: Fraction, epsilon: Fraction) -> bool:
    """True if ``ratio`` > e^epsilon, exactly: digits are added until they decide. Equality is possible for epsilon 0 only."""
    if not epsilon:
        return ratio > 1
    precision = _FIRST_PRECISION
    while True:
        with localcontext() as context:
            context.prec = precision
            power = (Decimal(epsilon.numerator) / Decimal(epsilon.denominator)).exp()
            quotient = Decimal(ratio.numerator) / Decimal(ratio.denominator)
            # The division of epsilon, the power and the division of the ratio are each correct except for the last
            # digits.
            margin = power * (Decimal(10) ** (3 - precision)) * (1 + abs(power.adjusted()) + LARGEST_EPSILON)
        if abs(quotient - power) > margin:
            return quotient > power
        precision *= 2


@dataclass(frozen=True)
class ProbabilisticDP(EpsilonDelta):
    """(epsilon, delta)-probabilistic differential privacy: for every table, outputs whose probability under
    two neighbouring tables differs by more than the factor e^epsilon have total probability at most delta.

    Guarantee: outside a set of outputs of probability at most delta, replacing one row's value within its group changes the probability of an output by a
    factor of at most e^epsilon. Stronger than (epsilon, delta)-indistinguishability. With delta = 0 it is differential privacy.
    Adversary: knows every other row, the groups and their sizes, and the mechanism; any belief about the last row.
    Neighbours have the same groups of the same sizes (bounded neighbours), so sizes must be public already.
    Not covered: group membership and group sizes; people with several rows or correlated values are protected less.
    Judges the plan of a mechanism: it cannot be checked from groups or from an output.
    Source: [Machanavajjhala2008b].

    Parameters:
        epsilon, delta: the bounds, as numbers or fractions.

    Example:
        >>> import reticent as rt
        >>> print(rt.ProbabilisticDP("4.6", "1e-5"))
        ProbabilisticDP(epsilon=23/5, delta=1/100000)
    """

    largest: ClassVar[int] = LARGEST_EPSILON
    kept_by: ClassVar[str] = "method=Synthetic(...), or call rt.synthesize.plan(...)"

    def fits(self, plan: MechanismPlan) -> str | None:
        if isinstance(plan, ProbabilisticMechanism):
            return None
        return f"ProbabilisticDP judges the probability of disclosing outputs, and a {type(plan).__name__} does not bound it. Publish with {self.kept_by}."

    def assess(self, plan: MechanismPlan) -> Assessment:
        """Judge a mechanism's plan: its privacy loss, and a witness if that exceeds the bounds."""
        loss = cast(ProbabilisticMechanism, plan).privacy_loss()
        epsilon, delta = self.amounts
        text = None
        if exceeds_exponential(loss.ratio, epsilon):
            text = f"An output can be {float(loss.ratio):.6g} times as likely for one table as for its neighbour, more than e^{float(epsilon):.6g}."
        elif loss.delta > delta:
            text = f"Disclosing outputs can have the probability {float(loss.delta):.6g}, more than delta = {float(delta):.6g}."
        witness = None if text is None else Witness(0, text)
        achieved = {"ratio": float(loss.ratio), "delta": float(loss.delta)}
        return Assessment(self, text is None, achieved, witness, {"ratio": loss.ratio, "delta": loss.delta})

    def meaning(self, scope: ClaimScope = GENERAL) -> str:
        """Return the guarantee in words."""
        epsilon, delta = self.amounts
        sentence = (
            "An attacker who knows every other record and thinks that a person's value is one of two with equal chances is at most "
            f"{certainty(epsilon)} sure of it after seeing the release."
        )
        return sentence if not delta else f"{sentence} This may fail with a probability of at most {float(delta):.3g}."

    def not_covered(self, scope: ClaimScope = GENERAL) -> str:
        """Return what the guarantee does not cover, in words."""
        return (
            "Groups and their sizes are taken as public: they expose a person whose presence in a group is not already known. A person with several rows "
            "is protected less: epsilons and deltas add up over groups, and more than that within one. People whose values depend on each other, such as a "
            "household that moves together, are protected as one only at a multiple of epsilon. Whatever many people of a group have in common is shown."
        )


def certainty(epsilon: Fraction) -> str:
    """The posterior of an adversary with even prior odds, e^epsilon/(1+e^epsilon), in per cent rounded up: 99.01 % for 4.6."""
    with localcontext() as context:
        context.prec = _FIRST_PRECISION
        power = (Decimal(epsilon.numerator) / Decimal(epsilon.denominator)).exp()
        certain = 100 * power / (1 + power)
        doubt = 100 - certain
        # Enough digits to distinguish it from certainty.
        digits = max(1 - doubt.adjusted(), 1)
        return f"{certain.quantize(Decimal(10) ** -digits, rounding=ROUND_CEILING)} %"
