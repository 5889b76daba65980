"""Views with counts: what people who know everybody else's rows conclude about one person, by trying every view of small domains."""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction
from itertools import product

import polars as pl
import pytest

from reticent import AlphaBeta, BoundedBelief, Table, publish
from reticent.errors import Infeasible
from reticent.methods.randomize import Plan, plan

_CASES = [60, pytest.param(2000, marks=pytest.mark.slow)]

Counts = tuple[int, ...]


def _highest(
    worlds: Mapping[Counts, Fraction], asked: set[Counts], cap: int, kept: Fraction, noise: Fraction
) -> Fraction:
    """The highest belief in the ``asked`` worlds after any view.

    A world says how many people have each tuple; its records are (tuple, capped count). Each record of the world shows with the chance ``kept``, any other with ``noise``.
    """
    tuples = len(next(iter(worlds)))
    highest = Fraction(0)
    for shown in product((True, False), repeat=tuples * cap):
        weights = {}
        for counts, weight in worlds.items():
            for place, seen in enumerate(shown):
                here = min(counts[place // cap], cap) == place % cap + 1
                chance = kept if here else noise
                weight *= chance if seen else 1 - chance
            weights[counts] = weight
        highest = max(highest, sum(weights[each] for each in asked) / sum(weights.values()))
    return highest


def _made(rng: random.Random) -> tuple[Plan, int]:
    """A plan of some cap and promise."""
    while True:
        cap, d, gamma = rng.randint(1, 3), Fraction(1, rng.choice([7, 20, 100, 1000])), Fraction(1, rng.choice([2, 3]))
        preset, adversary = rng.choice(["tight", "max-utility", "paper"]), rng.choice(["exclusive", "both"])
        try:
            return plan(n=50, domain={"a": 3000}, d=d, gamma=gamma, adversary=adversary, preset=preset, count=cap), cap
        except Infeasible:
            continue


@pytest.mark.parametrize("cases", _CASES)
def test_whoever_knows_everybody_else_is_held_to_the_promise(cases: int) -> None:
    """A person is in one of two tuples, and the counts of all others are known: one count goes down where another goes up."""
    for seed in range(cases):
        rng = random.Random(seed)
        made, cap = _made(rng)
        d, gamma = made.d, made.gamma
        others = [rng.randint(0, cap) for _ in range(2)]
        worlds = {(others[0] + 1, others[1]): d, (others[0], others[1] + 1): 1 - d}
        found = _highest(worlds, {(others[0] + 1, others[1])}, cap, made.s, made.beta)
        assert d <= found <= gamma, f"seed {seed}: {made}, {others}"
        assert found <= made.worst_posterior <= gamma


@pytest.mark.parametrize("cases", _CASES)
def test_beliefs_about_one_count_or_about_being_there_are_held_to_the_promise(cases: int) -> None:
    """Any belief about how often one tuple occurs, each count (or its presence altogether) given at most d."""
    for seed in range(cases):
        rng = random.Random(seed)
        made, cap = _made(rng)
        d, gamma = made.d, made.gamma
        parts = [Fraction(rng.randint(0, 4)) for _ in range(cap + 1)]
        parts[rng.randrange(cap + 1)] += 1
        asked = {(count,) for count in range(1, cap + 2) if rng.random() < 0.5} or {(1,)}
        share = sum(parts[count - 1] for (count,) in asked)
        rest = sum(parts) - share
        worlds = {
            (count,): d * parts[count - 1] / share if (count,) in asked and share else Fraction(0)
            for count in range(1, cap + 2)
        }
        left = 1 - sum(worlds.values())
        for count in range(1, cap + 2):
            if (count,) not in asked and rest:
                worlds[count,] = left * parts[count - 1] / (rest + 1)
        worlds[0,] = 1 - sum(worlds.values())
        found = _highest(worlds, asked, cap, made.s, made.beta)
        assert found <= gamma, f"seed {seed}: {made}, {worlds}"


def test_without_people_who_share_a_tuple_a_count_costs_more_and_says_so() -> None:
    """One person who moves changes two counts; planned as one change the belief would end at 99 %."""
    made = plan(n=50, domain={"a": 3000}, d="1/100", gamma="1/2", adversary="exclusive", count=2)
    plain = plan(n=50, domain={"a": 6000}, d="1/100", gamma="1/2", adversary="exclusive")
    worlds = {(2, 1): Fraction(1, 100), (1, 2): Fraction(99, 100)}
    assert float(_highest(worlds, {(2, 1)}, 2, plain.s, plain.beta)) == pytest.approx(0.99, abs=0.001)
    assert _highest(worlds, {(2, 1)}, 2, made.s, made.beta) <= Fraction(1, 2)
    assert made.beta > 5 * plain.beta
    assert float(made.worst_posterior) == pytest.approx(0.5)
    assert made.worst_posterior <= Fraction(1, 2)
    assert made.dp_epsilon == pytest.approx(2 * made.dp_epsilon_change)


@pytest.mark.parametrize("tries", [12, pytest.param(600, marks=pytest.mark.slow)])
def test_records_show_as_often_as_the_plan_says(tries: int) -> None:
    """The drawing itself: true counts with the chance s, every other count with beta, five deviations."""
    frame = pl.DataFrame({"a": [0, 0, 0, 1, 1, 2]})
    table = Table(frame, quasi=["a"])
    method = AlphaBeta(domain={"a": range(20)}, duplicates="count", count=2)
    shown: dict[tuple[int, int], int] = {}
    for seed in range(tries):
        release = publish(table, BoundedBelief("1/5", "1/2", "exclusive"), method, insecure_seed=seed)
        for row in release.frame.iter_rows():
            shown[row] = shown.get(row, 0) + 1
    made = release.reader.plan
    for record in product(range(20), (1, 2)):
        chance = float(made.s if record in {(0, 2), (1, 2), (2, 1)} else made.beta)
        spread = (tries * chance * (1 - chance)) ** 0.5
        assert abs(shown.get(record, 0) - tries * chance) < 5 * spread, record
