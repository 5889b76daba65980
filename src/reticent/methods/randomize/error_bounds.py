"""Errors of counts: the variance of the estimator, and two bounds on its error."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from reticent.base.exact import Number, exact, whole
from reticent.methods.randomize.rates import Rates

Figures = NDArray[np.floating] | np.floating

# Mean absolute deviation of a normal variable in standard deviations: sqrt(2/pi).
MEAN_DISTANCE = math.sqrt(2 / math.pi)


def level_of(error: Number | None, otherwise: Fraction, queries: int = 1) -> Fraction:
    """Return the error probability for one answer such that ``queries`` answers together have error probability ``error`` (union bound)."""
    level = otherwise if error is None else exact(error, "error", above=0, below=1)
    return level / whole(queries, "queries", low=1)


class Law(Protocol):
    """Inclusion probabilities of tuples, uniform (:class:`Rates`) or not (:class:`SourceRates`), as far as errors depend on them."""

    @property
    def alpha(self) -> Fraction:
        """Difference between the inclusion probabilities of a true tuple and of any other."""

    def spread(self, true: Fraction, cells: Fraction) -> Fraction:
        """Return the variance of the number of published tuples in a query that ``true`` tuples of the table and ``cells`` of the domain meet."""

    def most_spread(self, n: int, cells: int) -> Fraction:
        """Return an upper bound of :meth:`spread` over all tables of n tuples."""


def variance(rates: Law, true: Fraction, domain_count: int) -> Fraction:
    """Return the variance of the estimate for a query that ``true`` tuples of the table and ``domain_count`` of the domain meet."""
    return rates.spread(true, Fraction(domain_count)) / rates.alpha**2


def bernstein(rates: Law, n: int, domain_count: int, error: Fraction) -> float:
    """Return an error that is exceeded with probability at most ``error``, for one query and any table (Bernstein's inequality)."""
    return bernstein_from(float(rates.most_spread(n, domain_count)), float(rates.alpha), error)


def bernstein_from(spread: float, alpha: float, error: Fraction, largest: float = 1.0) -> float:
    """Return Bernstein's bound from a bound on the variance of the published count (before division by alpha) and on the weight of a tuple."""
    return float(bernstein_many(np.float64(spread), alpha, error, largest))


def bernstein_many(spread: Figures, alpha: float, error: Fraction, largest: Figures | float = 1.0) -> Figures:
    """Return :func:`bernstein_from` for many queries at once."""
    level = math.log(2 / float(error))
    third = largest * np.float64(level) / 3
    bounds: Figures = (third + np.sqrt(third * third + 2 * level * spread)) / alpha
    return bounds


def noise_ratio(rates: Rates, n: int, size: int) -> Fraction:
    """r = beta m / (alpha^2 n)."""
    return rates.beta * size / (rates.alpha**2 * n)


def printed_rho(rates: Rates, n: int, size: int, error: Fraction) -> float:
    """Return rho of [Rastogi2007]: error at most rho sqrt(n) for one query (there is no n under the root).

    It holds only for alpha >= 1/2 and is refuted for small alpha: use :func:`bernstein` for a guarantee.
    """
    return math.sqrt(2 * float(noise_ratio(rates, n, size) + 1) * math.log(2 / float(error)))
