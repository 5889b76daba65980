"""What the public may know of a column's values, and which values a generalized label stands for."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.data.hierarchy import BoundHierarchy, Meaning
from reticent.data.predicate.kinds import Kind, moment
from reticent.errors import DataError
from reticent.exact import exact

_EPOCH = datetime.datetime(1970, 1, 1)
_FIRST_DAY = _EPOCH.toordinal()
_DTYPES: dict[Kind, pl.DataType] = {
    Kind.INTEGER: pl.Int64(),
    Kind.NUMBER: pl.Float64(),
    Kind.TEXT: pl.String(),
    Kind.DATE: pl.Date(),
    Kind.TIMESTAMP: pl.Datetime("us"),
    Kind.TRUTH: pl.Boolean(),
}


@dataclass(frozen=True)
class Domain:
    """The kind of a column's values, and its leaves where they are declared in public (null among them when it may occur).

    ``may_miss``: nobody declared whether values are missing, so a label may stand for that, and a suppressed one may hide it.
    """

    kind: Kind
    leaves: pl.Series | None = None
    may_miss: bool = False

    @classmethod
    def of_hierarchy(cls, hierarchy: BoundHierarchy) -> Domain:
        """What a hierarchy makes public: always the kind, the leaves only when they do not come from the data."""
        kind = Kind.of(hierarchy.leaves.dtype, hierarchy.column)
        return cls(kind, None if hierarchy.data_dependent else as_kind(hierarchy.leaves, kind))

    @classmethod
    def of_series(cls, series: pl.Series) -> Domain:
        """A column that is published as it is: its values are there to see."""
        kind = Kind.of(series.dtype, series.name)
        return cls(kind, as_kind(series.unique(maintain_order=True), kind))

    @classmethod
    def of_values(cls, kind: Kind | str, values: Sequence[Any] | None, *, may_miss: bool = False) -> Domain:
        """A domain written down as plain data, as manifests have it."""
        kind = Kind(kind)
        if values is None:
            return cls(kind)
        return cls(kind, series_of([typed(value, kind) for value in values], kind), may_miss)

    @classmethod
    def guessed(cls, meanings: Sequence[Meaning], otherwise: Kind) -> Domain:
        """The kind that a column's meanings suggest when nobody declared it; numbers may then be fractional."""
        samples = [value for meaning in meanings for value in _written(meaning)]
        if not samples:
            return cls(Kind.TEXT if any("prefix" in meaning for meaning in meanings) else otherwise)
        if all(isinstance(value, bool) for value in samples):
            return cls(Kind.TRUTH)
        if all(isinstance(value, int | float) and not isinstance(value, bool) for value in samples):
            return cls(Kind.NUMBER)
        if all(isinstance(value, datetime.datetime) for value in samples):
            return cls(Kind.TIMESTAMP)
        return cls(Kind.DATE if all(_is_day(value) for value in samples) else Kind.TEXT)


def as_kind(series: pl.Series, kind: Kind) -> pl.Series:
    """A column in the one type that stands for its kind here; NaN is null, and time zones are left off."""
    if series.dtype.is_float():
        series = series.fill_nan(None)
    if isinstance(series.dtype, pl.Datetime) and series.dtype.time_zone is not None:
        series = series.dt.replace_time_zone(None)
    return series if series.dtype == pl.UInt64 else series.cast(_DTYPES[kind])


def series_of(values: Sequence[Any], kind: Kind) -> pl.Series:
    """Values of a kind as a column; whole numbers take the room that they need."""
    wide = kind is Kind.INTEGER and any(value is not None and value >= 2**63 for value in values)
    return pl.Series(values, dtype=pl.Int128() if wide else _DTYPES[kind], strict=True)


def typed(value: Any, kind: Kind) -> Any:
    """A value as it stands in a manifest (JSON has no dates, and large integers are text there) as a value of its kind."""
    if value is None:
        return None
    try:
        match kind:
            case Kind.INTEGER:
                return int(value)
            case Kind.NUMBER:
                return None if math.isnan(float(value)) else float(value)
            case Kind.TEXT:
                return str(value)
            case Kind.TRUTH:
                return value if isinstance(value, bool) else {"true": True, "false": False}[str(value).lower()]
            case Kind.DATE | Kind.TIMESTAMP:
                return _temporal(value, kind)
    except (ValueError, TypeError, KeyError):
        raise DataError(f"The manifest has the value {value!r} in a column of kind {kind.value}.") from None


def place(value: Any, kind: Kind) -> int | Fraction | float:
    """Where a bound stands on the line of its kind: whole days, whole microseconds, or the number itself."""
    match kind:
        case Kind.DATE:
            return int(_temporal(value, kind).toordinal())
        case Kind.TIMESTAMP:
            return int((_temporal(value, kind) - _EPOCH) // datetime.timedelta(microseconds=1))
        case Kind.INTEGER:
            return exact(value, "bound")
        case _:
            return float(value)


def ends(kind: Kind) -> tuple[float, float]:
    """The first and the last place that a value of a kind can have."""
    match kind:
        case Kind.DATE:
            return datetime.date.min.toordinal(), datetime.date.max.toordinal()
        case Kind.TIMESTAMP:
            return int(place(datetime.datetime.min, kind)), int(place(datetime.datetime.max, kind))
        case Kind.INTEGER:
            return -(2**63), 2**64 - 1
        case _:
            return -math.inf, math.inf


def at_place(where: float, kind: Kind) -> Any:
    """The value at a place on the line."""
    match kind:
        case Kind.DATE:
            return datetime.date.fromordinal(int(where))
        case Kind.TIMESTAMP:
            return _EPOCH + datetime.timedelta(microseconds=int(where))
        case Kind.INTEGER:
            return int(where)
        case _:
            return float(where)


@dataclass(frozen=True)
class Stretch:
    """A stretch of the line that a label stands for; ``None`` is an open end, and whole-number kinds have closed ends."""

    low: float | int | None
    high: float | int | None
    low_closed: bool = True
    high_closed: bool = True


def stretch(meaning: Meaning, kind: Kind) -> Stretch | None:
    """The stretch of an interval, or of a masked whole number; nothing for other meanings."""
    if "prefix" in meaning and kind is Kind.INTEGER:
        unit = 10 ** (int(meaning["length"]) - len(meaning["prefix"]))
        return Stretch(int(meaning["prefix"]) * unit, (int(meaning["prefix"]) + 1) * unit - 1)
    if "interval" not in meaning:
        return None
    if kind in (Kind.TEXT, Kind.TRUTH):
        raise DataError(f"The manifest gives the interval {meaning['interval']!r} for a column of kind {kind.value}.")
    low, high = (None if bound is None else place(bound, kind) for bound in meaning["interval"])
    closed = meaning.get("closed", "left")
    low_closed, high_closed = closed in ("left", "both"), closed in ("right", "both")
    if kind is Kind.NUMBER:
        return Stretch(low, high, low_closed, high_closed)  # type: ignore[arg-type]  # places of this kind are floats
    whole_low = None if low is None else math.ceil(low) if low_closed else math.floor(low) + 1
    whole_high = None if high is None else math.floor(high) if high_closed else math.ceil(high) - 1
    return Stretch(whole_low, whole_high)


def values_of(meaning: Meaning, kind: Kind) -> list[Any] | None:
    """The values that a meaning lists one by one (null as ``None``), or nothing when it describes them otherwise."""
    if meaning.get("null"):
        return [None]
    if "value" in meaning:
        return [typed(meaning["value"], kind)]
    return [typed(value, kind) for value in meaning["values"]] if "values" in meaning else None


class LeafIndex:
    """The leaves of a column, prepared for finding those that a meaning covers.

    What is remembered is only derived from the leaves: a place for every value, and the leaves in the order of the line.
    """

    def __init__(self, leaves: pl.Series, kind: Kind) -> None:
        self.leaves, self.kind = leaves, kind

    def under(self, meaning: Meaning) -> NDArray[np.int64]:
        """The positions of the leaves that a meaning covers; one that covers none is a :class:`DataError`."""
        found = self.find(meaning)
        if len(found) == 0:
            raise DataError(
                f"The manifest has a label with the meaning {dict(meaning)!r}, which covers no value of its column."
            )
        return found

    def find(self, meaning: Meaning) -> NDArray[np.int64]:
        """The positions of the leaves that a meaning covers, if any."""
        if meaning.get("all"):
            return np.arange(len(self.leaves))
        listed = values_of(meaning, self.kind)
        if listed is not None:
            return np.array([self._positions[value] for value in listed if value in self._positions], dtype=np.int64)
        if (part := stretch(meaning, self.kind)) is not None:
            return self._within(part)
        if "prefix" not in meaning:
            raise DataError(f"The manifest has a label whose meaning {dict(meaning)!r} is not known.")
        fits = self.leaves.str.starts_with(meaning["prefix"]) & (self.leaves.str.len_chars() == meaning["length"])
        found: NDArray[np.int64] = fits.fill_null(False).arg_true().to_numpy().astype(np.int64)
        return found

    @cached_property
    def _positions(self) -> dict[Any, int]:
        return {value: position for position, value in enumerate(self.leaves.to_list())}

    @cached_property
    def _line(self) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Leaves other than null in the order of the line, and their places on it."""
        order = self.leaves.arg_sort(nulls_last=True).to_numpy().astype(np.int64)
        order = order[: len(self.leaves) - self.leaves.null_count()]
        leaves = self.leaves.gather(order).to_physical()
        places = leaves.to_numpy() if leaves.dtype != pl.Int128 else np.array(leaves.to_list(), dtype=object)
        return order, places + _FIRST_DAY if self.kind is Kind.DATE else places

    def _within(self, part: Stretch) -> NDArray[np.int64]:
        order, places = self._line
        low = 0 if part.low is None else np.searchsorted(places, part.low, "left" if part.low_closed else "right")
        high = len(places)
        if part.high is not None:
            high = int(np.searchsorted(places, part.high, "right" if part.high_closed else "left"))
        found: NDArray[np.int64] = order[low:high]
        return found


def _temporal(value: Any, kind: Kind) -> Any:
    if isinstance(value, datetime.datetime):
        return value.replace(tzinfo=None) if kind is Kind.TIMESTAMP else value.date()
    if isinstance(value, datetime.date):
        return value if kind is Kind.DATE else datetime.datetime(value.year, value.month, value.day)
    return moment(str(value), kind)


def _written(meaning: Mapping[str, Any]) -> list[Any]:
    listed = meaning.get("values", [meaning["value"]] if "value" in meaning else meaning.get("interval", []))
    return [value for value in listed if value is not None]


def _is_day(value: Any) -> bool:
    if isinstance(value, datetime.date):
        return True
    try:
        datetime.date.fromisoformat(str(value))
    except ValueError:
        return False
    return isinstance(value, str) and len(value) == 10
