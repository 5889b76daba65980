"""Which sums of a class leave everybody safe, and how class sums are distributed: against scipy's laws and plain simulation."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import special, stats

from reticent.audit.chance import Exponential, Game, ProbabilisticSumAuditor, Uniform
from reticent.audit.chance.class_sums import NONE_SAFE, ExponentialSumsOfClasses, UniformSumsOfClasses, tolerated_totals

PARAMETERS = [(5, 2), (10, 2), (2, 4), (5, 3), (3, Fraction(3, 2))]


def worst_ratio(m: int, total: float, share: float) -> float:
    """How far the belief about one of m exponential values with this sum moves: given the sum, a value's part of it follows Beta(1, m - 1)."""
    # Finer towards the upper end, where the quantiles run away.
    starts = (1 - share) * (1 - np.linspace(1, 0, 1_501) ** 2)
    ends = np.append(-np.log1p(-(starts[:-1] + share)), np.inf)
    low, high = (special.betainc(1, m - 1, np.minimum(each / total, 1)) for each in (-np.log1p(-starts), ends))
    chances = high - low
    return float(max((chances / share).max(), (share / np.maximum(chances, 1e-300)).max()))


@pytest.mark.parametrize(("beta", "factor"), PARAMETERS)
@pytest.mark.parametrize("m", [2, 3, 7, 20, 60, 300])
def test_tolerated_sums_of_exponential_values_are_exactly_the_safe_ones(m: int, beta: int, factor: float) -> None:
    share, allowed = Fraction(1, beta), Fraction(factor)
    low, high = tolerated_totals(m, share, allowed)
    spread = np.sqrt(m)
    grid = np.linspace(max(0.05, m - 9 * spread), m + 9 * spread, 61)
    safe = np.array([worst_ratio(m, total, float(share)) <= float(allowed) for total in grid])
    if (low, high) == NONE_SAFE:
        assert not safe.any()
        return
    assert np.array_equal(safe, (grid >= low) & (grid <= high))
    for end, outside in ((low, -1e-2), (high, 1e-2)):
        assert worst_ratio(m, end, float(share)) <= float(allowed) * (1 + 1e-9)
        assert worst_ratio(m, end + outside, float(share)) > float(allowed) * (1 - 1e-5)


def test_one_person_is_never_safe() -> None:
    assert tolerated_totals(1, Fraction(1, 5), Fraction(2)) == NONE_SAFE
    assert UniformSumsOfClasses(Uniform()).tolerated(1, Fraction(1, 5), Fraction(2)) == NONE_SAFE


@pytest.mark.parametrize("size", [1, 2, 9, 40])
@pytest.mark.parametrize(
    ("law", "values"),
    [
        (UniformSumsOfClasses(Uniform(2, 5)), stats.uniform()),
        (ExponentialSumsOfClasses(Exponential(3, 1)), stats.expon()),
    ],
    ids=["uniform", "exponential"],
)
def test_draws_and_heights_are_those_of_sums_of_values(law, values, size: int) -> None:
    rng = np.random.default_rng(size)
    drawn = law.drawn(size, 20_000, rng)
    summed = values.rvs((20_000, size), random_state=rng).sum(axis=1)
    assert stats.ks_2samp(drawn, summed).pvalue > 1e-6
    # Draws that are kept with the relative height follow the squared density; simulated sums say the same.
    kept = drawn[rng.random(len(drawn)) < law.height(size, drawn)]
    heights = law.height(size, np.sort(summed))
    weights = np.cumsum(heights) / heights.sum()
    found = np.searchsorted(np.sort(kept), np.sort(summed), side="right") / len(kept)
    assert np.abs(found - weights).max() < 5 * (0.5 / np.sqrt(len(kept)) + 0.5 / np.sqrt(len(summed)))
    assert law.height(size, np.array([-1.0]))[0] == 0


def test_sums_under_an_exponential_prior_are_decided_and_leave_beliefs_within_the_factor() -> None:
    game = Game(1, 5, "0.1", 10)
    values = np.random.default_rng(4).exponential(3, 400) + 1
    auditor = ProbabilisticSumAuditor(400, Exponential(3, 1), game, exact_only=True, insecure_seed=1)
    assert auditor.would_answer(range(8)).rule == "unsafe"
    decision = auditor.would_answer(range(200))
    assert decision.answer
    assert "exact samples" in decision.reason
    assert auditor.ask(range(200))
    answer = Fraction(float(values[:200].sum()))
    auditor.record(range(200), answer)
    assert worst_ratio(200, float(answer - 200) / 3, 0.2) <= 2
    # The rest of 200 people is one of them, or too few.
    assert not auditor.ask(range(1, 200))
    assert not auditor.ask(range(5, 200))
    overlapping = auditor.would_answer(range(100, 300))
    assert overlapping.rule in ("safe", "unsafe")
    assert "exact samples" in overlapping.reason


def test_an_answer_that_an_exponential_prior_excludes_is_a_contradiction() -> None:
    auditor = ProbabilisticSumAuditor(50, Exponential(3, 1), Game(1, 5, "0.1", 10), exact_only=True)
    with pytest.raises(Exception, match="contradicts the prior"):
        auditor.record(range(50), 49)
