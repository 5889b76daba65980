"""Estimators (3.3, 3.5, 3.7): from what a view shows and what the domain holds to an unbiased answer with its spread.

A view shows every tuple by itself: with one chance if it is in the table and another if it is not. Every estimator here is a sum over *strata*,
parts of the domain in which noise can be told beforehand; the printed estimator of later views is biased, the sum over strata is not.

Averages are the ratio of two linear queries. Over the true tuples of a query the weights minus their average add up to exactly 0, so the averages
that fit a view are those at which the estimate of that sum is no farther from 0 than its bound; no delta method, and no count that must be large.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from reticent.base.interval_answers import IntervalAnswer
from reticent.errors import PolicyError
from reticent.methods.randomize.domain_counts import Sample
from reticent.methods.randomize.error_bounds import bernstein_from
from reticent.methods.randomize.exact_intervals import exact_interval


@dataclass(frozen=True)
class Estimate(IntervalAnswer):
    """An unbiased answer to a counting or sum query, and how far it can be off.

    ``value`` is the raw estimate; it may be negative, and it is what sums and averages must use. ``clipped`` is for display only. ``interval`` holds
    the true answer with probability at least 1 - ``error``; so does ``value`` plus or minus ``bound``. ``shown`` is what the view shows,
    ``domain_count`` what the domain holds; where that was sampled ``domain_error`` is its standard error. ``counts`` says what is counted: records,
    distinct records, or people.
    """

    condition: str
    value: Fraction
    standard_error: float
    clipped: Fraction
    interval: tuple[int, int] | tuple[float, float]
    bound: float
    error: Fraction
    shown: Fraction
    domain_count: Fraction
    domain_error: float = 0.0
    counts: str = "records"

    @property
    def confidence(self) -> Fraction:  # type: ignore[override]
        """With which probability the interval holds the true answer, at least."""
        return 1 - self.error

    def as_dict(self) -> dict[str, Any]:
        return {
            **super().as_dict(),
            "counts": self.counts,
            "decimal": float(self.value),
            "clipped": float(self.clipped),
            "bound": self.bound,
            "shown": _plain(self.shown),
            "domain_count": _plain(self.domain_count),
            "domain_count_is_exact": self.domain_error == 0.0,
        }

    def lines(self) -> list[str]:
        """The answer for people."""
        distinct = "People who agree in all columns count once. A view that was published with counts also estimates people: --estimator people."
        return [
            f"{float(self.value):,.2f} {self.counts} (standard error {self.standard_error:,.2f})",
            self.confidence_line(),
            *([distinct] if self.counts == "distinct records" else []),
        ]


def _plain(value: Fraction) -> int | Fraction:
    """Whole numbers as such."""
    return value.numerator if value.denominator == 1 else value


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
        """The variance of :attr:`value`, with the estimate clipped to what is possible in place of the truth."""
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


_HALVINGS = 40


def average_of(condition: str, total: Fraction, count: Fraction) -> Fraction:
    """The ratio of an estimated sum and an estimated count, which must be above 0."""
    if count <= 0:
        raise PolicyError(
            f"The count of {condition!r} is estimated as {float(count):.4g}, so there is no average. Ask for a larger part of the table."
        )
    return total / count


def average_interval(
    sums: Sequence[Stratum], counts: Sequence[Stratum], n: int, error: Fraction, least: Fraction, most: Fraction
) -> tuple[float, float]:
    """The averages in ``least``..``most`` (the extreme weights) that fit the view, from the strata of the sum and of the count of a query.

    Guarantee: the true average is inside with probability at least 1-error. The averages that one side rules out form an interval, because
    the bound is convex and the estimate linear in the average; so bisection finds its end. The count must be estimated above 0.
    """
    value = _estimate(sums) / _estimate(counts)
    tuples = min(Fraction(n), sum((each.total for each in counts), Fraction(0)))

    def is_too_far(at: Fraction) -> bool:
        largest = max(abs(least - at), abs(most - at))
        moved = [each.centred(count, at) for each, count in zip(sums, counts, strict=True)]
        level = error / len(moved)
        allowed = sum(each.bound(tuples * largest**2, level, largest) for each in moved)
        return abs(_estimate(moved)) > allowed

    return fitting(is_too_far, value, least, most)


def fitting(
    is_too_far: Callable[[Fraction], bool], value: Fraction, least: Fraction, most: Fraction
) -> tuple[float, float]:
    """The averages around an estimate that are not too far from it; those that are must form an interval on each side."""
    inside = max(least, min(value, most))
    if is_too_far(inside):
        # Every possible average is ruled out; the nearest one says so best.
        return float(inside), float(inside)
    return float(_end(is_too_far, least, inside)), float(_end(is_too_far, most, inside))


def _estimate(strata: Sequence[Stratum]) -> Fraction:
    return sum((each.value for each in strata), Fraction(0))


def _end(is_too_far: Callable[[Fraction], bool], outer: Fraction, inner: Fraction) -> Fraction:
    """The farthest from ``inner`` towards ``outer`` that is not too far, rounded outwards."""
    if not is_too_far(outer):
        return outer
    for _ in range(_HALVINGS):
        middle = Fraction(float((outer + inner) / 2))
        if middle in (outer, inner):
            break
        if is_too_far(middle):
            outer = middle
        else:
            inner = middle
    return outer
