"""The two conditions behind sequential publishing: groups without a repeated value, and rows that can be divided into such groups."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from reticent.base.exact import whole
from reticent.core import Groups
from reticent.definitions.claim_scope import GENERAL, ClaimScope, Openness
from reticent.definitions.definition import Assessment, GroupDefinition, SensitiveDefinition
from reticent.definitions.diversity import ProbabilisticLDiversity, ValuesAtLeast
from reticent.definitions.diversity_figures import failures, occupied, witness_of
from reticent.definitions.number_text import measured
from reticent.definitions.scaled_comparison import largest_ratio


@dataclass(frozen=True)
class MUnique(SensitiveDefinition):
    """Every group has at least ``m`` rows, and no two of them share their sensitive value.

    Guarantee: a person's value is one of at least ``m`` equally likely ones, and the set of values of a group (its signature) is
    all that is disclosed about it.
    Adversary: knows quasi values.
    Not monotone: groups that share a value cannot merge.
    Not covered: an adversary who compares releases or can rule values out.
    Source: [Xiao2007].

    Parameters:
        m: the smallest number of rows in a group.
        column: the sensitive column; by default each sensitive column, with the others assumed known.

    Example:
        >>> import reticent as rt
        >>> table = rt.Table({"age": [30, 30, 30], "illness": ["flu", "cold", "asthma"]}, quasi=["age"], sensitive="illness")
        >>> rt.assess(table, rt.MUnique(3)).holds
        True
    """

    m: int
    column: str | None = None

    monotone = False

    def __post_init__(self) -> None:
        whole(self.m, "MUnique: m", low=1)

    def relaxation(self) -> GroupDefinition | None:
        """At least ``m`` distinct values, since a group has as many values as rows."""
        return ValuesAtLeast(self.m, self.column)

    def failing_in(self, groups: Groups) -> NDArray[np.bool_]:
        failing: NDArray[np.bool_] = ((groups.sizes < self.m) | (groups.histograms.top > 1)) & (groups.sizes > 0)
        return failing

    def assess_in(self, groups: Groups) -> Assessment:
        """Return the size of the smallest group, 0 if a group repeats a value (which no m allows), with the verdict and
        that group.
        """
        filled, failing = occupied(groups), self.failing_in(groups)
        repeats = groups.histograms.top > 1
        figures = np.where(repeats, 0, groups.sizes)[filled]
        index = int(np.argmin(figures))
        achieved = int(figures[index])
        reason = "the worst repeats a value" if achieved == 0 else f"the smallest has {achieved}"
        text = f"fewer than {self.m} rows or a repeated value; {reason}"
        witness = witness_of(groups, failing, int(filled[index]), text)
        diagnostics = {**failures(groups, failing), "repeating_groups": int(repeats.sum())}
        return Assessment(self, witness is None, achieved, witness, diagnostics)

    def promise(self, scope: ClaimScope) -> str:
        """Return the guarantee as the end of a sentence about an attacker."""
        return (
            f"sees at least {self.m} different values of {scope.secret(self.column)} among {scope.alike}, each of them once"
            f"{scope.beside(self.column)}"
        )

    def not_covered(self, scope: ClaimScope = GENERAL) -> str:
        return f"An attacker who compares several releases, or can rule out values of {scope.secret(self.column)}, is not covered."

    @property
    def openness(self) -> Openness:
        return Openness.BOUNDED_SHARES if self.m > 1 else Openness.NOTHING


@dataclass(frozen=True)
class MEligible(SensitiveDefinition):
    """No sensitive value makes up more than ``1/m`` of a group, so its rows can be divided into m-unique groups.

    Guarantee: as :class:`ProbabilisticLDiversity` with l = m. The diagnostics give the m for which the whole table is eligible,
    which is what bucketization with Anatomy needs.
    Adversary: knows quasi values. Monotone.
    Not covered: an adversary who compares releases or can rule values out.
    Source: [Xiao2006].

    Parameters:
        m: an integer of at least 1.
        column: the sensitive column; by default each sensitive column, with the others assumed known.

    Example:
        >>> import reticent as rt
        >>> table = rt.Table({"age": [30, 30, 30, 30], "illness": ["flu", "flu", "cold", "asthma"]}, quasi=["age"], sensitive="illness")
        >>> rt.assess(table, rt.MEligible(2)).holds
        True
    """

    m: int
    column: str | None = None

    def __post_init__(self) -> None:
        whole(self.m, "MEligible: m", low=1)

    @property
    def convex(self) -> bool:
        """True, as for :class:`ProbabilisticLDiversity`."""
        return True

    @property
    def _bounded(self) -> ProbabilisticLDiversity:
        return ProbabilisticLDiversity(self.m, self.column)

    def relaxation(self) -> GroupDefinition | None:
        return self._bounded.relaxation()

    def doomed_in(self, groups: Groups) -> NDArray[np.float64]:
        return self._bounded.doomed_in(groups)

    def failing_in(self, groups: Groups) -> NDArray[np.bool_]:
        return self._bounded.failing_in(groups)

    def assess_in(self, groups: Groups) -> Assessment:
        """Return the largest ``m`` for which all groups are eligible, the verdict and the worst group."""
        filled, failing = occupied(groups), self.failing_in(groups)
        index, share = largest_ratio(groups.histograms.top[filled], groups.sizes[filled])
        text = f"a value with a share above 1/{self.m}; the worst has one with a share of {measured(Fraction(share))}"
        witness = witness_of(groups, failing, int(filled[index]), text)
        whole_table = Fraction(int(groups.reference.max()), int(groups.reference.sum()))
        diagnostics = {**failures(groups, failing), "whole_table": math.floor(1 / whole_table)}
        return Assessment(self, witness is None, math.floor(1 / Fraction(share)), witness, diagnostics)

    def promise(self, scope: ClaimScope) -> str:
        return self._bounded.promise(scope)

    def not_covered(self, scope: ClaimScope = GENERAL) -> str:
        return f"An attacker who can rule out values of {scope.secret(self.column)}, or compares several releases, is not covered."

    @property
    def openness(self) -> Openness:
        return Openness.BOUNDED_SHARES if self.m > 1 else Openness.NOTHING
