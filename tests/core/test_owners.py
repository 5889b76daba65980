"""Whose rows groups hold: people and households, counted exactly also where groups are merged."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.core import OwnerRows, Owners, OwnerTallies
from reticent.core.histograms import Histograms
from reticent.engine import count_table
from reticent.table import Table
from tests.oracles.people_worlds import belief, chance_of_owner

ROWS = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 4), st.integers(0, 2)), min_size=1, max_size=24
)  # owner, group, value


def owners_of(rows, groups=5):
    owner, group, value = (np.array(each) for each in zip(*rows, strict=True))
    return OwnerRows.of_rows("person", group, groups, owner, value, 3)


def sizes_of(rows, groups=5):
    return np.bincount([group for _, group, _ in rows], minlength=groups)


def counted(rows, group):
    return Counter(owner for owner, mine, _ in rows if mine == group)


def hidden(rows, group):
    """The two counts by hand: people, and rows to the one with most of them."""
    mine = counted(rows, group)
    return min(len(mine), sum(mine.values()) // max(mine.values())) if mine else 0


def test_one_of_seven_rows_hides_among_one_where_four_are_one_persons():
    """Four people, but a row is the first one's with a chance of 4/7; and if values are the same in all rows of a person, hers is certain."""
    rows = [("p", 0, "v")] * 4 + [("q", 0, "w"), ("r", 0, "x"), ("s", 0, "y")]
    assert chance_of_owner(rows, "p") == [Fraction(4, 7)] * 7
    believed, worlds = belief(rows, "p", static=True)
    assert believed["v"] == 1
    assert worlds == 144
    table = Table(pl.DataFrame(rows, schema=["id", "zip", "s"], orient="row"), quasi=["zip"], sensitive="s", key="id")
    groups = count_table(table).groups()
    assert table.unit == "person"
    assert table.several_rows
    assert groups.distinct_people.tolist() == [4]
    assert groups.people.tolist() == [1]


def test_four_people_of_two_households_hide_among_one_household():
    frame = pl.DataFrame({"id": range(4), "home": ["h", "h", "h", "i"], "zip": [1] * 4})
    table = Table(frame, quasi=["zip"], key="id", household="home")
    assert table.unit == "household"
    assert table.owners == {"person": "id", "household": "home"}
    groups = count_table(table).groups()
    people, homes = groups.owners
    assert people.distinct.tolist() == [4]
    assert homes.distinct.tolist() == [2]
    assert homes.most_rows.tolist() == [3]
    assert groups.people.tolist() == [1]
    assert chance_of_owner([(home, 0, "") for home in frame["home"]], "h") == [Fraction(3, 4)] * 4


@given(ROWS)
def test_owners_and_their_rows_are_counted_as_by_hand(rows):
    found = owners_of(rows)
    assert found.distinct.tolist() == [len(counted(rows, group)) for group in range(5)]
    assert found.most_rows.tolist() == [max(counted(rows, group).values(), default=0) for group in range(5)]
    assert found.hidden_among(sizes_of(rows)).tolist() == [hidden(rows, group) for group in range(5)]


@given(ROWS, st.lists(st.integers(0, 2), min_size=5, max_size=5))
def test_merging_counts_an_owner_of_two_groups_once(rows, ids):
    merged = owners_of(rows).merged(np.array(ids), 3)
    again = owners_of([(owner, ids[group], value) for owner, group, value in rows], 3)
    assert merged.distinct.tolist() == again.distinct.tolist()
    assert merged.most_rows.tolist() == again.most_rows.tolist()


@given(ROWS, st.lists(st.integers(0, 2), min_size=5, max_size=5))
def test_merged_groups_hide_among_as_many_as_the_least_of_them(rows, ids):
    """Both counts are monotone; the number of people alone never falls, whoever joins."""
    before, sizes = owners_of(rows), sizes_of(rows)
    after = before.merged(np.array(ids), 3)
    merged = np.bincount(ids, weights=sizes, minlength=3).astype(np.int64)
    for group in range(3):
        parts = [place for place in range(5) if ids[place] == group and sizes[place]]
        if parts:
            assert after.hidden_among(merged)[group] >= min(before.hidden_among(sizes)[parts])
            assert after.distinct[group] >= max(before.distinct[parts])


@given(ROWS, st.lists(st.booleans(), min_size=5, max_size=5))
def test_groups_that_are_left_out_take_their_rows_with_them(rows, kept):
    mask = np.array(kept)
    found, whole = owners_of(rows).select(mask), owners_of(rows)
    assert found.distinct.tolist() == whole.distinct[mask].tolist()
    ids = np.where(mask, 0, -1)
    people = {owner for owner, group, _ in rows if kept[group]}
    assert whole.merged(ids, 1).distinct.tolist() == [len(people)]


@given(ROWS)
def test_values_that_become_one_leave_owners_as_they_were(rows):
    found = owners_of(rows)
    bare = found.revalued(np.zeros(3, dtype=np.int64))
    assert bare.distinct.tolist() == found.distinct.tolist()
    assert bare.most_rows.tolist() == found.most_rows.tolist()


@given(ROWS)
def test_tallies_are_the_owners_where_nobody_is_in_two_groups(rows):
    apart = [(owner + 6 * group, group, value) for owner, group, value in rows]
    exact, per_owner = owners_of(apart), owners_of(apart).by_owner
    tally = Histograms.from_cells(per_owner.owners, per_owner.counts, None, 5, int(per_owner.counts.max()) + 1)
    tallies: Owners = OwnerTallies("person", tally)
    for ids in ([0, 1, 2, 3, 4], [0, 0, 1, 1, 2], [2, -1, 0, 0, -1]):
        one, other = (each.merged(np.array(ids), 5) for each in (exact, tallies))
        assert one.distinct.tolist() == other.distinct.tolist()
        assert one.most_rows.tolist() == other.most_rows.tolist()


@pytest.mark.parametrize("engine", ["local", "streaming"])
def test_engines_count_the_same_people(engine):
    frame = pl.DataFrame({"id": [1, 1, 1, 2, 3, 4, 4], "zip": [1, 1, 1, 1, 1, 2, 2], "s": list("abacbab")})
    groups = count_table(Table(frame, quasi=["zip"], sensitive="s", key="id", engine=engine)).groups()
    assert groups.sizes.tolist() == [5, 2]
    assert groups.distinct_people.tolist() == [3, 1]
    assert groups.people.tolist() == [1, 1]
    assert groups.whole().people.tolist() == [2]
