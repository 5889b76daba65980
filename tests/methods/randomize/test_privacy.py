"""The privacy theorem by enumeration of all tables and views, the updates by all patterns and histories, and properties."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.core import Evidence, Groups
from reticent.definitions import judge
from reticent.definitions.mechanisms import BoundedBelief
from reticent.errors import Infeasible, PolicyError
from reticent.methods.randomize import Rates, plan, rates_for, tuple_posterior
from tests.oracles.randomize_enumeration import (
    extreme_ratios,
    independent_prior,
    pattern_ratio,
    posterior,
    subsets,
    worst_over_time,
)
from tests.sampling import examples

D, GAMMA = Fraction(1, 20), Fraction(1, 5)
shares = st.fractions(min_value=Fraction(1, 100), max_value=Fraction(99, 100), max_denominator=100)


@pytest.mark.parametrize("preset", ["paper", "tight", "max-utility"])
def test_no_view_of_any_table_breaks_the_bound_and_it_is_attained(preset):
    rates = rates_for(D, GAMMA, preset)
    domain, worst = [0, 1, 2, 3], Fraction(0)
    for chances in [(D, D, D, D), (D, 0, 1, D / 2), (D / 7, D, 1, 1), (0, 0, D, D / 3)]:
        prior = independent_prior([Fraction(c) for c in chances])
        for view in subsets(domain):
            after = posterior(prior, view, domain, rates.s, rates.beta)
            for t in domain:
                if 0 < chances[t] <= D:
                    worst = max(worst, after[t])
                    assert after[t] <= GAMMA
                    assert after[t] / chances[t] >= D / GAMMA
    assert worst == (GAMMA if preset != "paper" else tuple_posterior(rates, D, True))


@given(shares, shares, st.sampled_from(["tight", "max-utility", "paper"]), shares)
def test_every_posterior_stays_below_gamma(d, gamma, preset, part):
    if not d < gamma:
        return
    try:
        rates = rates_for(d, gamma, preset)
    except Infeasible:
        return
    prior = d * part
    # Rates whose tuples that do not show would lose too much are refused by the definition, and so by every plan.
    if BoundedBelief(d, gamma).assess(rates).holds:
        assert tuple_posterior(rates, prior, True) <= tuple_posterior(rates, d, True) <= gamma
        assert tuple_posterior(rates, prior, False) / prior >= d / gamma
    else:
        tiny = d / 10**9
        assert tuple_posterior(rates, d, True) > gamma or tuple_posterior(rates, tiny, False) / tiny < d / gamma + tiny


@given(st.integers(1, 4), st.booleans(), shares)
@examples(30)
def test_ratios_of_a_series_are_those_of_all_patterns_and_histories(views, frozen, part):
    d = Fraction(1, 1000)
    rates = rates_for(d, part, "tight", views=views, frozen=frozen) if part > d * 40 else None
    if rates is None:
        return
    noise = [rates.noise(index) for index in range(1, views + 1)]
    highest, lowest = extreme_ratios(views, rates.s, rates.carry or rates.beta, noise, frozen)
    found = rates.ratios("independent")
    assert (found.highest, found.lowest) == (highest, lowest)


def test_the_corrected_series_reaches_gamma_and_never_passes_it():
    for views in (2, 3, 5, 8):
        made = plan(n=30162, domain={"a": 648023040}, k=10, gamma="1/5", views=views)
        assert made.worst_posterior <= Fraction(1, 5)
        assert float(made.worst_posterior) == pytest.approx(0.2, abs=1e-12)
    with pytest.raises(Infeasible, match="fall by the factor"):
        plan(n=30162, domain={"a": 648023040}, k=10, gamma="1/5", views=9)


@pytest.mark.parametrize(("views", "reached"), [(2, 0.2919), (5, 0.3575), (10, 0.3808)])
def test_the_printed_series_breaks_its_promise(views, reached):
    single = rates_for(Fraction(301620, 648023040), GAMMA)
    carry = rates_for(Fraction(301620, 648023040), GAMMA, views=views).carry
    printed = Rates(single.alpha, single.beta, views, carry, frozen=True)
    ratio = printed.ratios("independent").highest
    d = Fraction(301620, 648023040)
    assert float(ratio * d / (ratio * d + 1 - d)) == pytest.approx(reached, abs=5e-5)


def test_shrinking_noise_gives_new_tuples_away():
    # with c_i of the source a tuple inserted at version v has the ratio s/c_v.
    d = Fraction(301620, 648023040)
    for views, reached in [(3, 0.339), (6, 0.777)]:
        rates = rates_for(d, GAMMA, views=views, frozen=True)
        ratio = rates.s / rates.noise(views)
        assert float(ratio * d / (ratio * d + 1 - d)) == pytest.approx(reached, abs=6e-4)


def test_exclusive_rates_are_tight_by_enumeration_of_blocks():
    d, gamma, size = Fraction(1, 5), Fraction(1, 2), 5
    for factor, holds in [(Fraction(1), True), (Fraction(9, 10), False)]:
        beta = rates_for(d, gamma, "tight", "exclusive").beta * factor
        s, worst = Fraction(1, 2), Fraction(0)
        prior = {frozenset([t]): d for t in range(size)}
        for shows in itertools.product([False, True], repeat=size):
            view = frozenset(t for t, seen in enumerate(shows) if seen)
            worst = max(worst, *posterior(prior, view, list(range(size)), s, beta).values())
        assert (worst <= gamma) is holds
        assert not holds or worst == gamma


def test_bounded_belief_judges_plans_and_refuses_groups():
    made = plan(n=30162, domain={"a": 648023040}, k=10, gamma="1/5")
    promise = BoundedBelief(made.d, "1/5")
    assert promise.assess(made).holds
    stricter = BoundedBelief(made.d, "0.19").assess(made)
    assert not stricter.holds
    assert "above 19/100" in stricter.witness.text
    with pytest.raises(PolicyError, match="not groups"):
        judge(promise, Evidence({("a",): Groups.from_histograms([[1, 1]])}))
    with pytest.raises(PolicyError, match="independent"):
        BoundedBelief("0.1", "0.2", "independant")
    with pytest.raises(PolicyError, match="between 0 and gamma"):
        BoundedBelief("0.2", "0.2")


def test_every_printed_noise_against_link_attacks_is_enough_and_only_ours_is_tight():
    # Erratum 10 and section 9: 2x and x leave room, x/(1+x) reaches gamma, a tenth less passes it. The worst view shows one tuple of its block.
    s, worst = Fraction(1, 2), dict.fromkeys(("2x", "x", "tight", "less"), Fraction(0))
    for size, gamma in itertools.product((4, 5, 10), (Fraction(1, 2), Fraction(9, 10), Fraction(99, 100))):
        d = Fraction(1, size)
        x = d * (1 - gamma) / (gamma * (1 - d))
        tight = x / (1 + x)
        prior = {frozenset([t]): d for t in range(size)}
        for name, beta in (("2x", 2 * x), ("x", x), ("tight", tight), ("less", tight * Fraction(9, 10))):
            found = posterior(prior, frozenset([0]), list(range(size)), s, beta)[0] / gamma
            worst[name] = max(worst[name], found)
            assert (found <= 1) is (name != "less")
    assert worst["2x"] < worst["x"] < worst["tight"] == 1 < worst["less"]


@pytest.mark.parametrize(("views", "gamma"), [(2, "1/2"), (3, "1/2"), (2, "9/10"), (3, "1/5")])
@pytest.mark.parametrize("preset", ["tight", "max-utility"])
def test_a_series_keeps_its_promise_to_whoever_believes_at_most_d_at_every_time(views, gamma, preset):
    # The worst prior over all histories, for every pattern of showing and every time, as a linear program.
    made = plan(n=100, domain={"a": 100_000}, d="1/1000", gamma=gamma, views=views, preset=preset)
    noise = [made.rates.noise(index) for index in range(1, views + 1)]
    assert made.definition.over_time
    assert worst_over_time(views, 0.001, made.s, made.rates.carry, noise) <= float(Fraction(gamma)) * (1 + 1e-9)
    assert "at every time" in made.definition.meaning()


def test_whoever_is_sure_of_one_time_may_learn_more_of_another_and_the_definition_says_so():
    # In the second table only: prior 0.001; in the first only: 0.999. One view later the first is ruled out by half.
    found = []
    for views in (2, 3):
        made = plan(n=100, domain={"a": 100_000}, d="1/1000", gamma="1/2", views=views)
        noise = [made.rates.noise(index) for index in range(1, views + 1)]
        last, before = (*[False] * (views - 1), True), (*[True] * (views - 1), False)
        ratio = pattern_ratio(last, last, made.s, made.rates.carry, noise) / pattern_ratio(
            last, before, made.s, made.rates.carry, noise
        )
        found.append(float(ratio / (ratio + 999)))
    assert found[0] == pytest.approx(0.548, abs=1e-3)
    assert found[1] > 0.6
    assert "may learn more about other times" in made.definition.not_covered()
    frozen = plan(n=100, domain={"a": 100_000}, d="1/1000", gamma="1/2", views=2, frozen=True)
    assert "at every time" not in frozen.definition.meaning()
    assert not plan(n=100, domain={"a": 100_000}, d="1/1000", gamma="1/2").definition.over_time
