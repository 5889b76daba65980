"""The privacy game: parameters, sample sizes, budgets, and the lemma behind the finite check."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from reticent.audit.chance import Game, PriorCells
from reticent.errors import PolicyError
from tests.oracles import audit_chance_worlds as worlds
from tests.sampling import examples


def samples_as_printed(cells: PriorCells) -> int:
    """The number of samples of the source for eta = 0.01, with lambda~ squared in the denominator (E2)."""
    slack = cells.slack
    largest = max((1 + slack) ** 2, (3 + slack / 3) ** 2)
    return ceil(9 * cells.count**2 / slack**2 * (1 + slack / 3) ** 2 * largest * log(2 / 0.01))


@pytest.mark.parametrize(
    ("lambda_", "beta", "c", "count", "slack", "printed", "enough"),
    [
        (1, 5, 4, 20, Fraction(1, 5), 5_102_360, 292_976),
        (1, 5, 5, 25, Fraction(1, 3), 3_205_155, 158_950),
        (1, 5, 8, 40, Fraction(5, 9), 3_522_795, 121_531),
        (3, 2, 3, 6, Fraction(1), 33_910, 9_156),
    ],
)
def test_g13_cells_and_sample_sizes(lambda_, beta, c, count, slack, printed, enough):
    cells = PriorCells(Game(lambda_, beta, "0.1", 10), c)
    assert (cells.count, cells.slack) == (count, slack)
    assert (samples_as_printed(cells), cells.samples("0.01")) == (printed, enough)
    assert Fraction(c + 1, c - 1) * (1 + slack) == 1 + lambda_


def test_g13_votes():
    assert Game(1, 5, "0.1", 10).votes() == 5181


def test_e2_the_denominator_is_lambda_tilde_squared():
    """With lambda squared, as printed, an unsafe cell passes for safe more often than eta/2 allows."""
    cells = PriorCells(Game("0.05", "1.02", "0.1", 10), 42)
    literal = round(samples_as_printed(cells) * cells.slack**2 / Fraction("0.05") ** 2)
    # A cell at the edge of lambda~-safety must not look lambda~/3-safe, except with chance eta/2.
    edge = float((1 + cells.slack) / cells.count)
    accepted = float((1 + cells.slack / 3) / cells.count)
    for samples, errs in ((literal, True), (samples_as_printed(cells), False), (cells.samples("0.01"), False)):
        chance = stats.binom.cdf(np.floor(accepted * samples), samples, edge)
        assert (chance > 0.005) == errs


@pytest.mark.parametrize(("lambda_", "beta", "c"), [(1, 5, 4), (1, 5, 8), (3, 2, 3)])
def test_p5_safe_errs_rarely_on_unsafe_cells_and_on_very_safe_ones(lambda_, beta, c):
    """Exact binomial tails at both thresholds: a lambda~-unsafe cell is rejected, a lambda~/9-safe one accepted."""
    cells, eta = PriorCells(Game(lambda_, beta, "0.1", 10), c), 0.01
    samples = cells.samples("0.01")
    slack, third = float(cells.slack), 1 + float(cells.slack) / 3
    low, high = np.ceil(samples / third / cells.count), np.floor(samples * third / cells.count)

    def accepted(ratio: float) -> float:
        law = stats.binom(samples, ratio / cells.count)
        return float(law.cdf(high) - law.cdf(low - 1))

    assert accepted(1 + slack) <= eta
    assert accepted(1 / (1 + slack)) <= eta
    assert accepted(1 + slack / 9) >= 1 - 2 * eta
    assert accepted(1 / (1 + slack / 9)) >= 1 - 2 * eta


@examples(60)
@given(
    st.sampled_from([(1, 5, 4), (1, 5, 8), (3, 2, 3), ("0.5", 4, 7)]),
    st.integers(0, 2**32 - 1),
    st.floats(0.0, 0.999),
)
def test_p7_cells_that_are_safe_make_every_significant_interval_safe(parameters, seed, strength):
    """Random posteriors that are piecewise constant on a grid finer than the cells, scaled until all cells are just safe."""
    lambda_, beta, c = parameters
    cells = PriorCells(Game(lambda_, beta, "0.1", 10), c)
    rng = np.random.default_rng(seed)
    fine = 6 * cells.count
    bumps = rng.standard_normal(fine) * (rng.random(fine) < 0.5)
    bumps -= bumps.mean()
    per_cell = bumps.reshape(cells.count, 6).mean(axis=1)
    allowed = 1 + float(cells.slack)
    limits = np.where(
        per_cell > 0, (allowed - 1) / np.maximum(per_cell, 1e-12), (1 / allowed - 1) / np.minimum(per_cell, -1e-12)
    )
    scale = min(limits.min(), 1 / max(-bumps.min(), 1e-12)) * strength
    density = 1 + scale * bumps
    shares = density.reshape(cells.count, 6).mean(axis=1) / cells.count
    assert all(cells.safe(Fraction(float(share)).limit_denominator(10**12)) for share in shares)
    steps = np.concatenate([[0.0], np.cumsum(density) / fine])
    low, high = worlds.window_ratios(lambda u: np.interp(u, np.linspace(0, 1, fine + 1), steps), float(beta), starts=40)
    assert low >= 1 / (1 + float(lambda_)) - 1e-9
    assert high <= 1 + float(lambda_) + 1e-9


@pytest.mark.parametrize(("lambda_", "beta", "c"), [(1, 5, 4), (1, 5, 8), (3, 2, 3), ("0.05", "1.02", 42)])
def test_p5_what_safe_accepts_surely_is_safe_with_a_smaller_lambda(lambda_, beta, c):
    """Cells that are lambda~/9-safe make all intervals safe with lambda/9 + 16/(9(c-1)), by the lemma's own factor."""
    cells = PriorCells(Game(lambda_, beta, "0.1", 10), c)
    smaller = Fraction(lambda_) / 9 + Fraction(16, 9 * (c - 1))
    assert Fraction(c + 1, c - 1) * (1 + cells.slack / 9) == 1 + smaller


def test_e1_the_ratio_is_conditional_on_the_answers_not_joint_with_them():
    """With the printed joint event nothing would ever be safe: its ratio is the chance of the answers themselves."""
    rng = np.random.default_rng(8)
    data = rng.random((400_000, 2))
    band = np.abs(data.sum(axis=1) - 1) < 0.01
    inside = data[:, 0] < 0.2
    joint = (inside & band).mean() / 0.2
    conditional = inside[band].mean() / 0.2
    assert joint < 0.05
    assert conditional == pytest.approx(1, abs=0.1)


def test_a_game_spends_its_budget_evenly_and_then_ends():
    game = Game(1, 5, "0.1", 10)
    assert [game.threshold(asked) for asked in (0, 9, 10)] == [Fraction(1, 200), Fraction(1, 200), None]
    with pytest.raises(PolicyError, match="All 10 rounds of the game are used"):
        game.votes(10)


def test_an_open_ended_game_halves_its_budget_and_never_spends_more_than_delta():
    game = Game(1, 5, "0.1", 10, open_ended=True)
    assert [game.threshold(asked) for asked in (0, 9, 10, 25)] == [Fraction(1, d) for d in (400, 400, 800, 1600)]
    spent = sum(2 * game.threshold(asked) for asked in range(1000))
    assert Fraction(99, 1000) < spent < Fraction(1, 10)
    assert game.votes(0) == pytest.approx(11.25 * 200 * log(200), abs=1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"lambda_": 0}, "lambda_ must be above 0, but it is 0"),
        ({"lambda_": "x"}, "lambda_ must be a number"),
        ({"beta": 1}, "beta must be above 1, but it is 1"),
        ({"beta": -3}, "beta must be above 1, but it is -3"),
        ({"delta": 0}, "delta must be above 0, but it is 0"),
        ({"delta": 1}, "delta must be below 1, but it is 1"),
        ({"rounds": 0}, "rounds must be at least 1"),
        ({"rounds": 2.5}, "rounds must be a whole number"),
        ({"open_ended": "yes"}, "open_ended must be True or False"),
    ],
)
def test_a_bad_parameter_is_named(arguments, message):
    with pytest.raises(PolicyError, match=message):
        Game(**{"lambda_": 1, "beta": 5, "delta": "0.1", "rounds": 10, **arguments})


def test_too_few_cells_and_a_bad_eta_are_refused():
    game = Game(1, 5, "0.1", 10)
    with pytest.raises(PolicyError, match=r"c must be above 1 \+ 2/lambda_ = 3, but it is 3"):
        PriorCells(game, 3)
    with pytest.raises(PolicyError, match="eta must be below 1, but it is 2"):
        PriorCells(game, 4).samples(2)


def test_the_chosen_cells_need_the_fewest_samples():
    chosen = PriorCells.of(Game(1, 5, "0.1", 10))
    others = [PriorCells(chosen.game, c).samples("0.01") for c in range(4, 60)]
    assert chosen.samples("0.01") == min(others)
