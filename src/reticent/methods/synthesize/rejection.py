"""Rejection sampling: a good sample is kept, any other is sampled again.

Rejecting what is not representative of the table itself would break the guarantee, since neighbours reject other
outputs. What may be rejected is what is representative neither of the table nor of any table one row away.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.base.ragged import places_in
from reticent.base.randomness import WordStream
from reticent.methods.synthesize.prior import PublicPrior
from reticent.methods.synthesize.required_noise import short
from reticent.methods.synthesize.urn import Ints, Pools, draw_urns

ATTEMPTS = 64
"""Maximum number of attempts per group; then it is sampled from the prior alone. It must not depend on the data, and the
number of attempts is not disclosed.
"""
# Floating-point products are far more accurate than this.
_MARGIN = 1e-9


def screening_charge(delta: Fraction) -> Fraction:
    """Return how much at most it costs that rejected samples are repeated a limited number of times only: in delta, and as a
    share of the ratio.

    The distribution of a screened sample is a P(S) on good outputs plus q Q(S), where Q is the prior's and q <= p^c is
    the probability of c rejections. Outside outputs with Q > p^(-c/2) P, whose probability is at most p^(c/2) by
    Markov's inequality, the second term changes no ratio by more than a share of p^(c/2). With p <= delta, four times
    delta^(c/2) covers all of it.
    """
    return short(4 * delta ** (ATTEMPTS // 2))


def is_good(
    counts: Mapping[Any, int], output: Mapping[Any, int], noise: Callable[[Any], Fraction], gamma: Fraction
) -> bool:
    """True if ``output`` is representative for some table within one row of ``counts``: no value with n people and noise
    alpha occurs in it more often than gamma (alpha + [n - 1]+).
    """
    too_frequent = [
        value for value, drawn in output.items() if drawn > gamma * (noise(value) + max(counts.get(value, 0) - 1, 0))
    ]
    if not too_frequent:
        return True
    if len(too_frequent) > 1:
        return False
    (candidate,) = too_frequent
    people = counts.get(candidate, 0)
    if not people or output[candidate] > gamma * (noise(candidate) + people):
        return False
    return any(
        people_with_value
        and value != candidate
        and output.get(value, 0) <= gamma * (noise(value) + max(people_with_value - 2, 0))
        for value, people_with_value in counts.items()
    )


def draw_screened(
    pools: Pools, alphas: Sequence[Fraction], drawn: Ints, prior: PublicPrior, gamma: Fraction, words: WordStream
) -> Ints:
    """Return ``drawn`` sampled values for each group. A sample that is not representative is rejected and repeated, at most
    :data:`ATTEMPTS` times; the last attempt samples from the prior alone.
    """
    totals = [prior.total] * len(drawn)
    drawn_values = draw_urns(pools, alphas, drawn, totals, words, prior.weights)
    ends = np.cumsum(drawn)
    rejected_groups = np.flatnonzero(_rejected(pools, drawn_values, drawn, alphas, gamma, prior))
    for attempt in range(1, ATTEMPTS + 1):
        if not len(rejected_groups):
            break
        rejected_pools, rejected_alphas = (
            pools.some(rejected_groups),
            [alphas[group_index] for group_index in rejected_groups.tolist()],
        )
        people = (
            rejected_pools
            if attempt < ATTEMPTS
            else Pools(np.empty(0, dtype=np.int64), np.zeros(len(rejected_groups), dtype=np.int64))
        )
        new_values = draw_urns(
            people, rejected_alphas, drawn[rejected_groups], totals[: len(rejected_groups)], words, prior.weights
        )
        sizes = drawn[rejected_groups]
        drawn_values[places_in(ends[rejected_groups] - sizes, sizes)] = new_values
        rejected_again = _rejected(rejected_pools, new_values, sizes, rejected_alphas, gamma, prior)
        rejected_groups = rejected_groups[rejected_again] if attempt < ATTEMPTS else rejected_groups[:0]
    return drawn_values


def _rejected(
    pools: Pools, drawn: Ints, sizes: Ints, alphas: Sequence[Fraction], gamma: Fraction, prior: PublicPrior
) -> NDArray[np.bool_]:
    """Mask the groups whose samples are not representative (:func:`is_good`). Floats decide far from a threshold, fractions near it."""
    k = prior.size
    people, people_counts = np.unique(
        np.repeat(np.arange(len(pools.sizes)), pools.sizes) * k + pools.codes, return_counts=True
    )
    drawn_cells, times = np.unique(np.repeat(np.arange(len(sizes)), sizes) * k + drawn, return_counts=True)
    nearest_cell = np.searchsorted(people, drawn_cells).clip(0, max(len(people) - 1, 0))
    people_with_value = (
        np.where(people[nearest_cell] == drawn_cells, people_counts[nearest_cell], 0)
        if len(people)
        else np.zeros(len(drawn_cells), dtype=np.int64)
    )
    group, code = drawn_cells // k, drawn_cells % k
    weights = 1.0 if prior.weights is None else prior.weights[code].astype(np.float64)
    allowed_times = float(gamma) * (
        np.array([float(alpha) for alpha in alphas])[group] * weights + np.maximum(people_with_value - 1, 0)
    )
    suspects = np.unique(group[times >= allowed_times * (1 - _MARGIN)])
    is_rejected = np.zeros(len(sizes), dtype=bool)
    for suspect in suspects.tolist():
        inside = slice(*np.searchsorted(people, [suspect * k, (suspect + 1) * k]))
        outside = slice(*np.searchsorted(drawn_cells, [suspect * k, (suspect + 1) * k]))
        counts = dict(zip((people[inside] % k).tolist(), people_counts[inside].tolist(), strict=True))
        output = dict(zip(code[outside].tolist(), times[outside].tolist(), strict=True))
        is_rejected[suspect] = not is_good(counts, output, partial(prior.noise, alphas[suspect]), gamma)
    return is_rejected
