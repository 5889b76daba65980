"""A table behind a budget: it never pays more than its total, and noise and choices follow the laws that are charged for."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise, permutations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from reticent.base.context import Context
from reticent.base.randomness import Randomness
from reticent.conditions import Condition
from reticent.errors import PolicyError
from reticent.methods.marginals.details import MarginalsDetails
from reticent.methods.marginals.estimates import count_marginals
from reticent.methods.marginals.noisy_table import NoisyTable
from reticent.methods.noisy_columns import PublicColumn
from reticent.noise import Currency
from reticent.table import Value, ValueType
from tests.sampling import runs

pytest.importorskip("opendp")
CODES = {"a": np.array([0, 0, 1, 2, 2, 2]), "b": np.array([0, 1, 1, 0, 0, 1])}
SIZES = {"a": 3, "b": 2}


def behind(currency: Currency, total: Fraction, rows: int = 1, seed: int | None = None) -> NoisyTable:
    return NoisyTable(CODES, SIZES, currency, total, rows, "add/remove", Context(randomness=Randomness(seed)))


@given(
    currency=st.sampled_from(["rho", "epsilon"]),
    total=st.fractions(Fraction(1, 1000), 10),
    shares=st.lists(st.fractions(Fraction(1, 50), Fraction(1, 2)), min_size=1, max_size=8),
    rows=st.integers(1, 5),
)
def test_steps_never_cost_more_than_was_given(
    currency: Currency, total: Fraction, shares: list[Fraction], rows: int
) -> None:
    table = behind(currency, total, rows, seed=1)
    for share in shares:
        cost, before = share * total, table.spent
        if cost > table.left:
            break
        table.measured(("a", "b"), cost)
        assert cost * Fraction(99, 100) <= table.spent - before <= cost
    assert table.spent <= total
    if table.steps:
        assert table.plan.cost("add/remove") == table.spent


def test_a_step_beyond_the_budget_is_refused_before_it_is_taken() -> None:
    table = behind("rho", Fraction(1), seed=1)
    with pytest.raises(PolicyError, match="budget"):
        table.measured(("a",), Fraction(2))
    assert table.spent == 0
    assert not table.steps


def test_true_counts_are_those_of_the_records() -> None:
    assert behind("rho", Fraction(1)).exact(("a", "b")).tolist() == [1, 1, 0, 1, 2, 1]
    assert behind("rho", Fraction(1)).exact(("b", "a")).tolist() == [1, 0, 2, 1, 1, 1]


@pytest.mark.parametrize("seed", [None, 7], ids=["operating system", "seeded"])
@pytest.mark.parametrize("currency", ["rho", "epsilon"])
def test_noise_has_the_law_that_is_charged(currency: Currency, seed: int | None) -> None:
    """Chances of single values, computed here, beside 30,000 draws: none off by five standard deviations."""
    count = 30_000
    codes = {"a": np.zeros(0, dtype=np.int64)}
    table = NoisyTable(
        codes, {"a": count}, currency, Fraction(1, 2), 1, "add/remove", Context(randomness=Randomness(seed))
    )
    noise = table.measured(("a",), Fraction(1, 2)).counts
    scale = float(table.steps[0].scale)
    values = np.arange(-60, 61)
    weights = np.exp(-(values**2) / (2 * scale**2)) if currency == "rho" else np.exp(-np.abs(values) / scale)
    chances = weights / weights.sum()
    for value in range(-3, 4):
        expected = float(chances[value + 60])
        seen = float((noise == value).mean())
        assert abs(seen - expected) < 5 * math.sqrt(expected * (1 - expected) / count)


def _flipped(heads: NDArray[np.float64]) -> NDArray[np.float64]:
    """The chances of places, each taken in random order until its coin, with so much chance of heads, shows heads."""
    chances = np.zeros(len(heads))
    orders = list(permutations(range(len(heads))))
    for order in orders:
        left = 1 / len(orders)
        for place in order:
            chances[place] += left * heads[place]
            left *= 1 - heads[place]
    return chances


@pytest.mark.parametrize("seed", [None, 7], ids=["operating system", "seeded"])
@pytest.mark.parametrize("currency", ["rho", "epsilon"])
def test_choices_have_the_law_that_is_charged(currency: Currency, seed: int | None) -> None:
    scores, draws = [0.0, 1.0, 2.5], runs(4000)
    table = behind(currency, Fraction(10**6), seed=seed)
    found = [table.chosen(scores, Fraction(1, 2)) for _ in range(draws)]
    weights = np.exp((np.array(scores) - max(scores)) / float(table.steps[0].scale))
    # For epsilon OpenDP adds exponential noise, the largest of which is chosen as by coins that are flipped in random order; Gumbel noise chooses by weight.
    flipped = currency == "epsilon" and seed is None
    for place, expected in enumerate(_flipped(weights) if flipped else weights / weights.sum()):
        seen = found.count(place) / draws
        assert abs(seen - expected) < 5 * math.sqrt(expected * (1 - expected) / draws)


@pytest.mark.slow
@pytest.mark.parametrize("currency", ["rho", "epsilon"])
def test_no_output_tells_neighbours_apart_by_more_than_epsilon(currency: Currency) -> None:
    """A black box: a noisy count of one cell and a noisy choice after it, 20,000 times on neighbours; Clopper-Pearson bounds of all outputs obey the loss."""
    total, tries = Fraction(1), 20_000
    seen: list[dict[tuple[int, int], int]] = []
    for codes in (np.array([0, 0, 1]), np.array([0, 0, 1, 1])):
        outcomes: dict[tuple[int, int], int] = {}
        for _ in range(tries):
            table = NoisyTable({"a": codes}, {"a": 2}, currency, total, 1, "add/remove", Context())
            counted = table.measured(("a",), total / 2).counts
            picked = table.chosen(table.exact(("a",)).astype(float).tolist(), total / 2)
            key = (int(np.clip(counted[1], -3, 6)), picked)
            outcomes[key] = outcomes.get(key, 0) + 1
        seen.append(outcomes)
    epsilon = 1.0 if currency == "epsilon" else 1.0 + 2 * math.sqrt(math.log(1e6))
    for one, other in (seen, seen[::-1]):
        for key, times in one.items():
            low = stats.beta.ppf(1e-6, times, tries - times + 1)
            high = stats.beta.ppf(1 - 1e-6, other.get(key, 0) + 1, tries - other.get(key, 0))
            assert low <= math.exp(epsilon) * high + 1e-6


@pytest.mark.parametrize("currency", ["rho", "epsilon"])
def test_intervals_hold_the_true_number_as_often_as_they_say(currency: Currency) -> None:
    """200 sets of measurements: between 93 and 99 of 100 intervals hold the truth, over conditions of one cell, several cells and two measurements."""
    source = np.random.default_rng(3)
    codes = {"a": source.integers(0, 4, 500), "b": source.integers(0, 3, 500)}
    columns = tuple(PublicColumn(name, ValueType.INTEGER, tuple(Value(code) for code in range(size))) for name, size in (("a", 4), ("b", 3)))  # fmt: skip
    asked = {
        "a = 1 and b = 2": (codes["a"] == 1) & (codes["b"] == 2),
        "a >= 2": codes["a"] >= 2,
        "b <> 0": codes["b"] != 0,
    }
    held = []
    for seed in range(200):
        table = NoisyTable(
            codes, {"a": 4, "b": 3}, currency, Fraction(1), 1, "add/remove", Context(randomness=Randomness(seed))
        )
        measured = [table.measured(clique, Fraction(1, 3)) for clique in (("a",), ("b",), ("a", "b"))]
        details = MarginalsDetails(columns, table.plan, "workload", "row")
        for condition, mask in asked.items():
            answer = count_marginals(
                Condition.of(condition), details, [each.counts for each in measured], _no_records()
            )
            assert answer.interval is not None
            held.append(answer.interval[0] <= int(mask.sum()) <= answer.interval[1])
    assert 0.93 <= np.mean(held) <= 0.99


def test_scales_have_few_digits_and_grow_as_the_budget_shrinks() -> None:
    table = behind("rho", Fraction(1))
    scales = [table.scale("measure", Fraction(1, 10**power)) for power in range(6)]
    assert all(one < other for one, other in pairwise(scales))
    assert all(scale.denominator.bit_length() <= 24 for scale in scales)


def _no_records() -> pl.DataFrame:
    return pl.DataFrame(schema={"a": pl.Int64, "b": pl.Int64})
