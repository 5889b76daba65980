"""Estimators (3.3, 3.5, 3.7): from what a view shows and what the domain holds to an unbiased answer with its spread.

A view shows every tuple by itself: with one chance if it is in the table and another if it is not. Every estimator here is a sum over *strata*,
parts of the domain in which both chances are constant; the printed estimator of later views is biased (erratum 11), the sum over strata is not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from reticent.randomize.bounds import bernstein_from
from reticent.randomize.counting import Sample
from reticent.randomize.estimate import Estimate
from reticent.randomize.intervals import exact_interval


@dataclass(frozen=True)
class Stratum:
    """A part of the domain: how much of a query the view shows in it, how much there is, and the chances of true and other tuples.

    ``shown`` and ``total`` sum the query's weights, ``total_squares`` and ``shown_squares`` their squares; for counts all weights are 1.
    ``sample`` is what ``total`` was estimated from, where it could not be counted.
    """

    shown: Fraction
    total: Fraction
    present: Fraction
    absent: Fraction
    shown_squares: Fraction
    total_squares: Fraction
    sample: Sample | None = None

    @property
    def gain(self) -> Fraction:
        """By how much a true tuple is likelier to show."""
        return self.present - self.absent

    @property
    def value(self) -> Fraction:
        """The part of the answer in this stratum, unbiased."""
        return (self.shown - self.absent * self.total) / self.gain

    def variance(self, most: Fraction) -> float:
        """The variance of :attr:`value`, with the estimate clipped to what is possible in place of the truth (R-AB-11)."""
        squares = (self.shown_squares - self.absent * self.total_squares) / self.gain
        true = max(Fraction(0), min(squares, most, self.total_squares))
        spread = true * self.present * (1 - self.present) + (self.total_squares - true) * self.absent * (
            1 - self.absent
        )
        sampled = (float(self.absent) * self.sample.standard_error) ** 2 if self.sample is not None else 0.0
        return (float(spread) + sampled) / float(self.gain) ** 2

    def bound(self, true: Fraction, error: Fraction, largest: Fraction) -> float:
        """What :attr:`value` is off by at most, except with probability ``error``, when the squared weights of the true tuples add up to at most ``true``.

        Bernstein's bound; where the total was sampled two things may go wrong, so that each gets half of the error.
        """
        level, deviation = error, Fraction(0)
        if self.sample is not None:
            level, deviation = error / 2, self.sample.deviation(error / 2)
        others = self.total_squares + deviation
        spread = true * self.present * (1 - self.present) + others * self.absent * (1 - self.absent)
        noise = bernstein_from(float(spread), float(self.gain), level, float(largest))
        return noise + float(self.absent * deviation / self.gain)

    def centred(self, count: Stratum, at: Fraction) -> Stratum:
        """The stratum of a sum with every weight w replaced by w - ``at``; ``count`` is the stratum of the count of the same query."""
        return replace(
            self,
            shown=self.shown - at * count.shown,
            total=self.total - at * count.total,
            shown_squares=self.shown_squares - 2 * at * self.shown + at**2 * count.shown,
            total_squares=self.total_squares - 2 * at * self.total + at**2 * count.total,
        )


def answer(
    condition: str,
    strata: Sequence[Stratum],
    n: int,
    error: Fraction,
    *,
    largest: Fraction = Fraction(1),
    whole: bool = True,
) -> Estimate:
    """The estimate of a query from its strata.

    ``n`` bounds the number of tuples in the table and ``largest`` the weight of a tuple. A count over one stratum with an exact domain count gets the
    exact interval; everything else gets Bernstein's.
    """
    value = sum((each.value for each in strata), Fraction(0))
    most = n * largest**2
    deviation = math.sqrt(sum(each.variance(most) for each in strata))
    level = error / len(strata)
    bound = sum(each.bound(_most_squares(each, most), level, largest) for each in strata)
    total = sum((each.total for each in strata), Fraction(0))
    if not whole:
        interval: tuple[float, float] = (float(value) - bound, float(value) + bound)
        clipped = value
    else:
        top = min(n, math.floor(total)) if all(each.sample is None for each in strata) else n
        clipped = max(Fraction(0), min(value, Fraction(top)))
        interval = _whole_interval(strata, value, bound, top, error)
    return Estimate(
        condition,
        value,
        deviation,
        clipped,
        interval,
        bound,
        error,
        sum((each.shown for each in strata), Fraction(0)),
        total,
        math.sqrt(sum(each.sample.standard_error**2 for each in strata if each.sample is not None)),
    )


def _most_squares(stratum: Stratum, most: Fraction) -> Fraction:
    """What the squared weights of true tuples can add up to: no more than the domain's, where that was counted."""
    return min(most, stratum.total_squares) if stratum.sample is None else most


def _whole_interval(
    strata: Sequence[Stratum], value: Fraction, bound: float, top: int, error: Fraction
) -> tuple[int, int]:
    """The exact interval where there is one stratum; else Bernstein's, rounded outwards and cut to what is possible."""
    if len(strata) == 1 and strata[0].sample is None:
        only = strata[0]
        return exact_interval(int(only.shown), int(only.total), top, only.present, only.absent, error)
    return cut_outwards(value, bound, top)


def cut_outwards(value: Fraction, bound: float, top: int) -> tuple[int, int]:
    """``value`` plus or minus ``bound`` as whole numbers, rounded outwards and cut to 0..top."""
    low, high = math.floor(float(value) - bound), math.ceil(float(value) + bound)
    return max(0, min(low, top)), min(top, max(high, 0))
