"""A definition for noisy counts: replacing one row changes the probability of any output by little."""

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
    """A noise plan that can compute its privacy loss for one replaced row."""

    def keeps(self, epsilon: Fraction, delta: Fraction) -> bool:
        """True if Pr[S] <= e^epsilon Pr'[S] + delta for every set S of outputs; exact."""

    def delta(self, epsilon: Fraction) -> Fraction:
        """The smallest such delta, rounded up."""


@dataclass(frozen=True)
class NoisyCounts(EpsilonDelta):
    """(epsilon, delta)-indistinguishability of published counts: replacing one row changes the probability of any set
    of outputs by at most a factor e^epsilon plus ``delta``.

    Guarantee: for neighbouring tables, which differ in one row, and for all sets S of outputs, Pr[S] <= e^epsilon Pr'[S] + delta.
    Adversary: knows all other rows, the mechanism, and, if noise is generated jointly, everything held by up to the stated number of parties.
    The number of rows is public.
    Not covered: what many rows reveal together; several rows of one person lose as much each.
    Judges the noise distribution, exactly: it cannot be checked from groups.
    Source: [Dwork2006b], with corrections.

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
        return f"NoisyCounts judges the distribution of noise on counts, and a {type(plan).__name__} has none. Publish with {self.kept_by}."

    def assess(self, plan: MechanismPlan) -> Assessment:
        """Judge the noise exactly. The value is its delta at ``epsilon``, rounded up."""
        epsilon, delta = self.amounts
        law = cast(NoiseOnCounts, plan)
        holds, reached = law.keeps(epsilon, delta), law.delta(epsilon)
        text = f"At epsilon = {epsilon} the noise has delta = {float(reached):.3g}, above {float(delta):.3g}."
        return self.judged(holds, reached, text)

    def meaning(self, scope: ClaimScope = GENERAL) -> str:
        factor, beside = self.odds
        return f"An attacker who knows all other records finds anything that is published at most {factor:g} times as likely with one content of a record as with another{beside}."

    def not_covered(self, scope: ClaimScope = GENERAL) -> str:
        """Return what the definition does not protect against, in sentences."""
        return (
            "What the rows show together, such as which disease is frequent, is published on purpose, also where it tells about a person. Several rows of one person, "
            "or of people who are alike, lose as much each. Further noisy counts of the same rows add their epsilon and delta."
        )
