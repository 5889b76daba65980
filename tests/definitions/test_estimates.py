"""Populations estimated from weights: the candidates of an oracle that adds weights up row by row, and who stands alone among them."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from reticent.data import Table
from reticent.definitions import population_estimate, reidentification
from reticent.engine import count_table
from reticent.errors import PolicyError
from reticent.propose import exposures
from tests.engine.making import frame_of
from tests.oracles.weights_repeated import candidates, repeated


@pytest.mark.parametrize("seed", range(5))
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
    chances = {key: Fraction(1, max(int(known[key]), sizes[key])) for key in known}
    assert found.risk.journalist.highest == max(chances.values())
    assert found.risk.journalist.average == sum(chances[key] * sizes[key] for key in known) / 300
    alone = [min(1 / Fraction(known[key]), Fraction(1)) for key in known if sizes[key] == 1]
    assert found.sample_uniques == len(alone)
    assert found.confirmed == sum(alone) / len(alone)


def test_whole_weights_give_the_figures_of_the_repeated_rows_as_a_population():
    frame = frame_of(200, 3).with_columns(pl.Series("w", np.random.default_rng(3).integers(1, 9, 200)))
    table = Table(frame, quasi=["age", "zip"], weight="w")
    groups = count_table(table).groups()
    beside = table.with_population(repeated(frame, "w"))
    assert population_estimate(groups, table.weights.unit).risk == reidentification(count_table(beside).groups())


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
    assert exposure.as_dict()["estimate"] == {
        "people": 46,
        "journalist_highest": Fraction(1, 6),
        "journalist_average": (Fraction(2, 6) + Fraction(1, 40)) / 3,
        "journalist_at_risk": 0,
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
    with pytest.raises(PolicyError, match="do not say how many people stand behind somebody with several rows"):
        population_estimate(count_table(people).groups(), Fraction(1))
    (exposure,) = exposures(people, [])
    assert exposure.estimate is None
