"""GridSample and GridCounts: from a table and a public grid to a draft that satisfies differential privacy or crowd blending."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from reticent.base.context import Context
from reticent.base.exact import Number, exact, whole
from reticent.base.parameters import described, parameter
from reticent.base.privacy_cost import DeclaredBudget, LossBound, PrivacyCost
from reticent.base.randomness import uniform_below
from reticent.core import Draft, Evidence, Kind
from reticent.definitions import CrowdBlending, Definition, ExpectedError, UnboundedDP
from reticent.errors import PolicyError
from reticent.methods.grid.axes import Cells, Grid, check_grid, declared_grid
from reticent.methods.grid.bisection import Bisection, halve
from reticent.methods.grid.box_tables import box_table, cell_table
from reticent.methods.grid.details import (
    DEEPEST,
    NOISY_COUNT,
    SAMPLED_ROWS,
    WIDEST_SCALE,
    BisectionDetails,
    BisectionPlan,
    SampleDetails,
)
from reticent.methods.grid.sample_law import MOST_LEAST, SamplePlan, least_cell, least_epsilon
from reticent.noise import CentralNoise, central_noise
from reticent.table import FrameRows, Table

GRID_SAMPLE, GRID_COUNTS = "grid sample", "grid counts"
# Empty boxes should seldom be halved: their noise is rarely above this many standard deviations.
_STOP_DEVIATIONS = 4


class _GridMethod(ABC):
    """Base of both methods: check parameters, apply the grid to the rows, and state the cost."""

    grid: Mapping[str, Any] | None
    budget: Mapping[str, Any] | None

    keeps: ClassVar[frozenset[Kind]] = frozenset({"plan"})
    streams: ClassVar[bool] = False
    column: ClassVar[str]
    purpose: ClassVar[str]

    def refusal(self, table: Table, definition: Definition) -> str | None:
        """Return why the request is not supported: both protect rows, one per person, and satisfy only what a plan can guarantee."""
        name = type(self).__name__
        if table.several_rows or (table.key is not None and (table.rows_per_person or 1) > 1):
            return (
                f"{name} protects one row, but people of this table may have several. Keep one row for each person, or count visits with unit='row' if that is what "
                "may be protected."
            )
        if self.grid is None:
            return f"{name} needs grid: the cells of every column to publish, declared from public sources and not from the rows."
        if self.column in self.grid:
            return f"{name} reserves the column name {self.column!r}. Rename the column of the table."
        return self.unkept(definition)

    @abstractmethod
    def unkept(self, definition: Definition) -> str | None:
        """Return why the definition cannot be satisfied, or None."""

    def draft(self, table: Table, definition: Definition, context: Context | None = None) -> Draft:
        """Return the published part of the grid, with the plan as its evidence."""
        context = context or Context()
        reason = self.refusal(table, definition)
        if reason is not None:
            raise PolicyError(reason, setting=("method", "name"))
        grid = declared_grid(table, self.grid or {})
        context.step("laying the grid")
        drafted = self.drafted(grid, grid.encode(table.frame), definition, context)
        budget = DeclaredBudget.of(self.budget, type(self).__name__)
        return replace(drafted, cost=self.cost(table, definition), budget=budget)

    @abstractmethod
    def drafted(self, grid: Grid, cells: Cells, definition: Definition, context: Context) -> Draft:
        """Return the draft, given the cell of every row."""

    @abstractmethod
    def expected_error(self, table: Table, definition: Definition) -> ExpectedError:
        """Return the expected error of counts due to sampling or noise."""

    def describe(self) -> dict[str, Any]:
        """The method and its public parameters; the grid is in the details of a release."""
        return described(self)

    def cost(self, table: Table, definition: Definition) -> PrivacyCost | None:
        """Return the cost for a row added or removed, at the smallest claimed epsilon; None for a guarantee without
        epsilon, which does not add up.
        """
        promised = [part.amounts for part in definition.parts() if isinstance(part, UnboundedDP)]
        if not promised:
            return None
        return PrivacyCost(self.purpose, {"add/remove": LossBound(*min(promised))}, table.unit)


@dataclass(frozen=True)
class GridSample(_GridMethod):
    """Sample every row with the public probability ``sample``, and publish the cells of a public grid with at least
    ``least`` sampled rows, with their counts.

    ``grid`` maps every published column to its cells, which must not be derived from the data: a list of values,
    ``{"from": 0, "to": 100, "step": 10}``, ``{"breaks": [0, 18, 65, 120]}``, or a level of the column's declared
    hierarchy. Sensitive columns are columns of the grid like others: a cell counts the people who agree in *all*
    published columns. ``least`` defaults to the smallest number that satisfies the definition.

    Guarantee: UnboundedDP(epsilon, delta) for the delta of :class:`SamplePlan`; and CrowdBlending(least). Without
    ``sample`` all rows are used, which satisfies only CrowdBlending. Source: [Gehrke2012]; [Li2012]. Adversary: the
    definition's. Neighbours are unbounded: neither the number of rows nor of suppressed rows is published. Cost:
    O(rows), one random number each. ``budget``: the total epsilon and delta of the data set, as for :class:`Synthetic`.
    Every draft uses a fresh sample, whose epsilon and delta add to earlier ones; a sample used twice has no guarantee.

    Example:
        >>> import reticent as rt
        >>> table = rt.Table({"age": [30 + number % 20 for number in range(400)]}, quasi=["age"])
        >>> method = rt.GridSample({"age": {"from": 30, "to": 50, "step": 10}}, sample="0.3")
        >>> release = rt.publish(table, rt.UnboundedDP(1, "1e-3"), method, insecure_seed=1)
        >>> release.frame["age"].to_list()
        ['[30, 40)', '[40, 50]']
    """

    grid: Mapping[str, Any] | None = parameter(None, stated="never")
    sample: Number | None = parameter(None, written=str)
    least: int | None = None
    budget: Mapping[str, Any] | None = parameter(None, stated="never")

    format: ClassVar[str] = GRID_SAMPLE
    column: ClassVar[str] = SAMPLED_ROWS
    purpose: ClassVar[str] = "a sample on a grid"

    def __post_init__(self) -> None:
        check_grid(self.grid, "GridSample")
        DeclaredBudget.of(self.budget, "GridSample")
        if self.least is not None:
            whole(self.least, "GridSample: least", low=1, high=MOST_LEAST)
        if self.sample is not None:
            share = exact(self.sample, "GridSample: sample", above=0, below=1)
            # Refuses a probability that cannot be sampled exactly.
            _ = SamplePlan(1, share)
            object.__setattr__(self, "sample", share)

    def unkept(self, definition: Definition) -> str | None:
        """Return why this method cannot satisfy a definition, or None."""
        for part in definition.parts():
            if isinstance(part, UnboundedDP):
                if self.sample is None:
                    return "GridSample without sample= publishes cells of all rows, which is not differentially private. Pass sample='0.2', or use CrowdBlending(k) alone."
                if not part.amounts[1]:
                    return "GridSample needs a delta above 0: a sample may always disclose a row. Use UnboundedDP(1, '1e-6'), or GridCounts."
            elif not isinstance(part, CrowdBlending):
                return f"GridSample supports UnboundedDP(epsilon, delta) and CrowdBlending(k), not {part}. Choose a grouping method for that."
        return self._too_weak(definition)

    def _too_weak(self, definition: Definition) -> str | None:
        """Return why the planned sample and threshold do not satisfy a definition, or None."""
        try:
            plan = self.plan(definition)
        except PolicyError as problem:
            return str(problem)
        for part in definition.parts():
            if isinstance(part, UnboundedDP | CrowdBlending):
                assessment = part.assess(plan)
                if assessment.witness is not None:
                    return f"GridSample with least = {plan.least} does not satisfy {part}. {assessment.witness.text} Omit least to have it chosen."
        return None

    def plan(self, definition: Definition) -> SamplePlan:
        """Return the plan, fixed before the rows are read: the threshold of a cell is given, or the smallest that satisfies the definition."""
        share = None if self.sample is None else exact(self.sample, "sample")
        if self.least is not None:
            return SamplePlan(self.least, share)
        required_sizes = [part.k for part in definition.parts() if isinstance(part, CrowdBlending)]
        for part in definition.parts():
            if isinstance(part, UnboundedDP) and share is not None:
                required_sizes.append(_enough(share, *part.amounts))
        return SamplePlan(max(required_sizes, default=2), share)

    def drafted(self, grid: Grid, cells: Cells, definition: Definition, context: Context) -> Draft:
        """Draft the cells of a sample that have enough sampled rows."""
        plan = self.plan(definition)
        context.step("sampling")
        packed = grid.pack(cells)
        if plan.sample is not None:
            packed = packed[_chosen(len(cells), plan.sample, context)]
        numbers, counts = np.unique(packed, return_counts=True)
        is_published = counts >= plan.least
        table = cell_table(grid, grid.unpack(numbers[is_published]), counts[is_published])
        return Draft(
            format=GRID_SAMPLE,
            tables={"cells": FrameRows(table)},
            evidence=Evidence(plan=plan),
            method=self.describe(),
            details=SampleDetails(grid, plan).as_json(),
            search={
                "cells": int(is_published.sum()),
                "rows": len(cells),
                "sampled": len(packed),
                "sampled_and_shown": int(counts[is_published].sum()),
            },
            insecure=not context.randomness.is_secure,
        )

    def expected_error(self, table: Table, definition: Definition) -> ExpectedError:
        """Return the expected error of counts by sampling, from the plan alone."""
        plan, size = self.plan(definition), declared_grid(table, self.grid or {}).size
        if plan.sample is None:
            words = f"Of the {size:,} cells those with at least {plan.least} rows would be published with their exact counts."
            return ExpectedError({"cells": size, "least": plan.least, "standard_error": 0.0}, words)
        # Of x rows x p are sampled on average, with variance x p (1 - p); divided by p.
        rows_shown_from, per_row = plan.least / float(plan.sample), float((1 - plan.sample) / plan.sample)
        return ExpectedError(
            {
                "cells": size,
                "least": plan.least,
                "rows_shown_from": rows_shown_from,
                "standard_error": math.sqrt(rows_shown_from * per_row),
            },
            f"Of the {size:,} cells those with at least {plan.least} sampled rows would be published: about half of the cells with {rows_shown_from:,.0f} rows, fewer of smaller ones. A cell of "
            f"{rows_shown_from:,.0f} rows is estimated with a standard error of {math.sqrt(rows_shown_from * per_row):,.1f}.",
        )


@dataclass(frozen=True)
class GridCounts(_GridMethod):
    """Bisect a public grid repeatedly wherever a noisy count is at least ``stop``, and publish a noisy count of every final box.

    ``grid`` is as for :class:`GridSample`. Boxes are halved at most ``depth`` times, alternating between columns; each
    of these levels has the same share of epsilon, and so have the published counts. ``histogram`` names a column of the
    grid that is not halved: its values are counted in every box, for ``share`` of epsilon.

    Guarantee: UnboundedDP(epsilon): discrete Laplace noise of scale (depth + 1)/epsilon on each count, since a row is in one box per level.
    Adversary: the definition's. Neighbours are unbounded; the number of rows is published only with noise.
    Cost: O(rows x depth), one sample per box. ``budget``: the total epsilon and delta of the data set.

    Example:
        >>> import reticent as rt
        >>> table = rt.Table({"age": [30 + number % 20 for number in range(400)]}, quasi=["age"])
        >>> method = rt.GridCounts({"age": {"from": 30, "to": 50, "step": 5}}, depth=2)
        >>> release = rt.publish(table, rt.UnboundedDP(1), method, insecure_seed=1)
        >>> release.frame.columns
        ['age', 'noisy_count']
    """

    grid: Mapping[str, Any] | None = None
    depth: int = 8
    stop: int | None = None
    histogram: str | None = None
    share: Number = "1/2"
    budget: Mapping[str, Any] | None = None

    format: ClassVar[str] = GRID_COUNTS
    column: ClassVar[str] = NOISY_COUNT
    purpose: ClassVar[str] = "noisy counts of a grid"

    def __post_init__(self) -> None:
        check_grid(self.grid, "GridCounts")
        DeclaredBudget.of(self.budget, "GridCounts")
        whole(self.depth, "GridCounts: depth", low=0, high=DEEPEST)
        if self.stop is not None:
            whole(self.stop, "GridCounts: stop", low=0, high=2**50)
        columns = () if self.grid is None else tuple(self.grid)
        if self.histogram is not None and (self.histogram not in columns or len(columns) < 2):
            raise PolicyError(
                f"GridCounts: histogram must be a column of the grid, which needs another column to halve, but it is {self.histogram!r}.",
                setting=("GridCounts", "histogram"),
                value=self.histogram,
            )
        exact(self.share, "GridCounts: share", above=0, below=1)

    def unkept(self, definition: Definition) -> str | None:
        if not isinstance(definition, UnboundedDP):
            return f"GridCounts supports UnboundedDP(epsilon), not {definition}. Choose a grouping method for that."
        return None

    def plan(
        self, grid: Grid, epsilon: Fraction
    ) -> tuple[BisectionPlan, tuple[CentralNoise, CentralNoise, CentralNoise | None]]:
        """Return the plan, fixed before the rows are read, and its noise."""
        depth = min(self.depth, grid.without(self.histogram).deepest)
        values = None
        if self.histogram is not None:
            part = epsilon * exact(self.share, "share")
            values, epsilon = central_noise(1, part), epsilon - part
        level = central_noise(1, epsilon / (depth + 1))
        for noise in (level, values):
            if noise is not None and noise.law.scale > WIDEST_SCALE:
                raise PolicyError("GridCounts: epsilon is too small for so many levels: the noise would be above 65,536. Use a larger epsilon, or fewer levels.")  # fmt: skip
        return BisectionPlan(depth, level.law, level.law, None if values is None else values.law), (
            level,
            level,
            values,
        )

    def drafted(self, grid: Grid, cells: Cells, definition: Definition, context: Context) -> Draft:
        """Draft the boxes of a noisy bisection with a noisy count for each."""
        assert isinstance(definition, UnboundedDP)
        plan, (decisions, counts, values) = self.plan(grid, definition.amounts[0])
        deviation = math.sqrt(float(plan.decisions.variance))
        stop = math.ceil(_STOP_DEVIATIONS * deviation) if self.stop is None else self.stop
        details = BisectionDetails(grid, plan, stop, self.histogram)
        source = context.randomness.repeatable()
        halved = [index for index, name in enumerate(grid.names) if name != self.histogram]

        def goes_on(lows: Cells, highs: Cells, rows: Cells) -> NDArray[np.bool_]:
            context.step("halving")
            return np.array(decisions.added(rows.tolist(), source), dtype=np.int64) >= stop

        boxes = halve(details.halved.sizes, plan.depth, cells[:, halved], goes_on)
        context.step("adding noise")
        totals = np.array(counts.added(boxes.counts().tolist(), source), dtype=np.int64)
        histograms = None
        if values is not None and self.histogram is not None:
            true = _by_value(boxes, cells[:, grid.names.index(self.histogram)], grid.axis(self.histogram).size)
            histograms = np.array(values.added(true.ravel().tolist(), source), dtype=np.int64).reshape(true.shape)
        return Draft(
            format=GRID_COUNTS,
            tables={"boxes": FrameRows(box_table(details, boxes, totals, histograms))},
            evidence=Evidence(plan=plan),
            method=self.describe(),
            details=details.as_json(),
            search={"boxes": len(boxes)},
            insecure=not context.randomness.is_secure,
        )

    def expected_error(self, table: Table, definition: Definition) -> ExpectedError:
        """Return the standard deviation of the noise on boxes and values, from the plan alone."""
        assert isinstance(definition, UnboundedDP)
        plan, _ = self.plan(declared_grid(table, self.grid or {}), definition.amounts[0])
        figures = {"depth": float(plan.depth), "standard_error": math.sqrt(float(plan.counts.variance))}
        values = ""
        if plan.histogram is not None:
            figures["standard_error_of_values"] = math.sqrt(float(plan.histogram.variance))
            values = (
                f" A count of a value of {self.histogram!r} in a box has {figures['standard_error_of_values']:,.1f}."
            )
        return ExpectedError(
            figures,
            f"Boxes are halved up to {plan.depth} times, and each is the true number of rows plus noise with a standard deviation of {figures['standard_error']:,.1f}.{values}",
        )

    def describe(self) -> dict[str, Any]:
        more = {"stop": self.stop, "histogram": self.histogram}
        share = {} if self.histogram is None else {"share": str(self.share)}
        return {"name": "GridCounts", "depth": self.depth, **{k: v for k, v in more.items() if v is not None}, **share}


def _enough(sample: Fraction, epsilon: Fraction, delta: Fraction) -> int:
    """Return the smallest number of rows of a published cell that satisfies (epsilon, delta); refused with the reason if none does."""
    least_rows = least_cell(sample, epsilon, delta)
    if least_rows is not None:
        return least_rows
    if delta >= sample:
        raise PolicyError(
            f"delta = {float(delta):.3g} is not below the sampling probability {sample}, so the guarantee would be meaningless. Use a smaller delta."
        )
    if not SamplePlan(1, sample).covers_removal(epsilon):
        raise PolicyError(
            f"A sample of {sample} needs an epsilon of at least {least_epsilon(sample):.4g} (-ln(1 - sample)), for any threshold. Use a smaller sample, or a larger epsilon."
        )
    raise PolicyError(
        f"Even cells of {MOST_LEAST:,} rows do not satisfy (epsilon, delta) = ({float(epsilon):.3g}, {float(delta):.3g}) with a sample of {sample}. Use a smaller sample, or a larger epsilon or delta."
    )


def _chosen(rows: int, sample: Fraction, context: Context) -> NDArray[np.bool_]:
    """Sample rows independently with exactly this probability."""
    bounds = np.full(rows, sample.denominator, dtype=np.uint64)
    return uniform_below(bounds, context.randomness.words()) < np.uint64(sample.numerator)


def _by_value(boxes: Bisection, values: Cells, value_count: int) -> NDArray[np.int64]:
    """Return how many rows of each box have each value."""
    keys = boxes.box_of * value_count + values
    return np.bincount(keys, minlength=len(boxes) * value_count).astype(np.int64).reshape(len(boxes), value_count)
