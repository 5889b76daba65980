"""The exact solver: golden G1, all worlds (O5), an independent recursion, components, risk."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from reticent.errors import DataError
from reticent.worst_case import (
    BudgetExceeded,
    Clause,
    PersonValue,
    Population,
    WorkBudget,
    components,
    conditional,
    disclosure_risk,
    probability,
)
from tests.oracles.knowledge_facts import belief
from tests.oracles.knowledge_worlds import Worlds

FIGURE_3 = [(2, 2, 1), (2, 1, 1, 1)]


def population(histograms: list[tuple[int, ...]]) -> Population:
    return Population(
        [{f"v{value}": count for value, count in enumerate(counts)} for counts in histograms],
        {f"{bucket}.{person}": bucket for bucket, counts in enumerate(histograms) for person in range(sum(counts))},
    )


def named(atom: tuple[int, int, int]) -> PersonValue:
    return PersonValue(f"{atom[0]}.{atom[1]}", f"v{atom[2]}")


def random_clauses(chance: random.Random, atoms: list[tuple[int, int, int]], most: int) -> list[tuple[list, list]]:
    return [
        (chance.sample(atoms, chance.randint(0, 2)), chance.sample(atoms, chance.randint(1, 2)))
        if chance.random() < 0.7
        else ([chance.choice(atoms)], [atoms[0]])
        for _ in range(chance.randint(1, most))
    ]


def test_random_clauses_weigh_the_same_as_in_all_worlds_of_figure_3():
    chance, worlds, people = random.Random(3), Worlds(FIGURE_3), population(FIGURE_3)
    assert len(worlds.worlds) == 1800
    for _ in range(400):
        clauses = random_clauses(chance, worlds.atoms, 5)
        known = worlds.everything
        for given, then in clauses:
            known &= worlds.implication(given, then) if given else worlds.implication([], then)
        ours = [Clause(frozenset(map(named, given)), frozenset(map(named, then))) for given, then in clauses]
        assert probability(people, ours) == Fraction(known.bit_count(), 1800)
        asked = chance.choice(worlds.atoms)
        target = [Clause(frozenset(), frozenset({named(asked)}))]
        assert conditional(people, ours, target) == worlds.belief(known, worlds.mask[asked])
        if known and chance.random() < 0.1:
            found = disclosure_risk(people, ours)
            assert found is not None
            assert found[0] == worlds.risk(known)


def test_large_buckets_agree_with_the_plain_recursion():
    chance = random.Random(8)
    histograms = [(40, 25, 10, 5), (30, 3, 3)]
    people = population(histograms)
    atoms = [(b, p, v) for b, counts in enumerate(histograms) for p in range(3) for v in range(len(counts))]
    for _ in range(60):
        clauses = random_clauses(chance, atoms, 4)
        target = chance.choice(atoms)
        both, hit = belief(histograms, [(tuple(given), tuple(then)) for given, then in clauses], target)
        ours = [Clause(frozenset(map(named, given)), frozenset(map(named, then))) for given, then in clauses]
        assert probability(people, ours) == both
        found = conditional(people, ours, [Clause(frozenset(), frozenset({named(target)}))])
        assert found == (hit / both if both else None)


def test_independent_facts_fall_into_components_and_multiply():
    people = population([(2, 1), (3, 2), (1, 1)])
    one = Clause(frozenset({PersonValue("0.0", "v0")}), frozenset())
    two = Clause(frozenset({PersonValue("1.0", "v1")}), frozenset({PersonValue("1.1", "v0")}))
    link = Clause(frozenset({PersonValue("0.1", "v0")}), frozenset({PersonValue("2.0", "v0")}))
    assert len(components(people, [one, two])) == 2
    assert len(components(people, [one, two, link])) == 2
    assert probability(people, [one, two]) == probability(people, [one]) * probability(people, [two])


def test_hundreds_of_facts_about_one_bucket_stay_within_the_budget():
    people = population([(60, 50, 40, 30)])
    clauses = [Clause(frozenset({PersonValue(f"0.{person}", "v0")}), frozenset()) for person in range(100)]
    answer = conditional(
        people, clauses, [Clause(frozenset(), frozenset({PersonValue("0.150", "v0")}))], WorkBudget(200_000)
    )
    assert answer == Fraction(60, 80)


def test_hundreds_of_facts_with_one_consequent_stay_within_the_budget():
    people = population([(300, 200, 100), (40, 30, 20)])
    target = PersonValue("1.0", "v0")
    clauses = [Clause(frozenset({PersonValue(f"0.{person}", "v0")}), frozenset({target})) for person in range(250)]
    found = conditional(people, clauses, [Clause(frozenset(), frozenset({target}))], WorkBudget(500_000))
    nobody = Fraction(1)
    for person in range(250):
        nobody *= Fraction(300 - person, 600 - person)
    assert found == Fraction(4, 9) / (Fraction(4, 9) + Fraction(5, 9) * nobody)


def test_a_long_chain_of_implications_stays_within_the_budget():
    people = population([(300, 200, 100)])
    chain = [
        Clause(frozenset({PersonValue(f"0.{p}", "v0")}), frozenset({PersonValue(f"0.{p + 1}", "v0")}))
        for p in range(120)
    ]
    found = conditional(
        people, chain, [Clause(frozenset(), frozenset({PersonValue("0.120", "v0")}))], WorkBudget(500_000)
    )
    assert found is not None
    assert Fraction(1, 2) < found < 1


def test_the_budget_is_kept():
    people = population([(5, 5, 5, 5)])
    clauses = [
        Clause(frozenset({PersonValue(f"0.{p}", "v0")}), frozenset({PersonValue(f"0.{p + 1}", "v1")})) for p in range(8)
    ]
    with pytest.raises(BudgetExceeded, match="more work than the budget allows"):
        probability(people, clauses, WorkBudget(50))


def test_risk_covers_people_whom_no_fact_mentions():
    people = population([(2, 1), (9, 1, 1)])
    found = disclosure_risk(people, [Clause(frozenset({PersonValue("0.0", "v0")}), frozenset())])
    assert found == (Fraction(1), PersonValue("0.0", "v1"))
    assert disclosure_risk(people, []) == (Fraction(9, 11), PersonValue("1.0", "v0"))


def test_a_population_that_does_not_add_up_is_refused():
    with pytest.raises(DataError, match="empty"):
        Population([{}], {})
    with pytest.raises(DataError, match="holds only 1"):
        Population([{"flu": 1}], {"a": 0, "b": 0})
    with pytest.raises(DataError, match="assigned to bucket 3"):
        Population([{"flu": 1}], {"a": 3})
