"""Leaves: the values at level 0 of a hierarchy, from the data or declared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from reticent.base.encoding import occurring
from reticent.base.exact import exact
from reticent.errors import DataError, PolicyError

_LARGEST_DECLARED_DOMAIN = 5_000_000


def leaves_of(series: pl.Series, domain: Sequence[Any] | None, column: str) -> pl.Series:
    """The declared values of a column, or the values that occur, in order."""
    if domain is not None:
        return parse_leaves([str(value) for value in domain], series.dtype, column, "the declared domain")
    return occurring(series)


def numeric_leaves(series: pl.Series, domain: tuple[Any, Any] | None, column: str) -> pl.Series:
    """The integers of a declared range, or the numbers that occur, which must be within the range."""
    if not series.dtype.is_numeric():
        raise DataError(
            f"Column {column!r} has type {series.dtype}, but its hierarchy is made of numeric intervals. "
            "Read the column as numbers, or choose masking, a taxonomy or suppression.",
            column=column,
        )
    if domain is None or not series.dtype.is_integer():
        leaves = occurring(series)
        if leaves.dtype.is_float() and not leaves.is_finite().all():
            wrong = leaves.filter(~leaves.is_finite())[0]
            raise DataError(
                f"Column {column!r} has the value {wrong!r}, which is in no interval. Correct the data.",
                column=column,
                value=wrong,
            )
        if domain is not None and len(leaves):
            low, high = (exact(bound, "domain") for bound in domain)
            outside = [value for value in (leaves[0], leaves[-1]) if not low <= exact(value, column) <= high]
            if outside:
                raise DataError(
                    f"Column {column!r} has the value {outside[0]!r}, outside its declared domain {low} to {high}.",
                    setting=("domain",),
                    column=column,
                    value=outside[0],
                )
        return leaves
    low, high = (exact(bound, "domain") for bound in domain)
    first, last = int(-(-low // 1)), int(high // 1)
    if last - first >= _LARGEST_DECLARED_DOMAIN:
        raise PolicyError(
            f"The declared domain of column {column!r} has {last - first + 1} values, more than {_LARGEST_DECLARED_DOMAIN}. "
            "Omit domain (leaves then come from the data), or round the column first.",
            setting=("domain",),
            column=column,
        )
    if first > last:
        raise PolicyError(
            f"The declared domain of column {column!r}, {low} to {high}, holds no whole number.",
            setting=("domain",),
            column=column,
        )
    # 64 bits for any column type: a domain may be wider than the type of the values that occur.
    if first >= -(2**63) and last < 2**63 - 1:
        return pl.Series(np.arange(first, last + 1, dtype=np.int64))
    return pl.Series(range(first, last + 1), dtype=pl.Int128)


def parse_leaves(texts: Sequence[str], dtype: pl.DataType, column: str, source: str) -> pl.Series:
    """Values written as text, parsed as the column's type. Raises for unreadable or duplicate values."""
    raw = pl.Series(texts, dtype=pl.String)
    parsed = as_type(raw, dtype)
    if parsed.null_count():
        wrong = raw[int(parsed.is_null().arg_max() or 0)]
        raise DataError(
            f"In {source} for column {column!r}, {wrong!r} cannot be read as {dtype}, the type of the column.",
            column=column,
            value=wrong,
        )
    if parsed.n_unique() != len(parsed):
        wrong = raw[int(parsed.is_duplicated().arg_max() or 0)]
        reading = "" if parsed.dtype == pl.String else f" once it is read as {dtype}"
        raise DataError(
            f"In {source} for column {column!r}, {wrong!r} occurs twice{reading}. Keep one of the two.",
            column=column,
            value=wrong,
        )
    return parsed


def as_type(raw: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Text parsed as a type, null if it cannot be parsed."""
    if dtype in (pl.String, pl.Categorical, pl.Null) or dtype == pl.Enum:
        return raw
    if dtype == pl.Boolean:
        truth = {"true": True, "false": False, "1": True, "0": False}
        return raw.str.to_lowercase().replace_strict(truth, default=None, return_dtype=pl.Boolean)
    if dtype == pl.Date:
        return raw.str.to_date(strict=False)
    if isinstance(dtype, pl.Datetime):
        return raw.str.to_datetime(
            "%Y-%m-%d %H:%M:%S%.f", strict=False, time_unit=dtype.time_unit, time_zone=dtype.time_zone
        )
    if dtype == pl.Time:
        return raw.str.to_time("%H:%M:%S%.f", strict=False)
    # Spaces are rare, and testing for them is far cheaper than an expression on few values.
    spaced = any(text != text.strip() for text in raw.to_list())
    return (raw.str.strip_chars() if spaced else raw).cast(dtype, strict=False)


def check_range(domain: tuple[Any, Any] | None) -> None:
    """Raise unless the domain is a pair of numbers, the lower one first."""
    if domain is None:
        return
    if len(domain) != 2 or exact(domain[0], "domain") > exact(domain[1], "domain"):
        raise PolicyError(
            f"domain must be a pair (lowest, highest), but it is {domain!r}.", setting=("domain",), value=domain
        )
