"""The semantic engine, and that syntactic definitions mean what they say."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from reticent.belief import (
    SemanticAdversary,
    SemanticDefinition,
    SemanticSetting,
    semantic_diversity,
    semantic_negative,
    semantic_sets,
)
from reticent.core import Groups
from reticent.definitions import CategoryDiversity, NegativePositiveDiversity, RecursiveLDiversity
from reticent.errors import DataError, PolicyError
from tests.sampling import seeds

VALUES = ("a", "b", "c", "d")


def setting(rng: random.Random) -> SemanticSetting:
    groups, released, number = [], [], 0
    for _ in range(rng.randint(1, 2)):
        size = rng.randint(1, 4)
        members = tuple(f"p{number + place}" for place in range(size))
        number += size
        rows = [rng.choice(VALUES) for _ in range(size)]
        groups.append(members)
        released.append({value: rows.count(value) for value in set(rows)})
    return SemanticSetting(tuple(groups), tuple(released), VALUES)


@pytest.mark.parametrize("seed", seeds(10))
def test_syntactic_definitions_mean_what_they_say(seed):
    rng = random.Random(seed)
    world = setting(rng)
    groups = Groups.from_histograms(world.released, labels=VALUES)
    c, order = Fraction(rng.randint(1, 8), 2), rng.randint(2, 3)
    dont_care = rng.choice([(), ("a",)])
    meant = semantic_diversity(world, c, order, dont_care).assess(world)
    assert meant.holds is RecursiveLDiversity(c, order, dont_care).holds(groups)
    share = Fraction(rng.randint(1, 4), 4)
    sets = (("a", "b"), ("c",))
    assert semantic_sets(world, share, sets).assess(world).holds is CategoryDiversity(share, sets).holds(groups)
    kept = semantic_negative(world, share / 2, ["a"]).assess(world)
    syntactic = NegativePositiveDiversity(10**6, 50 * share, 1, (), ["a"])
    assert kept.holds is syntactic.holds(groups)


def test_the_worst_is_named():
    world = SemanticSetting((("Umeko", "Ann", "Bob", "Cid"),), ({"a": 2, "b": 2},), ("a", "b"))
    found = semantic_diversity(world, 3, 3).assess(world)
    assert not found.holds
    assert found.posterior == 1
    assert found.prior == 1
    fine = semantic_diversity(world, 3, 2).assess(world)
    assert fine.holds
    assert (fine.prior, fine.posterior) == (Fraction(1, 2), Fraction(1, 2))


def test_changes_of_belief_are_measured_both_ways():
    world = SemanticSetting((("x", "y", "z"),), ({"a": 2, "b": 1},), ("a", "b"))
    neutral, predicate = world.ruling_out("x", ()), world.value_of("x", "a")
    by_difference = SemanticDefinition(((neutral, predicate),), "difference", Fraction(1, 6))
    assert by_difference.assess(world).holds
    assert not SemanticDefinition(((neutral, predicate),), "difference", Fraction(1, 7)).assess(world).holds
    assert SemanticDefinition(((neutral, predicate),), "ratio", Fraction(4, 3)).assess(world).holds
    assert not SemanticDefinition(((neutral, predicate),), "ratio", Fraction(13, 10)).assess(world).holds
    weighing = SemanticAdversary("thinks y has b", lambda database: Fraction(9 if database[1] == "b" else 1))
    found = SemanticDefinition(((weighing, predicate),), "positive", Fraction(10, 11)).assess(world)
    assert found.holds
    assert found.posterior == Fraction(10, 11)


def test_what_cannot_be_enumerated_is_refused():
    with pytest.raises(PolicyError, match="The semantic engine is for small tables"):
        SemanticSetting((tuple(f"p{i}" for i in range(30)),), ({"a": 30},), ("a", "b"))
    with pytest.raises(PolicyError, match="has 1 people and 2 values"):
        SemanticSetting((("x",),), ({"a": 2},), ("a",))
    with pytest.raises(PolicyError, match=r"The value 'aa' is not in the domain"):
        SemanticSetting((("x",),), ({"aa": 1},), ("a",))
    world = SemanticSetting((("x",),), ({"a": 1},), ("a", "b"))
    with pytest.raises(DataError, match="What every adversary knows contradicts the release"):
        SemanticDefinition(((world.ruling_out("x", "a"), world.value_of("x", "b")),), "positive", Fraction(1)).assess(
            world
        )
    with pytest.raises(PolicyError, match=r"There is no measure 'positiv'. Did you mean 'positive'"):
        SemanticDefinition(((world.ruling_out("x", ()), world.value_of("x", "b")),), "positiv", Fraction(1))
