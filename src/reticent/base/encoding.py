"""Encoding of values as category codes: the only place where raw values are looked up in a list of known ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.errors import DataError, did_you_mean

_WIDEST_LOOKUP = 1 << 20
_MANY = 1 << 14
# For this few values a list is sorted and searched before polars has planned a query.
_FEW = 512


def looked_up(frame: pl.DataFrame, known: Mapping[str, pl.Series]) -> dict[str, pl.Series]:
    """Text columns looked up in their known values, all at once to use all cores; null for unknown values.

    A column that is not text, or is short, is left to :func:`encode`.
    """
    if frame.height <= _FEW:
        return {}
    texts = [name for name, values in known.items() if frame[name].dtype == pl.String and values.dtype == pl.String]
    expressions = [_enumerated(pl.col(name), _without_null(known[name])) for name in texts]
    # There is nothing to optimize, and the optimizer would take half as long as the work.
    codes = frame.lazy().select(expressions).collect(optimizations=pl.QueryOptFlags.none())
    return {series.name: series for series in codes}


def encode(
    series: pl.Series,
    known: pl.Series,
    column: str,
    null_code: int | None = None,
    found: pl.Series | None = None,
    first_row: int | None = 0,
) -> NDArray[np.integer[Any]]:
    """The index in ``known`` of every value of ``series``, as the smallest unsigned integers that fit.

    A null becomes ``null_code``. Without one, and for any unknown value, raises :class:`DataError` naming the first
    such value, its row (counted from ``first_row``, if rows are ordered) and the column. ``found`` is the result of
    :func:`looked_up`, if computed.
    """
    values = known if null_code is None else _without_null(known)
    if found is not None:
        codes = found
    elif series.dtype == pl.Categorical or series.dtype == pl.Enum:
        codes = _encode_categories(series, values)
    elif series.dtype.is_integer() and values.dtype.is_integer():
        codes = _encode_integers(series, values)
    elif series.dtype == pl.String and values.dtype == pl.String:
        codes = _encode_text(series, values)
    else:
        positions = pl.Series(range(len(values)), dtype=pl.UInt32)
        codes = series.replace_strict(values, positions, default=None, return_dtype=pl.UInt32)
    if codes.null_count():
        codes = _fill_nulls(series, codes, values, column, null_code, first_row)
    return codes.to_numpy().astype(smallest(len(known)), copy=False)


def _without_null(values: pl.Series) -> pl.Series:
    # Testing first is far cheaper than filtering few values.
    return values.drop_nulls() if values.null_count() else values


def _encode_text(series: pl.Series, values: pl.Series) -> pl.Series:
    """Return for each text the index of the known value that it equals; null if there is none."""
    if len(series) + len(values) > _FEW:
        return pl.select(_enumerated(pl.lit(series), values)).to_series()
    code_of = {value: code for code, value in enumerate(values.to_list())}
    return pl.Series([code_of.get(value) for value in series.to_list()], dtype=pl.UInt32)


def _enumerated(text: pl.Expr, values: pl.Series) -> pl.Expr:
    return text.cast(pl.Enum(values), strict=False).to_physical()


def sorted_values(column: pl.Series) -> pl.Series:
    """The distinct values of a column in order, nulls last."""
    if len(column) <= _FEW and (column.dtype == pl.String or column.dtype.is_integer()):
        distinct = set(column.to_list())
        # Sorting text by code points equals sorting it by bytes.
        return pl.Series(column.name, [*sorted(distinct - {None}), *distinct & {None}], dtype=column.dtype)
    values = column.unique()
    # For few values, synchronizing threads takes longer than sorting.
    return values.sort(nulls_last=True, multithreaded=len(values) > _MANY)


def occurring(column: pl.Series) -> pl.Series:
    """The values that occur in a column, sorted, without null; categories as text."""
    values = column.unique() if column.dtype == pl.Categorical or column.dtype == pl.Enum else column
    return _without_null(sorted_values(values.cast(pl.String) if values is not column else column))


def is_sorted(values: pl.Series) -> bool:
    """True if texts are sorted."""
    if len(values) > _FEW:
        return values.is_sorted()
    listed = values.to_list()
    return listed == sorted(listed)


def smallest(size: int) -> np.dtype[Any]:
    """The narrowest unsigned type for codes below ``size``: narrow codes make scans fast."""
    return np.dtype(np.min_scalar_type(max(size - 1, 0)))


def _encode_categories(series: pl.Series, values: pl.Series) -> pl.Series:
    """Look the categories up once, then map their physical codes."""
    categories = series.unique().drop_nulls()
    physical = categories.to_physical().to_numpy()
    codes = categories.cast(pl.String).cast(pl.Enum(values.cast(pl.String)), strict=False).to_physical()
    lookup = np.full(int(physical.max(initial=0)) + 1, -1, dtype=np.int64)
    lookup[physical] = codes.cast(pl.Int64).fill_null(-1).to_numpy()
    return _from_lookup(lookup, series.to_physical(), low=0)


def _encode_integers(series: pl.Series, values: pl.Series) -> pl.Series:
    """Use a lookup table if the known values are dense, otherwise binary search."""
    if len(values) == 0 or len(series) == series.null_count():
        return pl.Series([None] * len(series), dtype=pl.UInt32)
    if series.dtype != values.dtype:
        series, values = (column.cast(_widest(series.dtype, values.dtype)) for column in (series, values))
    low, high = values.min(), values.max()
    assert isinstance(low, int)
    assert isinstance(high, int)
    if high - low >= _WIDEST_LOOKUP or high >= 2**63 or low < -(2**63):
        positions = pl.Series(range(len(values)), dtype=pl.UInt32)
        return series.replace_strict(values, positions, default=None, return_dtype=pl.UInt32)
    if series.dtype == pl.Int128:
        series, values = series.cast(pl.Int64, strict=False), values.cast(pl.Int64)
    lookup = np.full(high - low + 1, -1, dtype=np.int64)
    lookup[values.to_numpy().astype(np.int64) - low] = np.arange(len(values))
    if cast(int, series.min()) < low or cast(int, series.max()) > high:
        series = series.to_frame("v").select(pl.when(pl.col("v").is_between(low, high)).then(pl.col("v"))).to_series()
    return _from_lookup(lookup, series, low)


def _widest(first: pl.DataType, second: pl.DataType) -> pl.DataType:
    """An integer type that holds the values of both."""
    return pl.Int128() if {first, second} & {pl.UInt64(), pl.Int128()} else pl.Int64()


def _from_lookup(lookup: NDArray[np.int64], physical: pl.Series, low: int) -> pl.Series:
    """``lookup[physical - low]``, null if the lookup has -1 or the value is null."""
    has_missing = physical.null_count() > 0
    plain = physical.fill_null(low) if has_missing else physical
    offsets = plain.to_numpy()
    # In 64 bits: the difference of two 8-bit numbers may need nine.
    codes = lookup[np.subtract(offsets, low, dtype=np.int64, casting="unsafe")] if low else lookup[offsets]
    if not has_missing and (codes >= 0).all():
        return pl.Series(codes)
    is_known = physical.is_not_null() & (pl.Series(codes) >= 0)
    return pl.select(pl.when(is_known).then(pl.Series(codes))).to_series()


def _fill_nulls(
    series: pl.Series, codes: pl.Series, values: pl.Series, column: str, null_code: int | None, first_row: int | None
) -> pl.Series:
    """Fill the codes of nulls with ``null_code``; raise for the first unknown value, or null if no code is given."""
    unknown = codes.is_null() & series.is_not_null()
    if unknown.any():
        row = unknown.arg_max()
        assert row is not None
        value = series[row]
        raise DataError(
            f"Column {column!r} has the value {value!r}{_place(row, first_row, ' (row {})')}, which its declared domain of {len(values)} values does not "
            f"contain.{did_you_mean(value, values.head(10_000).to_list())} Add it to the hierarchy, or correct the data.",
            setting=("domain", "values"),
            column=column,
            value=value,
        )
    if null_code is None:
        row = codes.is_null().arg_max()
        assert row is not None
        raise DataError(
            f"Column {column!r} has no value{_place(row, first_row, ' in row {}')} ({codes.null_count()} missing in all). "
            "Use nulls='drop' to drop such rows, or nulls='category' to treat 'missing' as a value.",
            setting=("nulls",),
            column=column,
        )
    return codes.cast(pl.UInt32).fill_null(null_code)


def _place(row: int, first_row: int | None, template: str) -> str:
    """The location of a value as part of a sentence; empty if rows are unordered."""
    return "" if first_row is None else template.format(first_row + row + 1)
