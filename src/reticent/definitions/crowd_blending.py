"""Crowd-blending: a published person is indistinguishable from k others; an unpublished one leaves no trace."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, cast, runtime_checkable

from reticent.base.exact import Number, exact, whole
from reticent.core import MechanismPlan
from reticent.definitions.claim_scope import GENERAL, ClaimScope
from reticent.definitions.definition import Assessment, PlanDefinition, Witness


@runtime_checkable
class BlendsInCrowds(Protocol):
    """A plan that publishes people only in crowds whose members it treats identically."""

    @property
    def crowd(self) -> int:
        """The minimum number of people in a crowd."""


@dataclass(frozen=True)
class CrowdBlending(PlanDefinition):
    """(k, epsilon)-crowd-blending: every person either blends in a crowd of ``k``, or removing them is invisible, both up to a factor of e^epsilon.

    Guarantee: for every table and every person in it, either there are k people (this person included) any two of whom can be
    exchanged, or the person can be removed, without changing the probability of any output by more than the factor e^epsilon. A grid that
    publishes only cells with at least k rows satisfies it with epsilon = 0: rows of one cell are interchangeable, and a row of a smaller cell
    is never published.
    Adversary: sees the release.
    Not covered: this is not differential privacy. One row can make a cell appear, so an adversary who knows all other rows of a cell detects it.
    Judges the plan of a mechanism.
    Source: [Gehrke2012].

    Parameters:
        k: the size of the crowd.
        epsilon: the bound, as a number or fraction.

    Example:
        >>> import reticent as rt
        >>> print(rt.CrowdBlending(20))
        CrowdBlending(k=20, epsilon=0)
    """

    k: int
    epsilon: Number = 0

    kept_by: ClassVar[str] = "method=GridSample(...)"

    def __post_init__(self) -> None:
        whole(self.k, "CrowdBlending: k", low=2)
        object.__setattr__(self, "epsilon", exact(self.epsilon, "CrowdBlending: epsilon", low=0, high=50))

    def fits(self, plan: MechanismPlan) -> str | None:
        if isinstance(plan, BlendsInCrowds):
            return None
        return f"CrowdBlending judges crowds of people who are treated alike, and a {type(plan).__name__} has none. Publish with {self.kept_by}."

    def assess(self, plan: MechanismPlan) -> Assessment:
        """Judge the crowds. The value is their minimum size."""
        crowd = cast(BlendsInCrowds, plan).crowd
        text = f"People are shown in crowds of {crowd}, fewer than {self.k}."
        return Assessment(self, crowd >= self.k, crowd, None if crowd >= self.k else Witness(0, text))

    def parameters(self) -> dict[str, Any]:
        return {"k": self.k, "epsilon": str(self.epsilon)}

    def meaning(self, scope: ClaimScope = GENERAL) -> str:
        """Return the guarantee in words."""
        epsilon = exact(self.epsilon, "epsilon")
        alike = (
            "exactly alike" if not epsilon else f"alike up to a factor of {math.ceil(100 * math.exp(epsilon)) / 100:g}"
        )
        return f"Every record that is shown is treated {alike} with at least {self.k - 1} others, and records that are not shown leave no trace."

    def not_covered(self, scope: ClaimScope = GENERAL) -> str:
        """Return what the definition does not protect against, in sentences."""
        return (
            "This is not differential privacy: an attacker who knows all other rows of a cell learns from its number whether one more is there. What all people of a cell have in common is "
            "shown, also where it tells about each of them. Two such releases of the same people can be subtracted from each other."
        )
