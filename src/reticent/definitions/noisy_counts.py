"""A definition of counts with noise: one row changes the chance of anything that is published by little."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Protocol, cast, runtime_checkable

from reticent.core import MechanismPlan
from reticent.definitions.claim_scope import GENERAL, ClaimScope
from reticent.definitions.definition import Assessment
from reticent.definitions.epsilon_delta import EpsilonDelta


@runtime_checkable
class NoiseOnCounts(Protocol):
    """A plan of noise that can tell what it loses when one row is replaced by another."""

    def keeps(self, epsilon: Fraction, delta: Fraction) -> bool:
        """Whether the chances of any set of outputs differ by at most the factor e^epsilon and delta beside it; exactly."""

    def delta(self, epsilon: Fraction) -> Fraction:
        """The least such delta, rounded up."""


@dataclass(frozen=True)
class NoisyCounts(EpsilonDelta):
    """(epsilon, delta)-indistinguishability of published counts: replacing one row changes the chance of any set of outputs at most by the factor
    e^epsilon, and by ``delta`` beside it.

    Guarantee: for neighbouring tables, which differ in one row, and for all sets S of outputs, Pr[S] <= e^epsilon Pr'[S] + delta.
    Adversary: knows all other rows, the mechanism, and, where noise is made jointly, everything that up to the stated number of parties hold. The number of rows is public.
    Judges the law of the noise, exactly: nothing can be read off groups.
    Source: Dwork, Kenthapadi, McSherry, Mironov, Naor, Our data, ourselves: privacy via distributed noise generation (2006), with corrections.

    Parameters:
        epsilon, delta: the bounds, as numbers or fractions.

    Example:
        >>> import reticent as rt
        >>> print(rt.NoisyCounts(1, "1e-6"))
        NoisyCounts(epsilon=1, delta=1/1000000)
    """

    largest: ClassVar[int] = 100
    kept_by: ClassVar[str] = "method=CentralCounts(...) or JointCounts(...)"

    def fits(self, plan: MechanismPlan) -> str | None:
        if isinstance(plan, NoiseOnCounts):
            return None
        return f"NoisyCounts judges the law of noise on counts, and a {type(plan).__name__} has none. Publish with {self.kept_by}."

    def assess(self, plan: MechanismPlan) -> Assessment:
        """Judge the noise, exactly; the value is the delta that it has at ``epsilon``, rounded up."""
        epsilon, delta = self.amounts
        law = cast(NoiseOnCounts, plan)
        holds, reached = law.keeps(epsilon, delta), law.delta(epsilon)
        text = f"At epsilon = {epsilon} the noise has delta = {float(reached):.3g}, above {float(delta):.3g}."
        return self.judged(holds, reached, text)

    def meaning(self, scope: ClaimScope = GENERAL) -> str:
        factor, beside = self.odds
        return f"An attacker who knows all other records finds anything that is published at most {factor:g} times as likely with one content of a record as with another{beside}."

    def not_covered(self, scope: ClaimScope = GENERAL) -> str:
        return (
            "What the rows show together, such as which disease is frequent, is published on purpose, also where it tells about a person. Several rows of one person, "
            "or of people who are alike, lose as much each. Further noisy counts of the same rows add their epsilon and delta."
        )
