"""Bounds on the ratio of a value's share in a group to its share in the whole table: beta-likeness, delta-disclosure."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.base.exact import Number
from reticent.core import Groups
from reticent.definitions.bounded import rows_over
from reticent.definitions.claim_scope import GENERAL, ClaimScope
from reticent.definitions.definition import Assessment, SensitiveDefinition
from reticent.definitions.diversity_figures import failures, occupied, witness_of
from reticent.definitions.logarithms import sign_of_logarithms
from reticent.definitions.number_text import measured, shown
from reticent.definitions.recursive import positive
from reticent.definitions.scaled_comparison import WIDEST, at_most, largest_ratio
from reticent.errors import PolicyError

_ROUNDING = 1e-12
_FIRST_PRECISION = 40


@dataclass(frozen=True)
class Shares:
    """For every histogram entry, its share ``p`` of the group over the value's share ``q`` of the whole table, as ``above / below``."""

    above: NDArray[Any]
    below: NDArray[Any]

    @classmethod
    def of(cls, groups: Groups) -> Shares:
        """``p/q = (n_s N) / (n R_s)`` in integers: 64-bit if they fit, otherwise Python's."""
        return groups.found("shares", lambda: cls._measured(groups))

    @classmethod
    def _measured(cls, groups: Groups) -> Shares:
        """Return for every histogram entry p/q (share of the group over share of the whole table) as a fraction of
        integers: (count x rows of the table) / (rows of the group x count in the table).
        """
        cells, rows = groups.histograms, int(groups.reference.sum())
        number = np.int64 if int(groups.sizes.max(initial=0)) * max(rows, 1) < WIDEST else object
        sizes = np.repeat(groups.sizes, cells.distinct).astype(number)
        return cls(cells.counts.astype(number) * rows, sizes * groups.reference[cells.values].astype(number))

    @cached_property
    def ratios(self) -> NDArray[np.float64]:
        """The ratios, rounded."""
        return self.above.astype(np.float64) / np.maximum(self.below.astype(np.float64), 1.0)

    @cached_property
    def distances(self) -> NDArray[np.float64]:
        """The absolute logarithms of the ratios to base 2, rounded."""
        distances: NDArray[np.float64] = np.abs(
            np.log2(self.above.astype(np.float64)) - np.log2(self.below.astype(np.float64))
        )
        return distances


@dataclass(frozen=True)
class BetaLikeness(SensitiveDefinition):
    """No value's share grows by more than ``beta`` in a group: ``(p - q)/q <= beta``, q its share of the whole table.

    Guarantee: knowing the quasi values makes a value at most ``1 + beta`` times as likely.
    Adversary: knows quasi values and the whole table's distribution, which includes suppressed rows.
    Not covered: values that become less likely or are absent, and knowledge about particular people.
    Monotone: each value's share of a mixture is at most the largest of its shares.
    Source: [Cao2012].

    Parameters:
        beta: the largest relative growth.
        enhanced: bound frequent values more tightly, by ``min(beta, -ln q)``, so that none can come to fill a group.
        column: the sensitive column; by default each sensitive column, with the others assumed known.

    Example:
        >>> import reticent as rt
        >>> table = rt.Table({"age": [30, 30, 50, 50], "illness": ["flu", "cold", "flu", "flu"]}, quasi=["age"], sensitive="illness")
        >>> rt.assess(table, rt.BetaLikeness(1)).value
        Fraction(1, 1)
    """

    beta: Number
    enhanced: bool = False
    column: str | None = None

    needs_reference = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "beta", positive(self.beta, "BetaLikeness: beta"))
        if not isinstance(self.enhanced, bool):
            raise PolicyError(f"BetaLikeness: enhanced must be true or false, but it is {self.enhanced!r}.")

    @property
    def convex(self) -> bool:
        """True: a value's share of a mixture is at most the largest of its shares, and the bound is that of the whole table."""
        return True

    def failing_in(self, groups: Groups) -> NDArray[np.bool_]:
        shares = Shares.of(groups)
        return _any_cell(groups, self._grown(shares) | self._beyond_logarithm(groups, shares))

    def assess_in(self, groups: Groups) -> Assessment:
        """Return the largest relative growth of a value's share in a group, the verdict and that group."""
        shares = Shares.of(groups)
        beyond = self._beyond_logarithm(groups, shares)
        failing = _any_cell(groups, self._grown(shares) | beyond)
        occupied(groups)
        worst, ratio = largest_ratio(shares.above, shares.below)
        growth: Fraction | float = Fraction(ratio) - 1
        text = f"a value that grew by more than {shown(self.beta)} of its share; the worst grew by {measured(Fraction(growth))}"
        if beyond.any():
            worst, growth = int(np.argmax(np.where(beyond, shares.ratios, 0))), math.inf
            text = "a value that grew by more than -ln of its share in the whole table, which no beta allows"
        witness = witness_of(groups, failing, int(groups.histograms.owners[worst]), text)
        return Assessment(self, witness is None, growth, witness, failures(groups, failing))

    def doomed_in(self, groups: Groups) -> NDArray[np.float64]:
        """A lower bound: each value may have at most ``q (1 + beta)`` of the rows kept of a group."""
        cells, rows = groups.histograms, groups.reference.astype(np.float64)
        shares = rows / max(rows.sum(), 1.0)
        growth = np.full(len(shares), float(Fraction(self.beta)))
        if self.enhanced:
            growth = np.minimum(growth, -np.log(np.maximum(shares, 1e-300)))
        caps = np.minimum(shares * (1 + growth), 1.0)
        rows_to_remove = rows_over(cells.counts, caps[cells.values], np.repeat(groups.sizes, cells.distinct))
        return cells.reduce_max(rows_to_remove.astype(np.int64)).astype(np.float64)

    def promise(self, scope: ClaimScope) -> str:
        """Return the guarantee as the end of a sentence about an attacker."""
        tighter = "; values that are frequent in the whole table are bounded more tightly" if self.enhanced else ""
        return (
            f"finds no value of {scope.secret(self.column)} more than {shown(1 + Fraction(self.beta))} times as frequent among {scope.alike} as in "
            f"the whole table{tighter}{scope.beside(self.column)}"
        )

    def not_covered(self, scope: ClaimScope = GENERAL) -> str:
        """Return what the definition does not protect against, in sentences."""
        return (
            f"What holds for the whole table is not hidden, nor that a value of {scope.secret(self.column)} is rarer among {scope.alike}, or absent. An "
            "attacker who knows about particular others is not covered."
        )

    def _grown(self, shares: Shares) -> NDArray[np.bool_]:
        """Mask of entries with ``p/q - 1 > beta``."""
        return ~at_most(shares.above, 1 + Fraction(self.beta), shares.below)

    def _beyond_logarithm(self, groups: Groups, shares: Shares) -> NDArray[np.bool_]:
        """Mask of entries with ``p/q - 1 > -ln q`` if ``enhanced``; floats decide where their error cannot matter, exact arithmetic the rest."""
        if not self.enhanced:
            return np.zeros(len(shares.above), dtype=bool)
        rows = int(groups.reference.sum())
        reference_counts = groups.reference[groups.histograms.values]
        bounds = (np.log(rows) - np.log(np.maximum(groups.reference, 1)))[groups.histograms.values]
        excess = shares.ratios - 1 - bounds
        return _decided(
            excess,
            _ROUNDING * (shares.ratios + bounds + 1),
            lambda cell: exceeds_logarithm(
                Fraction(int(shares.above[cell]), int(shares.below[cell])) - 1,
                Fraction(rows, int(reference_counts[cell])),
            ),
        )


@dataclass(frozen=True)
class DeltaDisclosure(SensitiveDefinition):
    """Every value that occurs in a group is about as frequent there as in the whole table: ``|log2(p/q)| < delta``, strictly.

    Guarantee: knowing the quasi values makes a value that occurs in the group less than
    ``2^delta`` times more or less likely.
    Adversary: knows quasi values and the whole table's distribution, which includes suppressed rows.
    Not covered: values absent from a group, which can be ruled out, and knowledge about particular people.
    Not monotone: a group that
    lacks a value passes, and dilutes it where it joins one that has it. Decided by integer powers.
    Source: [Brickell2008], with the logarithm to base 2.

    Parameters:
        delta: the bound on the logarithm.
        column: the sensitive column; by default each sensitive column, with the others assumed known.

    Example:
        >>> import reticent as rt
        >>> table = rt.Table({"age": [30, 30, 50, 50], "illness": ["flu", "cold", "flu", "flu"]}, quasi=["age"], sensitive="illness")
        >>> rt.assess(table, rt.DeltaDisclosure(2)).holds
        True
    """

    delta: Number
    column: str | None = None

    monotone = False
    needs_reference = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", positive(self.delta, "DeltaDisclosure: delta"))

    def failing_in(self, groups: Groups) -> NDArray[np.bool_]:
        return _any_cell(groups, self._too_far(Shares.of(groups)))

    def assess_in(self, groups: Groups) -> Assessment:
        """Return the largest distance of the logarithms of a value's shares in a group and in the whole table, the verdict and that group."""
        shares = Shares.of(groups)
        occupied(groups)
        cells = self._too_far(shares)
        failing = _any_cell(groups, cells)
        distances = shares.distances
        # Rounding must not select a passing entry as the worst while another fails.
        worst = int(np.argmax(np.where(cells, distances, -1) if cells.any() else distances))
        achieved = float(distances[worst])
        text = f"a value whose share is 2^{shown(self.delta)} times off or more; the worst is off by 2^{achieved:.4g}"
        witness = witness_of(groups, failing, int(groups.histograms.owners[worst]), text)
        return Assessment(self, witness is None, achieved, witness, failures(groups, failing))

    def promise(self, scope: ClaimScope) -> str:
        """Return the guarantee as the end of a sentence about an attacker."""
        return (
            f"finds each value of {scope.secret(self.column, 'and')} that occurs among {scope.alike} less than 2^{shown(self.delta)} times more or less "
            f"frequent there than in the whole table{scope.beside(self.column)}"
        )

    def not_covered(self, scope: ClaimScope = GENERAL) -> str:
        """Return what the definition does not protect against, in sentences."""
        return (
            f"Values of {scope.secret(self.column)} that are absent among {scope.alike} can be ruled out, and what holds for the whole table is not hidden. An "
            "attacker who knows about particular others is not covered."
        )

    def _too_far(self, shares: Shares) -> NDArray[np.bool_]:
        """Mask the (group, value) entries whose distance is at least ``delta``; near ties are decided exactly."""
        delta, distances = Fraction(self.delta), shares.distances
        return _decided(
            distances - float(delta),
            _ROUNDING * (distances + float(delta) + 1),
            lambda cell: _reaches(int(shares.above[cell]), int(shares.below[cell]), delta),
        )


def _decided(
    excess: NDArray[np.float64], margin: NDArray[np.float64], exceeds: Callable[[int], bool]
) -> NDArray[np.bool_]:
    """Mask of positive excess; within the margin, ``exceeds`` decides exactly."""
    over: NDArray[np.bool_] = excess > 0
    for cell in np.flatnonzero(np.abs(excess) <= margin).tolist():
        over[cell] = exceeds(cell)
    return over


def _reaches(above: int, below: int, delta: Fraction) -> bool:
    """True if ``|log2(above/below)| >= delta``, by the powers ``(above/below)^v`` and ``2^u`` for ``delta = u/v``."""
    common = math.gcd(above, below)
    return _reaches_power(max(above, below) // common, min(above, below) // common, delta)


@lru_cache(maxsize=4096)
def _reaches_power(larger: int, smaller: int, delta: Fraction) -> bool:
    powers = [(larger, delta.denominator), (smaller, -delta.denominator), (2, -delta.numerator)]
    return sign_of_logarithms(powers) >= 0


@lru_cache(maxsize=4096)
def exceeds_logarithm(value: Fraction, argument: Fraction) -> bool:
    """True if ``value > ln(argument)``, exactly, for an ``argument`` of at least 1.

    The logarithm of a rational other than 1 is irrational (Lindemann), so rising precision decides.
    """
    if argument == 1:
        return value > 0
    precision = _FIRST_PRECISION
    while True:
        with localcontext() as context:
            context.prec = precision
            logarithm = Decimal(argument.numerator).ln() - Decimal(argument.denominator).ln()
            difference = Decimal(value.numerator) / Decimal(value.denominator) - logarithm
            scale = Decimal(argument.numerator).ln() + Decimal(argument.denominator).ln() + abs(difference) + 1
            if abs(difference) > 8 * scale * Decimal(10) ** (1 - precision):
                return difference > 0
        precision *= 2


def _any_cell(groups: Groups, cells: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Mask of the groups with a marked entry."""
    return groups.histograms.reduce_max(cells)
