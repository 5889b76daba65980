"""Published definitions that are conjunctions of others, with their own names and parameters."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.core import Columns, Groups
from reticent.definitions.claim_scope import GENERAL, ClaimScope, Openness
from reticent.definitions.definition import All, Assessment, CountedRows, GroupDefinition


class Conjunction(GroupDefinition):
    """A definition in which each parameter is enforced by another definition; all of these must hold."""

    @abstractmethod
    def members(self) -> Mapping[str, GroupDefinition]:
        """The definition that enforces each parameter."""

    @cached_property
    def together(self) -> All:
        """The members as one conjunction."""
        return All(tuple(self.members().values()))

    def adopt_traits(self) -> None:
        """Adopt the traits shared by all members. Call it after the parameters are validated."""
        traits = ("monotone", "absorbing", "needs_sensitive", "needs_reference", "hides_identity", "counts_people")
        for trait in traits:
            object.__setattr__(self, trait, getattr(self.together, trait))

    def achieved(self, name: str, found: Any) -> Any:
        """The value measured by a member, in terms of the parameter that it enforces."""
        return found

    def assess(self, groups: Groups) -> Assessment:
        joint = self.together.assess(groups)
        values = {name: self._in_parameters(name, part) for name, part in zip(self.members(), joint.parts, strict=True)}
        return Assessment(self, joint.holds, values, joint.witness, parts=joint.parts)

    def failing(self, groups: Groups) -> NDArray[np.bool_]:
        return self.together.failing(groups)

    def absorbing_on(self, counted: CountedRows) -> bool:
        return self.together.absorbing_on(counted)

    def relaxation(self) -> GroupDefinition | None:
        return self.together.relaxation()

    def doomed(self, groups: Groups) -> NDArray[np.float64]:
        return self.together.doomed(groups)

    @property
    def crowd(self) -> int | None:
        return max((part.crowd for part in self.together.parts() if part.crowd is not None), default=None)

    def least_rows(self) -> int:
        return self.together.least_rows()

    def promise(self, scope: ClaimScope) -> str:
        return self.together.promise(scope)

    def not_covered(self, scope: ClaimScope = GENERAL) -> str:
        return self.together.not_covered(scope)

    def guarded(self, sensitive: Columns) -> Columns:
        return self.together.guarded(sensitive)

    def leaves_open(self, column: str) -> Openness:
        return self.together.leaves_open(column)

    def _in_parameters(self, name: str, part: Assessment) -> Any:
        if isinstance(part.value, Mapping):
            return {column: self.achieved(name, value) for column, value in part.value.items()}
        return self.achieved(name, part.value)


def inverse(found: Any) -> Any:
    """The reciprocal of a measured ratio."""
    return 1 / Fraction(found)
