"""G1 to G9, exactly, and what the errata corrected."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from reticent.errors import Infeasible, PolicyError
from reticent.methods.randomize import (
    Plan,
    Rates,
    block_posterior,
    count_domain,
    error_constants,
    feasibility,
    kept_share,
    plan,
    tuple_posterior,
    worlds_posterior,
)
from reticent.methods.randomize.error_bounds import variance
from reticent.methods.randomize.frapp import FrappPlan
from reticent.methods.randomize.tuple_sets import among
from tests.methods.randomize.examples import (
    ADULT,
    GOLDENS,
    SCORES,
    printed_view,
    scores_domain,
    scores_frame,
    scores_plan,
)
from tests.oracles.randomize_enumeration import moments, statistical_difference

HALF = Fraction(1, 2)


@pytest.mark.parametrize("query", SCORES["queries"], ids=lambda query: query["condition"])
def test_the_worked_example_counts_the_domain_and_estimates_exactly(query):
    view = printed_view()
    found = view.estimate(query["condition"])
    assert count_domain(query["condition"], scores_domain()) == query["domain"] == found.domain_count
    assert found.shown == query["shown"]
    assert found.value == Fraction(query["estimate"])
    assert found.interval[0] <= query["true"] <= found.interval[1]


def test_the_misprinted_domain_count_gives_the_misprinted_estimate():
    rates = scores_plan().rates
    assert (6 - rates.beta * SCORES["misprint"]["domain"]) / rates.alpha == Fraction(SCORES["misprint"]["estimate"])


def test_the_worked_example_has_four_true_tuples_and_the_printed_posterior():
    view, rates = printed_view(), scores_plan().rates
    assert (
        int(
            among(view.keys, scores_domain().pack(scores_frame())[scores_domain().pack(scores_frame()).argsort()]).sum()
        )
        == 4
    )
    assert tuple_posterior(rates, SCORES["prior"], True) == Fraction(SCORES["posterior_seen"])
    assert float(tuple_posterior(rates, SCORES["prior"], False)) == pytest.approx(SCORES["posterior_absent"], abs=5e-8)
    assert math.sqrt(variance(rates, Fraction(3), 549)) == pytest.approx(SCORES["standard_deviation"], abs=5e-5)


def test_point_queries_estimate_one_and_a_half_or_almost_nothing():
    view = printed_view()
    seen = view.estimate("age = 25 and nationality = 'British' and score = 99").value
    absent = view.estimate("age = 27 and nationality = 'British' and score = 97").value
    assert [seen, absent] == [Fraction(text) for text in SCORES["point_estimates"]]


def test_the_frapp_table_keeps_two_records():
    assert len(set(map(tuple, SCORES["frapp"])) & set(map(tuple, SCORES["instance"]))) == 2
    assert kept_share(1, "1/3") == Fraction(1, 3)


@pytest.mark.parametrize("preset", ["paper", "tight", "max-utility"])
def test_the_adult_plan_is_that_of_the_table(preset):
    want = ADULT["presets"][preset]
    made = plan(n=ADULT["n"], domain=ADULT["domain"], k=10, gamma="1/5", preset=preset)
    assert made.domain.size == ADULT["size"]
    assert float(made.alpha) == pytest.approx(want["alpha"], abs=5e-7)
    assert float(made.beta) == pytest.approx(want["beta"], abs=5e-9)
    assert round(made.expected_fakes) == want["fakes"]
    assert float(made.r) == pytest.approx(want["r"], rel=3e-5)
    assert made.rho == pytest.approx(want["rho"], abs=1e-3)
    assert float(made.worst_posterior) == pytest.approx(want["posterior"], abs=5e-6)
    assert float(made.absent_ratio) == pytest.approx(want["absent"], abs=5e-6)
    assert made.dp_epsilon == pytest.approx(want["epsilon"], abs=5e-4)
    assert made.verdict == "guaranteed"


def test_tight_reaches_gamma_exactly():
    made = plan(n=ADULT["n"], domain=ADULT["domain"], k=10, gamma="1/5")
    assert made.worst_posterior == Fraction(1, 5)
    assert made.s == HALF
    # Erratum 2: d is 0.0465 %, not 0.465 %.
    assert float(made.d) == pytest.approx(0.00046545, abs=5e-9)


def test_the_error_constants_and_the_wall_of_adult():
    found = error_constants(10, "1/5")
    assert found["rho1"] == pytest.approx(ADULT["rho1"], abs=1e-3)
    assert found["rho2"] == pytest.approx(ADULT["rho2"], abs=1e-3)
    assert found["ratio"] == pytest.approx(1 / math.sqrt(20))
    assert kept_share(10, "1/5") == Fraction(ADULT["kept_share"])
    wall = feasibility(ADULT["n"], ADULT["domain"], "1/5", k=10)
    assert wall.threshold == pytest.approx(ADULT["threshold_d"], abs=5e-5)
    assert round(wall.threshold_k) == ADULT["threshold_k"]


def test_beta_a_tenth_too_small_is_a_breach_and_is_refused():
    d, gamma = Fraction(1, 50), Fraction(1, 5)
    beta = HALF * d * (1 - gamma) / (gamma * (1 - d)) * Fraction(9, 10)
    assert float(tuple_posterior(Rates(HALF - beta, beta), d, True)) == pytest.approx(0.21739, abs=5e-6)
    with pytest.raises(Infeasible, match="posterior"):
        plan(n=10, domain={"a": 5000}, d=d, gamma=gamma, alpha=HALF - beta, beta=beta)


def test_tiny_moments_by_enumeration():
    s, beta = HALF, Fraction(1, 10)
    mean, spread = moments({0, 1, 2}, {0, 1, 3, 4}, list(range(6)), s, beta)
    assert (mean, spread) == (2, Fraction(17, 4))
    rates = Rates(Fraction(2, 5), beta)
    assert variance(rates, Fraction(2), 4) == spread
    assert rates.swap_ratio() == 9


@pytest.mark.parametrize("case", GOLDENS["difference"], ids=str)
def test_statistical_differences_are_those_of_the_table(case):
    alpha, beta = Fraction(case["alpha"]), Fraction(case["beta"])
    assert statistical_difference(case["m"], case["n"], alpha + beta, beta) == Fraction(case["sd"])


@pytest.mark.parametrize(
    ("beta", "seen", "unseen"), [("1/10", "1/2", "1/18"), ("1/9", "8/17", "1/17"), ("2/9", "7/25", "2/25")]
)
def test_a_link_attack_on_ten_diseases(beta, seen, unseen):
    rates = Rates(HALF - Fraction(beta), Fraction(beta))
    shows = [True] + [False] * 9
    assert block_posterior(rates, ["1/10"] * 10, shows) == [Fraction(seen)] + [Fraction(unseen)] * 9
    assert block_posterior(rates, ["1/10"] * 10, [False] * 10) == [Fraction(1, 10)] * 10


def test_the_tight_exclusive_plan_reaches_gamma_exactly():
    made = plan(n=1, domain={"disease": 10}, k=1, gamma="1/2", adversary="exclusive")
    assert made.beta == Fraction(1, 10)
    assert made.worst_posterior == HALF
    paper = plan(n=1, domain={"disease": 10}, k=1, gamma="1/2", adversary="exclusive", preset="paper")
    assert paper.beta == Fraction(2, 9)


def test_brothers_who_share_a_disease_are_given_away():
    rates = Rates(HALF - Fraction(2, 999), Fraction(2, 999))
    prior = Fraction(1, 1000)
    after = worlds_posterior(rates, [((0, 1), prior), ((), 1 - prior)], [0, 1], [0, 1])
    assert after[0] == after[1] == Fraction(999, 1015)


def independent_posterior(made: Plan, views: int) -> Fraction:
    """What independent re-runs would do: the belief in a tuple of prior d that ``views`` of them all show (why there is a series)."""
    ratio = (made.s / made.beta) ** views
    return ratio * made.d / (ratio * made.d + 1 - made.d)


def test_independent_reruns_are_a_breach():
    made = plan(n=ADULT["n"], domain=ADULT["domain"], k=10, gamma="1/5")
    assert float(independent_posterior(made, 2)) == pytest.approx(0.9926, abs=5e-5)
    assert float(independent_posterior(made, 3)) == pytest.approx(0.99999, abs=6e-6)


def test_counting_a_chain_of_comparisons():
    domain = {"a": range(4), "b": range(3), "c": range(5)}
    assert count_domain("a <= b and b < c", domain) == 16
    assert count_domain("true", domain) == 60


def test_errors_are_refused_by_name():
    for wrong, message in [
        ({"k": 10, "gamma": "1/5", "rho": "1/2"}, "at least 1"),
        ({"k": "1/2", "gamma": "1/5"}, "k must be at least 1"),
        ({"gamma": "1/5"}, "Pass either k"),
        ({"k": 2, "gamma": "1/5", "preset": "thight"}, "tight"),
        ({"k": 2, "gamma": "1/5", "views": 2, "adversary": "both"}, "independent"),
    ]:
        with pytest.raises(PolicyError, match=message):
            plan(n=10, domain={"a": 5000}, **wrong)
    with pytest.raises(Infeasible, match="not below gamma"):
        plan(n=10, domain={"a": 20}, k=1, gamma="1/5")
    assert feasibility(10, {"a": 20}, "1/5", k=1).verdict == "impossible"
    assert FrappPlan(3, scores_domain(), Fraction(1, 3)).replaced == Fraction(2, 3) / 1199
