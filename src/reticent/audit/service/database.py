"""What the service needs of a database: a consistent snapshot of the table, and exact totals over selected rows.

``embedded`` is DuckDB over a file (DuckDB, CSV, Parquet, Arrow), ``postgres`` a PostgreSQL server. They receive column
names and row numbers, never text from a user's query.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.audit.service.settings import ProtectedColumn
from reticent.errors import DataError

Total = Literal["sum", "max", "min"]
KEPT_STATEMENTS = 1_000


@dataclass(frozen=True)
class AskedRows:
    """The table at one point in time, ordered by the person key: ``keys`` as text, public columns, and sensitive values
    as exact text.

    ``state`` is unchanged as long as the table is.
    """

    state: str
    keys: pl.Series
    public: pl.DataFrame
    values: Mapping[str, pl.Series]

    def __len__(self) -> int:
        return len(self.keys)


class TableSnapshot(Protocol):
    """A consistent snapshot of the table: all reads see the same rows."""

    def state(self) -> str:
        """Return a text that changes whenever the table does."""

    def rows(self) -> AskedRows:
        """Return all rows."""

    def total(self, column: str, function: Total, chosen: NDArray[np.int64]) -> Fraction:
        """Return the exact total over the rows with these numbers."""

    def cut_sum(self, column: str, chosen: NDArray[np.int64], low: Fraction, high: Fraction) -> Fraction:
        """Return the exact sum over these rows, every value clamped to ``low``..``high``."""


class Database(Protocol):
    """A readable table. ``statements`` are the last statements sent to it."""

    statements: deque[str]

    def look(self) -> AbstractContextManager[TableSnapshot]:
        """Open a consistent snapshot of the table for the duration of the block."""

    def close(self) -> None:
        """Close the database."""


def quoted(name: str) -> str:
    """Return a quoted SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def check_keys(keys: pl.Series, name: str) -> None:
    """Refuse keys that are missing or not unique: every row must be a different person."""
    if keys.null_count():
        raise DataError(
            f"The person key {name!r} is missing in {keys.null_count()} rows. Every row needs one.", column=name
        )
    if keys.n_unique() != len(keys):
        raise DataError(
            f"The person key {name!r} is not unique: {len(keys)} rows have {keys.n_unique()} different keys. "
            "Several rows of one person would only be protected one by one; audit a view with one row per person.",
            column=name,
        )


def check_total(count: int, chosen: NDArray[np.int64]) -> None:
    """Refuse a total over other rows than those decided on."""
    if count != len(chosen):
        raise DataError(
            "The table changed while a query was being answered. Nothing was answered. Send the query again."
        )


def total_of_parts(aggregates: Sequence[Any], chosen: NDArray[np.int64], low: Fraction, high: Fraction) -> Fraction:
    """Return a clamped sum from the sum of values within a range, and the counts within, below and above it."""
    within, inside, below, above = aggregates
    check_total(inside + below + above, chosen)
    total: Fraction = Fraction(within or 0) + low * below + high * above
    return total


def trimmed(values: pl.Series) -> pl.Series:
    """Return numbers as text in their unique shortest form."""
    name = values.name
    without_zeros = pl.when(pl.col(name).str.contains(".", literal=True)).then(pl.col(name).str.strip_chars_end("0"))
    shortest = without_zeros.otherwise(pl.col(name)).str.strip_chars_end(".").replace("-0", "0")
    return values.to_frame().select(shortest.alias(name))[name]


def check_nulls(nulls: int, column: ProtectedColumn) -> None:
    """Refuse missing values, which would show in the number of values of a sum, unless they are declared public."""
    if nulls and column.nulls == "refuse":
        raise DataError(
            f"Column {column.name!r} is missing in {nulls} rows. The answers would reveal who has no value. Set nulls = 'public' if that may be known, or audit a view without these rows.",
            column=column.name,
        )


def check_rounding(count: int, column: ProtectedColumn) -> None:
    """Refuse floating-point values that differ from their declared decimals."""
    if count:
        raise DataError(
            f"{count} values of column {column.name!r} have more than {column.decimals} decimal places, or are not finite numbers. "
            "Declare more decimals, or round the column in a view.",
            column=column.name,
        )


def floating(column: ProtectedColumn) -> DataError:
    """Return the error for floating-point numbers without declared decimals."""
    return DataError(
        f"Column {column.name!r} holds floating-point numbers, whose sums depend on the order of the rows. Declare how many "
        "decimal places its values have, such as decimals = 2.",
        column=column.name,
    )


def first_line(error: Exception) -> str:
    """Return the first line of a database's own message."""
    return str(error).strip().split("\n")[0].rstrip(".") + "."
