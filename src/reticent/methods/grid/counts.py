"""Counting queries on grid releases: an estimate, and an interval that contains the true number with a stated confidence for any table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import binom

from reticent.base.interval_answers import IntervalAnswer
from reticent.conditions import Condition, Covers, Domain
from reticent.errors import PolicyError
from reticent.methods.grid.axes import Cells, Grid
from reticent.methods.grid.bisection import Bisection
from reticent.methods.grid.details import NOISY_COUNT, SAMPLED_ROWS, BisectionDetails, SampleDetails
from reticent.methods.grid.sample_law import SamplePlan
from reticent.noise import DiscreteLaplaceLaw
from reticent.table import Meaning

CONFIDENCE = Fraction(19, 20)
_TAIL = float(1 - CONFIDENCE) / 2
# With more combinations of cells, whether they can meet a condition is not tested one by one.
_MOST_ASKED = 1_000_000
# A larger noise distribution is not enumerated.
_WIDEST_LISTED = 200_000


@dataclass(frozen=True)
class GridCount(IntervalAnswer):
    """Answer to a counting query: an estimate, and an ``interval`` that contains the true number with at least the stated ``confidence``.

    The interval makes no assumption about the table: if a condition covers cells partially, its lower end counts none
    and its upper end all of their rows. The estimate spreads rows evenly over such cells; ``standard_error`` refers to
    that model. ``hidden`` cells may have too few rows to be published; the estimate counts none there, so it is biased:
    on average it misses up to ``bias`` rows. No estimate from the published cells is unbiased: cells below the
    threshold leave no trace.
    """

    condition: str
    value: float
    standard_error: float
    interval: tuple[int, int]
    confidence: Fraction
    cells: int
    hidden: int = 0
    bias: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        return {**super().as_dict(), "cells": self.cells, "hidden": self.hidden, "bias": self.bias}

    def lines(self) -> list[str]:
        """Human-readable lines."""
        lines = [
            f"About {self.value:,.1f} rows, from {self.cells:,} published counts (standard error {self.standard_error:,.1f}).",
            self.confidence_line(),
        ]
        if self.hidden:
            lines.append(f"{self.hidden:,} cells that could meet it are not published: they are empty, or have too few sampled rows. The estimate counts no rows there.")  # fmt: skip
        if self.bias:
            lines.append(f"So the estimate is biased: on average it misses up to {self.bias:,.1f} rows. The interval allows for them.")  # fmt: skip
        return lines


def asked_condition(condition: str | Condition, estimator: str, names: tuple[str, ...]) -> Condition:
    """Parse a condition on columns of a grid, and check the estimator: there is only one."""
    if estimator != "uniform":
        raise PolicyError(f"Grid releases have a single estimator, uniform, not {estimator!r}.")
    parsed = Condition.of(condition)
    parsed.check_names(names)
    return parsed


def count_sample(details: SampleDetails, frame: pl.DataFrame, cells: Cells, condition: Condition) -> GridCount:
    """Return the estimated number of rows that meet a condition, from the published cells of a sample of the rows.

    Of all N rows that meet the condition a binomial number S is sampled. Published cells contain at least P and at most
    P' of these, and each of H hidden cells at most k - 1. The interval has every N for which both S >= P and S <= P' +
    H (k - 1) are likely enough.
    """
    grid, plan = details.grid, details.plan
    counts = frame[SAMPLED_ROWS].to_numpy()
    covers = _covers(grid, {axis.name: cells[:, index] for index, axis in enumerate(grid.axes)}, condition, len(frame))
    certain, possible = int(counts[covers.certain].sum()), int(counts[covers.possible].sum())
    cells_meant = _possible_cells(grid, condition)
    hidden = cells_meant - int(covers.possible.sum())
    upper_limit = possible + hidden * (plan.least - 1)
    share = 1.0 if plan.sample is None else float(plan.sample)
    weighted = counts * covers.share
    value = math.fsum(weighted.tolist()) / share
    variance = math.fsum((counts * covers.share * (1 - share * covers.share)).tolist()) / share**2
    interval = (
        (certain, upper_limit) if plan.sample is None else (_fewest_rows(certain, plan), _most_rows(upper_limit, plan))
    )
    confidence = Fraction(1) if plan.sample is None else CONFIDENCE
    # Every cell may be hidden in another sample of the same rows. Without sampling, published cells are always
    # published.
    bias = hidden * (plan.least - 1.0) if plan.sample is None else cells_meant * most_missed(plan.least, plan.sample)
    return GridCount(
        str(condition), value, math.sqrt(variance), interval, confidence, int(covers.possible.sum()), hidden, bias
    )


@lru_cache(maxsize=64)
def most_missed(least: int, sample: Fraction) -> float:
    """Return the largest expected number of rows that an estimate misses in one cell, E[X; X < k]/p over all sizes n of
    the cell, for X ~ Binomial(n, p).

    It is n Pr[Y < k - 1] with Y ~ Binomial(n - 1, p), which is below (k - 1)/p everywhere and decreases beyond the n
    where Y is rarely below k - 1.
    """
    share, sizes = float(sample), np.arange(1, math.ceil(4 * (least + 10) / float(sample)))
    return float((sizes * binom.cdf(least - 2, sizes - 1, share)).max())


def _fewest_rows(sampled: int, plan: SamplePlan) -> int:
    """Return the smallest number of rows consistent with this many sampled ones: a smaller one has a probability of at most 2.5 %."""
    share = float(plan.sample or 1)
    return _first(lambda rows: binom.sf(sampled - 1, rows, share) > _TAIL, sampled) if sampled else 0


def _most_rows(sampled: int, plan: SamplePlan) -> int:
    """Return the largest number of rows consistent with this few sampled ones."""
    share = float(plan.sample or 1)
    return _first(lambda rows: binom.cdf(sampled, rows, share) <= _TAIL, sampled) - 1


def _first(holds: Any, start: int) -> int:
    """Return the first number from ``start`` on for which a monotone condition holds."""
    step = 1
    while not holds(start + step):
        step *= 2
    low, high = start - 1, start + step
    while high - low > 1:
        probe = (low + high) // 2
        low, high = (low, probe) if holds(probe) else (probe, high)
    return high


def _possible_cells(grid: Grid, condition: Condition) -> int:
    """Return how many cells of the grid can meet a condition; all, if finding out would take too long."""
    axes_used = [axis for axis in grid.axes if axis.name in condition.scope]
    combinations = math.prod(axis.size for axis in axes_used)
    if combinations > _MOST_ASKED:
        return grid.size
    combined_cells = (
        Grid(tuple(axes_used)).unpack(np.arange(combinations)) if axes_used else np.zeros((1, 0), dtype=np.int64)
    )
    codes = {axis.name: combined_cells[:, index] for index, axis in enumerate(axes_used)}
    covers = _covers(grid, codes, condition, combinations)
    return int(covers.possible.sum()) * (grid.size // combinations)


def _covers(grid: Grid, codes: dict[str, Cells], condition: Condition, count: int) -> Covers:
    """Return how the condition covers cells, given by their indexes on the axes."""
    meanings = {name: grid.axis(name).meanings for name in condition.scope}
    return _covers_of_counts(grid, {name: codes[name] for name in condition.scope}, meanings, condition, count)


def _covers_of_counts(
    grid: Grid, codes: dict[str, Cells], meanings: dict[str, Any], condition: Condition, count: int
) -> Covers:
    """Return for each of ``count`` cells the share that a condition covers."""
    if not codes:
        constant_cover = condition.covers({}, {})
        return Covers(
            *(np.repeat(getattr(constant_cover, name), count) for name in ("share", "possible", "certain", "measured"))
        )
    domains = {name: Domain.of_values(grid.axis(name).kind, None, may_miss=False) for name in codes}
    return condition.covers(codes, meanings, domains)


def count_boxes(details: BisectionDetails, frame: pl.DataFrame, boxes: Bisection, condition: Condition) -> GridCount:
    """Return the estimated number of rows that meet a condition, from the noisy counts of boxes: the noise has mean 0 and a known distribution."""
    grid, law = details.grid, details.plan.counts
    counts = frame[NOISY_COUNT].to_numpy()
    owners = np.arange(len(boxes))
    values: Cells | None = None
    if details.histogram is not None:
        value_count = grid.axis(details.histogram).size
        table = counts.reshape(len(boxes), value_count + 1)
        if details.histogram in condition.scope and details.plan.histogram is not None:
            law = details.plan.histogram
            counts, owners, values = (
                table[:, 1:].ravel(),
                np.repeat(owners, value_count),
                np.tile(np.arange(value_count), len(boxes)),
            )
        else:
            counts = table[:, 0]
    codes, meanings = _of_boxes(details, boxes, owners, values, condition)
    covers = _covers_of_counts(grid, codes, meanings, condition, len(counts))
    value = math.fsum((counts * covers.share).tolist())
    spread = np.maximum(counts, 0) * covers.share * (1 - covers.share)
    error = math.sqrt(float(law.variance) * math.fsum((covers.share**2).tolist()) + math.fsum(spread.tolist()))
    low = int(counts[covers.certain].sum()) - reach(law, int(covers.certain.sum()))
    high = int(counts[covers.possible].sum()) + reach(law, int(covers.possible.sum()))
    interval = max(0, low), max(0, high)
    return GridCount(str(condition), value, error, interval, CONFIDENCE, int(covers.possible.sum()))


def _of_boxes(
    details: BisectionDetails, boxes: Bisection, owners: Cells, values: Cells | None, condition: Condition
) -> tuple[dict[str, Cells], dict[str, list[Meaning]]]:
    """Return for each column of the condition an index for every count, and the column's meanings that it refers to.

    ``owners`` is the box of every count, ``values`` its value of the histogram column, None if values are not counted.
    """
    codes: dict[str, Cells] = {}
    meanings: dict[str, list[Meaning]] = {}
    for index, axis in enumerate(details.halved.axes):
        if axis.name in condition.scope:
            ends = np.column_stack([boxes.lows[:, index], boxes.highs[:, index]])
            distinct, label_of_box = np.unique(ends, axis=0, return_inverse=True)
            codes[axis.name] = label_of_box.ravel()[owners].astype(np.int64)
            meanings[axis.name] = [axis.meaning_of(low, high) for low, high in distinct.tolist()]
    if values is not None and details.histogram is not None:
        codes[details.histogram] = values
        meanings[details.histogram] = list(details.grid.axis(details.histogram).meanings)
    return codes, meanings


@lru_cache(maxsize=256)
def reach(law: DiscreteLaplaceLaw, counts: int) -> int:
    """Return the bound that the noise of a sum of ``counts`` noisy counts exceeds with a probability of at most 2.5 % in each direction."""
    if not counts:
        return 0
    if float(law.scale) * math.sqrt(counts) <= _WIDEST_LISTED:
        return law.reach(counts, float(CONFIDENCE))
    # Chebyshev's inequality, if the distribution has too many values to enumerate.
    return math.ceil(math.sqrt(counts * float(law.variance) / _TAIL))
