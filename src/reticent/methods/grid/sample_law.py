"""Privacy of a random sample: rows are kept with a public probability, and only cells with enough kept rows are published.

A cell with n rows publishes a count X ~ Binomial(n, beta) if X >= k, and nothing otherwise. One row more or less
changes the distribution of one cell only, so the loss is that between n and n - 1 rows, for the worst n. Removing a row
is covered whenever e^epsilon (1 - beta) >= 1. Adding one makes j kept rows n(1 - beta)/(n - j) times as likely, which
increases with j, so the smallest delta is

    max over n of  Pr[X_n >= j0] - e^epsilon Pr[X_(n-1) >= j0],  j0 the first j >= k beyond gamma n,  gamma = 1 - (1 - beta) e^-epsilon,

which Pr[X_n = j] = (1 - beta) Pr[X_(n-1) = j] + beta Pr[X_(n-1) = j - 1] turns into e^epsilon beta Pr[X_(n-1) = j0 - 1]
- (e^epsilon - 1) Pr[X_n >= j0].
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from reticent.base.exact import exact, whole
from reticent.errors import PolicyError
from reticent.noise import exponential

MOST_LEAST = 10_000
_MOST_DENOMINATOR = 10**6
_FIRST_BITS = 256
_SMALLEST = math.ulp(0.0)
# More cell sizes, or larger cells, are not enumerated.
_MOST_SIZES, _LARGEST_CELL = 3_000, 20_000

Certified = Literal["exact", "bound", "tail"]


@dataclass(frozen=True)
class AddedRowLoss:
    """A delta that holds for every table, rounded up, and its derivation: the ``exact`` smallest one, the ``bound`` in
    closed form, or a bound of its ``tail``.
    """

    delta: Fraction
    known: Certified


@dataclass(frozen=True)
class SamplePlan:
    """Every row is kept with the probability ``sample`` (None: all are), and cells with at least ``least`` kept rows are
    published with their counts.

    Definitions judge this plan: nothing in it is derived from the rows.
    """

    least: int
    sample: Fraction | None = None

    def __post_init__(self) -> None:
        whole(self.least, "least", low=1, high=MOST_LEAST)
        if self.sample is not None:
            share = exact(self.sample, "sample", above=0, below=1)
            if share.denominator > _MOST_DENOMINATOR:
                raise PolicyError(
                    f"sample must be a fraction with a denominator of at most {_MOST_DENOMINATOR:,}, such as 0.2 or 1/3, but it is {self.sample}.",
                    setting=("sample",),
                    value=self.sample,
                )
            object.__setattr__(self, "sample", share)

    @property
    def crowd(self) -> int:
        """The minimum number of people with identical published values; swapping them changes nothing."""
        return self.least

    def added_row_loss(self, epsilon: Fraction) -> AddedRowLoss:
        """Return the smallest delta at epsilon that can be certified."""
        if self.sample is None or not self.covers_removal(epsilon):
            return AddedRowLoss(Fraction(1), "exact")
        loss = _SampleLoss(self.least, self.sample, epsilon, _FIRST_BITS)
        return loss.certified()

    def added_row_delta(self, epsilon: Fraction) -> Fraction:
        """Return the delta at epsilon for a row added or removed, rounded up; 1 if none is known."""
        return self.added_row_loss(epsilon).delta

    def keeps_added_row(self, epsilon: Fraction, delta: Fraction) -> bool:
        """True if (epsilon, delta) holds for a row added or removed, and is meaningful: delta is below the sampling probability."""
        return self.sample is not None and delta < self.sample and self.added_row_delta(epsilon) <= delta

    def bound(self, epsilon: Fraction) -> Fraction:
        """Return the bound in closed form, rounded up: the largest probability that more than gamma n of n rows are kept, over the relevant n."""
        if self.sample is None or not self.covers_removal(epsilon):
            return Fraction(1)
        return _SampleLoss(self.least, self.sample, epsilon, _FIRST_BITS).bound().delta

    def covers_removal(self, epsilon: Fraction) -> bool:
        """True if e^epsilon (1 - beta) >= 1, so that a removed row is covered: epsilon >= -ln(1 - beta)."""
        if self.sample is None:
            return False
        return exponential(epsilon, _FIRST_BITS)[0] * (1 - self.sample) >= 1


def least_epsilon(sample: Fraction) -> float:
    """Return -ln(1 - beta), rounded up to four decimals: below it no threshold suffices."""
    return math.ceil(-math.log1p(-float(sample)) * 10_000) / 10_000


@lru_cache(maxsize=64)
def least_cell(sample: Fraction, epsilon: Fraction, delta: Fraction) -> int | None:
    """Return the smallest threshold of a published cell such that (epsilon, delta) holds; None if none suffices.

    The output for a larger threshold is a function of that for a smaller one, so delta decreases with it.
    """
    if not SamplePlan(MOST_LEAST, sample).keeps_added_row(epsilon, delta):
        return None
    failing, sufficient = 0, 1
    while not SamplePlan(sufficient, sample).keeps_added_row(epsilon, delta):
        failing, sufficient = sufficient, min(2 * sufficient, MOST_LEAST)
    while sufficient - failing > 1:
        middle = (failing + sufficient) // 2
        if SamplePlan(middle, sample).keeps_added_row(epsilon, delta):
            sufficient = middle
        else:
            failing = middle
    return sufficient


@dataclass(frozen=True)
class _SampleLoss:
    """The loss of one plan at one epsilon; probabilities are integers of 2^-bits, rounded up and down."""

    least: int
    beta: Fraction
    epsilon: Fraction
    bits: int

    @property
    def factor(self) -> Fraction:
        """A number just below e^epsilon: with it every computed loss is at least the true one."""
        return exponential(self.epsilon, self.bits)[0]

    @property
    def gamma(self) -> Fraction:
        """The share of kept rows beyond which one more row is revealed, just below its true value."""
        return 1 - (1 - self.beta) / self.factor

    def certified(self) -> AddedRowLoss:
        """Return the exact delta if all relevant cell sizes can be enumerated; otherwise its bound."""
        if self.least / self.gamma > _LARGEST_CELL:
            return AddedRowLoss(min(Fraction(1), self._beyond(math.floor(self.least / self.gamma))), "tail")
        delta = self._largest(self.least, self._delta_of_cell, lambda size: size)
        if delta is not None:
            return AddedRowLoss(min(Fraction(1), delta), "exact")
        return self.bound()

    def bound(self) -> AddedRowLoss:
        """Return max over n >= ceil(k/gamma - 1) of Pr[X_n > gamma n], for X_n ~ Bin(n, beta): of the sizes n for which the
        same number of kept rows exceeds gamma n only the largest matters.
        """
        gamma = self.gamma

        def size(kept: int) -> int:
            """Return the largest n for which ``kept`` rows are more than gamma n."""
            return math.ceil(kept / gamma) - 1

        if self.least / gamma > _LARGEST_CELL:
            delta = None
        else:
            delta = self._largest(self.least, lambda kept: self._tail(size(kept), kept), size)
        if delta is not None:
            return AddedRowLoss(min(Fraction(1), delta), "bound")
        return AddedRowLoss(min(Fraction(1), self._beyond(size(self.least))), "tail")

    def _largest(self, start: int, value: Callable[[int], Fraction], size: Callable[[int], int]) -> Fraction | None:
        """Return the largest ``value(number)`` for ``number`` from ``start`` on; None if it is not certain after many.

        It is certain once the tail bound of the cell size ``size(number)``, and so of all larger ones, is not above it.
        """
        best = Fraction(0)
        for number in range(start, start + _MOST_SIZES):
            best = max(best, value(number))
            if best and self._beyond(size(number)) <= best:
                return best
        return None

    def _beyond(self, size: int) -> Fraction:
        """Return an upper bound of the probability that gamma n of n rows are kept, for every n >= size (Chernoff); its
        float error is far within the margin.
        """
        gamma, beta = float(self.gamma), float(self.beta)
        if not beta < gamma < 1:
            return Fraction(1)
        rate = gamma * math.log(gamma / beta) + (1 - gamma) * math.log((1 - gamma) / (1 - beta))
        # A probability that underflows is below the smallest float.
        return Fraction(max(math.exp(-max(0.0, size * rate * (1 - 1e-9) - 1e-9)), _SMALLEST))

    def _delta_of_cell(self, size: int) -> Fraction:
        """Return the delta that a row of a cell with ``size`` rows needs, rounded up.

        It is the sum over the shown counts x of Pr[X_size = x] - e^epsilon Pr[X_(size - 1) = x], which telescopes to one
        probability and one tail.
        """
        first = max(self.least, math.floor(self.gamma * size) + 1)
        if first > size:
            return Fraction(0)
        gained = self.factor * self.beta * self._chance(size - 1, first - 1, up=True)
        return max(Fraction(0), gained - (self.factor - 1) * self._tail(size, first, up=False))

    def _chance(self, size: int, kept: int, up: bool) -> Fraction:
        """Return Pr[X_size = kept], rounded."""
        return Fraction(self._units(size, kept, up), self._scale(size))

    def _scale(self, size: int) -> int:
        """Return the number of units in 1: enough to make probabilities exact for small cells, and a power of two for others."""
        d = self.beta.denominator
        return int(d**size) if size * d.bit_length() <= self.bits else 1 << self.bits

    def _units(self, size: int, kept: int, up: bool) -> int:
        b, d = self.beta.numerator, self.beta.denominator
        chance = math.comb(size, kept) * b**kept * (d - b) ** (size - kept) * self._scale(size)
        return int(-(-chance // d**size) if up else chance // d**size)

    def _tail(self, size: int, first: int, up: bool = True) -> Fraction:
        """Return Pr[X_size >= first], rounded up or down: each term follows from the previous one, and once terms halve, those
        beyond the last add up to less than it.
        """
        success_units, failure_units = self.beta.numerator, self.beta.denominator - self.beta.numerator
        term, scale, total = self._units(size, first, up), self._scale(size), 0
        for kept in range(first, size + 1):
            total += term
            ratio_numerator, ratio_denominator = (size - kept) * success_units, (kept + 1) * failure_units
            if term <= 1 and 2 * ratio_numerator < ratio_denominator and scale == 1 << self.bits:
                return Fraction(total + up, scale)
            term = (
                -(-term * ratio_numerator // ratio_denominator) if up else term * ratio_numerator // ratio_denominator
            )
        return Fraction(total, scale)
