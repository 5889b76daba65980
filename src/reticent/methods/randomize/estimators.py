"""Unbiased estimators with standard errors, from the published tuples and the domain. Source: [Rastogi2007].

A view includes every tuple independently: with one probability if it is in the table, with another if not. Every
estimator here is a sum over *strata*, parts of the domain in which the noise rate is known in advance. Corrected: the
printed estimator of later views is biased, the sum over strata is not.

An average is the ratio of two linear queries. Over the true tuples of a query the weights minus their average sum to
exactly 0, so the averages consistent with a view are those for which the estimate of that sum is within its bound of 0.
This needs neither the delta method nor large counts.
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
    """An unbiased answer to a counting or sum query, with its error.

    ``value`` is the raw estimate; it may be negative, and it is what sums and averages must use. ``clipped`` is for
    display only. ``interval`` contains the true answer with probability at least 1 - ``error``; so does ``value`` plus
    or minus ``bound``. ``shown`` is the count in the view, ``domain_count`` that in the domain; if that was sampled,
    ``domain_error`` is its standard error. ``counts`` names what is counted: records, distinct records, or people.
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
        """Return the minimum probability that the interval contains the true answer."""
        return 1 - self.error

    def as_dict(self) -> dict[str, Any]:
        """Return the estimate with its intermediate counts as plain data."""
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
        """Human-readable lines."""
        distinct = "People who agree in all columns count once. A view that was published with counts also estimates people: --estimator people."
        return [
            f"{float(self.value):,.2f} {self.counts} (standard error {self.standard_error:,.2f})",
            self.confidence_line(),
            *([distinct] if self.counts == "distinct records" else []),
        ]


def _plain(value: Fraction) -> int | Fraction:
    """Return integral fractions as int."""
    return value.numerator if value.denominator == 1 else value


@dataclass(frozen=True)
class Stratum:
    """A part of the domain: the query's weight published in it, its total weight, and the expected noise.

    ``shown`` and ``total`` sum the query's weights, ``noise`` is the expected published weight if no tuple were true;
    the names with ``squares`` sum squared weights. For counts all weights are 1. A true tuple's inclusion probability
    is higher by ``gain``, and it adds at most ``kept`` to the variance; any other tuple is included with ``absent``,
    which is 0 if that varies from tuple to tuple. ``sample`` is the sample from which ``total`` was estimated, if it
    could not be counted.
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
        """Return the stratum in which true tuples are included with ``present`` and all others with ``absent``."""
        noise_moments, kept = (absent * total, absent * total_squares), present * (1 - present)
        return cls(
            shown,
            total,
            noise_moments[0],
            shown_squares,
            total_squares,
            noise_moments[1],
            present - absent,
            kept,
            absent,
            sample,
        )

    @property
    def chances(self) -> tuple[Fraction, Fraction] | None:
        """Return the inclusion probabilities of true and other tuples, if uniform and the domain was counted exactly."""
        return (self.gain + self.absent, self.absent) if self.absent and self.sample is None else None

    @property
    def value(self) -> Fraction:
        """Return the unbiased contribution of this stratum to the answer."""
        return (self.shown - self.noise) / self.gain

    def variance(self, limit: Fraction) -> float:
        """Return the variance of :attr:`value`, with the clipped estimate in place of the truth."""
        squares = (self.shown_squares - self.noise_squares) / self.gain
        true_squares = max(Fraction(0), min(squares, limit, self.total_squares))
        spread = true_squares * self.kept + (self.noise_squares - true_squares * self.absent) * (1 - self.absent)
        sampling_error = (float(self.absent) * self.sample.standard_error) ** 2 if self.sample is not None else 0.0
        return (float(spread) + sampling_error) / float(self.gain) ** 2

    def bound(self, true: Fraction, error: Fraction, largest: Fraction) -> float:
        """Return the error of :attr:`value` exceeded with probability at most ``error``, if the squared weights of the
        true tuples sum to at most ``true``.

        Bernstein's bound; if the total was sampled, it and the sample's bound get half of the error probability each.
        """
        level, deviation = error, Fraction(0)
        if self.sample is not None:
            level, deviation = error / 2, self.absent * self.sample.deviation(error / 2)
        spread = true * self.kept + (self.noise_squares + deviation) * (1 - self.absent)
        return bernstein_from(float(spread), float(self.gain), level, float(largest)) + float(deviation / self.gain)

    def centred(self, count: Stratum, centre: Fraction) -> Stratum:
        """Return the stratum of a sum with every weight w replaced by w - ``centre``; ``count`` is the stratum of the count of the same query."""
        return replace(
            self,
            shown=self.shown - centre * count.shown,
            total=self.total - centre * count.total,
            noise=self.noise - centre * count.noise,
            shown_squares=self.shown_squares - 2 * centre * self.shown + centre**2 * count.shown,
            total_squares=self.total_squares - 2 * centre * self.total + centre**2 * count.total,
            noise_squares=self.noise_squares - 2 * centre * self.noise + centre**2 * count.noise,
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
    """Return the unbiased estimate of a query with its error, from its strata: parts of the domain with rates of their own.

    ``n`` bounds the number of tuples in the table and ``largest`` the weight of a tuple. A count over one stratum with
    two probabilities and an exact domain count gets the exact interval; all others get Bernstein's.
    """
    value = sum((stratum.value for stratum in strata), Fraction(0))
    most_squares = n * largest**2
    deviation = math.sqrt(sum(stratum.variance(most_squares) for stratum in strata))
    level = error / len(strata)
    bound = sum(stratum.bound(_most_squares(stratum, most_squares), level, largest) for stratum in strata)
    total = sum((stratum.total for stratum in strata), Fraction(0))
    if not whole:
        interval: tuple[float, float] = (float(value) - bound, float(value) + bound)
        clipped = value
    else:
        top = min(n, math.floor(total)) if all(stratum.sample is None for stratum in strata) else n
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
        sum((stratum.shown for stratum in strata), Fraction(0)),
        total,
        math.sqrt(sum(stratum.sample.standard_error**2 for stratum in strata if stratum.sample is not None)),
    )


def _most_squares(stratum: Stratum, limit: Fraction) -> Fraction:
    """Bound the sum of squared weights of true tuples: at most the domain's, if that was counted."""
    return min(limit, stratum.total_squares) if stratum.sample is None else limit


def _whole_interval(
    strata: Sequence[Stratum], value: Fraction, bound: float, top: int, error: Fraction
) -> tuple[int, int]:
    """Return the exact interval if there is one stratum; otherwise Bernstein's, rounded outwards and clipped to the feasible range."""
    chances = strata[0].chances
    if len(strata) == 1 and chances is not None:
        return exact_interval(int(strata[0].shown), int(strata[0].total), top, *chances, error)
    low, high = math.floor(float(value) - bound), math.ceil(float(value) + bound)
    return max(0, min(low, top)), min(top, max(high, 0))


_HALVINGS = 40


def average_of(condition: str, total: Fraction, count: Fraction) -> Fraction:
    """Return the ratio of an estimated sum and an estimated count, which must be positive."""
    if count <= 0:
        raise PolicyError(
            f"The count of {condition!r} is estimated as {float(count):.4g}, so it has no average. Query a larger part of the table."
        )
    return total / count


def average_interval(
    sums: Sequence[Stratum], counts: Sequence[Stratum], n: int, error: Fraction, lowest: Fraction, highest: Fraction
) -> tuple[float, float]:
    """Return the interval of averages in ``lowest``..``highest`` (the extreme weights) consistent with the view, from the
    strata of a query's sum and count.

    Guarantee: it contains the true average with probability at least 1-error. The averages excluded on one side form an
    interval, because the bound is convex and the estimate linear in the average; so bisection finds its end. The count
    must be estimated above 0.
    """
    value = _estimate(sums) / _estimate(counts)
    tuples = min(Fraction(n), sum((stratum.total for stratum in counts), Fraction(0)))

    def is_too_far(average: Fraction) -> bool:
        """True if the view excludes this average: the centred estimate exceeds its error bound."""
        largest = max(abs(lowest - average), abs(highest - average))
        centred = [stratum.centred(count, average) for stratum, count in zip(sums, counts, strict=True)]
        level = error / len(centred)
        allowed = sum(stratum.bound(tuples * largest**2, level, largest) for stratum in centred)
        return abs(_estimate(centred)) > allowed

    return fitting(is_too_far, value, lowest, highest)


def fitting(
    is_too_far: Callable[[Fraction], bool], value: Fraction, lowest: Fraction, highest: Fraction
) -> tuple[float, float]:
    """Return the interval of averages around an estimate that are not too far from it; the excluded ones must form an interval on each side."""
    inside = max(lowest, min(value, highest))
    if is_too_far(inside):
        # No average is consistent; return the nearest one.
        return float(inside), float(inside)
    return float(_end(is_too_far, lowest, inside)), float(_end(is_too_far, highest, inside))


def _estimate(strata: Sequence[Stratum]) -> Fraction:
    return sum((stratum.value for stratum in strata), Fraction(0))


def _end(is_too_far: Callable[[Fraction], bool], outer: Fraction, inner: Fraction) -> Fraction:
    """Return the farthest point from ``inner`` towards ``outer`` that is not too far, rounded outwards."""
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
