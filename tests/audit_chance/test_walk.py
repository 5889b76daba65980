"""Hit-and-run and SAFE by sampling, against posteriors that are known in closed form."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from reticent.audit.chance import Exponential, Game, Gaussian, PriorCells, Uniform
from reticent.audit.chance.monte_carlo import Tally, Vote, safe
from reticent.audit.chance.walk import Walk
from reticent.errors import DataError
from tests.oracles import audit_chance_worlds as worlds


def drawn(walk: Walk, answers, chains: int, steps: int, seed: int) -> np.ndarray:
    start = walk.start(np.array(answers, dtype=float))
    return walk.run(np.tile(start, (chains, 1)), steps, np.random.default_rng(seed))


def within(share: float, truth: float, count: int) -> bool:
    """Five sigma of an independent sample."""
    return abs(share - truth) <= 5 * (truth * (1 - truth) / count) ** 0.5


def test_g14_nested_sums_of_uniform_values():
    walk = Walk(Uniform(), np.array([[1.0] * 6, [1, 1, 1, 0, 0, 0]]))
    points = drawn(walk, [3, 1.2], 20_000, 60, seed=1)
    assert within((points[:, 0] < 0.2).mean(), 3 / 11, 20_000)
    assert within((points[:, 3] < 0.2).mean(), 1 / 11, 20_000)
    assert np.abs(points @ walk.matrix.T - [3, 1.2]).max() < 1e-12
    assert ((points >= 0) & (points <= 1)).all()


def test_overlapping_sums_of_uniform_values_as_by_rejection_in_thin_bands():
    walk = Walk(Uniform(), np.array([[1.0, 1, 1, 0], [0, 1, 1, 1]]))
    points = drawn(walk, [1.2, 1.9], 8_000, 60, seed=2)
    data = worlds.worlds_in_bands(np.random.default_rng(3), 4, [({0, 1, 2}, 1.2), ({1, 2, 3}, 1.9)], 0.01, 3_000_000)
    for person in range(4):
        for level in (0.2, 0.5, 0.8):
            assert (points[:, person] < level).mean() == pytest.approx(
                (data[:, person] < level).mean(), abs=5 * (0.5 / min(len(data), 8000)) ** 0.5
            )


def test_gaussian_values_have_the_textbook_posterior():
    matrix = np.array([[1.0, 1, 1, 1], [1, 2, 0, 0]])
    points = drawn(Walk(Gaussian(), matrix), [2, -1], 6_000, 60, seed=4)
    mean, variance = worlds.normal_posterior(matrix, [2, -1])
    assert points.mean(axis=0) == pytest.approx(mean, abs=0.06)
    assert points.var(axis=0) == pytest.approx(variance, abs=0.06)


def test_exponential_values_with_a_known_sum_are_uniform_on_the_simplex():
    points = drawn(Walk(Exponential(mean=3, low=1), np.ones((1, 4))), [10], 6_000, 60, seed=5)
    # Excesses over 1 add up to 6: each exceeds t with chance (1 - t/6)^3.
    for level in (1.0, 2.5, 4.0):
        assert within((points[:, 2] - 1 > level).mean(), (1 - level / 6) ** 3, 6_000)


def test_without_answers_the_prior_itself_is_drawn():
    for prior in (Uniform(2, 5), Gaussian(7, 2), Exponential(2)):
        points = drawn(Walk(prior, np.zeros((0, 3))), [], 4_000, 60, seed=6)
        assert within((prior.cumulative(points[:, 1]) < 0.3).mean(), 0.3, 4_000)


def test_long_walks_stay_on_the_answers():
    walk = Walk(Uniform(), np.array([[1.0, 1, 1]]))
    points = drawn(walk, [1.5], 2, 5_000, seed=7)
    assert points.sum(axis=1) == pytest.approx([1.5, 1.5], abs=1e-12)


def test_people_without_freedom_do_not_move():
    walk = Walk(Gaussian(), np.eye(2))
    assert drawn(walk, [1, 2], 3, 10, seed=8).tolist() == [[1, 2]] * 3


def test_chains_start_inside_and_cannot_know_the_data():
    walk = Walk(Uniform(), np.array([[1.0, 1, 0], [0, 1, 1]]))
    start = walk.start(np.array([0.3, 1.2]))
    assert ((start > 0.04) & (start < 0.96)).all()
    assert list(inspect.signature(Walk.start).parameters) == ["self", "answers"]


def test_answers_at_the_end_of_the_support_leave_no_room():
    with pytest.raises(DataError, match="leave no room inside the support of the prior"):
        Walk(Uniform(), np.ones((1, 3))).start(np.array([3.0]))


def test_safe_accepts_the_prior_and_rejects_a_known_value():
    cells = PriorCells(Game(3, 2, "0.2", 2), 3)
    rng = np.random.default_rng(9)
    data = rng.random((9_156, 3))
    assert safe(Uniform(), cells, data)
    data[:, 1] = 0.4
    assert not safe(Uniform(), cells, data)


def test_p5_one_shared_batch_rejects_unsafe_posteriors_and_accepts_very_safe_ones():
    """Cells at the edge of lambda~-safety are rejected and lambda~/9-safe ones accepted, almost always."""
    cells = PriorCells(Game(3, 2, "0.2", 2), 3)
    rng = np.random.default_rng(10)
    samples = cells.samples("0.01")

    def verdicts(ratio: float, runs: int) -> int:
        """Tilt the first cell of one of two people to the given ratio, spread over the others."""
        chances = np.full(cells.count, (cells.count - ratio) / (cells.count - 1) / cells.count)
        chances[0] = ratio / cells.count
        accepted = 0
        for _ in range(runs):
            tally = Tally(Uniform(), cells, 1, 2)
            tally.counts = np.concatenate(
                [rng.multinomial(samples, chances), rng.multinomial(samples, np.full(cells.count, 1 / cells.count))]
            )
            tally.seen = samples
            accepted += bool(tally.safe()[0])
        return accepted

    slack = float(cells.slack)
    assert verdicts(1 + slack, 300) <= 3
    assert verdicts(1 / (1 + slack), 300) <= 3
    assert verdicts(1 + slack / 9, 300) >= 297


def test_a_vote_counts_possible_answers_that_are_unsafe():
    """Sum of two uniform values, lambda 1, beta 5: unsafe with chance 64/81 by definition; SAFE's own test is stricter."""
    vote = Vote(Walk(Uniform(), np.zeros((0, 2))), PriorCells(Game(1, 5, "0.2", 2), 8), votes=60, samples=300)
    share = vote.unsafe_share(np.zeros(0), np.ones(2), 1.0, np.random.default_rng(11))
    assert share >= 64 / 81 - 5 * (0.25 / 60) ** 0.5


def test_a_vote_ends_once_the_threshold_is_passed():
    vote = Vote(Walk(Uniform(), np.zeros((0, 2))), PriorCells(Game(1, 5, "0.2", 2), 8), votes=100_000, samples=5)
    assert 0.0 < vote.unsafe_share(np.zeros(0), np.ones(2), 0.0001, np.random.default_rng(12)) < 0.01
