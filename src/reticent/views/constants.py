"""Typed constants of queries: comparable within a type, and distinct from frozen variables."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

from reticent.base.exact import one_of
from reticent.errors import PolicyError

_EPOCH = datetime(2000, 1, 1)
_MICROSECOND = timedelta(microseconds=1)
KINDS = ("number", "double", "text", "string", "label", "boolean", "date", "timestamp", "moment", "null")
_LARGEST_SAFE, _SMALLEST_SAFE = Fraction(10) ** 300, Fraction(1, 10**300)
_EXACT_WHOLE = 2**53


class DependsOnDatabase(ValueError):
    """A column may hold the constant, but which value it denotes depends on the database or the session."""


@dataclass(frozen=True, slots=True)
class Constant:
    """One value of one kind; ``1`` and ``1.0`` are the same number, ``1`` and ``'1'`` are different constants.

    A ``double`` is a number that the database computes with in binary floating point (``1e3``, ``0.1::float8``). It has
    no exact meaning: comparing a column with it converts the column, so what it equals depends on the column
    (:meth:`reticent.views.schema.Column.read`). Likewise a ``string`` is an explicitly typed text (``'a'::text``, ``'a'
    || 'b'``), which determines how a CITEXT or CHAR column is compared with it, and a ``label`` a value of a declared
    type (``'low'::level``). A ``moment`` is a timestamp with time zone, stored in UTC; which one a text without an
    offset denotes depends on the session.
    """

    kind: str
    value: Any

    def __post_init__(self) -> None:
        one_of(self.kind, "A constant's kind", KINDS)

    def __str__(self) -> str:
        if self.kind == "null":
            return "NULL"
        if self.kind in ("text", "string", "label", "date", "timestamp"):
            return "'" + str(self.value).replace("'", "''") + "'"
        if self.kind == "moment":
            return f"'{self.value}+00'"
        if self.kind == "boolean":
            return "TRUE" if self.value else "FALSE"
        return decimal_text(self.value)


NULL = Constant("null", None)


def decimal_text(number: int | Fraction) -> str:
    """Return a number as decimal digits if it terminates, else as a quotient."""
    fraction = Fraction(number)
    if fraction.denominator == 1:
        return str(fraction.numerator)
    rest = fraction.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest != 1:
        return f"{fraction.numerator}/{fraction.denominator}"
    return format(Decimal(fraction.numerator) / Decimal(fraction.denominator), "f")


def constant(value: object) -> Constant:
    """Return the constant of a Python value; a float is read as its shortest decimal."""
    if isinstance(value, Constant):
        return value
    if value is None:
        return NULL
    if isinstance(value, bool):
        return Constant("boolean", value)
    if isinstance(value, int):
        return Constant("number", value)
    if isinstance(value, Fraction | Decimal):
        return number(value)
    if isinstance(value, float):
        return number(repr(value))
    if isinstance(value, datetime):
        return Constant("timestamp", value) if value.tzinfo is None else Constant("moment", _in_utc(value))
    if isinstance(value, date):
        return Constant("date", value)
    if isinstance(value, str):
        return Constant("text", value)
    raise PolicyError(
        f"A constant must be a number, a text, a Boolean, a date or None, but it is {value!r} ({type(value).__name__})."
    )


def number(text: str | Fraction | Decimal) -> Constant:
    """Parse a number; integers become int."""
    if isinstance(text, str) and "/" not in text:
        text = Decimal(text)
    fraction = Fraction(text)
    return Constant("number", fraction.numerator if fraction.denominator == 1 else fraction)


def rounds_alike(value: int | Fraction, single: bool = False) -> bool:
    """True if every database compares a floating-point column with this number in the same way.

    Two decimals of at most 15 digits are two different doubles, in the same order, however they are converted. A
    single-precision column is converted to double by some databases, and the constant to single by others; both agree
    only on numbers that are exact in single precision.
    """
    if value == 0:
        return True
    if not _SMALLEST_SAFE <= abs(Fraction(value)) <= _LARGEST_SAFE:
        return False
    if single:
        try:
            return Fraction(struct.unpack("f", struct.pack("f", float(value)))[0]) == value
        except OverflowError:
            return False
    return Fraction(f"{float(value):.15g}") == value


def is_exact_whole(value: int | Fraction) -> bool:
    """True if comparing integers with this number in double precision is exact."""
    return abs(Fraction(value)) < _EXACT_WHOLE


def order_key(item: Constant) -> Any:
    """Return the sort key of a constant within its kind; dates and times become integers."""
    if item.kind == "date":
        return item.value.toordinal()
    if item.kind in ("timestamp", "moment"):
        return (item.value - _EPOCH) // _MICROSECOND
    if item.kind == "boolean":
        return int(item.value)
    return item.value


def from_order_key(kind: str, key: Any) -> Constant | None:
    """Return the constant with this sort key, or None if the kind has no such value."""
    try:
        if kind == "date":
            return Constant("date", date.fromordinal(key))
        if kind in ("timestamp", "moment"):
            return Constant(kind, _EPOCH + key * _MICROSECOND)
    except (ValueError, OverflowError):
        return None
    if kind == "boolean":
        return Constant("boolean", bool(key)) if key in (0, 1) else None
    return number(Fraction(key)) if kind == "number" else Constant(kind, key)


def coerce(item: Constant, kind: str) -> Constant:
    """Return ``item`` converted to a column of ``kind``: ``'1212'`` in a number column is 1212.

    Raises ValueError if the column cannot hold it.
    """
    if kind == "other" or item.kind in (kind, "null"):
        return item
    text = item.value if item.kind == "text" else None
    try:
        if kind == "text":
            return Constant("text", str(item)[1:-1] if item.kind in ("date", "timestamp") else _plain(item))
        if kind == "number" and text is not None:
            return number(text.strip())
        if kind == "number" and item.kind == "boolean":
            return Constant("number", int(item.value))
        if kind == "boolean":
            return _truth(item)
        if kind == "date":
            return Constant("date", date.fromisoformat(text.strip()) if text is not None else _day(item))
        if kind in ("timestamp", "moment") and item.kind != "moment":
            moment = _moment_of_text(text) if text is not None else _moment(item)
            if (moment.tzinfo is not None) == (kind == "moment"):
                return Constant(kind, _in_utc(moment))
            raise DependsOnDatabase(f"which {kind} {item} is depends on the database and its time zone")
    except DependsOnDatabase:
        raise
    except (InvalidOperation, ValueError, TypeError, AttributeError, ZeroDivisionError, OverflowError):
        pass
    raise ValueError(f"{item} is not a {kind}")


def has_offset(item: Constant) -> bool:
    """True if a text is a timestamp with an offset from UTC."""
    try:
        return item.kind == "text" and datetime.fromisoformat(item.value.strip()).tzinfo is not None
    except ValueError:
        return False


def moment_of(item: Constant) -> Constant | None:
    """Return the timestamp of a text with an offset from UTC; None for anything else, and for a text that databases read differently."""
    try:
        return coerce(item, "moment") if has_offset(item) else None
    except ValueError:
        return None


def _moment_of_text(text: str) -> datetime:
    """Parse a timestamp; beyond microseconds databases round, truncate or refuse."""
    if re.search(r"\.\d{7}", text):
        raise DependsOnDatabase("finer than a microsecond")
    return datetime.fromisoformat(text.strip())


def _in_utc(moment: datetime) -> datetime:
    """Return the timestamp in UTC, so that all are comparable."""
    return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)


def _plain(item: Constant) -> str:
    return str(item).lower() if item.kind == "boolean" else str(item)


def _truth(item: Constant) -> Constant:
    """Parse a Boolean constant as databases spell it. Raises ValueError for any other value."""
    word = str(item.value).strip().lower()
    if word in ("true", "t", "1", "yes"):
        return Constant("boolean", True)
    if word in ("false", "f", "0", "no"):
        return Constant("boolean", False)
    raise ValueError(f"{item} is not a Boolean")


def _day(item: Constant) -> date:
    """Return the date of a timestamp at midnight. Raises ValueError for any other constant."""
    if item.kind == "timestamp" and item.value.time() == datetime.min.time():
        day: date = item.value.date()
        return day
    raise ValueError("not a whole day")


def _moment(item: Constant) -> datetime:
    return datetime.combine(item.value, datetime.min.time())
