"""Diversity of the sensitive values of an unmodified table, for each set of quasi-identifiers and each sensitive
column.

The results are about real people and are for the steward only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from reticent.base.context import Context
from reticent.core import Groups
from reticent.definitions import diversity_diagnostics, homogeneity_audit
from reticent.engine import count_table
from reticent.table import Table

_NEARLY = "0.95"
_DEPTH = 4


@dataclass(frozen=True)
class DiversityAudit:
    """What the groups of equal ``columns`` disclose about ``sensitive`` to an adversary who knows these columns.

    It counts homogeneous groups and their rows (one sensitive value for all, or for 95 % of the group). ``effective_l``
    is the exponential of the entropy of the least diverse group, ``table_effective_l`` that of the whole table, which
    no generalization exceeds. ``infimum_c[l]`` is the infimum of the c for which recursive (c,l)-diversity holds, and
    ``worst_posterior[j]`` the highest posterior after ruling out j values. Source: [Machanavajjhala2007].
    """

    columns: tuple[str, ...]
    sensitive: str
    homogeneous_groups: int
    homogeneous_rows: int
    nearly_homogeneous_groups: int
    nearly_homogeneous_rows: int
    distinct: int
    effective_l: float
    table_effective_l: float
    infimum_c: Mapping[int, Fraction | float]
    worst_posterior: tuple[Fraction, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the audit as plain data; an infinite infimum of c is None."""
        figures = asdict(self)
        figures["infimum_c"] = {
            str(order): c if isinstance(c, Fraction) else None for order, c in self.infimum_c.items()
        }
        return figures


def diversity_audits(table: Table, *, context: Context | None = None) -> tuple[DiversityAudit, ...]:
    """Return the audit for each set of quasi-identifiers that an adversary may know, and each sensitive column."""
    if not table.sensitive:
        return ()
    context = context or Context()
    frequencies = count_table(table, context)
    names = list(table.quasi)
    audits = []
    for columns in table.quasi_sets or (tuple(names),):
        context.step("auditing sensitive values")
        group_of_point, group_count = frequencies.group_ids(frequencies.levels, [names.index(name) for name in columns])
        groups = frequencies.merged(group_of_point, group_count)
        audits += [_audit(groups.marginal(name), tuple(columns), name) for name in table.sensitive]
    return tuple(audits)


def _audit(groups: Groups, columns: tuple[str, ...], sensitive: str) -> DiversityAudit:
    """Return how diverse a sensitive column is within groups: groups of one value, or nearly so, and the diagnostics of l-diversity."""
    shared, nearly = homogeneity_audit(groups), homogeneity_audit(groups, _NEARLY)
    figures = diversity_diagnostics(groups, np.zeros(len(groups), dtype=bool), _DEPTH)
    table_figures = diversity_diagnostics(groups.whole(), np.zeros(1, dtype=bool), _DEPTH)
    return DiversityAudit(
        columns,
        sensitive,
        homogeneous_groups=shared.groups,
        homogeneous_rows=shared.rows,
        nearly_homogeneous_groups=nearly.groups,
        nearly_homogeneous_rows=nearly.rows,
        distinct=figures["distinct"],
        effective_l=figures["effective_l"],
        table_effective_l=table_figures["effective_l"],
        infimum_c=figures["infimum_c"],
        worst_posterior=tuple(figures["worst_posterior"]),
    )
