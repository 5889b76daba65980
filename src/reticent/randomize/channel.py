"""Perturbed records as a channel (FRAPP, 3.9): what they show of a linear query, and what follows for the records behind them.

Let a record add w to a query, 0 if it does not meet the condition. Perturbed it adds w with probability g_f, and what another tuple adds with q each:
(g_f - q) w + q W on average, where W is what all tuples of the domain add up to. Its second moment is (g_f - q) w^2 + q W2 in the same way, W2 being
the sum of squares. Both are linear in the record, so that sums of records and of their squares are estimated without bias, and the variance too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.randomize.bounds import bernstein_from
from reticent.randomize.frapp import FrappPlan
from reticent.randomize.grouping import Floats, Layer, times


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
        """What the records add up to: (shown - q n W)/(g_f - q), unbiased (R-AB-27)."""
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
