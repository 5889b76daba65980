"""Plans of marginals: exact costs by hand, and beside OpenDP's own accounting."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent as rt
from reticent.base.privacy_cost import Relation, concentrated_delta, concentrated_epsilon, concentrated_rho
from reticent.errors import DataError
from reticent.methods.marginals.plan import ROUNDING, MarginalsPlan, NoisyStep
from reticent.methods.marginals.selection import FixedWorkload

dp = pytest.importorskip("opendp.prelude")
dp.enable_features("contrib")
COUNTED = NoisyStep("measure", ("a",), Fraction(3))
CHOSEN = NoisyStep("choose", (), Fraction(4))


def test_gaussian_counts_cost_half_the_squared_distance_over_the_variance() -> None:
    assert COUNTED.cost("rho", 1, "add/remove") == Fraction(1, 18)
    assert COUNTED.cost("rho", 1, "replace") == Fraction(1, 9)
    assert COUNTED.cost("rho", 5, "add/remove") == Fraction(25, 18)


def test_laplace_counts_cost_the_sum_of_changes_over_the_scale() -> None:
    assert COUNTED.cost("epsilon", 1, "add/remove") == Fraction(1, 3)
    assert COUNTED.cost("epsilon", 2, "replace") == Fraction(4, 3)


def test_choices_cost_what_a_bounded_range_costs() -> None:
    assert CHOSEN.cost("epsilon", 1, "add/remove") == (1 + ROUNDING) / 2
    assert CHOSEN.cost("rho", 1, "add/remove") == ((1 + ROUNDING) / 2) ** 2 / 8
    assert CHOSEN.cost("rho", 1, "replace") == 4 * CHOSEN.cost("rho", 1, "add/remove")


@given(scale=st.integers(1, 2**20), rows=st.integers(1, 9), currency=st.sampled_from(["rho", "epsilon"]))
def test_opendp_charges_the_same(scale: int, rows: int, currency: str) -> None:
    width = Fraction(scale, 1024)
    counts = dp.vector_domain(dp.atom_domain(T="i64"))
    if currency == "rho":
        counted = dp.m.make_gaussian(counts, dp.l2_distance(T="f64"), scale=float(width)).map(float(rows))
    else:
        counted = dp.m.make_laplace(counts, dp.l1_distance(T="i64"), scale=float(width)).map(rows)
    divergence = dp.zero_concentrated_divergence() if currency == "rho" else dp.max_divergence()
    scores = dp.vector_domain(dp.atom_domain(T="f64", nan=False)), dp.linf_distance(T="f64")
    chosen = dp.m.make_noisy_max(*scores, output_measure=divergence, scale=float(width)).map(float(rows))
    ours = [NoisyStep(kind, (), width).cost(currency, rows, "add/remove") for kind in ("measure", "choose")]  # type: ignore[arg-type]
    assert float(ours[0]) == pytest.approx(counted, rel=1e-12)
    # Ours allows for the rounding of scores.
    assert chosen <= float(ours[1]) <= chosen * (1 + 3e-6)


@pytest.mark.parametrize(("epsilon", "delta"), [("1/2", "1e-6"), (1, "1e-6"), (3, "1e-9"), (8, "1e-5")])
def test_conversions_agree_with_each_other_and_with_opendp(epsilon: object, delta: str) -> None:
    wanted, beside = Fraction(str(epsilon)), Fraction(delta)
    rho = concentrated_rho(wanted, beside)
    assert concentrated_epsilon(rho, beside) <= wanted
    assert concentrated_epsilon(rho * Fraction(1001, 1000), beside) > wanted
    assert concentrated_delta(rho, wanted) == pytest.approx(float(beside), rel=1e-6)
    space = dp.atom_domain(T="i64"), dp.absolute_distance(T="f64")
    gaussian = dp.m.make_gaussian(*space, scale=float((1 / (2 * rho)) ** Fraction(1, 2)))
    converted = dp.c.make_zCDP_to_approxDP(gaussian).map(1.0)
    # Their curve is tighter by at most what their search resolves; never looser than ours by more than rounding.
    assert converted.epsilon(float(beside)) == pytest.approx(float(wanted), rel=1e-3)


@pytest.mark.parametrize("relation", ["add/remove", "replace"])
def test_steps_add_up(relation: Relation) -> None:
    plan = MarginalsPlan("rho", 2, (COUNTED, CHOSEN, COUNTED))
    steps = [step.cost("rho", 2, relation) for step in plan.steps]
    assert plan.cost(relation) == sum(steps)
    assert plan.rho(relation) == plan.cost(relation)
    assert MarginalsPlan.from_json(plan.as_json()) == plan


def test_a_plan_is_judged_by_its_sum() -> None:
    plan = MarginalsPlan("rho", 1, (NoisyStep("measure", ("a",), Fraction(10)),))
    assert rt.ConcentratedDP("1/200").assess(plan).holds
    assert not rt.ConcentratedDP("1/201").assess(plan).holds
    assert not rt.ConcentratedDP("1/200", "replace").assess(plan).holds
    epsilon = concentrated_epsilon(Fraction(1, 200), Fraction(1, 10**6))
    assert rt.UnboundedDP(epsilon, "1e-6").assess(plan).holds
    assert not rt.UnboundedDP(epsilon * Fraction(999, 1000), "1e-6").assess(plan).holds
    assert not rt.UnboundedDP(epsilon).assess(plan).holds
    assert not rt.BoundedDP(epsilon, "1e-6").assess(plan).holds


def test_a_plan_without_steps_is_refused() -> None:
    with pytest.raises(DataError, match="noisy steps"):
        MarginalsPlan("rho", 1, ())


@given(
    st.lists(
        st.lists(st.sampled_from("abcd"), min_size=1, max_size=3, unique=True).map(tuple),
        min_size=1,
        max_size=4,
        unique=True,
    )
)
def test_a_list_spends_the_budget_and_gives_a_tenth_of_it_to_columns_that_it_covers(
    listed: list[tuple[str, ...]],
) -> None:
    costs = FixedWorkload(tuple(listed)).costs(Fraction(7, 3), "abcd")
    assert sum(costs.values()) == Fraction(7, 3)
    assert set(costs) == {("a",), ("b",), ("c",), ("d",), *listed}
    implied = [(name,) for name in "abcd" if (name,) not in listed and any(name in each for each in listed)]
    assert sum((costs[each] for each in implied), Fraction(0)) == (Fraction(7, 30) if implied else 0)
    assert len({costs[each] for each in costs if each not in implied}) == 1
