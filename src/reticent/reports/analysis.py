"""Comparison of an analyst's results on the table and on the release: means, standard deviations, correlations, regressions. Confidential.

:mod:`reticent.release.analyst_design` defines how published cells are converted to numbers.
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

from reticent.base.cards import Card, CardTable, ShownAsCard
from reticent.release import PublicSide, Release, analyst_designs, default_models
from reticent.table import Table
from reticent.utility import ConclusionChange, DesignColumn, RegressionModel, changed_conclusions, fit_model, is_binary

Numbers = NDArray[np.float64]
Columns = Mapping[str, Numbers]


@dataclass(frozen=True)
class NumberSummary:
    """Mean and standard deviation of a column, in the table and in the release. For dates both are in days, and ``day_zero`` is the ordinal of day 0."""

    column: str
    mean: tuple[float, float]
    spread: tuple[float, float]
    day_zero: int | None = None

    @property
    def texts(self) -> tuple[str, str, str, str]:
        """Return formatted means and standard deviations, before and after."""
        zero = self.day_zero
        if zero is None:
            before, after, first, second = map(figure_text, (*self.mean, *self.spread))
        else:
            before, after = (_day(value + zero) for value in self.mean)
            first, second = map(_days, self.spread)
        return before, after, first, second


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
    """The same analysis of the table and of the release. Binary categories are coded as 0 and 1; other categories enter regressions only.

    ``conclusions`` are the conclusions from ``models`` that differ between table and release.
    """

    summaries: tuple[NumberSummary, ...]
    correlations: tuple[CorrelationChange, ...]
    formula: str | None = None
    coefficients: tuple[CoefficientChange, ...] = ()
    models: tuple[RegressionModel, ...] = ()
    conclusions: tuple[ConclusionChange, ...] = ()

    def card(self) -> Card:
        """Return a card with means before and after and the largest change of a correlation."""
        moved = [abs(each.values[1] - each.values[0]) for each in self.correlations]
        finite = [each for each in moved if isfinite(each)]
        rows = [(each.column, *each.texts) for each in self.summaries]
        heads = ("column", "mean before", "mean after", "spread before", "spread after")
        facts = {"columns": len(rows), "correlations move by at most": max(finite, default=0.0)}
        return Card("Analysis before and after", facts, tables=[CardTable(heads, rows)])

    @property
    def verdict(self) -> str:
        """Sentence on the number of fitted regressions and of conclusions that change."""
        if not self.models:
            return "No regression was fitted: there is no sensitive column of numbers or two values to explain."
        models = f"{len(self.models)} regression{'s' if len(self.models) > 1 else ''} fitted before and after"
        changed = len(self.conclusions)
        if not changed:
            return f"{models}: no conclusion changes."
        return f"{models}: {changed} conclusion{'s change' if changed > 1 else ' changes'}."

    def as_dict(self) -> dict[str, Any]:
        """Return the analysis as JSON-compatible data; pairs are (before, after)."""
        return {
            "models": [str(each) for each in self.models],
            "conclusions": [each.as_dict() for each in self.conclusions],
            "columns": {each.column: {"mean": each.mean, "spread": each.spread} for each in self.summaries},
            "correlations": [{"columns": each.columns, "values": each.values} for each in self.correlations],
            "regression": None
            if self.formula is None
            else {
                "formula": self.formula,
                "terms": {each.term: {"values": each.values, "errors": each.errors} for each in self.coefficients},
            },
        }


def analyse(
    table: Table, release: Release | PublicSide, regression: str | None = None, models: Sequence[str] = ()
) -> Analysis:
    """Compare means, spreads, correlations and regressions on the table and on the release of it.

    ``regression``, such as ``"wage ~ age + sex"``, is shown with all its coefficients. ``models`` are further formulas whose conclusions are compared; without
    any, each sensitive column is regressed on the quasi columns.
    """
    side = release.public if isinstance(release, Release) else release
    before, after = analyst_designs(table, side)
    asked = [RegressionModel.parse(formula, list(before)) for formula in ([regression] if regression else [])]
    named = [RegressionModel.parse(formula, list(before)) for formula in models] or list(default_models(table, before))
    numbers, published = (
        {name: each.values[:, 0] for name, each in design.items() if len(each.names) == 1} for design in (before, after)
    )
    judged = tuple(dict.fromkeys([*asked, *named]))
    return Analysis(
        _summaries(
            numbers,
            published,
            {name: zero for name, dtype in table.schema.items() if (zero := _day_zero(dtype)) is not None},
        ),
        _correlations(numbers, published),
        regression,
        _regressed(asked[0], before, after) if asked else (),
        judged,
        changed_conclusions(judged, before, after),
    )


def _summaries(before: Columns, after: Columns, zeros: Mapping[str, int]) -> tuple[NumberSummary, ...]:
    return tuple(
        NumberSummary(
            name,
            (_mean(before[name]), _mean(after[name])),
            (_spread(before[name]), _spread(after[name])),
            zeros.get(name),
        )
        for name in before
    )


def figure_text(value: float) -> str:
    """Format a number with a few significant digits; a dash if it is unknown."""
    return f"{value:,.4g}" if isfinite(value) else "–"


def _day_zero(dtype: pl.DataType) -> int | None:
    """Return the ordinal of day 0: 0 for dates (counted from 0001-01-01), that of 1970-01-01 for timestamps; None for other types."""
    if isinstance(dtype, pl.Datetime):
        return datetime.date(1970, 1, 1).toordinal()
    return 0 if dtype == pl.Date else None


def _day(value: float) -> str:
    return datetime.date.fromordinal(round(value)).isoformat() if isfinite(value) else "–"


def _days(value: float) -> str:
    return f"{value:,.0f} days" if isfinite(value) else "–"


def _correlations(before: Columns, after: Columns) -> tuple[CorrelationChange, ...]:
    return tuple(
        CorrelationChange(pair, (_correlation(before, pair), _correlation(after, pair)))
        for pair in combinations(before, 2)
    )


def _regressed(
    model: RegressionModel, before: Mapping[str, DesignColumn], after: Mapping[str, DesignColumn]
) -> tuple[CoefficientChange, ...]:
    """Return the coefficients of a model fitted to the table and to the release, the intercept first."""
    first = fit_model(model, before)
    second = fit_model(model, after, logistic=is_binary(before[model.outcome].values[:, 0]))
    pairs = [(name, first.estimate(name), second.estimate(name)) for name in first.names]
    return tuple(
        CoefficientChange(name, (one.value, other.value), (one.error, other.error)) for name, one, other in pairs
    )


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
