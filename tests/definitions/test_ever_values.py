"""Whether somebody ever has a value that changes between rows: chances by all worlds, shares by hand."""

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import permutations
from random import Random

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reticent as rt
from reticent.core import Evidence, Groups, OwnerRows
from reticent.definitions import DistinctLDiversity, KAnonymity, ProbabilisticLDiversity, RecursiveLDiversity
from reticent.definitions.ever_values import EverChances, promised_of_each_row
from tests.definitions.test_known_rows import evidence_of


def ever(rows, owner, value) -> Fraction:
    """The share of worlds in which an owner has a value: the owners of each group's rows in any order."""
    cells = defaultdict(list)
    for who, cell, shown in rows:
        cells[cell].append((who, shown))
    never = Fraction(1)
    for members in cells.values():
        owners, values = [who for who, _ in members], [shown for _, shown in members]
        worlds = list(permutations(values))
        without = sum(all(v != value for who, v in zip(owners, world, strict=True) if who == owner) for world in worlds)
        never *= Fraction(without, len(worlds))
    return 1 - never


def chances_of(evidence: Evidence) -> tuple[EverChances, Groups]:
    groups = next(iter(evidence.groups.values()))
    marginal = groups.marginal(groups.domain.columns[0].name)
    owners = marginal.owners[0]
    assert isinstance(owners, OwnerRows)
    chances = EverChances.of(marginal, owners)
    assert chances is not None
    return chances, groups


def test_two_of_six_rows_have_a_value_more_often_than_each():
    """Two of the six rows show s: each is one with a chance of 1/3, one of p's two rows with 3/5 (720 worlds)."""
    rows = [("p", 1, "s"), ("p", 1, "u"), ("a", 1, "s"), ("b", 1, "v"), ("c", 1, "w"), ("d", 1, "x")]
    assert ever(rows, "p", "s") == Fraction(3, 5)
    found = evidence_of(rows)
    chances, _ = chances_of(found)
    assert max(chances.chance(owner, value) for owner, value in chances.terms.select("owner", "value").iter_rows()) == Fraction(3, 5)  # fmt: skip
    assert promised_of_each_row(ProbabilisticLDiversity("5/3"), found) == ()
    assert promised_of_each_row(ProbabilisticLDiversity("17/10"), found) == (found_name(found),)
    assert promised_of_each_row(DistinctLDiversity(3), found) == ()
    assert promised_of_each_row(RecursiveLDiversity(c=2, l=2), found) == ()
    assert promised_of_each_row(RecursiveLDiversity(c="3/2", l=2), found) == (found_name(found),)
    assert promised_of_each_row(KAnonymity(2), found) == ()


def found_name(evidence: Evidence) -> str:
    return next(iter(evidence.groups.values())).domain.columns[0].name


def test_two_rows_of_which_one_must_be_the_only_other_one():
    """Of three rows two show s and p has two: some row of p's shows it for certain, although no record does."""
    rows = [("p", 1, "s"), ("p", 1, "u"), ("q", 1, "s")]
    assert ever(rows, "p", "s") == 1
    found = evidence_of(rows)
    assert promised_of_each_row(DistinctLDiversity(2), found) == (found_name(found),)


ROWS = st.lists(st.tuples(st.sampled_from("pqr"), st.integers(0, 1), st.sampled_from("stu")), min_size=3, max_size=7)


@settings(max_examples=60)
@given(ROWS, st.sampled_from(["1", "4/3", "3/2", "2"]))
def test_chances_are_those_of_all_worlds(rows, bound):
    owners = defaultdict(set)
    for who, _, value in rows:
        owners[who].add(value)
    if len({row[0] for row in rows}) == len(rows) or all(len(each) == 1 for each in owners.values()):
        return
    found = evidence_of(rows)
    worst = max(ever(rows, who, value) for who in owners for value in "stu")
    cells = defaultdict(set)
    for who, cell, _ in rows:
        cells[cell].add(who)
    shares = [
        Fraction(most, len(people))
        for people in cells.values()
        for most in Counter(value for who in people for value in owners[who]).values()
    ]
    holds = max([worst, *shares]) * Fraction(bound) <= 1
    assert promised_of_each_row(ProbabilisticLDiversity(bound), found) == (() if holds else (found_name(found),))


def visits(people: int, rows: int) -> pl.DataFrame:
    draw = Random(5)
    return pl.DataFrame(
        [(who, 20 + who % 4, draw.choice("abcdefgh")) for who in range(people) for _ in range(rows)],
        schema=["patient", "age", "diagnosis"],
        orient="row",
    )


@pytest.mark.parametrize(("share", "state"), [("4", "holds, but"), ("5/4", "holds")])
def test_the_headline_says_of_what_the_promise_is(tmp_path, share, state):
    """Eight diagnoses, two visits each: no more than a quarter of the records show one, but more people ever have it."""
    table = rt.Table(visits(80, 2), quasi=["age"], sensitive="diagnosis", key="patient")
    promise = rt.KAnonymity(5) & rt.ProbabilisticLDiversity(share)
    release = rt.publish(table, promise, rt.Mondrian())
    headline = release.certificate["headline"]
    assert headline["state"] == state
    assert ("are about each record" in " ".join(headline["reasons"])) == (state != "holds")
    folder = release.save(tmp_path / "release")
    found = rt.verify(folder)
    assert found.holds
    assert ("are about each record" in " ".join(found.headline.reasons)) == (state != "holds")
