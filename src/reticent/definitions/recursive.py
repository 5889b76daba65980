"""Recursive (c,l)-diversity and its variants with don't-care values and values that must remain possible."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from reticent.base.exact import Number, exact, whole
from reticent.core import Groups
from reticent.definitions.claim_scope import GENERAL, ClaimScope, Openness
from reticent.definitions.definition import Assessment, GroupDefinition, SensitiveDefinition, others_known
from reticent.definitions.diversity import ValuesAtLeast
from reticent.definitions.diversity_figures import diversity_diagnostics, occupied, witness_of, worst_tail
from reticent.definitions.number_text import listed, measured, shown
from reticent.definitions.scaled_comparison import largest_below, largest_ratio, less
from reticent.definitions.tails import leading, tail_bounds, tails
from reticent.definitions.value_sets import Values, membership, value_set
from reticent.errors import PolicyError


@dataclass(frozen=True)
class RecursiveLDiversity(SensitiveDefinition):
    """In every group ``r1 < c * (r_l + ... + r_m)``, for the counts r1 >= r2 >= ... of its m sensitive values.

    Guarantee: an adversary who rules out ``l - 2`` values is still less than ``c/(c + 1)`` sure of any value that is not don't-care (the source
    prints c).
    Adversary: knows quasi values, rules out any ``l - 2`` sensitive values.
    The inequality is strict, ``l = 1`` always passes, and a group of fewer than ``l`` values fails.

    With ``dont_care`` only the most frequent other value is bounded, relative to the rest of the group without the ``l - 2`` most
    frequent other values; a group of don't-care values alone passes. Monotone: leading counts are subadditive and tails superadditive under merging (the source prints equality).
    Not absorbing.
    Not covered: an adversary who rules out more values, correlations between people, and similar values.
    Source: [Machanavajjhala2007], recursive (c,l)-diversity; corrected: the bound is c/(c + 1), and tails are superadditive.

    Parameters:
        c: the factor, above 0.
        l: the rank at which the tail starts, so that ``l - 2`` values can be ruled out.
        dont_care: values that need no protection.
        column: the sensitive column; by default each sensitive column, with the others assumed known.
        alone: judge the column by itself, for adversaries who know quasi values only.

    Example:
        >>> import reticent as rt
        >>> table = rt.Table({"age": [30, 30, 30, 30], "illness": ["flu", "flu", "cold", "asthma"]}, quasi=["age"], sensitive="illness")
        >>> rt.assess(table, rt.RecursiveLDiversity(c=2, l=2)).holds
        True
    """

    c: Number
    l: int  # noqa: E741 - the contract calls it l
    dont_care: Values = ()
    column: str | None = None
    alone: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "c", positive(self.c, "RecursiveLDiversity: c"))
        whole(self.l, "RecursiveLDiversity: l", low=1)
        object.__setattr__(self, "dont_care", value_set(self.dont_care, "RecursiveLDiversity: dont_care"))

    @property
    def _dont_care(self) -> tuple[str | None, ...]:
        return value_set(self.dont_care, "dont_care")

    @property
    def convex(self) -> bool:
        """True if every weighted mixture of passing distributions passes; proven without don't-care values only.

        The largest share r1 and the sum of the l - 1 largest are convex, hence so is ``r1 - c (1 - sum)``.
        """
        return not self._dont_care

    def relaxation(self) -> GroupDefinition | None:
        """At least ``l + floor(1/c)`` distinct values, which ``r1 < c (m - l + 1) r_l`` requires; that many values contain a passing group."""
        if self._dont_care or self.l == 1:
            return None
        return ValuesAtLeast(self.l + math.floor(1 / Fraction(self.c)), self.column)

    def doomed_in(self, groups: Groups) -> NDArray[np.float64]:
        """Return, by group, a lower bound on the rows that fail however the group is split further.

        The kept rows of a value are less than c times its tail (the rows of the values from rank l on), and a tail only
        shrinks when rows are removed.
        """
        doomed = super().doomed_in(groups)
        failing = self.failing_in(groups) & (doomed == 0)
        if not failing.any():
            return doomed
        undoomed = groups.select(failing)
        lead = leading(undoomed.histograms, self._spared(undoomed))
        tail = tails(undoomed.histograms, undoomed.sizes, lead, self.l - 2)
        cap = np.maximum(largest_below(Fraction(self.c), tail), 0).astype(np.float64)
        if self._dont_care:
            doomed[failing] = np.maximum(lead - cap, 0)
            return doomed
        # The first l - 1 values have the same tail.
        histograms = undoomed.histograms
        rank = np.arange(len(histograms.ranked)) - np.repeat(histograms.offsets[:-1], histograms.distinct)
        surplus = np.where(rank < self.l - 1, histograms.ranked - np.repeat(cap, histograms.distinct), 0)
        doomed[failing] = histograms.sum_cells(np.maximum(surplus, 0))
        return doomed

    @property
    def by_counts(self) -> bool:
        return self.alone and not self._dont_care

    def failing_in(self, groups: Groups) -> NDArray[np.bool_]:
        """Mask the groups whose most frequent value has at least ``c`` times the rows of the values from rank ``l`` on. Bounds on that tail decide most groups, exact tails the others."""
        if self.l == 1:
            return np.zeros(len(groups), dtype=bool)
        c, histograms = Fraction(self.c), groups.histograms
        lead = leading(histograms, self._spared(groups))
        low, high = tail_bounds(histograms, groups.sizes, lead, self.l - 2)
        possible = less(lead, c, high) | (lead == 0)
        failing: NDArray[np.bool_] = ~possible
        undecided = possible & ~less(lead, c, low) & (lead > 0)
        if undecided.any():
            undecided_histograms = histograms.select(undecided)
            exact_tails = tails(undecided_histograms, groups.sizes[undecided], lead[undecided], self.l - 2)
            failing[undecided] = ~less(lead[undecided], c, exact_tails)
        return failing

    def assess_in(self, groups: Groups) -> Assessment:
        """Return the infimum of the ``c`` that all groups satisfy, the verdict and the worst group."""
        failing = self.failing_in(groups)
        worst, infimum = self.infimum_c(groups)
        witness = witness_of(
            groups, failing, worst, f"a value too likely for (c,l) = ({shown(self.c)},{self.l}); {_need(infimum)}"
        )
        spared = self._spared(groups)
        diagnostics = diversity_diagnostics(groups, failing, self.l, c=Fraction(self.c), dont_care=spared)
        return Assessment(self, witness is None, infimum, witness, diagnostics)

    def infimum_c(self, groups: Groups) -> tuple[int, Fraction | float]:
        """The worst group, and the number that c must exceed there for this l (infinite if no c suffices)."""
        if self.l == 1:
            return int(occupied(groups)[0]), Fraction(0)
        return worst_tail(groups, self.l - 2, self._spared(groups))

    def promise(self, scope: ClaimScope) -> str:
        """Return the guarantee as the end of a sentence about an attacker."""
        if self.l == 1:
            return f"is promised nothing about {scope.secret(self.column)}: with l=1 all records pass"
        spared = f" (values that may be learned do not count: {listed(self._dont_care)})" if self._dont_care else ""
        after = f", even after ruling out {_values(self.l - 2)}" if self.l > 2 else ""
        return (
            f"is less than {certainty(Fraction(self.c))} sure of {scope.secret(self.column)}{after}{spared}"
            f"{scope.beside(self.column, self.alone)}"
        )

    def not_covered(self, scope: ClaimScope = GENERAL) -> str:
        """Return what the definition does not protect against, in sentences."""
        return others_known(self.alone) + (
            f"An attacker who can rule out more values of {scope.secret(self.column)}, who knows how people's values depend on each other, or who "
            "is content with values that resemble each other is not covered."
        )

    @property
    def openness(self) -> Openness:
        return Openness.BOUNDED_SHARES if self.l > 1 and not self._dont_care else Openness.NOTHING

    def _spared(self, groups: Groups) -> NDArray[np.bool_] | None:
        return membership(groups, self._dont_care) if self._dont_care else None


@dataclass(frozen=True)
class NegativePositiveDiversity(SensitiveDefinition):
    """Recursive (c1,l)-diversity with don't-care values, and every must-keep value has a minimum share of every group.

    Guarantee: as for :class:`RecursiveLDiversity`, and no adversary can rule out a value in ``must_keep``: it makes up at least ``c2``
    percent of every group; groups without it fail.
    Adversary: the same. Monotone: a mixture of shares of at least ``c2`` percent has at least ``c2`` percent.
    Not covered: as for :class:`RecursiveLDiversity`.
    Source: [Machanavajjhala2007], negative/positive disclosure-recursive diversity.

    Parameters:
        c1, l: as ``c`` and ``l`` of :class:`RecursiveLDiversity`.
        c2: the minimum share of a must-keep value, in percent.
        dont_care: values that need no protection.
        must_keep: values that no adversary may rule out.
        column: the sensitive column; by default each sensitive column, with the others assumed known.

    Example:
        >>> import reticent as rt
        >>> table = rt.Table({"age": [30, 30, 30, 30], "illness": ["flu", "flu", "cold", "asthma"]}, quasi=["age"], sensitive="illness")
        >>> rt.assess(table, rt.NegativePositiveDiversity(c1=2, c2=20, l=2, dont_care=[], must_keep=["flu"])).holds
        True
    """

    c1: Number
    c2: Number
    l: int  # noqa: E741 - the contract calls it l
    dont_care: Values
    must_keep: Values
    column: str | None = None

    def __post_init__(self) -> None:
        """Check the parameters, and store them in their exact or normalized form."""
        object.__setattr__(self, "c1", positive(self.c1, "NegativePositiveDiversity: c1"))
        percent = positive(self.c2, "NegativePositiveDiversity: c2")
        if percent >= 100:
            raise PolicyError(f"NegativePositiveDiversity: c2 is a percentage below 100, but it is {self.c2}.")
        object.__setattr__(self, "c2", percent)
        whole(self.l, "NegativePositiveDiversity: l", low=1)
        for name in ("dont_care", "must_keep"):
            object.__setattr__(self, name, value_set(getattr(self, name), f"NegativePositiveDiversity: {name}"))

    @property
    def positive(self) -> RecursiveLDiversity:
        """The part against positive disclosure: inferring that a person has a value."""
        return RecursiveLDiversity(self.c1, self.l, self.dont_care, self.column)

    @property
    def _must_keep(self) -> tuple[str | None, ...]:
        return value_set(self.must_keep, "must_keep")

    def relaxation(self) -> GroupDefinition | None:
        """All must-keep values are present, and the positive part has its own relaxation."""
        positive_part = self.positive.relaxation()
        needed = max(positive_part.l if isinstance(positive_part, ValuesAtLeast) else 0, len(self._must_keep))
        return ValuesAtLeast(needed, self.column) if needed > 1 else None

    def doomed_in(self, groups: Groups) -> NDArray[np.float64]:
        return np.maximum(super().doomed_in(groups), self.positive.doomed_in(groups))

    def failing_in(self, groups: Groups) -> NDArray[np.bool_]:
        return self.positive.failing_in(groups) | self._excludable(groups)

    def assess_in(self, groups: Groups) -> Assessment:
        """Return the infimum of ``c1`` and the smallest share of a must-keep value, the verdict and the worst group."""
        failing = self.failing_in(groups)
        worst, infimum = self.positive.infimum_c(groups)
        value: dict[str, Fraction | float] = {"c1": infimum}
        text = f"a value too likely for c1 = {shown(self.c1)}, l = {self.l}, or one that can be ruled out; {_need(infimum)}"
        if self._must_keep:
            scarcest, share = self._least_share(groups)
            value["c2"] = share
            if share < Fraction(self.c2):
                worst = scarcest
                text += (
                    f"; the scarcest must-keep value has {float(share):.4g} % of a group and needs {shown(self.c2)} %"
                )
        witness = witness_of(groups, failing, worst, text)
        spared = self.positive._spared(groups)
        diagnostics = diversity_diagnostics(groups, failing, self.l, c=Fraction(self.c1), dont_care=spared)
        return Assessment(self, witness is None, value, witness, diagnostics)

    def promise(self, scope: ClaimScope) -> str:
        must_keep_clause = f", and cannot rule out {listed(self._must_keep)}: each makes up at least {shown(self.c2)} % of {scope.alike}"
        return self.positive.promise(scope) + (must_keep_clause if self._must_keep else "")

    def not_covered(self, scope: ClaimScope = GENERAL) -> str:
        return self.positive.not_covered(scope)

    def _fewest_kept(self, groups: Groups) -> NDArray[np.int64]:
        """The count of the rarest must-keep value in every group."""
        return groups.found(("fewest kept", self._must_keep), lambda: self._kept_counts(groups).min(axis=0))

    def _kept_counts(self, groups: Groups) -> NDArray[np.int64]:
        """The counts of the must-keep values (rows) by group (columns)."""
        counts = np.zeros((len(self._must_keep), len(groups)), dtype=np.int64)
        row_of_value = np.full(groups.domain.size, -1)
        row_of_value[membership(groups, self._must_keep)] = np.arange(len(self._must_keep))
        rows = row_of_value[groups.histograms.values]
        cells = rows >= 0
        counts[rows[cells], groups.histograms.owners[cells]] = groups.histograms.counts[cells]
        return counts

    def _excludable(self, groups: Groups) -> NDArray[np.bool_]:
        """Mask of groups in which a must-keep value is below c2 percent."""
        if not self._must_keep:
            return np.zeros(len(groups), dtype=bool)
        return less(self._fewest_kept(groups), Fraction(self.c2) / 100, groups.sizes)

    def _least_share(self, groups: Groups) -> tuple[int, Fraction]:
        """The group in which a must-keep value is rarest, and its share in percent."""
        filled = occupied(groups)
        missing = (groups.sizes - self._fewest_kept(groups))[filled]
        index, largest_missing = largest_ratio(missing, groups.sizes[filled])
        return int(filled[index]), 100 * (1 - Fraction(largest_missing))


def positive(value: Number, name: str) -> Fraction:
    """``value`` as a fraction above zero."""
    return exact(value, name, above=0)


def certainty(c: Fraction) -> str:
    """The strict upper bound on an adversary's certainty under (c,l)-diversity: ``c/(c + 1)`` as a percentage."""
    share = 100 * c / (c + 1)
    return f"{shown(share)} %" if "/" not in shown(share) else f"{float(share):.4g} % ({c / (c + 1)})"


def _values(count: int) -> str:
    return {0: "no value", 1: "any one of its values"}.get(count, f"any {count} of its values")


def _need(infimum: Fraction | float) -> str:
    return f"c would have to exceed {measured(infimum)}" if isinstance(infimum, Fraction) else "no c is large enough"
