"""FRAPP, the baseline: every record is kept with one probability, and otherwise replaced by another tuple of the domain.

Source: [Agrawal2005]. This module has the plan and its arithmetic; ``perturbed_records`` the result. Let a record have
weight w in a query, 0 if it does not meet the condition. Perturbed, it contributes w with probability g_f, and the
weight of any other tuple with q each: (g_f - q) w + q W on average, where W is the total weight of the domain. Its
second moment is (g_f - q) w^2 + q W2 likewise, W2 being the sum of squares. Both are linear in the record, so sums over
records, sums of squares, and the variance are estimated without bias.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.base.exact import Number, exact, whole
from reticent.base.privacy_cost import LossBound, logarithm_above
from reticent.definitions import Adversary, BoundedBelief, ExpectedError, Ratios, highest_allowed
from reticent.errors import DataError, Infeasible, PolicyError
from reticent.methods.randomize.draws import Draws
from reticent.methods.randomize.error_bounds import bernstein_from
from reticent.methods.randomize.exact_intervals import exact_interval
from reticent.methods.randomize.grouped_counts import Floats, Layer, times
from reticent.methods.randomize.instance import rows_of
from reticent.methods.randomize.tuple_sets import in_order
from reticent.methods.randomize.view_domain import Keys, ViewDomain


def kept_share(k: Number, gamma: Number) -> Fraction:
    """Return g_f = gamma/(gamma + k(1-gamma)): as private as alpha-beta with the same k and gamma.

    Up to a factor 1 + O(k/m) in the odds; :meth:`FrappPlan.for_belief` is exact.
    """
    multiple, belief = exact(k, "k"), exact(gamma, "gamma")
    return belief / (belief + multiple * (1 - belief))


@dataclass(frozen=True)
class FrappPlan:
    """The perturbation of records: kept with probability ``kept``, otherwise replaced by one of the m-1 other tuples uniformly.

    ``promise`` is the guarantee the plan was made for; a plan without one is for comparison, and its records cannot be
    released.
    """

    n: int
    domain: ViewDomain
    kept: Fraction
    promise: BoundedBelief | None = None

    def __post_init__(self) -> None:
        whole(self.n, "n", low=1)
        if self.domain.size < 2 or not self.replaced < self.kept <= 1:
            raise Infeasible(
                "A record must be kept with a higher probability than that of any single replacement. Weaken the guarantee."
            )
        assessment = None if self.promise is None else self.promise.assess(self)
        if assessment is not None and assessment.witness is not None:
            raise Infeasible(f"The rates do not satisfy the definition: {assessment.witness.text} Keep fewer records.")

    @classmethod
    def for_belief(cls, n: int, domain: ViewDomain, promise: BoundedBelief) -> FrappPlan:
        """Return the plan with the largest retention probability that satisfies a guarantee about single records (adversary ``record``), exactly."""
        odds = highest_allowed(exact(promise.d, "d"), exact(promise.gamma, "gamma")) / (domain.size - 1)
        return cls(n, domain, odds / (1 + odds), promise)

    @property
    def replaced(self) -> Fraction:
        """q, the probability that a record becomes one given other tuple."""
        return (1 - self.kept) / (self.domain.size - 1)

    @property
    def gain(self) -> Fraction:
        """g_f - q, the difference between the probabilities of a tuple for its own record and for another record."""
        return self.kept - self.replaced

    def chances(self, cells: int) -> tuple[Fraction, Fraction]:
        """Return the probability that a record shows in a query that ``cells`` tuples of the domain meet: if it meets the query, and if not."""
        return self.kept + (cells - 1) * self.replaced, cells * self.replaced

    def variance(self, true: Fraction, rows: int, cells: int) -> Fraction:
        """Return the variance of the estimate of a query that ``true`` of ``rows`` records and ``cells`` tuples of the domain meet."""
        present, absent = self.chances(cells)
        spread = true * present * (1 - present) + (rows - true) * absent * (1 - absent)
        return max(spread, Fraction(0)) / (present - absent) ** 2

    def expected_error(self, item: str) -> ExpectedError:
        """Return the standard error of the estimated number of records with one ``item`` (a tuple, a value), for true shares of zero and one half."""
        error_of_none, error_of_half = (
            math.sqrt(self.variance(true, self.n, 1)) for true in (Fraction(0), Fraction(self.n, 2))
        )
        return ExpectedError(
            {"kept": float(self.kept), "standard_error": error_of_none, "standard_error_of_half": error_of_half},
            f"A record keeps its own {item} with probability {float(self.kept):.3g}. The number of the {self.n:,} records with one {item} is estimated with a standard error of "
            f"{error_of_none:,.1f} if none has it, and of {error_of_half:,.1f} if half of them do.",
        )

    def interval(self, shown: int, cells: int, rows: int, error: Number) -> tuple[int, int]:
        """Return the exact interval for the number of true records, given ``shown`` of ``rows``.

        Queries that no tuple, or every tuple, of the domain meets are certain.
        """
        if cells in (0, self.domain.size):
            return (rows, rows) if cells else (0, 0)
        return exact_interval(shown, rows, rows, *self.chances(cells), error)

    def ratios(self, adversary: Adversary) -> Ratios:
        """Return the likelihood ratios of a perturbed record about the original."""
        if adversary != "record":
            raise PolicyError(
                f"Frapp perturbs records one by one and does not hide which tuples exist: it supports adversary='record', not {adversary!r}."
            )
        if self.kept == 1:
            raise Infeasible("Records that are always kept are not protected.")
        return Ratios(self.kept / self.replaced, None)

    @property
    def loss(self) -> LossBound:
        """Return the privacy loss for replacing one record: the logarithm of the largest likelihood ratio."""
        return LossBound(logarithm_above(self.ratios("record").highest))

    def perturb(self, frame: Any, draws: Draws) -> Keys:
        """Perturb every record of a table independently; return the keys sorted. A tuple may occur several times."""
        rows = rows_of(frame, self.domain)
        if len(rows) == 0:
            raise DataError("The table has no rows. There is nothing to publish; check the source.")
        if len(rows) > self.n:
            raise DataError(f"The data have {len(rows):,} rows, more than the {self.n:,} of the plan.")
        return in_order(self._perturbed(rows, draws))

    def _perturbed(self, rows: Keys, draws: Draws) -> Keys:
        """Return each record with its chance to be kept, and else replaced by another tuple of the domain."""
        perturbed = np.array(rows)
        replaced = np.flatnonzero(~draws.coins(self.kept, len(rows)))
        while len(replaced):
            words = [draws.below(radix, len(replaced)) for radix in self.domain.radices]
            perturbed[replaced] = self.domain.from_words(words)
            # The replacement must differ: resample where a record drew itself.
            replaced = replaced[perturbed[replaced] == rows[replaced]]
        return perturbed


def frapp_plan(n: int, domain: ViewDomain | Mapping[str, Any], k: Number, gamma: Number) -> FrappPlan:
    """Return the baseline with the same privacy as ``plan(n, domain, k, gamma)``."""
    return FrappPlan(n, ViewDomain.of(domain), kept_share(k, gamma))


def error_constants(k: Number, gamma: Number, error: Number = "0.05") -> dict[str, float]:
    """Return the printed error constants: rho1 of alpha-beta, rho2 of FRAPP, and their ratio."""
    multiple, belief, level = exact(k, "k"), exact(gamma, "gamma"), math.log(2 / float(exact(error, "error")))
    odds = float(multiple * (1 - belief) / belief)
    return {
        "rho1": 2 * math.sqrt(2 * odds * level),
        "rho2": 2 * odds * math.sqrt(level),
        "ratio": math.sqrt(2 / odds),
    }


@dataclass(frozen=True)
class Perturbed:
    """A linear query on ``rows`` perturbed records.

    ``shown`` sums the weights of the perturbed records, ``total`` those of the domain; the names with ``squares`` sum
    squared weights. ``extremes`` are the smallest and largest weight of tuples that meet the condition;
    ``holds_always``: all tuples meet it. For counts all weights are 1.
    """

    plan: FrappPlan
    rows: int
    shown: Fraction
    shown_squares: Fraction
    total: Fraction
    total_squares: Fraction
    extremes: tuple[Fraction, Fraction]
    holds_always: bool

    @property
    def low(self) -> Fraction:
        """Smallest weight of a record."""
        return self.extremes[0] if self.holds_always else min(self.extremes[0], Fraction(0))

    @property
    def high(self) -> Fraction:
        """Largest weight of a record."""
        return self.extremes[1] if self.holds_always else max(self.extremes[1], Fraction(0))

    @property
    def value(self) -> Fraction:
        """Unbiased estimate of the total weight of the records: (shown - q n W)/(g_f - q)."""
        return (self.shown - self.rows * self.plan.replaced * self.total) / self.plan.gain

    @property
    def clipped(self) -> Fraction:
        """The estimate clipped to the feasible range."""
        return max(self.rows * self.low, min(self.value, self.rows * self.high))

    def variance(self) -> Fraction:
        """Variance of :attr:`value`, exact except for two sums over records that are estimated and clipped to the feasible range."""
        true = self.clipped
        squares = (self.shown_squares - self.rows * self.plan.replaced * self.total_squares) / self.plan.gain
        limit = self.rows * max(self.low**2, self.high**2)
        return self.spread(true, max(true**2 / self.rows, min(squares, limit)), self.rows) / self.plan.gain**2

    def bound(self, error: Fraction) -> float:
        """Return the error of :attr:`value` exceeded with probability at most ``error``, for any records (Bernstein).

        The variance of a record is convex in its weight, so it is largest at an extreme weight.
        """
        largest_spread = self.rows * max(self.spread(weight, weight**2, 1) for weight in (self.low, self.high))
        return bernstein_from(float(largest_spread), float(self.plan.gain), error, float(self.high - self.low))

    def centred(self, count: Perturbed, centre: Fraction) -> Perturbed:
        """Return the query with every weight w replaced by w - ``centre``; ``count`` is the count under the same condition."""
        return replace(
            self,
            shown=self.shown - centre * count.shown,
            shown_squares=self.shown_squares - 2 * centre * self.shown + centre**2 * count.shown,
            total=self.total - centre * count.total,
            total_squares=self.total_squares - 2 * centre * self.total + centre**2 * count.total,
            extremes=(self.extremes[0] - centre, self.extremes[1] - centre),
        )

    def spread(self, true: Fraction, squares: Fraction, rows: int) -> Fraction:
        """Return the variance of the published weight of some records, from their total weight and squared weight."""
        gain, noise = self.plan.gain, self.plan.replaced * self.total
        constant_part = rows * (self.plan.replaced * self.total_squares - noise**2)
        return gain * (1 - gain) * squares - 2 * gain * noise * true + constant_part


@dataclass(frozen=True)
class RecordLayer(Layer):
    """Many counts on perturbed records."""

    @classmethod
    def of(cls, plan: FrappPlan, shown: NDArray[np.int64], totals: NDArray[Any], rows: int) -> RecordLayer:
        """Build from the published and the domain counts of each query; queries that no tuple or every tuple meets are certain."""
        absent, gain = times(totals, plan.replaced), float(plan.gain)
        low, high = (np.asarray(mask, dtype=np.float64) for mask in (totals == plan.domain.size, totals > 0))
        kept = (absent + gain) * (1 - absent - gain)
        return cls(shown, rows * absent, rows * high, gain, kept, absent, rows * low, high - low)

    def widest(self) -> Floats:
        """Return the largest variance: it is linear in the count, so it is attained at an extreme count."""
        return np.maximum(np.maximum(self.spread(self.least), self.spread(self.most)), 0.0)
