"""Randomness that protects people comes from the operating system; a seed exists for tests and is called insecure."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Randomness:
    """Shuffles and tokens. With ``insecure_seed`` they can be repeated by anybody, and a release must say so."""

    insecure_seed: int | None = None

    @property
    def is_secure(self) -> bool:
        """Whether every draw comes from the operating system."""
        return self.insecure_seed is None

    def order(self, count: int) -> NDArray[np.int64]:
        """A uniformly random order of ``count`` things.

        Sorting by 128 random bits: two equal keys among even a billion rows are as good as impossible, so all orders
        are equally likely.
        """
        if self.insecure_seed is not None:
            return np.random.default_rng(self.insecure_seed).permutation(count)
        keys = np.frombuffer(secrets.token_bytes(16 * count), dtype=np.uint64).reshape(2, count)
        return np.lexsort((keys[1], keys[0]))

    def tokens(self, count: int) -> list[str]:
        """Distinct random names of 16 hexadecimal digits."""
        if self.insecure_seed is not None:
            raw = np.random.default_rng(self.insecure_seed).bytes(8 * count)
        else:
            raw = secrets.token_bytes(8 * count)
        names = [raw[8 * i : 8 * i + 8].hex() for i in range(count)]
        return names if len(set(names)) == count else self.tokens(count)
