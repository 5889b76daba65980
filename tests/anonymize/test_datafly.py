"""Datafly goes the way of its slow twin."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction

import polars as pl
import pytest

import reticent as rt
from reticent.anonymize import Datafly
from reticent.data import Hierarchy, Table
from reticent.definitions import EpsilonMAnonymity, KAnonymity, MUnique
from reticent.errors import Infeasible, PolicyError
from tests.anonymize.local_worlds import LocalWorld
from tests.anonymize.test_mondrian_twin import CASES, HARD, ON_NUMBERS, ON_PEOPLE, ON_VALUES, ONE_ROW_A_PERSON
from tests.anonymize.worlds import random_world
from tests.oracles import datafly as oracle
from tests.sampling import first


def compare(case: str, rng: random.Random, folder=None) -> str:
    """One random world, climbed both ways: whether a release was ``made``, with columns ``raised``, or found ``infeasible``."""
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
    # Whom a comparison with the whole table leaves out depends on what is told about them: test_leaving.py has these.
    limit = "0" if demand.together or definition.needs_reference else rng.choice(["0", "0.1", "0.3", "0.5", "1"])
    beside = world.people if people else []
    columns = world.columns(beside)
    expected = oracle.climb(world.rows, columns, demand, Fraction(limit), sets=world.sets, people=beside)
    table, method = world.table(private=not numbers), Datafly(suppression=limit)
    told = (case, limit, world)
    if expected is None or not expected[1]:
        with pytest.raises(Infeasible):
            method.draft(table, definition)
        return "infeasible"
    draft = method.draft(table, definition)
    levels, kept = expected
    assert tuple(draft.recoding.levels.values()) == levels, told
    assert sorted(draft.tables["data"].frame()["row"]) == sorted(row.number for row in kept), told
    assert draft.suppressed == len(world.rows) - len(kept)
    if folder is not None:
        release = rt.publish(table, definition, method=method)
        found = rt.verify(release.save(folder / f"{rng.random()}"), population=world.population if people else None)
        assert not found.failures, (told, found.failures)
    return "raised" if any(levels) else "made"


@pytest.mark.parametrize("case", first(CASES, 14))
def test_it_climbs_as_the_slow_twin_does(case, tmp_path):
    rng = random.Random(case)
    seen: Counter = Counter()
    while seen["raised"] + seen["made"] < 8 and seen.total() < 100:
        seen[compare(case, rng, tmp_path if seen.total() % 15 == 0 else None)] += 1
    assert seen["raised"] + seen["made"] >= 6


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
