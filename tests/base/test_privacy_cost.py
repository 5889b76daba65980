"""Costs are converted between units and neighbour relations, and added up, never below what is true."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.base.privacy_cost import (
    DeclaredBudget,
    LossBound,
    PrivacyCost,
    concentrated_epsilon,
    exponential_above,
    logarithm_above,
)
from reticent.errors import PolicyError

FRACTIONS = st.fractions(min_value=Fraction(1, 1000), max_value=8, max_denominator=1000)


def hockey_stick(one: np.ndarray, other: np.ndarray, epsilon: float) -> float:
    """The least delta for which one law is indistinguishable from another."""
    return float(np.maximum(one - math.exp(epsilon) * other, 0).sum())


def test_a_bound_for_added_rows_is_doubled_for_replaced_ones() -> None:
    cost = PrivacyCost("a sample", {"add/remove": LossBound(Fraction(1), Fraction(1, 1000))})
    loss = cost.under("row", "replace")
    assert loss.epsilon == 2
    assert float(loss.delta) == pytest.approx((1 + math.e) / 1000)
    assert loss.delta >= Fraction((1 + math.e) / 1000) * (1 - Fraction(1, 10**12))


def test_a_bound_for_replaced_rows_is_none_for_added_ones() -> None:
    cost = PrivacyCost("a synthetic release", {"replace": LossBound(Fraction(1))})
    with pytest.raises(
        PolicyError, match="no bounded cost under the relation add/remove: the release reveals the number of rows"
    ):
        cost.under("row", "add/remove")


def test_a_mechanism_with_bounds_of_its_own_for_both_relations_uses_them() -> None:
    cost = PrivacyCost("noisy counts", {"replace": LossBound(Fraction(1)), "add/remove": LossBound(Fraction(1, 2))})
    assert cost.under("row", "replace").epsilon == 1
    assert cost.under("row", "add/remove").epsilon == Fraction(1, 2)


def test_a_larger_unit_is_a_group_and_needs_a_bound_of_its_rows() -> None:
    cost = PrivacyCost("noisy counts", {"replace": LossBound(Fraction(1, 2), Fraction(1, 10**6))}, most={"person": 3})
    loss = cost.under("person", "replace")
    power = math.exp(0.5)
    assert loss.epsilon == Fraction(3, 2)
    assert float(loss.delta) == pytest.approx(1e-6 * (1 + power + power**2))
    with pytest.raises(PolicyError, match="protects one row, but the account protects one household"):
        cost.under("household", "replace")


def test_one_row_of_a_person_costs_what_the_person_does() -> None:
    losses = {"replace": LossBound(Fraction(2)), "add/remove": LossBound(Fraction(1))}
    cost = PrivacyCost("noisy counts", losses, "person")
    assert cost.under("row", "replace").epsilon == 2
    # Without one of her rows a person is another person: removed and added.
    assert cost.under("row", "add/remove").epsilon == 2
    assert (
        PrivacyCost("a sample", {"add/remove": LossBound(Fraction(1))}, "person").under("row", "add/remove").epsilon
        == 2
    )
    # Where the number of rows is public, nothing hides a row that is removed, whoever has it.
    synthetic = PrivacyCost("a synthetic release", {"replace": LossBound(Fraction(2))}, "person")
    with pytest.raises(PolicyError, match="no bounded cost under the relation add/remove"):
        synthetic.under("row", "add/remove")


@pytest.mark.parametrize("size", [2, 3, 5])
def test_group_privacy_holds_for_noise_that_is_just_good_enough(size: int) -> None:
    """Binomial noise at its own exact delta: the law of a sum moved by the size of a group is within the bound of the group."""
    coins = np.array([math.comb(60, k) for k in range(61)]) / 2.0**60
    epsilon = 0.3
    moved = [np.concatenate([np.zeros(step), coins, np.zeros(size - step)]) for step in range(size + 1)]
    delta = max(hockey_stick(moved[0], moved[1], epsilon), hockey_stick(moved[1], moved[0], epsilon))
    loss = LossBound(Fraction(str(epsilon)), Fraction(delta)).times(size)
    true = hockey_stick(moved[0], moved[size], float(loss.epsilon))
    assert true <= float(loss.delta) * (1 + 1e-9)
    assert true > 0


@given(FRACTIONS)
def test_exponentials_and_logarithms_are_rounded_up_and_hardly(value: Fraction) -> None:
    assert float(exponential_above(value)) == pytest.approx(math.exp(value), rel=1e-12)
    assert float(logarithm_above(exponential_above(value))) == pytest.approx(float(value), rel=1e-9)
    assert logarithm_above(exponential_above(value)) >= value


@given(FRACTIONS, st.fractions(min_value=Fraction(1, 10**12), max_value=Fraction(1, 2)))
def test_a_concentrated_epsilon_is_never_below_that_of_gaussian_noise(rho: Fraction, delta: Fraction) -> None:
    """Gaussian noise of variance 1/(2 rho) is rho-concentrated; its exact delta at the epsilon must be within delta."""
    from scipy.stats import norm

    epsilon = float(concentrated_epsilon(rho, delta))
    sigma = math.sqrt(1 / (2 * rho))
    exact = norm.cdf(1 / (2 * sigma) - epsilon * sigma) - math.exp(epsilon) * norm.cdf(
        -1 / (2 * sigma) - epsilon * sigma
    )
    assert exact <= float(delta) * (1 + 1e-9)
    # Not worse than the classic conversion.
    assert epsilon <= float(rho) + 2 * math.sqrt(float(rho) * math.log(1 / float(delta))) + 1e-9


@pytest.mark.parametrize(("rho", "delta"), [("1/8", "1e-6"), ("1/2", "1e-9"), ("2", "1e-3"), ("1/1000", "1e-5")])
def test_a_concentrated_epsilon_is_that_of_opendp(rho: str, delta: str) -> None:
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    scale = math.sqrt(1 / (2 * Fraction(rho)))
    noise = dp.m.make_gaussian(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=scale)
    theirs = dp.c.make_zCDP_to_approxDP(noise).map(1).epsilon(float(delta))
    ours = float(concentrated_epsilon(Fraction(rho), Fraction(delta)))
    assert ours == pytest.approx(theirs, rel=2e-3)
    assert ours >= theirs * (1 - 1e-6)


@pytest.mark.parametrize("epsilon", ["1/10", "1", "3"])
def test_a_pure_epsilon_is_concentrated_as_stated(epsilon: str) -> None:
    """Randomized response, the worst pure mechanism: its Renyi divergence at every order a is at most a epsilon^2/2."""
    loss = LossBound(Fraction(epsilon))
    p = math.exp(float(loss.epsilon)) / (1 + math.exp(float(loss.epsilon)))
    for order in (1.01, 1.5, 2, 5, 20, 100):
        divergence = math.log(p**order * (1 - p) ** (1 - order) + (1 - p) ** order * p ** (1 - order)) / (order - 1)
        assert divergence <= order * float(loss.concentrated[0]) + 1e-12


def test_rho_of_gaussian_noise_grows_with_the_square_of_a_group() -> None:
    loss = LossBound(Fraction(1), Fraction(1, 10**6), rho=Fraction(1, 50)).times(3)
    assert loss.concentrated == (Fraction(9, 50), 0)


@pytest.mark.parametrize(
    "wrong",
    [
        3,
        {"delta": 1},
        {"epsilon": -1},
        {"epsilon": 1, "unit": "people"},
        {"epsilon": 1, "relation": "bounded"},
        {"epsilon": 1, "of": 2},
    ],
)
def test_a_budget_is_declared_in_one_spelling(wrong: object) -> None:
    with pytest.raises(PolicyError, match="budget"):
        DeclaredBudget.of(wrong, "CentralCounts")
