"""The search against a twin that visits every node row by row, and against its own other strategies."""

from __future__ import annotations

import random
from fractions import Fraction

import polars as pl
import pytest

from reticent.definitions import DistinctLDiversity, EntropyLDiversity, KAnonymity, RecursiveLDiversity, TCloseness
from reticent.errors import PolicyError
from reticent.methods.lattice import search
from reticent.table import Hierarchy, Table
from tests.methods.grouping.worlds import random_world
from tests.oracles import lattice as oracle
from tests.sampling import seeds

OBJECTIVES = (
    "loss",
    "loss_geometric",
    "ncp",
    "non_uniform_entropy",
    "discernibility",
    "average_group_size",
    "kl",
    "height",
)


def random_definition(rng: random.Random):
    choices = [
        (KAnonymity(k := rng.randint(1, 6)), oracle.k_anonymous(k)),
        (DistinctLDiversity(m := rng.randint(1, 3)), oracle.distinct(m)),
        (EntropyLDiversity(e := rng.randint(1, 3)), oracle.entropy(e)),
        (RecursiveLDiversity(c := Fraction(rng.randint(1, 6), 2), n := rng.randint(2, 3)), oracle.recursive(c, n)),
        (TCloseness(t := Fraction(rng.randint(0, 10), 10)), oracle.close(t)),
    ]
    chosen = rng.sample(choices, rng.randint(1, 2))
    definition = chosen[0][0] if len(chosen) == 1 else chosen[0][0] & chosen[1][0]
    return definition, [judge for _, judge in chosen]


@pytest.mark.parametrize("seed", seeds(10))
def test_the_search_finds_what_visiting_every_node_row_by_row_finds(seed):
    rng = random.Random(seed)
    for _ in range(40):
        rows, hierarchies, table = random_world(rng)
        definition, judges = random_definition(rng)
        limit, objective = Fraction(rng.choice([0, 0, 1, 2, 5, 10, 20]), 20), rng.choice(OBJECTIVES)
        twin = oracle.Twin(rows, hierarchies, judges, limit, objective)
        passing, best = twin.search()
        found = search(table, definition, suppression=limit, objective=objective)
        where = f"{definition} {limit} {objective} {rows} {hierarchies}"
        assert found.proven, where
        assert found.passing == sum(passing.values()), where
        assert [tuple(node.values()) for node in found.minimal] == twin.minimal(passing), where
        if best is None:
            assert found.best is None, where
            continue
        assert found.best.objective == pytest.approx(best[0], rel=1e-9, abs=1e-9), where
        chosen = tuple(found.best.levels.values())
        ok, lost, groups, cost = twin.node(chosen)
        assert ok, where
        assert (found.best.suppressed, found.best.groups) == (lost, groups), where
        assert cost == pytest.approx(best[0], rel=1e-9, abs=1e-9), where


@pytest.mark.parametrize("seed", seeds(4))
def test_all_strategies_agree_on_passing_nodes_and_on_the_best_with_ties_by_level_vector(seed):
    rng = random.Random(1000 + seed)
    for _ in range(25):
        _, _, table = random_world(rng)
        definition, _ = random_definition(rng)
        limit, objective = Fraction(rng.choice([0, 1, 4]), 10), rng.choice(OBJECTIVES)
        arguments = {"suppression": limit, "objective": objective}
        default = search(table, definition, **arguments)
        every = search(table, definition, **arguments, strategy="exhaustive")
        assert default.best == every.best
        assert default.passing == every.passing
        assert default.minimal == every.minimal
        if default.evaluator.monotone and all(h.levels[-1].size == 1 for h in table.hierarchies):
            incognito = search(table, definition, **arguments, strategy="incognito")
            assert incognito.best == every.best
            assert incognito.minimal == every.minimal


def twelve() -> Table:
    frame = pl.DataFrame(
        {
            "zip": [
                "13053",
                "13068",
                "13068",
                "13053",
                "14853",
                "14853",
                "14850",
                "14850",
                "13053",
                "13053",
                "13068",
                "13068",
            ],
            "age": [28, 29, 21, 23, 50, 55, 47, 49, 31, 37, 36, 35],
            "nationality": [
                "Russian",
                "American",
                "Japanese",
                "American",
                "Indian",
                "Russian",
                "American",
                "American",
                "American",
                "Indian",
                "Japanese",
                "American",
            ],
            "condition": list("HHVVCHVVCCCC"),
        }
    )
    quasi = {
        "zip": Hierarchy.masking(digits=5, keep=[5, 4, 3, 0]),
        "age": Hierarchy.cuts([[41]]),
        "nationality": Hierarchy.suppression(),
    }
    return Table(frame, quasi=quasi, sensitive="condition")


@pytest.mark.parametrize(
    ("definition", "minimal", "passing"),
    [
        (KAnonymity(2), [(0, 1, 1), (3, 2, 0)], 9),
        (KAnonymity(4), [(1, 1, 1)], 6),
        (EntropyLDiversity(2), [(1, 1, 1)], 6),
        (EntropyLDiversity("2.8"), [(1, 1, 1)], 6),
        (RecursiveLDiversity(3, 3), [(1, 1, 1)], 6),
        (RecursiveLDiversity("2.01", 3), [(1, 1, 1)], 6),
        (RecursiveLDiversity("1.01", 2), [(1, 1, 1)], 6),
        (RecursiveLDiversity(3, 2), [(1, 1, 1)], 6),
        (DistinctLDiversity(2), [(1, 1, 1)], 6),
        (DistinctLDiversity(3), [(1, 1, 1)], 6),
        (EntropyLDiversity("2.9"), [(3, 2, 1)], 1),
        (RecursiveLDiversity(2, 3), [(3, 2, 1)], 1),
        (RecursiveLDiversity(1, 2), [(3, 2, 1)], 1),
        (RecursiveLDiversity("1.5", 3), [], 0),
    ],
    ids=str,
)
def test_golden_g4_the_twelve_patients_have_these_minimal_nodes(definition, minimal, passing):
    for strategy in ("default", "incognito", "exhaustive"):
        found = search(twelve(), definition, strategy=strategy)
        assert [tuple(node.values()) for node in found.minimal] == minimal
        assert found.passing == passing


def test_golden_g3_the_three_diverse_version_has_these_costs():
    found = {
        objective: search(twelve(), DistinctLDiversity(3), objective=objective).best
        for objective in ("height", "average_group_size", "discernibility", "kl")
    }
    assert found["height"].objective == 3
    assert found["average_group_size"].objective == 4
    assert found["discernibility"].objective == 48
    assert found["kl"].objective == pytest.approx(3.119162, abs=5e-7)


def test_a_callback_is_asked_about_every_passing_node_and_decides():
    seen = []

    def prefer_coarse_zip(node):
        seen.append(tuple(node.levels.values()))
        assert node.groups.sizes.min() >= 2
        assert node.rows == 12
        return -node.levels["zip"] + node.levels["age"] / 10

    found = search(twelve(), KAnonymity(2), objective=prefer_coarse_zip)
    assert tuple(found.best.levels.values()) == (3, 1, 1)
    assert len(set(seen)) == 9


def test_weights_make_a_column_dearer():
    dear_age = search(twelve(), KAnonymity(2), objective="loss", weights={"age": 5})
    assert dear_age.best.levels == {"zip": 0, "age": 1, "nationality": 1}
    dear_nationality = search(twelve(), KAnonymity(2), objective="loss", weights={"nationality": 50})
    assert dear_nationality.best.levels == {"zip": 3, "age": 2, "nationality": 0}


def test_several_quasi_sets_must_each_withstand_the_definition():
    table = twelve()
    together = search(table, KAnonymity(2)).best
    apart = Table(
        table.frame,
        quasi=table.quasi,
        sensitive="condition",
        quasi_sets=[["zip"], ["age"], ["nationality"]],
    )
    found = search(apart, KAnonymity(2))
    assert together.levels == {"zip": 0, "age": 1, "nationality": 1}
    assert found.best.levels == {"zip": 0, "age": 1, "nationality": 0}


def test_a_time_budget_gives_an_unproven_answer_with_a_bound_below_it():
    rng = random.Random(5)
    names = [f"q{i}" for i in range(9)]
    frame = pl.DataFrame({name: [rng.randrange(40) for _ in range(3000)] for name in names} | {"s": [1] * 3000})
    quasi = {name: Hierarchy.intervals([2, 4, 8, 16], domain=(0, 39)) for name in names}
    table = Table(frame, quasi=quasi, sensitive="s")
    found = search(table, KAnonymity(5), suppression="0.5", seconds=0.5)
    assert not found.proven
    assert found.passing is None
    assert found.minimal is None
    assert found.best is not None
    assert found.bound <= found.best.objective


def test_nothing_passing_is_no_best_node():
    assert search(twelve(), KAnonymity(13)).best is None


def test_a_floor_leaves_finer_nodes_out():
    found = search(twelve(), KAnonymity(2), floor={"zip": 2})
    assert found.best.levels["zip"] >= 2
    assert all(node["zip"] >= 2 for node in found.minimal)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"objective": "los"}, "There is no objective 'los'. Did you mean 'loss'?"),
        ({"suppression": "1.5"}, "suppression must be at most 1"),
        ({"suppression": "a lot"}, "suppression must be a number"),
        ({"weights": {"zpi": 1}}, "weights names 'zpi', which is not a quasi column. Did you mean 'zip'?"),
        ({"weights": {"zip": -1}}, "must be at least 0"),
        ({"weights": {"zip": 0, "age": 0, "nationality": 0}}, "at least one column must count"),
        ({"weights": {"zip": "heavy"}}, "The weight of 'zip' must be a number"),
        ({"weights": {"zip": float("inf")}}, "The weight of 'zip' must be a number"),
        ({"floor": {"zip": 9}}, "has levels 0 to 3, not 9"),
        ({"floor": {"zip": 1.5}}, "floor: the level of 'zip' must be a whole number, but it is 1.5"),
        ({"node": {"zip": "top"}}, "node: the level of 'zip' must be a whole number, but it is 'top'"),
        ({"node": {"zip": -1}}, "node: the level of 'zip' must be at least 0"),
        ({"seconds": "soon"}, "seconds must be a number"),
        ({"seconds": -1}, "seconds must be at least 0"),
        ({"strategy": "magic"}, "no search strategy 'magic'"),
    ],
)
def test_a_wrong_argument_is_named(arguments, message):
    with pytest.raises(PolicyError, match=message.replace("?", r"\?")):
        search(twelve(), KAnonymity(2), **arguments)


def test_incognito_refuses_what_it_cannot_prune_correctly():
    with pytest.raises(PolicyError, match="Incognito prunes"):
        search(twelve(), EntropyLDiversity(2), suppression="0.1", strategy="incognito")
