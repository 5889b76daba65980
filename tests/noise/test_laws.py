"""The laws of noise against every outcome listed, and the goldens and errata of spec 002 that speak of laws."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.errors import PolicyError
from reticent.noise.laws import (
    COUNT,
    HISTOGRAM,
    BinomialLaw,
    DiscreteLaplaceLaw,
    ExponentialLaw,
    FiniteLaw,
    Move,
    exponential,
    law_from,
    thresholds,
)
from tests.oracles import noise_laws as oracle
from tests.sampling import examples

EPSILONS = ("0.1", "0.5", "1", "1.3", "3")


def listed(law: FiniteLaw) -> dict[int, Fraction]:
    weights = list(law.weights())
    low = -(len(weights) // 2)
    return {low + place: Fraction(weight, 1 << law.bits) for place, weight in enumerate(weights) if weight}


def near(found: Fraction, expected: object) -> bool:
    return abs(found - Fraction(expected)) < Fraction(1, 10**25)  # type: ignore[arg-type]


# Binomial noise.


@pytest.mark.parametrize("coins", [2, 4, 6, 8, 12])
def test_the_binomial_law_is_that_of_every_sequence_of_tosses(coins):
    assert listed(BinomialLaw(coins)) == oracle.tossed(coins)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(("cells", "step"), [(1, 1), (2, 1), (1, 2), (1, 3)])
def test_the_delta_of_binomial_noise_is_the_sum_over_all_outputs(epsilon, cells, step):
    for coins in (2, 6, 14):
        expected = oracle.lost(oracle.tossed(coins), epsilon, cells, step)
        assert near(BinomialLaw(coins).delta(epsilon, Move(cells, step)), expected)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_no_set_of_outputs_tells_neighbours_apart_better_than_delta(epsilon):
    assert near(BinomialLaw(8).delta(epsilon), oracle.lost_by_sets(oracle.tossed(8), epsilon))
    law = ExponentialLaw(Fraction(2), 2, 4)
    expected = oracle.lost_by_sets(oracle.difference(*2 * [oracle.geometric(Fraction(2), 2, 4)]), epsilon)
    assert near(law.delta(epsilon), expected)


def test_more_coins_never_lose_more():
    for move in (COUNT, HISTOGRAM, Move(1, 3)):
        deltas = [BinomialLaw(coins).delta("0.7", move) for coins in range(2, 80, 2)]
        assert deltas == sorted(deltas, reverse=True)


def test_larger_steps_lose_more():
    """So that neighbours whose sums differ by the most are the worst ones."""
    deltas = [BinomialLaw(60).delta(1, Move(1, step)) for step in range(1, 9)]
    assert deltas == sorted(deltas)


def test_cut_chances_still_enclose_the_delta():
    law = BinomialLaw(600)
    whole = law.loss(Fraction(1, 2), HISTOGRAM, 4096)
    for bits in (64, 128, 256):
        found = law.loss(Fraction(1, 2), HISTOGRAM, bits)
        assert found.low <= whole.low <= whole.high <= found.high


def test_a_verdict_at_the_border_is_decided_exactly():
    """With epsilon = 20 only the output that one of two neighbours cannot have counts: delta is 2^-coins."""
    law = BinomialLaw(20)
    assert law.keeps(20, Fraction(1, 2**20))
    assert not law.keeps(20, Fraction(1, 2**20) - Fraction(1, 10**200))


def test_unhalved_tallies_of_neighbours_have_nothing_in_common():
    """DN-G3, E10: why the tally is halved."""
    unhalved = {2 * value: chance for value, chance in oracle.tossed(8).items()}
    assert set(unhalved) == set(range(-8, 9, 2))
    assert not set(unhalved) & {value + 1 for value in unhalved}
    assert oracle.lost(unhalved, "1") == 1
    assert BinomialLaw(8).delta(1) < Fraction(1, 10)


def test_the_printed_delta_of_488_coins():
    """DN-G2."""
    assert float(BinomialLaw(488).delta(1)) == pytest.approx(1.7e-27, rel=0.02)


def test_eighty_coins_are_too_few_for_a_histogram():
    """7.1: replacing a row moves two cells."""
    assert float(BinomialLaw(80).delta(1, HISTOGRAM)) == pytest.approx(1.32e-4, rel=0.002)
    assert not BinomialLaw(146).keeps(1, "1e-6", HISTOGRAM)
    assert BinomialLaw(148).keeps(1, "1e-6", HISTOGRAM)


def test_odd_coins_are_refused():
    with pytest.raises(PolicyError, match="coins must be an even number"):
        BinomialLaw(27)


# Exponential noise.


def test_bits_of_a_geometric_number_have_the_printed_chances():
    """DN-G1."""
    scale = Fraction(1 / math.log(2)).limit_denominator(10**15)
    ones = [Fraction(limit, 2**60) for limit in thresholds(scale, 5, 60)]
    for found, expected in zip(ones, (3, 5, 17, 257, 65537), strict=True):
        assert float(found) == pytest.approx(1 / expected, rel=1e-12)
    printed = (0.475021, 0.450166, 0.401312, 0.310026, 0.167982, 0.039166, 0.001659)
    for limit, expected in zip(thresholds(Fraction(10), 7, 60), printed, strict=True):
        assert limit / 2**60 == pytest.approx(expected, abs=5e-7)


def test_six_independent_bits_make_the_geometric_law_cut_at_64():
    """DN-G1: the product of the bits' chances, and the mass that is cut."""
    ones = [(limit + 1) / 2**60 for limit in thresholds(Fraction(10), 6, 60)]
    share = math.exp(-0.1)
    for value in range(64):
        found = math.prod(one if value >> bit & 1 else 1 - one for bit, one in enumerate(ones))
        assert found == pytest.approx((1 - share) * share**value / (1 - share**64), abs=1e-15)
    assert share**64 == pytest.approx(0.0016616, rel=1e-4)


@pytest.mark.parametrize("precision", [3, 5])
def test_a_comparator_is_exact_for_every_chance(precision):
    """DN-G8: every string of random bits against every chance; Pr[1] = (floor(p 2^d) + 1)/2^d."""
    for numerator in range(2 ** (precision + 2)):
        chance = Fraction(numerator, 2 ** (precision + 2))
        expected = Fraction(math.floor(chance * 2**precision) + 1, 2**precision)
        assert oracle.compared(chance, precision) == min(expected, Fraction(1))


@pytest.mark.parametrize(("scale", "width", "precision"), [("1", 3, 6), ("2", 3, 5), ("5/3", 2, 8), ("10", 4, 4)])
def test_the_exponential_law_is_that_of_every_random_bit(scale, width, precision):
    one = oracle.geometric(Fraction(scale), width, precision)
    expected = {value: chance for value, chance in oracle.difference(one, one).items() if chance}
    law = ExponentialLaw(Fraction(scale), width, precision)
    assert listed(law) == expected
    assert law.variance == sum(value**2 * chance for value, chance in expected.items())
    for epsilon in ("0.2", "1"):
        for cells in (1, 2):
            assert near(law.delta(epsilon, Move(cells)), oracle.lost(expected, epsilon, cells))


def test_the_exact_delta_lies_far_below_the_bound():
    """7.1: report the law's own delta. The bound counts every cut and rounding as if it were lost."""
    for scale, width, precision in ((1, 5, 24), (10, 8, 40), (2, 6, 30)):
        law = ExponentialLaw(Fraction(scale), width, precision)
        epsilon = Fraction(1, scale)
        assert 0 < 50 * law.delta(epsilon) < law.bound(epsilon, COUNT)


def test_the_distance_to_exact_noise_is_below_its_bound():
    """Property 3.6, by summing the whole law: total variation against the law without cut and rounding."""
    for scale, width, precision in ((1, 4, 10), (5, 6, 12), (10, 7, 8)):
        law = ExponentialLaw(Fraction(scale), width, precision)
        share = math.exp(-1 / scale)
        apart = sum(
            abs(float(chance) - (1 - share) / (1 + share) * share ** abs(value))
            for value, chance in listed(law).items()
        )
        beyond = 2 * share ** (1 << width) / (1 + share)
        assert (apart + beyond) / 2 <= float(law.distance())


def test_a_wide_law_is_judged_by_its_bound():
    law = ExponentialLaw(Fraction(65535), 20, 40)
    assert law.keeps(1, "1e-6", Move(1, 65535))
    assert law.delta(1, Move(1, 65535)) == law.bound(Fraction(1), Move(1, 65535))
    assert not law.keeps("0.9", "1e-6", Move(1, 65535))
    with pytest.raises(PolicyError, match="too many values"):
        list(law.weights())


def test_a_sign_bit_would_double_the_weight_of_zero():
    """DN-G4, E9: at scale 1/ln 2 the ratio of 0 to 1 is 4 with a sign bit, and 2 for the difference of two."""
    geometric = {value: Fraction(1, 2 ** (value + 1)) for value in range(40)}
    signed = {value: geometric[abs(value)] / (1 if value == 0 else 2) for value in range(-39, 40)}
    assert signed[0] / signed[1] == 4
    both = oracle.difference(geometric, geometric)
    assert float(both[0] / both[1]) == pytest.approx(2, rel=1e-9)


@pytest.mark.parametrize(("true", "expected"), [(0, 2.452), (1, 2.362), (50, 0.162), (128, 0.10006)])
def test_the_exact_answer_on_overflow_would_lose_much_more(true, expected):
    """DN-G5, E13: with 8 bits and scale 10, an answer that leaves the range is given without noise instead."""
    share = math.exp(-0.1)

    def law(count: int) -> np.ndarray:
        chances = (1 - share) / (1 + share) * share ** np.abs(np.arange(256) - count)
        chances[count] += 1 - chances.sum()
        return chances

    loss = np.abs(np.log(law(true) / law(true + 1))).max()
    assert loss == pytest.approx(expected, rel=2e-3)


def test_the_printed_scale_of_a_histogram_loses_four_times_too_much():
    """DN-G6, E12: epsilon = 0.5; scale 1/(2 epsilon) loses 2, scale 2/epsilon loses 0.5."""
    wrong, right = DiscreteLaplaceLaw(Fraction(1)), DiscreteLaplaceLaw(Fraction(4))
    assert wrong.delta(2, HISTOGRAM) == 0
    assert not wrong.keeps("1.999", "1e-9", HISTOGRAM)
    assert right.delta("0.5", HISTOGRAM) == 0
    assert not right.keeps("0.499", "1e-9", HISTOGRAM)


@given(st.integers(1, 40), st.sampled_from(EPSILONS), st.sampled_from([1, 2]))
@examples(25)
def test_the_delta_of_discrete_laplace_noise_is_the_sum_over_its_outputs(tenths, epsilon, cells):
    law = DiscreteLaplaceLaw(Fraction(tenths, 10))
    _, chances = law.chances()
    here, there = np.append(chances, 0), np.append(0, chances)
    if cells == 2:
        here, there = np.outer(here, here), np.outer(there, there)
    found = np.maximum(0, here - math.exp(float(epsilon)) * there).sum()
    assert float(law.delta(epsilon, Move(cells))) == pytest.approx(found, abs=1e-9)


# Sums of answers.


@pytest.mark.parametrize("law", [BinomialLaw(20), ExponentialLaw(Fraction(2), 4, 8), DiscreteLaplaceLaw(Fraction(2))])
@pytest.mark.parametrize("cells", [1, 2, 5])
def test_the_interval_of_a_sum_holds_as_much_as_it_says_and_no_less_would_do(law, cells):
    low, chances = law.chances()
    summed = np.ones(1)
    for _ in range(cells):
        summed = np.convolve(summed, chances)
    values = cells * low + np.arange(len(summed))
    for confidence in (0.5, 0.95, 0.999):
        reach = law.reach(cells, confidence)
        assert summed[np.abs(values) <= reach].sum() >= confidence - 1e-12
        assert summed[np.abs(values) < reach].sum() < confidence or reach == 0


def test_binomial_intervals_add_up_their_coins():
    assert BinomialLaw(148).reach(50, 0.95) == BinomialLaw(148 * 50).reach(1, 0.95)


def test_a_law_survives_its_description():
    for law in (BinomialLaw(12), ExponentialLaw(Fraction(5, 3), 4, 9), DiscreteLaplaceLaw(Fraction(7, 2))):
        assert law_from(law.describe()) == law


@pytest.mark.parametrize(
    "written", [{}, {"name": "normal"}, {"name": "binomial"}, {"name": "binomial", "coins": 3}, {"name": "binomial", "coins": 10**9}, {"name": "exponential", "scale": "-1", "width": 3, "precision": 2}, {"name": "exponential", "scale": "1", "width": 10**6, "precision": 2}, {"name": "discrete Laplace", "scale": "1e99"}, {"name": "binomial", "coins": 4, "more": 1}]
)  # fmt: skip
def test_a_description_that_is_no_law_is_refused(written):
    with pytest.raises(PolicyError):
        law_from(written)


@given(st.fractions(min_value=-30, max_value=30, max_denominator=50))
@examples(50)
def test_an_exponential_is_enclosed(power):
    low, high = exponential(power, 80)
    assert low < high
    assert high - low < high / 2**70
    assert float(low) == pytest.approx(math.exp(power), rel=1e-12)


@pytest.mark.parametrize("scale", ["1/3", "1", "7/2", "40", "1000"])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_the_reach_of_one_laplace_number_is_that_of_its_listed_distribution(scale, confidence):
    """Against the cumulated probabilities of all values, and without listing them for noise on sums of large numbers."""
    law = DiscreteLaplaceLaw(Fraction(scale))
    low, chances = law.chances()
    values = np.abs(np.arange(low, low + len(chances)))
    assert law.reach(1, confidence) == next(
        reach for reach in range(10**5) if chances[values > reach].sum() <= (1 - confidence) * (1 - 1e-9)
    )
    wide = DiscreteLaplaceLaw(Fraction(10**12)).reach(1, 0.95)
    assert wide == pytest.approx(10**12 * math.log(20), rel=1e-6)
