"""Searching for bounds on values, categories, numbers and people's own wishes finds what visiting every node row by row finds."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction

import polars as pl
import pytest

import reticent as rt
from reticent.definitions import (
    CategoryDiversity,
    ConfidenceBounding,
    EpsilonMAnonymity,
    KAnonymity,
    KEAnonymity,
    PersonalPrivacy,
    RangeDiversity,
)
from reticent.table import Hierarchy, Table
from tests.methods.grouping.worlds import COLUMNS, random_world
from tests.oracles import catalogue_models as oracle
from tests.oracles import lattice
from tests.sampling import seeds

TREE = {"low": ["s0", "s1"], "high": ["s2", "s3"]}
BELOW = {**{leaf: {leaf} for leaves in TREE.values() for leaf in leaves}, **{node: set(TREE[node]) for node in TREE}}
OBJECTIVES = ("loss", "discernibility", "average_group_size", "height", "loss_geometric")


def table_of(rows, table, sensitive, columns=("s",)):
    frame = pl.DataFrame(rows, schema=[*COLUMNS[: len(table.quasi)], *columns], orient="row", infer_schema_length=None)
    return Table(frame, quasi=table.quasi, sensitive=sensitive, private=columns[1:])


def hold_to_twin(table, definition, rows, hierarchies, judge, rng):
    """The search against the twin; ``judge`` sees the last items of a group's rows. How many nodes pass, of how many."""
    limit, objective = Fraction(rng.choice([0, 0, 2, 5, 10]), 20), rng.choice(OBJECTIVES)
    judges = [lambda group, whole: judge(list(group.elements()), list(whole.elements()))]
    twin = lattice.Twin(rows, hierarchies, judges, limit, objective)
    passing, best = twin.search()
    found = rt.search(table, definition, suppression=limit, objective=objective)
    where = f"{definition} {limit} {objective} {rows} {hierarchies}"
    assert found.proven, where
    assert found.passing == sum(passing.values()), where
    assert [tuple(node.values()) for node in found.minimal] == twin.minimal(passing), where
    assert (found.best is None) == (best is None), where
    if found.best is not None:
        assert found.best.objective == pytest.approx(best[0], rel=1e-9, abs=1e-9), where
        chosen = tuple(found.best.levels.values())
        assert twin.node(chosen)[:3] == (True, found.best.suppressed, found.best.groups), where
        every = rt.search(table, definition, suppression=limit, objective=objective, strategy="exhaustive")
        assert found.best == every.best, where
    return Counter(passing.values())


def at_least_two(rows, whole):
    return len(rows) >= 2


def both(first, second):
    return lambda rows, whole: first(rows, whole) and second(rows, whole)


def definitions_of_values(rng, values):
    share, chosen = Fraction(rng.randint(1, 9), 10), rng.sample(values, rng.randint(1, len(values)))
    bound, category = ConfidenceBounding(share, chosen), CategoryDiversity(share, [chosen])
    return [
        (bound, oracle.confidence(share, chosen)),
        (category, oracle.categories(share, [chosen])),
        (CategoryDiversity(share, [[value] for value in values]), oracle.categories(share, [[v] for v in values])),
        (bound & KAnonymity(2), both(oracle.confidence(share, chosen), at_least_two)),
    ]


def definitions_of_numbers(rng):
    e, m = Fraction(rng.randint(0, 12), 2), Fraction(rng.randint(2, 6), 2)
    share, below, above = Fraction(rng.randint(3, 10), 10), Fraction(rng.randint(0, 4), 2), Fraction(rng.randint(0, 4))
    k = rng.randint(1, 3)
    return [
        (KEAnonymity(k, e), oracle.k_e(k, e)),
        (EpsilonMAnonymity(e, m), oracle.epsilon_m(e, m)),
        (RangeDiversity(share, below, above), oracle.ranges(share, below, above)),
        (
            KEAnonymity(k, e) & RangeDiversity(share, below, above),
            both(oracle.k_e(k, e), oracle.ranges(share, below, above)),
        ),
    ]


@pytest.mark.parametrize("seed", seeds(3))
def test_bounds_on_values_and_categories(seed):
    rng, nodes = random.Random(11_000 + seed), Counter()
    for _ in range(10):
        rows, hierarchies, table = random_world(rng)
        for definition, judge in definitions_of_values(rng, sorted({row[-1] for row in rows})):
            nodes += hold_to_twin(table, definition, rows, hierarchies, judge, rng)
    assert min(nodes[True], nodes[False]) > 20


@pytest.mark.parametrize("seed", seeds(3))
def test_distances_between_numbers(seed):
    rng, nodes = random.Random(12_000 + seed), Counter()
    for _ in range(10):
        plain, hierarchies, table = random_world(rng)
        numbers = {f"s{place}": rng.randint(-3, 9) for place in range(4)}
        rows = [(*row[:-1], numbers[row[-1]]) for row in plain]
        for definition, judge in definitions_of_numbers(rng):
            nodes += hold_to_twin(table_of(rows, table, "s"), definition, rows, hierarchies, judge, rng)
    assert min(nodes[True], nodes[False]) > 20


@pytest.mark.parametrize("seed", seeds(3))
def test_wishes_of_people(seed):
    rng, nodes = random.Random(13_000 + seed), Counter()
    for _ in range(30):
        plain, hierarchies, table = random_world(rng)
        rows = [(*row, rng.choice([None, None, *BELOW]), rng.choice([None, "1/3", "0.5", "3/4", "1"])) for row in plain]
        default, own = Fraction(rng.randint(1, 4), 4), rng.random() < 0.5
        definition = PersonalPrivacy(default, "wish", thresholds="limit" if own else None)
        asking = table_of(rows, table, {"s": Hierarchy.taxonomy(TREE)}, ("s", "wish", "limit"))
        people = [(*row[:-3], (row[-3], row[-2], row[-1] if own else None)) for row in rows]
        met = oracle.personal(default, BELOW)
        nodes += hold_to_twin(asking, definition, people, hierarchies, lambda group, whole, met=met: met(group), rng)
    assert min(nodes[True], nodes[False]) > 20
