"""Datafly goes the way of its slow twin, and at given levels Lattice leaves out whom the twin leaves out."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction

import polars as pl
import pytest

import reticent as rt
from reticent.baselines.datafly import Datafly
from reticent.core import Draft
from reticent.definitions import Definition, EpsilonMAnonymity, KAnonymity, MUnique
from reticent.errors import Infeasible, PolicyError
from reticent.methods.lattice import Lattice
from reticent.table import Hierarchy, Table
from tests.methods.grouping.local_worlds import LocalWorld
from tests.methods.grouping.worlds import random_world
from tests.methods.mondrian.test_twin import CASES, COMPARING, HARD, ON_NUMBERS, ON_PEOPLE, ON_VALUES, ONE_ROW_A_PERSON
from tests.oracles import full_domain as oracle
from tests.oracles.full_domain import Climbed
from tests.oracles.leaving import SuppressedGroups
from tests.sampling import campaign, first


def drawn(case: str, rng: random.Random) -> tuple[LocalWorld, Definition, oracle.Datafly]:
    """A random world, what is asked of it, and its twin."""
    people, numbers = case in ON_PEOPLE, case in ON_NUMBERS
    world = LocalWorld.draw(
        rng,
        numbers=numbers,
        columns=rng.randint(1, 2) if case in ON_VALUES else 1,
        missing=not people,
        persons=case not in ONE_ROW_A_PERSON,
        varied=case in HARD,
    )
    definition, demand = CASES[case](world)
    limit = Fraction("0" if demand.together else rng.choice(["0", "0.1", "0.3", "0.5", "1"]))
    beside = world.people if people else []
    columns = world.columns(beside)
    return (
        world,
        definition,
        oracle.Datafly(world.rows, columns, demand, limit, world.sets, beside, world.unit == "row"),
    )


def found_in(draft: Draft, world: LocalWorld) -> Climbed:
    """Levels and rows left out of a draft."""
    left_out = frozenset(row.number for row in world.rows) - set(draft.tables["data"].frame()["row"])
    assert draft.suppressed == len(left_out)
    return Climbed(tuple(draft.recoding.levels.values()), SuppressedGroups(left_out, draft.evidence.compared_with))


def compare(case: str, rng: random.Random, folder=None) -> str:
    """One random world, climbed both ways: whether a release was ``made``, with columns ``raised``, or found ``infeasible``."""
    world, definition, twin = drawn(case, rng)
    table, method = world.table(private=case not in ON_NUMBERS), Datafly(suppression=twin.limit)
    told = (case, method, world)
    try:
        draft = method.draft(table, definition)
    except Infeasible:
        assert twin.climb(None) is None, told
        return "infeasible"
    found = found_in(draft, world)
    assert found == twin.climb(found), told
    if folder is not None:
        release = rt.publish(table, definition, method=method)
        population = world.population if case in ON_PEOPLE else None
        verified = rt.verify(release.save(folder / f"{rng.random()}"), population=population)
        assert not verified.failures, (told, verified.failures)
    return "raised" if any(found.levels) else "made"


@pytest.mark.parametrize("case", first(CASES, 14))
def test_it_climbs_as_the_slow_twin_does(case, tmp_path):
    rng = random.Random(case)
    seen: Counter = Counter()
    worlds = 8 if campaign() else 4
    while seen["raised"] + seen["made"] < worlds and seen.total() < 100:
        seen[compare(case, rng, tmp_path if seen.total() % 15 == 0 else None)] += 1
    assert seen["raised"] + seen["made"] >= 3 * worlds // 4


def at_levels(case: str, rng: random.Random) -> str:
    """One random world at given levels, by Lattice and by its twin: whether all rows or ``fewer`` were published, or it was ``infeasible``."""
    world, definition, twin = drawn(case, rng)
    node = {
        name: rng.randrange(len(column.parts[column.leaves[0]]))
        for name, column in zip(world.quasi, twin.columns, strict=True)
    }
    told = (case, twin.limit, node, world)
    table, levels = world.table(private=case not in ON_NUMBERS), tuple(node.values())
    try:
        found = found_in(Lattice(node=node, suppression=twin.limit).draft(table, definition), world)
    except Infeasible:
        everybody = frozenset(row.number for row in world.rows)
        assert any(way is None or way.rows == everybody for way in twin.ways(levels, None)), told
        return "infeasible"
    assert found.levels == levels
    assert found.left_out in twin.ways(levels, found.left_out), told
    return f"fewer, compared with the {found.left_out.compared_with}" if found.left_out.rows else "all"


@pytest.mark.parametrize("case", first(COMPARING, 2))
def test_lattice_leaves_out_whom_the_slow_twin_leaves_out(case):
    rng = random.Random(f"levels {case}")
    seen = Counter(at_levels(case, rng) for _ in range(400 if campaign() else 60))
    assert seen["fewer, compared with the published rows"] >= 2


def test_it_climbs_only_as_far_as_the_sets_that_an_adversary_holds_demand():
    """All columns together are unique people, but nobody holds them together: nothing has to be raised."""
    frame = pl.DataFrame({"a": list("xyxy"), "b": list("uuvv"), "s": list("pqqp")})
    quasi = {"a": Hierarchy.suppression(), "b": Hierarchy.suppression()}
    together = Table(frame, quasi=quasi, sensitive="s")
    apart = Table(frame, quasi=quasi, sensitive="s", quasi_sets=[["a"], ["b"]])
    assert Datafly().draft(together, KAnonymity(2)).recoding.levels == {"a": 1, "b": 0}
    assert Datafly().draft(apart, KAnonymity(2)).recoding.levels == {"a": 0, "b": 0}


def test_what_it_cannot_do_is_told():
    with pytest.raises(PolicyError, match="Datafly: suppression must be at most 1"):
        Datafly(suppression=2)
    _, _, table = random_world(random.Random(1))
    with pytest.raises(PolicyError, match="EpsilonMAnonymity measures distances between numbers"):
        Datafly().draft(table, EpsilonMAnonymity(1, 2))
    with pytest.raises(PolicyError, match="no quasi columns, so there is nothing to generalize"):
        Datafly().draft(Table(table.frame, sensitive="s"), KAnonymity(2))
    with pytest.raises(
        Infeasible, match=r"reached the top of every hierarchy without satisfying MUnique\(m=2\) with at most 1/10"
    ):
        Datafly(suppression="0.1").draft(table, MUnique(2))
