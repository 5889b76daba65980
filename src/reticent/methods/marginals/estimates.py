"""Counts from noisy marginals: unbiased sums of measured cells with an interval; from synthetic records where no measured marginal has all columns of the condition."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.cards import SaidInLines
from reticent.conditions import Condition
from reticent.methods.marginals.details import MarginalsDetails
from reticent.methods.noisy_columns import combinations_of
from reticent.noise import CONFIDENCE, WholeNoise


@dataclass(frozen=True)
class MarginalCount(SaidInLines):
    """The estimated number of records that meet a condition. With a ``standard_error`` the value is a sum of measured cells, and ``interval`` contains the true number with at least the stated ``confidence``;
    without one it is counted in synthetic records, and no interval is known."""

    condition: str
    value: float
    standard_error: float | None
    interval: tuple[int, int] | None
    total: int
    confidence: Fraction = CONFIDENCE

    @property
    def bounds(self) -> tuple[float, float]:
        """The interval; if there is none, from 0 to all records."""
        return (0, self.total) if self.interval is None else self.interval

    def as_dict(self) -> dict[str, Any]:
        """The answer as plain data."""
        return {
            "condition": self.condition,
            "value": self.value,
            "standard_error": self.standard_error,
            "interval": None if self.interval is None else list(self.interval),
            "bounds": list(self.bounds),
            "confidence": float(self.confidence),
        }

    def lines(self) -> list[str]:
        """Human-readable lines."""
        if self.interval is None or self.standard_error is None:
            return [
                f"{self.value:,.0f} records, counted in the synthetic records",
                "No measured marginal has all of these columns, so that no interval is known; the estimate may be far off.",
            ]
        low, high = self.interval
        return [
            f"{self.value:,.0f} records, by measured counts (standard error {self.standard_error:,.1f})",
            f"With {float(100 * self.confidence):g}% confidence between {low:,} and {high:,}.",
        ]


@dataclass(frozen=True)
class _MeasuredSums:
    """For one measurement: the sums over cells that certainly and that possibly meet the condition, and over shares of cells."""

    value: float
    low: float
    high: float
    variance: float
    reach: tuple[float, float]


def count_marginals(
    condition: Condition, details: MarginalsDetails, counts: Sequence[NDArray[np.int64]], records: pl.DataFrame
) -> MarginalCount:
    """Count with every measured marginal that has all columns of the condition, weighted by precision; ``counts`` are those of :attr:`MarginalsDetails.measured`."""
    condition.check_names(details.by_name)
    total = details.total if details.total is not None else records.height
    if not condition.scope:
        met = records.height if bool(condition.mask(pl.DataFrame({"row": [0]}))[0]) else 0
        return MarginalCount(condition.text, met, None, None, total)
    usable = [
        _measured_sums(condition, details, step.columns, step.scale, noisy)
        for step, noisy in zip(details.measured, counts, strict=True)
        if set(condition.scope) <= set(step.columns)
    ]
    if not usable:
        return MarginalCount(condition.text, float(condition.mask(records).sum()), None, None, total)
    weights = np.array([1 / max(sums.variance, 1e-12) for sums in usable])
    weights /= weights.sum()
    value = float(weights @ [sums.value for sums in usable])
    low = float(weights @ [sums.low for sums in usable]) - _combined(weights, [sums.reach[0] for sums in usable])
    high = float(weights @ [sums.high for sums in usable]) + _combined(weights, [sums.reach[1] for sums in usable])
    error = math.sqrt(float(weights**2 @ [sums.variance for sums in usable]))
    interval = max(0, math.floor(low)), max(0, math.ceil(high))
    return MarginalCount(condition.text, value, error, interval, total)


def _combined(weights: NDArray[np.float64], reaches: Sequence[float]) -> float:
    """The half-width of the interval of a weighted mean of independent noisy sums, from their half-widths (root of the weighted squares)."""
    return math.sqrt(float(weights**2 @ np.square(reaches)))


def _measured_sums(
    condition: Condition,
    details: MarginalsDetails,
    columns: tuple[str, ...],
    scale: Fraction,
    noisy: NDArray[np.int64],
) -> _MeasuredSums:
    """Return the sums of a measured marginal's noisy counts over the cells that a condition covers, for certain and possibly."""
    concerned = details.counted_columns(columns)
    codes = combinations_of([column.size for column in concerned])
    scope = set(condition.scope)
    covers = condition.covers(
        {column.name: codes[:, index] for index, column in enumerate(concerned) if column.name in scope},
        {column.name: column.cells for column in concerned if column.name in scope},
    )
    certain, possible = int(covers.certain.sum()), int(covers.possible.sum())
    noise = WholeNoise(details.plan.currency, scale)
    return _MeasuredSums(
        float(covers.share @ noisy),
        float(noisy[covers.certain].sum()),
        float(noisy[covers.possible].sum()),
        float((covers.share**2).sum()) * noise.deviation**2,
        (noise.reach(certain), noise.reach(possible)),
    )
