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
    """Return the maximum cost of the limit of attempts, in delta and as a share of the ratio.

    The distribution of a screened sample is a P(S) on good outputs plus q Q(S), where Q is the prior's and q <= p^c is
    the probability of c rejections. Outside outputs with Q > p^(-c/2) P, whose probability is at most p^(c/2) by
    Markov's inequality, the second term changes no ratio by more than a share of p^(c/2). With p <= delta, four times
    delta^(c/2) covers all of it.
    """
    return short(4 * delta ** (ATTEMPTS // 2))


def is_good(
    counts: Mapping[Any, int], output: Mapping[Any, int], noise: Callable[[Any], Fraction], gamma: Fraction
) -> bool:
    """True if ``output`` is representative for some table within one row of ``counts``: no value occurs more often than gamma (alpha + [n - 1]+)."""
    above = [
        value for value, drawn in output.items() if drawn > gamma * (noise(value) + max(counts.get(value, 0) - 1, 0))
    ]
    if not above:
        return True
    if len(above) > 1:
        return False
    (only,) = above
    people = counts.get(only, 0)
    if not people or output[only] > gamma * (noise(only) + people):
        return False
    return any(
        each and value != only and output.get(value, 0) <= gamma * (noise(value) + max(each - 2, 0))
        for value, each in counts.items()
    )


def draw_screened(
    pools: Pools, alphas: Sequence[Fraction], drawn: Ints, prior: PublicPrior, gamma: Fraction, words: WordStream
) -> Ints:
    """Sample ``drawn`` values for each group, rejecting samples that are not good, at most :data:`ATTEMPTS` times, then from the prior alone."""
    totals = [prior.total] * len(drawn)
    found = draw_urns(pools, alphas, drawn, totals, words, prior.weights)
    ends = np.cumsum(drawn)
    bad = np.flatnonzero(_rejected(pools, found, drawn, alphas, gamma, prior))
    for attempt in range(1, ATTEMPTS + 1):
        if not len(bad):
            break
        some, own = pools.some(bad), [alphas[each] for each in bad.tolist()]
        people = some if attempt < ATTEMPTS else Pools(np.empty(0, dtype=np.int64), np.zeros(len(bad), dtype=np.int64))
        again = draw_urns(people, own, drawn[bad], totals[: len(bad)], words, prior.weights)
        sizes = drawn[bad]
        found[places_in(ends[bad] - sizes, sizes)] = again
        still = _rejected(some, again, sizes, own, gamma, prior)
        bad = bad[still] if attempt < ATTEMPTS else bad[:0]
    return found


def _rejected(
    pools: Pools, drawn: Ints, sizes: Ints, alphas: Sequence[Fraction], gamma: Fraction, prior: PublicPrior
) -> NDArray[np.bool_]:
    """Mask the groups whose samples are not good. Floats rule out what is far from a threshold; the rest is decided in fractions."""
    k = prior.size
    people, counted = np.unique(
        np.repeat(np.arange(len(pools.sizes)), pools.sizes) * k + pools.codes, return_counts=True
    )
    shown, times = np.unique(np.repeat(np.arange(len(sizes)), sizes) * k + drawn, return_counts=True)
    place = np.searchsorted(people, shown).clip(0, max(len(people) - 1, 0))
    own = np.where(people[place] == shown, counted[place], 0) if len(people) else np.zeros(len(shown), dtype=np.int64)
    group, code = shown // k, shown % k
    weights = 1.0 if prior.weights is None else prior.weights[code].astype(np.float64)
    allowed = float(gamma) * (np.array([float(each) for each in alphas])[group] * weights + np.maximum(own - 1, 0))
    suspects = np.unique(group[times >= allowed * (1 - _MARGIN)])
    found = np.zeros(len(sizes), dtype=bool)
    for each in suspects.tolist():
        inside = slice(*np.searchsorted(people, [each * k, (each + 1) * k]))
        outside = slice(*np.searchsorted(shown, [each * k, (each + 1) * k]))
        counts = dict(zip((people[inside] % k).tolist(), counted[inside].tolist(), strict=True))
        output = dict(zip(code[outside].tolist(), times[outside].tolist(), strict=True))
        found[each] = not is_good(counts, output, partial(prior.noise, alphas[each]), gamma)
    return found
