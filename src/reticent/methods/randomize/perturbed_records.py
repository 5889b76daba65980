"""Perturbed records (FRAPP): estimates of counts, sums and averages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from reticent.base.exact import Number
from reticent.conditions import Condition
from reticent.methods.randomize.details import FrappManifest
from reticent.methods.randomize.domain_counts import checked, count_or_refuse
from reticent.methods.randomize.draws import Draws
from reticent.methods.randomize.error_bounds import level_of
from reticent.methods.randomize.estimators import Estimate, average_of, fitting
from reticent.methods.randomize.frapp import FrappPlan, Perturbed, RecordLayer
from reticent.methods.randomize.grouped_counts import QueryCells
from reticent.methods.randomize.linear_queries import held, moment, numbers, without_nulls
from reticent.methods.randomize.reader import Reader
from reticent.methods.randomize.view_domain import Keys

if TYPE_CHECKING:
    from reticent.release import PublicSide, Release

_ERROR = Fraction(1, 20)


@dataclass(frozen=True)
class FrappView(Reader):
    """Perturbed records as sorted keys, with estimates from them."""

    called: ClassVar[str] = "Perturbed records have"
    method: ClassVar[str] = "Frapp"

    manifest: FrappManifest
    keys: Keys = field(repr=False)
    secure: bool = True
    given: Release | PublicSide | None = field(default=None, repr=False)

    @property
    def plan(self) -> FrappPlan:
        """The plan of the perturbation."""
        return self.manifest.plan

    def estimate(
        self, condition: str | Condition = "true", *, error: Number | None = None, queries: int = 1
    ) -> Estimate:
        """Estimate how many records meet a condition: (n_V - q n n_D)/(g_f - q), unbiased, with standard error, Bernstein
        bound and exact interval.
        """
        parsed, level = checked(condition, self.domain), level_of(error, _ERROR, queries)
        query = self._query(parsed)
        interval = self.plan.interval(int(query.shown), int(query.total), len(self), level)
        return _answer(parsed.text, query, interval, level)

    def sum(self, column: str, condition: str | Condition = "true", *, error: Number | None = None) -> Estimate:
        """Estimate the sum of a numeric column over the records that meet a condition (a linear query); nulls add 0."""
        parsed, level = checked(condition, self.domain), level_of(error, _ERROR)
        query = self._query(parsed, column)
        bound, lowest, highest = Fraction(query.bound(level)), len(self) * query.low, len(self) * query.high
        low, high = (max(lowest, min(end, highest)) for end in (query.value - bound, query.value + bound))
        estimate = _answer(f"sum of {column} where {parsed.text}", query, (float(low), float(high)), level)
        return replace(estimate, counts=f"of {column} in all")

    def average(self, column: str, condition: str | Condition = "true", *, error: Number | None = None) -> Estimate:
        """Estimate the average of a numeric column, ignoring nulls: a ratio of sum and count, its standard error by the delta method.

        The interval needs no large counts: over the true records the weights minus their average sum to 0
        (``averaging``). ``bound`` is the distance to its farther end.
        """
        parsed = without_nulls(checked(condition, self.domain), self.domain, column)
        level, count, total = level_of(error, _ERROR), self._query(parsed), self._query(parsed, column)
        value = average_of(parsed.text, total.value, count.value)

        def is_too_far(average: Fraction) -> bool:
            centred = total.centred(count, average)
            return abs(centred.value) > centred.bound(level)

        lowest, highest = total.extremes
        interval = fitting(is_too_far, value, lowest, highest)
        return Estimate(
            f"average of {column} where {parsed.text}",
            value,
            math.sqrt(total.centred(count, value).variance()) / float(count.value),
            max(lowest, min(value, highest)),
            interval,
            max(abs(end - float(value)) for end in interval),
            level,
            count.shown,
            count.total,
            counts=f"{column} on average",
        )

    def group_by(
        self,
        columns: str | Sequence[str],
        condition: str | Condition = "true",
        *,
        error: Number | None = None,
        queries: int = 1,
        intervals: bool = True,
    ) -> pl.DataFrame:
        """Return one estimate for every combination of some columns' values, occurring or not, equal to :meth:`estimate`.

        The columns are those of :meth:`View.group_by <reticent.methods.randomize.view.View.group_by>`.
        """
        cells, level, rows = QueryCells.of(condition, self.domain, columns), level_of(error, _ERROR, queries), len(self)
        layer = RecordLayer.of(self.plan, cells.shown(self.keys), cells.totals, rows)
        figures = cells.figures([layer], level, layer.least, layer.most)
        if not intervals:
            return cells.frame(figures)

        def interval(shown: int, total: int) -> tuple[int, int]:
            return self.plan.interval(shown, total, rows, level)

        return cells.frame(figures | cells.exact_intervals(layer.shown, interval))

    def _query(self, condition: Condition, column: str | None = None) -> Perturbed:
        """Build the query for a count, or for the sum of a column."""
        one, size = Fraction(1), self.domain.size
        if column is None:
            shown, total = (
                held(condition, self.domain, self.keys)[0],
                int(count_or_refuse(condition, self.domain, "a count")),
            )
            extremes = (one, one) if total else (0 * one, 0 * one)
            return Perturbed(self.plan, len(self), shown, shown, one * total, one * total, extremes, total == size)
        weights = numbers(self.domain, column)
        counts = count_or_refuse(condition, self.domain, "a sum", keep=[column]).tolist()
        possible = [weight for count, weight in zip(counts, weights, strict=True) if count] or [0 * one]
        return Perturbed(
            self.plan,
            len(self),
            *held(condition, self.domain, self.keys, column, weights),
            moment(counts, weights, 1),
            moment(counts, weights, 2),
            (min(possible), max(possible)),
            sum(counts) == size,
        )


def _answer(
    condition: str, query: Perturbed, interval: tuple[int, int] | tuple[float, float], level: Fraction
) -> Estimate:
    """Return the estimate of a query with its interval."""
    return Estimate(
        condition,
        query.value,
        math.sqrt(query.variance()),
        query.clipped,
        interval,
        query.bound(level),
        level,
        query.shown,
        query.total,
    )


def perturb(frame: Any, plan: FrappPlan, *, insecure_seed: int | None = None) -> FrappView:
    """Perturb every record of a table by a plan. Nothing is recorded; to release, use ``publish`` with method=Frapp(...)."""
    draws = Draws(insecure_seed)
    return FrappView(FrappManifest(plan), plan.perturb(frame, draws), draws.is_secure)
