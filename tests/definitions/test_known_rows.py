"""Adversaries who know several rows of a person: profiles, the people who share a part of one, and what may be claimed."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations
from random import Random

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.core import Evidence
from reticent.definitions import (
    DistinctLDiversity,
    KAnonymity,
    ProbabilisticLDiversity,
    ever_shares,
    known_rows,
)
from reticent.engine import count_table
from reticent.table import Table
from tests.oracles.people_worlds import belief, belief_from_own_rows, chance_of_owner, sharing_profile

# Goldens: rows of (owner, cell, value).
TWO_CELLS = [
    *[("p", 0, "v"), ("a", 0, "v"), ("b", 0, "v"), ("c", 0, "w")],
    *[("p", 1, "v"), ("d", 1, "v"), ("e", 1, "v"), ("f", 1, "w")],
]
SAME_FOUR = [(owner, cell, value) for cell in (0, 1) for owner, value in zip("pabc", "vvvw", strict=True)]
EXCLUDED = [
    *[("p", 0, "v"), ("a", 0, "v"), ("b", 0, "w"), ("c", 0, "w")],
    *[("p", 1, "v"), ("d", 1, "v"), ("e", 1, "u"), ("f", 1, "u")],
]
EQUAL_PROFILES = [
    *[("p", 0, "u"), ("q", 0, "v"), ("a", 0, "u"), ("b", 0, "w")],
    *[("p", 1, "u"), ("q", 1, "v"), ("c", 1, "u"), ("d", 1, "x")],
]
PROFILES = {"p": (1, 2), "q": (1, 2), "a": (1,), "b": (2, 3), "c": (3,), "d": (1, 3)}
OVERLAPPING = {"p": ((1, 2), "v"), "q": ((2, 3), "v"), "r": ((1, 3), "v"), "s": ((1, 2, 3), "w")}


def evidence_of(rows, **changes):
    frame = pl.DataFrame(rows, schema=["id", "cell", "value"], orient="row")
    table = Table(frame, quasi=["cell"], sensitive="value", key="id", **changes)
    return Evidence({("cell",): count_table(table).groups()})


def test_beliefs_of_two_cells_multiply():
    """Three in four have the value in each cell; somebody in both has it with 9/10, unless both hold the same people."""
    assert belief(TWO_CELLS, "p", static=True) == ({"v": Fraction(9, 10), "w": Fraction(1, 10)}, 360)
    assert belief_from_own_rows(TWO_CELLS, "p") == {"v": Fraction(9, 10), "w": Fraction(1, 10)}
    believed, worlds = belief(SAME_FOUR, "p", static=True)
    assert (believed["v"], worlds) == (Fraction(3, 4), 144)
    five = [(f"x{c}{i}" if i else "p", c, "v" if i < 3 else "w") for c in range(5) for i in range(5)]
    assert belief_from_own_rows([row for row in five if row[1] < 2], "p")["v"] == Fraction(9, 13)
    assert belief_from_own_rows(five, "p")["v"] == Fraction(243, 275)
    promise = KAnonymity(4) & ProbabilisticLDiversity("4/3")
    assert known_rows(promise, evidence_of(TWO_CELLS)).rows == 1
    same = known_rows(promise, evidence_of(SAME_FOUR))
    assert (same.rows, same.judged, same.same) == (None, "chances", ("value",))


def test_two_values_in_every_cell_are_one_for_somebody_in_both():
    believed, worlds = belief(EXCLUDED, "p", static=True)
    assert (believed, worlds) == ({"v": 1}, 144)
    found = known_rows(KAnonymity(4) & DistinctLDiversity(2), evidence_of(EXCLUDED))
    assert (found.rows, found.judged) == (1, "people")


def test_equal_profiles_bound_guesses_about_people_and_not_chances():
    believed, worlds = belief(EQUAL_PROFILES, "p", static=True)
    assert (believed["u"], worlds) == (Fraction(2, 3), 48)
    found = known_rows(KAnonymity(2) & ProbabilisticLDiversity(2), evidence_of(EQUAL_PROFILES))
    assert (found.rows, found.judged) == (None, "people")


def test_a_value_in_one_row_of_three_was_ever_there_for_three_in_five():
    rows = [("p", 0, "s"), ("p", 0, "t"), ("a", 0, "s"), ("b", 0, "t"), ("c", 0, "t"), ("d", 0, "t")]
    believed, worlds = belief(rows, "p", static=False)
    assert (believed["s"], worlds) == (Fraction(3, 5), 720)
    assert ever_shares(evidence_of(rows)) == {"value": Fraction(4, 5)}
    found = known_rows(KAnonymity(3) & ProbabilisticLDiversity("3/2"), evidence_of(rows))
    assert (found.rows, found.same) == (None, ())


def test_people_who_share_a_part_of_a_profile_are_counted():
    rows = [(owner, cell, "v") for owner, cells in PROFILES.items() for cell in cells]
    shared = {part: len(sharing_profile(rows, Counter(part))) for part in ((1,), (2,), (3,), (1, 2), (2, 3), (1, 3))}
    assert shared == {(1,): 4, (2,): 3, (3,): 3, (1, 2): 2, (2, 3): 1, (1, 3): 1}
    promise = KAnonymity(3) & DistinctLDiversity(1)
    found = known_rows(promise, evidence_of(rows))
    assert (found.rows, found.judged) == (1, "people")
    assert known_rows(KAnonymity(1) & DistinctLDiversity(1), evidence_of(rows)).rows is None


def test_a_share_may_be_larger_for_fewer_known_rows():
    """Every two rows are those of two people with different values; a single row is that of three, two of whom have the same."""
    rows = [(owner, cell, value) for owner, (cells, value) in OVERLAPPING.items() for cell in cells]
    values = {owner: value for owner, (_, value) in OVERLAPPING.items()}

    def share(known):
        found = Counter(values[owner] for owner in sharing_profile(rows, Counter(known)))
        return Fraction(max(found.values()), found.total())

    assert {share(pair) for pair in combinations((1, 2, 3), 2)} == {Fraction(1, 2)}
    assert {share((cell,)) for cell in (1, 2, 3)} == {Fraction(2, 3)}
    assert known_rows(ProbabilisticLDiversity(2), evidence_of(rows)).judged == "records"
    assert known_rows(ProbabilisticLDiversity("3/2"), evidence_of(rows)).rows == 2


PEOPLE = st.lists(
    st.tuples(st.lists(st.integers(0, 2), min_size=1, max_size=3), st.sampled_from("vwx")), min_size=2, max_size=6
)


@given(PEOPLE, st.integers(1, 3), st.sampled_from(["1", "4/3", "3/2", "2"]))
def test_what_is_claimed_of_known_rows_is_found_by_hand(people, k, l):  # noqa: E741
    """Every part of every profile, counted by hand: the largest number of rows for which all pass."""
    rows = [(f"p{i}", cell, value) for i, (cells, value) in enumerate(people) for cell in cells]
    if len({row[0] for row in rows}) == len(rows):
        return
    values, bound = {f"p{i}": value for i, (_, value) in enumerate(people)}, Fraction(l)

    def passes(known):
        sharing = sharing_profile(rows, known)
        most = max(Counter(values[owner] for owner in sharing).values())
        return len(sharing) >= k and most * bound <= len(sharing)

    longest = max(len(cells) for cells, _ in people)
    holding = 0
    for size in range(1, longest + 1):
        parts = {tuple(sorted(part)) for cells, _ in people for part in combinations(sorted(cells), size)}
        if not all(passes(Counter(part)) for part in parts):
            break
        holding = size
    found = known_rows(KAnonymity(k) & ProbabilisticLDiversity(l), evidence_of(rows))
    if holding == longest:
        assert found.rows is None
    elif holding:
        assert (found.rows, found.judged) == (holding, "people")
    else:
        assert (found.rows, found.judged) == (1, "records")


@given(PEOPLE)
def test_fewer_people_share_more_known_rows(people):
    rows = [(f"p{i}", cell, value) for i, (cells, value) in enumerate(people) for cell in cells]
    for cells, _ in people:
        for size in range(1, len(cells)):
            for part in combinations(sorted(cells), size):
                fewer, more = Counter(part), Counter(sorted(cells))
                assert sharing_profile(rows, more) <= sharing_profile(rows, fewer)


SMALL = st.lists(
    st.tuples(st.lists(st.integers(0, 1), min_size=1, max_size=2), st.sampled_from("vw")), min_size=2, max_size=4
)


@given(SMALL)
def test_chances_are_bounded_where_that_is_claimed(people):
    """All worlds: no chance of a static value exceeds the share that was claimed for closed groups, and no row is anybody's beyond the row bound."""
    rows = [(f"p{i}", cell, value) for i, (cells, value) in enumerate(people) for cell in cells]
    if len({row[0] for row in rows}) == len(rows):
        return
    groups = evidence_of(rows).groups[("cell",)]
    for cell, hidden in enumerate(groups.people.tolist()):
        mine = [place for place, row in enumerate(rows) if row[1] == sorted({row[1] for row in rows})[cell]]
        for owner in {row[0] for row in rows}:
            chances = chance_of_owner(rows, owner)
            assert all(chances[place] <= Fraction(1, hidden) for place in mine)
    for bound in ("1", "4/3", "3/2", "2"):
        found = known_rows(ProbabilisticLDiversity(bound), evidence_of(rows))
        if found.judged == "chances":
            for owner in {row[0] for row in rows}:
                believed, _ = belief(rows, owner, static=True)
                assert max(believed.values()) <= 1 / Fraction(bound)


@pytest.mark.parametrize("most", [10, 100])
def test_what_would_take_too_long_is_not_claimed(most):
    chance = Random(3)
    rows = [(f"p{i}", chance.randrange(4), "vw"[i % 2]) for i in range(60) for _ in range(4)]
    promise = KAnonymity(3) & DistinctLDiversity(1)
    exact, bounded = known_rows(promise, evidence_of(rows)), known_rows(promise, evidence_of(rows), most)
    assert exact.rows == 2
    assert bounded.rows == 1
