"""Frames of any kind as polars frames, and columns converted to the type of another frame's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from reticent.base.arrow_streams import whole_frame
from reticent.base.foreign_columns import from_arrow, from_mapping, from_pandas
from reticent.errors import DataError, first_line


def as_polars(frame: Any) -> pl.DataFrame:
    """Any eager or lazy frame (polars, pandas, Arrow, narwhals, ...), mapping of columns or Arrow stream (a DuckDB
    relation, a record-batch reader) as a polars frame.

    Raises :class:`DataError` naming a column that cannot be read.
    """
    frame = _native(frame)
    if isinstance(frame, pl.DataFrame):
        return frame
    if isinstance(frame, pl.LazyFrame):
        return frame.collect(engine="streaming")
    if isinstance(frame, Mapping):
        return from_mapping(frame)
    kind = f"{type(frame).__module__.partition('.')[0]}.{type(frame).__name__}"
    if kind == "pandas.DataFrame":
        return from_pandas(frame)
    if kind.endswith(".Series"):
        raise DataError("A Series is one column, not a table. Pass a frame: series.to_frame().")
    if hasattr(frame, "__arrow_c_stream__"):
        return _from_stream(frame)
    import narwhals as nw

    try:
        converted: pl.DataFrame = nw.from_native(frame, eager_only=True).to_polars()
        return converted
    except (TypeError, ValueError, nw.exceptions.NarwhalsError):
        raise DataError(
            f"An object of type {type(frame).__name__} is not a table. Pass a polars, pandas or Arrow frame, an Arrow stream, a mapping of "
            "columns, or read a file with rt.read."
        ) from None


def _native(frame: Any) -> Any:
    """The frame that a narwhals frame wraps."""
    if type(frame).__module__.partition(".")[0] != "narwhals":
        return frame
    import narwhals as nw

    return nw.to_native(frame, pass_through=True)


def _from_stream(source: Any) -> pl.DataFrame:
    """All rows of an object with the Arrow stream interface."""
    try:
        import pyarrow as pa
    except ModuleNotFoundError:
        return _from_stream_directly(source)
    try:
        table = pa.RecordBatchReader.from_stream(source).read_all()
    except (pa.ArrowException, ValueError, TypeError, OSError, RuntimeError) as error:
        raise DataError(
            f"The Arrow stream of a {type(source).__name__} cannot be read as a table: {first_line(error)}."
        ) from None
    return from_arrow(table)


def _from_stream_directly(source: Any) -> pl.DataFrame:
    """Return a table that exports an Arrow stream as a polars frame, without pyarrow, which knows more types of columns."""
    try:
        return whole_frame(source)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, ValueError, TypeError) as error:
        raise DataError(
            f"The Arrow stream of a {type(source).__name__} cannot be read as a table: {first_line(error)}. "
            "The package pyarrow knows more types: pip install 'reticent[arrow]'."
        ) from None


def is_pattern(name: str) -> bool:
    """True if polars takes a column name for a pattern: ``*``, ``^a.*$``."""
    return name == "*" or (name.startswith("^") and name.endswith("$"))


def as_type_of(people: pl.Series, own: pl.DataType) -> pl.Series:
    """A population's column in the type of the table's. Raises for missing and unreadable values."""
    if people.null_count():
        raise DataError(
            f"The population has {people.null_count()} missing values in column {people.name!r}: such people belong to no group. "
            "Drop them, or fill in the values."
        )
    if people.dtype == own and own != pl.Categorical:
        return people
    plain = people.cast(pl.String) if people.dtype == pl.Categorical or people.dtype == pl.Enum else people
    try:
        return plain.cast(own)
    except pl.exceptions.PolarsError:
        raise DataError(
            f"Column {people.name!r} of the population has type {people.dtype}, but that of the table {own}. Read both with the same type."
        ) from None
