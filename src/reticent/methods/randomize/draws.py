"""Random samples for protective noise: uniform codes, exact coins, counts. From the operating system unless a test passes a seed."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

_WORD = 64
_BERNOULLI_BLOCK = 1 << 20
# Above this many trials a binomial count is sampled from its Poisson limit.
POISSON_ABOVE = 2**62
# Upper bound on the floating-point error in the few operations that lead to a probability.
_ROUNDING = 2.0**-48


@dataclass(frozen=True)
class Draws:
    """A source of random samples. With ``insecure_seed`` anyone can reproduce them, and a view must state that.

    Mutable only in the seeded generator; the operating system's generator keeps its own state.
    """

    insecure_seed: int | None = None
    _generator: np.random.Generator | None = field(init=False, repr=False, default=None)

    def __post_init__(self) -> None:
        if self.insecure_seed is not None:
            object.__setattr__(self, "_generator", np.random.default_rng(self.insecure_seed))

    @property
    def is_secure(self) -> bool:
        """True if every sample comes from the operating system."""
        return self.insecure_seed is None

    def raw(self, count: int, dtype: type[np.uint32] | type[np.uint64] = np.uint64) -> NDArray[np.unsignedinteger]:
        """Return ``count`` uniform random words of 32 or 64 bits."""
        size = np.dtype(dtype).itemsize * count
        data = secrets.token_bytes(size) if self._generator is None else self._generator.bytes(size)
        return np.frombuffer(data, dtype=dtype)

    def below(self, bound: int, count: int) -> NDArray[np.int64]:
        """Return ``count`` uniform integers below ``bound`` (at most 2^63), exactly, by rejection sampling."""
        dtype, bits = (np.uint32, 32) if bound <= 2**32 else (np.uint64, 64)
        usable = (2**bits // bound) * bound
        parts: list[NDArray[np.unsignedinteger]] = [np.empty(0, dtype)]
        missing = count
        while missing:
            words = self.raw(missing + (missing * (2**bits - usable) >> bits) + 16, dtype)
            accepted = words[words < usable] if usable < 2**bits else words
            parts.append(accepted[:missing])
            missing -= len(parts[-1])
        numbers = np.concatenate(parts)
        return (
            (numbers % np.array(bound, dtype=dtype)).astype(np.int64) if bound < 2**bits else numbers.astype(np.int64)
        )

    def coins(self, probability: Fraction, count: int) -> NDArray[np.bool_]:
        """Return independent coins with exactly this probability: random words compared with its binary digits, further words on a tie."""
        if probability <= 0 or probability >= 1:
            return np.full(count, probability >= 1)
        scaled = probability * 2**_WORD
        digits = math.floor(scaled)
        words = self.raw(count)
        heads: NDArray[np.bool_] = words < np.uint64(digits)
        ties = np.flatnonzero(words == np.uint64(digits))
        if len(ties) and scaled != digits:
            heads[ties] = self.coins(scaled - digits, len(ties))
        return heads

    def chances(self, probabilities: NDArray[np.float64], *, up: bool) -> NDArray[np.bool_]:
        """Return independent coins with these floating-point probabilities: rounded ``up`` for noise, otherwise down."""
        words = self.raw(len(probabilities))
        rounded = probabilities * (1 + _ROUNDING if up else 1 - _ROUNDING)
        chosen: NDArray[np.bool_] = words < (rounded * 2.0**_WORD).clip(0, 2.0**_WORD - 2048).astype(np.uint64)
        return chosen | (rounded >= 1)

    def binomial(self, trials: int, probability: Fraction) -> int:
        """Sample a binomial count by inverting the distribution function with a 64-bit uniform number.

        The error is that of the function, below 1e-9 in total variation. Above 2^62 trials the Poisson limit is used,
        at a distance of at most ``probability`` (Le Cam).
        """
        if trials <= 0 or probability <= 0:
            return 0
        if probability >= 1:
            return trials
        if trials <= _BERNOULLI_BLOCK:
            return int(self.coins(probability, trials).sum())
        if trials > POISSON_ABOVE:
            return self.poisson(float(trials * probability))
        from scipy.special import betaincc

        # Noise is rounded up, never down.
        p = min(float(probability) * (1 + _ROUNDING), 1.0)
        return self._inverted(
            lambda count: float(betaincc(count + 1.0, float(trials - count), p)),
            trials * p,
            trials * p * (1 - p),
            trials,
        )

    def poisson(self, mean: float) -> int:
        """Sample a Poisson count by inverting the distribution function with a uniform random number; 0 unless ``mean`` is positive."""
        from scipy.special import pdtr

        return self._inverted(lambda count: float(pdtr(count, mean)), mean, mean, None) if mean > 0 else 0

    def _inverted(self, distribution: Callable[[int], float], mean: float, variance: float, limit: int | None) -> int:
        """Sample a count by inversion: the smallest one at which the distribution function reaches a uniform random number.

        ``mean`` and ``variance`` bound the bisection, ``limit`` is the largest possible count.
        """
        uniform = (float(self.raw(1)[0] >> np.uint64(11)) + 0.5) / 2.0**53
        width = 40.0 * math.sqrt(variance) + 400.0
        low, high = max(-1, math.floor(mean - width)), math.ceil(mean + width)
        high = high if limit is None else min(high, limit)
        while high - low > 1:
            middle = (low + high) // 2
            if distribution(middle) >= uniform:
                high = middle
            else:
                low = middle
        return high
