"""Meaningless algorithms and meaningless views. Source: [Rastogi2007].

An algorithm is *meaningless* if, for two thirds of the balanced queries, its views hardly differ between tables inside
and outside of the query. A view is *k-meaningless* if it discloses nothing beyond a part S of the table: an adversary
who knows S, all but n/k tuples, cannot infer from it whether the rest is inside a query or outside. The smaller k, the
less the view discloses. Everything is computed exactly, for small domains; ``least_k`` is the rule of thumb for large
ones.

A view includes every tuple independently, so only the counts of published and unpublished tuples in a query matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from reticent.base.exact import Number, exact, whole
from reticent.errors import Infeasible, PolicyError
from reticent.methods.randomize.rates import Rates

LARGEST_DOMAIN = 128
_MOST = Fraction(2, 3)
_DIFFERENCE = Fraction(1, 2)
# For two thirds of all queries a normal deviate t and the distance d of the two cases satisfy d |t| + d^2/2 <= ln 2 up
# to this d.
_NORMAL_DISTANCE = 0.5565


@dataclass(frozen=True)
class ViewMeaning:
    """Whether a view is k-meaningless, with the subset S that shows it best.

    For an S of ``known`` tuples, ``known_shown`` of which are in the view, ``share`` of the balanced queries have both
    likelihood ratios in [1/2, 2]; at least two thirds make the view k-meaningless.
    """

    k: int
    share: Fraction
    known: int
    known_shown: int

    @property
    def is_meaningless(self) -> bool:
        """True if the view discloses nothing beyond S."""
        return self.share >= _MOST


def statistical_difference(rates: Rates, size: int, n: int, inside: int) -> Fraction:
    """Return the sum over views of |Pr[V | table inside Q] - Pr[V | table outside Q]|, for uniform tables of n tuples and
    a query with ``inside`` tuples.

    Between 0 (views disclose nothing) and 2 (views determine the case).
    """
    outside = _checked(size, n) - whole(inside, "inside", low=0)
    if n > min(inside, outside):
        raise PolicyError(f"A table of {n} tuples must fit inside the query ({inside} tuples) and outside ({outside}).")
    probability = _law(rates)
    inside_probabilities = [(probability(inside, n, i), probability(inside, 0, i)) for i in range(inside + 1)]
    outside_probabilities = [(probability(outside, 0, j), probability(outside, n, j)) for j in range(outside + 1)]
    total = sum(abs(a * b - c * d) for a, c in inside_probabilities for b, d in outside_probabilities)
    return total if isinstance(total, Fraction) else Fraction(total)


def is_meaningless(rates: Rates, size: int, n: int, balance: Number = "1/10") -> bool:
    """True if the statistical difference is below 1/2 for two thirds of the balanced queries.

    A query is balanced if between (1-f)/2 and (1+f)/2 of the domain meets it, with f = ``balance``.
    """
    weights = {inside: math.comb(size, inside) for inside in _balanced(_checked(size, n), balance)}
    fitting = [inside for inside in weights if n <= min(inside, size - inside)]
    meaningless_weight = sum(
        weights[inside] for inside in fitting if statistical_difference(rates, size, n, inside) < _DIFFERENCE
    )
    return Fraction(meaningless_weight, sum(weights.values())) >= _MOST


def view_meaning(
    rates: Rates, size: int, n: int, k: int, *, shown: int, kept: int, balance: Number = "1/10"
) -> ViewMeaning:
    """Decide whether a view of ``shown`` tuples, ``kept`` of them true, is k-meaningless to an adversary who knows a subset S of the table.

    Given S, all tables of n tuples that contain S are equally likely. n/k must be an integer: the difference of the
    counts to tell apart.
    """
    _checked(size, n)
    unknown_count, remainder = divmod(n, whole(k, "k", low=1))
    if remainder:
        raise PolicyError(f"k must divide n = {n}, so that n/k is a number of tuples, but it is {k}.")
    if not 0 <= kept <= min(n, shown) or shown - kept > size - n:
        raise PolicyError(
            f"No view over {size} tuples can have {shown} tuples of which {kept} are true, out of {n} true ones."
        )
    candidates = [
        ViewMeaning(k, _share(rates, size, n, unknown_count, known, shown - known_shown, balance), known, known_shown)
        for known in range(n - unknown_count + 1)
        for known_shown in range(max(0, known - (n - kept)), min(known, kept) + 1)
    ]
    return max(candidates, key=lambda meaning: (meaning.share, meaning.known))


def least_k(rates: Rates, size: int, n: int) -> float:
    """Return the k from which a typical view is k-meaningless, by the normal approximation: alpha n / k stays below about
    half the standard deviation of |V|.

    A rule of thumb for large domains; at least 1. The spread of a count over random queries is that of the published
    tuples.
    """
    expected = float(rates.s * n + rates.beta * (size - n))
    return max(1.0, float(rates.alpha) * n / (_NORMAL_DISTANCE * math.sqrt(expected)))


def _share(rates: Rates, size: int, n: int, unknown_count: int, known: int, shown: int, balance: Number) -> Fraction:
    """Return the share of balanced queries for which neither "no unknown true tuple meets it" nor "n/k of them meet it"
    changes the probability of the view by a factor of two or more.

    ``known`` is the number of true tuples that the adversary knows (S), ``shown`` that of published tuples outside S.
    """
    space, unknown, probability = size - known, n - known, _law(rates)
    plain_probability = probability(space, unknown, shown) / math.comb(space, shown)
    completions = _windows(size, known, balance)
    unchanged_weight = total_weight = 0
    for inside in range(space + 1):
        for hit in range(max(0, shown - (space - inside)), min(inside, shown) + 1):
            weight = math.comb(shown, hit) * math.comb(space - shown, inside - hit) * completions(inside)
            if not weight:
                continue
            total_weight += weight
            combinations = math.comb(inside, hit) * math.comb(space - inside, shown - hit)
            ratios = (
                probability(inside, c, hit)
                * probability(space - inside, unknown - c, shown - hit)
                / combinations
                / plain_probability
                if c <= inside and unknown - c <= space - inside
                else Fraction(0)
                for c in (0, unknown_count)
            )
            if all(Fraction(1, 2) <= ratio <= 2 for ratio in ratios):
                unchanged_weight += weight
    return Fraction(unchanged_weight, total_weight)


def _law(rates: Rates) -> Callable[[int, int, int], Fraction]:
    """Return Pr[ Bin(true, s) + Bin(total - true, beta) = shown ] as a cached function of (total, true, shown)."""
    s, beta = rates.s, rates.beta

    @cache
    def binomial(trials: int, hits: int, chance: Fraction) -> Fraction:
        """Return Pr[ Bin(trials, chance) = hits ]."""
        return math.comb(trials, hits) * chance**hits * (1 - chance) ** (trials - hits)

    @cache
    def probability(total: int, true: int, shown: int) -> Fraction:
        """Return the probability that ``shown`` of ``total`` tuples, ``true`` of them in the table, are published."""
        hits = range(max(0, shown - (total - true)), min(true, shown) + 1)
        return sum((binomial(true, hit, s) * binomial(total - true, shown - hit, beta) for hit in hits), Fraction(0))

    return probability


def _balanced(size: int, balance: Number) -> Iterator[int]:
    """Yield the sizes of balanced queries."""
    share = exact(balance, "balance", low=0, high=1)
    return (each for each in range(size + 1) if 1 - share <= Fraction(2 * each, size) <= 1 + share)


def _windows(size: int, known: int, balance: Number) -> Callable[[int], int]:
    """Return a function that counts how many ways a query with a given number of tuples outside S can be completed inside
    S so that it is balanced.
    """
    allowed = set(_balanced(size, balance))

    @cache
    def completions(inside: int) -> int:
        """Return the number of subsets of S with which a query that has ``inside`` tuples outside S is balanced."""
        return sum(
            math.comb(known, inside_known) for inside_known in range(known + 1) if inside + inside_known in allowed
        )

    return completions


def _checked(size: int, n: int) -> int:
    """Return the size of the domain. Raises if it is too large to be decided exactly, or not larger than ``n``."""
    if whole(size, "size", low=2) > LARGEST_DOMAIN:
        raise Infeasible(
            f"The domain has {size:,} tuples; this is decided exactly for at most {LARGEST_DOMAIN}. Use least_k for an estimate."
        )
    if whole(n, "n", low=1) >= size:
        raise PolicyError(f"n = {n} must be smaller than the domain, which has {size} tuples.")
    return size
