"""Estimators (3.3, 3.5, 3.7): from what a view shows and what the domain holds to an unbiased answer with its spread.

A view shows every tuple by itself: with one chance if it is in the table and another if it is not. Every estimator here is a sum over *strata*,
parts of the domain in which both chances are constant; the printed estimator of later views is biased (erratum 11), the sum over strata is not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from reticent.randomize.bounds import bernstein_from
from reticent.randomize.estimate import Estimate
from reticent.randomize.intervals import exact_interval


@dataclass(frozen=True)
class Stratum:
    """A part of the domain: how much of a query the view shows in it, how much there is, and the chances of true and other tuples.

    ``shown`` and ``total`` sum the query's weights, ``total_squares`` and ``shown_squares`` their squares; for counts all weights are 1.
    ``total_error`` is the standard error of ``total`` where it was sampled.
    """

    shown: Fraction
    total: Fraction
    present: Fraction
    absent: Fraction
    shown_squares: Fraction
    total_squares: Fraction
    total_error: float = 0.0

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
        sampled = (float(self.absent) * self.total_error) ** 2
        return (float(spread) + sampled) / float(self.gain) ** 2

    def largest_spread(self, most: Fraction) -> float:
        """A bound on the variance of what is shown, whatever the table holds."""
        true = min(most, self.total_squares)
        return float(true * self.present * (1 - self.present) + self.total_squares * self.absent * (1 - self.absent))


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
    bound = 0.0
    for each in strata:
        bound += bernstein_from(
            each.largest_spread(most), float(each.gain), error / len(strata), float(largest)
        ) + _sampling_bound(each, error / len(strata))
    total = sum((each.total for each in strata), Fraction(0))
    if not whole:
        interval: tuple[float, float] = (float(value) - bound, float(value) + bound)
        clipped = value
    else:
        top = min(n, math.floor(total)) if all(not each.total_error for each in strata) else n
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
        math.sqrt(sum(each.total_error**2 for each in strata)),
    )


def _whole_interval(
    strata: Sequence[Stratum], value: Fraction, bound: float, top: int, error: Fraction
) -> tuple[int, int]:
    """The exact interval where there is one stratum; else Bernstein's, rounded outwards and cut to what is possible."""
    if len(strata) == 1 and strata[0].total_error == 0.0:
        only = strata[0]
        return exact_interval(
            int(only.shown), int(only.total), top, float(only.present), float(only.absent), float(error)
        )
    low, high = math.floor(float(value) - bound), math.ceil(float(value) + bound)
    return max(0, min(low, top)), min(top, max(high, 0))


def _sampling_bound(stratum: Stratum, error: Fraction) -> float:
    """What a sampled domain count can add to the error: normal tail at the same level, inflated for the sample's size."""
    if stratum.total_error == 0.0:
        return 0.0
    deviations = math.sqrt(2 * math.log(2 / float(error)))
    return deviations * float(stratum.absent) * stratum.total_error / float(stratum.gain)
