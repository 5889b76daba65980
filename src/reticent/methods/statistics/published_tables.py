"""The public tables of statistics: every noisy number, and the statistics that follow from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.methods.statistics.details import PublicFacts, StatisticsDetails
from reticent.methods.statistics.plan import StepKind
from reticent.methods.statistics.statistic_query import StatisticQuery
from reticent.noise import Estimates, WholeNoise, leaf_edges, moved, plain_sums, quantiles, ratios, rounded, variances

Whole = NDArray[np.int64]
STATISTICS_SCHEMA = {
    "query": pl.Int64,
    "statistic": pl.String,
    "column": pl.String,
    "group": pl.String,
    "at": pl.Float64,
    "value": pl.Float64,
    "standard_error": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
}
MEASUREMENTS_SCHEMA = {"step": pl.Int64, "about": pl.String, "cell": pl.Int64, "noisy_number": pl.Int64}


def measurement_table(details: StatisticsDetails, numbers: Sequence[Whole]) -> pl.DataFrame:
    """All noisy numbers concatenated, step by step; cells are numbered from 1 in the order of groups (and of nodes within a group)."""
    parts = [
        pl.DataFrame(
            {
                "step": np.full(noisy.size, step_number),
                "about": [f"{step.kind} {about}"] * noisy.size,
                "cell": np.arange(1, noisy.size + 1),
                "noisy_number": noisy.ravel(),
            },
            schema=MEASUREMENTS_SCHEMA,
        )
        for step_number, (step, about, noisy) in enumerate(
            zip(details.plan.steps, details.about, numbers, strict=True), 1
        )
    ]
    return pl.concat(parts)


def statistic_table(details: StatisticsDetails, numbers: Sequence[Whole]) -> pl.DataFrame:
    """The statistics that follow from the noisy numbers of all steps: one row per query, group and share."""
    by_query: dict[int, dict[StepKind, tuple[WholeNoise, Whole]]] = {}
    for step, about, noisy in zip(details.plan.steps, details.about, numbers, strict=True):
        if isinstance(about, int):
            by_query.setdefault(about, {})[step.kind] = (WholeNoise(details.currency, step.scale), noisy)
    parts = [_rows(number, query, details.facts, by_query[number]) for number, query in enumerate(details.queries, 1)]
    return pl.concat(parts)


def _rows(
    number: int, query: StatisticQuery, facts: PublicFacts, steps: Mapping[StepKind, tuple[WholeNoise, Whole]]
) -> pl.DataFrame:
    """Return the published statistics of one query, for every group; ``steps`` has the noise and the noisy numbers of its steps."""
    groups = facts.groups(query)
    parts = []
    columns_with_estimates: list[tuple[str | None, Fraction | None, Estimates]]
    if query.statistic == "linear":
        noise, sums = steps["products"]
        design = facts.design(query)
        coefficients = design.estimates(sums.reshape(len(groups), -1), noise)
        columns_with_estimates = [
            (f"{query.column} ~ {term}", None, figures)
            for term, figures in zip(design.terms, coefficients, strict=True)
        ]
    else:
        columns_with_estimates = [
            (query.column, share, _estimates(query, facts, steps, None if share is None else float(share), len(groups)))
            for share in query.at or (None,)
        ]
    for column, share, estimates in columns_with_estimates:
        columns: dict[str, Any] = {
            "query": [number] * len(groups),
            "statistic": [query.statistic] * len(groups),
            "column": [column] * len(groups),
            "group": groups,
            "at": [None if share is None else float(share)] * len(groups),
        }
        figures = {
            "value": estimates.value,
            "standard_error": estimates.error,
            "low": estimates.low,
            "high": estimates.high,
        }
        columns |= {
            name: [rounded(figure_value) for figure_value in figure.tolist()] for name, figure in figures.items()
        }
        parts.append(pl.DataFrame(columns, schema=STATISTICS_SCHEMA))
    return pl.concat(parts)


def _estimates(
    query: StatisticQuery,
    facts: PublicFacts,
    steps: Mapping[StepKind, tuple[WholeNoise, Whole]],
    share: float | None,
    groups: int,
) -> Estimates:
    """Return the estimates of a query for all groups, in the units of the column; ``share`` is the one of a quantile."""
    if query.statistic == "count":
        noise, counts = steps["count"]
        return plain_sums(counts.astype(np.float64), noise.deviation, noise.reach(1), 0.0)
    bounds = facts.bounds[str(query.column)]
    unit = float(bounds.unit)
    if query.statistic == "sum":
        noise, sums = steps["sum"]
        return moved(plain_sums(sums.astype(np.float64), noise.deviation, noise.reach(1), -np.inf), 0.0, unit)
    if share is not None:
        noise, trees = steps["tree"]
        edges = leaf_edges(float(bounds.low), float(bounds.high))
        return quantiles(trees.reshape(groups, -1), noise.deviation, share, edges, noise.quantile)
    counted = steps.get("count")
    public_sizes = np.full(groups, float(facts.total or 0))
    sizes = public_sizes if counted is None else counted[1].astype(np.float64)
    count_deviation = 0.0 if counted is None else counted[0].deviation
    noise, sums = steps["centred"]
    low, high = (end - bounds.middle for end in bounds.ends)
    if query.statistic == "mean":
        means = ratios(sums.astype(np.float64), sizes, noise.deviation, count_deviation, (low, high), noise.quantile)
        return moved(means, bounds.middle * unit, unit)
    squared, squares = steps["squares"]
    deviations = squared.deviation, noise.deviation, count_deviation
    largest_square = max(low**2, high**2)
    return moved(
        variances(
            squares.astype(np.float64), sums.astype(np.float64), sizes, deviations, largest_square, noise.quantile
        ),
        0.0,
        unit**2,
    )
