"""FRAPP, the baseline: every record is kept with one probability, and else replaced by another tuple of the domain.

This is the plan and its arithmetic; ``records`` holds what comes out. Let a record add w to a query, 0 if it does not meet the condition. Perturbed it
adds w with probability g_f, and what another tuple adds with q each: (g_f - q) w + q W on average, where W is what all tuples of the domain add up
to. Its second moment is (g_f - q) w^2 + q W2 in the same way, W2 being the sum of squares. Both are linear in the record, so that sums of records
and of their squares are estimated without bias, and the variance too.
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
    """g_f = gamma/(gamma + k(1-gamma)): as private as alpha-beta with the same k and gamma.

    Up to a factor 1 + O(k/m) in the odds; :meth:`FrappPlan.for_belief` is exact.
    """
    times, belief = exact(k, "k"), exact(gamma, "gamma")
    return belief / (belief + times * (1 - belief))


@dataclass(frozen=True)
class FrappPlan:
    """How records are perturbed: kept with probability ``kept``, else replaced by one of the m-1 other tuples, each as likely.

    ``promise`` is what the plan was made for; a plan without one is for comparison, and its records cannot be released.
    """

    n: int
    domain: ViewDomain
    kept: Fraction
    promise: BoundedBelief | None = None

    def __post_init__(self) -> None:
        whole(self.n, "n", low=1)
        if self.domain.size < 2 or not self.replaced < self.kept <= 1:
            raise Infeasible(
                "A record must be kept with more probability than any other tuple replaces it. Ask for less."
            )
        found = None if self.promise is None else self.promise.assess(self)
        if found is not None and found.witness is not None:
            raise Infeasible(f"The rates do not keep the promise: {found.witness.text} Keep fewer records.")

    @classmethod
    def for_belief(cls, n: int, domain: ViewDomain, promise: BoundedBelief) -> FrappPlan:
        """The largest probability that keeps a promise about single records (adversary ``record``), exactly."""
        odds = highest_allowed(exact(promise.d, "d"), exact(promise.gamma, "gamma")) / (domain.size - 1)
        return cls(n, domain, odds / (1 + odds), promise)

    @property
    def replaced(self) -> Fraction:
        """q, the probability with which a record becomes a given other tuple."""
        return (1 - self.kept) / (self.domain.size - 1)

    @property
    def gain(self) -> Fraction:
        """By how much a record is likelier to show as itself than another one is to show as it, g_f - q."""
        return self.kept - self.replaced

    def chances(self, cells: int) -> tuple[Fraction, Fraction]:
        """The probability that a record shows in a query that ``cells`` tuples of the domain meet: if it meets it, and if it does not."""
        return self.kept + (cells - 1) * self.replaced, cells * self.replaced

    def variance(self, true: Fraction, rows: int, cells: int) -> Fraction:
        """Var of the estimate of a query that ``true`` of ``rows`` records and ``cells`` tuples of the domain meet."""
        present, absent = self.chances(cells)
        spread = true * present * (1 - present) + (rows - true) * absent * (1 - absent)
        return max(spread, Fraction(0)) / (present - absent) ** 2

    def expected_error(self, what: str) -> ExpectedError:
        """The spread of the estimated number of records with one ``what`` (a tuple, a value) that nobody, and that half of them, have."""
        none, half = (math.sqrt(self.variance(true, self.n, 1)) for true in (Fraction(0), Fraction(self.n, 2)))
        return ExpectedError(
            {"kept": float(self.kept), "standard_error": none, "standard_error_of_half": half},
            f"A record would show its own {what} with probability {float(self.kept):.3g}. Of {self.n:,} records, the number that have one {what} is estimated with a standard error of "
            f"{none:,.1f} where nobody has it, and of {half:,.1f} where half of them do.",
        )

    def interval(self, shown: int, cells: int, rows: int, error: Number) -> tuple[int, int]:
        """Every number of true records that does not make ``shown`` of ``rows`` too unlikely; as exact as that of a view.

        What no tuple of the domain meets, and what all do, is certain.
        """
        if cells in (0, self.domain.size):
            return (rows, rows) if cells else (0, 0)
        return exact_interval(shown, rows, rows, *self.chances(cells), error)

    def ratios(self, adversary: Adversary) -> Ratios:
        """What a perturbed record tells about the record behind it."""
        if adversary != "record":
            raise PolicyError(
                f"Frapp perturbs records one by one and hides nothing about which tuples exist: it keeps adversary='record', not {adversary!r}."
            )
        if self.kept == 1:
            raise Infeasible("Records that are always kept are not protected.")
        return Ratios(self.kept / self.replaced, None)

    @property
    def loss(self) -> LossBound:
        """The loss when one record is replaced by another: the logarithm of the largest likelihood ratio."""
        return LossBound(logarithm_above(self.ratios("record").highest))

    def perturb(self, frame: Any, draws: Draws) -> Keys:
        """Every record of a table perturbed by itself, in rising order; a tuple may come out several times."""
        rows = rows_of(frame, self.domain)
        if len(rows) == 0:
            raise DataError("The table has no rows. There is nothing to publish; check the source.")
        if len(rows) > self.n:
            raise DataError(f"The data have {len(rows):,} rows, more than the {self.n:,} that were planned for.")
        return in_order(self._perturbed(rows, draws))

    def _perturbed(self, rows: Keys, draws: Draws) -> Keys:
        out = np.array(rows)
        missing = np.flatnonzero(~draws.coins(self.kept, len(rows)))
        while len(missing):
            words = [draws.below(radix, len(missing)) for radix in self.domain.radices]
            out[missing] = self.domain.from_words(words)
            # Another tuple is wanted: whoever drew their own draws again.
            missing = missing[out[missing] == rows[missing]]
        return out


def frapp_plan(n: int, domain: ViewDomain | Mapping[str, Any], k: Number, gamma: Number) -> FrappPlan:
    """The baseline at the same privacy as ``plan(n, domain, k, gamma)``."""
    return FrappPlan(n, ViewDomain.of(domain), kept_share(k, gamma))


def error_constants(k: Number, gamma: Number, error: Number = "0.05") -> dict[str, float]:
    """The printed error constants of both methods: rho1 of alpha-beta, rho2 of FRAPP, and their ratio."""
    times, belief, level = exact(k, "k"), exact(gamma, "gamma"), math.log(2 / float(exact(error, "error")))
    odds = float(times * (1 - belief) / belief)
    return {
        "rho1": 2 * math.sqrt(2 * odds * level),
        "rho2": 2 * odds * math.sqrt(level),
        "ratio": math.sqrt(2 / odds),
    }


@dataclass(frozen=True)
class Perturbed:
    """A linear query on ``rows`` perturbed records.

    ``shown`` sums the weights of what they show, ``total`` those of the domain; the names with ``squares`` sum their squares. ``extremes`` are the least
    and the largest weight of the tuples that meet the condition, which all do if it ``holds_always``. For counts all weights are 1.
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
        """The least that a record can add."""
        return self.extremes[0] if self.holds_always else min(self.extremes[0], Fraction(0))

    @property
    def high(self) -> Fraction:
        """The most that a record can add."""
        return self.extremes[1] if self.holds_always else max(self.extremes[1], Fraction(0))

    @property
    def value(self) -> Fraction:
        """What the records add up to: (shown - q n W)/(g_f - q), unbiased."""
        return (self.shown - self.rows * self.plan.replaced * self.total) / self.plan.gain

    @property
    def clipped(self) -> Fraction:
        """The same, cut to what is possible."""
        return max(self.rows * self.low, min(self.value, self.rows * self.high))

    def variance(self) -> Fraction:
        """The variance of :attr:`value`, exact but for two sums of the records that are estimated, and cut to what is possible."""
        true = self.clipped
        squares = (self.shown_squares - self.rows * self.plan.replaced * self.total_squares) / self.plan.gain
        most = self.rows * max(self.low**2, self.high**2)
        return self.spread(true, max(true**2 / self.rows, min(squares, most)), self.rows) / self.plan.gain**2

    def bound(self, error: Fraction) -> float:
        """What :attr:`value` is off by at most, except with probability ``error``, whatever the records are (Bernstein).

        The variance of a record is convex in its weight, so that it is largest for an extreme one.
        """
        widest = self.rows * max(self.spread(weight, weight**2, 1) for weight in (self.low, self.high))
        return bernstein_from(float(widest), float(self.plan.gain), error, float(self.high - self.low))

    def centred(self, count: Perturbed, at: Fraction) -> Perturbed:
        """The query with every weight w replaced by w - ``at``; ``count`` is the count under the same condition."""
        return replace(
            self,
            shown=self.shown - at * count.shown,
            shown_squares=self.shown_squares - 2 * at * self.shown + at**2 * count.shown,
            total=self.total - at * count.total,
            total_squares=self.total_squares - 2 * at * self.total + at**2 * count.total,
            extremes=(self.extremes[0] - at, self.extremes[1] - at),
        )

    def spread(self, true: Fraction, squares: Fraction, rows: int) -> Fraction:
        """The variance of what some records show, from what they and their squares add up to."""
        gain, noise = self.plan.gain, self.plan.replaced * self.total
        fixed = rows * (self.plan.replaced * self.total_squares - noise**2)
        return gain * (1 - gain) * squares - 2 * gain * noise * true + fixed


@dataclass(frozen=True)
class RecordLayer(Layer):
    """Many counts on perturbed records."""

    @classmethod
    def of(cls, plan: FrappPlan, shown: NDArray[np.int64], totals: NDArray[Any], rows: int) -> RecordLayer:
        """From what is shown of each and what the domain holds; what no tuple of the domain meets, and what all do, is certain."""
        absent, gain = times(totals, plan.replaced), float(plan.gain)
        low, high = (np.asarray(each, dtype=np.float64) for each in (totals == plan.domain.size, totals > 0))
        kept = (absent + gain) * (1 - absent - gain)
        return cls(shown, rows * absent, rows * high, gain, kept, absent, rows * low, high - low)

    def widest(self) -> Floats:
        """The variance is linear in the count, so that it is largest for an extreme one."""
        return np.maximum(np.maximum(self.spread(self.least), self.spread(self.most)), 0.0)
