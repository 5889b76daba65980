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
        first_day = self.day_zero
        if first_day is None:
            mean_before, mean_after, spread_before, spread_after = map(figure_text, (*self.mean, *self.spread))
        else:
            mean_before, mean_after = (_day(value + first_day) for value in self.mean)
            spread_before, spread_after = map(_days, self.spread)
        return mean_before, mean_after, spread_before, spread_after


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
        changes = [abs(correlation.values[1] - correlation.values[0]) for correlation in self.correlations]
        finite = [change for change in changes if isfinite(change)]
        rows = [(summary.column, *summary.texts) for summary in self.summaries]
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
            "models": [str(model) for model in self.models],
            "conclusions": [conclusion.as_dict() for conclusion in self.conclusions],
            "columns": {summary.column: {"mean": summary.mean, "spread": summary.spread} for summary in self.summaries},
            "correlations": [
                {"columns": correlation.columns, "values": correlation.values} for correlation in self.correlations
            ],
            "regression": None
            if self.formula is None
            else {
                "formula": self.formula,
                "terms": {
                    coefficient.term: {"values": coefficient.values, "errors": coefficient.errors}
                    for coefficient in self.coefficients
                },
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
    shown_models = [RegressionModel.parse(formula, list(before)) for formula in ([regression] if regression else [])]
    compared_models = [RegressionModel.parse(formula, list(before)) for formula in models] or list(
        default_models(table, before)
    )
    table_numbers, release_numbers = (
        {name: column.values[:, 0] for name, column in design.items() if len(column.names) == 1}
        for design in (before, after)
    )
    fitted_models = tuple(dict.fromkeys([*shown_models, *compared_models]))
    return Analysis(
        _summaries(
            table_numbers,
            release_numbers,
            {name: zero for name, dtype in table.schema.items() if (zero := _day_zero(dtype)) is not None},
        ),
        _correlations(table_numbers, release_numbers),
        regression,
        _regressed(shown_models[0], before, after) if shown_models else (),
        fitted_models,
        changed_conclusions(fitted_models, before, after),
    )


def _summaries(before: Columns, after: Columns, zeros: Mapping[str, int]) -> tuple[NumberSummary, ...]:
    """Return mean and spread of every column in the table and in the release; ``zeros`` gives the ordinal of day 0 for columns of dates."""
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
    """Format the ordinal of a day (1 is 0001-01-01) as an ISO date; a dash if it is unknown."""
    return datetime.date.fromordinal(round(value)).isoformat() if isfinite(value) else "–"


def _days(value: float) -> str:
    return f"{value:,.0f} days" if isfinite(value) else "–"


def _correlations(before: Columns, after: Columns) -> tuple[CorrelationChange, ...]:
    """Return the correlation of every pair of columns, in the table and in the release."""
    return tuple(
        CorrelationChange(pair, (_correlation(before, pair), _correlation(after, pair)))
        for pair in combinations(before, 2)
    )


def _regressed(
    model: RegressionModel, before: Mapping[str, DesignColumn], after: Mapping[str, DesignColumn]
) -> tuple[CoefficientChange, ...]:
    """Return the coefficients of a model fitted to the table and to the release, the intercept first."""
    table_fit = fit_model(model, before)
    release_fit = fit_model(model, after, logistic=is_binary(before[model.outcome].values[:, 0]))
    pairs = [(name, table_fit.estimate(name), release_fit.estimate(name)) for name in table_fit.names]
    return tuple(
        CoefficientChange(
            name, (true_estimate.value, released_estimate.value), (true_estimate.error, released_estimate.error)
        )
        for name, true_estimate, released_estimate in pairs
    )


def _mean(numbers: Numbers) -> float:
    """Return the mean of the known numbers; NaN if there are none."""
    known = numbers[np.isfinite(numbers)]
    return float(known.mean()) if len(known) else nan


def _spread(numbers: Numbers) -> float:
    """Return the sample standard deviation of the known numbers; NaN if there are fewer than two."""
    known = numbers[np.isfinite(numbers)]
    return float(known.std(ddof=1)) if len(known) > 1 else nan


def _correlation(columns: Columns, pair: tuple[str, str]) -> float:
    """Return Pearson's correlation over the rows where both columns are known; NaN if one of them does not vary."""
    first, second = (columns[name] for name in pair)
    known = np.isfinite(first) & np.isfinite(second)
    first_deviations, second_deviations = (
        numbers[known] - numbers[known].mean() if known.any() else numbers[known] for numbers in (first, second)
    )
    norm = sqrt(float((first_deviations**2).sum()) * float((second_deviations**2).sum()))
    return float((first_deviations * second_deviations).sum()) / norm if norm else nan
