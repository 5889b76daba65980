"""Columns of pandas, Arrow and plain Python as polars columns, whatever they contain.

Each column is converted by itself, so the error for one that cannot be converted names it and what to do, instead of a
library's message. Nothing is lost: integers beyond 64 bits and mixtures of numbers, days and text become text, as in a
file; periods and intervals become text.
"""

from __future__ import annotations

import datetime
import decimal
import numbers
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from reticent.errors import DataError, first_line

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_SCALARS = (str, bool, numbers.Real, decimal.Decimal, datetime.date, datetime.time, uuid.UUID)
_LARGEST = 2**63


def from_pandas(frame: pd.DataFrame) -> pl.DataFrame:
    """A pandas frame without its index. Levels of column names are joined by ``_``, a column without a name is named by its position."""
    names = unique_names([_name(label, number) for number, label in enumerate(frame.columns, start=1)])
    return pl.DataFrame([_of_pandas(frame.iloc[:, index], name) for index, name in enumerate(names)])


def from_arrow(table: pa.Table) -> pl.DataFrame:
    """An Arrow table as a polars frame."""
    names = unique_names(table.schema.names)
    return pl.DataFrame([_of_arrow(table.column(index), name) for index, name in enumerate(names)])


def from_mapping(columns: Mapping[Any, Any]) -> pl.DataFrame:
    """Columns by name: lists, arrays, series; a scalar is broadcast."""
    names = unique_names([_name(label, number) for number, label in enumerate(columns, start=1)])
    series_by_name = {name: _of_values(values, name) for name, values in zip(names, columns.values(), strict=True)}
    try:
        return pl.DataFrame(series_by_name)
    except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
        lengths = ", ".join(
            f"{name!r} {len(values)}" for name, values in series_by_name.items() if isinstance(values, pl.Series)
        )
        raise DataError(f"These columns do not form a table: {first_line(error)}. Lengths: {lengths}.") from None


def unique_names(names: Sequence[str]) -> list[str]:
    """The names. Raises if they are not unique."""
    number_of: dict[str, int] = {}
    for number, name in enumerate(names, start=1):
        if number_of.setdefault(name, number) != number:
            raise DataError(
                f"Two columns are named {name!r}, columns {number_of[name]} and {number}. Every column needs a name of its own: rename one of them.",
                column=name,
            )
    return list(names)


def _name(label: Any, number: int) -> str:
    """A label as a name: its levels joined, or the position if there is none."""
    if isinstance(label, tuple):
        return "_".join(str(part) for part in label if part is not None and str(part)) or f"column_{number}"
    return f"column_{number}" if label is None or label != label else str(label)


def _of_pandas(column: pd.Series[Any], name: str) -> pl.Series:
    """Convert a pandas column to polars by its dtype; periods other than days, and intervals, become text."""
    import pandas as pd

    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        values = _of_pandas(dtype.categories.to_series(), name)
        codes = pl.Series(column.cat.codes.to_numpy())
        return values.gather(codes.set(codes < 0, None)).alias(name)
    if isinstance(dtype, pd.PeriodDtype):
        if dtype.freq == pd.offsets.Day():
            return _of_pandas(column.dt.to_timestamp(), name).cast(pl.Date)
        return _texts(column, name)
    if isinstance(dtype, pd.IntervalDtype):
        return _texts(column, name)
    if isinstance(dtype, pd.SparseDtype):
        return _of_pandas(column.sparse.to_dense(), name)
    if isinstance(dtype, pd.ArrowDtype):
        import pyarrow as pa

        return _of_arrow(pa.chunked_array([pa.array(column)]), name)
    if pd.api.types.is_object_dtype(dtype):
        return _series(column.where(column.notna(), None).tolist(), name)
    if getattr(dtype, "kind", "") == "c":
        raise _complex(name)
    try:
        return _of_plain_pandas(column).alias(name)
    except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError) as error:
        raise _unreadable(name, str(dtype), error) from None


def _of_plain_pandas(column: pd.Series[Any]) -> pl.Series:
    """A column of numbers, times or text."""
    dtype = column.dtype
    zone = getattr(dtype, "tz", None)
    if zone is not None:
        utc = column.dt.tz_convert("UTC").dt.tz_localize(None)
        return _of_plain_pandas(utc).dt.replace_time_zone("UTC").dt.convert_time_zone(str(zone))
    if isinstance(dtype, np.dtype) and dtype.kind in "biufmM":
        values = column.to_numpy()
        if dtype.kind in "mM" and np.datetime_data(dtype)[0] == "s":
            values = values.astype(f"{dtype.kind}8[ms]")
        series = pl.Series(np.ascontiguousarray(values))
        return series.fill_nan(None) if dtype.kind == "f" else series
    series = _series(column.astype(object).where(column.notna(), None).tolist(), "")
    # The nullable types of pandas.
    numpy_dtype = getattr(dtype, "numpy_dtype", None)
    return (
        series
        if numpy_dtype is None or numpy_dtype.kind not in "biuf"
        else series.cast(pl.Series(np.empty(0, dtype=numpy_dtype)).dtype)
    )


def _of_arrow(column: pa.ChunkedArray, name: str) -> pl.Series:
    """Convert an Arrow column to polars by its type, decoding what polars does not read."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        if kind.extension_name.startswith("pandas."):
            return _of_pandas(column.to_pandas(), name)
        return _of_arrow(pa.chunked_array([chunk.storage for chunk in column.chunks], kind.storage_type), name)
    if pa.types.is_run_end_encoded(kind):
        decoded = [pc.run_end_decode(chunk) for chunk in column.chunks]
        return _of_arrow(pa.chunked_array(decoded, kind.value_type), name)
    if pa.types.is_decimal256(kind):
        narrower = pa.decimal128(38, kind.scale) if 0 <= kind.scale <= 38 else None
        try:
            return (
                _of_arrow(column.cast(narrower), name)
                if narrower is not None
                else _of_arrow(column.cast(pa.string()), name)
            )
        except pa.ArrowInvalid:
            return _of_arrow(column.cast(pa.string()), name)
    if pa.types.is_union(kind) or pa.types.is_interval(kind):
        raise _unreadable(name, str(kind), None)
    try:
        return pl.Series(pl.from_arrow(column)).alias(name)
    except (pl.exceptions.PolarsError, TypeError, ValueError, pl.exceptions.PanicException) as error:
        raise _unreadable(name, str(kind), error) from None


def _of_values(values: Any, name: str) -> Any:
    """A series of values that may have mixed types; anything but a sequence is left to polars."""
    if isinstance(values, pl.Series):
        return values.alias(name)
    module = type(values).__module__.partition(".")[0]
    if module == "pandas":
        import pandas as pd

        return _of_pandas(values if isinstance(values, pd.Series) else pd.Series(values), name)
    if module == "pyarrow":
        import pyarrow as pa

        return _of_arrow(values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values]), name)
    if module == "numpy" and hasattr(values, "dtype"):
        if values.dtype.kind == "c":
            raise _complex(name)
        values = values.tolist() if values.dtype == object else values
    if isinstance(values, str) or not isinstance(values, Iterable):
        return values
    return _series(values, name)


def _series(values: Iterable[Any], name: str) -> pl.Series:
    """Return values as a series of one type; mixed values and integers beyond 64 bits become text."""
    values_listed: Any = values if hasattr(values, "__len__") else list(values)
    try:
        series = pl.Series(name, values_listed)
    except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError):
        return _mixed(values_listed, name)
    if series.dtype == pl.Object:
        return _mixed(values_listed, name)
    # Integers beyond 64 bits are kept as text, as in a file.
    exceeds_64_bits = series.dtype == pl.Int128 and not bool(series.is_between(-_LARGEST, _LARGEST - 1).all())
    return series.cast(pl.String) if exceeds_64_bits else series


def _mixed(values: Iterable[Any], name: str) -> pl.Series:
    """Values of mixed types: numbers as numbers, everything else as text."""
    present = [value for value in values if not _is_missing(value)]
    odd = next((value for value in present if not isinstance(value, _SCALARS) and not _is_pandas_scalar(value)), None)
    if isinstance(odd, complex):
        raise _complex(name)
    if odd is not None:
        raise DataError(
            f"Column {name!r} holds {type(odd).__name__} objects, such as {_short(odd)}, among or instead of plain values. Convert them to text or numbers, or drop the column.",
            column=name,
        )
    if all(isinstance(value, numbers.Real | decimal.Decimal) and not isinstance(value, bool) for value in present):
        exact = all(float(value) == value for value in present)
        if exact:
            return pl.Series(name, [None if _is_missing(value) else float(value) for value in values], dtype=pl.Float64)
    return pl.Series(name, [None if _is_missing(value) else str(value) for value in values], dtype=pl.String)


def _is_missing(value: Any) -> bool:
    """True for None, NaN, and pandas' missing values (``NaT``, ``NA``)."""
    if value is None or type(value).__name__ in ("NaTType", "NAType"):
        return True
    return isinstance(value, float) and value != value


def _is_pandas_scalar(value: Any) -> bool:
    """True for periods, intervals and durations, which have a text form."""
    kind = type(value)
    return kind.__module__.partition(".")[0] == "pandas" and kind.__name__ in ("Period", "Interval", "Timedelta")


def _texts(column: pd.Series[Any], name: str) -> pl.Series:
    return pl.Series(name, [None if _is_missing(value) else str(value) for value in column], dtype=pl.String)


def _complex(name: str) -> DataError:
    """Return the error for a column of complex numbers."""
    return DataError(
        f"Column {name!r} holds complex numbers, which have no order. Split it into real and imaginary parts, or drop it.",
        column=name,
    )


def _unreadable(name: str, kind: str, error: BaseException | None) -> DataError:
    """Return the error for a column of a type that cannot be read."""
    why = "" if error is None else f" ({first_line(error)})"
    return DataError(
        f"Column {name!r} has the type {kind}, which cannot be read{why}. Convert it to numbers, dates or text, or drop it.",
        column=name,
    )


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
