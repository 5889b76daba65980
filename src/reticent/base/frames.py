"""Frames of any kind as polars frames, and columns of one frame as the type of another's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from reticent.errors import DataError, first_line


def as_polars(frame: Any) -> pl.DataFrame:
    """Any eager frame (polars, pandas, Arrow, ...), mapping of columns or Arrow stream (a DuckDB relation, a record-batch reader) as a polars frame."""
    if isinstance(frame, pl.DataFrame):
        return frame
    if isinstance(frame, pl.LazyFrame):
        return frame.collect(engine="streaming")
    if isinstance(frame, Mapping):
        try:
            return pl.DataFrame(dict(frame))
        except (pl.exceptions.PolarsError, TypeError) as error:
            raise DataError(f"These columns do not form a table: {error}.") from None
    import narwhals as nw

    try:
        converted: pl.DataFrame = nw.from_native(frame, eager_only=True).to_polars()
        return converted
    except nw.exceptions.DuplicateError:
        names = [str(name) for name in frame.columns]
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"Two columns are named {twice!r}. Every column needs a name of its own.") from None
    except TypeError:
        if hasattr(frame, "__arrow_c_stream__"):
            return _from_stream(frame)
        raise DataError(
            f"An object of type {type(frame).__name__} is not a table. Give a polars, pandas or Arrow frame, an Arrow stream, a mapping of "
            "columns, or read a file with rt.read."
        ) from None


def _from_stream(source: Any) -> pl.DataFrame:
    """All rows of an object with the Arrow stream interface."""
    try:
        return pl.DataFrame(source)
    except (pl.exceptions.PolarsError, ValueError, TypeError, OSError) as error:
        raise DataError(
            f"The Arrow stream of a {type(source).__name__} cannot be read as a table: {first_line(error)}."
        ) from None


def is_pattern(name: str) -> bool:
    """Whether polars takes the name of a column for a pattern of names: ``*``, ``^a.*$``."""
    return name == "*" or (name.startswith("^") and name.endswith("$"))


def as_type_of(people: pl.Series, own: pl.DataType) -> pl.Series:
    """A column of the population as the type of the table's; missing and unreadable values are refused."""
    if people.null_count():
        raise DataError(
            f"The population has {people.null_count()} missing values in column {people.name!r}: such people belong to no group. "
            "Leave them out, or fill the values in."
        )
    if people.dtype == own and own != pl.Categorical:
        return people
    plain = people.cast(pl.String) if people.dtype == pl.Categorical or people.dtype == pl.Enum else people
    try:
        return plain.cast(own)
    except pl.exceptions.PolarsError:
        raise DataError(
            f"Column {people.name!r} of the population has type {people.dtype}, and that of the table {own}. Read both alike."
        ) from None
