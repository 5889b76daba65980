"""Sensitive columns: what is declared about them, and what the data say."""

from __future__ import annotations

import datetime

import numpy as np
import polars as pl
import pytest

from reticent.errors import DataError
from reticent.table import Hierarchy
from reticent.table.sensitive import bind_sensitive


def test_without_a_declaration_the_domain_is_what_occurs() -> None:
    column = bind_sensitive("illness", None, pl.Series(["hiv", "flu", "hiv"]))
    assert column.labels.to_list() == ["flu", "hiv"]
    assert not column.ordered
    assert column.hierarchy is None
    assert column.codes(pl.Series(["hiv", "flu"])).tolist() == [1, 0]


@pytest.mark.parametrize("values", [[30, 10, 20], [datetime.date(2024, 3, 1), datetime.date(2024, 1, 1)], [0.5, 0.25]])
def test_numbers_and_dates_have_their_natural_order(values: list[object]) -> None:
    column = bind_sensitive("value", None, pl.Series(values))
    assert column.ordered
    assert column.labels.to_list() == sorted(values)


def test_a_list_declares_the_domain_and_its_order() -> None:
    column = bind_sensitive("stage", ["low", "middle", "high"], pl.Series(["high", "low"]))
    assert column.ordered
    assert column.size == 3
    assert column.codes(pl.Series(["high", "low"])).tolist() == [2, 0]


def test_a_value_outside_the_declared_domain_is_named() -> None:
    column = bind_sensitive("stage", ["low", "high"], pl.Series(["high"]))
    with pytest.raises(DataError, match=r"Column 'stage' has the value 'hihg' \(row 1\).*Did you mean 'high'"):
        column.codes(pl.Series(["hihg"]))


def test_a_hierarchy_gives_the_domain_and_the_tree() -> None:
    tree = Hierarchy.taxonomy({"stomach": ["ulcer", "gastritis"], "lung": ["flu"]})
    column = bind_sensitive("illness", tree, pl.Series(["flu"]))
    assert column.size == 3
    assert column.hierarchy is not None
    assert column.hierarchy.height == 2
    assert not column.ordered


@pytest.mark.parametrize("kind", [None, ["flu", "hiv"], Hierarchy.suppression(["flu", "hiv"])])
def test_a_missing_value_is_a_value_of_its_own(kind: object) -> None:
    column = bind_sensitive("illness", kind, pl.Series(["flu", None, "hiv"]))
    assert column.texts == ("flu", "hiv", "(missing)")
    assert column.codes(pl.Series(["hiv", None])).tolist() == [1, 2]
    assert column.position(None) == 2
    assert column.position("hiv") == 1


def test_categories_are_known_by_their_text() -> None:
    column = bind_sensitive("illness", None, pl.Series(["b", "a"], dtype=pl.Categorical))
    assert column.labels.dtype == pl.String
    assert column.codes(pl.Series(["b", "a"], dtype=pl.Categorical)).tolist() == [1, 0]


def test_values_written_by_people_are_found_by_their_text() -> None:
    column = bind_sensitive("pay", None, pl.Series([10, 20]))
    assert column.position(20) == column.position("20") == 1
    with pytest.raises(DataError, match="Column 'pay' has no value '30'"):
        column.position(30)


def test_numbers_are_offered_where_values_are_numbers() -> None:
    numbers = bind_sensitive("pay", None, pl.Series([10, None, 20])).numbers()
    assert numbers is not None
    assert numbers.tolist()[:2] == [10, 20]
    assert np.isnan(numbers[2])
    assert bind_sensitive("illness", None, pl.Series(["flu"])).numbers() is None


def test_a_declared_list_of_another_type_is_refused() -> None:
    with pytest.raises(DataError, match="declared for sensitive column 'pay' do not have its type"):
        bind_sensitive("pay", ["low", "high"], pl.Series([1, 2]))


def test_a_declared_value_that_repeats_is_refused() -> None:
    with pytest.raises(DataError, match="'illness' repeat 'flu'"):
        bind_sensitive("illness", ["flu", "hiv", "flu"], pl.Series(["flu"]))


def test_columns_are_equal_when_they_number_the_same_values_alike() -> None:
    one = bind_sensitive("illness", None, pl.Series(["flu", "hiv", None]))
    assert one == bind_sensitive("illness", None, pl.Series([None, "hiv", "flu"]))
    assert hash(one) == hash(bind_sensitive("illness", None, pl.Series([None, "hiv", "flu"])))
    assert one != bind_sensitive("illness", None, pl.Series(["flu", "hiv"]))
    assert one != bind_sensitive("illness", ["flu", "hiv"], pl.Series(["flu", None]))
    assert one != bind_sensitive("disease", None, pl.Series(["flu", "hiv", None]))


def test_the_missing_value_is_not_taken_for_a_text_that_is_spelled_like_it() -> None:
    column = bind_sensitive("s", None, pl.Series("s", ["(missing)", "flu", None]))
    assert column.texts == ("(missing)", "flu", "(missing)'")
    assert (column.position("(missing)"), column.position(None)) == (0, 2)


def test_a_number_is_found_however_it_is_spelled() -> None:
    floats = bind_sensitive("pay", None, pl.Series("pay", [1.0, 2.5, None]))
    assert [floats.position(value) for value in (1, "1", "1.00", 2.5, None)] == [0, 0, 0, 1, 2]
    assert bind_sensitive("n", None, pl.Series("n", [7])).position("7.0") == 0
    for wrong in ("seven", "7.5"):
        with pytest.raises(DataError, match=f"Column 'n' has no value '{wrong}'"):
            bind_sensitive("n", None, pl.Series("n", [7])).position(wrong)
    with pytest.raises(DataError, match="has no value '1'"):
        bind_sensitive("code", None, pl.Series("code", ["1.0"])).position("1")


def test_times_of_day_that_differ_below_a_second_are_different_texts() -> None:
    times = [datetime.time(5), datetime.time(5, 0, 0, 500)]
    column = bind_sensitive("at", None, pl.Series("at", times))
    assert column.texts == ("05:00:00", "05:00:00.000500")


def test_a_moment_or_a_truth_is_found_however_it_is_spelled() -> None:
    moments = bind_sensitive("at", None, pl.Series("at", [datetime.datetime(2024, 1, 1, 5), None]))
    assert [moments.position(text) for text in ("2024-01-01 05:00:00", "2024-01-01 05:00:00.000", None)] == [0, 0, 1]
    assert bind_sensitive("ill", None, pl.Series("ill", [False, True, None])).position(True) == 1
    with pytest.raises(DataError, match="Column 'at' has no value 'noon'"):
        moments.position("noon")
