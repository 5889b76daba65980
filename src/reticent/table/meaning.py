"""What a published label of one column represents: a value, a set or a range of values, codes with a common prefix, a
recurring time, missing values, or anything.

A meaning determines which leaves of a column it covers, and its form as a label, in words and in JSON. Its
representation is private to this module; callers that need the kind check the class.
"""

from __future__ import annotations

import datetime
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.errors import DataError
from reticent.table.value_types import ValueType, to_plain

SUPPRESSED = "*"
NULL_LABEL = "(missing)"
OR_MISSING = " or missing"

Closed = Literal["left", "right", "both", "neither"]

_FIRST_DAY = datetime.date(1970, 1, 1).toordinal()
_SHOWN = 4
_LONGEST_CODE = 10_000


@dataclass(frozen=True)
class LineSegment:
    """An interval of the line that a label represents; ``None`` is an open end, and integer and timestamp types have closed ends."""

    low: float | int | None
    high: float | int | None
    low_closed: bool = True
    high_closed: bool = True


class Meaning(ABC):
    """What a label of one column represents. Meanings are equal if their canonical JSON is: 1 equals 1.0, and true differs."""

    __slots__ = ()

    @staticmethod
    def read(payload: Any, kind: ValueType, where: str) -> Meaning:
        """Parse :meth:`as_json` with values of type ``kind``. Raises :class:`DataError`, starting with ``where``, otherwise."""
        try:
            return _read(payload, kind)
        except (DataError, TypeError, KeyError, ValueError):
            raise DataError(f"{where} is not a known meaning: {payload!r}.") from None

    @abstractmethod
    def covers(self, index: LeafIndex) -> NDArray[np.int64]:
        """The indices of the leaves that it covers, if any."""

    def label(self, kind: ValueType) -> str | None:
        """The canonical label in a column of type ``kind``; None if there are several ways to write it."""
        return None

    @abstractmethod
    def as_json(self) -> dict[str, Any]:
        """The meaning as plain data."""

    @abstractmethod
    def words(self) -> str:
        """The meaning in words."""

    def listed(self, kind: ValueType) -> list[Any] | None:
        """The values listed one by one (null as ``None``), or None if it describes them otherwise."""
        return None

    def stretch(self, kind: ValueType) -> LineSegment | None:
        """The interval of the line that it represents, if it is one."""
        return None

    def written(self) -> Sequence[Any]:
        """The values contained in its representation, unchanged."""
        return ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Meaning) and self._written() == other._written()

    def __hash__(self) -> int:
        return hash(self._written())

    def _written(self) -> str:
        return json.dumps({name: _unpointed(entry) for name, entry in self.as_json().items()})


@dataclass(frozen=True, slots=True, eq=False)
class Value(Meaning):
    """One value."""

    value: Any

    def covers(self, index: LeafIndex) -> NDArray[np.int64]:
        """The leaf with the value."""
        return index.among(self.listed(index.kind))

    def label(self, kind: ValueType) -> str | None:
        """The value as text."""
        return kind.texts([self.value])[0]

    def as_json(self) -> dict[str, Any]:
        """The value as plain data."""
        return {"value": to_plain(self.value)}

    def words(self) -> str:
        """The value."""
        return str(self.value)

    def listed(self, kind: ValueType) -> list[Any]:
        """The value."""
        return [kind.converted(self.value)]

    def written(self) -> Sequence[Any]:
        """The value, unless it is null."""
        return () if self.value is None else (self.value,)


@dataclass(frozen=True, slots=True, eq=False)
class Values(Meaning):
    """One of several values."""

    values: tuple[Any, ...]

    def covers(self, index: LeafIndex) -> NDArray[np.int64]:
        """The leaves with one of the values."""
        return index.among(self.listed(index.kind))

    def as_json(self) -> dict[str, Any]:
        """The values as plain data."""
        return {"values": to_plain(self.values)}

    def words(self) -> str:
        """The first few values."""
        texts = [str(value) for value in self.values]
        first_values = ", ".join(texts[:_SHOWN])
        return first_values if len(texts) == 1 else f"in {{{first_values}{', ...' if len(texts) > _SHOWN else ''}}}"

    def listed(self, kind: ValueType) -> list[Any]:
        """The values."""
        return [kind.converted(value) for value in self.values]

    def written(self) -> Sequence[Any]:
        """The values other than null."""
        return [value for value in self.values if value is not None]


@dataclass(frozen=True, slots=True, eq=False)
class Interval(Meaning):
    """The values between two ends, with ``closed`` naming the ends included; None is an open end."""

    low: Any
    high: Any
    closed: Closed = "left"

    def covers(self, index: LeafIndex) -> NDArray[np.int64]:
        """The leaves between the ends."""
        return index.within(self.stretch(index.kind))

    @property
    def text(self) -> str:
        """Its notation: ``[20, 25)``, ``< 18`` or ``>= 65``, and ``[20, 25]`` with both ends."""
        if self.low is None:
            return f"< {self.high}"
        if self.high is None:
            return f">= {self.low}"
        return f"[{self.low}, {self.high}{']' if self.closed == 'both' else ')'}"

    def label(self, kind: ValueType) -> str | None:
        """Its notation for integers; None for other types, whose ends can be written in several ways."""
        return self.text if kind.is_whole else None

    def as_json(self) -> dict[str, Any]:
        """The ends as plain data."""
        return {"interval": [to_plain(self.low), to_plain(self.high)], "closed": self.closed}

    def words(self) -> str:
        """The ends, with brackets for those included."""
        left = "(-inf" if self.low is None else f"{'[' if self.closed in ('left', 'both') else '('}{self.low}"
        right = "inf)" if self.high is None else f"{self.high}{']' if self.closed in ('right', 'both') else ')'}"
        return f"in {left}, {right}"

    def stretch(self, kind: ValueType) -> LineSegment:
        """Return the interval as a segment of the number line of a column type; for integers and dates from the first
        to the last value in it.
        """
        if kind in (ValueType.TEXT, ValueType.BOOLEAN):
            raise DataError(f"The manifest gives the interval {[self.low, self.high]!r} for a column of type {kind}.")
        low, high = (None if bound is None else kind.place(bound) for bound in (self.low, self.high))
        low_closed, high_closed = self.closed in ("left", "both"), self.closed in ("right", "both")
        if kind is ValueType.REAL:
            return LineSegment(low, high, low_closed, high_closed)  # type: ignore[arg-type]  # places of this type are floats
        whole_low = None if low is None else math.ceil(low) if low_closed else math.floor(low) + 1
        whole_high = None if high is None else math.floor(high) if high_closed else math.ceil(high) - 1
        return LineSegment(whole_low, whole_high)

    def written(self) -> Sequence[Any]:
        """The ends that are not open."""
        return [end for end in (self.low, self.high) if end is not None]


@dataclass(frozen=True, slots=True, eq=False)
class Prefix(Meaning):
    """The codes of a fixed length with a common prefix."""

    prefix: str
    length: int

    def covers(self, index: LeafIndex) -> NDArray[np.int64]:
        """The leaves with the prefix and the length; integers are padded with leading zeros."""
        if (part := self.stretch(index.kind)) is not None:
            return index.within(part)
        fits = index.leaves.str.starts_with(self.prefix) & (index.leaves.str.len_chars() == self.length)
        positions: NDArray[np.int64] = fits.fill_null(False).arg_true().to_numpy().astype(np.int64)
        return positions

    def fits(self, text: str) -> bool:
        """True if a code is one of them."""
        return text.startswith(self.prefix) and len(text) == self.length

    def label(self, kind: ValueType) -> str:
        """The prefix, and a star for every further character."""
        return self.prefix.ljust(self.length, SUPPRESSED)

    def as_json(self) -> dict[str, Any]:
        """Prefix and length."""
        return {"prefix": self.prefix, "length": self.length}

    def words(self) -> str:
        """The prefix, and a star for every further character."""
        return self.label(ValueType.TEXT)

    def stretch(self, kind: ValueType) -> LineSegment | None:
        """The range of integers with this prefix."""
        if not kind.is_whole:
            return None
        unit = 10 ** (self.length - len(self.prefix))
        return LineSegment(int(self.prefix) * unit, (int(self.prefix) + 1) * unit - 1)


WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
RECURRING: Mapping[str, Callable[[pl.Series], pl.Series]] = {
    "weekday": lambda moments: moments.dt.weekday(),
    "hour_of_day": lambda moments: moments.dt.hour(),
}
"""Recurring units, and how they are computed from days or timestamps: weekdays from Monday (1) to Sunday (7), hours from 0 to 23."""


@dataclass(frozen=True, slots=True, eq=False)
class Recurring(Meaning):
    """The days or timestamps on one weekday, or in one hour of any day."""

    unit: str
    number: int

    def covers(self, index: LeafIndex) -> NDArray[np.int64]:
        """The leaves on that weekday or in that hour."""
        if not index.kind.is_temporal:
            raise DataError(f"The manifest gives the {self.unit} {self.number} for a column of type {index.kind}.")
        positions: NDArray[np.int64] = (
            (RECURRING[self.unit](index.leaves) == self.number).fill_null(False).arg_true().to_numpy().astype(np.int64)
        )
        return positions

    @property
    def text(self) -> str:
        """``Monday``, or ``13h``."""
        return WEEKDAYS[self.number - 1] if self.unit == "weekday" else f"{self.number:02d}h"

    def label(self, kind: ValueType) -> str:
        """``Monday``, or ``13h``."""
        return self.text

    def as_json(self) -> dict[str, Any]:
        """The unit and its number."""
        return {self.unit: self.number}

    def words(self) -> str:
        """The weekday, or the hour."""
        return f"on a {self.text}" if self.unit == "weekday" else f"between {self.number}:00 and {self.number + 1}:00"


@dataclass(frozen=True, slots=True, eq=False)
class Missing(Meaning):
    """The missing value."""

    def covers(self, index: LeafIndex) -> NDArray[np.int64]:
        """The null leaf."""
        return index.among([None])

    def label(self, kind: ValueType) -> str:
        """The label of missing values, made unique if a value is spelled like it."""
        return NULL_LABEL

    def as_json(self) -> dict[str, Any]:
        """The marker for missing values."""
        return {"null": True}

    def words(self) -> str:
        """The word for a missing value."""
        return "missing"

    def listed(self, kind: ValueType) -> list[Any]:
        """Null."""
        return [None]


@dataclass(frozen=True, slots=True, eq=False)
class OrMissing(Meaning):
    """A value of some range, or missing."""

    of: Interval

    def covers(self, index: LeafIndex) -> NDArray[np.int64]:
        """The leaves of the range, and the null leaf."""
        return np.concatenate([self.of.covers(index), index.among([None])])

    def label(self, kind: ValueType) -> str | None:
        """The label of the range with a suffix for "or missing"."""
        text = self.of.label(kind)
        return None if text is None else f"{text}{OR_MISSING}"

    def as_json(self) -> dict[str, Any]:
        """The range as plain data, with the marker for missing values."""
        return {**self.of.as_json(), "null": True}

    def words(self) -> str:
        """The range, or missing."""
        return f"{self.of.words()}{OR_MISSING}"

    def stretch(self, kind: ValueType) -> LineSegment:
        """The interval of the values that are not missing."""
        return self.of.stretch(kind)

    def written(self) -> Sequence[Any]:
        """The ends of the range."""
        return self.of.written()


@dataclass(frozen=True, slots=True, eq=False)
class Anything(Meaning):
    """Any value, or missing."""

    def covers(self, index: LeafIndex) -> NDArray[np.int64]:
        """All leaves."""
        return np.arange(len(index.leaves))

    def as_json(self) -> dict[str, Any]:
        """The marker for any value."""
        return {"all": True}

    def words(self) -> str:
        """The words for any value."""
        return "anything"


def _unpointed(entry: Any) -> Any:
    """Return a JSON value with integral floats as integers, also within lists."""
    if isinstance(entry, list):
        return [_unpointed(each) for each in entry]
    return int(entry) if isinstance(entry, float) and entry.is_integer() else entry


class LeafIndex:
    """The leaves of a column, indexed for finding those that a meaning covers.

    The caches are derived from the leaves only: the index of every value, and the leaves in sorted order.
    """

    def __init__(self, leaves: pl.Series, kind: ValueType) -> None:
        self.leaves, self.kind = leaves, kind

    @classmethod
    def of(cls, leaves: pl.Series, column: str) -> LeafIndex:
        """The index of the leaves of a column, with their own type."""
        kind = ValueType.of(leaves.dtype, column)
        return cls(kind.column(leaves), kind)

    def under(self, meaning: Meaning) -> NDArray[np.int64]:
        """The indices of the leaves that a meaning covers. Raises :class:`DataError` if there are none."""
        positions = meaning.covers(self)
        if len(positions) == 0:
            raise DataError(
                f"The manifest has a label with the meaning {meaning.as_json()!r}, which covers no value of its column."
            )
        return positions

    def among(self, values: Sequence[Any]) -> NDArray[np.int64]:
        """The indices of the values that are leaves."""
        return np.array([self._positions[value] for value in values if value in self._positions], dtype=np.int64)

    def within(self, part: LineSegment) -> NDArray[np.int64]:
        """The indices of the leaves in an interval."""
        order, coordinates = self._line
        low = 0 if part.low is None else np.searchsorted(coordinates, part.low, "left" if part.low_closed else "right")
        high = len(coordinates)
        if part.high is not None:
            high = int(np.searchsorted(coordinates, part.high, "right" if part.high_closed else "left"))
        positions: NDArray[np.int64] = order[low:high]
        return positions

    @cached_property
    def _positions(self) -> dict[Any, int]:
        return {value: position for position, value in enumerate(self.leaves.to_list())}

    @cached_property
    def _line(self) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """The non-null leaves in sorted order, and their coordinates."""
        order = self.leaves.arg_sort(nulls_last=True).to_numpy().astype(np.int64)
        order = order[: len(self.leaves) - self.leaves.null_count()]
        leaves = self.leaves.gather(order).to_physical()
        coordinates = leaves.to_numpy() if leaves.dtype != pl.Int128 else np.array(leaves.to_list(), dtype=object)
        return order, coordinates + _FIRST_DAY if self.kind is ValueType.DATE else coordinates


def texts_of(meanings: Sequence[Meaning], kind: ValueType) -> list[str | None]:
    """:meth:`Meaning.label` of many at once, much faster for values."""
    values = [meaning.value for meaning in meanings if isinstance(meaning, Value)]
    texts = iter(kind.texts(values))
    return [next(texts) if isinstance(meaning, Value) else meaning.label(kind) for meaning in meanings]


def covers_missing(meaning: Meaning) -> bool:
    """True if a missing value matches the label."""
    match meaning:
        case Missing() | OrMissing() | Anything() | Value(None):
            return True
        case Values(values):
            return None in values
        case _:
            return False


def are_disjoint(first: Meaning, second: Meaning) -> bool:
    """True if two labels certainly represent different values; False if that is unknown."""
    if covers_missing(first) and covers_missing(second):
        return False
    match first, second:
        case (Missing(), _) | (_, Missing()):
            return True
        case (Value() | Values(), Value() | Values()):
            written = [*first.written(), *second.written()]
            return len(set(map(type, written))) == 1 and not set(first.written()) & set(second.written())
        case (Interval(), Interval()):
            return _ends_before(first, second) or _ends_before(second, first)
        case (Prefix(), Prefix()) if first.length == second.length:
            return not (first.prefix.startswith(second.prefix) or second.prefix.startswith(first.prefix))
        case _:
            return False


def _ends_before(first: Interval, second: Interval) -> bool:
    """True if the first interval ends before the second begins, or where it begins without a common point."""
    if first.high is None or second.low is None:
        return False
    share_end = first.closed in ("right", "both") and second.closed in ("left", "both")
    return bool(first.high < second.low or (first.high == second.low and not share_end))


def null_label(meanings: Mapping[str, Meaning]) -> str:
    """The label of the missing value, which differs from the usual one if the column contains that text as a value."""
    return next((label for label, meaning in meanings.items() if isinstance(meaning, Missing)), NULL_LABEL)


_NUMBERS = {"weekday": range(1, 8), "hour_of_day": range(24)}


def _read(payload: Mapping[str, Any], kind: ValueType) -> Meaning:
    """Parse the JSON form of a meaning, recognised by its fields."""
    shape = set(payload) if isinstance(payload, Mapping) else set()
    if shape == {"value"}:
        return Value(kind.read(payload["value"]))
    if shape == {"values"} and isinstance(payload["values"], list) and payload["values"]:
        return Values(tuple(kind.read(value) for value in payload["values"]))
    if (
        shape == {"interval", "closed"}
        and isinstance(payload["interval"], list)
        and payload["closed"] in get_args(Closed)
    ):
        low, high = (kind.read(bound) for bound in payload["interval"])
        if low is None or high is None or low <= high:
            return Interval(low, high, payload["closed"])
    if shape == {"interval", "closed", "null"} and payload["null"] is True:
        interval = _read({name: payload[name] for name in ("interval", "closed")}, kind)
        if isinstance(interval, Interval):
            return OrMissing(interval)
    if shape == {"prefix", "length"} and isinstance(payload["prefix"], str) and type(payload["length"]) is int:
        if not len(payload["prefix"]) <= payload["length"] <= _LONGEST_CODE:
            raise DataError(f"The length of a code must be at most {_LONGEST_CODE:,} and longer than its prefix.")
        return Prefix(payload["prefix"], payload["length"])
    unit, number = next(iter(payload.items()), ("", None)) if len(shape) == 1 else ("", None)
    if unit in _NUMBERS and type(number) is int and number in _NUMBERS[unit]:
        return Recurring(unit, number)
    if payload in ({"null": True}, {"all": True}):
        return Missing() if "null" in payload else Anything()
    raise DataError("It has none of the known forms.")
