"""Unbounded differential privacy: neighbours differ by one added or removed row, so membership in the table is hidden."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Protocol, cast, runtime_checkable

from reticent.core import MechanismPlan
from reticent.definitions.claim_scope import GENERAL, ClaimScope
from reticent.definitions.definition import Assessment
from reticent.definitions.epsilon_delta import EpsilonDelta


@runtime_checkable
class HidesOneRowMore(Protocol):
    """A plan that can compute its privacy loss for one added or removed row."""

    def keeps_added_row(self, epsilon: Fraction, delta: Fraction) -> bool:
        """Whether Pr[S] <= e^epsilon Pr'[S] + delta for every set S of outputs; exact, or conservative."""

    def added_row_delta(self, epsilon: Fraction) -> Fraction:
        """A delta that holds at epsilon, rounded up; 1 if no bound is known."""


@dataclass(frozen=True)
class UnboundedDP(EpsilonDelta):
    """(epsilon, delta)-differential privacy with unbounded neighbours: adding or removing one row changes the
    probability of any set of outputs by at most a factor e^epsilon plus ``delta``.

    Guarantee: for tables D and D' of which one has one row more, and all sets S of outputs, Pr[S] <= e^epsilon Pr'[S] + delta, both ways. If rows are first sampled
    with probability beta, this is (beta, epsilon, delta)-differential privacy under sampling, and delta must be below beta.
    Adversary: knows all other rows and the mechanism, but not the number of rows, which is never published, nor which rows were sampled.
    Not covered: what many rows reveal together; several rows of one person lose as much each.
    Replacing a row is removing one and adding another: it costs twice epsilon, and (1 + e^epsilon) delta.
    Judges the plan of a mechanism: it cannot be checked from groups or from an output.
    Source: [Dwork2006]; under sampling: [Li2012].

    Parameters:
        epsilon, delta: the bounds, as numbers or fractions.

    Example:
        >>> import reticent as rt
        >>> print(rt.UnboundedDP("0.5"))
        UnboundedDP(epsilon=1/2, delta=0)
    """

    largest: ClassVar[int] = 50
    kept_by: ClassVar[str] = "method=GridSample(...) or GridCounts(...)"

    def fits(self, plan: MechanismPlan) -> str | None:
        if isinstance(plan, HidesOneRowMore):
            return None
        return f"UnboundedDP judges what adding or removing a row can change, and a {type(plan).__name__} does not bound it. Publish with {self.kept_by}."

    def assess(self, plan: MechanismPlan) -> Assessment:
        """Judge the plan. The value is its delta at ``epsilon``, rounded up."""
        epsilon, delta = self.amounts
        loss = cast(HidesOneRowMore, plan)
        holds, reached = loss.keeps_added_row(epsilon, delta), loss.added_row_delta(epsilon)
        if reached > delta:
            text = f"At epsilon = {float(epsilon):.6g} adding or removing a row has delta = {float(reached):.3g}, above {float(delta):.3g}."
        else:
            text = f"delta = {float(delta):.3g} is not below the sampling probability of a row; that would allow publishing sampled rows unchanged."
        return self.judged(holds, reached, text)

    def meaning(self, scope: ClaimScope = GENERAL) -> str:
        factor, beside = self.odds
        return f"An attacker who knows all other records finds anything that is published at most {factor:g} times as likely {scope.present}{beside}."

    def not_covered(self, scope: ClaimScope = GENERAL) -> str:
        """Return what the guarantee does not cover, in words."""
        if scope.unit == "record":
            alike = "Several rows of one person, or of people who are alike,"
            neighbours = "one row that is added or removed; exchanging a row for another"
        else:
            alike = f"{scope.units.capitalize()} that are alike"
            neighbours = f"all rows of one {scope.unit}, added or removed; exchanging them for others"
        return (
            f"What many rows show together is published on purpose, also where it tells about a person. {alike} lose as much each. Neighbours differ by {neighbours} loses twice as much. "
            "Further releases of the same rows add their epsilon and delta, and a sample that is used twice has no guarantee."
        )
