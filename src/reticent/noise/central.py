"""Noise by a trusted curator: discrete Laplace noise from OpenDP, on counts, histograms and audited sums.

*Guarantee*: epsilon-indistinguishable for answers that neighbouring tables move by at most ``distance`` in all. *Adversary*: anybody who sees the answers;
not the curator, who sees the data. *Cost*: one draw a number. *Source*: OpenDP's ``make_laplace``, which samples exactly from the operating
system's randomness; its law is :class:`reticent.noise.DiscreteLaplaceLaw`.
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
    """Noise of one law, drawn by OpenDP."""

    law: DiscreteLaplaceLaw
    mechanism: Any = field(repr=False, compare=False)

    def added(self, counts: Sequence[int], source: np.random.Generator | None = None) -> list[int]:
        """The counts with independent noise on each; from a ``source`` that can be repeated it is that of two geometric numbers, for tests."""
        if source is None:
            return [int(count) for count in self.mechanism(list(counts))]
        draws = source.geometric(1 - np.exp(-1 / float(self.law.scale)), (2, len(counts)))
        drawn: list[int] = (np.asarray(counts, dtype=np.int64) + draws[0] - draws[1]).tolist()
        return drawn


@lru_cache(maxsize=64)
def central_noise(distance: int, epsilon: Fraction) -> CentralNoise:
    """Discrete Laplace noise that costs at most ``epsilon`` where a row moves all numbers together by at most ``distance``."""
    dp = needed("opendp.prelude", "noise", "Noise by a trusted curator")
    dp.enable_features("contrib")
    scale = float(distance / epsilon)
    if scale > _WIDEST:
        raise PolicyError(
            "noise: range is too wide for its decimals and epsilon. Use fewer decimals, or a narrower range."
        )
    while True:
        space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
        made = dp.m.make_laplace(*space, scale=scale)
        # OpenDP rounds the loss up; the scale grows until even so it is within what is paid for.
        if Fraction(made.map(d_in=distance)) <= epsilon:
            return CentralNoise(DiscreteLaplaceLaw(Fraction(scale)), made)
        scale = math.nextafter(scale, math.inf)


def noisy_total(total: Fraction, low: Fraction, high: Fraction, epsilon: Fraction, unit: Fraction) -> Fraction:
    """A total of values between ``low`` and ``high``, rounded down to whole units, with noise for one answer.

    One person's value moves it by at most high - low. Rounding down keeps that: totals at most K units apart stay at most K apart for a whole number K.
    """
    noise = central_noise(math.ceil((high - low) / unit), epsilon)
    return (math.floor(total / unit) + noise.added([0])[0]) * unit
