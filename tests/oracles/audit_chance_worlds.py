"""Partial disclosure by definition and by simulation; shares nothing with ``reticent.audit``."""

from __future__ import annotations

from fractions import Fraction
from math import comb, factorial
from statistics import NormalDist

import numpy as np

NORMAL = NormalDist()


def sum_chance(m: int, value) -> Fraction:
    """The chance that m uniform values add up to at most ``value``: the alternating formula, in fractions."""
    value = Fraction(value)
    terms = (Fraction((-1) ** k * comb(m, k)) * max(value - k, Fraction(0)) ** m for k in range(m + 1))
    return sum(terms, Fraction(0)) / factorial(m) if m else Fraction(int(value >= 0))


def window_ratios(cumulative, beta: float, starts: int = 400, jump: float | None = None) -> tuple[float, float]:
    """Least and greatest posterior/prior ratio over windows of prior chance 1/beta and more.

    ``cumulative(u)`` is the posterior chance that the value lies below the u-quantile of the prior; where it jumps, windows that
    end there, and just before, are looked at too.
    """
    below = np.vectorize(cumulative)
    ratios = []
    for width in np.linspace(1 / beta, 1.0, 12):
        start = np.linspace(0.0, 1 - width, starts)
        if jump is not None and jump >= width:
            start = np.append(start, [jump - width, max(0.0, jump - width - 1e-12)])
        ratios.append((below(start + width) - below(start)) / width)
    return np.concatenate(ratios).min(), np.concatenate(ratios).max()


def is_safe(cumulative, lambda_: float, beta: float, jump: float | None = None) -> bool:
    low, high = window_ratios(cumulative, beta, jump=jump)
    return bool(low >= 1 / (1 + lambda_) and high <= 1 + lambda_)


def uniform_member(m: int, total) -> callable:
    """The posterior of one of m uniform values with a known total, by the exact formula."""
    whole = sum_chance(m - 1, total) - sum_chance(m - 1, Fraction(total) - 1)

    def cumulative(u):
        part = sum_chance(m - 1, total) - sum_chance(m - 1, Fraction(total) - Fraction(float(u)))
        return float(part / whole)

    return cumulative


def normal_member(shift: float, kept: float) -> callable:
    """The posterior N(shift, kept) against the prior N(0, 1), on the scale of the prior's quantiles."""

    def cumulative(u):
        if u <= 0 or u >= 1:
            return float(u >= 1)
        return NORMAL.cdf((NORMAL.inv_cdf(u) - shift) / kept**0.5)

    return cumulative


def held_member(bound: float, size: int | None) -> callable:
    """A member of max(S) = bound (``size`` of S) or of max(S) < bound (None), against a uniform prior; intervals are open below."""

    def cumulative(u):
        held = 0.0 if size is None else 1 / size
        return (1 - held) * min(u / bound, 1.0) + (held if u >= bound - 1e-15 else 0.0)

    return cumulative


def worlds_in_bands(rng, people: int, sums, width: float, draws: int) -> np.ndarray:
    """Uniform data sets whose sums lie within ``width`` of the answers: rejection sampling in thin bands."""
    data = rng.random((draws, people))
    kept = np.ones(draws, dtype=bool)
    for members, answer in sums:
        kept &= np.abs(data[:, sorted(members)].sum(axis=1) - answer) <= width
    return data[kept]


def worlds_with_maximum(rng, people: int, members, answer: float, width: float, draws: int) -> np.ndarray:
    """Uniform data sets whose maximum over ``members`` lies within ``width`` of the answer."""
    data = rng.random((draws, people))
    return data[np.abs(data[:, sorted(members)].max(axis=1) - answer) <= width]


def normal_posterior(matrix, answers) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of independent N(0, 1) values given ``matrix @ x = answers``, by the textbook formula."""
    matrix = np.asarray(matrix, dtype=float)
    gain = matrix.T @ np.linalg.inv(matrix @ matrix.T)
    return gain @ np.asarray(answers, dtype=float), 1 - np.einsum("ij,ji->i", gain, matrix)
