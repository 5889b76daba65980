"""What the public side tells about those left out: in every method and format it satisfies the claims, or nothing is told."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

import reticent as rt
from reticent.base.context import Context
from reticent.core import Groups
from reticent.engine import count_table
from reticent.errors import Infeasible
from reticent.methods.grouping.suppression import PublishedGroups
from reticent.methods.lattice import Lattice
from reticent.methods.lattice.points import Points
from tests.baselines.test_datafly import drawn
from tests.definitions.making import column_of, groups_of
from tests.methods.mondrian.test_twin import COMPARING
from tests.oracles.leaving import PUBLISHED, WHOLE, SuppressedGroups
from tests.sampling import campaign, first, seeds

TWELVE = pl.DataFrame(
    {
        "zip": ["1"] * 6 + ["2"] * 5 + ["9"],
        "ill": ["flu", "cold", "flu", "cold", "HIV", "flu", "flu", "cold", "cold", "flu", "HIV", "HIV"],
    }
)
METHODS = {
    "lattice": lambda share: rt.Lattice(suppression=share),
    "datafly": lambda share: rt.Datafly(suppression=share),
    "mondrian": lambda share: rt.Mondrian(suppression=share, values="sets"),
    "divided": lambda share: rt.Mondrian(suppression=share, ties="divide", values="sets"),
    "buckets": lambda share: rt.Lattice(suppression=share, format="bucketize"),
}
DEFINITIONS = {
    "t": (rt.TCloseness("0.3"), lambda p, q: _transport(p, q) <= Fraction(3, 10)),
    "ordered t": (rt.TCloseness("0.3", "ordered"), None),
    "beta": (rt.BetaLikeness("0.8"), lambda p, q: all(p[v] <= q[v] * Fraction(9, 5) for v in p)),
    "delta": (rt.DeltaDisclosure(1), lambda p, q: all(q[v] < 2 * p[v] < 4 * q[v] for v in p if p[v])),
}


def _transport(p: dict[Any, Fraction], q: dict[Any, Fraction]) -> Fraction:
    return sum((max(p[v] - q[v], Fraction(0)) for v in q), Fraction(0))


def told(release: Any, column: str) -> tuple[dict[Any, int], dict[Any, int], str]:
    """What anybody computes from the files: the declared histogram, and that histogram minus the published rows."""
    said = release.certificate["reference"][column]
    whole = dict(zip(said["values"], said["counts"], strict=True))
    rows = release.tables["sensitive" if "sensitive" in release.tables else "data"][column].to_list()
    published = Counter(rows)
    assert set(published) <= set(whole)
    return whole, {value: count - published[value] for value, count in whole.items()}, said["of"]


def shares(counts: dict[Any, int]) -> dict[Any, Fraction]:
    total = sum(counts.values())
    return {value: Fraction(count, total) for value, count in counts.items()}


@pytest.mark.parametrize("definition", DEFINITIONS)
@pytest.mark.parametrize("method", METHODS)
def test_the_one_person_of_a_postcode_who_is_left_out_is_not_given_away(method, definition):
    table = rt.Table(TWELVE, quasi=["zip"], sensitive={"ill": ["cold", "flu", "HIV"]})
    release = rt.publish(table, DEFINITIONS[definition][0], METHODS[method]("0.2"), insecure_seed=1)
    _, left_out, of = told(release, "ill")
    assert not any(left_out.values())
    assert (of == "published rows") == (release.private.suppressed > 0)


def random_table(rng: random.Random, method: str) -> rt.Table:
    rows = rng.randint(6, 30)
    frame = pl.DataFrame(
        {
            "zip": [rng.choice("1122233459") for _ in range(rows)],
            "age": [rng.choice([20, 20, 20, 30, 30, 70]) for _ in range(rows)],
            "ill": [rng.choice([1, 1, 2, 2, 3, 7]) for _ in range(rows)],
            "drug": [rng.choice("aab") for _ in range(rows)],
        }
    )
    sets = rng.choice([None, None, [["zip"], ["age"]]])
    engine = "streaming" if rng.random() < 0.2 and method in ("lattice", "datafly", "mondrian") else "local"
    sensitive = rng.choice([{"ill": None}, {"ill": None}, {"ill": None, "drug": ["a", "b"]}])
    quasi = {"zip": rt.Hierarchy.masking(digits=1), "age": rt.Hierarchy.intervals([20, 40], origin=0, domain=(0, 79))}
    return rt.Table(frame, quasi=quasi, sensitive=sensitive, quasi_sets=sets, engine=engine)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", seeds(2))
def test_whatever_the_files_tell_about_those_left_out_satisfies_every_claim(method, seed, tmp_path):
    """Recomputed by other code, with fractions, from what is public: the remainder of every column is empty or passes as a group."""
    rng, seen = random.Random(seed), Counter()
    for number in range(15):
        table, name = random_table(rng, method), rng.choice(list(DEFINITIONS))
        definition, passes = DEFINITIONS[name]
        few = rng.choice([None, 2, 3]) if method != "buckets" else None
        asked = definition if few is None else definition & rt.KAnonymity(few)
        try:
            release = rt.publish(table, asked, METHODS[method](rng.choice(["0.3", "0.6", "0.8"])), insecure_seed=number)
        except Infeasible:
            seen["infeasible"] += 1
            continue
        for column in table.sensitive:
            whole, left_out, of = told(release, column)
            rows = sum(left_out.values())
            assert min(left_out.values()) >= 0
            assert of == "whole table" or not rows
            if of == "published rows" and column == "ill":
                assert all(whole.values()), "a value that nobody published has is told"
            if rows:
                assert few is None or rows >= few
                assert passes is None or passes(shares(left_out), shares(whole))
                seen["told"] += 1
        seen["left out"] += release.private.suppressed > 0
        folder = release.save(tmp_path / str(number))
        assert rt.verify(folder).holds
        assert rt.assess(folder, asked).holds
    # Mondrian cuts what passes, and seldom has to leave anybody out.
    assert seen["left out"] >= (0 if method in ("mondrian", "divided") else 2), seen


def test_more_is_left_out_where_that_costs_less_and_the_remainder_is_judged():
    # Compared with the published rows nothing passes: the two large groups differ, and only the whole table is near both.
    rows = [("1", "a")] * 6 + [("1", "b")] * 4 + [("2", "a")] * 4 + [("2", "b")] * 6 + [("3", "a"), ("4", "b")]
    frame = pl.DataFrame(rows, schema=["zip", "ill"], orient="row")
    table = rt.Table(frame, quasi=["zip"], sensitive="ill")
    release = rt.publish(table, rt.TCloseness("0.1"), rt.Lattice(suppression="0.2", node={"zip": 0}))
    assert release.private.suppressed == 2
    assert len(release.groups) == 2
    leaving = _leaving(groups_of([[6, 4], [4, 6], [1, 0], [0, 1]]), rt.TCloseness("0.1"), 4)
    ways = list(leaving.ways(np.array([False, False, True, True])))
    assert {way.compared_with for way in ways} == {"published rows", "whole table"}
    kept = leaving.evidence(next(way for way in ways if way.compared_with == "whole table"))
    assert kept.remainder["value"].sizes.tolist() == [2]
    # One of them alone would give its value away; the other joins it, or nothing is told.
    alone = _leaving(groups_of([[6, 4], [4, 6], [1, 0], [1, 1]]), rt.TCloseness("0.1"), 4)
    [*_, more] = alone.ways(np.array([False, False, True, False]))
    assert more.compared_with == "published rows" or more.mask.sum() > 1


def _leaving(groups: Groups, definition: Any, allowed: int) -> PublishedGroups:
    table = rt.Table({"zip": ["1"], "value": ["a"]}, quasi=["zip"], sensitive={"value": ["a", "b"]})
    return PublishedGroups.of(
        table,
        definition,
        groups,
        lambda columns, kept: (np.arange(int(kept.sum())), groups.select(kept)),
        allowed,
    )


def both_ways(case: str, rng: random.Random) -> Counter[str]:
    """The groups that fail and some more are left out of a random world, in the two ways of Leaving and of its twin: which of these there were."""
    world, definition, twin = drawn(case, rng)
    if rng.random() < 0.5:
        # Somebody who knows one column sees groups that lost rows of their own.
        world.sets = [(place,) for place in range(len(world.quasi))]
        twin = replace(twin, sets=world.sets)
    table, allowed = world.table(private=True), int(twin.limit * len(world.rows))
    points = Points.of(count_table(table, Context()))
    codes = [each.codes(table.frame[each.column]) for each in table.hierarchies]
    place = {
        point: number for number, point in enumerate(zip(*(column.tolist() for column in points.codes), strict=True))
    }
    rows = {row: place[point] for row, point in enumerate(zip(*(column.tolist() for column in codes), strict=True))}
    failing = twin.failing(points.levels)
    mask = np.array([rng.random() < 0.2 for _ in place])
    mask[[rows[number] for number in failing]] = True
    start = frozenset(row for row, point in rows.items() if mask[point])
    told = (case, twin.limit, sorted(start), world)
    found = {
        way.compared_with: SuppressedGroups(
            frozenset(row for row, point in rows.items() if way.mask[point]), way.compared_with
        )
        for way in Lattice().leaving(table, definition, points, allowed).ways(mask.copy())
    }
    if not start:
        assert found == {WHOLE: SuppressedGroups(start, WHOLE)}, told
        return Counter()
    slow = twin.leaving(points.levels)
    assert found.get(PUBLISHED) == slow.among_published(start), told
    assert found.get(WHOLE) in slow.with_more(start, found.get(WHOLE)), told
    return Counter(list(found))


@pytest.mark.parametrize("case", first(COMPARING, 2))
def test_both_ways_are_those_of_the_slow_twin(case):
    rng, seen = random.Random(f"ways {case}"), Counter[str]()
    for _ in range(1000 if campaign() else 80):
        seen.update(both_ways(case, rng))
    assert min(seen[PUBLISHED], seen[WHOLE]) >= 5


def test_values_of_those_left_out_stay_in_the_domain_only_if_they_were_declared():
    frame = TWELVE.with_columns(ill=pl.Series(["a", "b"] * 5 + ["a", "plague"]))
    for sensitive, known in ((["ill"], False), ({"ill": ["a", "b", "plague"]}, True)):
        table = rt.Table(frame, quasi=["zip"], sensitive=sensitive)
        release = rt.publish(table, rt.TCloseness("0.3"), rt.Lattice(suppression="0.1", node={"zip": 0}))
        assert release.private.suppressed == 1
        assert ("plague" in str(release.certificate)) is known
        assert "plague" not in str(release.tables)


@pytest.mark.parametrize("counts", [[1, 0], [0, 3], [2, 1]])
def test_one_column_is_compared_with_its_published_rows(counts):
    groups = groups_of([[4, 4], counts], column_of(2))
    kept = groups.select(np.array([True, False]))
    compared = kept.compared_with_published({"value": np.array([False, False])})
    assert compared.reference.tolist() == [4, 4]
    lost = groups.select(np.array([False, True])).compared_with_published({"value": np.array([False, False])})
    assert lost.reference.tolist() == [count for count in counts if count]
    assert lost.histograms.counts.tolist() == [count for count in counts if count]
    assert lost.domain.columns[0].size == len(lost.reference)
