"""Sums of classes of people: their prior distribution, and which sums keep every member of the class safe."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import exp, inf, log, log1p
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.optimize import brentq, minimize_scalar

from reticent.audit.chance.irwin_hall import density
from reticent.audit.chance.priors import Exponential, Uniform
from reticent.audit.chance.uniform import tolerated_deviation

FloatArray = NDArray[np.float64]
NONE_SAFE = (inf, -inf)
_GRID, _SMALL = 64, 8
# Bound on the rounding error of a probability or of the end of an interval.
_MARGIN = 1e-9
_HALVINGS = 80


class ClassLaw(Protocol):
    """The distribution of the sum of a class, in the unit of the prior: a value is ``start`` plus ``unit`` times its
    scaled value, which is non-negative.
    """

    @property
    def start(self) -> Fraction:
        """The smallest value."""

    @property
    def unit(self) -> Fraction:
        """The unit of scaled values."""

    @property
    def largest(self) -> int:
        """The largest class whose density is known."""

    def most(self, size: int) -> float:
        """Return the largest sum of a class."""

    def drawn(self, size: int, draws: int, rng: np.random.Generator) -> FloatArray:
        """Return independent samples of the sum."""

    def height(self, size: int, sums: FloatArray) -> FloatArray:
        """Return the density of the sum relative to its maximum."""

    def tolerated(self, size: int, share: Fraction, factor: Fraction) -> tuple[float, float]:
        """Return the interval of the sums that are safe for all members of the class; ``NONE_SAFE`` if there are none."""


@dataclass(frozen=True)
class UniformSumsOfClasses:
    """Sums of uniform values (Irwin-Hall distribution)."""

    prior: Uniform
    largest: int = 400

    @property
    def start(self) -> Fraction:
        return Fraction(self.prior.low)

    @property
    def unit(self) -> Fraction:
        return self.prior.width

    def most(self, size: int) -> float:
        return size

    def drawn(self, size: int, draws: int, rng: np.random.Generator) -> FloatArray:
        """Return ``draws`` samples of the sum of ``size`` values that are uniform on 0 to 1."""
        total = np.zeros(draws)
        for start in range(0, size, 16):
            total += rng.random((draws, min(16, size - start))).sum(axis=1)
        return total

    def height(self, size: int, sums: FloatArray) -> FloatArray:
        """Return the density of the sum of ``size`` uniform values at ``sums``, relative to its maximum."""
        inside = (sums > 0) & (sums < size)
        heights = np.zeros(len(sums))
        if size <= _SMALL:
            # The density has kinks, and is cheap to evaluate.
            heights[inside] = density(size, sums[inside]) / density(size, [size / 2])[0] if inside.any() else 0.0
        else:
            heights[inside] = _relative_density(size)(sums[inside])
        return np.clip(heights, 0.0, 1.0)

    def tolerated(self, size: int, share: Fraction, factor: Fraction) -> tuple[float, float]:
        deviation = tolerated_deviation(size, share, factor)
        return (size / 2 - deviation, size / 2 + deviation) if deviation >= 0 else NONE_SAFE


@lru_cache(maxsize=256)
def _relative_density(size: int) -> CubicSpline:
    """Return the density of the sum of ``size`` uniform values relative to its maximum, as a spline with an error below 10^-9."""
    grid = np.arange(size * _GRID + 1) / _GRID
    return CubicSpline(grid, density(size, grid) / density(size, [size / 2])[0])


@dataclass(frozen=True)
class ExponentialSumsOfClasses:
    """Sums of exponential values (gamma distribution)."""

    prior: Exponential
    largest: int = 1_000_000

    @property
    def start(self) -> Fraction:
        return Fraction(self.prior.low)

    @property
    def unit(self) -> Fraction:
        return Fraction(self.prior.mean)

    def most(self, size: int) -> float:
        return inf

    def drawn(self, size: int, draws: int, rng: np.random.Generator) -> FloatArray:
        return rng.standard_gamma(size, draws)

    def height(self, size: int, sums: FloatArray) -> FloatArray:
        """Return the density of the sum of ``size`` exponential values of mean 1 at ``sums``, relative to its maximum."""
        peak = size - 1
        with np.errstate(divide="ignore", invalid="ignore"):
            heights = np.exp(peak * np.log(sums / peak) - (sums - peak)) if peak else np.exp(-sums)
        return np.where(sums > 0, np.clip(heights, 0.0, 1.0), 0.0)

    def tolerated(self, size: int, share: Fraction, factor: Fraction) -> tuple[float, float]:
        return tolerated_totals(size, share, factor)


@lru_cache(maxsize=4096)
def tolerated_totals(m: int, share: Fraction, factor: Fraction) -> tuple[float, float]:
    """Return the interval of safe sums of m exponential values of mean 1, rounded inwards; ``NONE_SAFE`` if there are
    none.

    Given the sum a, a value exceeds x with probability (1 - x/a)^(m-1). Relative to the prior its density is
    log-concave in x, so the windows of prior probability ``share`` at the two ends have the smallest posterior; that of
    the lower end falls with a and that of the upper end rises. The window [l, h] of largest posterior moves up with a,
    and its probability changes like l exp(-l) - h exp(-h), which is negative for small l, positive for large l and
    rises in between: it falls first
    and then rises. So the safe sums are an interval.
    """
    if m == 1:
        return NONE_SAFE
    window, allowed = float(share), float(factor) * (1 - _MARGIN)
    low = -log(window) / -np.expm1(log(window / allowed) / (m - 1))
    high = -log1p(-window) / -np.expm1(log1p(-window / allowed) / (m - 1))
    if low >= high:
        return NONE_SAFE
    limit = window * allowed
    if max(_fullest(m, low, window), _fullest(m, high, window)) > limit:
        optimum = minimize_scalar(
            lambda total: _fullest(m, total, window), bounds=(low, high), method="bounded", options={"xatol": 1e-6}
        )
        if optimum.fun > limit:
            return NONE_SAFE
        middle = float(optimum.x)
        low, high = (
            end
            if _fullest(m, end, window) <= limit
            else brentq(lambda total: _fullest(m, total, window) - limit, end, middle)
            for end in (low, high)
        )
    margin = _MARGIN * m
    return (float(low) + margin, float(high) - margin) if high - low > 2 * margin else NONE_SAFE


def _fullest(m: int, total: float, window: float) -> float:
    """Return the largest posterior of an interval of prior probability ``window`` for one of m values with that sum."""
    lowest_start, highest_start = 0.0, -log(window)
    for _ in range(_HALVINGS):
        start = (lowest_start + highest_start) / 2
        end = _end(start, window)
        # The window moves up while the relative density is larger at its upper end.
        rises = end < total and (m - 2) * (log1p(-end / total) - log1p(-start / total)) + end - start > 0
        lowest_start, highest_start = (start, highest_start) if rises else (lowest_start, start)
    return max(_between(m, total, start, _end(start, window)) for start in (lowest_start, highest_start))


def _end(start: float, window: float) -> float:
    left = exp(-start) - window
    return -log(left) if left > 0 else inf


def _between(m: int, total: float, start: float, end: float) -> float:
    return float((1 - min(start / total, 1.0)) ** (m - 1) - (1 - min(end / total, 1.0)) ** (m - 1))
