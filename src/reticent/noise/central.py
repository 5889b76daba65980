"""Noise by a trusted curator: discrete Laplace noise from OpenDP, on counts, histograms and audited sums.

*Guarantee*: epsilon-differential privacy for answers with L1 sensitivity ``distance``. *Adversary*: sees the answers;
the curator, who sees the data, is trusted. *Cost*: one sample per number. *Source*: OpenDP's ``make_laplace``, which
samples exactly from the operating system's randomness; its law is :class:`reticent.noise.DiscreteLaplaceLaw`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from reticent.base.extras import needed
from reticent.errors import PolicyError
from reticent.noise.laws import DiscreteLaplaceLaw

_WIDEST = 2**50


@dataclass(frozen=True)
class CentralNoise:
    """Noise of one distribution, sampled by OpenDP."""

    law: DiscreteLaplaceLaw
    mechanism: Any = field(repr=False, compare=False)

    def added(self, counts: Sequence[int], source: np.random.Generator | None = None) -> list[int]:
        """Return the counts with independent noise; with a reproducible ``source``, for tests, the difference of two geometric samples."""
        if source is None:
            return [int(count) for count in self.mechanism(list(counts))]
        draws = source.geometric(1 - np.exp(-1 / float(self.law.scale)), (2, len(counts)))
        noisy: list[int] = (np.asarray(counts, dtype=np.int64) + draws[0] - draws[1]).tolist()
        return noisy


@lru_cache(maxsize=64)
def central_noise(distance: int, epsilon: Fraction) -> CentralNoise:
    """Return discrete Laplace noise that costs at most ``epsilon`` for an L1 sensitivity of ``distance``."""
    dp = needed("opendp.prelude", "noise", "Noise by a trusted curator")
    dp.enable_features("contrib")
    scale = float(distance / epsilon)
    if scale > _WIDEST:
        raise PolicyError(
            "noise: range is too wide for its decimals and epsilon. Use fewer decimals, or a narrower range."
        )
    while True:
        space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
        mechanism = dp.m.make_laplace(*space, scale=scale)
        # OpenDP rounds the loss up; increase the scale until the rounded loss is within the budget.
        if Fraction(mechanism.map(d_in=distance)) <= epsilon:
            return CentralNoise(DiscreteLaplaceLaw(Fraction(scale)), mechanism)
        scale = math.nextafter(scale, math.inf)


def noisy_total(total: Fraction, low: Fraction, high: Fraction, epsilon: Fraction, unit: Fraction) -> Fraction:
    """Return a total of values between ``low`` and ``high``, rounded down to whole units, with noise for one answer.

    Its sensitivity is high - low. Rounding down preserves that: totals at most K units apart stay at most K apart for
    an integer K.
    """
    noise = central_noise(math.ceil((high - low) / unit), epsilon)
    return (math.floor(total / unit) + noise.added([0])[0]) * unit
