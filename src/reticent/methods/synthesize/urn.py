"""Exact sampling from Polya urns, many groups at once: no cell per value, and no rounding anywhere.

A group's urn has one ball per person, and alpha_i balls of every value; a drawn ball is returned with one more of its
kind. With alpha = p/q times integer weights with the sum W, draw t samples an integer u below pW + q(n + t): below pW
it is a value of the prior, otherwise ball number (u - pW) // q, which is a person of the group or an earlier draw. All
integers are sampled first; draws that repeat earlier ones are then resolved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.base.exact import Number, exact, whole
from reticent.base.ragged import places_in
from reticent.base.randomness import Randomness, WordStream, uniform_below, whole_below
from reticent.methods.synthesize.disclosure_set import Counts, checked_counts
from reticent.methods.synthesize.prior import PublicPrior

Ints = NDArray[np.int64]
_MOST_DRAWN = 10**9
_MACHINE = 2**63


@dataclass(frozen=True, eq=False)
class Pools:
    """The people of several groups: value codes, group by group, and the number in each group."""

    codes: Ints
    sizes: Ints

    def some(self, groups: Ints) -> Pools:
        """Return the people of some of the groups."""
        ends = np.cumsum(self.sizes)
        sizes = self.sizes[groups]
        return Pools(self.codes[places_in(ends[groups] - sizes, sizes)], sizes)

    @classmethod
    def of_counts(cls, counts: Counts, prior: PublicPrior) -> Pools:
        """Build one group with these counts of values."""
        listed = {prior.code(value): people for value, people in counts.items()}
        people = np.repeat(np.array(list(listed), dtype=np.int64), np.array(list(listed.values()), dtype=np.int64))
        return cls(people, np.array([len(people)], dtype=np.int64))


def draw_urns(
    pools: Pools,
    alphas: Sequence[Fraction],
    drawn: Ints,
    totals: Sequence[int],
    words: WordStream,
    weights: Ints | None = None,
) -> Ints:
    """Sample ``drawn`` values for each group, as codes, group by group; ``alphas`` are the noise of each group,
    ``totals`` the weight of all its values, that of ``weights`` if not uniform.

    Guarantee: the distribution is exactly Dirichlet-multinomial if the words are uniform.
    Cost: O(draws), a few dozen bytes each.
    """
    groups = np.repeat(np.arange(len(drawn)), drawn)
    first_draw = np.cumsum(drawn) - drawn
    turn = np.arange(len(groups)) - first_draw[groups]
    from_prior, ball = _balls(pools.sizes, alphas, groups, turn, totals, words)
    starts = np.cumsum(pools.sizes) - pools.sizes
    drawn_values = np.empty(len(groups), dtype=np.int64)
    drawn_values[from_prior] = ball[from_prior] if weights is None else _chosen(ball[from_prior], weights)
    is_person = ~from_prior & (ball < pools.sizes[groups])
    drawn_values[is_person] = pools.codes[starts[groups[is_person]] + ball[is_person]]
    repeats = np.flatnonzero(~from_prior & ~is_person)
    # A draw that repeats another points to it; pointer doubling until all point to a draw with its own value.
    source_draw = np.arange(len(groups))
    source_draw[repeats] = first_draw[groups[repeats]] + ball[repeats] - pools.sizes[groups[repeats]]
    while len(repeats):
        source_draw[repeats] = source_draw[source_draw[repeats]]
        settled = source_draw[repeats] == source_draw[source_draw[repeats]]
        repeats = repeats[~settled]
    return drawn_values[source_draw]


def _balls(
    sizes: Ints, alphas: Sequence[Fraction], groups: Ints, turn: Ints, totals: Sequence[int], words: WordStream
) -> tuple[NDArray[np.bool_], Ints]:
    """Return for each draw whether it takes a value of the prior and which weight unit, or otherwise the number of the ball."""
    # p of alpha = p/q times the total weight, p and q; alphas repeat, and so do these.
    parts = [
        (alpha.numerator * total, alpha.numerator, alpha.denominator)
        for alpha, total in zip(alphas, totals, strict=True)
    ]
    last_turn = np.zeros(len(sizes), dtype=np.int64)
    np.maximum.at(last_turn, groups, turn + 1)
    fits_machine = np.array(
        [
            noise + q * (n + t) <= _MACHINE
            for (noise, _, q), n, t in zip(parts, sizes.tolist(), last_turn.tolist(), strict=True)
        ],
        dtype=bool,
    )
    small = np.flatnonzero(fits_machine[groups])
    safe = [part if fit else (1, 1, 1) for part, fit in zip(parts, fits_machine, strict=True)]
    noise, p, q = np.array(safe, dtype=np.uint64).reshape(-1, 3)[groups[small]].T
    u = uniform_below(noise + q * (sizes[groups[small]] + turn[small]).astype(np.uint64), words)
    from_prior = np.zeros(len(groups), dtype=bool)
    ball = np.zeros(len(groups), dtype=np.int64)
    from_prior[small] = u < noise
    # Below the noise the difference wraps around; it is not used there.
    ball[small] = np.where(u < noise, u // p, (u - noise) // q).astype(np.int64)
    for draw_index in np.flatnonzero(~fits_machine[groups]).tolist():
        bound, large_p, large_q = parts[groups[draw_index]]
        v = whole_below(bound + large_q * int(sizes[groups[draw_index]] + turn[draw_index]), words)
        from_prior[draw_index] = v < bound
        ball[draw_index] = v // large_p if v < bound else (v - bound) // large_q
    return from_prior, ball


def _chosen(units: Ints, weights: Ints) -> Ints:
    """Return the value that each weight unit belongs to."""
    return np.searchsorted(np.cumsum(weights), units, side="right")


def sample(
    counts: Counts,
    alpha: Number,
    size: int,
    domain: int | Sequence[Any] | Mapping[Any, Any] | PublicPrior,
    insecure_seed: int | None = None,
) -> dict[Any, int]:
    """Sample ``size`` synthetic rows of one group with these true ``counts``; return the count of each value.

    ``alpha`` is the noise of every value, times its weight if ``domain`` has weights. Randomness comes from the
    operating system; ``insecure_seed`` is for tests, and its samples must not be released.
    """
    prior, noise = PublicPrior.of(domain), exact(alpha, "alpha", above=0)
    pools = Pools.of_counts(checked_counts(counts, "counts"), prior)
    drawn = np.array([whole(size, "size", low=0, high=_MOST_DRAWN)], dtype=np.int64)
    codes = draw_urns(pools, [noise], drawn, [prior.total], Randomness(insecure_seed).words(), prior.weights)
    return tally(codes, prior)


def tally(codes: Ints, prior: PublicPrior) -> dict[Any, int]:
    """Return the count of each value among codes."""
    values, times = np.unique(codes, return_counts=True)
    return {prior.value(code): count for code, count in zip(values.tolist(), times.tolist(), strict=True)}
