"""Hierarchies built from an order of the values."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.errors import DataError, PolicyError
from reticent.table import BoundHierarchy, Hierarchy, hierarchy_from

SCHOOLS = ["none", "primary", "secondary", "college", "doctorate"]


def bound(hierarchy: Hierarchy, values: list[Any]) -> BoundHierarchy:
    return hierarchy.bind(pl.Series("x", values), "x")


def labels(hierarchy: Hierarchy, values: list[Any], level: int) -> list[str]:
    fitted = bound(hierarchy, values)
    chosen = fitted.levels[level]
    return [chosen.labels[part] for part in chosen.parts[fitted.codes(pl.Series("x", values))]]


def test_neighbours_in_a_given_order_are_put_together() -> None:
    school = Hierarchy.order([2, 4], SCHOOLS)
    assert labels(school, ["college", "none"], 1) == ["secondary to college", "none to primary"]
    assert labels(school, ["doctorate", "primary"], 2) == ["doctorate", "none to college"]
    assert labels(school, ["doctorate", "primary"], 3) == ["*", "*"]
    assert not bound(school, ["none"]).data_dependent


def test_groups_of_an_order_may_have_names() -> None:
    school = Hierarchy.order([2, 4], SCHOOLS, [["low", "middle", "high"], ["below", "doctorate"]])
    assert labels(school, ["college", "doctorate"], 1) == ["middle", "high"]
    assert labels(school, ["college", "doctorate"], 2) == ["below", "doctorate"]


def test_without_values_the_order_is_that_of_the_data_and_stays_private() -> None:
    fitted = bound(Hierarchy.order([2]), ["c", "a", "b"])
    assert fitted.levels[1].labels == ("a to b", "c")
    assert fitted.data_dependent


def test_first_values_stay_longest() -> None:
    towns = Hierarchy.priority([3, 1], ["Paris", "Lyon", "Nice", "Brest", "Pau"])
    assert labels(towns, ["Pau", "Nice", "Paris"], 1) == ["Other", "Nice", "Paris"]
    assert labels(towns, ["Pau", "Nice", "Paris"], 2) == ["Other", "Other", "Paris"]
    assert not bound(towns, ["Pau"]).data_dependent
    assert bound(Hierarchy.priority([1], ["a", "b"], from_data=True), ["a"]).data_dependent


def test_a_value_that_is_called_like_the_rest_is_told_apart_from_it() -> None:
    assert labels(Hierarchy.priority([1], ["Other", "b", "c"]), ["Other", "b"], 1) == ["Other", "Other'"]
    assert bound(Hierarchy.order([2], ["a", "a to b", "b", "c"]), ["a"]).levels[1].labels == ("a to a to b", "b to c")


def test_a_value_that_is_not_listed_is_refused_by_name() -> None:
    for hierarchy in (Hierarchy.priority([1], ["a", "b"]), Hierarchy.order([2], ["a", "b"])):
        with pytest.raises(DataError, match="'z'") as caught:
            bound(hierarchy, ["a"]).codes(pl.Series("x", ["a", "z"]))
        assert caught.value.column == "x"


@given(st.lists(st.text(max_size=3), min_size=2, max_size=20, unique=True), st.data())
def test_descriptions_read_back_as_the_same_hierarchy(values: list[str], data: st.DataObject) -> None:
    kept = data.draw(st.integers(1, len(values) - 1))
    for made in (
        Hierarchy.order([2, 6], values),
        Hierarchy.priority([kept], values, from_data=True),
        Hierarchy.order([2]).limited(1, 1),
        Hierarchy.intervals([5]).limited(min_level=1),
    ):
        assert hierarchy_from(made.describe()) == made


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Hierarchy.order([]), "sizes is empty"),
        (lambda: Hierarchy.order([1]), "sizes must be at least 2"),
        (lambda: Hierarchy.order([2, 3]), "size 3 is not a larger multiple of size 2"),
        (lambda: Hierarchy.order([2], None, [["a"]]), "values must be given too"),
        (lambda: Hierarchy.order([2], ["a", "b", "c"], [["x"]]), "labels must name every group"),
        (lambda: Hierarchy.order([2], ["a", "a"]).bind(pl.Series("x", ["a"]), "x"), "occurs twice"),
        (lambda: Hierarchy.priority([], ["a"]), "keep must be descending"),
        (lambda: Hierarchy.priority([1, 2], ["a", "b", "c"]), "keep must be descending"),
        (lambda: Hierarchy.priority([2], ["a", "b"]), "keep begins with 2, but there are 2 values"),
        (lambda: hierarchy_from({"kind": "order"}), "needs the field 'sizes'"),
        (lambda: hierarchy_from({"kind": "priority", "keep": [1], "values": ["a", "b"], "from_data": 1}), "from_data"),
    ],
)
def test_what_cannot_be_built_is_refused_with_its_place(make: Any, message: str) -> None:
    with pytest.raises((PolicyError, DataError), match=message):
        make()
