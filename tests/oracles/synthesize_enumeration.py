"""Brute force for synthetic groups: every table, every output, every neighbour, in fractions; nothing of the product is used.

The law of an output is computed from rising factorials, or from the urn draw by draw; disclosure sets from their definition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, product
from math import comb, factorial, prod

Counts = tuple[int, ...]
Law = Callable[[Counts, Counts], Fraction]


def tables(rows: int, values: int) -> Iterator[Counts]:
    """All ways in which so many rows can have so many values."""
    for bars in combinations(range(rows + values - 1), values - 1):
        ends = (-1, *bars, rows + values - 1)
        yield tuple(ends[i + 1] - ends[i] - 1 for i in range(values))


def rising(start: Fraction, steps: int) -> Fraction:
    return prod((start + i for i in range(steps)), start=Fraction(1))


def dirichlet_multinomial(counts: Counts, output: Counts, alpha: Sequence[Fraction]) -> Fraction:
    """P(output | counts): multinomial coefficient times rising factorials of n_i + alpha_i over that of n + |alpha|."""
    ways = Fraction(factorial(sum(output)), prod(factorial(m) for m in output))
    above = prod((rising(n + a, m) for n, m, a in zip(counts, output, alpha, strict=True)), start=Fraction(1))
    return ways * above / rising(sum(counts) + sum(alpha, Fraction(0)), sum(output))


def urn_law(counts: Counts, drawn: int, alpha: Sequence[Fraction]) -> dict[Counts, Fraction]:
    """The law of the outputs of a Polya urn, by following every draw."""
    chances = {tuple(0 for _ in counts): Fraction(1)}
    for turn in range(drawn):
        whole = sum(counts) + turn + sum(alpha, Fraction(0))
        following: dict[Counts, Fraction] = {}
        for output, chance in chances.items():
            for i, (n, a) in enumerate(zip(counts, alpha, strict=True)):
                more = (*output[:i], output[i] + 1, *output[i + 1 :])
                following[more] = following.get(more, Fraction(0)) + chance * (n + a + output[i]) / whole
        chances = following
    return chances


def moved(counts: Counts) -> Iterator[Counts]:
    """The table itself, and all tables with one row's value replaced."""
    yield counts
    for i, j in product(range(len(counts)), repeat=2):
        if i != j and counts[i]:
            other = list(counts)
            other[i] -= 1
            other[j] += 1
            yield tuple(other)


def are_neighbours(one: Counts, other: Counts) -> bool:
    return sum(abs(a - b) for a, b in zip(one, other, strict=True)) <= 2


def largest_ratio(counts: Counts, output: Counts, law: Law) -> Fraction | None:
    """The largest ratio of P(output) between two tables that are each within one row of ``counts`` and of each other; None if it is infinite."""
    near = [(each, law(each, output)) for each in moved(counts)]
    worst = Fraction(1)
    for (one, p), (other, q) in product(near, repeat=2):
        if p and are_neighbours(one, other):
            if not q:
                return None
            worst = max(worst, p / q)
    return worst


def disclosing(counts: Counts, output: Counts, law: Law, ratio: Fraction) -> bool:
    """Whether an output lies in the disclosure set for a ratio."""
    found = largest_ratio(counts, output, law)
    return found is None or found > ratio


def disclosure_chance(counts: Counts, drawn: int, law: Law, ratio: Fraction) -> Fraction:
    """The chance that the output of a table lies in its disclosure set."""
    return sum(
        (
            law(counts, output)
            for output in tables(drawn, len(counts))
            if law(counts, output) and disclosing(counts, output, law, ratio)
        ),
        Fraction(0),
    )


def representative(counts: Counts, output: Counts, alpha: Sequence[Fraction], gamma: Fraction) -> bool:
    return all(m <= gamma * (a + max(n - 1, 0)) for n, m, a in zip(counts, output, alpha, strict=True))


def good(counts: Counts, output: Counts, alpha: Sequence[Fraction], gamma: Fraction) -> bool:
    """Representative of the table or of one next to it, by the definition."""
    return any(representative(each, output, alpha, gamma) for each in moved(counts))


def plain_law(alpha: Sequence[Fraction]) -> Law:
    @lru_cache(None)
    def law(counts: Counts, output: Counts) -> Fraction:
        return dirichlet_multinomial(counts, output, alpha)

    return law


def screened_law(alpha: Sequence[Fraction], drawn: int, attempts: int, kept: Callable[[Counts, Counts], bool]) -> Law:
    """Draws that are not ``kept`` are drawn again, at most so many attempts in all, then from the prior alone."""
    plain = plain_law(alpha)

    @lru_cache(None)
    def rejection(counts: Counts) -> Fraction:
        return sum((plain(counts, each) for each in tables(drawn, len(counts)) if not kept(counts, each)), Fraction(0))

    @lru_cache(None)
    def law(counts: Counts, output: Counts) -> Fraction:
        p = rejection(counts)
        again = sum((p**i for i in range(attempts)), Fraction(0))
        nobody = tuple(0 for _ in counts)
        direct = plain(counts, output) * again if kept(counts, output) else Fraction(0)
        return direct + p**attempts * plain(nobody, output)

    return law


def dropped_law(alpha: Sequence[Fraction], keep: Sequence[Fraction]) -> Law:
    """Values that nobody has stay with their probabilities: the mixture over every set of values that stays, one by one."""

    @lru_cache(None)
    def law(counts: Counts, output: Counts) -> Fraction:
        empty = [i for i, n in enumerate(counts) if not n]
        found = Fraction(0)
        for stays in product((False, True), repeat=len(empty)):
            chance = prod(
                (keep[i] if each else 1 - keep[i] for i, each in zip(empty, stays, strict=True)), start=Fraction(1)
            )
            gone = {i for i, each in zip(empty, stays, strict=True) if not each}
            if any(output[i] for i in gone):
                continue
            inside = [i for i in range(len(counts)) if i not in gone]
            found += chance * dirichlet_multinomial(
                tuple(counts[i] for i in inside), tuple(output[i] for i in inside), [alpha[i] for i in inside]
            )
        return found

    return law


def tail(drawn: int, inside: Fraction, outside: Fraction, threshold: int) -> Fraction:
    """P(BetaBinomial > threshold), exactly."""
    return sum(
        (
            comb(drawn, hits) * rising(inside, hits) * rising(outside, drawn - hits) / rising(inside + outside, drawn)
            for hits in range(threshold + 1, drawn + 1)
        ),
        Fraction(0),
    )


def union_bound(size: int, drawn: int, alpha: Sequence[Fraction], ratio: Fraction) -> Fraction:
    """The bound on the disclosure set: min of sum_i max_x t_i and sum_i t_i(0) + n max t_i(x)/x."""
    whole = sum(alpha, Fraction(0))

    @lru_cache(None)
    def t(a: Fraction, x: int) -> Fraction:
        limit = (ratio - 1) * (a + max(x - 1, 0))
        return tail(drawn, x + a, size - x + whole - a, int(limit // 1))

    apart = sum((max(t(a, x) for x in range(size + 1)) for a in alpha), Fraction(0))
    zero = sum((t(a, 0) for a in alpha), Fraction(0))
    by_person = max((t(a, x) / x for a in set(alpha) for x in range(1, size + 1)), default=Fraction(0))
    return min(apart, zero + size * by_person)
