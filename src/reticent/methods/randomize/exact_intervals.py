"""Exact intervals: every count that does not make what was published too unlikely.

With q true tuples in a query that N tuples can be shown for, the release shows Bin(q, s) + Bin(N - q, beta) of them. That grows with q, so the
counts that fit form an interval whose ends are found by bisection. Perturbed records (FRAPP) show the same law with N = n.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.base.exact import Number, exact

# Relative error that the tails are granted, far above what the distribution functions have (1e-12); the interval is widened by it, never narrowed.
_MARGIN = 1e-9
# What the hits that are left out weigh together.
_LEFT_OUT = 1e-14
# Beyond this many trials the binomial law is its Poisson limit: they differ by at most beta (Le Cam), which is far below any margin here.
_POISSON_ABOVE = 10**100


def exact_interval(shown: int, possible: int, most: int, s: Number, beta: Number, error: Number) -> tuple[int, int]:
    """The whole numbers q in 0..most whose central 1-error region contains ``shown``.

    Guarantee: whatever q is, it is inside with probability at least 1-error; each tail is missed with at most error/2. Nothing is plugged in and
    nothing is approximated by a normal law, so that this holds for small counts too.
    """
    present, absent = exact(s, "s"), exact(beta, "beta")
    side = float(exact(error, "error")) / 2 * (1 - _MARGIN) - _LEFT_OUT
    # Too few true tuples make so many shown ones unlikely; too many make so few unlikely.
    middle, reach = _guess(shown, possible, most, present, absent, side)
    low = _first(lambda q: _tail(_at_least, shown, q, possible, present, absent) > side, most, middle - reach)
    high = most - _first(
        lambda back: _tail(_at_most, shown, most - back, possible, present, absent) > side, most, most - middle - reach
    )
    # Where no count fits, the nearest one to the estimate says so best.
    return (low, high) if low <= high else (middle, middle)


def _guess(shown: int, possible: int, most: int, present: Fraction, absent: Fraction, side: float) -> tuple[int, int]:
    """Where the ends will be, by a normal law: the nearest possible count to the estimate, and a distance from it. Only for speed."""
    from scipy.special import ndtri

    middle = min(max(round((shown - absent * possible) / (present - absent)), 0), most)
    spread = middle * present * (1 - present) + max(possible - middle, 0) * absent * (1 - absent)
    return middle, math.ceil(-ndtri(max(side, _LEFT_OUT)) * math.sqrt(spread) / float(present - absent))


def _first(holds: Callable[[int], bool], most: int, near: int) -> int:
    """The first of 0..most from which on a condition holds; ``most`` if it never does. Looks around ``near`` first, in growing steps."""
    low, high, step = -1, most, 1
    place = min(max(near, 0), most - 1)
    while low < place < high:
        if holds(place):
            high, place = place, place - step
        else:
            low, place = place, place + step
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
    """A tail of Bin(q, present) + Bin(possible - q, absent) at ``shown``."""
    hits, chances = _likely(q, float(present))
    return float(chances @ tail(shown - hits, possible - q, absent))


def _likely(q: int, s: float) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The numbers of true tuples that may be shown, and their chances; what is left out weighs less than 1e-15."""
    from scipy.stats import binom

    if s >= 1 or q == 0:
        return np.array([q if s >= 1 else 0]), np.ones(1)
    width = 9 * math.sqrt(q * s * (1 - s)) + 40
    hits = np.arange(max(0, math.floor(q * s - width)), min(q, math.ceil(q * s + width)) + 1)
    return hits, binom.pmf(hits, q, s)


def _at_most(counts: NDArray[np.int64], trials: int, chance: Fraction) -> NDArray[np.float64]:
    """Pr[ Bin(trials, chance) <= counts ]."""
    from scipy.special import betaincc, pdtr

    inside = counts.clip(0).astype(float)
    if trials > _POISSON_ABOVE:
        known: Any = pdtr(inside, float(trials * chance))
    else:
        # The last count of all is certain; it is set below, and the function must only not be asked outside its range.
        inside = np.minimum(inside, max(trials - 1, 0))
        known = np.where(counts >= trials, 1.0, betaincc(inside + 1, np.maximum(trials - inside, 1), float(chance)))
    return np.where(counts < 0, 0.0, known)


def _at_least(counts: NDArray[np.int64], trials: int, chance: Fraction) -> NDArray[np.float64]:
    """Pr[ Bin(trials, chance) >= counts ], not as a difference: it stays accurate where it is small."""
    from scipy.special import betainc, pdtrc

    inside = counts.clip(1).astype(float)
    if trials > _POISSON_ABOVE:
        known: Any = pdtrc(inside - 1, float(trials * chance))
    else:
        inside = np.minimum(inside, max(trials, 1))
        known = np.where(counts > trials, 0.0, betainc(inside, trials - inside + 1, float(chance)))
    return np.where(counts <= 0, 1.0, known)
