"""Columns as they are published, and the one way JSON is written."""

from __future__ import annotations

import json
from typing import Any

import polars as pl

from reticent.base.documents import parse_json
from reticent.errors import DataError
from reticent.table import ValueType, clock_text, real


def settled(series: pl.Series) -> pl.Series:
    """A column as it is published: of a :class:`ValueType`, NaN as null, categories as text (their order is that of the rows)."""
    dtype = series.dtype
    if dtype.is_nested() or dtype in (pl.Object, pl.Binary, pl.Duration):
        raise DataError(
            f"Column {series.name!r} of type {dtype} cannot be published. Turn it into text or numbers, or leave it out."
        )
    if dtype == pl.Time:
        return clock_text(series)
    return (real(series) if dtype.is_float() else series).cast(ValueType.published(dtype).dtype)


def canonical(value: Any) -> bytes:
    """JSON as it is hashed and signed: sorted keys, no spaces, UTF-8."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def readable(value: Any) -> bytes:
    """JSON as it is written to files: sorted keys, two spaces, UTF-8, and only one way to write a value."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, indent=2, allow_nan=False).encode() + b"\n"


def parsed(content: bytes, name: str) -> dict[str, Any]:
    """The object that a JSON file holds; anything else is a :class:`DataError` that names the file."""
    try:
        value = parse_json(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise DataError(f"{name} is not UTF-8 text ({error.reason} at byte {error.start}).") from None
    except json.JSONDecodeError as error:
        raise DataError(f"{name} is not JSON: {error.msg} in line {error.lineno}, column {error.colno}.") from None
    if not isinstance(value, dict):
        raise DataError(f"{name} must hold one JSON object.")
    return value
