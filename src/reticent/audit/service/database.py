"""What the service needs of a database: one consistent look at the table, and exact totals over chosen rows.

``embedded`` is DuckDB over a file (DuckDB, CSV, Parquet, Arrow), ``postgres`` a PostgreSQL server. Each is given names of columns and
row numbers, never anything that somebody asked for as text.
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
    """The table at one moment, ordered by the person key: ``keys`` as text, public columns, and sensitive values as exact text.

    ``state`` is the same for as long as the table is.
    """

    state: str
    keys: pl.Series
    public: pl.DataFrame
    values: Mapping[str, pl.Series]

    def __len__(self) -> int:
        return len(self.keys)


class TableSnapshot(Protocol):
    """One consistent look at the table: whatever is asked of it is asked of the same rows."""

    def state(self) -> str:
        """A text that changes whenever the table does."""

    def rows(self) -> AskedRows:
        """All rows."""

    def total(self, column: str, function: Total, chosen: NDArray[np.int64]) -> Fraction:
        """The exact total over the rows with these numbers."""

    def cut_sum(self, column: str, chosen: NDArray[np.int64], low: Fraction, high: Fraction) -> Fraction:
        """The exact sum over these rows, every value first brought between ``low`` and ``high``."""


class Database(Protocol):
    """A table that can be looked at. ``statements`` are the last texts sent to it."""

    statements: deque[str]

    def look(self) -> AbstractContextManager[TableSnapshot]:
        """One consistent look at the table, for as long as the block runs."""

    def close(self) -> None:
        """Let go of the database."""


def quoted(name: str) -> str:
    """A name as SQL writes it, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'


def check_keys(keys: pl.Series, name: str) -> None:
    """Every row is a person of its own."""
    if keys.null_count():
        raise DataError(
            f"The person key {name!r} is missing in {keys.null_count()} rows. Every row needs one.", column=name
        )
    if keys.n_unique() != len(keys):
        raise DataError(
            f"The person key {name!r} is not unique: {len(keys)} rows have {keys.n_unique()} different keys. "
            "Several rows of one person would be protected one by one only; audit a view with one row per person.",
            column=name,
        )


def check_total(count: int, chosen: NDArray[np.int64]) -> None:
    """The database must have found exactly the rows that were decided on."""
    if count != len(chosen):
        raise DataError("The table changed while a question was being answered. Nothing was answered. Ask again.")


def total_of_parts(parts: Sequence[Any], chosen: NDArray[np.int64], low: Fraction, high: Fraction) -> Fraction:
    """A cut sum from the sum of values within a range, and how many are within, below and above it."""
    within, inside, below, above = parts
    check_total(inside + below + above, chosen)
    total: Fraction = Fraction(within or 0) + low * below + high * above
    return total


def trimmed(values: pl.Series) -> pl.Series:
    """Numbers as text, each in its one shortest form."""
    name = values.name
    plain = pl.when(pl.col(name).str.contains(".", literal=True)).then(pl.col(name).str.strip_chars_end("0"))
    shown = plain.otherwise(pl.col(name)).str.strip_chars_end(".").replace("-0", "0")
    return values.to_frame().select(shown.alias(name))[name]


def check_nulls(nulls: int, column: ProtectedColumn) -> None:
    """A missing value must not be told by the number of values in a sum, unless everybody may know it."""
    if nulls and column.nulls == "refuse":
        raise DataError(
            f"Column {column.name!r} is missing in {nulls} rows. Who has no value would show in the answers. Set nulls = 'public' if "
            "everybody may know it, or audit a view without these rows.",
            column=column.name,
        )


def check_rounding(count: int, column: ProtectedColumn) -> None:
    """Floating-point values must be what their decimals say."""
    if count:
        raise DataError(
            f"{count} values of column {column.name!r} have more than {column.decimals} decimal places, or are not finite numbers. "
            "Declare more decimals, or round the column in a view.",
            column=column.name,
        )


def floating(column: ProtectedColumn) -> DataError:
    """The refusal of floating-point numbers without declared decimals."""
    return DataError(
        f"Column {column.name!r} holds floating-point numbers, whose sums depend on the order of the rows. Declare how many "
        "decimal places its values have, such as decimals = 2.",
        column=column.name,
    )


def first_line(error: Exception) -> str:
    """The first line of a database's own message."""
    return str(error).strip().split("\n")[0].rstrip(".") + "."
