"""The probabilistic auditor of maxima: closed forms against definitions and simulation."""

from __future__ import annotations

import copy
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.audit import AggregateQuery
from reticent.audit.chance import Game, Gaussian, PriorCells, ProbabilisticMaxAuditor, ProbabilisticMinAuditor, Uniform
from reticent.audit.chance.max_auditor import MaximumJudge, Synopsis
from reticent.errors import DataError, PolicyError
from tests.oracles import audit_chance_worlds as worlds
from tests.sampling import examples

GAME = Game(1, 5, "0.1", 10)


@pytest.mark.parametrize(("size", "chance"), [(50, 0.00515), (60, 0.00180)])
def test_g15_the_chance_that_a_maximum_misses_the_top_of_ten_cells(size, chance):
    synopsis = Synopsis(100, MaximumJudge(GAME))
    assert synopsis.chance_below(np.arange(size), 0.9) == pytest.approx(chance, abs=5e-6)


def test_g15_only_large_sets_can_be_answered():
    auditor = ProbabilisticMaxAuditor(200, Uniform(), GAME)
    assert [auditor.would_answer(range(size)).answer for size in (1, 10, 30, 60, 200)] == [False] * 3 + [True] * 2
    by_cells = ProbabilisticMaxAuditor(2000, Uniform(), GAME, c=8)
    assert not by_cells.would_answer(range(60)), "cells are narrower than windows, and the finite check is stricter"
    assert by_cells.would_answer(range(600))


@examples(10)
@given(
    st.integers(2, 60),
    st.sampled_from([(1, 5), ("0.5", 4), (3, 2), ("0.3", "1.25"), (10, 20)]),
    st.booleans(),
)
def test_the_safe_bounds_are_those_of_the_definition(size, parameters, held):
    lambda_, beta = (float(parameter) for parameter in parameters)
    low, high = MaximumJudge(Game(*parameters, "0.1", 10)).safe_range(size if held else np.inf)

    def is_safe(bound: float) -> bool:
        return worlds.is_safe(worlds.held_member(bound, size if held else None), lambda_, beta, jump=bound)

    for bound in np.linspace(0.03, 0.9999, 23):
        if abs(bound - low) > 0.004 and abs(bound - high) > 0.004:
            assert (low <= bound <= high) == is_safe(bound), bound


@examples(30)
@given(st.integers(2, 400), st.sampled_from([(1, 5, 4), (1, 5, 8), (3, 2, 3)]), st.booleans(), st.floats(0.5, 1.0))
def test_cells_are_judged_one_by_one(size, parameters, held, bound):
    lambda_, beta, c = parameters
    cells = PriorCells(Game(lambda_, beta, "0.1", 10), c)
    low, high = MaximumJudge(cells.game, cells).safe_range(size if held else np.inf)
    member = worlds.held_member(bound, size if held else None)
    edges = np.arange(cells.count + 1) / cells.count
    edges[-1] = 1.0
    ratios = np.diff([member(edge) for edge in edges]) * cells.count
    allowed = 1 + float(cells.slack)
    inside = (
        bool((ratios >= 1 / allowed).all() and (ratios <= allowed).all()) and bound > (cells.count - 1) / cells.count
    )
    if min(abs(bound - low), abs(bound - high)) > 1e-6:
        assert (low <= bound <= high) == inside


def _simulated(synopsis: Synopsis, members: np.ndarray, draws: int, seed: int) -> float:
    """Draw data sets, tell each its own maximum, ask whether all are safe: the vote, literally."""
    rng = np.random.default_rng(seed)
    unsafe = 0
    for _ in range(draws):
        answer = float(synopsis.draw(rng)[members].max())
        known = [b for b, f in zip(synopsis.exact_bound, synopsis.bound, strict=True) if b is not None and f == answer]
        after = copy.deepcopy(synopsis)
        after.remember(members, known[0] if known else Fraction(answer), answer)
        unsafe += not after.all_safe()
    return unsafe / draws


@pytest.mark.parametrize(
    ("answered", "asked"),
    [
        ([], range(25)),
        ([(range(40), 0.97)], range(30)),
        ([(range(40), 0.97)], range(20, 60)),
        ([(range(40), 0.97), (range(30, 70), 0.97)], range(15, 50)),
        ([(range(40), 0.97), (range(20, 80), 0.995), (range(60, 120), 0.98)], range(30, 75)),
        ([(range(40), 0.97)], range(40)),
    ],
)
def test_the_closed_form_agrees_with_a_vote_over_drawn_data_sets(answered, asked):
    synopsis = Synopsis(120, MaximumJudge(GAME))
    for members, answer in answered:
        synopsis.remember(np.array(members), Fraction(str(answer)), answer)
    assert synopsis.all_safe()
    members = np.array(asked)
    claimed = synopsis.unsafe_chance(members)
    share = _simulated(synopsis, members, 1500, seed=1)
    assert share == pytest.approx(claimed, abs=5 * (claimed * (1 - claimed) / 1500) ** 0.5 + 1e-9)


def test_drawn_data_sets_are_those_of_rejection_in_a_thin_band():
    synopsis = Synopsis(4, MaximumJudge(GAME))
    synopsis.remember(np.arange(3), Fraction(4, 5), 0.8)
    rng = np.random.default_rng(2)
    drawn = np.array([synopsis.draw(rng) for _ in range(20_000)])
    kept = worlds.worlds_with_maximum(rng, 4, range(3), 0.8, 0.005, 1_500_000)
    for person in (0, 3):
        for level in (0.3, 0.79, 0.95):
            assert (drawn[:, person] < level).mean() == pytest.approx((kept[:, person] < level).mean(), abs=0.02)


def test_a_question_repeated_is_answered_and_a_small_part_of_it_is_not():
    auditor = ProbabilisticMaxAuditor(100, Gaussian(), GAME)
    assert auditor.ask(range(80))
    auditor.record(range(80), "2.5")
    assert auditor.would_answer(range(80))
    assert not auditor.would_answer(range(5))


def test_an_unlucky_answer_ends_the_game():
    auditor = ProbabilisticMaxAuditor(200, Uniform(0, 10), GAME)
    assert auditor.ask(range(60))
    auditor.record(range(60), 6)
    assert not auditor.would_answer(range(60, 200))


def test_minima_mirror_maxima():
    largest, smallest = ProbabilisticMaxAuditor(90, Uniform(), GAME), ProbabilisticMinAuditor(90, Uniform(), GAME)
    answered = 0
    for low, high, answer in ((0, 60, "0.98"), (30, 90, "0.985"), (40, 45, "0.97"), (10, 80, "0.985")):
        decided = largest.ask(range(low, high))
        assert smallest.ask(range(low, high)) == decided
        if decided:
            answered += 1
            largest.record(range(low, high), answer)
            smallest.record(range(low, high), 1 - Fraction(answer))
    assert 0 < answered < 4
    with pytest.raises(PolicyError, match="A min auditor cannot decide on a max"):
        smallest.would_answer(AggregateQuery.of(range(5), "max"))


def test_contradictions_and_answers_outside_the_prior_are_refused():
    auditor = ProbabilisticMaxAuditor(100, Uniform(0, 10), GAME)
    auditor.record(range(60), "9.9")
    with pytest.raises(DataError, match="contradicts earlier answers"):
        auditor.record(range(70), "9.8")
    with pytest.raises(DataError, match="contradicts earlier answers"):
        auditor.record(range(60, 100), "9.9")
    with pytest.raises(DataError, match="outside the support of the prior"):
        auditor.record(range(60, 90), -3)
    with pytest.raises(PolicyError, match="prior must be a distribution"):
        ProbabilisticMaxAuditor(3, "normal", GAME)
