"""Adversaries as values, what they learn, and the notions around them."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import pytest

from reticent.errors import PolicyError
from reticent.methods.randomize import Rates, rates_for
from reticent.methods.randomize.estimators import Stratum
from reticent.methods.randomize.posteriors import ArbitraryAdversary, ExclusiveAdversary, IndependentAdversary
from tests.methods.randomize.examples import GOLDENS
from tests.methods.randomize.notions import (
    belief_from_relative,
    indistinguishability_from_relative,
    is_meaningless_by_size,
    relative_from_belief,
    useful_difference,
)

HALF = Fraction(1, 2)


def test_adversaries_that_are_not_bounded_are_refused_by_name():
    with pytest.raises(PolicyError, match="prior of 'joe' is 1/5"):
        IndependentAdversary("1/10", {"joe": "1/5"})
    IndependentAdversary("1/10", {"joe": 1, "ann": "1/10", "bob": 0})
    with pytest.raises(PolicyError, match="add up to 1"):
        ExclusiveAdversary("1/2", [{"flu": "1/2", "cold": "1/3"}])
    with pytest.raises(PolicyError, match="two blocks"):
        ExclusiveAdversary(1, [{"flu": 1}, {"flu": 1}])
    with pytest.raises(PolicyError, match="not d-bounded"):
        ArbitraryAdversary("1/10", [(["a"], "1/2"), ([], "1/2")])


def test_independent_and_arbitrary_adversaries_agree_where_both_apply():
    rates, d = rates_for(Fraction(1, 20), Fraction(1, 5)), Fraction(1, 20)
    worlds = [([], (1 - d) ** 2), (["a"], d * (1 - d)), (["b"], d * (1 - d)), (["a", "b"], d * d)]
    any_prior, independent = ArbitraryAdversary(d, worlds, ["a", "b"]), IndependentAdversary(d, {"a": d, "b": d})
    for view in ([], ["a"], ["a", "b"]):
        assert any_prior.posterior(rates, view) == independent.posterior(rates, view)


def test_knowing_the_number_of_records_breaks_independence():
    # two possible tuples and |I| = 2 are certain before anything is published; five with |I| = 1, one seen: 0.68 against 0.2.
    d, gamma = Fraction(1, 20), Fraction(1, 5)
    rates = rates_for(d, gamma)
    tables = [frozenset(c) for size in range(6) for c in combinations(range(5), size)]
    chances = {t: d ** len(t) * (1 - d) ** (5 - len(t)) for t in tables}
    ones = [t for t in tables if len(t) == 1]
    total = sum(chances[t] for t in ones)
    known = ArbitraryAdversary(1, [(t, chances[t] / total) for t in ones], range(5))
    assert float(max(known.posterior(rates, [0]).values())) == pytest.approx(0.68, abs=0.005)


def test_exclusive_beliefs_fall_for_the_other_tuples_of_a_block():
    rates = Rates(Fraction(2, 5), Fraction(1, 10))
    after = ExclusiveAdversary("1/10", [dict.fromkeys(range(10), "1/10")]).posterior(rates, [4])
    assert after[4] == HALF
    assert after[3] == Fraction(1, 18)


@pytest.mark.parametrize("case", GOLDENS["updates"], ids=str)
def test_the_printed_estimator_of_later_views_is_biased_and_the_split_one_is_not(case):
    # D = 6, I = {0, 1, 2}, Q = {0, 1, 3, 4}, s = .5, beta = .05: two true and two other tuples in the query; everything is linear in them.
    views, index, s, beta = case["views"], case["index"], HALF, Fraction(1, 20)
    e = Fraction(math.exp(-1 / views)) * s
    noise = [(1 - s) ** (i - 1) * beta for i in range(1, index + 1)]
    old_true = 1 - (1 - s) ** (index - 1)
    old_other = 1 - math.prod((1 - c for c in noise[:-1]), start=Fraction(1))
    again_true, again_other = s * old_true, e * old_other
    new_true, new_other = s * (1 - old_true), noise[-1] * (1 - old_other)
    shown, old = 2 * (again_true + again_other + new_true + new_other), 2 * (old_true + old_other)
    printed = (shown - e * old - noise[-1] * 4) / (s * (1 - Fraction(math.exp(-1 / views))))
    assert float(printed) == pytest.approx(case["printed"], abs=6e-5)
    parts = [
        Stratum.uniform(2 * (again_true + again_other), old, s, e, Fraction(0), Fraction(0)),
        Stratum.uniform(2 * (new_true + new_other), 4 - old, s, noise[-1], Fraction(0), Fraction(0)),
    ]
    assert sum(part.value for part in parts) == 2


def test_notions_translate_both_ways():
    ratio = relative_from_belief("1/100", "1/5")
    assert ratio == Fraction(1, 5) * Fraction(99, 100) / (Fraction(1, 100) * Fraction(4, 5))
    assert belief_from_relative("1/100", ratio) >= Fraction(1, 5)
    assert indistinguishability_from_relative(0.0) >= 2 * math.log(2)
    assert useful_difference("1/20") == Fraction(9, 5)
    assert is_meaningless_by_size(0.1, 10, 10**6)
    assert not is_meaningless_by_size(12.0, 30162, 648023040)
