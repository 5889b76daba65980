"""Values on their way into JSON and back: the types that published columns have, and the one way JSON is written."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import polars as pl

from reticent.data.plain import clock_text, real
from reticent.errors import DataError

_SAFE_INTEGER = 2**53

TYPES: Mapping[str, pl.DataType] = {
    "text": pl.String(),
    "integer": pl.Int64(),
    "unsigned": pl.UInt64(),
    "real": pl.Float64(),
    "boolean": pl.Boolean(),
    "date": pl.Date(),
    "datetime": pl.Datetime("us"),
}


def type_of(dtype: pl.DataType) -> str:
    """The published type that a column of ``dtype`` takes."""
    if dtype == pl.UInt64:
        return "unsigned"
    if dtype.is_integer() and dtype not in (pl.Int128, pl.UInt128):
        return "integer"
    if dtype.is_float():
        return "real"
    if dtype == pl.Boolean:
        return "boolean"
    if dtype == pl.Date:
        return "date"
    if isinstance(dtype, pl.Datetime) and dtype.time_zone is None:
        return "datetime"
    return "text"


def settled(series: pl.Series) -> pl.Series:
    """A column as it is published: one of :data:`TYPES`, NaN as null, categories as text (their order is that of the rows)."""
    dtype = series.dtype
    if dtype.is_nested() or dtype in (pl.Object, pl.Binary, pl.Duration):
        raise DataError(
            f"Column {series.name!r} of type {dtype} cannot be published. Turn it into text or numbers, or leave it out."
        )
    if dtype == pl.Time:
        return clock_text(series)
    return (real(series) if dtype.is_float() else series).cast(TYPES[type_of(dtype)])


def to_plain(value: Any) -> Any:
    """``value`` as JSON can hold it: integers beyond 2^53, fractions, dates and infinities as text."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return value if abs(value) <= _SAFE_INTEGER else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, Fraction | Decimal):
        return str(value)
    if hasattr(value, "tolist"):
        return to_plain(value.tolist())
    if isinstance(value, Sequence | set | frozenset):
        return [to_plain(item) for item in value]
    return str(value)


def from_plain(value: Any, kind: str) -> Any:
    """A value of the published type ``kind`` as it was before :func:`to_plain`."""
    if value is None:
        return None
    try:
        if kind in ("integer", "unsigned"):
            # Bounds of an interval may lie between whole numbers.
            return value if isinstance(value, float) else int(value)
        if kind == "real":
            return float(value) if isinstance(value, str) else value
        if kind == "date":
            return datetime.date.fromisoformat(value)
        if kind == "datetime":
            read = datetime.datetime.fromisoformat(value)
            return read if "T" in value else read.date()
        if kind == "boolean" and not isinstance(value, bool):
            raise ValueError
    except (ValueError, TypeError):
        raise DataError(f"{value!r} is not of type {kind}.") from None
    if kind == "text" and not isinstance(value, str):
        raise DataError(f"{value!r} is not of type {kind}.")
    return value


def canonical(value: Any) -> bytes:
    """JSON as it is hashed and signed: sorted keys, no spaces, UTF-8."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def readable(value: Any) -> bytes:
    """JSON as it is written to files: sorted keys, two spaces, UTF-8, and only one way to write a value."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, indent=2, allow_nan=False).encode() + b"\n"


def parsed(content: bytes, name: str) -> dict[str, Any]:
    """The object that a JSON file holds; anything else is a :class:`DataError` that names the file."""
    try:
        value = json.loads(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise DataError(f"{name} is not UTF-8 text ({error.reason} at byte {error.start}).") from None
    except json.JSONDecodeError as error:
        raise DataError(f"{name} is not JSON: {error.msg} in line {error.lineno}, column {error.colno}.") from None
    except (RecursionError, ValueError):
        raise DataError(f"{name} is not JSON that can be read.") from None
    if not isinstance(value, dict):
        raise DataError(f"{name} must hold one JSON object.")
    return value
