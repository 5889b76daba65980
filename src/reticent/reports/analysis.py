"""What an analyst finds in the release beside what is in the table: means, spreads, correlations, a regression. For the steward's eyes.

A published cell is read as an analyst would read it: a number as it is, a range by its middle, a set by its mean. Cells that say nothing
count as missing. Dates are days.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isfinite, nan, sqrt
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.cards import Card, ShownAsCard
from reticent.errors import PolicyError
from reticent.release import ManifestColumn, PublicSide, Release
from reticent.table import Meaning, Table, ValueType

_FIRST_DAY = datetime.date(1970, 1, 1).toordinal()
_A_DAY = 86_400_000_000  # microseconds, in which moments are counted
Numbers = NDArray[np.float64]
Columns = Mapping[str, Numbers]


@dataclass(frozen=True)
class NumberSummary:
    """Mean and standard deviation of a column, in the table and in the release."""

    column: str
    mean: tuple[float, float]
    spread: tuple[float, float]


@dataclass(frozen=True)
class CorrelationChange:
    """Pearson's correlation of two columns, in the table and in the release."""

    columns: tuple[str, str]
    values: tuple[float, float]


@dataclass(frozen=True)
class CoefficientChange:
    """A coefficient of the least-squares regression with its standard error, in the table and in the release."""

    term: str
    values: tuple[float, float]
    errors: tuple[float, float]


@dataclass(frozen=True, repr=False)
class Analysis(ShownAsCard):
    """The same analysis of the table and of the release. Categories with two values count as 0 and 1; others are left out."""

    summaries: tuple[NumberSummary, ...]
    correlations: tuple[CorrelationChange, ...]
    formula: str | None = None
    coefficients: tuple[CoefficientChange, ...] = ()

    def card(self) -> Card:
        """Means before and after; and how far correlations moved at most."""
        moved = [abs(each.values[1] - each.values[0]) for each in self.correlations]
        finite = [each for each in moved if isfinite(each)]
        rows = [(each.column, *each.mean, *each.spread) for each in self.summaries]
        heads = ("column", "mean before", "mean after", "spread before", "spread after")
        facts = {"columns": len(rows), "correlations move by at most": max(finite, default=0.0)}
        return Card("Analysis before and after", facts, None, heads, rows)

    def as_dict(self) -> dict[str, Any]:
        """The analysis as plain data; pairs are before and after."""
        return {
            "columns": {each.column: {"mean": each.mean, "spread": each.spread} for each in self.summaries},
            "correlations": [{"columns": each.columns, "values": each.values} for each in self.correlations],
            "regression": None
            if self.formula is None
            else {
                "formula": self.formula,
                "terms": {each.term: {"values": each.values, "errors": each.errors} for each in self.coefficients},
            },
        }


def analyse(table: Table, release: Release | PublicSide, regression: str | None = None) -> Analysis:
    """Compare means, spreads, correlations and a ``regression`` such as ``"wage ~ age + sex"`` on the table and on the release of it."""
    side = release.public if isinstance(release, Release) else release
    columns = {column.name: column for column in side.manifest.columns}
    names = [name for name in (*table.quasi, *table.sensitive, *table.declared) if name in columns]
    before = {name: _numbers(table.frame[name]) for name in names}
    known = {name: each for name, each in before.items() if each is not None}
    after = {name: _published(side, columns[name], _zero(table.frame[name])) for name in known}
    coefficients = () if regression is None else _regressed(regression, known, after)
    return Analysis(_summaries(known, after), _correlations(known, after), regression, coefficients)


def _summaries(before: Columns, after: Columns) -> tuple[NumberSummary, ...]:
    return tuple(
        NumberSummary(name, (_mean(before[name]), _mean(after[name])), (_spread(before[name]), _spread(after[name])))
        for name in before
    )


def _correlations(before: Columns, after: Columns) -> tuple[CorrelationChange, ...]:
    return tuple(
        CorrelationChange(pair, (_correlation(before, pair), _correlation(after, pair)))
        for pair in combinations(before, 2)
    )


def _regressed(formula: str, before: Columns, after: Columns) -> tuple[CoefficientChange, ...]:
    target, terms = _parsed(formula, before)
    fits = [_least_squares(columns, target, terms) for columns in (before, after)]
    names = ("(constant)", *terms)
    return tuple(
        CoefficientChange(
            name,
            (float(fits[0][0][place]), float(fits[1][0][place])),
            (float(fits[0][1][place]), float(fits[1][1][place])),
        )
        for place, name in enumerate(names)
    )


def _parsed(formula: str, known: Columns) -> tuple[str, list[str]]:
    """The column on the left of ``~`` and those on its right."""
    target, sign, right = (part.strip() for part in formula.partition("~"))
    terms = [term.strip() for term in right.split("+")]
    if not sign or not target or not all(terms):
        raise PolicyError(
            f"A regression is written 'wage ~ age + sex', but it is {formula!r}.", setting=("regression",)
        )
    for name in (target, *terms):
        if name not in known:
            raise PolicyError(
                f"The regression {formula!r} names {name!r}, which is not a published column of numbers, dates or two values. "
                f"There are: {', '.join(known) or 'none'}.",
                setting=("regression",),
            )
    return target, terms


def _least_squares(columns: Columns, target: str, terms: Sequence[str]) -> tuple[Numbers, Numbers]:
    """Coefficients, the constant first, and their standard errors; not a number where the columns do not determine them."""
    design = np.column_stack([np.ones(len(columns[target])), *(columns[name] for name in terms)])
    rows = np.isfinite(design).all(axis=1) & np.isfinite(columns[target])
    design, wanted = design[rows], columns[target][rows]
    free = len(wanted) - design.shape[1]
    if free <= 0 or np.linalg.matrix_rank(design) < design.shape[1]:
        undetermined = np.full(design.shape[1], nan)
        return undetermined, undetermined
    found: Numbers = np.linalg.lstsq(design, wanted, rcond=None)[0].astype(np.float64)
    variance = float(((wanted - design @ found) ** 2).sum()) / free
    errors: Numbers = np.sqrt(np.diag(np.linalg.inv(design.T @ design)) * variance)
    return found, errors


def _published(side: PublicSide, column: ManifestColumn, zero: str | None) -> Numbers:
    """A published column as numbers, as an analyst would read its cells."""
    shown = next(rows.frame()[column.name] for rows in side.rows.values() if column.name in rows.schema)
    if not column.labels or column.published != "labels" or shown.dtype != pl.String:
        numbers = _numbers(shown, zero)
        return np.full(len(shown), nan) if numbers is None else numbers
    values = {label: _middle(meaning, column.kind, zero) for label, meaning in column.labels.items()}
    return shown.replace_strict(values, default=nan, return_dtype=pl.Float64).to_numpy()


def _middle(meaning: Meaning, kind: ValueType, zero: str | None) -> float:
    """The middle of the values that a label stands for; not a number where it says nothing."""
    listed = meaning.listed(kind)
    if listed is not None:
        numbers = [_number(value, kind, zero) for value in listed if value is not None]
        return sum(numbers) / len(numbers) if numbers else nan
    part = None if kind in (ValueType.TEXT, ValueType.BOOLEAN) else meaning.stretch(kind)
    if part is None or part.low is None or part.high is None:
        return nan
    return (part.low + part.high) / 2 / (_A_DAY if kind is ValueType.DATETIME else 1)


def _number(value: Any, kind: ValueType, zero: str | None) -> float:
    if kind is ValueType.TEXT:
        return float(str(value) != zero) if zero is not None else nan
    if kind is ValueType.BOOLEAN:
        return float(value)
    return float(kind.place(value)) / (_A_DAY if kind is ValueType.DATETIME else 1)


def _numbers(series: pl.Series, zero: str | None = None) -> Numbers | None:
    """Values as numbers, dates as days, two categories as 0 and 1 (``zero`` is the first); None for anything else."""
    if series.dtype.is_numeric() or series.dtype == pl.Boolean:
        return series.cast(pl.Float64).fill_null(nan).to_numpy()
    if series.dtype == pl.Date:
        return (series.to_physical().cast(pl.Float64) + _FIRST_DAY).fill_null(nan).to_numpy()
    if isinstance(series.dtype, pl.Datetime):
        return (series.dt.timestamp("us").cast(pl.Float64) / _A_DAY).fill_null(nan).to_numpy()
    first = zero if zero is not None else _zero(series)
    if first is None:
        return None
    texts = series.cast(pl.String)
    return (texts != first).cast(pl.Float64).fill_null(nan).to_numpy()


def _zero(series: pl.Series) -> str | None:
    """The first of the two values of a column of text; None where there are not two."""
    if series.dtype.is_numeric() or series.dtype.is_temporal() or series.dtype == pl.Boolean:
        return None
    values = series.drop_nulls().cast(pl.String).unique().sort()
    return values[0] if len(values) == 2 else None


def _mean(numbers: Numbers) -> float:
    known = numbers[np.isfinite(numbers)]
    return float(known.mean()) if len(known) else nan


def _spread(numbers: Numbers) -> float:
    known = numbers[np.isfinite(numbers)]
    return float(known.std(ddof=1)) if len(known) > 1 else nan


def _correlation(columns: Columns, pair: tuple[str, str]) -> float:
    first, second = (columns[name] for name in pair)
    both = np.isfinite(first) & np.isfinite(second)
    left, right = (numbers[both] - numbers[both].mean() if both.any() else numbers[both] for numbers in (first, second))
    size = sqrt(float((left**2).sum()) * float((right**2).sum()))
    return float((left * right).sum()) / size if size else nan
