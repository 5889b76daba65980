"""Golden values of dropping, and what the printed theorems got wrong."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest

import reticent as rt
from reticent.base.randomness import Randomness
from reticent.errors import Infeasible, PolicyError
from reticent.methods.synthesize.domain_reduction import absence_charge, draw_dropped, least_kept_weight
from reticent.methods.synthesize.prior import PublicPrior
from reticent.methods.synthesize.rejection import ATTEMPTS, screening_charge
from reticent.methods.synthesize.required_noise import WeightClass
from reticent.methods.synthesize.urn import Pools


def spent(base: float, keep: str) -> Fraction:
    """The promise that leaves ``base`` to the urn by the published theorem, if the noise of a value is at most 1."""
    return Fraction(repr(base + math.log(1 / float(Fraction(keep))) + math.log(2)))


def absent(size: int, alpha: float, keep: float) -> float:
    """What a value costs that does not show: the table without it can be so much more likely."""
    return keep + (1 - keep) * math.prod(1 + alpha / (size + alpha + j) for j in range(size))


@pytest.mark.parametrize(
    ("size", "values", "keep", "base", "least", "alpha"),
    [
        (15, 233_726, "0.144", 4.6, 32_852, 0.0304617), (15, 233_726, "0.0378", 4.6, 8_400, 0.0406156),
        (100, 10**6, "1e-4", math.log(100), None, 0.212121), (100, 10**6, "1e-3", math.log(100), None, 0.141414),
        (100, 10**6, "1e-2", math.log(100), None, 0.0707071),
    ],
)  # fmt: skip
def test_the_safe_variant_gives_its_golden_noise_or_less(size, values, keep, base, least, alpha):
    """Less, where a scale between two steps of the threshold is certified as well: the golden search looked at steps only. The promise is what this noise spends."""
    epsilon = base + math.log(1 / float(keep)) + math.log(absent(size, alpha, float(keep)))
    plan = rt.synthesize.plan_dropping(size, values, keep, repr(epsilon), "1e-5")
    assert least is None or plan.kept_at_least == least
    assert alpha * 0.95 <= float(plan.alpha) <= alpha * (1 + 1e-4)
    assert sum(plan.charges.values()) == pytest.approx(float(plan.epsilon))
    assert plan.charges["absent values"] < math.log(2)


def test_the_run_of_the_literature_spends_less_than_it_printed():
    """ln(1/f) + ln 2 is right and wasteful: a value that does not show costs about alpha ln 2, not ln 2."""
    assert math.log(1 / 0.0378) + math.log(2) == pytest.approx(3.968593, abs=1e-6)
    plan = rt.synthesize.plan_dropping(12, 120_690, "0.0378", "8.568593", "1e-5")
    assert plan.base_epsilon == pytest.approx(4.6 + math.log(2), abs=0.03)
    assert plan.charges["visible values"] == pytest.approx(3.275446, abs=1e-6)


@pytest.mark.parametrize(("size", "drawn", "alpha"), [(1, 1, "0.3"), (5, 5, "2.5"), (3, 9, "0.04"), (40, 7, "1")])
def test_a_value_that_does_not_show_costs_what_was_proved(size, drawn, alpha):
    classes = (WeightClass(1, 10, Fraction(1, 3)), WeightClass(4, 2, Fraction(9, 10)), WeightClass(9, 2))
    expected = max(
        each.keep
        + (1 - each.keep)
        * math.prod(1 + each.weight * Fraction(alpha) / (size + Fraction(alpha) + j) for j in range(drawn))
        for each in classes
    )
    found = absence_charge(size, drawn, classes, Fraction(alpha))
    assert expected <= found <= expected * (1 + Fraction(1, 10**5))
    if drawn <= size:
        assert found <= 2 ** math.ceil(9 * Fraction(alpha))
    assert absence_charge(size, drawn, classes[2:], Fraction(alpha)) == 1


def test_a_charge_beyond_all_promises_is_none():
    """A thousand draws from an urn with one value of a billion balls."""
    assert absence_charge(1, 1000, (WeightClass(1, 1), WeightClass(10**9, 1, Fraction(1, 2))), Fraction(1)) is None


def test_the_published_theorem_on_dropping_is_behind_a_warning_and_gives_less_noise():
    with pytest.warns(UserWarning, match="theorem of the thesis is false"):
        printed = rt.synthesize.plan_dropping(100, 10**6, "1e-4", spent(math.log(100), "1e-4"), "1e-5", "thesis")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        safe = rt.synthesize.plan_dropping(100, 10**6, "1e-4", spent(math.log(100), "1e-4"), "1e-5")
    assert safe.alpha > 3 * printed.alpha


@pytest.mark.slow
def test_the_published_theorem_on_dropping_is_false():
    """n = 100 people with 100 values, a million values kept with 1e-4: the disclosure set of its promise has a chance of about 0.12, not 1e-5.

    An output that shows a value m times whose one person leaves is at least m (n - 1 + r alpha)/... times less likely; the ratio of moving that person to a value
    that nobody has and that does not show is the exact mixture over the number r of values that stay, here drawn.
    """
    size, values, alpha, keep, draws = 100, 10**6, Fraction("0.04332"), Fraction(1, 10**4), 4000
    limit = spent(math.log(100), "1e-4")
    prior = PublicPrior(values).keeping(keep)
    people = Pools(np.tile(np.arange(size), draws), np.full(draws, size))
    codes = draw_dropped(people, [alpha] * draws, np.full(draws, size), prior, Randomness(18).words()).reshape(
        draws, size
    )
    often = np.array([np.bincount(each[each < size], minlength=size).max(initial=0) for each in codes])
    # Without the person the value would have to stay (f) and start at alpha: the ratio is about (1/f) (1 + m/alpha) for m hits.
    disclosed = (1 / float(keep)) * (1 + often / float(alpha)) > math.exp(float(limit))
    assert 0.05 < disclosed.mean() < 0.25


def test_dropping_too_much_is_refused_with_a_way_out():
    with pytest.raises(Infeasible, match="Keep more values"):
        rt.synthesize.plan_dropping(10, 1000, "1e-3", "4", "1e-5")
    for keep, word in ((["0.5", "0.5"], "each of the 3 values"), (["0.5", "0.5", None], "each of the 3 values"), (["0.5", "0.5", 0], "above 0"),
                       (["0.5", "0.5", "x"], "must be a number"), ({0: 1, 1: 1}, "each of the 3 values"), ({7: 1}, "not one of them"), ("by value", "must be a number")):  # fmt: skip
        with pytest.raises(PolicyError, match=word):
            rt.synthesize.plan_dropping(10, 3, keep, "4", "1e-5")
    with pytest.raises(PolicyError, match="Round them"):
        rt.synthesize.plan_dropping(10, 2000, [Fraction(1, 2 + i) for i in range(2000)], "4", "1e-5")
    with pytest.raises(PolicyError, match="pairs of a weight and a keep"):
        rt.synthesize.plan_dropping(10, {i: 1 + i for i in range(5000)}, "0.5", "4", "1e-5")


WEIGHED = [
    ((1,) * 10, (0.5,) * 6 + (0.25,) * 4),
    ((1, 3, 3, 7, 20, 2), (0.5, 0.9, 0.5, 0.125, 0.75, 1.0)),
    ((10**9, 3, 10**6), (0.5, 0.25, 0.5)),
]


@pytest.mark.parametrize(("weights", "keep"), WEIGHED)
def test_how_much_weight_stays_is_bounded_from_below(weights, keep):
    """Against every set of values that may stay; weights that are too large for steps of one lose a millionth of their sum, class by class."""
    prior = PublicPrior.of(dict(enumerate(weights))).keeping(keep)
    law = {0: Fraction(1)}
    for weight, f in zip(weights, map(Fraction, keep), strict=True):
        longer = {}
        for kept, chance in law.items():
            longer[kept] = longer.get(kept, 0) + chance * (1 - f)
            longer[kept + weight] = longer.get(kept + weight, 0) + chance * f
        law = longer
    for chance in map(Fraction, ("0.001", "0.01", "0.1", "0.3")):
        least = least_kept_weight(prior.classes, chance)
        assert sum(each for kept, each in law.items() if kept < least) <= chance
        more = least + 1 + (sum(weights) // 2**20 + 1) * len(prior.classes) * (sum(weights) > 2**20)
        assert sum(each for kept, each in law.items() if kept < more) > chance * (1 - Fraction(1, 10**5))


def test_the_cap_on_attempts_costs_next_to_nothing():
    assert ATTEMPTS == 64
    assert 0 < screening_charge(Fraction(1, 2)) < Fraction(1, 10**8)
    plan = rt.synthesize.plan([20], 30, "2", "0.1", screen=True)
    plain = rt.synthesize.plan([20], 30, "2", "0.1")
    assert plan.alpha[20] >= plain.alpha[20]
    assert rt.ProbabilisticDP(2, "0.1").assess(plan).holds


def test_plain_meaning_rounds_towards_less_privacy():
    for epsilon, said in (("4.6", "99.01 %"), ("8.6", "99.982 %"), ("1", "73.2 %")):
        assert said in rt.ProbabilisticDP(epsilon).meaning()


def test_a_forged_plan_does_not_pass():
    plan = rt.synthesize.plan([48], 25_181, "4.6", "1e-5")
    promise = rt.ProbabilisticDP("4.6", "1e-5")
    assert promise.assess(plan).holds
    from dataclasses import replace

    less = replace(plan, alpha={48: plan.alpha[48] * Fraction(9, 10)})
    found = promise.assess(less)
    assert not found.holds
    assert "more than delta" in found.witness.text
    assert not rt.ProbabilisticDP("4.5", "1e-5").assess(plan).holds


def test_the_shares_of_real_signal_are_those_of_the_second_look():
    blocks = {eps: rt.synthesize.plan([48], 25_181, eps, "1e-5").real_share for eps in ("1", "4.6")}
    tracts = {eps: rt.synthesize.plan([1685], 241, eps, "1e-5").real_share for eps in ("1", "4.6")}
    assert blocks["1"] == pytest.approx(0.001, abs=0.0006)
    assert blocks["4.6"] == pytest.approx(0.036, abs=0.01)
    assert tracts["1"] == pytest.approx(0.32, abs=0.03)
    assert tracts["4.6"] == pytest.approx(0.97, abs=0.01)


def test_small_deltas_and_epsilons_of_plans_are_refused_by_name():
    for changed, word in (({"epsilon": 0}, "above 0"), ({"epsilon": 51}, "at most 50"), ({"delta": 1}, "below 1"), ({"groups": []}, "empty"),
                          ({"groups": [0]}, "at least 1"), ({"groups": [2.5]}, "whole number"), ({"domain": 1}, "a single value"),
                          ({"mode": "thesis", "epsilon": 1}, "above 1.0987"), ({"screen": True, "delta": 0}, "delta above 0")):  # fmt: skip
        arguments = {"groups": [10], "domain": 20, "epsilon": 2, "delta": "0.01", **changed}
        with pytest.raises(PolicyError, match=word):
            rt.synthesize.plan(**arguments)
