"""Diversity by counting: distinct values, and the share of the most frequent one."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from reticent.base.exact import Number, exact, whole
from reticent.core import Groups
from reticent.definitions.claim_scope import GENERAL, ClaimScope, Openness, column_list, plural
from reticent.definitions.definition import (
    Assessment,
    CountedRows,
    GroupDefinition,
    SensitiveDefinition,
    others_known,
)
from reticent.definitions.diversity_figures import diversity_diagnostics, occupied, witness_of
from reticent.definitions.number_text import measured, shown
from reticent.definitions.scaled_comparison import at_most, largest_ratio

_ROUNDING = 1e-6


@dataclass(frozen=True)
class DistinctLDiversity(SensitiveDefinition):
    """Every group has at least ``l`` different sensitive values.

    Guarantee: no adversary is certain of a person's value, nor becomes so by ruling out fewer than ``l - 1`` values.
    Adversary: knows quasi values, and rules values out; how likely the remaining ones are is not bounded.
    Monotone and, with one sensitive column, absorbing: rows that join a group take no value away.
    Not covered: probabilistic inference (nearly all records of a group may have one value), and similar values.
    Source: [Machanavajjhala2007], distinct l-diversity.

    Parameters:
        l: the smallest number of different values in a group.
        column: the sensitive column; by default each sensitive column, with the others assumed known.
        alone: judge the column by itself, for adversaries who know quasi values only.

    Example:
        >>> import reticent as rt
        >>> table = rt.Table({"age": [30, 30, 30, 30], "illness": ["flu", "flu", "cold", "asthma"]}, quasi=["age"], sensitive="illness")
        >>> rt.assess(table, rt.DistinctLDiversity(3)).value
        3
    """

    l: int  # noqa: E741 - the contract calls it l
    column: str | None = None
    alone: bool = False

    absorbing = True

    def __post_init__(self) -> None:
        whole(self.l, "DistinctLDiversity: l", low=1)

    @property
    def convex(self) -> bool:
        """True: a mixture has every value of its parts."""
        return True

    def relaxation(self) -> GroupDefinition | None:
        """The same number of values per column by itself: a refined group of a passing group has it, hence the whole group."""
        return ValuesAtLeast(self.l, self.column)

    def least_rows(self) -> int:
        return self.l

    @property
    def by_counts(self) -> bool:
        return self.alone

    def failing_in(self, groups: Groups) -> NDArray[np.bool_]:
        return (groups.histograms.distinct < self.l) & (groups.sizes > 0)

    def assess_in(self, groups: Groups) -> Assessment:
        """Return the smallest number of distinct values in a group, the verdict and that group."""
        filled = occupied(groups)
        failing = self.failing_in(groups)
        worst = int(filled[np.argmin(groups.histograms.distinct[filled])])
        achieved = int(groups.histograms.distinct[worst])
        text = f"fewer than {self.l} different values; the worst has {achieved}"
        witness = witness_of(groups, failing, worst, text)
        return Assessment(
            self, witness is None, achieved, witness, diversity_diagnostics(groups, failing, depth=self.l)
        )

    def promise(self, scope: ClaimScope) -> str:
        values = plural(self.l, "value")
        return f"cannot narrow {scope.secret(self.column)} to fewer than {self.l} {values}{scope.beside(self.column, self.alone)}"

    def not_covered(self, scope: ClaimScope = GENERAL) -> str:
        """Return what the guarantee does not cover, in words."""
        unbounded = tuple(name for name in scope.secrets(self.column) if name not in scope.bounded)
        if not unbounded and scope.secrets(self.column):
            return others_known(self.alone) + "Values that resemble each other count as different."
        return others_known(self.alone) + (
            f"How likely the most frequent value of {column_list(unbounded, 'or') if unbounded else scope.secret(None)} is, is not bounded: nearly all of {scope.alike} may have it."
        )

    @property
    def openness(self) -> Openness:
        return Openness.SEVERAL_VALUES if self.l > 1 else Openness.NOTHING


@dataclass(frozen=True)
class ValuesAtLeast(DistinctLDiversity):
    """Distinct diversity of each sensitive column by itself, regardless of the others: the relaxation of other
    definitions.

    Weaker with several sensitive columns, and absorbing with any number of them.
    """

    @property
    def by_counts(self) -> bool:
        return True

    def absorbing_on(self, counted: CountedRows) -> bool:
        return True

    def relaxation(self) -> GroupDefinition | None:
        return self

    def _refined(self, groups: Groups) -> Iterator[Groups]:
        for name in self._names(groups):
            yield groups.marginal(name)


@dataclass(frozen=True)
class ProbabilisticLDiversity(SensitiveDefinition):
    """No sensitive value makes up more than ``1/l`` of a group.

    Guarantee: an adversary who knows the quasi values guesses a person's value right with a probability of at most ``1/l``.
    Adversary: knows quasi values and nothing that would rule values out. Monotone: a mixture of shares is at most the largest of them.
    Not covered: an adversary who can rule values out.
    Source: [Xiao2006], where it is called l-diversity; the bound of :class:`AlphaKAnonymity` with alpha = 1/l.

    Parameters:
        l: a number of at least 1, whole or not.
        column: the sensitive column; by default each sensitive column, with the others assumed known.

    Example:
        >>> import reticent as rt
        >>> table = rt.Table({"age": [30, 30, 30, 30], "illness": ["flu", "flu", "cold", "asthma"]}, quasi=["age"], sensitive="illness")
        >>> rt.assess(table, rt.ProbabilisticLDiversity(2)).holds
        True
    """

    l: Number  # noqa: E741 - the contract calls it l
    column: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "l", exact(self.l, "ProbabilisticLDiversity: l", low=1))

    @property
    def convex(self) -> bool:
        """True: a value's share of a mixture is at most the largest of its shares."""
        return True

    def relaxation(self) -> GroupDefinition | None:
        """At least ``ceil(l)`` distinct values, which are needed if none exceeds ``1/l``."""
        return ValuesAtLeast(math.ceil(Fraction(self.l)), self.column)

    def doomed_in(self, groups: Groups) -> NDArray[np.float64]:
        return np.maximum(super().doomed_in(groups), rows_above(1 / float(Fraction(self.l)), groups))

    def failing_in(self, groups: Groups) -> NDArray[np.bool_]:
        return ~at_most(groups.histograms.top, 1 / Fraction(self.l), groups.sizes)

    def assess_in(self, groups: Groups) -> Assessment:
        """Return the inverse of the largest share of a value in a group, the verdict and that group."""
        filled = occupied(groups)
        failing = self.failing_in(groups)
        index, share = largest_ratio(groups.histograms.top[filled], groups.sizes[filled])
        worst = int(filled[index])
        text = f"a value with a share above 1/{shown(self.l)}; the worst has one with a share of {measured(Fraction(share))}"
        witness = witness_of(groups, failing, worst, text)
        diagnostics = diversity_diagnostics(groups, failing, depth=math.ceil(Fraction(self.l)))
        return Assessment(self, witness is None, 1 / Fraction(share), witness, diagnostics)

    def promise(self, scope: ClaimScope) -> str:
        share = shown(1 / Fraction(self.l))
        return f"is right about {scope.secret(self.column)} for at most {share} of {scope.alike}{scope.beside(self.column)}"

    def not_covered(self, scope: ClaimScope = GENERAL) -> str:
        return f"An attacker who can rule out some values of {scope.secret(self.column)} may be right more often."

    @property
    def openness(self) -> Openness:
        return Openness.BOUNDED_SHARES if Fraction(self.l) > 1 else Openness.NOTHING


def rows_above(share: float | NDArray[np.float64], groups: Groups) -> NDArray[np.float64]:
    """Lower bound on the rows to remove from each group so that its most frequent value is at most ``share`` of the rest.

    With v rows of n having the value, at best only such rows are removed: ``v - f <= share (n - f)`` needs ``f >= (v -
    share n) / (1 - share)``.
    """
    slack = np.maximum(1 - np.asarray(share), _ROUNDING)
    # The margin covers rounding; the bound must never be too high.
    removed: NDArray[np.float64] = np.ceil(
        (groups.histograms.top - share * groups.sizes) / slack - _ROUNDING * groups.sizes
    )
    return np.clip(removed, 0, groups.sizes)
