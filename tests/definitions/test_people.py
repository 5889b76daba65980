"""Where several rows may be one person (``unit="person"``): what is said of people is never said of rows."""

from __future__ import annotations

from fractions import Fraction

import polars as pl

import reticent as rt
from reticent.table import Table


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
