"""The homogeneity audit: groups whose sensitive value a release discloses by itself."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from reticent.base.exact import Number, exact
from reticent.core import Groups
from reticent.definitions.scaled_comparison import less


@dataclass(frozen=True)
class HomogeneityAudit:
    """The groups in which one sensitive value makes up at least ``tau`` of the rows. For the steward only.

    ``rows`` counts all rows of these groups: a wrong inference is harmful as well.
    """

    tau: Fraction
    affected: NDArray[np.int64]
    rows: int

    @property
    def groups(self) -> int:
        """The number of affected groups."""
        return len(self.affected)


def homogeneity_audit(groups: Groups, tau: Number = "1", column: str | None = None) -> HomogeneityAudit:
    """Find the groups in which at least ``tau`` of the people share a sensitive value, so group membership discloses it.

    Parameters:
        groups: the groups of a release or of a draft.
        tau: the minimum share at which a value counts as disclosed.
        column: one sensitive column; by default any.

    Returns:
        The audit: which groups disclose a value, and how many people are in them.

    Example:
        >>> import reticent as rt
        >>> rows = {"age": [31, 33, 52, 58], "town": ["Aix"] * 4, "illness": ["flu", "cold", "flu", "cold"]}
        >>> ages = rt.Hierarchy.intervals([10, 20], domain=(0, 99))
        >>> table = rt.Table(rows, quasi={"age": ages, "town": None}, sensitive="illness")
        >>> release = rt.publish(table, rt.KAnonymity(2), method=rt.Lattice())
        >>> rt.homogeneity_audit(release.groups).rows
        0
    """
    share = exact(tau, "homogeneity_audit: tau", above=0, high=1)
    if not groups.domain.columns:
        groups.of(None)
    names = [column.name for column in groups.domain.columns] if column is None else [column]
    affected = np.zeros(len(groups), dtype=bool)
    for name in names:
        marginal = groups.marginal(name)
        affected |= ~less(marginal.histograms.top, share, marginal.sizes)
    affected &= groups.sizes > 0
    return HomogeneityAudit(share, np.flatnonzero(affected), int(groups.sizes[affected].sum()))
