"""How far a count can be off: the spread of the estimator, and two bounds on its error."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from reticent.base.exact import Number, exact, whole
from reticent.methods.randomize.rates import Rates

Figures = NDArray[np.floating] | np.floating

# The mean distance of a normal variable from its mean, in standard deviations: sqrt(2/pi).
MEAN_DISTANCE = math.sqrt(2 / math.pi)


def level_of(error: Number | None, otherwise: Fraction, queries: int = 1) -> Fraction:
    """The probability with which one answer may miss, so that ``queries`` answers miss with ``error`` together (eps/N)."""
    level = otherwise if error is None else exact(error, "error", above=0, below=1)
    return level / whole(queries, "queries", low=1)


class Law(Protocol):
    """Chances of tuples, uniform (:class:`Rates`) or not (:class:`SourceRates`), as far as errors depend on them."""

    @property
    def alpha(self) -> Fraction:
        """By how much a true tuple is likelier to show than if it were not."""

    def spread(self, true: Fraction, cells: Fraction) -> Fraction:
        """The variance of how many tuples show of a query that ``true`` tuples of the table and ``cells`` of the domain meet."""

    def most_spread(self, n: int, cells: int) -> Fraction:
        """An upper bound of the same, whatever n tuples the table holds."""


def variance(rates: Law, true: Fraction, domain_count: int) -> Fraction:
    """Var of the estimate of a query that ``true`` tuples of the table and ``domain_count`` of the domain meet."""
    return rates.spread(true, Fraction(domain_count)) / rates.alpha**2


def bernstein(rates: Law, n: int, domain_count: int, error: Fraction) -> float:
    """An error that is exceeded with probability at most ``error``, for one query, whatever the table holds (Bernstein, rigorous)."""
    return bernstein_from(float(rates.most_spread(n, domain_count)), float(rates.alpha), error)


def bernstein_from(spread: float, alpha: float, error: Fraction, largest: float = 1.0) -> float:
    """The same from a bound on the variance of the published count (alpha left out) and on the weight of a tuple."""
    return float(bernstein_many(np.float64(spread), alpha, error, largest))


def bernstein_many(spread: Figures, alpha: float, error: Fraction, largest: Figures | float = 1.0) -> Figures:
    """The same of many queries at once."""
    level = math.log(2 / float(error))
    third = largest * np.float64(level) / 3
    found: Figures = (third + np.sqrt(third * third + 2 * level * spread)) / alpha
    return found


def noise_ratio(rates: Rates, n: int, size: int) -> Fraction:
    """r = beta m / (alpha^2 n)."""
    return rates.beta * size / (rates.alpha**2 * n)


def printed_rho(rates: Rates, n: int, size: int, error: Fraction) -> float:
    """rho of the source: error at most rho sqrt(n) for one query (there is no n under the root).

    Only believed for alpha >= 1/2, and refuted for small alpha: use :func:`bernstein` to promise something.
    """
    return math.sqrt(2 * float(noise_ratio(rates, n, size) + 1) * math.log(2 / float(error)))
