"""Where several rows may be one person (``unit="person"``): what is said of people is never said of rows."""

from __future__ import annotations

import random
from collections import defaultdict
from fractions import Fraction

import polars as pl
import pytest

import reticent as rt
from reticent.data import Table


def people_table(rows, sensitive=("s",)):
    """Rows of (person, quasi value, sensitive values)."""
    frame = pl.DataFrame(rows, schema=["id", "zip", *sensitive], orient="row")
    return Table(frame, quasi=["zip"], sensitive=list(sensitive), key="id", unit="person")


def test_a_group_of_many_rows_about_one_person_is_not_large():
    """Ten rows of one person tell about that person alone; (n,t)-closeness lets only large groups of people differ."""
    rows = [("Ann", "1", "hiv")] * 10 + [(f"p{i}", "2", "flu") for i in range(10)]
    table = people_table(rows)
    found = rt.assess(table, rt.NTCloseness(5, "0.1"))
    assert not found.holds
    assert found.value == Fraction(1, 2)
    assert (
        rt.NTCloseness(5, "0.1").failing(rt.Groups.from_histograms([{"hiv": 10}, {"flu": 10}])).tolist() == [False] * 2
    )


def test_parts_of_groups_do_not_count_as_large_where_nobody_counted_their_people():
    rows = [("Ann", "1", "hiv", "a")] * 10 + [(f"p{i}", "2", "flu", "b") for i in range(10)]
    assert not rt.assess(people_table(rows, ("s", "drug")), rt.NTCloseness(5, "0.1", column="s")).holds


def test_rows_that_are_left_out_of_a_group_take_their_people_with_them():
    """Group 1 has seven people; three of six flu rows go, and with them three people: four are left, and five were promised."""
    few = [(f"p{i}", "1", "flu") for i in range(6)] + [("q", "1", "cold")] * 3
    many = [(f"r{i}", "2", "flu" if i % 2 else "cold") for i in range(20)]
    definition = rt.KAnonymity(5) & rt.ProbabilisticLDiversity(2)
    release = rt.publish(people_table(few + many), definition, rt.Lattice(suppression="0.4", repair="rows"))
    assert release.frame["zip"].unique().to_list() == ["2"]
    four = rt.KAnonymity(4) & rt.ProbabilisticLDiversity(2)
    release = rt.publish(people_table(few + many), four, rt.Lattice(suppression="0.4", repair="rows"))
    assert release.frame["zip"].unique().sort().to_list() == ["1", "2"]


@pytest.mark.parametrize("seed", range(3))
def test_repaired_groups_have_the_people_that_were_promised(seed):
    """People are published under names of their own here, so that they can be counted in the rows."""
    rng, cut = random.Random(seed), 0
    for _ in range(25):
        rows = [(f"p{i}", "1", "a") for i in range(rng.randint(4, 9))]
        rows += [(f"q{rng.randint(0, 1)}", "1", "b") for _ in range(rng.randint(2, 5))]
        rows += [(f"r{i}", "2", "ab"[i % 2]) for i in range(16)]
        frame = pl.DataFrame(rows, schema=["id", "zip", "s"], orient="row")
        table = Table(
            frame,
            quasi=["zip"],
            sensitive="s",
            key="id",
            unit="person",
            identifiers=["id"],
            pseudonyms=["id"],
        )
        k = rng.randint(3, 6)
        method = rt.Lattice(suppression="0.6", repair="rows")
        release = rt.publish(table, rt.KAnonymity(k) & rt.ProbabilisticLDiversity(2), method)
        people = defaultdict(set)
        for row in release.frame.iter_rows(named=True):
            people[row["zip"]].add(row["pseudonym"])
        assert min(map(len, people.values())) >= k
        cut += release.frame.height < frame.height
    assert cut > 3
