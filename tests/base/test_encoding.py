"""Encoding: every value finds its own place, whatever its type, and an unknown one is named."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_series_equal

from reticent.base import encoding
from reticent.base.encoding import encode, is_sorted, occurring, smallest, sorted_values
from reticent.errors import DataError
from tests.sampling import examples

INTEGERS = {
    pl.Int8: (-(2**7), 2**7 - 1),
    pl.UInt8: (0, 2**8 - 1),
    pl.Int16: (-(2**15), 2**15 - 1),
    pl.UInt32: (0, 2**32 - 1),
    pl.Int64: (-(2**63), 2**63 - 1),
    pl.UInt64: (0, 2**64 - 1),
}


@examples(150)
@given(data=st.data(), dtype=st.sampled_from(list(INTEGERS)), known_dtype=st.sampled_from(list(INTEGERS)))
def test_integers_of_any_width_find_their_place(data: st.DataObject, dtype: Any, known_dtype: Any) -> None:
    low, high = (end(a, b) for end, a, b in zip((max, min), INTEGERS[dtype], INTEGERS[known_dtype], strict=True))
    near = st.integers(low, high) | st.integers(low, min(high, low + 300)) | st.integers(max(low, high - 300), high)
    known = data.draw(st.lists(near, min_size=1, max_size=20, unique=True))
    rows = data.draw(st.lists(st.sampled_from(known), max_size=30))
    codes = encode(pl.Series(rows, dtype=dtype), pl.Series(known, dtype=known_dtype), "x")
    assert [known[code] for code in codes.tolist()] == rows
    assert codes.dtype == smallest(len(known))


@pytest.mark.parametrize(
    "known",
    [
        ["a", "b", "é", ""],
        [True, False],
        [1.5, -0.25, 1e300],
        [datetime.date(2024, 1, 1), datetime.date(1, 1, 1)],
        [datetime.datetime(2024, 1, 1, 12), datetime.datetime(2024, 1, 1)],
    ],
)
def test_values_of_any_type_find_their_place(known: list[Any]) -> None:
    rows = [known[-1], known[0], known[-1], *known]
    codes = encode(pl.Series(rows), pl.Series(known), "x")
    assert [known[code] for code in codes.tolist()] == rows


@pytest.mark.parametrize("dtype", [pl.Categorical, pl.Enum(["z", "b", "a"])])
def test_categories_find_their_place_whatever_their_own_order(dtype: Any) -> None:
    codes = encode(pl.Series(["b", "a", "b"], dtype=dtype), pl.Series(["a", "b"]), "x")
    assert codes.tolist() == [1, 0, 1]


def test_a_null_takes_its_own_code_or_is_refused() -> None:
    known = pl.Series([10, 20, None])
    assert encode(pl.Series([20, None, 10]), known, "x", null_code=2).tolist() == [1, 2, 0]
    with pytest.raises(DataError) as caught:
        encode(pl.Series([10, None, None]), pl.Series([10]), "x")
    assert str(caught.value) == (
        "Column 'x' has no value in row 2 (2 missing in all). Use nulls='drop' to drop such rows, or nulls='category' to treat "
        "'missing' as a value."
    )


@pytest.mark.parametrize(
    ("rows", "known", "value"),
    [
        ([1, 2, 7], [1, 2], "7"),
        ([1, 2, -7], [1, 2], "-7"),
        ([1, 10**12], [1, 2], "1000000000000"),
        (["left", "rihgt"], ["left", "right"], "'rihgt'"),
        ([1.0, 2.5], [1.0], "2.5"),
        ([None, "b"], ["a"], "'b'"),
    ],
)
def test_an_unknown_value_is_named_with_its_row(rows: list[Any], known: list[Any], value: str) -> None:
    with pytest.raises(DataError) as caught:
        encode(pl.Series(rows), pl.Series(known), "col")
    assert f"Column 'col' has the value {value} (row {len(rows)})" in str(caught.value)


def test_an_unknown_text_comes_with_a_hint() -> None:
    with pytest.raises(DataError, match=r"Did you mean 'right'\?"):
        encode(pl.Series(["rihgt"]), pl.Series(["left", "right"]), "col")


def test_the_smallest_type_that_counts_the_values_is_used() -> None:
    assert [smallest(size) for size in (0, 1, 256, 257, 65537)] == [
        np.dtype(kind) for kind in ("uint8", "uint8", "uint8", "uint16", "uint32")
    ]


_TEXTS = st.text(st.sampled_from("ab é\U00010000'"), max_size=3)
_COLUMNS = st.one_of(
    st.lists(st.none() | _TEXTS, max_size=12).map(lambda values: pl.Series("v", values, dtype=pl.String)),
    st.lists(st.none() | st.integers(-3, 3), max_size=12).map(lambda values: pl.Series("v", values, dtype=pl.Int16)),
)


@examples(200)
@given(_COLUMNS)
def test_few_values_are_sorted_and_looked_up_as_many_are(column: pl.Series) -> None:
    def found() -> tuple[pl.Series, pl.Series, list[int], bool]:
        values = sorted_values(column)
        null = len(values) - 1 if values.null_count() else None
        texts = column.cast(pl.String).drop_nulls()
        return values, occurring(column), encode(column, values, "v", null).tolist(), is_sorted(texts)

    few = found()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(encoding, "_FEW", -1)
        many = found()
    assert_series_equal(few[0], many[0])
    assert_series_equal(few[1], many[1])
    assert few[2:] == many[2:]
