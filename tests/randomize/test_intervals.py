"""Intervals and bounds: against exact convolutions, and coverage over many seeds on data of our own."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from reticent.randomize import Rates, plan, publish
from reticent.randomize.bounds import bernstein, printed_rho
from reticent.randomize.intervals import exact_interval
from tests.oracles.randomize_tails import interval, shown_pmf


@pytest.mark.parametrize(("s", "beta"), [(0.5, 0.05), (0.9, 0.01), (0.3, 0.2)])
def test_the_interval_is_that_of_trying_every_count(s, beta):
    for shown in range(0, 40, 3):
        want = interval(shown, 120, 40, s, beta, 0.1)
        if want is not None:
            assert exact_interval(shown, 120, 40, s, beta, 0.1) == want


def test_exact_coverage_is_never_below_what_is_promised():
    s, beta, total, most = 0.5, 0.04, 150, 30
    for q in (0, 1, 5, 17, 30):
        pmf = shown_pmf(q, total, s, beta)
        covered = sum(
            p
            for shown, p in enumerate(pmf)
            if p > 1e-12 and _inside(q, exact_interval(shown, total, most, s, beta, 0.1))
        )
        assert covered >= 0.9 - 1e-9


def _inside(q: int, found: tuple[int, int]) -> bool:
    return found[0] <= q <= found[1]


def test_the_printed_bound_fails_for_small_alpha_and_bernstein_never_does():
    # Erratum 5: n = 1000, m = 10^6, alpha = .1, r = 1: the printed bound is missed with probability .294, not .1.
    n, m, alpha = 1000, 10**6, Fraction(1, 10)
    beta = alpha**2 * n / m
    rates, error = Rates(alpha, beta), Fraction(1, 10)
    generator = np.random.default_rng(3)
    shown = generator.binomial(n, float(rates.s), 40_000) + generator.binomial(m - n, float(beta), 40_000)
    off = np.abs((shown - float(beta) * m) / float(alpha) - n)
    assert np.mean(off >= printed_rho(rates, n, m, error) * math.sqrt(n)) == pytest.approx(0.294, abs=0.012)
    assert np.mean(off >= bernstein(rates, n, m, error)) <= 0.1


@pytest.mark.parametrize("preset", ["tight", "max-utility"])
def test_coverage_on_people_of_our_own_is_what_is_promised(preset):
    generator = np.random.default_rng(5)
    people = pl.DataFrame(
        {
            "age": generator.normal(45, 12, 900).clip(18, 89).astype(int),
            "town": generator.choice(["Aar", "Bex", "Cham", "Davos"], 900, p=[0.6, 0.25, 0.1, 0.05]),
            "income": (generator.pareto(2.5, 900) * 20).clip(0, 99).astype(int),
        }
    ).unique(maintain_order=True)
    domain = {"age": range(18, 90), "town": ["Aar", "Bex", "Cham", "Davos"], "income": range(100)}
    made = plan(n=1000, domain=domain, k=2, gamma="1/3", preset=preset)
    queries = ["income < age", "town = 'Davos'", "age between 30 and 40 and income > 20", "income > 60 or age > 70"]
    truths = [people.sql(f"select count(*) from self where {query}").item() for query in queries]
    runs, missed = 60, 0
    for seed in range(runs):
        view = publish(people, made, insecure_seed=seed)
        for query, truth in zip(queries, truths, strict=True):
            low, high = view.estimate(query, error="0.1").interval
            missed += not low <= truth <= high
    total = runs * len(queries)
    assert missed <= 0.1 * total + 5 * math.sqrt(0.09 * total)
