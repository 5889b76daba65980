"""Integer noise by a trusted curator, in the accounting unit of its budget: discrete Gaussian for rho ([Canonne2020]),
discrete Laplace for epsilon; sampled by OpenDP from the operating system's randomness.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.base.extras import needed
from reticent.noise.composed_plan import Currency
from reticent.noise.laws import DiscreteLaplaceLaw

_QUANTILE = 1.959964
CONFIDENCE = Fraction(19, 20)


@dataclass(frozen=True)
class WholeNoise:
    """Independent noise of one ``scale`` on integers."""

    currency: Currency
    scale: Fraction

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise."""
        if self.currency == "rho":
            return float(self.scale)
        exponent = -1 / float(self.scale)
        return math.sqrt(2 * math.exp(exponent)) / -math.expm1(exponent)

    @property
    def quantile(self) -> float:
        """The 95 % quantile of the absolute noise in standard deviations; sums of independent Laplace noise do not exceed it."""
        return _QUANTILE if self.currency == "rho" else math.log(20) / math.sqrt(2)

    @property
    def mean_size(self) -> float:
        """Mean absolute value of the noise."""
        return float(self.scale) * (math.sqrt(2 / math.pi) if self.currency == "rho" else 1.0)

    def reach(self, numbers: int) -> float:
        """Return the 95 % quantile of the absolute noise of a sum of this many numbers; sums of Gaussian noise are Gaussian."""
        if not numbers:
            return 0.0
        if self.currency == "rho":
            return _QUANTILE * self.deviation * math.sqrt(numbers)
        return float(DiscreteLaplaceLaw(self.scale).reach(numbers, float(CONFIDENCE)))

    def added(self, numbers: NDArray[np.int64], source: np.random.Generator | None) -> NDArray[np.int64]:
        """Return the numbers with noise added; with a reproducible ``source``, for tests, by numpy."""
        if source is not None:
            return numbers + self._repeatable(source, numbers.size).reshape(numbers.shape)
        dp = opendp_core()
        domain = dp.vector_domain(dp.atom_domain(T="i64"))
        if self.currency == "rho":
            mechanism = dp.m.make_gaussian(domain, dp.l2_distance(T="f64"), scale=float(self.scale))
        else:
            mechanism = dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=float(self.scale))
        return np.array(mechanism(numbers.ravel().tolist()), dtype=np.int64).reshape(numbers.shape)

    def _repeatable(self, source: np.random.Generator, count: int) -> NDArray[np.int64]:
        """Sample noise of the same distribution; beyond a scale of 10,000 a rounded Gaussian, which is indistinguishable in any figure."""
        scale = float(self.scale)
        if self.currency == "epsilon":
            draws = source.geometric(-math.expm1(-1 / scale), (2, count))
            return np.asarray(draws[0] - draws[1], dtype=np.int64)
        if scale > 10_000:
            return np.rint(source.normal(0.0, scale, count)).astype(np.int64)
        reach = max(2, math.ceil(12 * scale))
        support = np.arange(-reach, reach + 1)
        weights = np.exp(-(support.astype(float) ** 2) / (2 * scale**2))
        return np.asarray(source.choice(support, count, p=weights / weights.sum()), dtype=np.int64)


def opendp_core() -> Any:
    """Return OpenDP with its proven measurements enabled."""
    dp = needed("opendp.prelude", "noise", "Noise by a trusted curator")
    dp.enable_features("contrib")
    return dp
