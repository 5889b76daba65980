"""Rounding and binning of numbers and dates in columns published in addition to the quasi columns.

An exact amount or day can identify a person, whatever the quasi columns hide. A coarsening replaces it by a value that
several people share: numbers stay numbers and dates stay dates (only ``Bins`` publishes ranges). A table coarsens its
columns when it is made, so everything that is judged, attacked and published is the coarser value. After ``fitted`` to
a column it works value by value, so later rows are coarsened identically.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.exact import exact, one_of, whole
from reticent.errors import DataError, PolicyError, did_you_mean
from reticent.table.hierarchies.levels import optional, plain_number
from reticent.table.meaning import Interval
from reticent.table.rows import Rows

_LARGEST_EXACT = 2.0**53
_MOST_DIGITS = 15


class Coarsening(ABC):
    """A replacement for the values of one column."""

    kind: ClassVar[str]

    def fitted(self, values: pl.Series) -> Coarsening:
        """A coarsening that works on each value by itself; ``values`` is the whole column."""
        self.check(values.name, values.dtype)
        return self

    def check(self, name: str, dtype: pl.DataType) -> None:
        """Raise if the column has an unsuitable type."""
        if not dtype.is_numeric():
            raise DataError(
                f"Column {name!r} has type {dtype}, but coarsening of kind {self.kind!r} is for numbers. Dates take kind = 'calendar'.",
                setting=("coarsen", name),
                column=name,
            )

    def type_of(self, dtype: pl.DataType) -> pl.DataType:
        """The type of the coarser values."""
        return dtype

    @abstractmethod
    def of(self, values: pl.Series) -> pl.Series:
        """The coarser values; nulls stay."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """As plain data, the inverse of :func:`coarsening_from`."""

    def told(self) -> dict[str, Any]:
        """The public part of the description."""
        return self.describe()

    @abstractmethod
    def words(self) -> str:
        """What happens to a value, to be read after "is"."""


@dataclass(frozen=True)
class Rounding(Coarsening):
    """Multiples of ``to``, with bottom- and top-coding.

    Parameters:
        to: the step.
        bottom, top: values beyond these become these.

    Example:
        >>> import reticent as rt
        >>> table = rt.Table({"age": [31], "income": [31_460]}, quasi=["age"], sensitive="income", coarsen={"income": rt.Rounding(1000)})
        >>> table.frame["income"].to_list()
        [31000]
    """

    to: float | str
    bottom: float | str | None = None
    top: float | str | None = None

    kind: ClassVar[str] = "round"

    def __post_init__(self) -> None:
        if exact(self.to, "to") <= 0:
            raise PolicyError(f"round: to must be positive, but it is {self.to}.", setting=("to",), value=self.to)
        _check_ends(self.kind, self.bottom, self.top)

    def of(self, values: pl.Series) -> pl.Series:
        return _on_numbers(values, self.of_numbers)

    def of_numbers(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """The multiples that the given numbers are rounded to."""
        return _multiples(_clamped(numbers, self.bottom, self.top), exact(self.to, "to"))

    def type_of(self, dtype: pl.DataType) -> pl.DataType:
        whole_steps = all(exact(each, "to").denominator == 1 for each in (self.to, self.bottom or 0, self.top or 0))
        return _whole_type(dtype) if whole_steps else pl.Float64()

    def describe(self) -> dict[str, Any]:
        return {"kind": self.kind, "to": self.to, **optional(bottom=self.bottom, top=self.top)}

    def words(self) -> str:
        return f"rounded to multiples of {self.to}{_ends(self.bottom, self.top)}"


@dataclass(frozen=True)
class Digits(Coarsening):
    """Numbers rounded to a number of significant ``digits``: fine for small amounts, coarse for large ones.

    Parameters:
        digits: the number of significant digits.
        bottom, top: values beyond these become these.

    Example:
        >>> import reticent as rt
        >>> table = rt.Table({"age": [31], "income": [31_460]}, quasi=["age"], sensitive="income", coarsen={"income": rt.Digits(2)})
        >>> table.frame["income"].to_list()
        [31000]
    """

    digits: int
    bottom: float | str | None = None
    top: float | str | None = None

    kind: ClassVar[str] = "digits"

    def __post_init__(self) -> None:
        whole(self.digits, "digits: digits", low=1, high=_MOST_DIGITS)
        _check_ends(self.kind, self.bottom, self.top)

    def of(self, values: pl.Series) -> pl.Series:
        return _on_numbers(values, self.of_numbers)

    def of_numbers(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """The rounded numbers."""
        return _significant(_clamped(numbers, self.bottom, self.top), self.digits)

    def type_of(self, dtype: pl.DataType) -> pl.DataType:
        whole_ends = all(exact(each, "top").denominator == 1 for each in (self.bottom or 0, self.top or 0))
        return _whole_type(dtype) if whole_ends else pl.Float64()

    def describe(self) -> dict[str, Any]:
        return {"kind": self.kind, "digits": self.digits, **optional(bottom=self.bottom, top=self.top)}

    def words(self) -> str:
        figures = "1 significant digit" if self.digits == 1 else f"{self.digits} significant digits"
        return f"rounded to {figures}{_ends(self.bottom, self.top)}"


@dataclass(frozen=True)
class Bins(Coarsening):
    """The range between two ``edges`` that contains a number, as text; the outermost ranges are open.

    Parameters:
        edges: the boundaries of the ranges, ascending.

    Example:
        >>> import reticent as rt
        >>> table = rt.Table({"age": [31], "income": [31_460]}, quasi=["age"], sensitive="income", coarsen={"income": rt.Bins((20_000, 40_000))})
        >>> table.frame["income"].to_list()
        ['[20000, 40000)']
    """

    edges: tuple[float | str, ...]

    kind: ClassVar[str] = "bins"

    def __post_init__(self) -> None:
        points = [exact(edge, "edges") for edge in self.edges]
        if not points or points != sorted(set(points)):
            raise PolicyError(
                f"bins: edges must be ascending and not empty, but they are {list(self.edges)}.", setting=("edges",)
            )

    def of(self, values: pl.Series) -> pl.Series:
        """Return numbers as the labels of their bins."""
        points: list[Fraction | None] = [None, *(exact(edge, "edges") for edge in self.edges), None]
        texts = [Interval(plain_number(low), plain_number(high)).text for low, high in itertools.pairwise(points)]
        is_filled = values.is_not_null()
        bin_indices = np.searchsorted([float(exact(e, "edges")) for e in self.edges], _floats(values), side="right")
        labels = pl.Series(texts, dtype=pl.String).gather(bin_indices)
        return pl.select(pl.when(is_filled).then(labels)).to_series().alias(values.name)

    def type_of(self, dtype: pl.DataType) -> pl.DataType:
        return pl.String()

    def describe(self) -> dict[str, Any]:
        return {"kind": self.kind, "edges": list(self.edges)}

    def words(self) -> str:
        return f"published as one of {len(self.edges) + 1} ranges"


@dataclass(frozen=True)
class CalendarUnit(Coarsening):
    """The first day of the week, month, quarter, year or decade that contains a date; timestamps also take ``hour`` and ``day``.

    Parameters:
        unit: the name of the unit.

    Example:
        >>> import datetime, reticent as rt
        >>> rows = {"age": [31], "visit": [datetime.date(2024, 8, 19)]}
        >>> table = rt.Table(rows, quasi=["age"], sensitive="visit", coarsen={"visit": rt.CalendarUnit("month")})
        >>> table.frame["visit"].to_list()
        [datetime.date(2024, 8, 1)]
    """

    unit: str

    kind: ClassVar[str] = "calendar"

    def __post_init__(self) -> None:
        one_of(self.unit, "calendar: unit", CALENDAR)

    def check(self, name: str, dtype: pl.DataType) -> None:
        """Raise unless the column has dates or timestamps."""
        if dtype not in (pl.Date, pl.Datetime):
            raise DataError(
                f"Column {name!r} has type {dtype}, but coarsening of kind 'calendar' is for dates.",
                setting=("coarsen", name),
                column=name,
            )

    def of(self, values: pl.Series) -> pl.Series:
        """Return dates or timestamps rounded down to the unit."""
        if self.unit == "decade":
            first = pl.date(pl.col("at").dt.year() // 10 * 10, 1, 1)
            frame = values.to_frame("at")
            return frame.select(first.cast(values.dtype)).to_series().alias(values.name)
        if values.dtype == pl.Date and CALENDAR[self.unit] in ("1h", "1d"):
            return values
        return values.dt.truncate(CALENDAR[self.unit])

    def describe(self) -> dict[str, Any]:
        return {"kind": self.kind, "unit": self.unit}

    def words(self) -> str:
        return f"published as the beginning of its {self.unit}"


@dataclass(frozen=True)
class Microaggregation(Coarsening):
    """Univariate microaggregation: sorted numbers in runs of at least ``size`` rows, each replaced by the median of its run, to three digits.

    Equal numbers stay in one run. The replacements come from the data and are never exact means.
    Source: [DomingoFerrer2005].

    Parameters:
        size: the minimum number of rows in a run.

    Example:
        >>> import reticent as rt
        >>> rows = {"age": [31] * 6, "income": [10, 20, 30, 400, 500, 600]}
        >>> table = rt.Table(rows, quasi=["age"], sensitive="income", coarsen={"income": rt.Microaggregation(3)})
        >>> table.frame["income"].to_list()
        [20, 20, 20, 500, 500, 500]
    """

    size: int = 5

    kind: ClassVar[str] = "microaggregate"

    def __post_init__(self) -> None:
        whole(self.size, "microaggregate: size", low=2)

    def fitted(self, values: pl.Series) -> Steps:
        """Return the steps of microaggregation: runs of at least ``size`` sorted numbers, each replaced by its rounded median."""
        self.check(values.name, values.dtype)
        ordered = np.sort(_floats(values.drop_nulls()))
        if len(ordered) < self.size:
            raise DataError(
                f"Column {values.name!r} has {len(ordered)} numbers, too few to microaggregate by {self.size}.",
                setting=("coarsen", values.name),
                column=values.name,
            )
        starts = _stretches(ordered, self.size)
        ends = [*starts[1:], len(ordered)]
        middles = np.array([ordered[(start + end - 1) // 2] for start, end in zip(starts, ends, strict=True)])
        rounded = _significant(middles, 3)
        if values.dtype.is_integer():
            rounded = np.rint(rounded)
        return Steps(tuple(ordered[starts[1:]].tolist()), tuple(rounded.tolist()), self.size)

    def of(self, values: pl.Series) -> pl.Series:
        return self.fitted(values).of(values)

    def describe(self) -> dict[str, Any]:
        return {"kind": self.kind, "size": self.size}

    def words(self) -> str:
        return f"replaced by the middle of {self.size} or more neighbouring values"


@dataclass(frozen=True)
class Steps(Coarsening):
    """One value for each interval between ``edges``: the fitted form of :class:`Microaggregation`. The edges are private."""

    edges: tuple[float, ...]
    values: tuple[float, ...]
    size: int

    kind: ClassVar[str] = "steps"

    def __post_init__(self) -> None:
        if len(self.values) != len(self.edges) + 1 or list(self.edges) != sorted(set(self.edges)):
            raise PolicyError("steps: edges must be ascending, and there must be one more value than edges.")

    def of(self, values: pl.Series) -> pl.Series:
        return _on_numbers(values, self.of_numbers)

    def of_numbers(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """The values of the intervals that contain the given numbers."""
        return np.array(self.values)[np.searchsorted(self.edges, numbers, side="right")]

    def describe(self) -> dict[str, Any]:
        return {"kind": self.kind, "edges": list(self.edges), "values": list(self.values), "size": self.size}

    def told(self) -> dict[str, Any]:
        return Microaggregation(self.size).describe()

    def words(self) -> str:
        return Microaggregation(self.size).words()


CALENDAR = {"hour": "1h", "day": "1d", "week": "1w", "month": "1mo", "quarter": "1q", "year": "1y", "decade": "10y"}
_KINDS: Mapping[str, tuple[type[Coarsening], tuple[str, ...]]] = {
    "round": (Rounding, ("to", "bottom", "top")),
    "digits": (Digits, ("digits", "bottom", "top")),
    "bins": (Bins, ("edges",)),
    "calendar": (CalendarUnit, ("unit",)),
    "microaggregate": (Microaggregation, ("size",)),
    "steps": (Steps, ("edges", "values", "size")),
}


def coarsening_from(description: Any, where: str = "coarsen") -> Coarsening:
    """Construct a coarsening from its description, such as ``{"kind": "round", "to": 1000}``; ``where`` opens every message."""
    if isinstance(description, Coarsening):
        return description
    kind = description.get("kind") if isinstance(description, Mapping) else None
    if not isinstance(kind, str) or kind not in _KINDS:
        raise PolicyError(
            f"{where}: kind must be one of {', '.join(_KINDS)}, but it is {kind!r}.{did_you_mean(kind, _KINDS)}",
            setting=("kind",),
        )
    coarsening_class, fields = _KINDS[kind]
    arguments = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in description.items()
        if name != "kind"
    }
    for name in arguments:
        if name not in fields:
            raise PolicyError(
                f"{where}: kind {kind!r} has no field {name!r}.{did_you_mean(name, fields)} It has: {', '.join(fields)}.",
                setting=(name,),
            )
    try:
        return coarsening_class(**arguments)
    except TypeError:
        raise PolicyError(f"{where}: kind {kind!r} needs the field {fields[0]!r}.", setting=("kind",)) from None


def coarse_rows(rows: Rows, chosen: Mapping[str, Coarsening]) -> Rows:
    """The same rows with some columns coarsened."""
    if not chosen:
        return rows
    schema = pl.Schema(
        {name: chosen[name].type_of(dtype) if name in chosen else dtype for name, dtype in rows.schema.items()}
    )

    def change(part: pl.DataFrame) -> pl.DataFrame:
        """Return a chunk of the rows with its columns coarsened."""
        return part.with_columns(
            _typed(chosen[name].of(part[name]), schema[name]).alias(name) for name in part.columns if name in chosen
        )

    return rows.mapped(schema, change)


def _whole_type(dtype: pl.DataType) -> pl.DataType:
    """The type of integer multiples of numbers of ``dtype``: Int64 if they fit, clipped at the ends."""
    return pl.Int64() if dtype.is_integer() and dtype not in (pl.UInt64, pl.Int128, pl.UInt128) else pl.Float64()


def _typed(values: pl.Series, dtype: pl.DataType) -> pl.Series:
    """``values`` as ``dtype``; a number rounded beyond the range of an integer type is clipped."""
    if dtype.is_integer() and values.dtype.is_float():
        lowest, largest = pl.select(least=dtype.min(), largest=dtype.max()).row(0)  # type: ignore[attr-defined]
        nearest = float(largest)
        values = values.clip(float(lowest), nearest if nearest <= largest else float(np.nextafter(nearest, 0.0)))
    return values.cast(dtype)


def _check_ends(kind: str, bottom: float | str | None, top: float | str | None) -> None:
    low, high = (None if end is None else exact(end, "top") for end in (bottom, top))
    if low is not None and high is not None and low >= high:
        raise PolicyError(f"{kind}: bottom must be below top, but they are {bottom} and {top}.", setting=("bottom",))


def _ends(bottom: float | str | None, top: float | str | None) -> str:
    coded = [*([f"at least {bottom}"] if bottom is not None else []), *([f"at most {top}"] if top is not None else [])]
    return f", {' and '.join(coded)}" if coded else ""


def _floats(values: pl.Series) -> NDArray[np.float64]:
    return values.cast(pl.Float64).fill_null(0.0).fill_nan(0.0).to_numpy()


def _on_numbers(values: pl.Series, change: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> pl.Series:
    """Apply a function to each distinct number; nulls stay null."""
    numbers = values.fill_nan(None) if values.dtype.is_float() else values
    changed = pl.Series(values.name, change(_floats(numbers)))
    return pl.select(pl.when(numbers.is_not_null()).then(changed)).to_series().alias(values.name)


def _clamped(numbers: NDArray[np.float64], bottom: float | str | None, top: float | str | None) -> NDArray[np.float64]:
    low = -np.inf if bottom is None else float(exact(bottom, "bottom"))
    high = np.inf if top is None else float(exact(top, "top"))
    return np.clip(numbers, low, high)


def _multiples(numbers: NDArray[np.float64], step: Fraction) -> NDArray[np.float64]:
    """Return the nearest multiples of ``step``, each as the float nearest to its decimal, so it prints short."""
    if max(step.numerator, step.denominator) >= 2**1000:
        return numbers  # Almost no float is between such multiples, or every float is one.
    multipliers = np.rint(numbers / float(step))
    scaled = multipliers * step.numerator
    rounded = np.where(np.abs(scaled) < _LARGEST_EXACT, scaled / step.denominator, multipliers * float(step))
    return rounded + 0.0


def _significant(numbers: NDArray[np.float64], digits: int) -> NDArray[np.float64]:
    """Numbers rounded to significant digits, each the float nearest to its decimal."""
    size = np.abs(numbers)
    with np.errstate(divide="ignore"):
        exponents = np.where(size > 0, np.floor(np.log10(np.where(size > 0, size, 1.0))), 0.0) - digits + 1
    rounded = np.empty_like(numbers)
    for exponent in np.unique(exponents):
        has_exponent = exponents == exponent
        rounded[has_exponent] = _multiples(numbers[has_exponent], Fraction(10) ** int(exponent))
    return rounded


def _stretches(ordered: NDArray[np.float64], size: int) -> list[int]:
    """The start indices of runs of at least ``size`` in sorted numbers; equal numbers are not separated."""
    starts = [0]
    while len(ordered) - starts[-1] >= 2 * size:
        start = int(np.searchsorted(ordered, ordered[starts[-1] + size - 1], side="right"))
        if len(ordered) - start < size:
            break
        starts.append(start)
    return starts
