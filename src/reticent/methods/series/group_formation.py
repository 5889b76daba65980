"""Partition new rows into groups without a repeated value: the values of each group, and the number of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reticent.base.randomness import Randomness
from reticent.methods.series._kernels import shuffle

Ints = NDArray[np.int64]


class Shuffler:
    """Random permutations and random integers for one run, from one stream of random words."""

    def __init__(self, randomness: Randomness) -> None:
        self._words = randomness.words()

    def order(self, count: int) -> Ints:
        """Return a uniformly random permutation of ``count`` elements, up to a bias below ``count`` / 2^64."""
        order: Ints = shuffle(self._words(count))
        return order

    def numbers(self, count: int) -> Ints:
        """Return ``count`` random 62-bit integers."""
        return (self._words(count) >> np.uint64(2)).astype(np.int64)


@dataclass(frozen=True)
class AssignStep:
    """One step of ASSIGN: ``alpha`` rows of each of some values form ``alpha`` groups."""

    values: tuple[int, ...]
    alpha: int


def is_eligible(counts: Ints, m: int) -> bool:
    """True if rows with these value counts can be partitioned into m-unique groups: no count exceeds 1/m of the total (m-eligibility)."""
    return m * int(counts.max(initial=0)) <= int(counts.sum())


def missing_for_eligibility(counts: Ints, m: int) -> int:
    """Return how many rows with values other than the most frequent are missing for m-eligibility: m * c_1 - gamma."""
    return max(0, m * int(counts.max(initial=0)) - int(counts.sum()))


def assign_steps(counts: Ints, m: int, ties: Callable[[int], Ints]) -> Iterator[AssignStep]:
    """Yield steps that partition m-eligible rows with these value ``counts``; after each step the rest is m-eligible.

    Values are sorted by count, ties in random order. For the smallest beta >= m there is a largest alpha with alpha <=
    s_beta, s_1 - alpha <= (gamma - alpha * beta) / m and s_(beta+1) <= (gamma - alpha * beta) / m. Source: [Xiao2007].
    """
    remaining = counts.astype(np.int64)
    while remaining.any():
        order = np.lexsort((ties(len(remaining)), -remaining))
        falling = remaining[order]
        order, falling = order[falling > 0], falling[falling > 0]
        step = _step(falling, m)
        chosen = order[: len(step.values)]
        remaining[chosen] -= step.alpha
        yield AssignStep(tuple(chosen.tolist()), step.alpha)


def _step(falling: Ints, m: int) -> AssignStep:
    """Return how many of the most frequent values form groups next, and how many groups, so that the remaining rows stay m-eligible; ``falling`` are the counts in descending order."""
    total, top = int(falling.sum()), int(falling[0])
    following = np.append(falling[1:], 0)
    for beta in range(m, len(falling) + 1):
        limits = [int(falling[beta - 1]), (total - m * int(following[beta - 1])) // beta]
        if beta > m:
            limits.append((total - m * top) // (beta - m))
        alpha = min(limits)
        if alpha >= 1 and m * (top - alpha) <= total - alpha * beta:
            return AssignStep(tuple(range(beta)), alpha)
    raise AssertionError("m-eligible rows can always be partitioned")
