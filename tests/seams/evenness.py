"""A definition of groups: no sensitive value has more than half of a group plus one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reticent.core import Groups
from reticent.definitions import GENERAL, Assessment, ClaimScope, GroupDefinition, Witness


@dataclass(frozen=True)
class Evenness(GroupDefinition):
    """No sensitive value has more than half of a group plus one.

    Guarantee: the most frequent value of a group of n rows occurs at most n/2 + 1 times. Not monotone: two groups with one row too many
    each have two when they are merged.
    """

    column: str | None = None

    monotone = False

    def promise(self, scope: ClaimScope) -> str:
        return f"cannot be much more than half sure of {scope.secret(self.column)}"

    def not_covered(self, scope: ClaimScope = GENERAL) -> str:
        return "An attacker who knows more about the people of a group is not covered."

    def failing(self, groups: Groups) -> NDArray[np.bool_]:
        own = self._own(groups)
        return 2 * (own.histograms.top - 1) > own.sizes

    def assess(self, groups: Groups) -> Assessment:
        own, failing = self._own(groups), self.failing(groups)
        over = int(np.max(2 * (own.histograms.top - 1) - own.sizes, initial=-1))
        if not failing.any():
            return Assessment(self, True, over)
        first = int(np.flatnonzero(failing)[0])
        text = f"A value has {int(own.histograms.top[first])} of {int(own.sizes[first])} rows."
        return Assessment(self, False, over, Witness(first, text))

    def _own(self, groups: Groups) -> Groups:
        columns = groups.domain.columns
        return groups.marginal(self.column) if len(columns) > 1 and self.column is not None else groups
