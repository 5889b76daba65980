"""Public knowledge of a column's values."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from reticent.table import Meaning, Prefix, ValueType


@dataclass(frozen=True)
class Domain:
    """The type of a column's values, and its leaves if they are declared in public (including null if it may occur).

    ``may_miss``: it was not declared whether values are missing, so null may be represented by a label, and hidden by a
    suppressed one.
    """

    kind: ValueType
    leaves: pl.Series | None = None
    may_miss: bool = False

    @classmethod
    def of_series(cls, series: pl.Series) -> Domain:
        """The domain of a column that is published unchanged: its values are visible."""
        kind = ValueType.of(series.dtype, series.name)
        return cls(kind, kind.column(series.unique(maintain_order=True)))

    @classmethod
    def of_values(cls, kind: ValueType, values: Sequence[Any] | None, *, may_miss: bool = False) -> Domain:
        """A domain from plain data, as in manifests."""
        kind = ValueType(kind).compared
        if values is None:
            return cls(kind)
        return cls(kind, kind.series([kind.converted(value) for value in values]), may_miss)

    @classmethod
    def guessed(cls, meanings: Sequence[Meaning], otherwise: ValueType) -> Domain:
        """Return a domain of the type that a column's meanings suggest, ``otherwise`` if there is no hint; numbers may
        then be fractional.
        """
        samples = [value for meaning in meanings for value in meaning.written()]
        if not samples:
            return cls(ValueType.TEXT if any(isinstance(meaning, Prefix) for meaning in meanings) else otherwise)
        if all(isinstance(value, bool) for value in samples):
            return cls(ValueType.BOOLEAN)
        if all(isinstance(value, int | float) and not isinstance(value, bool) for value in samples):
            return cls(ValueType.REAL)
        if all(isinstance(value, datetime.datetime) for value in samples):
            return cls(ValueType.DATETIME)
        return cls(ValueType.DATE if all(_is_day(value) for value in samples) else ValueType.TEXT)


def _is_day(value: Any) -> bool:
    """Return whether a value is a date, or a text of the form ``2024-01-31``."""
    if isinstance(value, datetime.date):
        return True
    try:
        datetime.date.fromisoformat(str(value))
    except ValueError:
        return False
    return isinstance(value, str) and len(value) == 10
