"""What a plan promises, against every table, every output and every neighbour: the chance of the disclosure set is at most delta, with no exception."""

from __future__ import annotations

import random
from contextlib import suppress
from fractions import Fraction
from itertools import product

import pytest

import reticent as rt
from reticent.definitions import ratio_within
from reticent.methods.synthesize.rejection import ATTEMPTS
from tests.oracles.synthesize_enumeration import (
    disclosure_chance,
    dropped_law,
    good,
    plain_law,
    representative,
    screened_law,
    tables,
)


def worst_chance(size, values, drawn, law, ratio):
    return max(disclosure_chance(each, drawn, law, ratio) for each in tables(size, values))


UNIFORM = [
    (1, 2, "1.5", "0.3"), (2, 2, "2", "0.2"), (2, 3, "1", "0.3"), (3, 2, "1.2", "0.1"), (3, 3, "1.4", "0.25"), (3, 4, "2", "0.3"),
    (4, 2, "0.7", "0.2"), (4, 3, "1.6", "0.05"), (5, 2, "1.7", "0.05"), (5, 3, "1.1", "0.3"), (6, 2, "0.5", "0.4"),
]  # fmt: skip
SLOW = [
    (size, values, epsilon, delta)
    for size, values in [(7, 2), (8, 2), (5, 3), (6, 3), (8, 3), (4, 4), (5, 4)]
    for epsilon, delta in [("0.8", "0.3"), ("1.5", "0.1"), ("2.5", "0.02")]
]


@pytest.mark.parametrize(
    ("size", "values", "epsilon", "delta"), [*UNIFORM, *(pytest.param(*each, marks=pytest.mark.slow) for each in SLOW)]
)
def test_no_table_discloses_more_often_than_was_promised(size, values, epsilon, delta):
    plan = rt.synthesize.plan([size], values, epsilon, delta)
    law = plain_law((plan.alpha[size],) * values)
    assert worst_chance(size, values, size, law, ratio_within(plan.epsilon)) <= plan.delta


@pytest.mark.parametrize(
    ("size", "weights", "epsilon", "delta"),
    [
        (3, (2, 3, 3), "1.16", "0.15"), (3, (1, 5), "1.5", "0.2"), (4, (1, 2, 4), "1.2", "0.3"), (2, (1, 2, 3, 7), "1", "0.4"),
        *(pytest.param(size, weights, epsilon, delta, marks=pytest.mark.slow)
          for (size, weights), (epsilon, delta) in product(
              [(5, (3, 4)), (6, (1, 9)), (4, (2, 3, 5)), (5, (1, 3, 3)), (4, (1, 1, 2, 5))], [("0.9", "0.3"), ("1.8", "0.08")])),
    ],
)  # fmt: skip
def test_nor_does_one_with_public_weights(size, weights, epsilon, delta):
    plan = rt.synthesize.plan([size], dict(enumerate(weights)), epsilon, delta)
    alpha = tuple(plan.alpha[size] * weight for weight in weights)
    assert worst_chance(size, len(weights), size, plain_law(alpha), ratio_within(plan.epsilon)) <= plan.delta


@pytest.mark.parametrize(
    ("size", "drawn", "values", "epsilon", "delta"),
    [
        (2, 5, 2, "1.3", "0.2"), (4, 2, 3, "1", "0.3"), (3, 6, 2, "2", "0.1"), (5, 1, 3, "1", "0.2"),
        *(pytest.param(*each, marks=pytest.mark.slow) for each in [(3, 7, 3, "1.5", "0.2"), (7, 3, 3, "0.8", "0.2"), (6, 8, 2, "1", "0.1")]),
    ],
)  # fmt: skip
def test_nor_does_one_with_more_or_fewer_synthetic_rows(size, drawn, values, epsilon, delta):
    plan = rt.synthesize.plan([size], values, epsilon, delta, drawn={size: drawn})
    law = plain_law((plan.alpha[size],) * values)
    assert worst_chance(size, values, drawn, law, ratio_within(plan.epsilon)) <= plan.delta


@pytest.mark.parametrize(
    ("size", "values", "epsilon", "delta"),
    [(3, 2, "1.5", "0.2"), (4, 2, "1.2", "0.3"), (3, 3, "1.5", "0.3"),
     *(pytest.param(*each, marks=pytest.mark.slow) for each in [(6, 2, "1.4", "0.2"), (4, 3, "1.3", "0.3"), (5, 3, "1.8", "0.1")])],
)  # fmt: skip
def test_nor_does_one_that_draws_again_what_is_not_good(size, values, epsilon, delta):
    plan = rt.synthesize.plan([size], values, epsilon, delta, screen=True)
    alpha = (plan.alpha[size],) * values
    law = screened_law(alpha, size, ATTEMPTS, lambda counts, output: good(counts, output, alpha, plan.gamma))
    assert worst_chance(size, values, size, law, ratio_within(plan.epsilon)) <= plan.delta


@pytest.mark.parametrize(
    ("size", "values", "epsilon", "delta", "keep"),
    [(2, 4, "4", "0.4", "0.6"), (3, 3, "3.5", "0.3", "0.7"), (4, 3, "4.5", "0.2", "0.5"), (1, 4, "3", "0.3", "0.5"),
     *(pytest.param(*each, marks=pytest.mark.slow) for each in [(5, 4, "4", "0.3", "0.6"), (4, 4, "3.5", "0.4", "0.8"), (6, 3, "4", "0.2", "0.6")])],
)  # fmt: skip
def test_nor_does_one_that_drops_values(size, values, epsilon, delta, keep):
    plan = rt.synthesize.plan([size], values, epsilon, delta, keep=keep)
    law = dropped_law((plan.alpha[size],) * values, (Fraction(keep),) * values)
    assert worst_chance(size, values, size, law, ratio_within(plan.epsilon)) <= plan.delta


@pytest.mark.parametrize(
    ("size", "drawn", "weights", "keep", "epsilon", "delta"),
    [
        (3, 3, (1, 1, 1), ("1", "0.5", "0.2"), "4", "0.2"), (4, 4, (1, 3), ("0.5", "0.9"), "3", "0.3"), (2, 2, (1, 2, 2, 7), ("0.3", "0.3", "1", "0.6"), "4", "0.3"),
        (3, 5, (2, 1, 1), ("0.6",) * 3, "4", "0.3"), (4, 2, (1, 5, 1), ("0.3", "0.3", "1"), "4", "0.1"), (1, 1, (1, 4, 9), ("0.5", "0.9", "0.2"), "4", "0.2"),
        (3, 3, (1, 1, 1), ("1",) * 3, "1.4", "0.25"), (3, 3, (7, 1, 1), ("0.2", "1", "1"), "4", "0.1"),
    ],
)  # fmt: skip
def test_nor_does_one_that_drops_values_with_weights_and_probabilities_of_their_own(
    size, drawn, weights, keep, epsilon, delta
):
    assert share_used(size, drawn, weights, keep, epsilon, delta) <= 1


def share_used(size, drawn, weights, keep, epsilon, delta):
    """The largest chance of a disclosure set over every table, as a part of the promised delta."""
    plan = rt.synthesize.plan([size], dict(enumerate(weights)), epsilon, delta, keep=keep, drawn={size: drawn})
    alpha = [plan.alpha[size] * plan.prior.weight(code) for code in range(len(weights))]
    law = dropped_law(alpha, [Fraction(each) for each in keep])
    return worst_chance(size, len(weights), drawn, law, ratio_within(plan.epsilon)) / plan.delta


@pytest.mark.slow
def test_nor_do_three_hundred_of_them():
    """Random weights, probabilities, sizes, numbers of drawn rows and promises: no table of any of them discloses more often, and the plans are not wasteful."""
    chance, used = random.Random(17), []
    while len(used) < 300:
        size, values = chance.choice([(1, 3), (2, 3), (3, 2), (3, 3), (4, 2), (4, 3), (5, 2), (2, 4), (3, 4)])
        drawn = size if chance.random() < 0.7 else chance.randint(1, 5)
        weights = [chance.choice([1, 1, 2, 3, 7]) for _ in range(values)]
        keep = [chance.choice(["0.9", "0.5", "1", "0.3", "2/3", "0.15"]) for _ in range(values)]
        epsilon, delta = chance.choice(["1.5", "2", "3", "4"]), chance.choice(["0.4", "0.2", "0.1", "0.05"])
        with suppress(rt.Infeasible):
            used.append(share_used(size, drawn, weights, keep, epsilon, delta))
    assert max(used) <= 1
    assert max(used) > Fraction(3, 4)


def test_values_that_all_stay_cost_nothing():
    """With probability 1 the plan is that of the plain urn, but for the tenth of delta that is set aside."""
    whole = rt.synthesize.plan([30], 100, "3", "0.009")
    kept = rt.synthesize.plan([30], 100, "3", "0.01", keep=1)
    assert kept.alpha[30] == pytest.approx(whole.alpha[30], rel=1e-3)
    assert [each["epsilon"] for each in kept.describe()["charges"][1:]] == [0, 0]


@pytest.mark.parametrize(
    ("size", "values", "ratio", "delta", "alpha", "disclosed", "unrepresentative"),
    [
        (5, 3, 4, "0.1", 1.64408238, 0.0143763, 0.0143763), (6, 2, 5, "0.05", 1.44445469, 0.00479829, 0.00479829),
        (8, 2, "3.5", "0.2", 2.35494561, 0.00554125, 0.0243995), (4, 3, 5, "0.05", 1.0, 0, 0),
    ],
)  # fmt: skip
def test_small_groups_disclose_as_often_as_was_enumerated(
    size, values, ratio, delta, alpha, disclosed, unrepresentative
):
    exactly = Fraction(str(alpha))
    law, ratio = plain_law((exactly,) * values), Fraction(ratio)
    assert float(worst_chance(size, values, size, law, ratio)) == pytest.approx(disclosed, rel=1e-5)
    fails = [
        sum(
            law(each, out)
            for out in tables(size, values)
            if not representative(each, out, (exactly,) * values, ratio - 1)
        )
        for each in tables(size, values)
    ]
    assert float(max(fails)) == pytest.approx(unrepresentative, rel=1e-5)


@pytest.mark.parametrize(
    ("size", "values", "alpha", "ratio", "rejected", "by_good", "by_rep"),
    [
        (6, 2, "0.8", "3.5", 0.199978, 0.181298, 0.364801), (8, 2, "1", "4", 0.110860, 0.108182, 0.237288),
        pytest.param(6, 3, "0.5", "4", 0.602373, 0.555929, 1.0, marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_rejecting_what_is_not_representative_of_the_table_itself_breaks_the_promise(
    size, values, alpha, ratio, rejected, by_good, by_rep
):
    noise, gamma = (Fraction(alpha),) * values, Fraction(ratio) - 1
    plain = plain_law(noise)
    unrepresentative = [
        sum(plain(each, out) for out in tables(size, values) if not representative(each, out, noise, gamma))
        for each in tables(size, values)
    ]
    p = max(unrepresentative)
    assert float(p) == pytest.approx(rejected, abs=1e-6)
    for kept, expected in ((good, by_good), (representative, by_rep)):
        law = screened_law(noise, size, 60, lambda counts, output, kept=kept: kept(counts, output, noise, gamma))
        # Sixty attempts leave less than 1e-13 to the prior.
        found = worst_chance(size, values, size, law, Fraction(ratio) / (1 - p))
        assert float(found) == pytest.approx(expected, abs=1e-5)
