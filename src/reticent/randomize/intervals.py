"""Exact intervals (R-AB-12): every count that does not make what was published too unlikely.

With q true tuples in a query that n_D tuples of the domain meet, the view shows Bin(q, s) + Bin(n_D - q, beta) of them. That grows with q, so the
counts that fit form an interval whose ends are found by bisection.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

# What the distribution functions may be off by; the interval is widened by it, never narrowed.
_MARGIN = 1e-11
_POISSON_ABOVE = 2**50


def exact_interval(shown: int, domain_count: int, most: int, s: float, beta: float, error: float) -> tuple[int, int]:
    """The whole numbers q in 0..most whose central 1-error region contains ``shown``; coverage is at least 1-error."""
    side = error / 2 - _MARGIN
    # Too few true tuples make so many shown ones unlikely; too many make so few unlikely.
    low = _first(lambda q: _at_least(shown, q, domain_count, s, beta) > side, most)
    high = most - _first(lambda back: _at_most(shown, most - back, domain_count, s, beta) > side, most)
    if low > high:
        middle = min(max(round((shown - beta * domain_count) / (s - beta)), 0), most)
        return middle, middle
    return low, high


def _first(holds: Callable[[int], bool], most: int) -> int:
    """The first of 0..most from which on a condition holds; ``most`` if it never does."""
    low, high = -1, most
    while high - low > 1:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle
    return high


def _at_most(shown: int, q: int, domain_count: int, s: float, beta: float) -> float:
    """Pr[ Bin(q, s) + Bin(domain_count - q, beta) <= shown ]."""
    if shown < 0:
        return 0.0
    hits, chances = _likely(q, s)
    return float(chances @ _distribution(shown - hits, domain_count - q, beta))


def _at_least(shown: int, q: int, domain_count: int, s: float, beta: float) -> float:
    return 1.0 - _at_most(shown - 1, q, domain_count, s, beta)


def _likely(q: int, s: float) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of true tuples that may be shown, and their chances; what is left out weighs less than 1e-15."""
    from scipy.stats import binom

    if s >= 1 or q == 0:
        return np.array([q if s >= 1 else 0]), np.ones(1)
    width = 9 * math.sqrt(q * s * (1 - s)) + 40
    hits = np.arange(max(0, math.floor(q * s - width)), min(q, math.ceil(q * s + width)) + 1)
    return hits, binom.pmf(hits, q, s)


def _distribution(counts: np.ndarray, trials: int, beta: float) -> np.ndarray:
    """Pr[ Bin(trials, beta) <= counts ]."""
    from scipy.special import betaincc, pdtr

    inside = counts.clip(0, max(trials - 1, 0))
    if trials <= 0:
        known: Any = np.ones(len(counts))
    elif trials > _POISSON_ABOVE:
        known = pdtr(inside, trials * beta)
    else:
        known = np.where(counts >= trials, 1.0, betaincc(inside + 1.0, trials - inside.astype(float), beta))
    return np.where(counts < 0, 0.0, known)
