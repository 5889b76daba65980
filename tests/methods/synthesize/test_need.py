"""How much noise a group needs: golden values of the specification, and what a search must not miss."""

from __future__ import annotations

from fractions import Fraction
from math import exp, log

import pytest

import reticent as rt
from reticent.definitions import ratio_within
from reticent.methods.synthesize.least_scale import least_scales
from reticent.methods.synthesize.reference_sample import log_reference_mass, thesis_scale
from reticent.methods.synthesize.required_noise import RequiredNoise, WeightClass


def need(size, values, ratio, delta, drawn=None):
    return RequiredNoise(size, drawn or size, (WeightClass(1, values),), values, Fraction(ratio), Fraction(str(delta)))


def tight_scale(asked):
    return least_scales([asked])[0]


@pytest.mark.parametrize(
    ("ratio", "pure", "thesis", "tight"),
    [
        (5, 250_000, 17.4914945, 17.0),
        (10, 111_111.1, 5.5237928, 5.44444),
        (20, 52_631.6, 2.1636936, 2.10526),
        (50, 20_408.2, 0.7417609, 0.734694),
    ],
)
def test_the_million_of_people_needs_what_was_printed_if_epsilon_is_read_as_its_power(ratio, pure, thesis, tight):
    asked = need(10**6, 10**4, ratio, "1e-6")
    assert float(asked.enough) == pytest.approx(pure, abs=0.06)
    assert float(thesis_scale(asked)) == pytest.approx(thesis, rel=1e-7)
    assert float(tight_scale(asked)) == pytest.approx(tight, rel=1e-5)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((20, 20, 0.5, 0.5, 4), 0.172811369694),
        ((10, 10, 1, 3, 4), 0.0540877886416),
        ((5, 5, 1.5, 3, 3), 0.0188114219743),
        ((100, 100, 0.25, 24.75, 19), 0.0169919892784),
    ],
)
def test_the_reference_sample_has_its_golden_mass(arguments, expected):
    assert exp(log_reference_mass(*arguments)) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (
            233_726,
            {
                1: 0.0101539,
                2: 0.0203078,
                5: 0.0328544,
                12: 0.0372996,
                15: 0.0385223,
                50: 0.0462324,
                100: 0.0518703,
                1000: 0.0822017,
            },
        ),
        (120_690, {1: 0.0101539, 5: 0.0346162, 12: 0.0397611, 15: 0.0411838, 100: 0.0570101, 1000: 0.0942462}),
    ],
)
def test_the_thesis_planner_gives_its_golden_noise(values, expected):
    found = rt.synthesize.plan(groups=list(expected), domain=values, epsilon=4.6, delta="1e-5", mode="thesis")
    for size, alpha in expected.items():
        assert float(found.alpha[size]) == pytest.approx(alpha, abs=1e-7)


@pytest.mark.parametrize(
    ("size", "values", "ratio", "delta", "alpha"),
    [
        (5, 3, 4, "0.1", 1.64408238),
        (6, 2, 5, "0.05", 1.44445469),
        (8, 2, "3.5", "0.2", 2.35494561),
        (4, 3, 5, "0.05", 1.0),
    ],
)
def test_small_groups_get_their_golden_noise(size, values, ratio, delta, alpha):
    assert float(thesis_scale(need(size, values, ratio, delta))) == pytest.approx(alpha, rel=1e-8)


def test_the_washington_example_needs_much_less_than_was_printed():
    asked = need(10**6, 8 * 10**6, 50, "1e-6")
    assert float(asked.enough) == pytest.approx(20_408, abs=1)
    assert float(thesis_scale(asked)) == pytest.approx(0.392046, abs=1e-6)


def test_a_single_person_gets_the_noise_of_differential_privacy_at_once():
    asked = need(1, 2, 100, "0.05")
    assert thesis_scale(asked) == tight_scale(asked)
    assert 0 <= thesis_scale(asked) - Fraction(1, 99) < Fraction(1, 10**11)


def test_differential_privacy_of_a_million_needs_nine_hundred_and_thirteen():
    asked = need(10**6, 2, ratio_within(Fraction(7)), 0)
    assert float(asked.enough) == pytest.approx(912.714, abs=1e-3)
    assert float(need(20, 2, ratio_within(Fraction(7)), 0).enough) == pytest.approx(0.0182543, abs=1e-7)


def test_the_ratio_lies_just_below_the_power():
    assert 0 < exp(4.6) - float(ratio_within(Fraction("4.6"))) < 1e-9
    assert ratio_within(Fraction(repr(log(5)))) <= 5
