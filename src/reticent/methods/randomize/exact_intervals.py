"""Exact confidence intervals: every count under which the published number is not too unlikely.

With q true tuples in a query that N tuples of the domain meet, the release shows Bin(q, s) + Bin(N - q, beta) of them.
This is stochastically increasing in q, so the consistent counts form an interval whose ends are found by bisection.
Perturbed records (FRAPP) follow the same law with N = n.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.base.exact import Number, exact

# Relative error granted to the tails, far above that of the distribution functions (1e-12); it only widens the
# interval.
_MARGIN = 1e-9
# Total probability of the omitted hit counts.
_LEFT_OUT = 1e-14
# Above this many trials the binomial is replaced by its Poisson limit: they differ by at most beta (Le Cam), far below
# any margin here.
_POISSON_ABOVE = 10**100


def exact_interval(shown: int, possible: int, most: int, s: Number, beta: Number, error: Number) -> tuple[int, int]:
    """Return the range of true counts q in 0..``most`` for which ``shown`` published tuples are not too unlikely.

    Of ``possible`` tuples that meet the query, the q in the table are published with probability ``s``, others with ``beta``.
    Guarantee: for every q, the interval contains q with probability at least 1-error; each tail has at most error/2. No
    plug-in estimate and no normal approximation is used, so this holds for small counts too.
    """
    present, absent = exact(s, "s"), exact(beta, "beta")
    side = float(exact(error, "error")) / 2 * (1 - _MARGIN) - _LEFT_OUT
    # Few true tuples make many published ones unlikely, and many true tuples make few unlikely.
    middle, reach = _guess(shown, possible, most, present, absent, side)
    low = _first(lambda q: _tail(_at_least, shown, q, possible, present, absent) > side, most, middle - reach)
    high = most - _first(
        lambda back: _tail(_at_most, shown, most - back, possible, present, absent) > side, most, most - middle - reach
    )
    # No count is consistent; return the one nearest to the estimate.
    return (low, high) if low <= high else (middle, middle)


def _guess(shown: int, possible: int, most: int, present: Fraction, absent: Fraction, side: float) -> tuple[int, int]:
    """Return the feasible count nearest to the estimate, and about how far the interval's ends are from it, by a normal approximation. Used for speed only."""
    from scipy.special import ndtri

    middle = min(max(round((shown - absent * possible) / (present - absent)), 0), most)
    spread = middle * present * (1 - present) + max(possible - middle, 0) * absent * (1 - absent)
    return middle, math.ceil(-ndtri(max(side, _LEFT_OUT)) * math.sqrt(spread) / float(present - absent))


def _first(holds: Callable[[int], bool], limit: int, guess: int) -> int:
    """Return the smallest index in 0..``limit`` from which on a condition holds, ``limit`` if none. Searches around ``guess`` first, in growing steps."""
    low, high, step = -1, limit, 1
    probe = min(max(guess, 0), limit - 1)
    while low < probe < high:
        if holds(probe):
            high, probe = probe, probe - step
        else:
            low, probe = probe, probe + step
        step *= 2
    while high - low > 1:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle
    return high


def _tail(
    tail: Callable[[NDArray[np.int64], int, Fraction], NDArray[np.float64]],
    shown: int,
    q: int,
    possible: int,
    present: Fraction,
    absent: Fraction,
) -> float:
    """Return a tail probability at ``shown`` of the number of published tuples, Bin(q, present) + Bin(possible - q, absent)."""
    hits, chances = _likely(q, float(present))
    return float(chances @ tail(shown - hits, possible - q, absent))


def _likely(true_count: int, probability: float) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the likely numbers of published tuples among ``true_count``, each published with ``probability``, and how
    probable each number is; the omitted ones have a total below 1e-15.
    """
    from scipy.stats import binom

    if probability >= 1 or true_count == 0:
        return np.array([true_count if probability >= 1 else 0]), np.ones(1)
    width = 9 * math.sqrt(true_count * probability * (1 - probability)) + 40
    hits = np.arange(
        max(0, math.floor(true_count * probability - width)),
        min(true_count, math.ceil(true_count * probability + width)) + 1,
    )
    return hits, binom.pmf(hits, true_count, probability)


def _at_most(counts: NDArray[np.int64], trials: int, chance: Fraction) -> NDArray[np.float64]:
    """Return Pr[ Bin(trials, chance) <= counts ], elementwise."""
    from scipy.special import betaincc, pdtr

    clipped = counts.clip(0).astype(float)
    if trials > _POISSON_ABOVE:
        tails: Any = pdtr(clipped, float(trials * chance))
    else:
        # The last count has probability 1 and is set below; here the argument only has to stay in range.
        clipped = np.minimum(clipped, max(trials - 1, 0))
        tails = np.where(counts >= trials, 1.0, betaincc(clipped + 1, np.maximum(trials - clipped, 1), float(chance)))
    return np.where(counts < 0, 0.0, tails)


def _at_least(counts: NDArray[np.int64], trials: int, chance: Fraction) -> NDArray[np.float64]:
    """Return Pr[ Bin(trials, chance) >= counts ], elementwise; not computed as a difference, so that small values stay accurate."""
    from scipy.special import betainc, pdtrc

    clipped = counts.clip(1).astype(float)
    if trials > _POISSON_ABOVE:
        tails: Any = pdtrc(clipped - 1, float(trials * chance))
    else:
        clipped = np.minimum(clipped, max(trials, 1))
        tails = np.where(counts > trials, 0.0, betainc(clipped, trials - clipped + 1, float(chance)))
    return np.where(counts <= 0, 1.0, tails)
