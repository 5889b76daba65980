"""Protective randomness comes from the operating system; a seed exists for tests and is called insecure."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

WordStream = Callable[[int], NDArray[np.uint64]]
"""A stream of uniform machine words, in blocks of the requested size."""
_LARGEST_BOUND = 2**63


@dataclass(frozen=True)
class Randomness:
    """Shuffles and tokens. With ``insecure_seed`` they are reproducible by anyone, and a release must state it."""

    insecure_seed: int | None = None

    @property
    def is_secure(self) -> bool:
        """True if all samples come from the operating system."""
        return self.insecure_seed is None

    def repeatable(self) -> np.random.Generator | None:
        """The reproducible generator; None if samples come from the operating system."""
        return None if self.insecure_seed is None else np.random.default_rng(self.insecure_seed)

    def order(self, count: int) -> NDArray[np.int64]:
        """A uniformly random permutation of ``count`` items.

        Sorts by 128 random bits: equal keys are practically impossible even among a billion rows, so all permutations
        are equally likely.
        """
        if self.insecure_seed is not None:
            return np.random.default_rng(self.insecure_seed).permutation(count)
        keys = np.frombuffer(secrets.token_bytes(16 * count), dtype=np.uint64).reshape(2, count)
        return np.lexsort((keys[1], keys[0]))

    def integers(self, bound: int, count: int) -> NDArray[np.int64]:
        """``count`` independent integers, each uniform on 0 .. ``bound`` - 1 (``bound`` at most 2^63), by rejection sampling without bias."""
        width = max(1, (bound - 1).bit_length())
        source = None if self.insecure_seed is None else np.random.default_rng(self.insecure_seed)
        kind = np.dtype("<u4" if width <= 32 else "<u8")
        accepted = np.empty(0, dtype=np.int64)
        while len(accepted) < count:
            missing = (count - len(accepted)) * (1 << width) // bound + 16
            size = kind.itemsize * missing
            raw = secrets.token_bytes(size) if source is None else source.bytes(size)
            numbers = np.bitwise_and(np.frombuffer(raw, dtype=kind), (1 << width) - 1)
            accepted = np.concatenate([accepted, numbers[numbers < bound].astype(np.int64)])
        return accepted[:count]

    def tokens(self, count: int) -> list[str]:
        """Distinct random names of 16 hexadecimal digits."""
        if self.insecure_seed is not None:
            raw = np.random.default_rng(self.insecure_seed).bytes(8 * count)
        else:
            raw = secrets.token_bytes(8 * count)
        names = [raw[8 * i : 8 * i + 8].hex() for i in range(count)]
        return names if len(set(names)) == count else self.tokens(count)

    def words(self) -> WordStream:
        """A stream of uniform machine words; two streams with the same seed are equal."""
        if self.insecure_seed is None:
            return lambda count: np.frombuffer(secrets.token_bytes(8 * count), dtype=np.uint64)
        source = np.random.default_rng(self.insecure_seed)
        return lambda count: np.frombuffer(source.bytes(8 * count), dtype=np.uint64)


def uniform_below(bounds: NDArray[np.uint64], words: WordStream) -> NDArray[np.uint64]:
    """A uniform integer below each of the ``bounds`` (1 to 2^63), exact: as many bits as the bound has, by rejection sampling."""
    if len(bounds) and not (bounds.min() >= 1 and bounds.max() <= _LARGEST_BOUND):
        raise ValueError("bounds must be between 1 and 2^63")
    masks = bounds - np.uint64(1)
    for shift in (1, 2, 4, 8, 16, 32):
        masks |= masks >> np.uint64(shift)
    sampled = words(len(bounds)) & masks
    rejected = np.flatnonzero(sampled >= bounds)
    while len(rejected):
        sampled[rejected] = words(len(rejected)) & masks[rejected]
        rejected = rejected[sampled[rejected] >= bounds[rejected]]
    return sampled


def whole_below(bound: int, words: WordStream) -> int:
    """A uniform integer below any bound, exact."""
    bits = (bound - 1).bit_length()
    while True:
        sampled = int.from_bytes(words(-(-bits // 64)).tobytes(), "little") & ((1 << bits) - 1)
        if sampled < bound:
            return sampled
