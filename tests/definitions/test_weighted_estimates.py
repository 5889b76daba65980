"""Populations estimated from weights: the candidates of an oracle that adds weights up row by row, and who stands alone among them."""

import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from reticent.definitions import individual_risk, population_estimate, reidentification
from reticent.engine import count_table
from reticent.errors import PolicyError
from reticent.propose import exposures
from reticent.table import Table
from tests.engine.making import frame_of
from tests.oracles.weights_repeated import candidates, repeated
from tests.sampling import seeds


def expected_share(rows: int, people: float) -> float:
    """The mean of 1/F over the negative binomial sizes of a group, added up one size after the other."""
    p = rows / max(people, rows)
    sizes = range(rows, rows + 2_000)
    return sum(math.exp(_log_chance(rows, size, p)) / size for size in sizes if p < 1 or size == rows)


def _log_chance(rows: int, size: int, p: float) -> float:
    ways = math.lgamma(size) - math.lgamma(rows) - math.lgamma(size - rows + 1)
    return ways + rows * math.log(p) + ((size - rows) * math.log1p(-p) if p < 1 else 0.0)


@pytest.mark.parametrize("seed", seeds(5))
@pytest.mark.parametrize("engine", ["local", "streaming"])
def test_a_group_hides_people_among_those_that_its_rows_stand_for(seed, engine):
    weights = np.random.default_rng(seed).integers(1, 30, 300) / 4
    frame = frame_of(300, seed).with_columns(pl.Series("w", weights))
    table = Table(frame, quasi=["age", "zip"], weight="w", engine=engine)
    groups = count_table(table).groups()
    found = population_estimate(groups, table.weights.unit)
    known = candidates(frame, ["age", "zip"], "w")
    sizes = candidates(frame.with_columns(one=1), ["age", "zip"], "one")
    assert found.people == sum(Fraction(weight) for weight in weights)
    chances = {key: expected_share(int(sizes[key]), float(known[key])) for key in known}
    assert float(found.risk.journalist.highest) == pytest.approx(max(chances.values()))
    average = sum(chances[key] * float(sizes[key]) for key in known) / 300
    assert float(found.risk.journalist.average) == pytest.approx(average)
    alone = [min(1 / Fraction(known[key]), Fraction(1)) for key in known if sizes[key] == 1]
    assert found.sample_uniques == len(alone)
    assert found.confirmed == sum(alone) / len(alone)


def test_the_figures_are_never_below_those_of_the_repeated_rows_as_a_population():
    frame = frame_of(200, 3).with_columns(pl.Series("w", np.random.default_rng(3).integers(1, 9, 200)))
    table = Table(frame, quasi=["age", "zip"], weight="w")
    groups = count_table(table).groups()
    beside = table.with_population(repeated(frame, "w"))
    found, counted = (
        population_estimate(groups, table.weights.unit).risk,
        reidentification(count_table(beside).groups()),
    )
    assert found.prosecutor == counted.prosecutor
    assert found.uniques == counted.uniques
    assert found.journalist.average > counted.journalist.average
    assert found.journalist.highest >= counted.journalist.highest
    assert found.journalist.at_risk >= counted.journalist.at_risk


@pytest.mark.parametrize(("weight", "risk"), [(40, 0.0946), (215, 0.0251)])
def test_the_risk_of_a_sample_unique_is_the_mean_of_one_over_the_size_of_its_group(weight, risk):
    """1 over the mean (0.025 and 0.0047) understates it nearly four and more than five times."""
    table = Table(pl.DataFrame({"age": [30], "w": [weight]}), quasi=["age"], weight="w")
    found = population_estimate(count_table(table).groups(), table.weights.unit)
    assert float(found.risk.journalist.highest) == pytest.approx(risk, abs=5e-5)


def test_the_mean_of_one_over_the_size_is_that_of_populations_drawn_from_the_model():
    chance = np.random.default_rng(4)
    for rows, people in ((1, 40.0), (3, 12.0), (20, 90.0)):
        sizes = rows + chance.negative_binomial(rows, rows / people, 400_000)
        (found,) = individual_risk(np.array([rows]), np.array([people]))
        assert found == pytest.approx((1 / sizes).mean(), rel=0.01)


def test_who_stands_for_nobody_else_is_as_exposed_as_in_the_table():
    assert individual_risk(np.array([1, 4, 2]), np.array([1.0, 4.0, 0.0])).tolist() == [1.0, 0.25, 0.5]


def test_the_chance_to_be_alone_in_the_population_is_right_on_average():
    """Samples of geometric groups, the model behind the estimate: of those alone in the sample, one in w is alone outside."""
    chance = np.random.default_rng(8)
    sizes = chance.geometric(0.02, 40_000)
    keys = np.repeat(np.arange(len(sizes)), sizes)
    drawn = keys[chance.random(len(keys)) < 0.1]
    table = Table(pl.DataFrame({"key": drawn, "w": np.full(len(drawn), 10)}), quasi=["key"], weight="w")
    found = population_estimate(count_table(table).groups(), table.weights.unit)
    values, times = np.unique(drawn, return_counts=True)
    right = (sizes[values[times == 1]] == 1).mean()
    assert found.confirmed == Fraction(1, 10)
    assert right <= float(found.confirmed)


def test_assessing_a_weighted_table_tells_the_estimate():
    frame = pl.DataFrame({"age": [30, 30, 31], "w": [2.5, 3.5, 40.0]})
    (exposure,) = exposures(Table(frame, quasi=["age"], weight="w"), [])
    estimate = {
        name: float(value) if "est" in name or "average" in name else value
        for name, value in exposure.as_dict()["estimate"].items()
    }
    assert estimate == {
        "people": 46,
        "journalist_highest": pytest.approx(expected_share(2, 6)),
        "journalist_average": pytest.approx((2 * expected_share(2, 6) + expected_share(1, 40)) / 3),
        "journalist_at_risk": Fraction(2, 3),
        "sample_uniques": 1,
        "confirmed": Fraction(1, 40),
    }
    (plain,) = exposures(Table(frame, quasi=["age"]), [])
    assert plain.as_dict()["estimate"] is None


def test_rows_without_weights_or_with_several_of_a_person_give_no_estimate():
    frame = pl.DataFrame({"age": [30, 30], "who": [1, 1], "w": [2, 3]})
    bare = Table(frame, quasi=["age"])
    with pytest.raises(PolicyError, match="The rows have no weights"):
        population_estimate(count_table(bare).groups(), Fraction(1))
    people = Table(frame, quasi=["age"], key="who", unit="person", weight="w")
    with pytest.raises(PolicyError, match="cannot be estimated from row weights if people have several rows"):
        population_estimate(count_table(people).groups(), Fraction(1))
    (exposure,) = exposures(people, [])
    assert exposure.estimate is None
