"""Overlapping sums under a uniform prior: draws are exact, bounds are kept, and answers leave beliefs where they may be."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from reticent.audit.chance import Game, ProbabilisticSumAuditor, Uniform
from reticent.audit.chance.class_sums import UniformSumsOfClasses
from reticent.audit.chance.irwin_hall import cumulative, density
from reticent.audit.chance.overlapping_sums import OverlappingSums, _tolerable_unsafe_share
from reticent.audit.decision import AggregateQuery

GAME = Game(1, 5, "0.1", 10)


def _two_answers(sizes: tuple[int, int, int], answers: tuple[float, float]) -> OverlappingSums:
    """Two sums that share the people in the middle."""
    first, middle, last = sizes
    sums = OverlappingSums(sum(sizes), UniformSumsOfClasses(Uniform()), GAME)
    sums.remember(AggregateQuery.of(range(first + middle)), Fraction(answers[0]))
    sums.remember(AggregateQuery.of(range(first, first + middle + last)), Fraction(answers[1]))
    return sums


@pytest.mark.parametrize(
    ("sizes", "answers"),
    [((6, 5, 7), (5.2, 6.6)), ((2, 1, 3), (1.4, 2.2)), ((30, 12, 25), (22.0, 17.0))],
)
def test_draws_follow_the_posterior_of_the_shared_sum(
    sizes: tuple[int, int, int], answers: tuple[float, float]
) -> None:
    """The shared sum s has the density f(a1 - s) f(s) f(a2 - s), integrated here on a fine grid."""
    sums = _two_answers(sizes, answers)
    classes, asked = sums._classes(AggregateQuery.of(range(sizes[0])))
    drawn = sums._drawn(classes, asked[:-1], 40_000, np.random.default_rng(5))
    assert drawn is not None
    assert np.allclose(drawn @ asked[:2].T, answers)
    (shared,) = np.flatnonzero((asked[0] > 0) & (asked[1] > 0))
    grid = np.linspace(0, sizes[1], 4_001)
    weights = (
        density(sizes[0], answers[0] - grid) * density(sizes[1], grid) * density(sizes[2], answers[1] - grid)
        if sizes[1] > 1
        else density(sizes[0], answers[0] - grid) * density(sizes[2], answers[1] - grid)
    )
    law = np.cumsum(weights) / weights.sum()
    found = np.searchsorted(np.sort(drawn[:, shared]), grid, side="right") / len(drawn)
    # Five deviations of the largest distance of 40,000 independent draws (Kolmogorov), and the error of the grid.
    assert np.abs(found - law).max() < 5 * 0.5 / np.sqrt(len(drawn)) + 1e-3


def test_a_share_of_unsafe_sums_is_tolerable_unsafe_share_so_that_the_average_is_safe() -> None:
    for share, factor, smaller in (
        (Fraction(1, 5), Fraction(2), Fraction(7, 4)),
        (Fraction(1, 2), Fraction(3), Fraction(2)),
    ):
        kept = _tolerable_unsafe_share(share, factor, smaller)
        assert kept > 0
        assert (1 - kept) * float(smaller * share) + kept <= float(factor * share) + 1e-12
        assert (1 - kept) / float(smaller) >= 1 / float(factor) - 1e-12


def _worst_ratio(sizes: tuple[int, int, int], answers: tuple[float, float], share: float = 0.2) -> float:
    """How far the belief about anybody's value moves, by quadrature over the shared sum: another model than the auditor's."""
    first, middle, last = sizes
    grid = middle / 2 + np.sqrt(middle / 12) * np.linspace(-7, 7, 57)
    weights = density(first, answers[0] - grid) * density(middle, grid) * density(last, answers[1] - grid)
    weights = weights / weights.sum()
    worst = 1.0
    for size, totals in ((first, answers[0] - grid), (middle, grid), (last, answers[1] - grid)):
        for low in (0.0, 0.4, 0.8):
            ends = [cumulative(size - 1, totals - low), cumulative(size - 1, totals - low - share)]
            whole = cumulative(size - 1, totals) - cumulative(size - 1, totals - 1)
            chance = float((weights * np.where(whole > 0, (ends[0] - ends[1]) / np.maximum(whole, 1e-300), 0)).sum())
            worst = max(worst, chance / share, share / max(chance, 1e-12))
    return worst


def test_answered_overlaps_leave_beliefs_within_the_factor() -> None:
    rng = np.random.default_rng(11)
    sizes = (150, 150, 150)
    answered = 0
    for seed in range(1):
        values = rng.random(450)
        auditor = ProbabilisticSumAuditor(450, Uniform(), GAME, exact_only=True, insecure_seed=seed)
        given = []
        for people in (range(300), range(150, 450)):
            decision = auditor.would_answer(people)
            if not auditor.ask(people):
                break
            given.append(float(values[people.start : people.stop].sum()))
            auditor.record(people, Fraction(given[-1]))
        if len(given) == 2:
            answered += 1
            assert "exact samples, wrong with a probability of at most 0.0005" in decision.reason
            assert _worst_ratio(sizes, (given[0], given[1])) <= 2
    assert answered > 0


def test_small_parts_are_denied_and_a_restart_decides_alike() -> None:
    values = np.random.default_rng(3).random(400)
    auditors = [ProbabilisticSumAuditor(400, Uniform(), GAME, exact_only=True, key=b"key") for _ in range(2)]
    for auditor in auditors:
        assert auditor.ask(range(200))
        auditor.record(range(200), Fraction(float(values[:200].sum())))
    denied = [auditor.would_answer(range(190, 390)) for auditor in auditors]
    assert denied[0] == denied[1]
    assert (denied[0].answer, denied[0].rule) == (False, "unsafe")
