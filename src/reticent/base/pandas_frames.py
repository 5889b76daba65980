"""Frames of polars as frames of pandas, without the package pyarrow."""

from __future__ import annotations

from typing import Any

import polars as pl

from reticent.errors import MissingPackage


def as_pandas(frame: pl.DataFrame) -> Any:
    """The frame as pandas has it: missing numbers are NaN, dates are datetimes, categories stay categories. Raises if pandas is missing."""
    try:
        import pandas as pd
    except ModuleNotFoundError as error:
        raise MissingPackage(f"to_pandas needs the package {error.name}. Install it with: pip install pandas") from None
    return pd.DataFrame({column.name: _column(column) for column in frame}, index=range(frame.height))


def _column(column: pl.Series) -> Any:
    """Return a polars column as the pandas series that a pandas user expects."""
    import pandas as pd

    dtype = column.dtype
    if isinstance(dtype, pl.Categorical | pl.Enum):
        texts = column.cast(pl.String)
        known = dtype.categories if isinstance(dtype, pl.Enum) else texts.unique(maintain_order=True).drop_nulls()
        return pd.Categorical(texts.to_list(), categories=known.to_list(), ordered=isinstance(dtype, pl.Enum))
    if isinstance(dtype, pl.Datetime) and dtype.time_zone is not None:
        utc = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        return pd.Series(utc.to_numpy()).dt.tz_localize("UTC").dt.tz_convert(dtype.time_zone)
    if dtype == pl.Date:
        return pd.Series(column.cast(pl.Datetime("ms")).to_numpy())
    if (dtype.is_numeric() and not dtype.is_decimal()) or isinstance(dtype, pl.Datetime | pl.Duration):
        return pd.Series(column.to_numpy())
    if dtype == pl.Boolean and not column.null_count():
        return pd.Series(column.to_numpy())
    return pd.Series(column.to_list(), dtype="str" if dtype == pl.String else object)
