"""Exposure: what the rows would give away if they went out unchanged."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from reticent.definitions import DistinctLDiversity, KAnonymity
from reticent.propose import exposures
from reticent.table import Table
from tests.sampling import examples

FRAME = pl.DataFrame(
    {
        "age": [30, 30, 30, 40, 40, 50],
        "sex": ["m", "m", "m", "f", "f", "f"],
        "disease": ["flu", "flu", "flu", "flu", "cold", "cold"],
    }
)


def test_the_figures_of_a_small_table() -> None:
    table = Table(FRAME, quasi=["age", "sex"], sensitive="disease")
    (found,) = exposures(table, KAnonymity(2).parts(), shown=2)
    assert (found.rows, found.groups, found.k, found.unique_rows) == (6, 3, 1, 1)
    assert found.success == Fraction(1, 2)
    assert (found.homogeneous_groups, found.homogeneous_rows) == (2, 4)
    assert not found.holds
    assert found.exposed[0].quasi == {"age": "50", "sex": "f"}
    assert found.exposed[0].histogram == {"cold": 1}
    assert len(found.exposed) == 2


def test_each_set_of_quasi_columns_is_looked_at() -> None:
    table = Table(FRAME, quasi=["age", "sex"], sensitive="disease", quasi_sets=[["age"], ["sex"]])
    by_age, by_sex = exposures(table, (KAnonymity(2), DistinctLDiversity(2)))
    assert (by_age.k, by_sex.k) == (1, 3)
    assert by_sex.exposed[0].quasi in ({"sex": "m"}, {"sex": "f"})
    assert [each.holds for each in by_sex.assessments] == [True, False]


def test_a_table_without_a_sensitive_column_has_an_exposure_too() -> None:
    (found,) = exposures(Table(FRAME, quasi=["age"]), KAnonymity(1).parts())
    assert found.holds
    assert found.homogeneous_rows == 0
    assert found.exposed[0].histogram == {}


def test_people_are_counted_not_rows_where_several_rows_are_one_person() -> None:
    frame = pl.DataFrame({"id": [1, 1, 2, 3], "age": [30, 30, 30, 40]})
    (found,) = exposures(Table(frame, quasi=["age"], key="id", unit="person"), KAnonymity(2).parts())
    assert (found.rows, found.k, found.unique_rows) == (4, 1, 1)
    assert found.success == Fraction(2, 3)


@examples(60)
@given(rows=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.sampled_from("xyz")), min_size=1, max_size=25))
def test_the_figures_agree_with_counting_by_hand(rows: list[tuple[int, int, str]]) -> None:
    frame = pl.DataFrame(rows, schema=["a", "b", "s"], orient="row")
    (found,) = exposures(Table(frame, quasi=["a", "b"], sensitive="s"), KAnonymity(1).parts(), shown=100)
    sizes = Counter((a, b) for a, b, _ in rows)
    values = {point: Counter(s for a, b, s in rows if (a, b) == point) for point in sizes}
    assert found.k == min(sizes.values())
    assert found.unique_rows == sum(size for size in sizes.values() if size == 1)
    assert found.homogeneous_rows == sum(size for point, size in sizes.items() if len(values[point]) == 1)
    told = {(int(g.quasi["a"]), int(g.quasi["b"])): (g.people, g.histogram) for g in found.exposed}
    assert told == {point: (size, dict(values[point])) for point, size in sizes.items()}


def test_among_those_who_stand_alone_the_rarest_come_first() -> None:
    """All three stand alone; nobody else is from Andorra, and few are as old."""
    frame = pl.DataFrame(
        {
            "age": [20, 20, 20, 21, 21, 21, 99],
            "country": ["here", "here", "there", "there", "here", "here", "Andorra"],
            "ill": ["flu"] * 7,
        }
    )
    found = exposures(Table(frame, quasi=["age", "country"], sensitive="ill"), (), shown=3)[0].exposed
    assert [each.quasi["country"] for each in found] == ["Andorra", "there", "there"]
    assert [each.people for each in found] == [1, 1, 1]
