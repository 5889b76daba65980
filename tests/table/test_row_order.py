"""Rows sorted and grouped by numbers stand as their values would."""

import datetime

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from reticent.table.row_order import in_order, is_in_order
from tests.sampling import examples

SCHEMA = {"text": pl.String, "number": pl.Int64, "real": pl.Float64, "truth": pl.Boolean, "day": pl.Date}
ROWS = st.lists(
    st.tuples(
        st.none() | st.text(max_size=3),
        st.none() | st.integers(-(2**63), 2**63 - 1) | st.integers(-2, 2),
        st.none() | st.floats(allow_nan=False).map(lambda value: value + 0.0),
        st.none() | st.booleans(),
        st.none() | st.dates(datetime.date(1900, 1, 1)),
    ),
    max_size=30,
)


@examples(150)
@given(rows=ROWS)
def test_rows_are_sorted_by_all_columns_with_nulls_last(rows) -> None:
    frame = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    found = in_order(frame)
    assert found.equals(frame.sort(frame.columns, nulls_last=True), null_equal=True)
    assert is_in_order(found)
    assert is_in_order(frame) == frame.equals(found, null_equal=True)


def test_unsigned_numbers_beyond_63_bits_are_put_in_order() -> None:
    values = [2**64 - 1, 2**64 - 3, 2**64 - 2, 2**64 - 1]
    ordered = in_order(pl.DataFrame({"n": pl.Series(values, dtype=pl.UInt64)}))
    assert ordered["n"].to_list() == sorted(values)
