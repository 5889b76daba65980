"""Published column types, and the JSON serialisation of public files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from reticent.base.documents import parse_json
from reticent.errors import DataError
from reticent.table import ValueType, clock_text, real


def settled(series: pl.Series) -> pl.Series:
    """Return a column as it is published: a type of :class:`ValueType`, NaN as null, categoricals as text (category order would reveal row order)."""
    dtype = series.dtype
    if dtype.is_nested() or dtype in (pl.Object, pl.Binary, pl.Duration):
        raise DataError(
            f"Column {series.name!r} of type {dtype} cannot be published. Convert it to text or numbers, or drop it."
        )
    if dtype == pl.Time:
        return clock_text(series)
    return (real(series) if dtype.is_float() else series).cast(ValueType.published(dtype).dtype)


def canonical(value: Any) -> bytes:
    """Return JSON in the canonical form of RFC 8785, the bytes that are hashed and signed.

    A value without such a form (an integer beyond 2^53, a lone surrogate) raises a :class:`DataError`. Source:
    [RFC8785], section 3.2.
    """
    import rfc8785

    try:
        return rfc8785.dumps(value)
    except (ValueError, RecursionError) as error:
        raise DataError(f"A value has no canonical form in JSON: {error}. Convert it to text.") from None


def readable(value: Any) -> bytes:
    """Return JSON for public files: keys, numbers and text as in :func:`canonical`, one entry per line, indented by two
    spaces, with a final newline.
    """
    try:
        return b"".join(_lines(value, b"\n")) + b"\n"
    except RecursionError:
        raise DataError("The JSON is nested too deeply to be written.") from None


def _lines(value: Any, newline: bytes) -> Iterator[bytes]:
    """Yield an indented JSON document in pieces: keys in canonical order, one entry per line.

    ``newline`` is a line break with the indentation of the value.
    """
    inner = newline + b"  "
    if isinstance(value, Mapping) and value:
        opening = b"{"
        for key in sorted(value, key=_code_units):
            yield opening + inner + canonical(key) + b": "
            yield from _lines(value[key], inner)
            opening = b","
        yield newline + b"}"
    elif isinstance(value, list | tuple) and value:
        opening = b"["
        for item in value:
            yield opening + inner
            yield from _lines(item, inner)
            opening = b","
        yield newline + b"]"
    else:
        yield canonical(value)


def _code_units(key: str) -> bytes:
    """Sort key for object keys: UTF-16 code units, in which characters beyond the basic plane sort before U+E000."""
    return key.encode("utf-16-be", "surrogatepass")


def private_json(value: Any) -> bytes:
    """Return JSON for private files, which are neither hashed nor signed: 1.0 stays 1.0, and integers may be of any size."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, indent=2, allow_nan=False).encode() + b"\n"


def former_json(value: Any, indent: int | None = None) -> bytes:
    """Return JSON as releases up to layout 3 hashed it (files: ``indent=2``), to recognise what earlier versions published."""
    separators, end = ((",", ":"), b"") if indent is None else (None, b"\n")
    written = json.dumps(value, ensure_ascii=False, sort_keys=True, indent=indent, separators=separators)
    return written.encode() + end


def _number(digits: str) -> int | float:
    """Parse an integer literal as RFC 8785 does: from 2^53 on it is a float, which has one canonical spelling."""
    return int(digits) if len(digits) < 16 or abs(int(digits)) < 2**53 else float(digits)


def parsed(content: bytes, name: str) -> dict[str, Any]:
    """Parse a JSON object; anything else raises a :class:`DataError` that names the file."""
    try:
        value = parse_json(content.decode("utf-8"), parse_int=_number)
    except UnicodeDecodeError as error:
        raise DataError(f"{name} is not UTF-8 text ({error.reason} at byte {error.start}).") from None
    except json.JSONDecodeError as error:
        raise DataError(f"{name} is not JSON: {error.msg} in line {error.lineno}, column {error.colno}.") from None
    if not isinstance(value, dict):
        raise DataError(f"{name} must hold one JSON object.")
    return value
