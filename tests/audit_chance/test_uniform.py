"""The uniform backend: Irwin-Hall without cancellation, disjoint groups, splits."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.audit.chance import Game, Uniform
from reticent.audit.chance.irwin_hall import cumulative, density
from reticent.audit.chance.uniform import UniformGroups, split_chance, tolerated_deviation
from reticent.audit.decision import AggregateQuery
from reticent.errors import DataError
from tests.oracles import audit_chance_worlds as worlds
from tests.sampling import examples

GAME = Game(1, 5, "0.1", 10)


@examples(60)
@given(st.integers(1, 45), st.fractions(0, 1, max_denominator=1000))
def test_the_distribution_of_a_sum_is_that_of_exact_fractions(m, share):
    value = float(m * share)
    expected = worlds.sum_chance(m, Fraction(value))
    assert cumulative(m, [value])[0] == pytest.approx(float(expected), rel=1e-12, abs=1e-300)


def test_the_textbook_formula_in_floats_is_wrong_where_ours_is_right():
    from math import comb, factorial

    m, value = 40, 36.0
    naive = sum((-1) ** k * comb(m, k) * (value - k) ** m for k in range(37)) / factorial(m)
    true = float(worlds.sum_chance(m, value))
    assert abs(naive / true - 1) > 1e-3
    assert cumulative(m, [value])[0] == pytest.approx(true, rel=1e-13)


def test_large_sums_are_nearly_normal_and_their_tails_keep_digits():
    assert cumulative(1200, [600.0, 620.0]) == pytest.approx([0.5, worlds.NORMAL.cdf(2)], abs=1e-4)
    tail = cumulative(300, [60.0])[0]
    assert tail == pytest.approx(float(worlds.sum_chance(300, 60)), rel=1e-11)


@examples(30)
@given(st.integers(1, 30), st.floats(0, 1))
def test_the_density_is_the_difference_of_distributions(m, share):
    value = m * share
    expected = worlds.sum_chance(m - 1, Fraction(value)) - worlds.sum_chance(m - 1, Fraction(value) - 1)
    assert density(m, [value])[0] == pytest.approx(float(expected), rel=1e-7, abs=1e-9)


def test_g10_two_values_are_safe_iff_their_sum_is_within_a_ninth_of_one():
    groups = UniformGroups(2, Uniform(), GAME)
    assert tolerated_deviation(2, GAME.share, GAME.factor) == pytest.approx(1 / 9, abs=2e-9)
    assert tolerated_deviation(2, GAME.share, GAME.factor) <= 1 / 9
    assert groups.unsafe_chance(groups.change(AggregateQuery.of({0, 1}))) == pytest.approx(64 / 81, abs=1e-8)


@pytest.mark.parametrize(
    ("m", "deviation", "chance"),
    [(3, 0.25838, 0.62393), (5, 0.47987, 0.46865), (10, 1.0902, 0.23622), (20, 2.3047, 0.07409), (40, 4.7307, 0.00923)],
)
def test_g11_the_safe_sums_and_the_chance_of_others(m, deviation, chance):
    groups = UniformGroups(m, Uniform(), GAME)
    assert tolerated_deviation(m, GAME.share, GAME.factor) == pytest.approx(deviation, abs=5e-5)
    assert groups.unsafe_chance(groups.change(AggregateQuery.of(range(m)))) == pytest.approx(chance, abs=5e-6)


@examples(8)
@given(st.integers(2, 9), st.sampled_from([(1, 5), ("0.5", 4), (3, 2), ("0.4", "1.5")]))
def test_a_sum_just_inside_is_safe_by_definition_and_one_just_outside_is_not(m, parameters):
    lambda_, beta = (float(parameter) for parameter in parameters)
    game = Game(*parameters, "0.1", 10)
    largest = tolerated_deviation(m, game.share, game.factor)
    if largest < 0:
        assert not worlds.is_safe(worlds.uniform_member(m, Fraction(m, 2)), lambda_, beta)
        return
    inside = worlds.window_ratios(worlds.uniform_member(m, m / 2 + largest * 0.999), beta, starts=15)
    assert inside[0] >= 1 / (1 + lambda_) - 1e-9
    assert inside[1] <= 1 + lambda_ + 1e-9
    outside = worlds.window_ratios(worlds.uniform_member(m, min(m / 2 + largest + 0.01, m - 1e-3)), beta, starts=15)
    assert outside[0] < 1 / (1 + lambda_) or outside[1] > 1 + lambda_


def test_g14_nested_sums_are_disjoint_groups():
    groups = UniformGroups(6, Uniform(), GAME)
    groups.remember(AggregateQuery.of(range(6)), Fraction(3))
    groups.remember(AggregateQuery.of(range(3)), Fraction("1.2"))
    assert groups.chance(0, 0, 0.2) == pytest.approx(3 / 11)
    assert groups.chance(3, 0, 0.2) == pytest.approx(1 / 11)
    assert sorted(zip(groups.sizes, groups.sums, strict=True)) == [(3, Fraction("1.2")), (3, Fraction("1.8"))]


def test_posterior_chances_are_those_of_rejection_sampling_in_thin_bands():
    rng = np.random.default_rng(3)
    kept = worlds.worlds_in_bands(rng, 5, [(range(5), 2.1), ({0, 1}, 1.1)], 0.02, 2_000_000)
    groups = UniformGroups(5, Uniform(), GAME)
    groups.remember(AggregateQuery.of(range(5)), Fraction("2.1"))
    groups.remember(AggregateQuery.of({0, 1}), Fraction("1.1"))
    for person in (0, 4):
        share = (kept[:, person] < 0.3).mean()
        assert groups.chance(person, 0, 0.3) == pytest.approx(share, abs=5 * (0.25 / len(kept)) ** 0.5 + 0.01)


@examples(25)
@given(st.integers(1, 8), st.integers(1, 8), st.floats(0.1, 0.9), st.floats(0, 1), st.floats(0, 1))
def test_the_chance_of_a_split_agrees_with_fine_summation(size, rest, share, first, second):
    total = share * (size + rest)
    low, high = sorted(
        (max(0.0, total - rest) + end * (min(size, total) - max(0.0, total - rest))) for end in (first, second)
    )
    grid = np.linspace(low, high, 4001)
    middle = (grid[1:] + grid[:-1]) / 2
    terms = density(size, middle) * density(rest, total - middle) * np.diff(grid)
    expected = terms.sum() / density(size + rest, [total])[0]
    assert split_chance(size, rest, total, low, high) == pytest.approx(expected, abs=2e-3)


def test_the_whole_range_of_a_split_has_chance_one_even_for_large_groups():
    for size, rest, total in ((3, 4, 2.2), (30, 50, 37.25), (300, 200, 249.5)):
        assert split_chance(size, rest, total, 0, size) == pytest.approx(1, abs=1e-10)


def test_a_split_is_as_risky_as_simulated_ones():
    rng = np.random.default_rng(6)
    groups = UniformGroups(16, Uniform(), GAME)
    groups.remember(AggregateQuery.of(range(16)), Fraction("8.2"))
    claimed = groups.unsafe_chance(groups.change(AggregateQuery.of(range(6))))
    data = worlds.worlds_in_bands(rng, 16, [(range(16), 8.2)], 0.01, 1_500_000)
    parts, others = data[:, :6].sum(axis=1), data[:, 6:].sum(axis=1)
    safe = (np.abs(parts - 3) <= tolerated_deviation(6, GAME.share, GAME.factor)) & (
        np.abs(others - 5) <= tolerated_deviation(10, GAME.share, GAME.factor)
    )
    assert 1 - safe.mean() == pytest.approx(claimed, abs=5 * (0.25 / len(data)) ** 0.5 + 0.01)


def test_only_questions_that_keep_groups_disjoint_have_an_exact_risk():
    groups = UniformGroups(10, Uniform(), GAME)
    groups.remember(AggregateQuery.of(range(6)), Fraction(3))
    assert groups.change(AggregateQuery.of(range(6))).is_nothing
    assert groups.change(AggregateQuery.of({6, 7})).cut == -1
    assert list(groups.change(AggregateQuery.of({*range(6), 6, 7})).part) == [6, 7]
    assert groups.change(AggregateQuery.of({0, 1})).cut == 0
    assert groups.change(AggregateQuery.of({0, 6})) is None
    assert groups.change(AggregateQuery.linear({6: 2, 7: 1})) is None
    groups.remember(AggregateQuery.of({6, 7, 8}), Fraction(1))
    assert groups.change(AggregateQuery.of({0, 6})) is None
    assert list(groups.change(AggregateQuery.of({0, 1, 6, 7, 8})).part) == [0, 1]


def test_bounds_of_the_prior_are_only_a_unit():
    groups = UniformGroups(10, Uniform(0, 100_000), GAME)
    groups.remember(AggregateQuery.of(range(10)), Fraction(450_000))
    assert groups.sums == [Fraction(9, 2)]
    assert groups.chance(0, 0, 20_000) == pytest.approx(worlds.uniform_member(10, 4.5)(0.2))


def test_an_answer_beyond_the_bounds_is_refused():
    groups = UniformGroups(3, Uniform(), GAME)
    with pytest.raises(DataError, match="outside the range of the prior"):
        groups.remember(AggregateQuery.of({0, 1}), Fraction(3))
