"""Local differential privacy of a randomized value: the published value reveals little about the person's own."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, cast

from reticent.base.exact import Number, exact
from reticent.core import MechanismPlan
from reticent.definitions.claim_scope import GENERAL, ClaimScope
from reticent.definitions.definition import Assessment, PlanDefinition, Witness
from reticent.definitions.mechanisms import Mechanism
from reticent.definitions.probabilistic_dp import LARGEST_EPSILON, certainty, exceeds_exponential


@dataclass(frozen=True)
class LocalDP(PlanDefinition):
    """epsilon-local differential privacy: no true value makes a published value more than e^epsilon times as likely as another does.

    Guarantee: for all values s, t of the sensitive column and all published values o, Pr[o | s] <= e^epsilon Pr[o | t]. Prior odds x
    become posterior odds of at most x e^epsilon.
    Adversary: knows which row is a person's, every other row, and the mechanism; any belief about the value.
    Not covered: the other columns, membership in the table, and values randomized again (epsilons add up).
    Judges the plan of a mechanism, exactly: it cannot be checked from an output.
    Epsilon is ln(1 + p d / (1 - p)) if one of d values is kept with probability p and otherwise sampled uniformly from all.
    Source: [Kasiviswanathan2011]; randomized response: [Warner1965].

    Parameters:
        epsilon: the bound, as a number or fraction.

    Example:
        >>> import reticent as rt
        >>> print(rt.LocalDP(2))
        LocalDP(epsilon=2)
    """

    epsilon: Number

    kept_by: ClassVar[str] = "method=Perturbation(...)"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", exact(self.epsilon, "LocalDP: epsilon", above=0, high=LARGEST_EPSILON))

    def fits(self, plan: MechanismPlan) -> str | None:
        if isinstance(plan, Mechanism):
            return None
        return f"LocalDP judges likelihood ratios, and a {type(plan).__name__} does not bound them. Publish with {self.kept_by}."

    def assess(self, plan: MechanismPlan) -> Assessment:
        """Judge a mechanism's plan. The value is its epsilon."""
        ratio, epsilon = cast(Mechanism, plan).ratios("record").highest, self._epsilon
        text = f"A published value can be {float(ratio):.6g} times as likely for one true value as for another, more than e^{float(epsilon):.6g}."
        witness = Witness(0, text) if exceeds_exponential(ratio, epsilon) else None
        return Assessment(self, witness is None, math.log(ratio), witness, {"highest_ratio": ratio})

    def parameters(self) -> dict[str, Any]:
        return {"epsilon": str(self.epsilon)}

    def meaning(self, scope: ClaimScope = GENERAL) -> str:
        """Return the guarantee as a sentence about an attacker."""
        return (
            "An attacker who knows which record is a person's, and thinks that the value is one of two with equal chances, is at most "
            f"{certainty(self._epsilon)} sure of it after seeing the release."
        )

    def not_covered(self, scope: ClaimScope = GENERAL) -> str:
        """Return what the definition does not protect against, in sentences."""
        return (
            "The other columns are not protected: anybody can see who is in the table. A person whose value is drawn again, in another release or another row, is protected less: "
            "epsilons add up. What many people who are alike have in common is shown."
        )

    @property
    def _epsilon(self) -> Fraction:
        return exact(self.epsilon, "epsilon")
