"""Upper tails of beta-binomial distributions: the probability that an urn yields one value more often than a threshold.

The distribution is that of hits among ``draws`` from a Polya urn that starts with weight ``inside`` on one value and
``outside`` on all others; every draw adds 1 to the drawn value.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

Floats = NDArray[np.float64]
# A sum is truncated where the rest is below this fraction of it; a bound of the rest is added instead.
_NEGLIGIBLE = 1e-13
_FIRST_BLOCK, _LARGEST_BLOCK = 16, 4096


def upper_tails(draws: Floats, inside: Floats, outside: Floats, threshold: Floats) -> Floats:
    """Return P(hits > threshold) of beta-binomial distributions, elementwise: hits among ``draws`` from a Polya urn that
    starts with the weights ``inside`` and ``outside``. All arrays have one shape; thresholds are integers of at least 0.

    Tails are summed term by term, never computed as 1 minus a distribution function, which has no precision at
    probabilities of 1e-13. If the threshold is below the mode the complement is summed, since the tail is large then.
    """
    tails = np.zeros(len(draws))
    positive = np.flatnonzero(threshold < draws)
    if not len(positive):
        return tails
    m, a, b, r = (array[positive] for array in (draws, inside, outside, threshold))
    is_rising = _upwards(m, a, b, r + 1) > 1
    falling_indices, rising_indices = np.flatnonzero(~is_rising), np.flatnonzero(is_rising)
    tails[positive[falling_indices]] = _summed(
        m[falling_indices], a[falling_indices], b[falling_indices], r[falling_indices] + 1, 1
    )
    tails[positive[rising_indices]] = 1 - _summed(
        m[rising_indices], a[rising_indices], b[rising_indices], r[rising_indices], -1
    )
    return np.clip(tails, 0, 1)


def tail_ceilings(draws: Floats, inside: Floats, outside: Floats, threshold: Floats) -> Floats:
    """Return upper bounds of :func:`upper_tails` from one term each: if both weights are at least 1, the ratios of
    successive terms fall, so a geometric series bounds the sum; otherwise the bound is 1.
    """
    draws_float, first_hits = draws.astype(np.float64), np.minimum(threshold + 1, draws)
    ratio = _upwards(draws_float, inside, outside, first_hits)
    is_bounded = (ratio < 1) & (inside >= 1) & (outside >= 1)
    # More than the error of a term.
    term = np.exp(log_mass(draws_float, inside, outside, first_hits)) * (1 + 1e-5)
    ceilings = np.where(is_bounded, term / np.where(is_bounded, 1 - ratio, 1.0), 1.0)
    return np.where(threshold >= draws, 0.0, ceilings)


def relative_error(total: float) -> float:
    """Return an upper bound of the relative error of a tail of an urn with weights and draws ``total``: mostly that of log-gamma."""
    return 1e-6 + 2e-15 * float(gammaln(total + 1))


def log_mass(draws: Floats, inside: Floats, outside: Floats, hits: Floats) -> Floats:
    """Return the log probability of a number of hits; ``hits`` need not be an integer (the reference sample interpolates)."""
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
    """Return the ratio of the probability of one hit more to that of ``hits``."""
    left = np.maximum(m - hits, 0)
    return left * (a + hits) / ((hits + 1) * np.maximum(b + left - 1, 1e-300))


def _downwards(m: Floats, a: Floats, b: Floats, hits: Floats) -> Floats:
    """Return the ratio of the probability of one hit less to that of ``hits``."""
    hits = np.maximum(hits, 0)
    return hits * (b + m - hits) / ((m - hits + 1) * np.maximum(a + hits - 1, 1e-300))


def _summed(draws: Floats, inside: Floats, outside: Floats, start: Floats, step: int) -> Floats:
    """Return the sum of the beta-binomial probabilities of ``start`` hits and more (``step`` 1) or fewer (-1), elementwise.

    Terms are added block by block until a bound of the remaining ones is negligible.
    """
    first_term = np.exp(log_mass(draws, inside, outside, start))
    ratio: Callable[[Floats, Floats, Floats, Floats], Floats] = _upwards if step > 0 else _downwards
    sums, last_term, position = np.ones(len(draws)), np.ones(len(draws)), start.astype(np.float64)
    active, block = np.arange(len(draws)), _FIRST_BLOCK
    while len(active):
        positions = position[active, None] + step * np.arange(block)
        within = (draws[active, None], inside[active, None], outside[active, None])
        ratios = ratio(*within, positions)
        terms = last_term[active, None] * np.cumprod(ratios, axis=1)
        sums[active] += terms.sum(axis=1)
        last_term[active], position[active] = terms[:, -1], positions[:, -1] + step
        # From here on each term is at most q times its predecessor: the ratios fall, or stay below the value used here.
        # With an outside weight below one this does not hold, and all terms are added.
        remaining_terms = np.maximum(draws[active] - position[active], 0) if step > 0 else position[active]
        ratio_bound = np.where(
            outside[active] >= 1, ratio(draws[active], inside[active], outside[active], position[active]), np.inf
        )
        if step > 0:
            is_light = inside[active] < 1
            ratio_bound = np.where(
                is_light,
                np.maximum(ratio_bound, remaining_terms / np.maximum(outside[active] + remaining_terms - 1, 1e-300)),
                ratio_bound,
            )
        ended = (last_term[active] == 0) | (remaining_terms <= 0)
        falling = np.where(ratio_bound < 1, ratio_bound, 0.0)
        remainder = np.where(ended, 0.0, np.where(ratio_bound < 1, last_term[active] * falling / (1 - falling), np.inf))
        finished = remainder <= _NEGLIGIBLE * sums[active]
        sums[active[finished]] += remainder[finished]
        active, block = active[~finished], min(2 * block, _LARGEST_BLOCK)
    return first_term * sums
