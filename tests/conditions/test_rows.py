"""Rows as values: membership of several columns at once, in a list and in a public table."""

from __future__ import annotations

import datetime

import polars as pl
import pytest

from reticent.conditions import Condition, ConditionError
from reticent.errors import DataError

FRAME = pl.DataFrame(
    {
        "age": [25, 25, 32, None, 41],
        "town": ["Aar", "Bex", "Bex", "Aar", None],
        "day": [datetime.date(2024, 1, day) for day in range(1, 6)],
        "old": [True, False, True, False, True],
    }
)


def _met(condition: Condition) -> list[bool]:
    return condition.mask(FRAME).to_list()


def test_rows_are_compared_in_every_place_as_a_database_does():
    listed = Condition.parse("(age, town) in ((25, 'Bex'), (32, 'Bex'), (41, 'Aar'))")
    assert _met(listed) == [False, True, True, False, False]
    assert listed.scope == ("age", "town")
    # Null is unknown beside anything, so neither the list nor its opposite holds where it matters.
    assert _met(Condition.parse("not ((age, town) in ((25, 'Bex'), (41, 'Aar')))")) == [True, False, True, False, False]


def test_rows_of_another_length_are_pointed_at():
    with pytest.raises(ConditionError, match="a row of 2 values"):
        Condition.parse("(age, town) in ((25, 'Bex'), (32, 'Bex', 1))")
    with pytest.raises(ConditionError, match="a row of 2 values"):
        Condition.parse("(age, town) in (25, 32)")


def test_a_condition_is_restricted_to_a_public_table():
    eligible = pl.DataFrame({"town": ["Bex", "Bex", None], "age": [25, 32, 41]})
    assert _met(Condition.parse("old").within(eligible)) == [False, False, True, False, False]
    assert _met(Condition.parse("true").within(eligible.select("town"))) == [False, True, True, False, False]
    days = pl.DataFrame({"day": [datetime.date(2024, 1, 4)], "old": [False]})
    assert _met(Condition.parse("true").within(days)) == [False, False, False, True, False]
    assert _met(Condition.parse("true").within(eligible.head(0))) == [False] * 5
    assert _met(Condition.parse("true").within(eligible.head(0).select("town"))) == [False] * 5
    assert str(Condition.parse("old").within(eligible)) == "(old) within a table of 2 rows"


def test_a_table_that_cannot_be_compared_is_refused():
    with pytest.raises(DataError, match="without columns"):
        Condition.parse("true").within(pl.DataFrame())
    with pytest.raises(DataError, match="'town' holds"):
        Condition.parse("true").within(pl.DataFrame({"town": [[1, 2]]}))
