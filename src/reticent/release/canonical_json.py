"""Columns as they are published, and the one way JSON is written."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
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
    """JSON as it is hashed and signed: the canonical form of RFC 8785, which any language can reproduce.

    Source: RFC 8785, section 3.2. A value that has no such form (an integer beyond 2^53, a lone surrogate) is a :class:`DataError`.
    """
    import rfc8785

    try:
        return rfc8785.dumps(value)
    except (ValueError, RecursionError) as error:
        raise DataError(f"JSON that cannot be written in canonical form: {error}. Write it as text.") from None


def readable(value: Any) -> bytes:
    """JSON as it is written to public files: keys, numbers and text as in :func:`canonical`, an entry a line, two spaces a level, a newline at the end."""
    try:
        return b"".join(_lines(value, b"\n")) + b"\n"
    except RecursionError:
        raise DataError("JSON that is nested too deeply to be written.") from None


def _lines(value: Any, newline: bytes) -> Iterator[bytes]:
    """A value in pieces; ``newline`` begins a line at its own level."""
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
    """The order of keys: by UTF-16 code units, in which characters beyond the basic plane stand before U+E000."""
    return key.encode("utf-16-be", "surrogatepass")


def private_json(value: Any) -> bytes:
    """JSON of private files, which nobody hashes or signs: 1.0 stays 1.0, and integers may be of any size."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, indent=2, allow_nan=False).encode() + b"\n"


def former_json(value: Any, indent: int | None = None) -> bytes:
    """JSON as releases up to layout 3 were hashed (in files with an ``indent`` of 2), so that what was published by them is recognised."""
    separators, end = ((",", ":"), b"") if indent is None else (None, b"\n")
    written = json.dumps(value, ensure_ascii=False, sort_keys=True, indent=indent, separators=separators)
    return written.encode() + end


def _number(digits: str) -> int | float:
    """A number without a point or an exponent, as RFC 8785 reads it: 2^53 and beyond are floats, of which only one spelling is canonical."""
    return int(digits) if len(digits) < 16 or abs(int(digits)) < 2**53 else float(digits)


def parsed(content: bytes, name: str) -> dict[str, Any]:
    """The object that a JSON file holds; anything else is a :class:`DataError` that names the file."""
    try:
        value = parse_json(content.decode("utf-8"), parse_int=_number)
    except UnicodeDecodeError as error:
        raise DataError(f"{name} is not UTF-8 text ({error.reason} at byte {error.start}).") from None
    except json.JSONDecodeError as error:
        raise DataError(f"{name} is not JSON: {error.msg} in line {error.lineno}, column {error.colno}.") from None
    if not isinstance(value, dict):
        raise DataError(f"{name} must hold one JSON object.")
    return value
