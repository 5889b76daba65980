"""Intervals and bounds: against exact convolutions, and coverage over many seeds on data of our own.

Coverage is computed, not simulated: for every count that can be true the probabilities of all that can be shown are added up where the interval
holds that count. The simulation beside it goes through the real sampler.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left, bisect_right
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom

from reticent.methods.randomize import FrappPlan, Plan, Rates, ViewDomain, count_domain, plan, publish
from reticent.methods.randomize.domain_counts import Sample, tabulate
from reticent.methods.randomize.draws import Draws
from reticent.methods.randomize.error_bounds import bernstein, printed_rho
from reticent.methods.randomize.estimators import Stratum, answer, average_interval
from reticent.methods.randomize.exact_intervals import exact_interval
from reticent.methods.randomize.sampler import ListedKeys, sample
from reticent.methods.randomize.tuple_sets import distinct
from tests.oracles.randomize_tails import binomial_pmf, coverage, interval, shown_pmf
from tests.sampling import runs, spread

CHANCES = [(0.5, 0.05), (0.9, 0.01), (0.3, 0.2), (0.999, 0.5), (0.02, 0.001), (1.0, 0.1)]
SIZES = [(1, 1), (3, 2), (20, 20), (40, 10), (120, 30)]
ERRORS = [0.32, 0.1, 0.05, 0.01, 1e-6]


@pytest.mark.parametrize(("s", "beta"), [(0.5, 0.05), (0.9, 0.01), (0.3, 0.2)])
def test_the_interval_is_that_of_trying_every_count(s, beta):
    for shown in range(0, 40, 3):
        want = interval(shown, 120, 40, s, beta, 0.1)
        if want is not None:
            assert exact_interval(shown, 120, 40, s, beta, 0.1) == want


@pytest.mark.parametrize(("s", "beta"), CHANCES)
def test_exact_coverage_is_never_below_what_is_promised(s, beta):
    # Every true count of every query of the grid, at every level; an interval may only be wider than it says.
    for (total, most), error in spread(list(itertools.product(SIZES, ERRORS)), 5):
        found = [exact_interval(shown, total, most, s, beta, error) for shown in range(total + 1)]
        for q in range(most + 1):
            assert coverage(q, total, s, beta, found) >= 1 - error - 1e-12


def test_exact_intervals_are_not_needlessly_wide():
    # Over many queries the coverage of 90 % intervals comes close to 90 %: a region that always holds everything would pass the test above.
    found = [exact_interval(shown, 400, 120, 0.5, 0.1, 0.1) for shown in range(401)]
    reached = [coverage(q, 400, 0.5, 0.1, found) for q in range(20, 110)]
    assert 0.9 <= min(reached) < 0.902
    assert np.mean(reached) < 0.915


@pytest.mark.parametrize("size", [10**16, 10**30, 50**200])
def test_intervals_of_domains_beyond_every_integer_are_those_of_the_poisson_limit(size):
    noise = Fraction(600, size)
    assert exact_interval(700, size, 300, Fraction(1, 2), noise, 0.05) == (101, 300)


def test_tiny_errors_still_rule_something_out():
    # 304,364 answers at once: each tail may miss with 8e-8, and a tail is never computed as 1 minus something close to it.
    narrow, wide = (exact_interval(500, 10_000, 2000, 0.5, 0.01, error) for error in ("1/20", Fraction(1, 20 * 10**9)))
    assert 0 < wide[0] < narrow[0] < narrow[1] < wide[1] < 2000


@pytest.mark.parametrize(("s", "beta"), [pair for pair in CHANCES if pair[0] < 1])
def test_bernsteins_bound_is_never_exceeded_more_often_than_stated(s, beta):
    for (total, most), error in itertools.product(SIZES, ERRORS):
        rates = Rates(Fraction(s) - Fraction(beta), Fraction(beta))
        off = bernstein(rates, most, total, Fraction(error))
        for q in range(most + 1):
            values = (np.arange(total + 1) - beta * total) / (s - beta)
            assert shown_pmf(q, total, s, beta) @ (np.abs(values - q) > off + 1e-9) <= error + 1e-12


def test_intervals_of_later_views_hold_in_both_strata_together():
    # Two strata with their own chances: what earlier views showed, and the rest; the exact law is the product of two convolutions.
    chances, totals, n, error = [(0.6, 0.4), (0.6, 0.1)], (12, 40), 20, Fraction(1, 5)
    found = {}
    for shown in itertools.product(range(13), range(41)):
        strata = [
            Stratum.uniform(Fraction(x), Fraction(t), Fraction(s), Fraction(b), Fraction(x), Fraction(t))
            for x, t, (s, b) in zip(shown, totals, chances, strict=True)
        ]
        found[shown] = answer("true", strata, n, error).interval
    for inside, outside in [(0, 0), (3, 5), (12, 8), (0, 20)]:
        old, new = (shown_pmf(q, t, *c) for q, t, c in zip((inside, outside), totals, chances, strict=True))
        held = sum(old[x] * new[y] for (x, y), (low, high) in found.items() if low <= inside + outside <= high)
        assert held >= 1 - float(error)


def test_a_sampled_domain_count_shares_the_error_with_the_noise():
    # exact law of hits and of what is shown; with the whole error for each of both the promise would be twice as weak.
    n, q, part, size, tries, error = 60, 40, 0.3, 1000, 50, Fraction(1, 5)
    rates = Rates(Fraction(2, 5), Fraction(1, 10))
    law, hits_law = shown_pmf(q, int(part * size), 0.5, 0.1), binomial_pmf(tries, part)
    held = 0.0
    for hits in np.flatnonzero(hits_law > 1e-9):
        drawn = Sample(int(hits), tries, size)
        total = Fraction(int(hits) * size, tries)
        for shown in np.flatnonzero(law > 1e-6):
            stratum = Stratum.uniform(
                Fraction(int(shown)), total, rates.s, rates.beta, Fraction(int(shown)), total, drawn
            )
            low, high = answer("true", [stratum], n, error).interval
            held += hits_law[hits] * law[shown] * (low <= q <= high)
    assert held >= 1 - float(error)
    # The sample alone: the count is within its deviation with the promised probability, however rare the hits.
    for share in (0.0, 0.001, 0.02, 0.3, 1.0):
        pmf = binomial_pmf(tries, share) if share > 0 else np.eye(tries + 1)[0]
        near = [abs(h / tries - share) * size <= Sample(h, tries, size).deviation(error) for h in range(tries + 1)]
        assert pmf @ np.array(near) >= 1 - float(error)


def test_intervals_of_averages_hold_without_large_counts():
    # Weights 0, 4 and 10; the law of what is shown of each weight is exact, and several tables are tried.
    weights, each, rates, error, n = [0, 4, 10], 5, Rates(Fraction(17, 20), Fraction(1, 20)), Fraction(1, 4), 20
    intervals = {}
    for shown in itertools.product(range(each + 1), repeat=3):
        counts, sums = _strata(shown, [each] * 3, weights, rates)
        if counts.value > 0:
            intervals[shown] = average_interval([sums], [counts], n, error, Fraction(0), Fraction(10))
    for true in [(1, 0, 0), (0, 1, 0), (2, 3, 1), (0, 4, 5), (5, 0, 5)]:
        average = np.average(weights, weights=true)
        laws = [shown_pmf(q, each, float(rates.s), float(rates.beta)) for q in true]
        chance = {shown: math.prod(law[x] for law, x in zip(laws, shown, strict=True)) for shown in intervals}
        held = sum(p for shown, p in chance.items() if intervals[shown][0] <= average <= intervals[shown][1])
        assert held >= (1 - float(error)) * sum(chance.values())
    # A large part of a table says something: the interval is narrower than the weights' range.
    counts, sums = _strata((400, 300, 200), [500] * 3, weights, rates)
    low, high = average_interval([sums], [counts], 1000, error, Fraction(0), Fraction(10))
    assert 1 < low < float(sums.value / counts.value) < high < 6


def _strata(shown, totals, weights, rates) -> tuple[Stratum, Stratum]:
    def moment(values: list[int] | tuple[int, ...], power: int) -> Fraction:
        return sum((Fraction(v) * w**power for v, w in zip(values, weights, strict=True)), Fraction(0))

    counts, sums = (
        Stratum.uniform(
            moment(shown, power),
            moment(totals, power),
            rates.s,
            rates.beta,
            moment(shown, 2 * power),
            moment(totals, 2 * power),
        )
        for power in (0, 1)
    )
    return counts, sums


def test_intervals_of_perturbed_records_are_exact():
    # FRAPP shows Bin(q, present) + Bin(n - q, absent) records of a query.
    domain = ViewDomain.of({"a": range(20)})
    made, n, error = FrappPlan(12, domain, Fraction(1, 3)), 12, 0.1
    for cells in (1, 5, 12):
        present = float(made.kept + (cells - 1) * made.replaced)
        absent = float(cells * made.replaced)
        found = [made.interval(shown, cells, n, error) for shown in range(n + 1)]
        for q in range(n + 1):
            assert coverage(q, n, present, absent, found) >= 1 - error - 1e-12


def test_the_printed_bound_fails_for_small_alpha_and_bernstein_never_does():
    # Erratum 5: n = 1000, m = 10^6, alpha = .1, r = 1: the printed bound is missed with probability .294 (eps .1) and .147 (eps .01). Exact sums.
    n, m, alpha = 1000, 10**6, Fraction(1, 10)
    beta = alpha**2 * n / m
    rates = Rates(alpha, beta)
    hits = np.arange(400)
    law = np.convolve(binom.pmf(hits, n, float(rates.s)), binom.pmf(hits, m - n, float(beta)))
    off = np.abs((np.arange(len(law)) - float(beta) * m) / float(alpha) - n)
    for error, missed in [(Fraction(1, 10), 0.294), (Fraction(1, 100), 0.147)]:
        assert law[off >= printed_rho(rates, n, m, error) * math.sqrt(n)].sum() == pytest.approx(missed, abs=5e-4)
        assert law[off > bernstein(rates, n, m, error)].sum() <= error


def _people() -> pl.DataFrame:
    generator = np.random.default_rng(5)
    return pl.DataFrame(
        {
            "age": generator.normal(45, 12, 900).clip(18, 89).astype(int),
            "town": generator.choice(["Aar", "Bex", "Cham", "Davos"], 900, p=[0.6, 0.25, 0.1, 0.05]),
            "income": (generator.pareto(2.5, 900) * 20).clip(0, 99).astype(int),
        }
    ).unique(maintain_order=True)


PEOPLE = {"age": range(18, 90), "town": ["Aar", "Bex", "Cham", "Davos"], "income": range(100)}
QUERIES = [
    "income < age",
    "town = 'Davos'",
    "age between 30 and 40 and income > 20",
    "income > 60 or age > 70",
    "town = 'Davos' and income > 90",
]


@pytest.mark.parametrize("preset", ["tight", "max-utility"])
def test_coverage_on_people_of_our_own_is_what_is_promised(preset):
    # 2,000 seeds through the sampler (500 in `make test`). Each query's misses are compared with its exact probability, which is at most a tenth, within five
    # standard deviations of a binomial count.
    people, seeds, error = _people(), runs(2000), 0.1
    made = plan(n=1000, domain=PEOPLE, k=2, gamma="1/3", preset=preset)
    true = distinct(made.domain.pack(people))
    shown = _shown_over_seeds(made, true, seeds)
    for query, counts in zip(QUERIES, shown, strict=True):
        truth = people.sql(f"select count(*) from self where {query}").item()
        total = count_domain(query, made.domain)
        first, last = _accepted(truth, total, made, error)
        law = shown_pmf(truth, total, float(made.s), float(made.beta))
        expected = 1 - law[first : last + 1].sum()
        assert expected <= error
        missed = int(((counts < first) | (counts > last)).sum())
        assert abs(missed - seeds * expected) <= 5 * math.sqrt(seeds * expected * (1 - expected)) + 1


def _accepted(truth: int, total: int, made: Plan, error: float) -> tuple[int, int]:
    """The first and last number shown whose interval holds the truth; both ends of an interval rise with what is shown."""

    def ends(shown: int) -> tuple[int, int]:
        return exact_interval(shown, total, min(made.n, total), made.s, made.beta, error)

    first = bisect_left(range(total + 1), truth, key=lambda shown: ends(shown)[1])
    return first, bisect_right(range(total + 1), truth, key=lambda shown: ends(shown)[0]) - 1


def _shown_over_seeds(made: Plan, true: np.ndarray, seeds: int) -> np.ndarray:
    """For every query and seed what the view shows: one look-up in a table over the whole domain."""
    from reticent.conditions import Condition

    codes = np.unravel_index(np.arange(made.domain.size), list(made.domain.sizes.values()))
    place = dict(zip(made.domain.names, codes, strict=True))
    met = []
    for query in QUERIES:
        factor = tabulate(Condition.parse(query).node, made.domain)
        met.append(factor.table[tuple(place[name] for name in factor.scope)])
    table = np.array(met, dtype=np.int64)
    listed = [ListedKeys(true, made.s)]
    views = (np.concatenate(list(sample(made.domain, listed, made.beta, Draws(seed)))) for seed in range(seeds))
    return np.array([table[:, keys].sum(axis=1) for keys in views]).T


def test_a_published_view_answers_with_these_intervals():
    people, made = _people(), plan(n=1000, domain=PEOPLE, k=2, gamma="1/3")
    view = publish(people, made, insecure_seed=3)
    for query in QUERIES:
        found = view.estimate(query, error="0.1")
        total = count_domain(query, made.domain)
        assert found.interval == exact_interval(int(found.shown), total, min(made.n, total), made.s, made.beta, "0.1")
