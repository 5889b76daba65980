"""Rows as small integer keys for sorting and grouping. Sorting text itself is many times slower."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.encoding import encode, is_sorted, sorted_values
from reticent.base.packing import pack, sort_equal


def in_order(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows sorted by all columns, nulls last: a canonical order, computable from the rows alone."""
    keys, space = _keys(frame.get_columns(), frame.height)
    return frame if _rise(keys) else frame[sort_equal(keys, space)[0]]


def order_of(frame: pl.DataFrame) -> NDArray[np.int64]:
    """The permutation that sorts the rows as :func:`in_order` does."""
    return sort_equal(*_keys(frame.get_columns(), frame.height))[0]


def is_in_order(frame: pl.DataFrame) -> bool:
    """True if the rows are already sorted as by :func:`in_order`."""
    return _rise(_keys(frame.get_columns(), frame.height)[0])


def _rise(keys: NDArray[Any]) -> bool:
    return bool((keys[1:] >= keys[:-1]).all())


def _keys(columns: Sequence[pl.Series], rows: int) -> tuple[NDArray[Any], int]:
    """One integer per row, ordered like the rows' values."""
    encoded = [_codes(column) for column in columns]
    return pack([codes for codes, _ in encoded], [max(size, 1) for _, size in encoded], rows)


def _codes(column: pl.Series) -> tuple[NDArray[Any], int]:
    """A rank for every value of a column, nulls last, and the number of ranks."""
    if isinstance(column.dtype, pl.Enum) and is_sorted(column.dtype.categories):
        size, ranks = len(column.dtype.categories), column.to_physical()
        return (ranks.fill_null(size) if ranks.null_count() else ranks).to_numpy(), size + 1
    if column.dtype.is_integer() and len(column) and not column.null_count():
        low, high = cast(int, column.min()), cast(int, column.max())
        if high - low < len(column):
            # Numbers in a range this narrow serve as ranks themselves.
            dtype = np.uint64 if column.dtype == pl.UInt64 else np.int64
            ranks = np.subtract(column.to_numpy(), dtype(low), dtype=dtype, casting="unsafe")
            return ranks.astype(np.int64, copy=False), high - low + 1
    values = sorted_values(column)
    return encode(column, values, column.name, len(values) - 1 if values.null_count() else None), len(values)
