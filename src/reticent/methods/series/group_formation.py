"""New rows into groups without a repeated value: which values go together, and how many rows of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reticent.base.randomness import Randomness
from reticent.methods.series._kernels import shuffle

Ints = NDArray[np.int64]


class Shuffler:
    """Random orders and random whole numbers for one run, from one stream of machine words."""

    def __init__(self, randomness: Randomness) -> None:
        self._words = randomness.words()

    def order(self, count: int) -> Ints:
        """A uniformly random order of ``count`` things, but for a bias below ``count`` / 2^64."""
        order: Ints = shuffle(self._words(count))
        return order

    def numbers(self, count: int) -> Ints:
        """``count`` random whole numbers of 62 bits."""
        return (self._words(count) >> np.uint64(2)).astype(np.int64)


@dataclass(frozen=True)
class AssignStep:
    """``alpha`` rows of each of some values become that many groups."""

    values: tuple[int, ...]
    alpha: int


def is_eligible(counts: Ints, m: int) -> bool:
    """Whether rows with these counts of values can be divided into m-unique groups: none exceeds 1/m of them."""
    return m * int(counts.max(initial=0)) <= int(counts.sum())


def missing_for_eligibility(counts: Ints, m: int) -> int:
    """How many rows with values other than the most frequent one are missing for m-eligibility: m * c_1 - gamma."""
    return max(0, m * int(counts.max(initial=0)) - int(counts.sum()))


def assign_steps(counts: Ints, m: int, ties: Callable[[int], Ints]) -> Iterator[AssignStep]:
    """How to divide m-eligible rows with these ``counts`` of values: steps that leave the rest m-eligible each time.

    Values are sorted by count, ties in random order. For the least beta >= m there is a largest alpha with alpha <= s_beta,
    s_1 - alpha <= (gamma - alpha * beta) / m and s_(beta+1) <= (gamma - alpha * beta) / m.
    """
    left = counts.astype(np.int64)
    while left.any():
        order = np.lexsort((ties(len(left)), -left))
        falling = left[order]
        order, falling = order[falling > 0], falling[falling > 0]
        step = _step(falling, m)
        chosen = order[: len(step.values)]
        left[chosen] -= step.alpha
        yield AssignStep(tuple(chosen.tolist()), step.alpha)


def _step(falling: Ints, m: int) -> AssignStep:
    total, top = int(falling.sum()), int(falling[0])
    following = np.append(falling[1:], 0)
    for beta in range(m, len(falling) + 1):
        limits = [int(falling[beta - 1]), (total - m * int(following[beta - 1])) // beta]
        if beta > m:
            limits.append((total - m * top) // (beta - m))
        alpha = min(limits)
        if alpha >= 1 and m * (top - alpha) <= total - alpha * beta:
            return AssignStep(tuple(range(beta)), alpha)
    raise AssertionError("m-eligible rows can always be divided")
