"""Entropy l-diversity, and the arithmetic that decides it exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from reticent.base.exact import Number, exact
from reticent.core import Groups, Histograms
from reticent.definitions.claim_scope import GENERAL, ClaimScope, Openness
from reticent.definitions.definition import Assessment, GroupDefinition, SensitiveDefinition
from reticent.definitions.diversity import ValuesAtLeast, rows_above
from reticent.definitions.diversity_figures import diversity_diagnostics, occupied, witness_of
from reticent.definitions.logarithms import sign_of_logarithms
from reticent.definitions.number_text import listed, shown
from reticent.definitions.spread import Spread, spread_of
from reticent.definitions.value_sets import Values, membership, value_set

_ROUNDING = 2e-15


@dataclass(frozen=True)
class EntropyLDiversity(SensitiveDefinition):
    """The entropy of the sensitive values in every group is at least ``ln(l)``.

    Guarantee: a person's value is, in the sense of entropy, as uncertain as among ``l`` equally likely ones.
    Adversary: knows quasi values. Monotone (entropy is concave), not absorbing. Ties count as passing and are decided exactly.
    Not covered: the probability of a single value, which may exceed ``1/l``, and similar values.

    Counts of ``dont_care`` values may be lowered at will before the entropy is measured (our definition; the source only names the idea):
    the optimum caps them at a common height, and a group of don't-care values alone passes.
    Source: [Machanavajjhala2007], entropy l-diversity.

    Parameters:
        l: a number of at least 1, whole or not.
        dont_care: values that need no protection.
        column: the sensitive column; by default each sensitive column, with the others assumed known.

    Example:
        >>> import reticent as rt
        >>> table = rt.Table({"age": [30, 30, 30, 30], "illness": ["flu", "flu", "cold", "asthma"]}, quasi=["age"], sensitive="illness")
        >>> rt.assess(table, rt.EntropyLDiversity(2)).holds
        True
    """

    l: Number  # noqa: E741 - the contract calls it l
    dont_care: Values = ()
    column: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "l", exact(self.l, "EntropyLDiversity: l", low=1))
        object.__setattr__(self, "dont_care", value_set(self.dont_care, "EntropyLDiversity: dont_care"))

    @property
    def _dont_care(self) -> tuple[str | None, ...]:
        return value_set(self.dont_care, "dont_care")

    @property
    def convex(self) -> bool:
        """True without don't-care values, since entropy is concave; not known with them."""
        return not self._dont_care

    def relaxation(self) -> GroupDefinition | None:
        """At least ``ceil(l)`` distinct values: the entropy of m values is at most ``ln(m)``.

        This is the tightest one: ``ceil(l)`` distinct values contain a passing group of one row each.
        """
        return None if self._dont_care else ValuesAtLeast(math.ceil(Fraction(self.l)), self.column)

    def doomed_in(self, groups: Groups) -> NDArray[np.float64]:
        """A lower bound from the most frequent value: share p among m values gives entropy at most ``h(p) + (1 - p) ln(m - 1)``, which bounds p."""
        if self._dont_care:
            return np.zeros(len(groups))
        distinct = groups.histograms.distinct
        shares = np.array([_largest_share(m, float(Fraction(self.l))) for m in range(int(distinct.max(initial=0)) + 1)])
        return np.maximum(super().doomed_in(groups), rows_above(shares[distinct], groups))

    def failing_in(self, groups: Groups) -> NDArray[np.bool_]:
        """Mask the groups whose entropy is below ``log l``, ignoring don't-care values. Bounds on the number of values decide most groups, floats nearly all others, and exact arithmetic those within rounding error."""
        required, dont_care = Fraction(self.l), self._spared(groups)
        spread = spread_of(groups, dont_care)
        too_few_values = spread.values + spread.capped < math.ceil(required)
        # Equal counts, and a cap that suffices alone, are decided exactly before; these are the ties that floats would
        # miss.
        is_undecided = ~too_few_values & ~spread.uniform & (spread.capped + 1 < math.ceil(required))
        failing = too_few_values & (spread.total > 0)
        if not is_undecided.any():
            return failing
        excess, margin = _excess(spread, float(required))
        failing |= is_undecided & (excess < 0)
        for group in np.flatnonzero(is_undecided & (np.abs(excess) <= margin)).tolist():
            failing[group] = not _passes_exactly(*_counts_of(groups.histograms, group, dont_care), required)
        return failing

    def assess_in(self, groups: Groups) -> Assessment:
        """Return the smallest effective number of values, e to the entropy, the verdict and that group."""
        dont_care = self._spared(groups)
        failing = self.failing_in(groups)
        candidates = np.flatnonzero(failing) if failing.any() else occupied(groups)
        effective = spread_of(groups, dont_care).effective
        worst = int(candidates[np.argmin(effective[candidates])])
        achieved = float(effective[worst])
        text = f"values less varied than {shown(self.l)} equally likely ones; the worst is like {achieved:.6g}"
        witness = witness_of(groups, failing, worst, text)
        diagnostics = diversity_diagnostics(groups, failing, math.ceil(Fraction(self.l)), dont_care=dont_care)
        return Assessment(self, witness is None, achieved, witness, diagnostics)

    def promise(self, scope: ClaimScope) -> str:
        """Return the guarantee as the end of a sentence about an attacker."""
        spared = f" (values that may be learned do not count: {listed(self._dont_care)})" if self._dont_care else ""
        return (
            f"finds {scope.secret(self.column, 'and')} as open, measured by entropy, as {shown(self.l)} equally likely values{spared}"
            f"{scope.beside(self.column)}"
        )

    def not_covered(self, scope: ClaimScope = GENERAL) -> str:
        """Return what the definition does not protect against, in sentences."""
        return (
            f"Entropy is an average: the chance of a single value of {scope.secret(self.column)} may exceed 1/{shown(self.l)}. Values that resemble "
            "each other count as different."
        )

    @property
    def openness(self) -> Openness:
        return Openness.BOUNDED_SHARES if Fraction(self.l) > 1 and not self._dont_care else Openness.NOTHING

    def _spared(self, groups: Groups) -> NDArray[np.bool_] | None:
        return membership(groups, self._dont_care) if self._dont_care else None


@lru_cache(maxsize=4096)
def _largest_share(values: int, required: float) -> float:
    """Return an upper bound of the share of one value if ``values`` values have an entropy of at least
    ln(``required``).
    """
    if values < max(required, 2):
        return 1.0
    low, high = 1 / values, 1.0
    while high - low > 1e-9:
        share = (low + high) / 2
        entropy = (1 - share) * math.log((values - 1) / (1 - share)) - share * math.log(share)
        low, high = (share, high) if entropy >= math.log(required) else (low, share)
    return high


def _excess(spread: Spread, required: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """``W ln W - sum(n ln n) - W ln(l - j)`` of every group for a ``required`` l, and a bound on its rounding error.

    Every logarithm and product has an error of a few units in the last place of a number of at most ``W (ln W + l +
    1)``, and the sum of m of them at most m more.
    """
    total = np.maximum(spread.total, 1).astype(np.float64)
    required_fixed = np.maximum(required - spread.capped, 1.0)
    logs = np.log(total)
    excess = total * (logs - np.log(required_fixed)) - spread.weighted_logs
    margin = _ROUNDING * (spread.values + 8) * total * (logs + required + 1)
    return excess, margin


@lru_cache(maxsize=4096)
def _passes_exactly(fixed: tuple[int, ...], spared: tuple[int, ...], required: Fraction) -> bool:
    """True if one group's entropy is at least ln(``required``), in integers: ``W^W >= (l - j)^W * prod(n^n)``.

    n are the counts of the values that count (``fixed``) and of the don't-care values (``spared``) below the optimal
    cap, W is their sum; the j other don't-care values are lowered to the cap.
    """
    counts = list(fixed)
    capped = len(spared)
    for count in spared:
        below_the_cap = sign_of_logarithms([(count, sum(counts)), *((n, -n) for n in counts)]) < 0
        if not below_the_cap:
            break
        counts.append(count)
        capped -= 1
    if required - capped <= 1:
        return True
    # Dividing the counts by a common factor changes nothing and keeps the powers small.
    common = math.gcd(*counts)
    counts = [count // common for count in counts]
    total, required_fixed = sum(counts), required - capped
    powers = [
        (total, total),
        (required_fixed.denominator, total),
        (required_fixed.numerator, -total),
        *((n, -n) for n in counts),
    ]
    return sign_of_logarithms(powers) >= 0


def _counts_of(
    histograms: Histograms, group: int, dont_care: NDArray[np.bool_] | None
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """One group's counts that are fixed, and its don't-care counts, both ascending."""
    cells = slice(histograms.offsets[group], histograms.offsets[group + 1])
    counts = histograms.counts[cells]
    if dont_care is None:
        return tuple(np.sort(counts).tolist()), ()
    is_dont_care = dont_care[histograms.values[cells]]
    return tuple(np.sort(counts[~is_dont_care]).tolist()), tuple(np.sort(counts[is_dont_care]).tolist())
