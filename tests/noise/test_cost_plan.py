"""From a promise to coins: goldens of spec 002, exact least counts, and clear refusals."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent as rt
from reticent.errors import PolicyError
from reticent.noise.cost_plan import fewest_coins, moved, plan
from reticent.noise.laws import HISTOGRAM, BinomialLaw, ExponentialLaw, Move
from reticent.noise.protocol import take_part
from reticent.noise.tasks import JointTask
from tests.noise.lockstep import LockstepNetwork, play
from tests.oracles import noise_laws as oracle
from tests.sampling import examples


@pytest.mark.parametrize(
    ("epsilon", "delta", "variance", "bound", "coins"),
    [
        (1, "1e-3", 15.202, 488, 30),
        (1, "1e-6", 29.017, 930, 80),
        ("0.5", "1e-6", 116.069, 3716, 268),
        ("0.1", "1e-6", 2901.73, 92856, 5280),
    ],
)
def test_exact_coins_stand_beside_the_printed_bounds(epsilon, delta, variance, bound, coins):
    """DN-G2."""
    made = plan(epsilon, delta)
    assert made.coins == coins
    assert made.printed["gaussian_variance"] == pytest.approx(variance, abs=0.006)
    assert made.printed["binomial_coins"] == bound


def test_the_printed_condition_on_gaussian_noise_contradicts_itself():
    """E11: at epsilon = 1, delta = 1e-6 variance log(1/delta)/epsilon^2 loses 1.06e-5, and 2 ln(2/delta)/epsilon^2 loses 1.9e-9."""
    from math import erfc, exp, log, sqrt

    def lost(variance: float) -> float:
        def below(x: float) -> float:
            return erfc(-x / sqrt(2)) / 2

        deviation = sqrt(variance)
        return below(0.5 / deviation - deviation) - exp(1) * below(-0.5 / deviation - deviation)

    assert lost(log(1e6)) == pytest.approx(1.06e-5, rel=0.02)
    assert lost(plan(1, "1e-6").printed["gaussian_variance"]) == pytest.approx(1.9e-9, rel=0.03)


def test_a_histogram_needs_148_coins_a_cell():
    """7.1; splitting epsilon and delta over the two cells would take 288."""
    assert plan(query="histogram").coins == 148
    assert plan("0.5", "5e-7").coins == 288


def test_sums_of_bits_cost_what_the_red_team_measured():
    """7.1: two bits need 652 coins, eight about 5 million."""
    assert plan(query="sum", bits=2).coins == 652
    with pytest.raises(PolicyError, match=r"needs about 4,6\d\d,\d\d\d coins .*law='exponential'"):
        plan(query="sum", bits=8)
    assert plan(query="sum", bits=8, law="exponential").coins < 400


@pytest.mark.parametrize(("parties", "faults", "quota"), [(4, 1, 28), (7, 2, 16), (10, 3, 12), (4, 0, 28), (5, 1, 20)])
def test_the_quota_is_even_and_enough_without_those_who_lie(parties, faults, quota):
    """7.1: a party knows its own coins, so that even with no faults one quota does not count; 27 coins each left an odd total."""
    made = plan(parties=parties, faults=faults)
    assert made.quota == quota
    assert made.quota % 2 == 0
    assert (parties - max(faults, 1)) * made.quota >= made.coins > (parties - max(faults, 1)) * (made.quota - 2)


@given(
    st.sampled_from(["0.4", "0.7", "1", "1.5", "2", "4", "10"]),
    st.sampled_from(["0.2", "0.01", "1e-3"]),
    st.sampled_from([Move(), HISTOGRAM, Move(1, 2)]),
)
@examples(15)
def test_the_number_of_coins_is_the_least_one_by_listing_all_outputs(epsilon, delta, move):
    coins = fewest_coins(Fraction(epsilon), Fraction(delta), move)
    if coins > 14:
        assert not BinomialLaw(coins - 2).keeps(epsilon, delta, move)
        return
    lost = {each: oracle.lost(oracle.tossed(each), epsilon, move.cells, move.step) for each in range(2, coins + 1, 2)}
    assert [each for each, value in lost.items() if value <= Fraction(delta)] == [coins]


@pytest.mark.parametrize("query", ["count", "histogram", "sum"])
@pytest.mark.parametrize("epsilon", ["2", "1", "0.1", "0.01"])
def test_exponential_noise_is_planned_as_narrow_as_it_may_be(query, epsilon):
    bits = 4 if query == "sum" else 1
    made = plan(epsilon, query=query, law="exponential", bits=bits)
    law, move = made.honest_law, moved(query, bits)
    assert law.keeps(epsilon, "1e-6", move)
    assert made.exact_delta <= Fraction("1e-6")
    assert made.coins == 2 * made.width * made.precision
    assert made.thresholds == tuple(one - 1 for one in law.ones)
    assert not ExponentialLaw(law.scale, made.width - 1, 62).keeps(epsilon, "1e-6", move)
    share = 2.718281828459045 ** (-1 / float(law.scale))
    assert float(law.variance) == pytest.approx(2 * share / (1 - share) ** 2, rel=0.011)


def test_half_of_the_parties_may_look_if_all_follow_the_protocol():
    assert plan(parties=5, faults=2, level="semi-honest").coins == 80
    with pytest.raises(
        PolicyError, match=r"5 parties cannot tolerate 2 faulty ones: .* at least 7 parties, or level='semi-honest'"
    ):
        plan(parties=5, faults=2)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"epsilon": 0}, "epsilon must be above 0"),
        ({"epsilon": "much"}, "epsilon must be a number"),
        ({"epsilon": 1000}, "epsilon must be at most 100"),
        ({"delta": 0}, "delta must be above 0"),
        ({"delta": 1}, "delta must be below 1"),
        ({"parties": 1, "faults": 0}, "parties must be at least 2"),
        ({"parties": 3, "faults": 0}, "at least 4 parties, or level='semi-honest'"),
        ({"parties": 2, "faults": 0, "level": "semi-honest"}, "Use at least 3 parties\\.$"),
        ({"parties": 10**9}, "parties must be at most 64"),
        ({"parties": 4.0}, "parties must be a whole number"),
        ({"faults": -1}, "faults must be at least 0"),
        ({"query": "histogramm"}, "Did you mean 'histogram'"),
        ({"law": "laplace"}, "law must be one of binomial, exponential"),
        ({"level": "honest"}, "level must be one of"),
        ({"query": "count", "bits": 2}, "bits = 2 is for query = 'sum'"),
        ({"query": "sum", "bits": 99}, "bits must be at most 16"),
        ({"epsilon": "0.001"}, "needs about .* coins"),
        ({"epsilon": "1e-9", "law": "exponential"}, "needs more than 20 bits"),
    ],
)
def test_a_plan_that_cannot_be_made_says_why(wrong, message):
    with pytest.raises(PolicyError, match=message):
        plan(**wrong)


def test_a_plan_tells_everything_as_plain_data():
    told = rt.noise.plan(query="histogram", parties=4, faults=1).as_dict()
    assert (told["coins"], told["quota"], told["rounds"] > 0) == (148, 50, True)
    assert told["exact_delta"] == pytest.approx(9.44e-7, rel=1e-3)
    assert "148 honest coins" in repr(rt.noise.plan(query="histogram"))


@pytest.mark.parametrize("level", ["byzantine", "semi-honest"])
@pytest.mark.parametrize("law", ["binomial", "exponential"])
@pytest.mark.parametrize(("parties", "faults", "query"), [(4, 1, "count"), (4, 0, "histogram"), (7, 2, "sum")])
def test_parties_wait_for_each_other_as_often_as_the_plan_says(parties, faults, query, law, level):
    made = plan(4, "0.1", parties, faults, query, law, level=level)
    task = JointTask.of(made, "rounds", 2 if query == "histogram" else None)

    async def rounds(network: LockstepNetwork) -> int:
        await take_part(network, task, [1, 0])
        return len(network.items)

    assert set(play([rounds] * parties, parties, task.threshold)) == {made.rounds}
