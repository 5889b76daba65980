"""Public priors of a value; all log-concave."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy import special

from reticent.base.exact import Number, exact
from reticent.errors import PolicyError

FloatArray = NDArray[np.float64]


@runtime_checkable
class Prior(Protocol):
    """A log-concave distribution of one value."""

    @property
    def support(self) -> tuple[float, float]:
        """The interval on which the density is positive."""

    def cumulative(self, values: FloatArray) -> FloatArray:
        """Return the distribution function."""

    def quantile(self, chances: FloatArray) -> FloatArray:
        """Return the quantile function."""

    def log_density(self, values: FloatArray) -> FloatArray:
        """Return the log density, up to a constant."""


@dataclass(frozen=True)
class Uniform:
    """The uniform distribution between ``low`` and ``high``."""

    low: Number = 0
    high: Number = 1

    def __post_init__(self) -> None:
        """Check the ends, and hold them as fractions."""
        object.__setattr__(self, "low", exact(self.low, "low"))
        object.__setattr__(self, "high", exact(self.high, "high"))
        if self.width <= 0:
            raise PolicyError(f"low must be below high, but they are {self.low} and {self.high}.")

    @property
    def width(self) -> Fraction:
        """The width, high - low."""
        return Fraction(self.high) - Fraction(self.low)

    @property
    def support(self) -> tuple[float, float]:
        return float(self.low), float(self.high)

    def cumulative(self, values: FloatArray) -> FloatArray:
        return np.clip((np.asarray(values) - float(self.low)) / float(self.width), 0.0, 1.0)

    def quantile(self, chances: FloatArray) -> FloatArray:
        return float(self.low) + np.asarray(chances) * float(self.width)

    def log_density(self, values: FloatArray) -> FloatArray:
        low, high = self.support
        return np.where((values >= low) & (values <= high), 0.0, -np.inf)


@dataclass(frozen=True)
class Gaussian:
    """The normal distribution."""

    mean: Number = 0
    deviation: Number = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", exact(self.mean, "mean"))
        object.__setattr__(self, "deviation", exact(self.deviation, "deviation", above=0))

    @property
    def support(self) -> tuple[float, float]:
        return -np.inf, np.inf

    def standardized(self, values: FloatArray) -> FloatArray:
        """Return standardized deviations from the mean."""
        return (np.asarray(values) - float(self.mean)) / float(self.deviation)

    def cumulative(self, values: FloatArray) -> FloatArray:
        return np.asarray(special.ndtr(self.standardized(values)))

    def quantile(self, chances: FloatArray) -> FloatArray:
        return float(self.mean) + float(self.deviation) * np.asarray(special.ndtri(chances))

    def log_density(self, values: FloatArray) -> FloatArray:
        return -0.5 * self.standardized(values) ** 2


@dataclass(frozen=True)
class Exponential:
    """The exponential distribution above ``low`` with the given ``mean`` excess, as of waiting times or incomes."""

    mean: Number = 1
    low: Number = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", exact(self.mean, "mean", above=0))
        object.__setattr__(self, "low", exact(self.low, "low"))

    @property
    def support(self) -> tuple[float, float]:
        return float(self.low), np.inf

    def _excess(self, values: FloatArray) -> FloatArray:
        return (np.asarray(values) - float(self.low)) / float(self.mean)

    def cumulative(self, values: FloatArray) -> FloatArray:
        return -np.expm1(-np.maximum(self._excess(values), 0.0))

    def quantile(self, chances: FloatArray) -> FloatArray:
        return float(self.low) - float(self.mean) * np.log1p(-np.asarray(chances))

    def log_density(self, values: FloatArray) -> FloatArray:
        return np.where(np.asarray(values) >= float(self.low), -self._excess(values), -np.inf)
