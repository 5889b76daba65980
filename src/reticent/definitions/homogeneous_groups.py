"""The homogeneity audit: whose sensitive value does a release give away by itself?"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from reticent.base.exact import Number, exact
from reticent.core import Groups
from reticent.definitions.comparison import less


@dataclass(frozen=True)
class HomogeneityAudit:
    """The groups in which one sensitive value makes up at least ``tau`` of the rows. For the steward only.

    ``rows`` counts all rows of these groups: being wrongly believed to have the value is harm as well.
    """

    tau: Fraction
    affected: NDArray[np.int64]
    rows: int

    @property
    def groups(self) -> int:
        """How many groups are affected."""
        return len(self.affected)


def homogeneity_audit(groups: Groups, tau: Number = "1", column: str | None = None) -> HomogeneityAudit:
    """Find the groups that give their people's value away (R-LD-5), in one sensitive column or in any."""
    share = exact(tau, "homogeneity_audit: tau", above=0, high=1)
    if not groups.domain.columns:
        groups.of(None)
    names = [each.name for each in groups.domain.columns] if column is None else [column]
    affected = np.zeros(len(groups), dtype=bool)
    for name in names:
        marginal = groups.marginal(name)
        affected |= ~less(marginal.histograms.top, share, marginal.sizes)
    affected &= groups.sizes > 0
    return HomogeneityAudit(share, np.flatnonzero(affected), int(groups.sizes[affected].sum()))
