"""A private prime and uniform numbers below it, from the operating system's random generator."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

BITS = 61

# These bases decide for all numbers below 3.3 * 10^24 (Sorenson and Webster, 2015).
_WITNESSES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41)


def is_prime(number: int) -> bool:
    """True if a number below 2^81 is prime, by the deterministic Miller-Rabin test."""
    if number < 2:
        return False
    for small in _WITNESSES:
        if number % small == 0:
            return number == small
    odd = number - 1
    twos = (odd & -odd).bit_length() - 1
    odd >>= twos
    for witness in _WITNESSES:
        power = pow(witness, odd, number)
        if power not in (1, number - 1) and all(
            (power := power * power % number) != number - 1 for _ in range(twos - 1)
        ):
            return False
    return True


@dataclass
class RandomWords:
    """Random 64-bit words; with ``insecure_seed`` they are reproducible, for tests only."""

    insecure_seed: int | None = None
    _generator: np.random.Generator | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        if self.insecure_seed is not None:
            self._generator = np.random.default_rng(self.insecure_seed)

    def words(self, count: int) -> NDArray[np.uint64]:
        raw = secrets.token_bytes(8 * count) if self._generator is None else self._generator.bytes(8 * count)
        return np.frombuffer(raw, dtype="<u8").astype(np.uint64)

    def prime(self) -> int:
        """Return a uniform 61-bit prime."""
        while True:
            word = int(self.words(1)[0]) >> (64 - BITS) | 1
            if word >> (BITS - 1) and is_prime(word):
                return word

    def below(self, bound: int, count: int) -> NDArray[np.uint64]:
        """Return ``count`` independent uniform numbers in 0..bound-1, bound at most 2^61, by rejection sampling."""
        numbers = np.empty(0, dtype=np.uint64)
        while len(numbers) < count:
            words = self.words(2 * (count - len(numbers)) + 4) >> np.uint64(64 - BITS)
            numbers = np.concatenate([numbers, words[words < bound]])
        return numbers[:count]
