"""Who knows some columns: counted against brute force, stopped by a guarantee for as many, and told for more."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent as rt
from reticent.attacks import KnownColumns
from reticent.core import Groups
from reticent.definitions import AnyColumns, KAnonymity, numbers_beyond, unique_records
from reticent.engine import count_table
from reticent.errors import PolicyError
from tests.oracles import known_columns as oracle
from tests.sampling import examples

NAMES = "abcde"


def table_of(rows):
    return rt.Table(
        pl.DataFrame(rows, schema=list(NAMES[: len(rows[0])]), orient="row"), quasi=list(NAMES[: len(rows[0])])
    )


def test_a_release_for_any_two_columns_is_told_what_three_do():
    release = rt.publish(table_of(list(product((0, 1), repeat=3))), AnyColumns(2, KAnonymity(2)), method=rt.Lattice())
    found = {each.adversary: each for each in rt.attack(release)}
    assert (found["2 known columns"].hits, found["2 known columns"].succeeds) == (0, False)
    assert (found["3 known columns"].hits, found["3 known columns"].succeeds) == (8, True)
    assert "all columns" in found["3 known columns"].knows
    others = rt.attack(rt.publish(table_of([(0, 1)] * 4), KAnonymity(2), method=rt.Lattice()))
    assert not any("known column" in each.adversary for each in others)


@examples(80)
@given(data=st.data(), known=st.integers(1, 5))
def test_unique_records_are_counted_as_by_brute_force(data, known):
    width = data.draw(st.integers(1, 5))
    rows = data.draw(st.lists(st.tuples(*[st.integers(0, 3)] * width), min_size=1, max_size=15))
    found = unique_records(count_table(table_of(rows)).groups(), known)

    def alone(columns):
        return sum(len(cell) == 1 for cell in oracle.cells(rows, columns))

    every = [alone(columns) for columns in combinations(range(width), min(known, width))]
    assert (found.records, found.sets) == (len(rows), len(every))
    assert Fraction(found.mean).limit_denominator(1000) == Fraction(sum(every), len(every))
    assert found.most == alone([NAMES.index(name) for name in found.worst]) <= max(every)
    assert (found.single is None) is (found.most == 0)


def test_figures_are_the_same_whenever_they_are_counted():
    rows = [tuple((row >> bit) & 3 for bit in range(0, 24, 2)) for row in range(0, 4000, 7)]
    frame = pl.DataFrame(rows, schema=[f"c{place}" for place in range(12)], orient="row")
    groups = count_table(rt.Table(frame, quasi=frame.columns)).groups()
    assert unique_records(groups, 4) == unique_records(groups, 4)
    assert unique_records(groups, 4).sets == 100
    assert [unique_records(groups, known).mean for known in (2, 4, 8)] == sorted(
        unique_records(groups, known).mean for known in (2, 4, 8)
    )


def test_numbers_of_columns_beyond_what_is_covered():
    assert numbers_beyond(2, 22) == (3, 5, 8, 22)
    assert numbers_beyond(3, 4) == (4,)
    assert numbers_beyond(4, 4) == ()
    assert numbers_beyond(2, 8) == (3, 5, 8)


def test_what_cannot_be_counted_is_refused_by_name():
    release = rt.publish(table_of([(0, 1)] * 4), KAnonymity(2), method=rt.Lattice())
    with pytest.raises(PolicyError, match="2 columns were published, fewer than 3"):
        rt.attack(release, KnownColumns(3))
    with pytest.raises(PolicyError, match="known must be at least 1"):
        KnownColumns(0)
    with pytest.raises(PolicyError, match="have no labels by column"):
        unique_records(Groups.from_histograms([{"x": 1}]), 1)
