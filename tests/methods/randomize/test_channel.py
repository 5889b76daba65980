"""Sums and averages of perturbed records: mean, variance and coverage by going through everything that the records can become."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from reticent.conditions import Condition
from reticent.errors import PolicyError
from reticent.methods.randomize import FrappManifest, FrappPlan, FrappView, ViewDomain, perturb
from tests.sampling import first, spread

DOMAIN = ViewDomain.of({"a": [0, 4, -10, None], "b": ["x", "y"]})
WEIGHTS = [0, 0, 4, 4, -10, -10, 0, 0]


def _law(records: tuple[int, ...], kept: Fraction, size: int) -> dict[tuple[int, ...], Fraction]:
    """The chance of every multiset that some records can become, one record after the other."""
    other = (1 - kept) / (size - 1)
    law: dict[tuple[int, ...], Fraction] = {(): Fraction(1)}
    for record in records:
        grown: dict[tuple[int, ...], Fraction] = defaultdict(Fraction)
        for shown, chance in law.items():
            for key in range(size):
                grown[tuple(sorted((*shown, key)))] += chance * (kept if key == record else other)
        law = grown
    return law


def _view(plan: FrappPlan, keys: tuple[int, ...]) -> FrappView:
    return FrappView(FrappManifest(plan), np.array(keys, dtype=np.int64))


@pytest.mark.parametrize("kept", first([Fraction(1, 5), Fraction(2, 3)], 1))
@pytest.mark.parametrize("condition", ["true", "b = 'x'", "a <> 4 or b = 'y'", "a > 0 and b = 'x'"])
def test_sums_have_the_stated_mean_and_variance_exactly(kept, condition):
    plan = FrappPlan(3, DOMAIN, kept)
    met = _view(plan, tuple(range(8))).frame.sql(f"select ({condition}) as met from self")["met"].fill_null(False)
    for records in spread([(2, 4, 7), (0, 0, 0), (2, 2, 5), (3, 4, 4)], 2):
        truth = sum(WEIGHTS[key] for key in records if met[key])
        squares = sum(WEIGHTS[key] ** 2 for key in records if met[key])
        mean = second = Fraction(0)
        for shown, chance in _law(records, kept, 8).items():
            value = _view(plan, shown).sum("a", condition).value
            mean, second = mean + chance * value, second + chance * value**2
        assert mean == truth
        query = _view(plan, records)._query(Condition.parse(condition), "a")
        assert second - mean**2 == query.spread(Fraction(truth), Fraction(squares), 3) / plan.gain**2


@pytest.mark.parametrize("condition", ["true", "b = 'x'", "a > 0", "a = -10 or a = 4", "a > 9"])
def test_the_bound_is_bernsteins_with_the_worst_record_that_there_can_be(condition):
    # What one record shows, for every tuple that it can be: its largest variance and its range, by enumeration.
    plan, error, rows = FrappPlan(7, DOMAIN, Fraction(2, 5)), Fraction(1, 8), 7
    met = _view(plan, tuple(range(8))).frame.sql(f"select ({condition}) as met from self")["met"].fill_null(False)
    for column, added in (
        (None, [int(each) for each in met]),
        ("a", [w * m for w, m in zip(WEIGHTS, met, strict=True)]),
    ):
        spreads = []
        for record in range(8):
            law = {key: chance for (key,), chance in _law((record,), plan.kept, 8).items()}
            mean = sum(chance * added[key] for key, chance in law.items())
            spreads.append(sum(chance * (added[key] - mean) ** 2 for key, chance in law.items()))
        level, jump = math.log(2 / error), max(added) - min(added)
        want = jump * level / 3 + math.sqrt((jump * level / 3) ** 2 + 2 * level * rows * max(spreads))
        view = _view(plan, (0, 2, 2, 5, 5, 6, 7))
        made = view.estimate(condition, error=error) if column is None else view.sum(column, condition, error=error)
        assert made.bound == pytest.approx(want / float(plan.gain))


@pytest.mark.parametrize(
    ("kept", "error"),
    first(list(itertools.product([Fraction(1, 2), Fraction(49, 50)], [Fraction(1, 10), Fraction(1, 2)])), 1),
)
def test_intervals_of_sums_averages_and_counts_hold_by_enumeration(kept, error):
    domain = ViewDomain.of({"a": [2, 5, 11], "b": [True, False]})
    plan, condition = FrappPlan(4, domain, kept), "b and a > 2 or a = 2"
    met, weights = [True, True, True, False, True, False], [2, 2, 5, 5, 11, 11]
    answers = {}
    for shown in itertools.combinations_with_replacement(range(6), 4):
        view = _view(plan, shown)
        found = [view.estimate(condition, error=error), view.sum("a", condition, error=error)]
        if found[0].value > 0:
            found.append(view.average("a", condition, error=error))
        answers[shown] = found
    for records in [(0, 0, 0, 0), (0, 1, 4, 4), (3, 3, 3, 2), (4, 4, 4, 4), (0, 2, 3, 5)]:
        true = [weights[key] for key in records if met[key]]
        truths = [len(true), sum(true), np.mean(true)]
        missed = [Fraction(0)] * 3
        for shown, chance in _law(records, kept, 6).items():
            for place, (found, truth) in enumerate(zip(answers[shown], truths, strict=False)):
                low, high = found.interval
                missed[place] += chance * (not low - 1e-9 <= truth <= high + 1e-9)
        assert max(missed) <= error


def test_intervals_of_many_records_say_something_and_hold():
    # A thousand records of which nine tenths are kept: intervals far narrower than what is possible, around the truth.
    drawn, domain = np.random.default_rng(2), ViewDomain.of({"a": range(100), "b": ["x", "y"]})
    frame = pl.DataFrame({"a": drawn.integers(20, 60, 1000), "b": drawn.choice(["x", "y"], 1000)})
    true = frame.filter(pl.col("b") == "x")["a"]
    missed, errors = 0, []
    for seed in range(60):
        records = perturb(frame, FrappPlan(1000, domain, Fraction(9, 10)), insecure_seed=seed)
        total, average = records.sum("a", "b = 'x'"), records.average("a", "b = 'x'")
        missed += not total.interval[0] <= true.sum() <= total.interval[1]
        missed += not average.interval[0] <= true.mean() <= average.interval[1]
        errors.append(
            [
                (float(total.value) - true.sum()) / total.standard_error,
                (float(average.value) - true.mean()) / average.standard_error,
            ]
        )
        assert total.interval[1] - total.interval[0] < 10_000
        assert average.interval[1] - average.interval[0] < 25
    assert missed <= 6
    # Standard errors are what they say: the mean of 60 squared standard scores has a standard deviation of sqrt(2/60).
    assert np.mean(np.square(errors), axis=0) == pytest.approx([1, 1], abs=5 * 0.183)
    assert np.mean(errors, axis=0) == pytest.approx([0, 0], abs=5 * 0.13)


def test_what_all_or_no_tuples_meet_is_certain():
    view = _view(FrappPlan(4, DOMAIN, Fraction(1, 3)), (0, 2, 2, 5))
    every, none = view.estimate("true"), view.estimate("a > 9")
    assert (every.value, every.standard_error, every.bound, every.interval) == (4, 0, 0, (4, 4))
    assert (none.value, none.standard_error, none.bound, none.interval) == (0, 0, 0, (0, 0))
    assert view.sum("a", "a > 9").interval == (0, 0)
    assert view.sum("a").interval == (-40, 16)


def test_nulls_add_nothing_to_a_sum_and_are_in_no_average():
    records = (6, 6, 7, 2, 2, 3)
    view = _view(FrappPlan(6, DOMAIN, Fraction(999_999, 1_000_000)), records)
    assert float(view.sum("a").value) == pytest.approx(12, abs=1e-3)
    found = view.average("a")
    assert float(found.value) == pytest.approx(4, abs=1e-3)
    assert found.domain_count == 6
    assert -10 <= found.interval[0] <= found.interval[1] <= 4


def test_sums_and_averages_that_cannot_be_had_say_why():
    view = _view(FrappPlan(4, DOMAIN, Fraction(1, 3)), (0, 0, 0, 0))
    with pytest.raises(PolicyError, match="no average"):
        view.average("a", "a = 4")
    with pytest.raises(PolicyError, match="not numeric"):
        view.sum("b")
    with pytest.raises(PolicyError, match="error must be below 1"):
        view.sum("a", error=2)
