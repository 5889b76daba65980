"""Crowd-blending: whoever is shown cannot be told from k others, and whoever is not shown might as well not be there."""

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
    """A plan that shows people only in crowds, whose members it treats exactly alike."""

    @property
    def crowd(self) -> int:
        """How many people at least a crowd has."""


@dataclass(frozen=True)
class CrowdBlending(PlanDefinition):
    """(k, epsilon)-crowd-blending: every individual either blends in a crowd of ``k``, or her removal is invisible, both up to a factor of e^epsilon.

    Guarantee: for every table and every person in it, there are k people (herself included) any two of whom can be exchanged, or she can be left out, without changing
    the chance of any output by more than the factor e^epsilon. A grid that shows cells with at least k rows keeps it with epsilon = 0: rows of one cell are exchanged
    without any change, and a row of a smaller cell is never shown.
    Adversary: sees the release. Not differential privacy: one row more or less can make a cell appear, so that whoever knows all other rows of a cell learns of the last one.
    Judges the plan of a mechanism.
    Source: Gehrke, Hay, Lui, Pass, Crowd-blending privacy (2012).

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
        """Judge the crowds; the value is the size that they have at least."""
        crowd = cast(BlendsInCrowds, plan).crowd
        text = f"People are shown in crowds of {crowd}, fewer than {self.k}."
        return Assessment(self, crowd >= self.k, crowd, None if crowd >= self.k else Witness(0, text))

    def parameters(self) -> dict[str, Any]:
        return {"k": self.k, "epsilon": str(self.epsilon)}

    def meaning(self, scope: ClaimScope = GENERAL) -> str:
        epsilon = exact(self.epsilon, "epsilon")
        alike = (
            "exactly alike" if not epsilon else f"alike up to a factor of {math.ceil(100 * math.exp(epsilon)) / 100:g}"
        )
        return f"Every record that is shown is treated {alike} with at least {self.k - 1} others, and records that are not shown leave no trace."

    def not_covered(self, scope: ClaimScope = GENERAL) -> str:
        return (
            "This is not differential privacy: somebody who knows all other rows of a cell learns from its number whether one more is there. What all people of a cell have in common is "
            "shown, also where it tells about each of them. Two such releases of the same people can be subtracted from each other."
        )
