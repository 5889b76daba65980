"""Representations of a column for relation detection: codes in value order, numbers, and the parts of a date."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.table.relations.relation import Numbers

Codes = NDArray[np.int64]

_SECONDS = 86400.0
_PRECISION, _ROUNDING = 1e-6, 1e-3
_DECIMALS = 9
_IN_NUMPY = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64, pl.Float32, pl.Float64)


@dataclass(frozen=True)
class ColumnForm:
    """The column ``owner``, or a part of it, called ``text`` in sentences; missing values are a value of their own, with code 0."""

    owner: str
    text: str
    values: pl.Series
    is_part: bool = False

    @classmethod
    def of(cls, values: pl.Series) -> ColumnForm:
        """Return the form of a column in which relations are searched; categories are text, and NaN is missing."""
        if values.dtype in (pl.Categorical, pl.Enum):
            values = values.cast(pl.String)
        if values.dtype.is_float():
            values = values.fill_nan(None)
        return cls(values.name, repr(values.name), values)

    @cached_property
    def codes(self) -> Codes:
        """The rank of every value among the distinct ones, from 1."""
        if self.values.dtype.is_nested() or self.values.dtype in (pl.Object, pl.Null):
            return np.zeros(len(self.values), dtype=np.int64)
        if self.values.dtype in _IN_NUMPY and not self.values.null_count():
            # For a few hundred numbers numpy sorts before polars has planned a query.
            ranks: Codes = np.unique(self.values.to_numpy(), return_inverse=True)[1] + 1
            return ranks
        codes: Codes = self.values.rank("dense").cast(pl.Int64).fill_null(0).to_numpy()
        return codes

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """The number of rows with each code."""
        return np.bincount(self.codes)

    @cached_property
    def ranks(self) -> Numbers:
        """The mean rank of every value; NaN if missing."""
        counts = np.where(np.arange(len(self.counts)) > 0, self.counts, 0)
        means = np.cumsum(counts) - (counts - 1) / 2
        return np.where(self.codes > 0, means[self.codes], np.nan)

    @cached_property
    def distinct(self) -> int:
        """The number of distinct values, including the missing one."""
        return int((self.counts > 0).sum())

    @cached_property
    def mode_error(self) -> float:
        """The share of rows that a guess of the most frequent value gets wrong."""
        return 1 - int(self.counts.max(initial=0)) / max(len(self.codes), 1)

    @property
    def is_date(self) -> bool:
        """True if values are days or timestamps."""
        return self.values.dtype == pl.Date or isinstance(self.values.dtype, pl.Datetime)

    @property
    def is_text(self) -> bool:
        """True if values are texts."""
        return self.values.dtype == pl.String

    @property
    def is_ordered(self) -> bool:
        """True if values have a natural order."""
        return self.values.dtype.is_numeric() or self.values.dtype.is_temporal()

    @cached_property
    def numbers(self) -> Numbers | None:
        """The values as numbers, dates as days; missing ones are NaN. None for texts."""
        dtype = self.values.dtype
        if dtype == pl.Date:
            return self._floats(self.values.to_physical())
        if isinstance(dtype, pl.Datetime):
            return self._floats(self.values.dt.epoch("us")) / (_SECONDS * 1e6)
        if dtype.is_numeric() or dtype == pl.Boolean:
            return self._floats(self.values)
        return None

    @staticmethod
    def _floats(values: pl.Series) -> Numbers:
        floats: Numbers = values.cast(pl.Float64).to_numpy()
        return np.where(np.isfinite(floats), floats, np.nan)

    @cached_property
    def is_mark(self) -> bool:
        """True if values are 0 and 1, or false and true."""
        return self.numbers is not None and self.distinct <= 3 and bool(np.isin(_known(self.numbers), (0, 1)).all())

    @cached_property
    def step(self) -> float:
        """The resolution: all values are multiples of it. 0 for numbers with too many digits to have one."""
        if self.numbers is None:
            return 0.0
        distinct = np.unique(_known(self.numbers))
        if len(distinct) < 2:
            return 0.0
        scale = float(np.abs(distinct).max())
        for decimals in range(_DECIMALS):
            scaled = distinct * 10.0**decimals
            if np.abs(scaled - np.round(scaled)).max() <= 1e-7 * max(scale * 10.0**decimals, 1):
                if scale * 10.0**decimals > 2**52:
                    return 0.0
                multiples = np.round(scaled).astype(np.int64)
                return float(np.gcd.reduce(np.diff(multiples))) / 10.0**decimals
        return 0.0

    @cached_property
    def precision(self) -> float:
        """The tolerance within which numbers are equal except for rounding."""
        return 0.0 if self.numbers is None else _PRECISION * float(np.abs(_known(self.numbers)).max(initial=0))

    def rounded(self, computed: Numbers) -> Iterator[Numbers]:
        """Computed numbers at the resolution of this column: to the nearest step, down, and up; unchanged if it has none."""
        if self.numbers is None or self.step <= 2 * self.precision:
            yield computed
            return
        origin = float(_known(self.numbers)[0])
        steps, slack = (computed - origin) / self.step, min(_ROUNDING * self.precision / self.step, 0.1)
        for whole in (np.round(steps), np.floor(steps + slack), np.ceil(steps - slack)):
            yield origin + self.step * whole

    @cached_property
    def spread(self) -> float:
        """The width of the middle 95 % of the rows."""
        return 0.0 if self.numbers is None else middle(_known(self.numbers))

    def parts(self) -> list[ColumnForm]:
        """The parts of a date, each as a column of its own."""
        if not self.is_date:
            return []
        dates = self.values.dt
        date_parts: Mapping[str, pl.Series] = {
            "year": dates.year(),
            "quarter": dates.quarter(),
            "month": dates.month(),
            "week": dates.week(),
            "weekday": dates.weekday(),
            "day": dates.day(),
            **({"hour": dates.hour()} if isinstance(self.values.dtype, pl.Datetime) else {}),
        }
        return [
            ColumnForm(self.owner, f"the {name} of {self.text}", part.cast(pl.Int64), True)
            for name, part in date_parts.items()
        ]

    def at(self, rows: NDArray[np.int64]) -> ColumnForm:
        """The column restricted to some rows, each at most once and in their order."""
        if len(rows) == len(self.values):
            return self
        return ColumnForm(self.owner, self.text, self.values.gather(rows), self.is_part)


def _known(numbers: Numbers) -> Numbers:
    return numbers[~np.isnan(numbers)]


def middle(numbers: Numbers) -> float:
    """The width of the middle 95 % of some numbers."""
    if not len(numbers):
        return 0.0
    low, high = np.quantile(numbers, (0.025, 0.975))
    return float(high - low)
