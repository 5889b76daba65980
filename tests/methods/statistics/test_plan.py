"""Plans of statistics: how far a record moves each number, by brute force; costs beside OpenDP; sums beside the Gaussian's own curve."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from reticent.base.privacy_cost import Relation
from reticent.methods.statistics.plan import StatisticsPlan, StatisticStep, threshold_for
from reticent.noise import Contribution

dp = pytest.importorskip("opendp.prelude")
dp.enable_features("contrib")
relations = pytest.mark.parametrize("relation", ["add/remove", "replace"])


@relations
@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize(("low", "high"), [(0, 1), (-2, 3), (1, 3), (-3, -1)])
@pytest.mark.parametrize("optional", [False, True])
@pytest.mark.parametrize("single", [False, True])
def test_no_unit_moves_numbers_further_than_is_charged(
    relation: Relation, rows: int, low: int, high: int, optional: bool, single: bool
) -> None:
    """All records that a unit may have, one by one: added to nothing, or put in the place of all others."""
    cells = 1 if single else 3
    records = [np.eye(cells, dtype=int)[cell] * value for cell in range(cells) for value in range(low, high + 1)]
    records += [np.zeros(cells, dtype=int)] if optional else []
    units = [sum(chosen) for chosen in product(records, repeat=rows)]
    empty = np.zeros(cells, dtype=int)
    pairs = product(units, units) if relation == "replace" else ((empty, each) for each in units)
    changes = [np.asarray(one) - np.asarray(other) for one, other in pairs]
    total, squared = Contribution(low, high, single, optional).moves(rows, relation)
    assert max(int(np.abs(each).sum()) for each in changes) <= total
    assert max(int((each**2).sum()) for each in changes) <= squared
    if relation == "add/remove" or single:
        assert max(int(np.abs(each).sum()) for each in changes) == total


@given(scale=st.integers(1024, 2**20), most=st.integers(1, 50), currency=st.sampled_from(["rho", "epsilon"]))
def test_opendp_charges_the_same_for_sums(scale: int, most: int, currency: str) -> None:
    width = Fraction(scale, 1024)
    numbers = dp.vector_domain(dp.atom_domain(T="i64"))
    if currency == "rho":
        charged = dp.m.make_gaussian(numbers, dp.l2_distance(T="f64"), scale=float(width)).map(float(2 * most))
    else:
        charged = dp.m.make_laplace(numbers, dp.l1_distance(T="i64"), scale=float(width)).map(2 * most)
    ours = StatisticStep("sum", width, Contribution(0, most)).cost(currency, 2, "add/remove")  # type: ignore[arg-type]
    assert float(ours) == pytest.approx(charged, rel=1e-12)


@pytest.mark.parametrize("scale", [1.5, 4.0, 12.0])
@pytest.mark.parametrize("rows", [1, 3])
def test_chosen_keys_cost_no_less_than_opendp_charges(scale: float, rows: int) -> None:
    failure = Fraction(1, 10**6)
    threshold = threshold_for(failure, Fraction(scale), rows, "add/remove")
    step = StatisticStep("keys", Fraction(scale), Contribution(), threshold)
    assert step.failure(rows, "add/remove") <= failure
    assert StatisticStep("keys", Fraction(scale), Contribution(), threshold - 1).failure(rows, "add/remove") > failure
    space = dp.map_domain(dp.atom_domain(T="String"), dp.atom_domain(T="i64"))
    metric = dp.l02inf_distance(dp.absolute_distance(T="i64"))
    made = dp.m.make_gaussian_threshold(space, metric, scale=scale, threshold=threshold)
    rho, delta = made.map((rows, rows, rows))
    assert rho <= float(step.cost("rho", rows, "add/remove")) * (1 + 1e-9)
    assert delta <= float(step.failure(rows, "add/remove"))


def test_the_chance_to_tell_a_key_of_one_unit_is_below_what_is_stated() -> None:
    """By the exact law of discrete Gaussian noise, added up here."""
    for scale, threshold in ((2.0, 8), (3.0, 12), (10.0, 40)):
        values = np.arange(-2000, 2001)
        chances = np.exp(-(values**2) / (2 * scale**2))
        chances /= chances.sum()
        told = float(chances[values >= threshold - 1].sum())
        assert told <= float(StatisticStep("keys", Fraction(scale), Contribution(), threshold).failure(1, "add/remove"))


@pytest.mark.parametrize("epsilon", ["1/2", "1", "3"])
@pytest.mark.parametrize("steps", [1, 7, 40])
def test_sums_are_never_below_the_curve_of_gaussian_noise(epsilon: str, steps: int) -> None:
    """Independent of ours: k Gaussian steps of rho in all are one with mu^2 = 2 rho, and delta = Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu) [Balle and Wang 2018]."""
    scale = Fraction(6 * steps)
    plan = StatisticsPlan("rho", 1, tuple(StatisticStep("count", scale, Contribution()) for _ in range(steps)))
    mu, eps = math.sqrt(2 * float(plan.cost("add/remove"))), float(Fraction(epsilon))
    exact = norm.cdf(mu / 2 - eps / mu) - math.exp(eps) * norm.cdf(-mu / 2 - eps / mu)
    assert exact <= float(plan.delta_at("add/remove", Fraction(epsilon)))
    assert plan.delta_at("replace", Fraction(epsilon)) >= plan.delta_at("add/remove", Fraction(epsilon))


def test_a_delta_of_steps_is_part_of_the_total() -> None:
    step = StatisticStep("keys", Fraction(4), Contribution(), 30)
    plan = StatisticsPlan("rho", 1, (step,))
    failure = plan.failure("add/remove")
    assert 0 < failure < Fraction(1, 10**6)
    assert not plan.within("add/remove", Fraction(50), failure)
    assert plan.within("add/remove", Fraction(5), failure + Fraction(1, 10**6))
    assert plan.loss("add/remove", Fraction(1, 10**6)).concentrated == (Fraction(1, 32), failure)
