"""Bounded differential privacy: neighbours have the same size and differ in one replaced record; the number of records is public."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Protocol, cast, runtime_checkable

from reticent.core import MechanismPlan
from reticent.definitions.claim_scope import GENERAL, ClaimScope
from reticent.definitions.definition import Assessment
from reticent.definitions.epsilon_delta import EpsilonDelta


@runtime_checkable
class HidesReplacedRow(Protocol):
    """A plan that bounds the loss when one unit's records are replaced by others."""

    def keeps_replaced_row(self, epsilon: Fraction, delta: Fraction) -> bool:
        """Whether Pr[S] <= e^epsilon Pr'[S] + delta for every set S of outputs; exact, or conservative."""

    def replaced_row_delta(self, epsilon: Fraction) -> Fraction:
        """A delta that holds at epsilon, rounded up; 1 if no bound is known."""


@dataclass(frozen=True)
class BoundedDP(EpsilonDelta):
    """(epsilon, delta)-differential privacy with bounded neighbours: replacing one record by another changes the
    probability of any set of outputs by at most a factor e^epsilon plus ``delta``.

    Guarantee: for tables D and D' of the same size that differ in one record, and all sets S of outputs, Pr[S] <= e^epsilon Pr'[S] + delta.
    Adversary: knows all other records, the number of records and the mechanism.
    Not covered: the number of records, and what many records reveal together.
    Judges the plan of a mechanism: it cannot be checked from groups or from an output.
    Source: [Dwork2006]; bounded and unbounded neighbours: [Kifer2011], section 2.

    Parameters:
        epsilon, delta: the bounds, as numbers or fractions.

    Example:
        >>> import reticent as rt
        >>> print(rt.BoundedDP(1, "1e-6"))
        BoundedDP(epsilon=1, delta=1/1000000)
    """

    largest: ClassVar[int] = 50
    kept_by: ClassVar[str] = "method=Marginals(...)"

    def fits(self, plan: MechanismPlan) -> str | None:
        if isinstance(plan, HidesReplacedRow):
            return None
        return f"BoundedDP judges what replacing a record can change, and a {type(plan).__name__} does not bound it. Publish with {self.kept_by}."

    def assess(self, plan: MechanismPlan) -> Assessment:
        """Judge the plan. The value is the plan's delta at ``epsilon``, rounded up."""
        epsilon, delta = self.amounts
        loss = cast(HidesReplacedRow, plan)
        holds, reached = loss.keeps_replaced_row(epsilon, delta), loss.replaced_row_delta(epsilon)
        text = f"At epsilon = {float(epsilon):.6g} replacing a record has delta = {float(reached):.3g}, above {float(delta):.3g}."
        return self.judged(holds, reached, text)

    def meaning(self, scope: ClaimScope = GENERAL) -> str:
        factor, beside = self.odds
        return f"An attacker who knows all other records finds anything that is published at most {factor:g} times as likely {scope.replaced}{beside}."

    def not_covered(self, scope: ClaimScope = GENERAL) -> str:
        """Return what the guarantee does not cover, in words."""
        number = "records is public" if scope.unit == "record" else f"{scope.units} is not hidden"
        several = " Several records of one person lose as much each." if scope.unit == "record" else ""
        return (
            f"The number of {number}. What many records show together is published on purpose, also where it tells about a person.{several} "
            "Further releases of the same records add their epsilon and delta."
        )
