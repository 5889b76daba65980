"""Bayes-optimal beliefs: the goldens G5 to G7, and random worlds by enumeration."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from reticent.belief import (
    Belief,
    PopulationModel,
    believe,
    breach,
    distance,
    homogeneous_groups,
    independent,
    negative,
    positive,
    posterior,
)
from reticent.errors import DataError, PolicyError
from tests.oracles import belief_worlds as oracle
from tests.sampling import seeds

G5 = PopulationModel.of({"q1": {"s1": ".15", "s2": ".35"}, "q2": {"s1": ".25", "s2": ".25"}})


def test_golden_g5_merging_groups_can_breach_what_each_did_not():
    apart = [
        *believe(G5, "q1", ["q1"], {"s1": 1, "s2": 1}),
        *believe(G5, "q2", ["q2"], {"s1": 35, "s2": 15}),
    ]
    assert [(belief.prior, belief.posterior) for belief in apart] == [
        (Fraction(3, 10), Fraction(1, 2)),
        (Fraction(7, 10), Fraction(1, 2)),
        (Fraction(1, 2), Fraction(7, 10)),
        (Fraction(1, 2), Fraction(3, 10)),
    ]
    assert not any(breach(belief, ".31", ".58") for belief in apart)
    merged = believe(G5, "q1", ["q1", "q2"], {"s1": 36, "s2": 16})[0]
    assert float(merged.posterior) == pytest.approx(0.591241, abs=5e-7)
    assert breach(merged, ".31", ".58")
    other = posterior(G5, "q2", ["q1", "q2"], {"s1": 36, "s2": 16})["s1"]
    assert float(other) == pytest.approx(0.771429, abs=5e-7)


def test_golden_g6_random_worlds():
    first = PopulationModel.of({"q1": {"s1": 1, "s2": 2}, "q2": {"s1": 2, "s2": 1}})
    assert posterior(first, "q1", ["q1", "q2"], {"s1": 2, "s2": 1})["s1"] == Fraction(1, 2)
    assert posterior(first, "q2", ["q1", "q2"], {"s1": 2, "s2": 1})["s1"] == Fraction(4, 5)
    second = PopulationModel.of({"q1": {"a": 1, "b": 1, "c": 1}, "q2": {"a": 2, "b": 1, "c": 0}})
    found = posterior(second, "q1", ["q1", "q2"], {"a": 2, "b": 1, "c": 1})
    assert found == {"a": Fraction(4, 13), "b": Fraction(3, 13), "c": Fraction(6, 13)}


def test_golden_g7_on_the_back_of_an_envelope():
    chance, groups, people = homogeneous_groups(60_000, 5, 3)
    assert chance == Fraction(1, 81)
    assert int(groups) == 148
    assert int(people) == 740


@pytest.mark.parametrize("seed", seeds(12))
def test_beliefs_are_those_of_counting_all_worlds(seed):
    rng = random.Random(seed)
    quasi = ["q1", "q2", "q3"][: rng.randint(2, 3)]
    population = {q: {s: rng.randint(0, 2) for s in "ab"} for q in quasi}
    population = {q: row if any(row.values()) else {"a": 1, "b": 0} for q, row in population.items()}
    block_of = {q: rng.choice(["x", "x", "y"]) for q in quasi}
    people = [(q, s) for q, row in population.items() for s, n in row.items() for _ in range(n)]
    sample = rng.sample(people, rng.randint(1, len(people)))
    released = {}
    for q, s in sample:
        released.setdefault(block_of[q], {"a": 0, "b": 0})[s] += 1
    model = PopulationModel.of(population)
    for q in {q for q, _ in sample}:
        expected = oracle.posterior(population, block_of, released, q)
        fitting = [each for each in quasi if block_of[each] == block_of[q]]
        found = posterior(model, q, fitting, released[block_of[q]])
        assert {s: p for s, p in found.items() if p} == expected


def test_independent_values_are_believed_by_their_share():
    model = PopulationModel.of({"q1": {"a": 2, "b": 6}, "q2": {"a": 1, "b": 3}})
    released = {"a": 3, "b": 1}
    assert posterior(model, "q1", ["q1", "q2"], released) == independent(released)


def test_disclosures_are_told_by_their_thresholds():
    rises = Belief("q", "s", Fraction(1, 5), Fraction(9, 10))
    assert positive(rises, "0.11")
    assert not positive(rises, "0.1")
    assert negative(Belief("q", "s", Fraction(1, 2), Fraction(1, 100)), "0.011")
    assert not negative(Belief("q", "s", Fraction(1, 2), Fraction(1, 100)), "0.01")
    assert breach(rises, "0.21", "0.89")
    assert not breach(rises, "0.2", "0.89")
    falls = Belief("q", "s", Fraction(4, 5), Fraction(1, 10))
    assert breach(falls, "0.21", "0.89")
    beliefs = [rises, Belief("q", "t", Fraction(4, 5), Fraction(1, 10))]
    assert distance(beliefs) == Fraction(7, 10)
    assert distance(beliefs, "difference") == Fraction(7, 10)
    assert distance(beliefs, "ratio") == 8
    assert distance([Belief("q", "s", Fraction(0), Fraction(1, 2))], "ratio") == float("inf")
    with pytest.raises(PolicyError, match=r"There is no distance 'diference'. Did you mean 'difference'"):
        distance(beliefs, "diference")


def test_a_release_that_contradicts_the_population_is_an_error():
    with pytest.raises(DataError, match="The release shows 's3', but the stated population has no one"):
        posterior(G5, "q1", ["q1", "q2"], {"s3": 1})
    certain = PopulationModel.of({"q1": {"a": 1}, "q2": {"b": 1}})
    with pytest.raises(DataError, match="no one with 'q1' can have any of the released values"):
        posterior(certain, "q1", ["q1", "q2"], {"b": 1})
    with pytest.raises(PolicyError, match="'q1' does not fall into the group"):
        posterior(G5, "q1", ["q2"], {"s1": 1})
    with pytest.raises(DataError, match="The population has no one with 'q9'"):
        G5.prior("q9")
    with pytest.raises(DataError, match="The population has no one with 'q'"):
        PopulationModel.of({"q": {"a": 0}})
