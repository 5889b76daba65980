"""The Gaussian backend: closed forms against the normal law of the standard library and against simulation."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.audit.chance import Game, Gaussian
from reticent.audit.chance.gaussian import GaussianSums, tolerated_shift
from reticent.audit.decision import AggregateQuery
from tests.oracles import audit_chance_worlds as worlds
from tests.sampling import examples

GAME = Game(1, 5, "0.1", 10)


@pytest.mark.parametrize(
    ("m", "largest", "chance"),
    [(10, 3.74165, 0.23672), (20, 8.14961, 0.06841), (50, 21.3525, 0.00253), (100, 43.3507, 1.457e-5)],
)
def test_g12_the_safe_sums_and_the_chance_of_others(m, largest, chance):
    sums = GaussianSums(m, Gaussian(), GAME)
    assert float(tolerated_shift(np.array([1 - 1 / m]), GAME)[0]) * m == pytest.approx(largest, rel=2e-6)
    assert sums.unsafe_chance(AggregateQuery.of(range(m))) == pytest.approx(chance, rel=2e-3)


def test_g12_a_stricter_game():
    game = Game("0.5", 10, "0.1", 10)
    for m in (2, 3):
        assert GaussianSums(m, Gaussian(), game).unsafe_chance(AggregateQuery.of(range(m))) == 1
    assert GaussianSums(200, Gaussian(), game).unsafe_chance(AggregateQuery.of(range(200))) == pytest.approx(
        0.00228, abs=5e-6
    )


@examples(20)
@given(
    st.floats(0.02, 0.98),
    st.sampled_from([(1, 5), ("0.5", 10), (3, 2), ("0.2", "1.5"), (8, 40)]),
)
def test_a_shift_just_inside_is_safe_by_definition_and_one_just_outside_is_not(kept, parameters):
    lambda_, beta = (float(parameter) for parameter in parameters)
    game = Game(*parameters, "0.1", 10)
    largest = float(tolerated_shift(np.array([kept]), game)[0])
    if largest < 0:
        assert not worlds.is_safe(worlds.normal_member(0.0, kept), lambda_, beta)
        return
    inside = worlds.window_ratios(worlds.normal_member(largest * 0.999, kept), beta)
    assert inside[0] >= 1 / (1 + lambda_) - 1e-9
    assert inside[1] <= 1 + lambda_ + 1e-9
    outside = worlds.window_ratios(worlds.normal_member(largest + 0.01, kept), beta, starts=2000)
    assert outside[0] < 1 / (1 + lambda_) or outside[1] > 1 + lambda_


@examples(25)
@given(st.integers(0, 2**32 - 1))
def test_the_posterior_is_the_textbook_one(seed):
    rng = np.random.default_rng(seed)
    data = rng.standard_normal(8)
    sums, rows = GaussianSums(8, Gaussian(), GAME), []
    for _ in range(3):
        members = np.flatnonzero(rng.random(8) < 0.6)
        if len(members):
            row = np.zeros(8)
            row[members] = 1
            if np.linalg.matrix_rank(np.array([*rows, row])) > len(rows):
                rows.append(row)
                sums.remember(AggregateQuery.of(members), Fraction(float(data[members].sum())))
    mean, variance = worlds.normal_posterior(rows, np.array(rows) @ data) if rows else (np.zeros(8), np.ones(8))
    assert sums.shift == pytest.approx(mean, abs=1e-9)
    assert 1 - sums.taken == pytest.approx(variance, abs=1e-9)


def test_the_chance_of_an_unsafe_answer_is_that_of_simulated_answers():
    """Overlapping linear questions: draw possible data given the past, judge each by definition."""
    rng = np.random.default_rng(4)
    past, query = np.r_[np.ones(12), np.zeros(6)], np.r_[np.zeros(6), np.ones(6), 2 * np.ones(6)]
    sums = GaussianSums(18, Gaussian(), GAME)
    sums.remember(AggregateQuery.of(range(12)), Fraction(2))
    claimed = sums.unsafe_chance(AggregateQuery.linear({j: int(query[j]) for j in range(6, 18)}))
    unsafe, draws = 0, 1500
    matrix = np.array([past, query])
    shift, _ = worlds.normal_posterior([past], [2.0])
    for _ in range(draws):
        noise = rng.standard_normal(18)
        data = shift + noise - past * (past @ noise) / 12
        mean, variance = worlds.normal_posterior(matrix, matrix @ data)
        tolerated = tolerated_shift(variance, GAME)
        unsafe += bool((np.abs(mean) > tolerated).any())
    assert 0.05 < claimed < 0.95
    assert unsafe / draws == pytest.approx(claimed, abs=5 * (claimed * (1 - claimed) / draws) ** 0.5)


def test_mean_and_deviation_of_the_prior_are_only_a_unit():
    plain, scaled = GaussianSums(30, Gaussian(), GAME), GaussianSums(30, Gaussian("50000", "12000.5"), GAME)
    plain.remember(AggregateQuery.of(range(20)), Fraction(3))
    scaled.remember(AggregateQuery.of(range(20)), 20 * Fraction(50000) + 3 * Fraction("12000.5"))
    assert scaled.shift == pytest.approx(plain.shift)
    query = AggregateQuery.of(range(10, 30))
    assert scaled.unsafe_chance(query) == pytest.approx(plain.unsafe_chance(query))


def test_after_an_unsafe_answer_everything_new_is_unsafe():
    sums = GaussianSums(40, Gaussian(), GAME)
    sums.remember(AggregateQuery.of(range(20)), Fraction(9))
    assert not sums.all_safe()
    assert sums.unsafe_chance(AggregateQuery.of(range(20, 40))) == 1


def test_a_question_that_floats_cannot_tell_from_known_ones_has_no_risk_figure():
    sums = GaussianSums(3, Gaussian(), GAME)
    sums.remember(AggregateQuery.linear({0: 10**8, 1: 1}), Fraction(1))
    assert sums.unsafe_chance(AggregateQuery.linear({0: 10**8, 1: 2})) is None


def test_new_people_change_nothing_for_the_old_ones():
    sums = GaussianSums(20, Gaussian(), GAME)
    sums.remember(AggregateQuery.of(range(20)), Fraction(1))
    before = sums.shift.copy()
    sums.extend(70)
    assert list(sums.shift[:20]) == list(before)
    fresh = GaussianSums(50, Gaussian(), GAME).unsafe_chance(AggregateQuery.of(range(50)))
    assert sums.unsafe_chance(AggregateQuery.of(range(20, 70))) == pytest.approx(fresh)
