"""What a little more knowledge does: Pierre, and every world of small groups."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from reticent.belief import excluding, knowing, worst_knowing
from reticent.errors import DataError, PolicyError
from tests.oracles import belief_worlds as oracle
from tests.sampling import seeds


def test_golden_pierre_without_flu():
    group = {"Flu": 1, "Gastritis": 1, "HIV": 1}
    assert knowing(group)["HIV"] == Fraction(1, 3)
    assert excluding(group, ["Flu"])["HIV"] == Fraction(1, 2)


@pytest.mark.parametrize("seed", seeds(15))
def test_chances_are_those_of_counting_all_worlds(seed):
    rng = random.Random(seed)
    group = {value: rng.randint(1, 3) for value in "abc"[: rng.randint(2, 3)]}
    rows = [value for value, count in group.items() for _ in range(count)]
    if len(rows) > 7:
        group.pop(next(iter(group)))
        rows = [value for value, count in group.items() for _ in range(count)]
    others = rng.sample(rows, rng.randint(0, len(rows) - 1))
    sharing = rng.randint(0, 1)
    excluded = rng.sample(sorted(group), rng.randint(0, len(group) - 1))
    expected = oracle.knowing(group, excluded, others, sharing)
    if not expected:
        with pytest.raises(DataError, match="the knowledge contradicts the release"):
            knowing(group, excluded=excluded, others=others, sharing=sharing)
        return
    found = knowing(group, excluded=excluded, others=others, sharing=sharing)
    assert {value: chance for value, chance in found.items() if chance} == expected


@pytest.mark.parametrize("group", [{"a": 3, "b": 2, "c": 1}, {"a": 2, "b": 2, "c": 2}, {"a": 4, "b": 1}, {"a": 3}])
@pytest.mark.parametrize(
    ("exclusions", "others", "sharing"), [(0, 0, 0), (1, 0, 0), (0, 2, 0), (1, 1, 1), (0, 1, 1), (0, 2, 1)]
)
def test_the_worst_knowledge_is_the_worst_of_all(group, exclusions, others, sharing):
    expected = oracle.surest(group, exclusions, others, sharing)
    if expected is None:
        with pytest.raises(DataError, match="too few rows for so much knowledge"):
            worst_knowing(group, exclusions, others, sharing)
        return
    found = worst_knowing(group, exclusions, others, sharing)
    assert found.chance == expected
    assert len(found.others) == others
    chances = knowing(group, excluded=found.excluded, others=found.others, sharing=sharing)
    assert chances[found.value] == expected


def test_knowledge_that_makes_no_sense_is_refused():
    with pytest.raises(DataError, match=r"excluded names 'flue', which the group does not have. Did you mean 'flu'"):
        excluding({"flu": 2, "cold": 1}, ["flue"])
    with pytest.raises(DataError, match="others has 'cold' 2 times, but the group has it only 1 times"):
        knowing({"flu": 2, "cold": 1}, others=["cold", "cold"])
    with pytest.raises(PolicyError, match="A histogram must map values to whole numbers of people"):
        knowing({"flu": -1})
