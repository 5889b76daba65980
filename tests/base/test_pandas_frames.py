"""Frames to and from pandas as the path through Arrow makes them, which is the oracle."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pandas as pd
import polars as pl

from reticent.base.foreign_columns import from_pandas
from reticent.base.pandas_frames import as_pandas


def test_a_frame_for_pandas_is_the_one_through_arrow() -> None:
    frame = pl.DataFrame(
        {
            "whole": [1, None, 3],
            "small": pl.Series([1, 2, 3], dtype=pl.Int8),
            "text": ["a", None, "c"],
            "holes": [True, False, None],
            "flags": [True, False, True],
            "day": [datetime.date(2020, 1, 1), None, datetime.date(1900, 1, 1)],
            "time": [datetime.datetime(2020, 1, 1), None, None],
            "kind": pl.Series(["x", None, "y"], dtype=pl.Categorical),
            "step": pl.Series(["x", None, "y"], dtype=pl.Enum(["y", "x"])),
            "part": [1.5, None, float("nan")],
            "price": [Decimal("1.1"), None, None],
            "list": [[1], None, [2, 3]],
            "took": [datetime.timedelta(1), None, None],
        }
    ).with_columns(pl.col("time").dt.replace_time_zone("Europe/Oslo").alias("there"))
    pd.testing.assert_frame_equal(as_pandas(frame), frame.to_pandas())
    assert as_pandas(frame[:0]).columns.tolist() == frame.columns


def test_columns_of_pandas_are_those_through_arrow() -> None:
    frame = pd.DataFrame(
        {
            "whole": pd.Series([1, None], dtype="Int8"),
            "text": pd.Series(["a", None], dtype="string"),
            "words": pd.Series(["a", None]),
            "flags": pd.Series([True, None], dtype="boolean"),
            "time": pd.Series([pd.Timestamp("2020-01-01"), None]),
            "seconds": pd.Series([pd.Timestamp("2020-01-01"), None]).astype("datetime64[s]"),
            "there": pd.Series([pd.Timestamp("2020-01-01", tz="Europe/Oslo"), None]),
            "took": pd.Series([pd.Timedelta(1, "h"), None]),
            "part": [1.5, None],
            "short": pd.Series([1.5, None], dtype="float32"),
            "nullable": pd.Series([1.5, None], dtype="Float64"),
            "bytes": pd.Series([1, 2], dtype="uint8"),
        }
    )
    found = from_pandas(frame)
    for name in frame:
        through_arrow = pl.Series(pl.from_pandas(frame[name], nan_to_null=True)).alias(str(name))
        assert found[str(name)].dtype == through_arrow.dtype
        assert found[str(name)].equals(through_arrow)
