"""The delta of a sample on a grid: goldens, all samples enumerated on tiny tables, and what the sum over two cells would break."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent as rt
from reticent.errors import Infeasible, PolicyError
from reticent.methods.grid.sample_law import SamplePlan, least_cell
from tests.oracles.grid_mechanisms import hockey_stick, largest_loss, sample_outputs
from tests.sampling import examples

GOLDENS = [
    (5, "0.2", 2, 3.200e-4, 3.200e-4),
    (10, "0.1", 1, 6.840e-8, 9.98e-9),
    (20, "0.2", 1, 6.033e-9, 2.77e-10),
    (20, "0.1", "0.5", 1.606e-9, 2.63e-11),
]


@pytest.mark.parametrize(("least", "sample", "epsilon", "bound", "delta"), GOLDENS)
def test_the_bound_and_the_exact_delta_are_those_of_the_specification(least, sample, epsilon, bound, delta):
    found = rt.grid.plan(sample, epsilon, least=least)
    assert found.known == "exact"
    assert float(found.bound) == pytest.approx(bound, rel=5e-4)
    assert float(found.delta) == pytest.approx(delta, rel=3e-3)
    assert found.delta <= found.bound


def test_a_delta_that_is_met_exactly_is_kept():
    """Five rows, all of whom are sampled: 0.2^5, and not a rounding more."""
    plan = SamplePlan(5, Fraction(1, 5))
    assert plan.added_row_delta(Fraction(2)) == Fraction(1, 3125)
    assert plan.keeps_added_row(Fraction(2), Fraction(1, 3125))
    assert not plan.keeps_added_row(Fraction(2), Fraction(1, 3125) - Fraction(1, 10**12))


@given(
    st.integers(1, 4),
    st.sampled_from([Fraction(1, 5), Fraction(1, 3), Fraction(1, 2), Fraction(3, 4)]),
    st.sampled_from(["0.5", "1", "1.5", "2.5"]),
)
@examples(12)
def test_the_exact_delta_is_the_largest_over_all_tables_of_one_cell(least, beta, epsilon):
    plan, loss = SamplePlan(least, beta), Fraction(epsilon)
    if not plan.covers_removal(loss):
        assert plan.added_row_delta(loss) == 1
        return
    worst = float(largest_loss(range(1, 10), beta, least, float(loss)))
    found = float(plan.added_row_delta(loss))
    # Larger cells than those enumerated may lose more, never less.
    assert worst <= found * (1 + 1e-12)
    if found > worst * (1 + 1e-9):
        further = [_at(plan, size, loss) for size in range(10, 400)]
        assert found == pytest.approx(max(further), rel=1e-9)
    assert plan.bound(loss) >= plan.added_row_delta(loss)


def _at(plan: SamplePlan, size: int, epsilon: Fraction) -> float:
    """The delta of one cell in floats, from its definition."""
    beta, factor = float(plan.sample), math.exp(epsilon)

    def chance(rows: int, kept: int) -> float:
        return math.comb(rows, kept) * beta**kept * (1 - beta) ** (rows - kept)

    shown = range(plan.least, size + 1)
    hidden = [sum(chance(rows, kept) for kept in range(min(plan.least, rows + 1))) for rows in (size, size - 1)]
    gains = [chance(size, kept) - factor * (chance(size - 1, kept) if kept < size else 0.0) for kept in shown]
    return sum(max(0.0, gain) for gain in (*gains, hidden[0] - factor * hidden[1]))


def test_other_cells_change_nothing_and_all_columns_must_be_in_the_cell():
    """k rows of a quasi cell are not enough where a sensitive column is shown beside it: (5, .2, 2) claims 3.2e-4, and one rare value has .1998."""
    beta, epsilon = Fraction(1, 5), 2.0
    with_row, without = (sample_outputs([*"aabbb", *["a"] * more], beta, 3) for more in (1, 0))
    joint = hockey_stick(with_row, without, epsilon)
    assert float(joint) <= float(SamplePlan(3, beta).added_row_delta(Fraction(2))) * (1 + 1e-12)
    # As if k counted the quasi cell alone, with the values of each sampled row beside it: many ordinary rows and one with a rare value.
    ordinary, chance = 60, 0.0
    for kept in range(4, ordinary + 1):
        chance += math.comb(ordinary, kept) * 0.2**kept * 0.8 ** (ordinary - kept)
    assert 0.2 * chance == pytest.approx(0.1998, abs=1e-3)


@pytest.mark.parametrize(("sample", "epsilon", "delta"), [("0.2", 1, "1e-6"), ("0.5", 2, "1e-3"), ("0.1", "0.3", "1e-9")])  # fmt: skip
def test_the_least_number_of_rows_is_the_least_one(sample, epsilon, delta):
    share, loss, limit = Fraction(sample), Fraction(epsilon), Fraction(delta)
    found = least_cell(share, loss, limit)
    assert SamplePlan(found, share).keeps_added_row(loss, limit)
    assert not SamplePlan(found - 1, share).keeps_added_row(loss, limit)


def test_delta_falls_with_the_number_of_rows():
    deltas = [SamplePlan(least, Fraction(1, 5)).added_row_delta(Fraction(1)) for least in range(1, 40)]
    assert deltas == sorted(deltas, reverse=True)


def test_what_cannot_be_gone_through_is_bounded_and_says_so():
    """Tiny samples with many rows a cell: cells of millions of rows would matter."""
    plan = SamplePlan(10_000, Fraction(1, 100_000))
    found = plan.added_row_loss(Fraction(1, 10_000))
    assert found.known == "tail"
    assert 0 < found.delta <= 1
    slow = SamplePlan(100, Fraction(1, 200)).added_row_loss(Fraction(1, 100))
    assert (slow.known, slow.delta < Fraction(1, 10**18)) == ("bound", True)


def test_a_small_epsilon_and_a_large_delta_are_refused_with_the_way_out():
    with pytest.raises(Infeasible, match=r"needs an epsilon of at least 0\.2232"):
        rt.grid.plan("0.2", "0.2", delta="1e-6")
    with pytest.raises(Infeasible, match="must be below the sampling probability 1/5"):
        rt.grid.plan("0.2", 1, delta="0.2")
    with pytest.raises(PolicyError, match="either delta"):
        rt.grid.plan("0.2", 1)
    with pytest.raises(PolicyError, match="denominator of at most"):
        rt.grid.plan("0.1234567891", 1, least=5)
    assert not SamplePlan(2, Fraction(1, 5)).keeps_added_row(Fraction(50), Fraction(1, 4))
