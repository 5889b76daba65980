"""Plans: every preset and its limits, public inputs, verdicts, readings as differential privacy, and rounding that promises nothing too much."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest

from reticent.definitions.mechanisms import BoundedBelief
from reticent.errors import Infeasible, PolicyError
from reticent.methods.randomize import Plan, Rates, error_constants, feasibility, plan, publish, publish_to
from reticent.methods.randomize.draws import Draws
from reticent.methods.randomize.plans import upwards
from tests.methods.randomize.examples import ADULT, scores_domain, scores_frame
from tests.oracles.randomize_enumeration import likelihood, subsets

D, GAMMA = Fraction(1, 50), Fraction(1, 5)


def test_a_floor_keeps_the_share_of_a_belief_that_was_asked_for():
    made = plan(n=10, domain={"a": 5000}, d=D, gamma=GAMMA, preset="floor", floor="3/10")
    assert made.s == Fraction(7, 10)
    assert made.worst_posterior == GAMMA
    assert made.worst_ratio >= Fraction(3, 10)
    with pytest.raises(PolicyError, match=r"at least d/gamma = 0\.1"):
        plan(n=10, domain={"a": 5000}, d=D, gamma=GAMMA, preset="floor", floor="1/20")
    with pytest.raises(PolicyError, match="pass both or neither"):
        plan(n=10, domain={"a": 5000}, d=D, gamma=GAMMA, floor="3/10")


def test_max_utility_has_the_least_variance_of_all_that_keep_the_promise():
    spreads = {}
    for eta in (Fraction(1, 10), Fraction(1, 5), Fraction(1, 2), Fraction(9, 10)):
        made = plan(n=10, domain={"a": 5000}, d=D, gamma=GAMMA, preset="floor", floor=eta)
        spreads[eta] = made.samples[0].standard_error
    best = plan(n=10, domain={"a": 5000}, d=D, gamma=GAMMA, preset="max-utility")
    assert best.s == 1 - D / GAMMA
    assert list(spreads.values()) == sorted(spreads.values())
    assert best.samples[0].standard_error == spreads[Fraction(1, 10)]


def test_rates_of_ones_own_are_judged_and_refused_by_name():
    for alpha, beta in (("0", "1/10"), ("-1/10", "1/5"), ("19/20", "1/10")):
        with pytest.raises(Infeasible, match="must be positive and add up to at most 1"):
            plan(n=10, domain={"a": 5000}, d=D, gamma=GAMMA, alpha=alpha, beta=beta)
    with pytest.raises(PolicyError, match="together, or neither"):
        plan(n=10, domain={"a": 5000}, d=D, gamma=GAMMA, alpha="1/2")


def test_an_upper_bound_of_n_is_known_instead_of_n(tmp_path):
    # nothing public tells the exact number of records.
    made = plan(n=6, domain=scores_domain(), k=1, gamma="1/3", n_public=10)
    assert (made.n, made.d) == (10, Fraction(1, 120))
    publish_to(scores_frame(), made, tmp_path / "view", insecure_seed=1)
    manifest = json.loads((tmp_path / "view" / "public" / "manifest.json").read_text())
    stated = manifest["details"]["plan"]
    assert stated["n"] == 10
    assert 6 not in [value for value in stated.values() if isinstance(value, int)]
    with pytest.raises(PolicyError, match="upper bound"):
        plan(n=6, domain=scores_domain(), k=1, gamma="1/3", n_public=5)


def test_each_verdict_is_reached_and_says_why():
    assert plan(n=ADULT["n"], domain=ADULT["domain"], k=10, gamma="1/5").verdict == "guaranteed"
    small = plan(n=6, domain=scores_domain(), k=1, gamma="1/3")
    assert small.verdict == "open"
    assert "too much to be useful" in small.feasibility.reason
    certain = feasibility(10, {"a": 20}, "1/5", k=1)
    assert (certain.verdict, "not below" in certain.reason) == ("impossible", True)
    # k of the order of sqrt(m): a wall whose constant is not known, and which says so.
    wall = feasibility(1000, {"a": 10**10}, "1/5", k=60_000)
    assert (wall.verdict, "heuristic" in wall.reason) == ("impossible", True)
    assert feasibility(1000, {"a": 10**10}, "1/5", k=2).verdict == "guaranteed"


def test_the_reading_as_differential_privacy_is_that_of_all_views():
    # the largest ratio of likelihoods over all views, for exchanging one tuple and for adding one.
    rates, domain = Rates(Fraction(2, 5), Fraction(1, 10)), list(range(4))

    def largest(first: set[int], second: set[int]) -> Fraction:
        pairs = [
            [likelihood(view, frozenset(table), domain, rates.s, rates.beta) for table in (first, second)]
            for view in subsets(domain)
        ]
        return max(max(a / b, b / a) for a, b in pairs)

    assert rates.swap_ratio() == largest({0, 1}, {0, 2}) == 9
    assert rates.change_ratio() == largest({0, 1}, {0}) == 5
    assert Rates(Fraction(9, 10), Fraction(1, 10)).swap_ratio() is None


def test_words_and_floats_are_rounded_so_that_nothing_is_promised_too_much():
    # One third is not 33.33 % or less, and a prior of 2/3 % is not covered up to 0.6667 %.
    words = BoundedBelief("1/150", "1/3").meaning()
    assert "at most 0.6666% before" in words
    assert "at most 33.34% after" in words
    made = plan(n=ADULT["n"], domain=ADULT["domain"], k=10, gamma="1/5")
    assert made.dp_epsilon >= math.log(float(made.rates.swap_ratio()))
    assert upwards(6.97801) == "6.9781"
    assert upwards(math.inf) == "without bound"
    assert f"epsilon is {upwards(made.dp_epsilon)}" in made.words()
    again = Plan.from_json(json.loads(json.dumps(made.as_json())))
    assert (again.alpha, again.beta, again.worst_posterior) == (made.alpha, made.beta, GAMMA)


class _OneWord(Draws):
    """Draws the same word every time: just beside the threshold of a probability of one half."""

    word = 2**63

    def raw(self, count: int, dtype: type = np.uint64) -> np.ndarray:
        return np.full(count, self.word, dtype=dtype)


def test_noise_is_rounded_up_and_true_tuples_down():
    # where floating point could decide either way, a fake is shown and a true tuple is not.
    half, draws = np.array([0.5]), _OneWord()
    assert draws.chances(half, up=True).all()
    assert not draws.chances(half, up=False).any()
    draws.__class__.word = 2**63 - 1
    assert not draws.chances(half, up=False).any()
    assert draws.chances(np.array([1.0]), up=True).all()


def test_printed_error_constants_are_multiples_of_each_other():
    # Erratum 6: one section prints sqrt(2) times the other; ours are computed from r.
    tight = plan(n=ADULT["n"], domain=ADULT["domain"], k=10, gamma="1/5")
    constants = error_constants(10, "1/5")
    assert constants["rho1"] / math.sqrt(2) == pytest.approx(tight.rho, rel=0.02)


def test_a_view_without_a_name_says_that_nothing_keeps_track_of_it(tmp_path):
    made = plan(n=6, domain=scores_domain(), k=1, gamma="1/3")
    for place, dataset, said in (("named", "scores", "release 1 of the data set"), ("unnamed", None, "was not named")):
        publish_to(scores_frame(), made, tmp_path / place, dataset=dataset, ledger=tmp_path / "book", insecure_seed=1)
        certificate = json.loads((tmp_path / place / "public" / "certificate.json").read_text())
        assert said in certificate["ledger"]["statement"]
    assert publish(scores_frame(), made).secure
