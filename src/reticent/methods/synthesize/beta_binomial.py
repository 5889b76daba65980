"""Upper tails of beta-binomial laws: how likely an urn gives one value more than a threshold.

The law is that of hits among ``draws`` from an urn that starts with weight ``inside`` on one value and ``outside`` on all others, where every draw adds
1 to what was drawn.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

Floats = NDArray[np.float64]
# Terms after which the rest of a sum is less than this part of it are left out; a bound of the rest is added instead.
_NEGLIGIBLE = 1e-13
_FIRST_BLOCK, _LARGEST_BLOCK = 16, 4096


def upper_tails(draws: Floats, inside: Floats, outside: Floats, threshold: Floats) -> Floats:
    """P(hits > threshold), problem by problem; all arrays have one shape, thresholds are whole numbers of at least 0.

    Tails are summed term by term, never taken as 1 minus a distribution function, which says nothing about chances of 1e-13 (B11). Where the threshold
    lies below the most likely number of hits the complement is summed, for then the tail is large.
    """
    found = np.zeros(len(draws))
    open_ = np.flatnonzero(threshold < draws)
    if not len(open_):
        return found
    m, a, b, r = (each[open_] for each in (draws, inside, outside, threshold))
    rising = _upwards(m, a, b, r + 1) > 1
    fall, rise = np.flatnonzero(~rising), np.flatnonzero(rising)
    found[open_[fall]] = _summed(m[fall], a[fall], b[fall], r[fall] + 1, 1)
    found[open_[rise]] = 1 - _summed(m[rise], a[rise], b[rise], r[rise], -1)
    return np.clip(found, 0, 1)


def tail_ceilings(draws: Floats, inside: Floats, outside: Floats, threshold: Floats) -> Floats:
    """Upper bounds of upper tails by one term each: ratios of further terms fall where both weights are at least 1, so a geometric series bounds the sum."""
    m, first = draws.astype(np.float64), np.minimum(threshold + 1, draws)
    q = _upwards(m, inside, outside, first)
    bounded = (q < 1) & (inside >= 1) & (outside >= 1)
    # More than the error of a term.
    term = np.exp(log_mass(m, inside, outside, first)) * (1 + 1e-5)
    ceilings = np.where(bounded, term / np.where(bounded, 1 - q, 1.0), 1.0)
    return np.where(threshold >= draws, 0.0, ceilings)


def relative_error(total: float) -> float:
    """More than the relative error of a tail of an urn whose weights and draws add up to ``total``: mostly that of the logarithms of gamma functions."""
    return 1e-6 + 2e-15 * float(gammaln(total + 1))


def log_mass(draws: Floats, inside: Floats, outside: Floats, hits: Floats) -> Floats:
    """The logarithm of the chance of a number of hits; ``hits`` need not be whole (the reference sample interpolates)."""
    total = inside + outside
    return np.asarray(
        gammaln(draws + 1)
        - gammaln(hits + 1)
        - gammaln(draws - hits + 1)
        + gammaln(total)
        - gammaln(inside)
        - gammaln(outside)
        + gammaln(inside + hits)
        + gammaln(outside + draws - hits)
        - gammaln(total + draws)
    )


def _upwards(m: Floats, a: Floats, b: Floats, hits: Floats) -> Floats:
    """The chance of one hit more, over that of ``hits``."""
    left = np.maximum(m - hits, 0)
    return left * (a + hits) / ((hits + 1) * np.maximum(b + left - 1, 1e-300))


def _downwards(m: Floats, a: Floats, b: Floats, hits: Floats) -> Floats:
    """The chance of one hit less, over that of ``hits``."""
    hits = np.maximum(hits, 0)
    return hits * (b + m - hits) / ((m - hits + 1) * np.maximum(a + hits - 1, 1e-300))


def _summed(m: Floats, a: Floats, b: Floats, start: Floats, step: int) -> Floats:
    """The chances of ``start``, and of all numbers of hits beyond it in the direction of ``step``."""
    first = np.exp(log_mass(m, a, b, start))
    ratio: Callable[[Floats, Floats, Floats, Floats], Floats] = _upwards if step > 0 else _downwards
    sums, last, place = np.ones(len(m)), np.ones(len(m)), start.astype(np.float64)
    active, block = np.arange(len(m)), _FIRST_BLOCK
    while len(active):
        at = place[active, None] + step * np.arange(block)
        within = (m[active, None], a[active, None], b[active, None])
        ratios = ratio(*within, at)
        terms = last[active, None] * np.cumprod(ratios, axis=1)
        sums[active] += terms.sum(axis=1)
        last[active], place[active] = terms[:, -1], at[:, -1] + step
        # Beyond this place each term is at most q times the one before it: the ratios fall, or stay below what is taken for them here. With less than
        # one outside nothing of the kind holds, and all terms are added.
        left = np.maximum(m[active] - place[active], 0) if step > 0 else place[active]
        q = np.where(b[active] >= 1, ratio(m[active], a[active], b[active], place[active]), np.inf)
        if step > 0:
            few = a[active] < 1
            q = np.where(few, np.maximum(q, left / np.maximum(b[active] + left - 1, 1e-300)), q)
        ended = (last[active] == 0) | (left <= 0)
        falling = np.where(q < 1, q, 0.0)
        rest = np.where(ended, 0.0, np.where(q < 1, last[active] * falling / (1 - falling), np.inf))
        done = rest <= _NEGLIGIBLE * sums[active]
        sums[active[done]] += rest[done]
        active, block = active[~done], min(2 * block, _LARGEST_BLOCK)
    return first * sums
