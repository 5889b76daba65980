"""Worst-case knowledge by the recursions of the specification, written down once more with fractions and nothing else.

Slow and plain on purpose, and sharing no code with the product. ``printed=`` switches single errata back in, to show
that the text as printed gives wrong answers.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

INFINITY = float("inf")


def minimize1(counts: tuple[int, ...], atoms: int) -> Fraction:
    """The least chance that none of ``atoms`` atoms holds: the best profile by trying every one."""
    counts = tuple(sorted(counts, reverse=True))
    n = sum(counts)

    def prefix(q: int) -> int:
        return sum(counts[:q])

    @cache
    def g(person: int, most: int, left: int) -> Fraction | float:
        if left == 0:
            return Fraction(1)
        if person >= n:
            return Fraction(0)
        best: Fraction | float = INFINITY
        for given in range(1, min(most, left) + 1):
            factor = Fraction(max(0, n - person - prefix(given)), n - person)
            rest = g(person + 1, given, left - given)
            if rest != INFINITY:
                best = min(best, factor * rest)
        return best

    return Fraction(g(0, atoms, atoms))


def ratio(histograms: list[tuple[int, ...]], k: int, *, start: bool = False, base: bool = True) -> Fraction | float:
    """R(k) by the corrected MINIMIZE2; ``start=True`` and ``base=False`` are the printed text (errata 3 and 2)."""
    buckets = [tuple(sorted(counts, reverse=True)) for counts in histograms]

    @cache
    def table(bucket: int, atoms: int) -> Fraction:
        return minimize1(buckets[bucket], atoms)

    @cache
    def g(bucket: int, left: int, placed: bool) -> Fraction | float:
        if bucket == len(buckets):
            return Fraction(1) if base and placed and left == 0 else INFINITY
        best: Fraction | float = INFINITY
        top = Fraction(sum(buckets[bucket]), buckets[bucket][0])
        for taken in range(left + 1):
            options = [(table(bucket, taken), g(bucket + 1, left - taken, placed))]
            if not placed:
                options.append((table(bucket, taken + 1) * top, g(bucket + 1, left - taken, True)))
            for factor, rest in options:
                if rest != INFINITY:
                    best = min(best, factor * rest)
        return best

    return g(0, k, start)


def disclosure(histograms: list[tuple[int, ...]], k: int) -> Fraction:
    """D(B, k)."""
    return 1 / (1 + Fraction(ratio(histograms, k)))


def negation(histograms: list[tuple[int, ...]], k: int) -> Fraction:
    """The same for negated atoms: rule out the next k values of one person."""
    best = Fraction(0)
    for counts in histograms:
        first, *others = sorted(counts, reverse=True)
        best = max(best, Fraction(first, sum(counts) - sum(others[:k])))
    return best


def minimize1_as_printed(counts: tuple[int, ...], atoms: int) -> Fraction:
    """MINIMIZE1 without the clamp and the guard of erratum 4: may divide by zero."""
    counts = tuple(sorted(counts, reverse=True))
    n = sum(counts)

    def g(person: int, most: int, left: int) -> Fraction:
        if left == 0:
            return Fraction(1)
        return min(
            Fraction(n - person - sum(counts[:given]), n - person) * g(person + 1, given, left - given)
            for given in range(1, min(most, left) + 1)
        )

    return g(0, atoms, atoms)
