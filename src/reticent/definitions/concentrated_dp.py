"""Zero-concentrated differential privacy: the guarantee of Gaussian noise, with a parameter that adds up over releases."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Protocol, cast, runtime_checkable

from reticent.base.exact import Number, exact, one_of
from reticent.base.privacy_cost import RELATIONS, Relation, concentrated_epsilon
from reticent.core import MechanismPlan
from reticent.definitions.claim_scope import GENERAL, ClaimScope
from reticent.definitions.definition import Assessment, PlanDefinition, Witness

_STATED = Fraction(1, 10**6)


@runtime_checkable
class Concentrated(Protocol):
    """A plan that bounds the Renyi divergences of its outputs."""

    def rho(self, relation: Relation) -> Fraction:
        """A rho that holds for neighbours under ``relation``, rounded up."""


@dataclass(frozen=True)
class ConcentratedDP(PlanDefinition):
    """rho-zero-concentrated differential privacy: for neighbours, the Renyi divergence of order a of the outputs is at
    most a ``rho``, for every a > 1.

    Guarantee: for tables that differ in one record, added or removed (``relation="add/remove"``) or replaced
    (``"replace"``), D_a(M(D) || M(D')) <= a rho. It implies (epsilon, delta)-differential privacy for every delta;
    releases add their rho up.
    Adversary: knows all other records and the mechanism.
    Not covered: what many records reveal together; several records of one person lose more (rho grows with the square
    of their number).
    Judges the plan of a mechanism: it cannot be checked from groups or from an output.
    Source: [Bun2016], definition 1.1; conversion: [Canonne2020], corollary 13.

    Parameters:
        rho: the bound, as a number or fraction.
        relation: which tables are neighbours.

    Example:
        >>> import reticent as rt
        >>> print(rt.ConcentratedDP("1/10"))
        ConcentratedDP(rho=1/10, relation=add/remove)
    """

    rho: Number
    relation: Relation = "add/remove"

    kept_by: ClassVar[str] = "method=Marginals(...)"

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", exact(self.rho, "ConcentratedDP: rho", above=0, high=100))
        one_of(self.relation, "ConcentratedDP: relation", RELATIONS)

    @property
    def amount(self) -> Fraction:
        """The bound rho."""
        return exact(self.rho, "rho")

    def fits(self, plan: MechanismPlan) -> str | None:
        if isinstance(plan, Concentrated):
            return None
        return f"ConcentratedDP judges Renyi divergences, and a {type(plan).__name__} does not bound them. Publish with {self.kept_by}."

    def assess(self, plan: MechanismPlan) -> Assessment:
        """Judge the plan. The value is its rho."""
        reached = cast(Concentrated, plan).rho(self.relation)
        holds = reached <= self.amount
        text = f"The plan has rho = {float(reached):.6g}, above {float(self.amount):.6g}."
        return Assessment(self, holds, reached, None if holds else Witness(0, text))

    def parameters(self) -> dict[str, Any]:
        return {"rho": str(self.rho), "relation": self.relation}

    def meaning(self, scope: ClaimScope = GENERAL) -> str:
        """Return the guarantee as a sentence about an attacker."""
        epsilon = concentrated_epsilon(self.amount, _STATED)
        factor = math.ceil(100 * math.exp(epsilon)) / 100
        compared = scope.present if self.relation == "add/remove" else scope.replaced
        return f"An attacker who knows all other records finds anything that is published at most {factor:g} times as likely {compared}, but for a chance of at most one in a million."

    def not_covered(self, scope: ClaimScope = GENERAL) -> str:
        """Return what the guarantee does not cover, in words."""
        several = "Several records of one person" if scope.unit == "record" else f"More than one {scope.unit}"
        return (
            "What many records show together is published on purpose, also where it tells about a person. "
            f"{several} lose more (rho grows with the square of their number). Further releases of the same records add their rho."
        )
