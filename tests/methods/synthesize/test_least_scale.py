"""The search for the least noise: nothing is certified that exact tails do not allow, and nothing much smaller would have been."""

from __future__ import annotations

from fractions import Fraction
from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent as rt
from reticent.definitions import ratio_within
from reticent.methods.synthesize.beta_binomial import relative_error, upper_tails
from reticent.methods.synthesize.least_scale import least_scales
from reticent.methods.synthesize.reference_sample import log_reference_mass
from reticent.methods.synthesize.required_noise import RequiredNoise, WeightClass
from tests.oracles import synthesize_high_precision as precise
from tests.oracles.synthesize_enumeration import tail, union_bound
from tests.oracles.synthesize_tails import least_scale, reference_masses
from tests.sampling import examples


def need(size, drawn, weights, counts, ratio, delta):
    classes = tuple(WeightClass(w, c) for w, c in zip(weights, counts, strict=True))
    total = sum(w * c for w, c in zip(weights, counts, strict=True))
    return RequiredNoise(size, drawn, classes, total, Fraction(ratio), Fraction(delta))


CASES = [
    (3, 3, (1,), (4,), "3.2", "0.15"), (5, 5, (1,), (50,), "8", "0.01"), (7, 4, (1,), (20,), "5", "0.05"), (4, 9, (1,), (6,), "6", "0.1"),
    (3, 3, (909, 1354), (1, 2), "3.2", "0.15"), (6, 6, (1, 3), (30, 5), "7", "0.02"), (12, 12, (1,), (1000,), "20", "0.001"),
]  # fmt: skip
SLOW = [
    (25, 25, (1,), (2000,), "30", "1e-4"), (40, 40, (1,), (300,), "2.7", "1e-3"), (15, 15, (1, 2, 7), (100, 50, 3), "12", "1e-3"), (12, 12, (1,), (120690,), "99.484", "1e-5"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("case", "step"),
    [
        *((case, 2e-3) for case in CASES),
        *(pytest.param(case, 4e-4, marks=pytest.mark.slow) for case in [*CASES, *SLOW]),
    ],
)
def test_the_noise_is_within_a_thousandth_of_the_least_that_is_allowed(case, step):
    """Every step of a threshold is on the oracle's grid, so that a coarse grid misses little between them."""
    size, drawn, weights, counts, ratio, delta = case
    found = least_scales([need(*case)])[0]
    least = least_scale(size, drawn, weights, counts, float(Fraction(ratio)), float(delta), step)
    assert float(found) <= least * 1.001


@pytest.mark.parametrize("case", CASES[:-1])
def test_what_is_certified_holds_in_fractions(case):
    size, drawn, weights, counts, ratio, delta = case
    found = least_scales([need(*case)])[0]
    alpha = [found * weight for weight, count in zip(weights, counts, strict=True) for _ in range(count)]
    assert union_bound(size, drawn, alpha, Fraction(ratio)) * (1 + Fraction(1, 10**6)) <= Fraction(delta)


@given(
    st.integers(1, 7),
    st.integers(1, 7),
    st.lists(st.integers(1, 9), min_size=2, max_size=4),
    st.fractions(Fraction(11, 10), 9, max_denominator=50),
    st.fractions(Fraction(1, 1000), Fraction(1, 2), max_denominator=1000),
)
@examples(30)
def test_no_certificate_is_wrong(size, drawn, weights, ratio, delta):
    distinct = sorted(set(weights))
    asked = need(size, drawn, distinct, [weights.count(each) for each in distinct], ratio, delta)
    scale = least_scales([asked])[0]
    exactly = union_bound(size, drawn, [scale * weight for weight in weights], ratio)
    assert exactly <= delta
    assert abs(float(exactly) * (1 + 1e-6) - asked.failure(scale)) <= 1e-8 * (1 + float(exactly))


@given(
    st.integers(1, 60), st.fractions(Fraction(1, 100), 30, max_denominator=100),
    st.fractions(Fraction(1, 100), 200, max_denominator=100), st.floats(0, 1),
)  # fmt: skip
@examples(40)
def test_tails_have_many_right_digits(drawn, inside, outside, share):
    threshold = int(share * (drawn - 1))
    arrays = [np.array([float(each)]) for each in (drawn, inside, outside, threshold)]
    expected = float(tail(drawn, inside, outside, threshold))
    assert float(upper_tails(*arrays)[0]) == pytest.approx(expected, rel=1e-9, abs=1e-300)


def test_a_tail_of_ten_to_the_minus_thirteen_is_not_lost():
    """1 minus a distribution function would be 0 here, or noise."""
    arrays = [np.array([float(each)]) for each in (1000, 2, 4000, 45)]
    expected = float(precise.tail(1000, precise.number(2), precise.number(4000), 45))
    assert 0 < expected < 1e-13
    assert float(upper_tails(*arrays)[0]) == pytest.approx(expected, rel=1e-9)


@given(
    st.integers(1, 10**6), st.fractions(Fraction(1, 100), 50, max_denominator=1000),
    st.fractions(Fraction(1, 2), 10**6, max_denominator=100), st.integers(0, 200),
)  # fmt: skip
@examples(25)
def test_tails_of_large_urns_are_those_of_sixty_digits(drawn, inside, outside, threshold):
    """Relative error below what certificates add to every tail; where the tail is large its complement is summed."""
    arrays = [np.array([float(each)]) for each in (drawn, inside, outside, threshold)]
    found = float(upper_tails(*arrays)[0])
    if drawn * inside > 30 * (inside + outside):
        assert 0 <= found <= 1
        return
    with precise.mp.workdps(precise.DIGITS):
        expected = float(precise.tail(drawn, precise.number(inside), precise.number(outside), threshold))
    assert found == pytest.approx(expected, rel=relative_error(drawn + float(inside + outside)), abs=1e-300)


PLANS = [
    ([12, 15, 100], 233_726, "4.6", "1e-5"), ([3, 48, 400], 25_181, "1", "1e-5"), ([1000], 10_000, "1.61", "1e-6"), ([9, 33], {"a": 1, "b": 4, "c": 40}, "2", "1e-4"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("groups", "domain", "epsilon", "delta", "mode"),
    [*((*each, "tight") for each in PLANS), (*PLANS[0], "thesis"), (*PLANS[2], "thesis")],
)
def test_the_planners_promise_holds_with_sixty_digits(groups, domain, epsilon, delta, mode):
    """The plan's noise meets the bound on the disclosure set, tail by tail, for a ratio that is at most the true e^epsilon."""
    plan = rt.synthesize.plan(groups, domain, epsilon, delta, mode)
    ratio = ratio_within(Fraction(epsilon))
    power = precise.power(Fraction(epsilon))
    assert precise.number(ratio) <= power <= precise.number(ratio) * (1 + precise.number("1e-9"))
    classes = [(each.weight, int(each.count)) for each in plan.need(groups[0]).classes]
    for size in groups:
        people = [x for x in range(size + 1) if x <= 40 or x == size]
        bound = precise.union_bound(size, size, classes, plan.alpha[size], ratio, people)
        assert bound <= precise.number(delta), size
        if mode == "thesis":
            # The planner bisects the closed criterion; what it returns meets it, or is the noise of plain differential privacy.
            alpha, values = plan.alpha[size], classes[0][1]
            mass = precise.reference_mass(size, size, alpha, (values - 1) * alpha, ratio - 1)
            criterion = mass * 2 * values * precise.number(ratio) / (precise.number(ratio) - 2)
            assert criterion <= precise.number(delta) * (1 + precise.number("1e-6")) or alpha == plan.need(size).enough


@pytest.mark.parametrize(
    "arguments", [(3, 3, 0.4, 0.4, 2.1), (20, 20, 0.5, 0.5, 4), (12, 12, 0.0372996, 233_725 * 0.0372996, 98.4843156)]
)
def test_the_reference_mass_is_the_largest_over_all_numbers_of_people(arguments):
    expected = max(reference_masses(*arguments).values())
    assert exp(log_reference_mass(*arguments)) == pytest.approx(expected, rel=1e-9)


def test_the_reference_mass_is_not_always_largest_for_one_person():
    """So no search may look at one person only (n = 3, two values, e^epsilon = 3.1)."""
    largest = set()
    for inside in np.linspace(0.05, 1.4, 28).tolist():
        masses = reference_masses(3, 3, inside, inside, 2.1)
        largest.add(max(masses, key=masses.__getitem__))
    assert 2 in largest


def test_the_guard_catches_what_the_closed_criterion_lets_pass():
    """n = 1, two values, e^epsilon = 100: the criterion accepts almost no noise for delta = 0.05, and every output would disclose."""
    asked = need(1, 1, (1,), (2,), "100", "0.05")
    criterion = exp(log_reference_mass(1, 1, 1e-4, 1e-4, 99)) * 2 * 2 * 100 / 98
    assert criterion == pytest.approx(0.0408, abs=1e-3)
    assert not asked.holds(Fraction(1, 10_000))
    assert rt.synthesize.disclosure({0: 1}, {0: 1}, "1e-4", "4.605", 2)


def test_weights_cannot_be_replaced_by_the_least_of_them():
    """Certifying with the least alpha alone accepts 0.150 here, while the disclosure set has a chance of 0.208 (section E)."""
    alpha = [Fraction("0.909"), Fraction("1.3545"), Fraction("1.3545")]
    asked = need(3, 3, (1818, 2709), (1, 2), "3.2", "0.15")
    assert asked.failure(Fraction(1, 2000)) > 0.2
    assert float(union_bound(3, 3, alpha, Fraction("3.2"))) > 0.2
    plan = rt.synthesize.plan([3], {"a": 1818, "b": 2709, "c": 2709}, "1.163", "0.15")
    assert plan.alpha[3] > Fraction(1, 2000)


def test_sizes_that_are_searched_together_get_what_they_get_alone():
    asked = [need(size, size, (1,), (500,), ratio_within(Fraction(3)), "1e-3") for size in (1, 2, 7, 31, 200)]
    assert least_scales(asked) == [least_scales([each])[0] for each in asked]


def test_a_million_people_are_planned_with_small_epsilon_too():
    plan = rt.synthesize.plan([100_000], 1000, "0.5", "1e-6")
    assert plan.privacy_loss().delta <= plan.delta
    assert plan.alpha[100_000] < plan.need(100_000).enough
