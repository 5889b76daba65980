"""Survey weights as integers: the number of people of a population that each row represents, in a unit in which sums are
exact.

A weight given as a float is read as its shortest decimal. The unit is the last decimal place used by any weight, but
coarse enough for an exact total; weights with more places are rounded to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.errors import DataError
from reticent.table.rows import DistantRows, Rows

MOST_PEOPLE = 2**51
"""Below this a float holds every integer, with room for the error of one multiplication."""


@dataclass(frozen=True)
class Weights:
    """The weight column of a table, counted in units of ``10 ** -decimals``."""

    column: str
    decimals: int

    @classmethod
    def of(cls, rows: Rows, column: str) -> Weights:
        """Return the weights in a column after one pass that checks them: finite and non-negative numbers, not null,
        and some above zero.
        """
        dtype = rows.schema[column]
        if not dtype.is_numeric():
            raise DataError(f"The weight column {column!r} must be numeric, but it is {dtype}.")
        if isinstance(rows, DistantRows):
            distinct, counts = rows.counted([column])
            _check(distinct[column], None)
            total = float((distinct[column].cast(pl.Float64) * pl.Series(counts)).sum())
            return cls._of(column, total, _decimals(distinct[column]), len(counts))
        rows_read, total, decimals = 0, 0.0, 0
        for chunk in rows.chunks([column]):
            series = chunk[column]
            _check(series, rows_read)
            total += float(series.cast(pl.Float64).sum())
            decimals = max(decimals, _decimals(series))
            rows_read += len(series)
        return cls._of(column, total, decimals, rows_read)

    @classmethod
    def _of(cls, column: str, total: float, decimals: int, row_count: int) -> Weights:
        """Return the weights in the finest decimal unit in which their sum can be counted exactly."""
        if not total > 0 and row_count:
            raise DataError(f"All weights in column {column!r} are zero, so the rows represent no population.")
        if total >= MOST_PEOPLE:
            raise DataError(f"The weights in column {column!r} add up to {total:g}, more than can be counted exactly.")
        while decimals and total * 10**decimals >= MOST_PEOPLE:
            decimals -= 1
        return cls(column, decimals)

    @property
    def unit(self) -> Fraction:
        """The weight of one count."""
        return Fraction(1, 10**self.decimals)

    def counts(self, rows: pl.DataFrame) -> NDArray[np.int64]:
        """The weight of every row in units."""
        values = rows[self.column].cast(pl.Float64).to_numpy()
        counts: NDArray[np.int64] = np.rint(values * 10**self.decimals).astype(np.int64)
        return counts


def _check(series: pl.Series, first_row: int | None) -> None:
    """Raise for the first weight that is missing, not a number, or negative."""
    plain = series.cast(pl.Float64)
    for is_wrong, problem in (
        (plain.is_null(), "no weight"),
        (~plain.is_finite(), "a weight that is not a number"),
        (plain < 0, "a negative weight"),
    ):
        if is_wrong.any():
            row = int(is_wrong.arg_max() or 0)
            location = "" if first_row is None else f" in row {first_row + row + 1}"
            raise DataError(
                f"The weight column {series.name!r} has {problem}{location} ({series[row]!r}). A weight is the number of people "
                "that a row represents; correct it, or drop the row."
            )


def _decimals(series: pl.Series) -> int:
    """The maximum number of decimal places of any weight in its shortest notation."""
    if series.dtype.is_integer():
        return 0
    if series.dtype.is_decimal():
        return int(getattr(series.dtype, "scale", 0))
    texts = series.unique().cast(pl.String)
    short = texts.str.contains("e")
    plain = texts.filter(~short).str.extract(r"\.(\d*?)0*$", 1).str.len_chars().max()
    exponents = [-Decimal(text).normalize().as_tuple().exponent for text in texts.filter(short).to_list()]  # type: ignore[operator]  # finite, so a number
    return max([int(plain or 0) if isinstance(plain, int) else 0, 0, *exponents])
