"""Frames of pandas, polars, Arrow, narwhals and plain Python come in with every kind of column, or an error names the column and says what to do."""

from __future__ import annotations

import datetime
import decimal
import uuid
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent as rt
from reticent.base.frames import as_polars
from reticent.errors import DataError, Infeasible

ROWS = 40
AGES = [20 + number % 20 for number in range(ROWS)]
DAY = datetime.date(2024, 1, 31)


def pandas(values: Any) -> pd.DataFrame:
    return pd.DataFrame({"age": AGES, "x": values})


def objects(*values: Any) -> pd.DataFrame:
    return pandas(pd.Series(list(values) * (ROWS // len(values)), dtype=object))


def frame(values: Any, dtype: Any = None) -> pl.DataFrame:
    return pl.DataFrame({"age": AGES, "x": pl.Series(values, dtype=dtype)})


def arrow(values: Any) -> pa.Table:
    return pa.table({"age": AGES, "x": values})


READ: dict[str, tuple[Any, pl.DataType | type[pl.DataType], Any]] = {
    "a mixture of numbers and text": (objects(1, "a"), pl.String, "1"),
    "a mixture of truth and numbers": (objects(True, 3), pl.String, "True"),
    "a mixture of days and text": (objects(DAY, "x"), pl.String, "2024-01-31"),
    "whole numbers, others and nothing": (objects(1, 2.5, None, np.nan), pl.Float64, 1.0),
    "a mixture with decimals": (objects(decimal.Decimal("1.5"), 2), pl.Float64, 1.5),
    "days as objects": (objects(DAY, DAY), pl.Date, DAY),
    "decimals as objects": (objects(decimal.Decimal("1.25")), pl.Decimal(38, 2), decimal.Decimal("1.25")),
    "unique ids": (objects(uuid.UUID(int=1)), pl.String, str(uuid.UUID(int=1))),
    "months": (pandas(pd.period_range("2020-01", periods=ROWS, freq="M")), pl.String, "2020-01"),
    "days as periods": (pandas(pd.period_range("2020-01-01", periods=ROWS, freq="D")), pl.Date, datetime.date(2020, 1, 1)),
    "quarters as objects": (objects(pd.Period("2020Q1"), None), pl.String, "2020Q1"),
    "intervals": (pandas(pd.interval_range(0, ROWS, ROWS)), pl.String, "(0, 1]"),
    "cuts": (pandas(pd.cut(AGES, [0, 30, 100], right=False)), pl.String, "[0, 30)"),
    "beyond 64 bits": (pandas([2**70 + n for n in range(ROWS)]), pl.String, str(2**70)),
    "categories": (pandas(pd.Categorical(["a", None] * 20)), pl.String, "a"),
    "categories of a mixture": (pandas(pd.Categorical([1, "b"] * 20)), pl.String, "1"),
    "categories of numbers": (pandas(pd.Categorical([1, 2] * 20)), pl.Int64, 1),
    "moments with a zone": (pandas(pd.date_range("2020-01-01", periods=ROWS, tz="Europe/Paris")), pl.Datetime, None),
    "nullable numbers": (pandas(pd.array([1, None] * 20, dtype="Int64")), pl.Int64, 1),
    "nullable truth": (pandas(pd.array([True, None] * 20, dtype="boolean")), pl.Boolean, True),
    "nullable text": (pandas(pd.array(["a", None] * 20, dtype="string")), pl.String, "a"),
    "decimals of Arrow in pandas": (pandas(pd.array([decimal.Decimal("1.5")] * ROWS, dtype=pd.ArrowDtype(pa.decimal128(10, 1)))), pl.Decimal(10, 1), None),
    "sparse": (pandas(pd.arrays.SparseArray([0, 0, 1, 0] * 10)), pl.Int64, 0),
    "half floats": (pandas(np.arange(ROWS, dtype="float16")), pl.Float16, 0),
    "nothing": (pandas([None] * ROWS), pl.Null, None),
    "dictionaries of Arrow": (arrow(pa.array(["a", "b"] * 20).dictionary_encode()), pl.Categorical, "a"),
    "runs of Arrow": (arrow(pa.RunEndEncodedArray.from_arrays([20, 40], ["a", "b"])), pl.String, "a"),
    "wide decimals that fit": (arrow(pa.array([decimal.Decimal("1.5")] * ROWS, pa.decimal256(50, 2))), pl.Decimal(38, 2), None),
    "wide decimals": (arrow(pa.array([decimal.Decimal("1" * 45)] * ROWS, pa.decimal256(60, 0))), pl.String, "1" * 45),
    "decimals": (frame([decimal.Decimal("1.25")] * ROWS, pl.Decimal(20, 2)), pl.Decimal(20, 2), None),
    "128 bits": (frame([2**100] * ROWS, pl.Int128), pl.Int128, 2**100),
    "64 bits without a sign": (frame([2**64 - 1] * ROWS, pl.UInt64), pl.UInt64, 2**64 - 1),
    "times of day": (frame([datetime.time(5, 30)] * ROWS), pl.Time, datetime.time(5, 30)),
    "infinite numbers": (frame([float("inf"), 1.0] * 20), pl.Float64, None),
    "plain lists": ({"age": AGES, "x": [1, "a"] * 20}, pl.String, "1"),
    "large numbers of Python": ({"age": AGES, "x": [2**70] * ROWS}, pl.String, str(2**70)),
    "an array": ({"age": np.array(AGES), "x": np.array(["a", 2] * 20, dtype=object)}, pl.String, "a"),
}  # fmt: skip


@pytest.mark.parametrize("what", READ)
def test_a_column_is_read_as_it_was_meant(what: str) -> None:
    given, dtype, first = READ[what]
    read = as_polars(given)["x"]
    assert read.dtype == dtype
    assert read.len() == ROWS
    assert first is None or read[0] == first


QUICK = (
    "a mixture of numbers and text",
    "months",
    "beyond 64 bits",
    "128 bits",
    "64 bits without a sign",
    "infinite numbers",
    "times of day",
)


@pytest.mark.parametrize(
    "what", [each if each in QUICK else pytest.param(each, marks=pytest.mark.slow) for each in READ]
)
def test_what_is_read_is_inspected_and_published(what: str) -> None:
    inspected = rt.inspect(READ[what][0], prices=False)
    assert inspected.table().rows == ROWS
    types = inspected.parsed().sections.data.types
    table = rt.read(READ[what][0], types=types, quasi=["age"], sensitive="x", nulls="category")
    published = rt.publish(table, rt.KAnonymity(2), method="Mondrian").frame
    assert published.height == ROWS


class Thing:
    """Something that only Python knows."""


UNREADABLE: dict[str, tuple[Any, str]] = {
    "complex numbers": (pandas(np.arange(ROWS) + 1j), "Column 'x' holds complex numbers, which have no order. Split it into real"),
    "complex numbers in a list": ({"age": AGES, "x": [1j] * ROWS}, "Column 'x' holds complex numbers"),
    "complex numbers in an array": ({"x": np.array([1j])}, "Column 'x' holds complex numbers"),
    "objects": (objects(Thing()), "Column 'x' holds Thing objects, such as <"),
    "lists beside text": (objects([1], "a"), "Column 'x' holds list objects, such as [1], among or instead of plain values"),
    "unions": (arrow(pa.UnionArray.from_sparse(pa.array([0] * ROWS, pa.int8()), [pa.array(AGES)])), "Column 'x' has the type sparse_union"),
    "months and days": (arrow(pa.array([pa.MonthDayNano([1, 2, 3])] * ROWS)), "Column 'x' has the type month_day_nano_interval, which cannot be read"),
    "one name twice": (pd.DataFrame(np.zeros((3, 2)), columns=["a", "a"]), "Two columns are named 'a', columns 1 and 2"),
    "a number and its text": (pd.DataFrame(np.zeros((3, 2)), columns=[1, "1"]), "Two columns are named '1'"),
    "one name twice in Arrow": (pa.Table.from_arrays([pa.array([1])] * 2, names=["a", "a"]), "Two columns are named 'a'"),
    "a series": (pd.Series(AGES), "A Series is one column, not a table"),
    "columns of two lengths": ({"a": [1, 2], "b": [1, 2, 3]}, "These columns do not form a table"),
    "an array without names": (np.zeros((3, 2)), "An object of type ndarray is not a table"),
    "a list": ([1, 2], "An object of type list is not a table"),
}  # fmt: skip


@pytest.mark.parametrize("what", UNREADABLE)
def test_what_cannot_be_read_is_an_error_that_names_the_column(what: str) -> None:
    given, message = UNREADABLE[what]
    for read in (
        as_polars,
        rt.inspect,
        lambda each: rt.read(each, quasi=["age"]),
        lambda each: rt.Table(each, quasi=["age"]),
    ):
        with pytest.raises(DataError) as caught:
            read(given)
        assert message in str(caught.value)


NOT_JUDGED: dict[str, tuple[Any, str]] = {
    "lists": (objects([1]), "has type List(Int64), whose values cannot be compared or generalized. Convert it to plain columns first, or drop it"),
    "structs": (frame([{"a": 1}] * ROWS), "Convert it to plain columns first"),
    "bytes": (frame([b"a"] * ROWS), "Convert it to text"),
    "lengths of time": (pandas(pd.to_timedelta(range(ROWS), unit="h")), "Convert it to a number, such as days or hours"),
}  # fmt: skip


@pytest.mark.parametrize("what", NOT_JUDGED)
def test_what_cannot_be_judged_is_proposed_for_nothing_and_refused_by_its_name(what: str) -> None:
    given, message = NOT_JUDGED[what]
    inspected = rt.inspect(given)
    assert inspected.roles["x"] is None
    assert inspected.table().rows == ROWS
    with pytest.raises(DataError) as caught:
        rt.read(given, quasi=["age", "x"])
    assert message in str(caught.value)


def test_objects_of_polars_are_refused_where_they_are_looked_at() -> None:
    odd = frame([Thing()] * ROWS, pl.Object)
    assert rt.read(odd, quasi=["age"]).rows == ROWS
    with pytest.raises(DataError, match="Column 'x' holds Python objects"):
        rt.inspect(odd)


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        ([0, 1], ["0", "1"]),
        (["age", None], ["age", "column_2"]),
        ([("a", "x"), ("a", "")], ["a_x", "a"]),
        (pd.MultiIndex.from_tuples([("a", "x"), ("b", 3)]), ["a_x", "b_3"]),
        ([datetime.date(2024, 1, 1), 2.5], ["2024-01-01", "2.5"]),
    ],
)
def test_names_that_are_no_text_become_text(columns: Any, names: list[str]) -> None:
    given = pd.DataFrame(np.arange(80).reshape(40, 2), columns=columns)
    assert as_polars(given).columns == names
    assert list(rt.inspect(given).roles) == names


PEOPLE = pl.DataFrame(
    {"age": [20 + n % 30 for n in range(60)], "sex": ["f", "m"] * 30, "pay": [f"${1000 + 7 * n:,}" for n in range(60)]}
)


@pytest.mark.parametrize("wrap", [lambda each: each, pl.DataFrame.lazy, pl.DataFrame.to_arrow, pl.DataFrame.to_pandas, pl.DataFrame.to_dict, nw.from_native,
                                  lambda each: nw.from_native(each.lazy()), lambda each: nw.from_native(each.to_pandas()), lambda each: each.to_arrow().to_reader(),
                                  lambda each: each.to_arrow().to_batches()[0]])  # fmt: skip
def test_every_kind_of_frame_is_read(wrap: Any) -> None:
    assert as_polars(wrap(PEOPLE)).equals(PEOPLE)


@pytest.mark.parametrize(
    "wrap", [pl.DataFrame.to_pandas, lambda each: nw.from_native(each.lazy()), lambda each: each.to_arrow().to_reader()]
)
def test_a_frame_is_inspected_like_a_file(wrap: Any, tmp_path: Any) -> None:
    PEOPLE.write_csv(tmp_path / "a.csv")
    file, other = rt.inspect(tmp_path / "a.csv"), rt.inspect(wrap(PEOPLE))
    assert other.roles == file.roles
    assert other.proposal.definition == file.proposal.definition
    assert [each.hierarchy for each in other.proposal.columns] == [each.hierarchy for each in file.proposal.columns]
    assert other.table().rows == PEOPLE.height
    assert other.table().quasi == file.table().quasi


@pytest.mark.parametrize("empty", [pd.DataFrame(), pl.DataFrame(), {}])
def test_a_frame_without_columns_is_refused(empty: Any) -> None:
    with pytest.raises(DataError, match=r"has no columns\. There is nothing to publish"):
        rt.inspect(empty)


@pytest.mark.parametrize("empty", [pl.DataFrame({"a": []}), pd.DataFrame({"a": []})])
def test_a_frame_without_rows_has_no_policy(empty: Any) -> None:
    found = rt.inspect(empty)
    assert found.notes
    with pytest.raises(Infeasible):
        found.save("policy.toml")


SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3), st.dates(), st.datetimes(), st.times(), st.decimals(allow_nan=False, allow_infinity=False),
    st.uuids(), st.complex_numbers(), st.lists(st.integers(), max_size=2), st.binary(max_size=3), st.timedeltas(), st.dictionaries(st.text(max_size=1), st.integers(), max_size=1),
)  # fmt: skip


@given(st.lists(SCALARS, min_size=1, max_size=5))
def test_any_values_are_read_or_refused(values: list[Any]) -> None:
    for given_frame in ({"x": values}, pd.DataFrame({"x": pd.Series(values, dtype=object)})):
        try:
            assert as_polars(given_frame).height == len(values)
        except DataError as error:
            message = str(error)
        else:
            continue
        assert "'x'" in message
