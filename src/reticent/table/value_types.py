"""The types of column values, and their JSON encoding. The only list of types."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Any

import polars as pl

from reticent.base.exact import exact
from reticent.errors import DataError

_SAFE_INTEGER = 2**53 - 1
_EPOCH = datetime.datetime(1970, 1, 1)


class ValueType(StrEnum):
    """The type of a column's values, as named in manifests.

    Numbers compare with numbers, text with text, days and timestamps with text that spells them. ``UNSIGNED`` are
    integers up to 2^64; the distinction matters for storage only, and :meth:`of` does not make it.
    """

    TEXT = "text"
    INTEGER = "integer"
    UNSIGNED = "unsigned"
    REAL = "real"
    BOOLEAN = "boolean"
    DATE = "date"
    DATETIME = "datetime"

    @classmethod
    def of(cls, dtype: pl.DataType, column: str = "") -> ValueType:
        """The type under which values of a polars type are compared. Raises :class:`DataError` if there is none."""
        if dtype.is_integer():
            return cls.INTEGER
        if dtype.is_numeric():
            return cls.REAL
        if dtype in (pl.String, pl.Categorical, pl.Null) or dtype == pl.Enum:
            return cls.TEXT
        if dtype == pl.Date:
            return cls.DATE
        if isinstance(dtype, pl.Datetime):
            return cls.DATETIME
        if dtype == pl.Boolean:
            return cls.BOOLEAN
        raise DataError(f"Column {column!r} has type {dtype}, which conditions cannot use.")

    @classmethod
    def published(cls, dtype: pl.DataType) -> ValueType:
        """The type in which a column of a polars type is published: text by default."""
        if dtype == pl.UInt64:
            return cls.UNSIGNED
        if dtype.is_integer() and dtype not in (pl.Int128, pl.UInt128):
            return cls.INTEGER
        if dtype.is_float():
            return cls.REAL
        if dtype == pl.Boolean:
            return cls.BOOLEAN
        if dtype == pl.Date:
            return cls.DATE
        if isinstance(dtype, pl.Datetime) and dtype.time_zone is None:
            return cls.DATETIME
        return cls.TEXT

    @property
    def dtype(self) -> pl.DataType:
        """The polars type that holds such values."""
        return _DTYPES[self]

    @property
    def compared(self) -> ValueType:
        """The type under which values are compared: one for all integer types."""
        return ValueType.INTEGER if self is ValueType.UNSIGNED else self

    @property
    def is_whole(self) -> bool:
        """True if values are integers."""
        return self in (ValueType.INTEGER, ValueType.UNSIGNED)

    @property
    def is_numeric(self) -> bool:
        """True if arithmetic is allowed."""
        return self.is_whole or self is ValueType.REAL

    @property
    def is_temporal(self) -> bool:
        """True if constants are written as text."""
        return self in (ValueType.DATE, ValueType.DATETIME)

    def read(self, value: Any) -> Any:
        """The inverse of :func:`to_plain`. Raises :class:`DataError` for anything else."""
        if value is None:
            return None
        try:
            if isinstance(value, bool) != (self is ValueType.BOOLEAN):
                raise ValueError
            if self.is_whole:
                # Bounds of an interval may be fractional.
                return value if isinstance(value, float) else int(value)
            if self is ValueType.REAL:
                return float(value)
            if self is ValueType.DATE:
                return datetime.date.fromisoformat(value)
            if self is ValueType.DATETIME:
                read = datetime.datetime.fromisoformat(value)
                return read if "T" in value else read.date()
        except (ValueError, TypeError):
            raise DataError(f"{value!r} is not of type {self}.") from None
        if self is ValueType.TEXT and not isinstance(value, str):
            raise DataError(f"{value!r} is not of type {self}.")
        return value

    def converted(self, value: Any) -> Any:
        """A value of this type from other notations (dates and large integers as text)."""
        if value is None:
            return None
        try:
            match self:
                case ValueType.INTEGER | ValueType.UNSIGNED:
                    return int(value)
                case ValueType.REAL:
                    return None if math.isnan(float(value)) else float(value)
                case ValueType.TEXT:
                    return str(value)
                case ValueType.BOOLEAN:
                    return value if isinstance(value, bool) else {"true": True, "false": False}[str(value).lower()]
                case ValueType.DATE | ValueType.DATETIME:
                    return self._moment(value)
        except (ValueError, TypeError, KeyError):
            raise DataError(f"The manifest has the value {value!r} in a column of type {self}.") from None

    def moment(self, text: str) -> datetime.date | datetime.datetime:
        """The day or timestamp that a text spells. Raises ``ValueError`` otherwise."""
        if self is ValueType.DATE:
            return datetime.date.fromisoformat(text)
        parsed = datetime.datetime.fromisoformat(text)
        if parsed.tzinfo is not None:
            raise ValueError("a timestamp is written without time zone")
        return parsed

    def place(self, value: Any) -> int | Fraction | float:
        """Return the coordinate of a value on this type's number line: days since year 1, microseconds since 1970, or
        the number itself.
        """
        match self:
            case ValueType.DATE:
                return int(self._moment(value).toordinal())
            case ValueType.DATETIME:
                return int((self._moment(value) - _EPOCH) // datetime.timedelta(microseconds=1))
            case ValueType.INTEGER | ValueType.UNSIGNED:
                return exact(value, "bound")
            case _:
                return float(value)

    def at_place(self, where: float) -> Any:
        """The value at a coordinate; the inverse of :meth:`place`."""
        match self:
            case ValueType.DATE:
                return datetime.date.fromordinal(int(where))
            case ValueType.DATETIME:
                return _EPOCH + datetime.timedelta(microseconds=int(where))
            case ValueType.INTEGER | ValueType.UNSIGNED:
                return int(where)
            case _:
                return float(where)

    def ends(self) -> tuple[float, float]:
        """The first and the last possible coordinate."""
        match self:
            case ValueType.DATE:
                return datetime.date.min.toordinal(), datetime.date.max.toordinal()
            case ValueType.DATETIME:
                return int(self.place(datetime.datetime.min)), int(self.place(datetime.datetime.max))
            case ValueType.INTEGER | ValueType.UNSIGNED:
                return -(2**63), 2**64 - 1
            case _:
                return -math.inf, math.inf

    def column(self, series: pl.Series) -> pl.Series:
        """A column in the polars type that represents this type in comparisons; NaN becomes null, and time zones are dropped."""
        if series.dtype.is_float():
            series = series.fill_nan(None)
        if isinstance(series.dtype, pl.Datetime) and series.dtype.time_zone is not None:
            series = series.dt.replace_time_zone(None)
        return series if series.dtype == pl.UInt64 else series.cast(self.dtype)

    def series(self, values: Sequence[Any]) -> pl.Series:
        """Values as a column; integers get the width that they need."""
        needs_128_bits = self.is_whole and any(value is not None and value >= 2**63 for value in values)
        return pl.Series(values, dtype=pl.Int128() if needs_128_bits else self.dtype, strict=True)

    def texts(self, values: Sequence[Any]) -> list[str | None]:
        """Values as written in a published column of labels."""
        return pl.Series(values, dtype=self.dtype, strict=False).cast(pl.String).to_list()

    def _moment(self, value: Any) -> Any:
        """Return a date or timestamp in this type."""
        if isinstance(value, datetime.datetime):
            return value.replace(tzinfo=None) if self is ValueType.DATETIME else value.date()
        if isinstance(value, datetime.date):
            return value if self is ValueType.DATE else datetime.datetime(value.year, value.month, value.day)
        return self.moment(str(value))


_DTYPES: Mapping[ValueType, pl.DataType] = {
    ValueType.TEXT: pl.String(),
    ValueType.INTEGER: pl.Int64(),
    ValueType.UNSIGNED: pl.UInt64(),
    ValueType.REAL: pl.Float64(),
    ValueType.BOOLEAN: pl.Boolean(),
    ValueType.DATE: pl.Date(),
    ValueType.DATETIME: pl.Datetime("us"),
}


def to_plain(value: Any) -> Any:
    """``value`` in JSON form: integers of 2^53 and above, fractions, dates and infinities as text."""
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
