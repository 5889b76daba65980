"""Tails, reference masses and bounds of synthetic groups with sixty digits: mpmath's gamma functions and its exponential, nothing of the product."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from mpmath import mp, mpf

DIGITS = 60


def number(value: Fraction | int | str) -> mpf:
    """A fraction with all digits."""
    exact = Fraction(value)
    return mpf(exact.numerator) / exact.denominator


def log_mass(drawn: mpf, inside: mpf, outside: mpf, hits: mpf) -> mpf:
    """The logarithm of a beta-binomial chance; hits need not be whole."""
    ways = mp.loggamma(drawn + 1) - mp.loggamma(hits + 1) - mp.loggamma(drawn - hits + 1)
    start = mp.loggamma(inside + outside) - mp.loggamma(inside) - mp.loggamma(outside)
    end = mp.loggamma(inside + hits) + mp.loggamma(outside + drawn - hits) - mp.loggamma(inside + outside + drawn)
    return ways + start + end


def tail(drawn: int, inside: mpf, outside: mpf, threshold: int) -> mpf:
    """P(hits > threshold): the first term by gamma functions, each further one by the ratio of two neighbours, until nothing is added."""
    if threshold >= drawn:
        return mpf(0)
    hits, total = threshold + 1, mpf(0)
    term = mp.exp(log_mass(mpf(drawn), inside, outside, mpf(hits)))
    while hits <= drawn and (term > total * mpf(10) ** -DIGITS or hits < drawn * inside / (inside + outside) + 1):
        total += term
        term *= (drawn - hits) * (inside + hits) / ((hits + 1) * (outside + drawn - hits - 1))
        hits += 1
    return total


def union_bound(
    size: int, drawn: int, classes: Sequence[tuple[int, int]], scale: Fraction, ratio: Fraction, people: Sequence[int]
) -> mpf:
    """The bound on the disclosure set over classes of (weight, number of values), looking at these numbers of people with one value, 0 among them."""
    with mp.workdps(DIGITS):
        total = number(scale * sum(weight * count for weight, count in classes))
        apart, zero, by_person = mpf(0), mpf(0), mpf(0)
        for weight, count in classes:
            alpha = scale * weight
            tails = {}
            for x in people:
                inside = number(alpha) + x
                limit = (ratio - 1) * (alpha + max(x - 1, 0))
                tails[x] = tail(drawn, inside, size - inside + total, int(limit // 1))
            apart += count * max(tails.values())
            zero += count * tails[0]
            by_person = max([by_person, *(each / x for x, each in tails.items() if x)])
        return min(apart, zero + size * by_person)


def reference_mass(size: int, drawn: int, inside: Fraction, outside: Fraction, excess: Fraction) -> mpf:
    """The largest mass at the threshold, over every number of people."""
    with mp.workdps(DIGITS):
        found = mpf(0)
        for x in range(size + 1):
            limit = excess * (inside + max(x - 1, 0))
            if limit < drawn:
                mass = log_mass(mpf(drawn), x + number(inside), size - x + number(outside), number(limit))
                found = max(found, mp.exp(mass))
        return found


def power(epsilon: Fraction) -> mpf:
    """e^epsilon."""
    with mp.workdps(DIGITS):
        return mp.exp(number(epsilon))
