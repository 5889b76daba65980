"""A sensitive column that follows from another one: what is promised of the one is promised of both, counted in the published rows."""

from collections import defaultdict
from random import Random

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reticent as rt
from reticent.definitions import with_related_secrets

AGES = [20] * 4 + [30] * 4 + [40] * 4
PAID = [11, 12, 13, 14, 11, 12, 91, 92, 91, 92, 93, 94] * 4
BANDS = ["low" if pay < 50 else "high" for pay in PAID]


def table(**more) -> rt.Table:
    rows = {"age": AGES * 4, "pay": PAID, "band": BANDS, **more}
    return rt.Table(rows, quasi=["age"], sensitive=["pay", "band", *more])


def values_in_cells(frame: pl.DataFrame, column: str) -> list[int]:
    """How many values of a column the records with each label have, by own count."""
    found = defaultdict(set)
    for row in frame.iter_rows(named=True):
        found[row["age"]].add(row[column])
    return [len(each) for each in found.values()]


def test_two_incomes_of_one_band_do_not_pass_as_two_values():
    """Four incomes among people of 20, all of them low: they are joined with others until both bands occur."""
    release = rt.publish(table(), rt.KAnonymity(2) & rt.DistinctLDiversity(2, column="pay", alone=True), rt.Mondrian())
    claims = [(each["definition"], each["parameters"].get("column")) for each in release.certificate["claims"]]
    assert claims == [("KAnonymity", None), ("DistinctLDiversity", "pay"), ("DistinctLDiversity", "band")]
    assert min(values_in_cells(release.frame, "band")) == 2
    assert release.certificate["headline"]["state"] == "holds"


def test_a_column_that_follows_and_cannot_be_promised_the_same_is_named():
    """Two bands are never three values: nothing is promised about them, and the headline says so."""
    asked = rt.KAnonymity(2) & rt.DistinctLDiversity(3, column="pay", alone=True)
    assert with_related_secrets(asked, table()) == asked
    release = rt.publish(table(), asked, rt.Mondrian())
    assert release.certificate["headline"] == {"state": "holds, but", "reasons": ["Nothing is promised about band."]}


@pytest.mark.parametrize("column", ["pay", "band"])
def test_a_promise_of_its_own_is_left_as_it_is(column):
    own = rt.KAnonymity(2) & rt.DistinctLDiversity(2, column="pay") & rt.DistinctLDiversity(1, column="band")
    assert with_related_secrets(own, table()) == own
    assert with_related_secrets(rt.DistinctLDiversity(2), table()) == rt.DistinctLDiversity(2)
    listed = rt.ConfidenceBounding(h="1/2", values=["low"], column="band")
    assert with_related_secrets(listed, table()) == listed


def test_a_column_that_does_not_follow_gets_no_promise():
    draw = Random(3)
    beside = table(illness=[draw.choice("abcd") for _ in PAID])
    asked = rt.DistinctLDiversity(2, column="pay", alone=True)
    found = with_related_secrets(asked, beside)
    assert [getattr(part, "column", None) for part in found.parts()] == ["pay", "band"]


@settings(max_examples=10)
@given(st.lists(st.tuples(st.integers(1, 4), st.integers(0, 7)), min_size=40, max_size=60), st.integers(2, 3))
def test_every_class_of_a_release_has_as_many_codes_as_were_promised_of_what_they_code(rows, least):
    """Codes are a function of illnesses, by a list: three codes of eight illnesses."""
    frame = {"age": [age for age, _ in rows], "ill": [f"i{ill}" for _, ill in rows], "code": [f"c{ill % 3}" for _, ill in rows]}  # fmt: skip
    made = rt.Table(frame, quasi=["age"], sensitive=["ill", "code"])
    asked = rt.DistinctLDiversity(least, column="ill", alone=True)
    if len(set(frame["code"])) < least or len(set(frame["ill"])) < least:
        return
    follows = any(getattr(part, "column", None) == "code" for part in with_related_secrets(asked, made).parts())
    release = rt.publish(made, rt.KAnonymity(1) & asked, rt.Mondrian())
    reasons = release.certificate["headline"]["reasons"]
    assert ("Nothing is promised about code." in reasons) == (not follows)
    assert min(values_in_cells(release.frame, "ill")) >= least
    if follows:
        assert min(values_in_cells(release.frame, "code")) >= least
    else:
        # Nothing follows where hardly any illness occurs twice.
        assert len(frame["ill"]) - len(set(frame["ill"])) < 40
