"""Regressors as an analyst would build them, from the original table and from the published columns.

A published cell becomes a number as an analyst would code it: a number as it is, a range by its midpoint, a set by its
mean, a set of categories by the share of each category. Fully suppressed cells are missing. Dates are days.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from math import nan
from typing import Any

import numpy as np
import polars as pl

from reticent.release.manifest import ManifestColumn
from reticent.release.public import PublicSide
from reticent.table import Meaning, Table, ValueType
from reticent.utility import DesignColumn, Numbers, RegressionModel, is_binary

_FIRST_DAY = datetime.date(1970, 1, 1).toordinal()
_A_DAY = 86_400_000_000  # microseconds, the unit of timestamps
_MOST_CATEGORIES = 8
_MOST_OUTCOMES, _MOST_TERMS = 4, 8
_ROWS_A_TERM = 10


def analyst_designs(table: Table, side: PublicSide) -> tuple[dict[str, DesignColumn], dict[str, DesignColumn]]:
    """Return the columns usable as regressors, original and published: numbers, dates, and categories of at most eight values."""
    published = {column.name: column for column in side.manifest.columns}
    before: dict[str, DesignColumn] = {}
    after: dict[str, DesignColumn] = {}
    for name in (*table.quasi, *table.carried):
        if name not in published:
            continue
        series = table.frame[name]
        numbers = as_numbers(series)
        categories = None if numbers is not None else _categories(series)
        if numbers is not None:
            before[name] = DesignColumn((name,), numbers[:, None])
            after[name] = DesignColumn((name,), published_numbers(side, published[name], first_value(series))[:, None])
        elif categories is not None:
            names = tuple(f"{name}={value}" for value in categories[1:])
            before[name] = DesignColumn(names, _indicators(series, categories))
            after[name] = DesignColumn(names, _published_indicators(side, published[name], categories))
    return before, after


def default_models(table: Table, design: Mapping[str, DesignColumn]) -> tuple[RegressionModel, ...]:
    """Return one regression model for each sensitive column with numbers or two categories, on as many quasi columns as
    the number of rows allows.

    Dates are never an outcome.
    """
    outcomes = [name for name in table.sensitive if name in design and len(design[name].names) == 1]
    outcomes = [name for name in outcomes if not table.schema[name].is_temporal()]
    outcomes = [name for name in outcomes if _varies(design[name].values[:, 0])][:_MOST_OUTCOMES]
    term_limit = min(_MOST_TERMS, table.rows // _ROWS_A_TERM)
    terms: list[str] = []
    for name in table.quasi:
        if name in design and sum(len(design[term].names) for term in [*terms, name]) <= term_limit:
            terms.append(name)
    return tuple(RegressionModel(name, tuple(terms)) for name in outcomes if terms)


def _varies(values: Numbers) -> bool:
    known = np.unique(values[np.isfinite(values)])
    return is_binary(values) or len(known) > 2


def published_numbers(side: PublicSide, column: ManifestColumn, zero: str | None) -> Numbers:
    """Return a published column as numbers, coded as an analyst would code its cells."""
    published_cells = _shown(side, column)
    if not column.labels or column.published != "labels" or published_cells.dtype != pl.String:
        numbers = as_numbers(published_cells, zero)
        return np.full(len(published_cells), nan) if numbers is None else numbers
    values = {label: _middle(meaning, column.kind, zero) for label, meaning in column.labels.items()}
    return published_cells.replace_strict(values, default=nan, return_dtype=pl.Float64).to_numpy()


def _shown(side: PublicSide, column: ManifestColumn) -> pl.Series:
    return next(rows.frame()[column.name] for rows in side.rows.values() if column.name in rows.schema)


def _middle(meaning: Meaning, kind: ValueType, zero: str | None) -> float:
    """Return the midpoint of the values that a label covers, or their mean if they are listed; NaN if it covers any value."""
    covered_values = meaning.listed(kind)
    if covered_values is not None:
        numbers = [_number(value, kind, zero) for value in covered_values if value is not None]
        return sum(numbers) / len(numbers) if numbers else nan
    interval = None if kind in (ValueType.TEXT, ValueType.BOOLEAN) else meaning.stretch(kind)
    if interval is None or interval.low is None or interval.high is None:
        return nan
    return (interval.low + interval.high) / 2 / (_A_DAY if kind is ValueType.DATETIME else 1)


def _number(value: Any, kind: ValueType, zero: str | None) -> float:
    """Return a value as a number: dates in days, booleans as 0 and 1, text as 0 for the category ``zero`` and else 1; NaN without ``zero``."""
    if kind is ValueType.TEXT:
        return float(str(value) != zero) if zero is not None else nan
    if kind is ValueType.BOOLEAN:
        return float(value)
    return float(kind.place(value)) / (_A_DAY if kind is ValueType.DATETIME else 1)


def as_numbers(series: pl.Series, zero: str | None = None) -> Numbers | None:
    """Return values as numbers: dates as days, two categories as 0 and 1 (``zero`` names the first). None for other types."""
    if series.dtype.is_numeric() or series.dtype == pl.Boolean:
        return series.cast(pl.Float64).fill_null(nan).to_numpy()
    if series.dtype == pl.Date:
        return (series.to_physical().cast(pl.Float64) + _FIRST_DAY).fill_null(nan).to_numpy()
    if isinstance(series.dtype, pl.Datetime):
        return (series.dt.timestamp("us").cast(pl.Float64) / _A_DAY).fill_null(nan).to_numpy()
    first = zero if zero is not None else first_value(series)
    if first is None:
        return None
    texts = series.cast(pl.String)
    return (texts != first).cast(pl.Float64).fill_null(nan).to_numpy()


def first_value(series: pl.Series) -> str | None:
    """Return the smaller of the two values of a binary text column; None for any other number of values."""
    if series.dtype.is_numeric() or series.dtype.is_temporal() or series.dtype == pl.Boolean:
        return None
    values = series.drop_nulls().cast(pl.String).unique().sort()
    return values[0] if len(values) == 2 else None


def _categories(series: pl.Series) -> list[str] | None:
    """Return the categories of a column with few distinct values, most frequent first."""
    if series.dtype.is_temporal() or series.dtype.is_nested():
        return None
    counted = series.drop_nulls().cast(pl.String).value_counts(sort=True)
    values = counted.sort(["count", counted.columns[0]], descending=[True, False])[counted.columns[0]]
    return values.to_list() if 2 < len(values) <= _MOST_CATEGORIES else None


def _indicators(series: pl.Series, categories: Sequence[str]) -> Numbers:
    texts = series.cast(pl.String)
    return np.column_stack([(texts == value).cast(pl.Float64).fill_null(nan).to_numpy() for value in categories[1:]])


def _published_indicators(side: PublicSide, column: ManifestColumn, categories: Sequence[str]) -> Numbers:
    """For each category but the first, return the probability that a cell has it, if all values the cell covers are equally likely."""
    published_cells = _shown(side, column)
    if not column.labels or column.published != "labels":
        return _indicators(published_cells, categories)
    shares_by_label = {label: _shares(meaning, column.kind, categories) for label, meaning in column.labels.items()}
    texts = published_cells.cast(pl.String)
    return np.column_stack(
        [
            texts.replace_strict(
                {label: category_shares[category] for label, category_shares in shares_by_label.items()},
                default=nan,
                return_dtype=pl.Float64,
            ).to_numpy()
            for category in range(1, len(categories))
        ]
    )


def _shares(meaning: Meaning, kind: ValueType, categories: Sequence[str]) -> list[float]:
    listed = meaning.listed(kind)
    texts = [str(value) for value in listed or () if value is not None]
    return [texts.count(value) / len(texts) if texts else nan for value in categories]
