"""Estimators (3.3, 3.5, 3.7): from what a view shows and what the domain holds to an unbiased answer with its spread.

A view shows every tuple by itself: with one chance if it is in the table and another if it is not. Every estimator here is a sum over *strata*,
parts of the domain in which noise can be told beforehand; the printed estimator of later views is biased (erratum 11), the sum over strata is not.
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
    """A part of the domain: how much of a query the view shows in it, how much there is, and how much of what is shown must be noise.

    ``shown`` and ``total`` sum the query's weights, ``noise`` the weights of expected noise if no tuple were true; the names with ``squares``
    sum their squares. For counts all weights are 1. A true tuple is likelier to show by ``gain``, and adds at most ``kept`` to the variance;
    another one shows with ``absent``, which is 0 where that differs from tuple to tuple. ``sample`` is what ``total`` was estimated from,
    where it could not be counted.
    """

    shown: Fraction
    total: Fraction
    noise: Fraction
    shown_squares: Fraction
    total_squares: Fraction
    noise_squares: Fraction
    gain: Fraction
    kept: Fraction
    absent: Fraction = Fraction(0)
    sample: Sample | None = None

    @classmethod
    def uniform(
        cls,
        shown: Fraction,
        total: Fraction,
        present: Fraction,
        absent: Fraction,
        shown_squares: Fraction,
        total_squares: Fraction,
        sample: Sample | None = None,
    ) -> Stratum:
        """The stratum in which true tuples show with ``present`` and all others with ``absent``."""
        noises, kept = (absent * total, absent * total_squares), present * (1 - present)
        return cls(
            shown, total, noises[0], shown_squares, total_squares, noises[1], present - absent, kept, absent, sample
        )

    @property
    def chances(self) -> tuple[Fraction, Fraction] | None:
        """The chances of true and other tuples, where they are the same for all and the domain was counted."""
        return (self.gain + self.absent, self.absent) if self.absent and self.sample is None else None

    @property
    def value(self) -> Fraction:
        """The part of the answer in this stratum, unbiased."""
        return (self.shown - self.noise) / self.gain

    def variance(self, most: Fraction) -> float:
        """The variance of :attr:`value`, with the estimate clipped to what is possible in place of the truth (R-AB-11)."""
        squares = (self.shown_squares - self.noise_squares) / self.gain
        true = max(Fraction(0), min(squares, most, self.total_squares))
        spread = true * self.kept + (self.noise_squares - true * self.absent) * (1 - self.absent)
        sampled = (float(self.absent) * self.sample.standard_error) ** 2 if self.sample is not None else 0.0
        return (float(spread) + sampled) / float(self.gain) ** 2

    def bound(self, true: Fraction, error: Fraction, largest: Fraction) -> float:
        """What :attr:`value` is off by at most, except with probability ``error``, when the squared weights of the true tuples add up to at most ``true``.

        Bernstein's bound; where the total was sampled two things may go wrong, so that each gets half of the error.
        """
        level, deviation = error, Fraction(0)
        if self.sample is not None:
            level, deviation = error / 2, self.absent * self.sample.deviation(error / 2)
        spread = true * self.kept + (self.noise_squares + deviation) * (1 - self.absent)
        return bernstein_from(float(spread), float(self.gain), level, float(largest)) + float(deviation / self.gain)

    def centred(self, count: Stratum, at: Fraction) -> Stratum:
        """The stratum of a sum with every weight w replaced by w - ``at``; ``count`` is the stratum of the count of the same query."""
        return replace(
            self,
            shown=self.shown - at * count.shown,
            total=self.total - at * count.total,
            noise=self.noise - at * count.noise,
            shown_squares=self.shown_squares - 2 * at * self.shown + at**2 * count.shown,
            total_squares=self.total_squares - 2 * at * self.total + at**2 * count.total,
            noise_squares=self.noise_squares - 2 * at * self.noise + at**2 * count.noise,
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

    ``n`` bounds the number of tuples in the table and ``largest`` the weight of a tuple. A count over one stratum with two chances and an exact domain count gets the
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
    chances = strata[0].chances
    if len(strata) == 1 and chances is not None:
        return exact_interval(int(strata[0].shown), int(strata[0].total), top, *chances, error)
    low, high = math.floor(float(value) - bound), math.ceil(float(value) + bound)
    return max(0, min(low, top)), min(top, max(high, 0))
