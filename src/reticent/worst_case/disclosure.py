"""How sure an attacker with k facts can become about any person: the maximum disclosure D(B, k), exactly.

*Guarantee*: every number is an exact fraction; a verdict compares fractions, never floats.
*Adversary*: knows which person is in which bucket, all non-sensitive data, and any k basic implications about the
sensitive values (if these people have those values, then one of those people has one of those values); random-worlds
prior.
*Cost*: one float pass over the buckets, then exact arithmetic on the few that can matter.
*Source*: [Martin2007]. The worst facts are ``A_i -> A`` with one common consequent and give 1 / (1 + R), R the minimum
of Pr(no atom holds) / Pr(A). Corrected: the recursion ends in 1 and starts without A, its cost is k^2 per bucket, and
Figure 3 at k = 1 is 2/3, not 10/19.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf

import numpy as np

from reticent.base.exact import Number, exact, whole
from reticent.errors import PolicyError
from reticent.worst_case.contenders import strongest, sweep, table_of
from reticent.worst_case.fraction_order import ascending
from reticent.worst_case.histogram_buckets import Buckets, Integers, Measured
from reticent.worst_case.screen import UNDERFLOW, Mask, screen, slack, use_factors

DEEPEST = 128
"""Default maximum number of facts in the search for a breaking point."""


def curve(histograms: Measured, k: int) -> list[Fraction]:
    """D(B, j) for j = 0..``k``: the highest certainty of an attacker with j facts.

    >>> [str(value) for value in curve([(2, 2, 1), (2, 1, 1, 1)], k=3)]
    ['2/5', '2/3', '1', '1']
    """
    buckets, k = Buckets.of(histograms), fact_count(k)
    return disclosures(ratios(buckets, k))


def negation_curve(histograms: Measured, k: int) -> list[Fraction]:
    """Return the highest certainty of an attacker who knows j = 0..``k`` facts "this person does not have that value".

    This is the attacker of l-diversity: never stronger, and often (not always) as strong.
    """
    buckets, k = Buckets.of(histograms), fact_count(k)
    top, remaining = buckets.rank(0), buckets.sizes.copy()
    values: list[Fraction] = []
    for facts in range(k + 1):
        if facts >= int(buckets.distinct.max()):
            return values + values[-1:] * (k + 1 - facts)
        if facts:
            remaining -= buckets.rank(facts)
        values.append(_largest_quotient(top, remaining)[0])
    return values


def worst_negations(buckets: Buckets, k: int) -> tuple[Fraction, int]:
    """The highest certainty after ``k`` negations, and the first bucket that reaches it."""
    return _largest_quotient(*_after_negations(buckets, k))


def negations_unsafe(buckets: Buckets, c: Fraction, k: int) -> Mask:
    """Mask of the buckets where ``k`` negations reach ``c``, exactly: ``n(s0) >= c (n - n(s1) - ... - n(sk))``."""
    top, remaining = _after_negations(buckets, k)
    fits_in_int64 = int(remaining.max()) * c.denominator < 1 << 62
    numerators, denominators = (top, remaining) if fits_in_int64 else (top.astype(object), remaining.astype(object))
    unsafe: Mask = (numerators * c.denominator >= denominators * c.numerator).astype(bool)
    return unsafe


def _after_negations(buckets: Buckets, k: int) -> tuple[Integers, Integers]:
    """For every bucket the count of its most frequent value, and of all values but the ``k`` next most frequent."""
    top_counts = buckets.top(min(k + 1, int(buckets.distinct.max())))
    return top_counts[0], buckets.sizes - top_counts[1:].sum(axis=0)


def certainty_point(histograms: Measured) -> int:
    """The smallest k with D(B, k) = 1: one less than the number of values in the bucket with the fewest."""
    return Buckets.of(histograms).fewest_values - 1


def breaking_point(histograms: Measured, c: Number, limit: int = DEEPEST) -> int | None:
    """The smallest k with D(B, k) >= ``c``, or None if more than ``limit`` facts are needed."""
    buckets, threshold = Buckets.of(histograms), as_probability(c)
    certain = certainty_point(buckets)
    limit = min(whole(limit, "limit", low=0), certain)
    depth = min(limit, 7)
    while True:
        for facts, value in enumerate(curve(buckets, depth)):
            if value >= threshold:
                return facts
        if depth == limit:
            return None
        depth = min(limit, 2 * depth + 1)


@dataclass(frozen=True)
class Safety:
    """The verdict on (c, k)-safety, which requires D(B, k) strictly below c.

    ``breaking_point`` is the smallest number of facts that reaches c (None: more than the limit), ``certainty_point``
    the smallest that makes a person's value certain.
    """

    holds: bool
    c: Fraction
    k: int
    disclosure: Fraction
    breaking_point: int | None
    certainty_point: int

    @property
    def margin(self) -> Fraction:
        """c - D: the distance to the threshold, negative if it is exceeded."""
        return self.c - self.disclosure


def safe(histograms: Measured, c: Number, k: int) -> Safety:
    """Whether the disclosure of every person with ``k`` facts is strictly below ``c``, exactly.

    >>> safe([(2, 2, 1), (2, 1, 1, 1)], c="2/3", k=1).holds, safe([(2, 2, 1), (2, 1, 1, 1)], c="0.67", k=1).holds
    (False, True)
    """
    buckets, threshold, k = Buckets.of(histograms), as_probability(c), fact_count(k)
    values = curve(buckets, k)
    first_unsafe = next((facts for facts, value in enumerate(values) if value >= threshold), None)
    if first_unsafe is None:
        first_unsafe = breaking_point(buckets, threshold, limit=max(DEEPEST, k))
    return Safety(
        values[-1] < threshold,
        threshold,
        k,
        disclosure=values[-1],
        breaking_point=first_unsafe,
        certainty_point=certainty_point(buckets),
    )


def holds(buckets: Buckets, c: Fraction, k: int) -> bool:
    """``D(B, k) < c``, decided exactly but computed exactly only if the screen leaves a doubt."""
    if c <= 0 or k >= buckets.fewest_values - 1:
        return c > 1
    needed = (1 - c) / c
    verdict = screened_verdict(float(screen(buckets, k).ratios[k]), needed, k)
    return ratios(buckets, k)[k] > needed if verdict is None else verdict


def unsafe_alone(buckets: Buckets, c: Fraction, k: int) -> Mask:
    """Mask of the buckets in which an adversary who knows ``k`` facts about people of that bucket alone is sure of some value with probability ``c`` or more: no release that contains one of them is safe."""
    if c <= 0:
        return np.ones(len(buckets), dtype=bool)
    # k facts can rule out k values, which leaves at most one.
    unsafe: Mask = buckets.distinct < k + 2
    # A probability p belongs to the ratio (1 - p) / p, which k facts make as small as possible.
    needed = (1 - c) / c
    limit = _as_float(needed)
    rows = np.flatnonzero(~unsafe)
    for begin, factors in use_factors(buckets, rows, k):
        chunk = rows[begin : begin + len(factors)]
        approximate = factors[:, 1, k]
        is_unsafe = approximate < limit / slack(k) ** 2
        is_doubtful = ~is_unsafe & (approximate <= limit * slack(k) ** 2) | (approximate <= UNDERFLOW)
        unsafe[chunk] = is_unsafe
        for bucket in chunk[is_doubtful].tolist():
            unsafe[bucket] = table_of(buckets, bucket, k + 1).holding(k) <= needed
    return unsafe


def screened_verdict(approximate: float, needed: Fraction, k: int) -> bool | None:
    """True if a ratio that is approximately ``approximate`` exceeds ``needed``, False if not; None if rounding may
    decide.
    """
    limit = _as_float(needed)
    if approximate > limit * slack(k) ** 2 + UNDERFLOW:
        return True
    if UNDERFLOW < approximate < limit / slack(k) ** 2:
        return False
    return None


def _as_float(value: Fraction) -> float:
    """The nearest float; infinity for larger values."""
    try:
        return float(value)
    except OverflowError:
        return inf


def ratios(buckets: Buckets, k: int) -> list[Fraction]:
    """Return for j = 0..``k`` facts the minimum of Pr(A and all antecedents are false) / Pr(A), exactly; A is the atom
    that the attacker predicts.

    0 as soon as j facts give certainty.
    """
    largest_k = min(k, buckets.fewest_values - 2)
    if largest_k < 0:
        return [Fraction(0)] * (k + 1)
    contenders = strongest(buckets, screen(buckets, largest_k).uses(), largest_k)
    return sweep(contenders, largest_k) + [Fraction(0)] * (k - largest_k)


def disclosures(least: Sequence[Fraction]) -> list[Fraction]:
    """1 / (1 + R) for every ratio."""
    return [1 / (1 + ratio) for ratio in least]


def _largest_quotient(numerators: Integers, denominators: Integers) -> tuple[Fraction, int]:
    """Return the exact maximum of ``numerators / denominators`` and its first index.

    A float division is correctly rounded, hence monotone, so only its ties have to be compared.
    """
    quotients = numerators / denominators
    ties = np.flatnonzero(quotients == quotients.max())
    if quotients[ties[0]] == 1.0:
        # Below 2^50 only equal numbers have a quotient that rounds to one.
        return Fraction(1), int(ties[0])
    index = int(ties[next(ascending(denominators[ties], numerators[ties]))[0]])
    return Fraction(int(numerators[index]), int(denominators[index])), index


def fact_count(k: object) -> int:
    """``k`` as a number of facts. Raises PolicyError if it is not one."""
    return whole(k, "k (the number of facts an attacker knows)", low=0)


def as_probability(c: Number) -> Fraction:
    """The threshold ``c`` as an exact fraction from 0 to 1. Raises :class:`PolicyError` if it is not a probability."""
    try:
        return exact(c, "c (the disclosure that must not be reached)", low=0, high=1)
    except PolicyError as error:
        raise PolicyError(f"{error} Use a probability such as '0.6' or '2/3'.") from None
