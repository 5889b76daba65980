"""Brute force over all tables and all views of tiny domains: shares no code with reticent.methods.randomize."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction


def subsets(items: list[int]) -> Iterator[frozenset[int]]:
    for size in range(len(items) + 1):
        for chosen in itertools.combinations(items, size):
            yield frozenset(chosen)


def likelihood(view: frozenset[int], table: frozenset[int], domain: list[int], s: Fraction, beta: Fraction) -> Fraction:
    """Pr[view | table]: one coin for every tuple."""
    out = Fraction(1)
    for t in domain:
        p = s if t in table else beta
        out *= p if t in view else 1 - p
    return out


def posterior(
    prior: dict[frozenset[int], Fraction], view: frozenset[int], domain: list[int], s: Fraction, beta: Fraction
) -> dict[int, Fraction]:
    """Bayes over whole tables."""
    weights = {table: p * likelihood(view, table, domain, s, beta) for table, p in prior.items()}
    total = sum(weights.values())
    return {t: sum((w for table, w in weights.items() if t in table), Fraction(0)) / total for t in domain}


def independent_prior(chances: list[Fraction]) -> dict[frozenset[int], Fraction]:
    """The prior over tables in which tuple t is by itself with chance chances[t]."""
    domain = list(range(len(chances)))
    out = {}
    for table in subsets(domain):
        p = Fraction(1)
        for t in domain:
            p *= chances[t] if t in table else 1 - chances[t]
        if p:
            out[table] = p
    return out


def moments(
    table: set[int], query: set[int], domain: list[int], s: Fraction, beta: Fraction
) -> tuple[Fraction, Fraction]:
    """Exact mean and variance of the estimator over all views."""
    alpha = s - beta
    first = second = Fraction(0)
    for view in subsets(domain):
        p = likelihood(view, frozenset(table), domain, s, beta)
        value = (len(view & query) - beta * len(query)) / alpha
        first += p * value
        second += p * value * value
    return first, second - first * first


def statistical_difference(m: int, n: int, s: Fraction, beta: Fraction) -> Fraction:
    """SD between the laws of V for uniform tables inside and outside the first half of the domain."""
    domain = list(range(m))
    inside = [frozenset(c) for c in itertools.combinations(domain[: m // 2], n)]
    outside = [frozenset(c) for c in itertools.combinations(domain[m // 2 :], n)]
    total = Fraction(0)
    for view in subsets(domain):
        p = sum((likelihood(view, t, domain, s, beta) for t in inside), Fraction(0)) / len(inside)
        q = sum((likelihood(view, t, domain, s, beta) for t in outside), Fraction(0)) / len(outside)
        total += abs(p - q)
    return total


def pattern_ratio(
    pattern: tuple[bool, ...], member: tuple[bool, ...], s: Fraction, carry: Fraction, noise: list[Fraction]
) -> Fraction:
    """Likelihood ratio of a pattern of showing in v views: for this membership history against never being a member."""

    def chance(history: tuple[bool, ...]) -> Fraction:
        seen, out = False, Fraction(1)
        for shows, belongs, fresh in zip(pattern, history, noise, strict=True):
            p = s if belongs else carry if seen else fresh
            out *= p if shows else 1 - p
            seen = seen or shows
        return out

    return chance(member) / chance(tuple(False for _ in member))


def extreme_ratios(
    views: int, s: Fraction, carry: Fraction, noise: list[Fraction], frozen: bool
) -> tuple[Fraction, Fraction]:
    """The largest and smallest ratio over all 2^v patterns and all membership histories (a frozen table has one)."""
    patterns = list(itertools.product([False, True], repeat=views))
    histories = [tuple([True] * views)] if frozen else [h for h in patterns if any(h)]
    found = [pattern_ratio(p, h, s, carry, noise) for p in patterns for h in histories]
    return max(found), min(found)


def worst_over_time(views: int, d: float, s: Fraction, carry: Fraction, noise: list[Fraction]) -> float:
    """The largest posterior of any time, over all patterns of showing and all priors over histories that give every time at most d.

    A ratio of linear functions of the prior, so that a linear program in homogeneous coordinates finds it (Charnes and Cooper).
    """
    from scipy.optimize import linprog

    histories, worst = list(itertools.product([False, True], repeat=views)), 0.0
    for pattern in histories:
        likely = [float(pattern_ratio(pattern, h, s, carry, noise)) for h in histories]
        for time in range(views):
            gain = [-value * h[time] for value, h in zip(likely, histories, strict=True)]
            bounded = [[*(float(h[each]) for h in histories), -d] for each in range(views)]
            fixed = [[*likely, 0.0], [*([1.0] * len(histories)), -1.0]]
            found = linprog([*gain, 0.0], A_ub=bounded, b_ub=[0.0] * views, A_eq=fixed, b_eq=[1.0, 0.0])
            worst = max(worst, -found.fun)
    return worst


def meaningless_share(
    view: frozenset[int],
    table: frozenset[int],
    k: int,
    domain: list[int],
    s: Fraction,
    beta: Fraction,
    balance: Fraction,
) -> Fraction:
    """The largest share, over all S, of balanced queries that a view says nothing about beyond S: every table, every query, one by one."""
    n, m = len(table), len(domain)
    queries = [q for q in subsets(domain) if (1 - balance) / 2 <= Fraction(len(q), m) <= (1 + balance) / 2]
    best = Fraction(0)
    for known in subsets(sorted(table)):
        if len(known) > n - Fraction(n, k):
            continue
        tables = [t for t in subsets(domain) if len(t) == n and known <= t]
        chance = {t: likelihood(view, t, domain, s, beta) for t in tables}
        plain = sum(chance.values()) / len(tables)
        good = 0
        for query in queries:
            ratios = []
            for count in (len(query & known), len(query & known) + n // k):
                fitting = [chance[t] for t in tables if len(t & query) == count]
                ratios.append(sum(fitting, Fraction(0)) / len(fitting) / plain if fitting else Fraction(0))
            good += all(Fraction(1, 2) <= ratio <= 2 for ratio in ratios)
        best = max(best, Fraction(good, len(queries)))
    return best


def meaningless_queries(m: int, n: int, s: Fraction, beta: Fraction, balance: Fraction) -> Fraction:
    """The share of balanced queries with a statistical difference below 1/2; those that no table fits inside and outside of do not count as such."""
    domain = list(range(m))
    queries = [q for q in subsets(domain) if (1 - balance) / 2 <= Fraction(len(q), m) <= (1 + balance) / 2]
    low = 0
    for query in queries:
        sides = [
            [frozenset(c) for c in itertools.combinations(sorted(part), n)] for part in (query, set(domain) - query)
        ]
        if all(sides):
            laws = [
                {v: sum(likelihood(v, t, domain, s, beta) for t in side) / len(side) for v in subsets(domain)}
                for side in sides
            ]
            low += sum(abs(laws[0][v] - laws[1][v]) for v in laws[0]) < Fraction(1, 2)
    return Fraction(low, len(queries))
