"""A randomized view: tuples, some true and most not, with everything needed for estimates.

Nothing here has access to the table: estimates use the view and its manifest only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from reticent.base.exact import Number
from reticent.conditions import Condition
from reticent.errors import PolicyError
from reticent.methods.randomize.details import ViewManifest
from reticent.methods.randomize.domain_counts import DomainCount, checked, count_or_refuse, count_or_sample
from reticent.methods.randomize.error_bounds import level_of
from reticent.methods.randomize.estimators import Estimate, Stratum, answer, average_interval, average_of
from reticent.methods.randomize.exact_intervals import exact_interval
from reticent.methods.randomize.grouped_counts import Layer, QueryCells, at_most, bernstein_intervals
from reticent.methods.randomize.linear_queries import held, numbers, possible_numbers, without_nulls
from reticent.methods.randomize.plans import COUNT, Plan
from reticent.methods.randomize.rates import Rates
from reticent.methods.randomize.reader import Reader
from reticent.methods.randomize.reference_noise import SourceRates
from reticent.methods.randomize.tuple_sets import among
from reticent.methods.randomize.view_domain import Keys

if TYPE_CHECKING:
    from reticent.release import PublicSide, Release


@dataclass(frozen=True)
class View(Reader):
    """A published view, new or reopened: its manifest and its tuples as sorted keys.

    ``earlier`` are the tuples of earlier views of the same series; a later view can only be interpreted together with
    them.
    """

    called: ClassVar[str] = "A randomized view has"
    method: ClassVar[str] = "AlphaBeta"

    manifest: ViewManifest
    keys: Keys = field(repr=False)
    earlier: Keys | None = field(default=None, repr=False)
    secure: bool = True
    given: Release | PublicSide | None = field(default=None, repr=False)

    @property
    def plan(self) -> Plan:
        """The plan of the view."""
        return self.manifest.plan

    @property
    def rates(self) -> Rates:
        """The rates of uniform noise."""
        return self.plan.rates

    @property
    def source_rates(self) -> SourceRates | None:
        """The rates of non-uniform noise, or None."""
        return self.plan.source_rates

    def estimate(
        self, condition: str | Condition = "true", *, error: Number | None = None, queries: int = 1
    ) -> Estimate:
        """Estimate how many tuples of the table meet a condition: unbiased, with standard error and interval.

        ``error`` is the probability that the interval misses (default: the plan's). With ``queries``, the intervals of
        that many answers hold simultaneously.
        """
        parsed = checked(condition, self.domain)
        estimate = answer(parsed.text, self._strata(parsed), self.plan.n, level_of(error, self.plan.error, queries))
        return replace(estimate, counts=self.manifest.counts)

    def sum(self, column: str, condition: str | Condition = "true", *, error: Number | None = None) -> Estimate:
        """Estimate the sum of a numeric column over the tuples of the table that meet a condition (a linear query); nulls add 0."""
        parsed = checked(condition, self.domain)
        weights = numbers(self.domain, column)
        strata = self._strata(parsed, column, weights)
        largest = max(abs(weight) for weight in weights)
        estimate = answer(
            parsed.text,
            strata,
            self.plan.n,
            level_of(error, self.plan.error),
            largest=max(largest, Fraction(1)),
            whole=False,
        )
        return replace(estimate, condition=f"sum of {column} where {parsed.text}", counts=f"of {column} in all")

    def average(self, column: str, condition: str | Condition = "true", *, error: Number | None = None) -> Estimate:
        """Estimate the average of a numeric column, ignoring nulls: a ratio of sum and count, its standard error by the delta method.

        The interval needs no large counts (:func:`average_interval`); ``bound`` is the distance to its farther end.
        """
        parsed = without_nulls(checked(condition, self.domain), self.domain, column)
        level, weights = level_of(error, self.plan.error), numbers(self.domain, column)
        counts, sums = self._strata(parsed), self._strata(parsed, column, weights)
        count = sum((stratum.value for stratum in counts), Fraction(0))
        value = average_of(parsed.text, sum((stratum.value for stratum in sums), Fraction(0)), count)
        possible = possible_numbers(self.domain, column)
        lowest, highest = min(possible), max(possible)
        interval = average_interval(sums, counts, self.plan.n, level, lowest, highest)
        squares = self.plan.n * max(abs(lowest - value), abs(highest - value)) ** 2
        centred = [stratum.centred(count_stratum, value) for stratum, count_stratum in zip(sums, counts, strict=True)]
        return Estimate(
            f"average of {column} where {parsed.text}",
            value,
            math.sqrt(sum(stratum.variance(squares) for stratum in centred)) / float(count),
            max(lowest, min(value, highest)),
            interval,
            max(abs(end - float(value)) for end in interval),
            level,
            sum((stratum.shown for stratum in counts), Fraction(0)),
            sum((stratum.total for stratum in counts), Fraction(0)),
            counts=f"{column} on average",
        )

    def rows_estimate(self, condition: str | Condition = "true", *, error: Number | None = None) -> Estimate:
        """Estimate how many rows of the original table meet a condition: tuples, or the sum of their capped counts if tuples may repeat."""
        if self.manifest.duplicates == "refuse":
            return replace(self.estimate(condition, error=error), counts="people")
        if self.manifest.duplicates != "count":
            raise PolicyError(
                "This view has no count column: it counts distinct tuples. Plan with count= to count rows."
            )
        return replace(self.sum(COUNT, condition, error=error), counts="people")

    def count(self, condition: str | Condition, estimator: str = "uniform") -> Estimate:
        """Same as :meth:`estimate`, under the name common to all releases; the estimator ``people`` counts rows if tuples may repeat."""
        return self.rows_estimate(condition) if estimator == "people" else super().count(condition, estimator)

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

        Columns: ``shown``, ``value``, ``standard_error``, ``clipped``, ``bound``, and the ends ``low`` and ``high`` of
        the interval. Every interval holds for its cell; for simultaneous intervals pass ``queries``. Exact intervals
        are found by search, which dominates the running time: ``intervals=False`` omits them.
        """
        cells = QueryCells.of(condition, self.domain, columns)
        level, n = level_of(error, self.plan.error, queries), self.plan.n
        layers, limits = self._layers(cells), at_most(n, cells.totals)
        figures = cells.figures(layers, level, 0.0, limits)
        if not intervals:
            return cells.frame(figures)
        if self.source_rates is not None or len(layers) > 1:
            return cells.frame(figures | bernstein_intervals(figures, limits))

        def interval(shown: int, total: int) -> tuple[int, int]:
            """Return the exact interval of the true count of a cell with ``shown`` of ``total`` tuples published."""
            return exact_interval(shown, total, min(n, total), self.rates.s, self.rates.beta, level)

        return cells.frame(figures | cells.exact_intervals(figures["shown"], interval))

    def _layers(self, cells: QueryCells) -> list[Layer]:
        """Return the strata for the counts of many ``cells``: the whole domain or, for a later view, the tuples in earlier views and the others."""
        rates, n, shown = self.rates, self.plan.n, cells.shown(self.keys)
        if self.source_rates is not None:
            noise = float(self.source_rates.scale) * self.source_rates.source.shares(cells)
            alpha, kept = float(self.source_rates.alpha), float(self.source_rates.kept)
            return [Layer(shown, noise, at_most(n, cells.totals), alpha, kept)]
        if self.manifest.index == 1:
            return [Layer.uniform(shown, cells.totals, n, rates.s, rates.beta)]
        earlier_counts, repeated_counts = cells.shown(self._beside), cells.shown(self._again)
        return [
            Layer.uniform(repeated_counts, earlier_counts, n, rates.s, rates.carry),
            Layer.uniform(
                shown - repeated_counts, cells.totals - earlier_counts, n, rates.s, rates.noise(self.manifest.index)
            ),
        ]

    @property
    def _beside(self) -> Keys:
        """The tuples of earlier views, without which a later one cannot be interpreted."""
        if self.earlier is None:
            raise PolicyError(
                f"This is view {self.manifest.index} of a series. It can only be interpreted with the earlier ones: open it together with them (rt.randomize.Series)."
            )
        return self.earlier

    @property
    def _again(self) -> Keys:
        """Return the tuples that were also in an earlier view."""
        return self.keys[among(self.keys, self._beside)]

    def _strata(
        self, condition: Condition, column: str | None = None, weights: Sequence[Fraction] = ()
    ) -> list[Stratum]:
        """Return the strata of a query: the whole domain or, for a later view, the tuples in earlier views and the rest."""
        rates, index = self.rates, self.manifest.index
        totals = self._totals(condition, column, weights)
        published_totals = held(condition, self.domain, self.keys, column, weights)
        if self.source_rates is not None:
            return [self._source_stratum(self.source_rates, condition, column, weights, published_totals, totals)]
        if index == 1:
            return [
                Stratum.uniform(
                    published_totals[0],
                    totals[0].value,
                    rates.s,
                    rates.beta,
                    published_totals[1],
                    totals[1],
                    totals[0].sample,
                )
            ]
        earlier_totals = held(condition, self.domain, self._beside, column, weights)
        repeated_totals = held(condition, self.domain, self._again, column, weights)
        noise = rates.noise(index)
        return [
            Stratum.uniform(
                repeated_totals[0], earlier_totals[0], rates.s, rates.carry, repeated_totals[1], earlier_totals[1]
            ),
            Stratum.uniform(
                published_totals[0] - repeated_totals[0],
                totals[0].value - earlier_totals[0],
                rates.s,
                noise,
                published_totals[1] - repeated_totals[1],
                totals[1] - earlier_totals[1],
                totals[0].sample,
            ),
        ]

    def _source_stratum(
        self,
        rates: SourceRates,
        condition: Condition,
        column: str | None,
        weights: Sequence[Fraction],
        published_totals: tuple[Fraction, Fraction],
        totals: tuple[DomainCount, Fraction],
    ) -> Stratum:
        """Return the stratum of a query on a view with non-uniform noise: the sum of the inclusion probabilities beta(t) over
        the query is the rates' scale times its expectation under the source.
        """
        if not totals[0].is_exact:
            raise PolicyError(
                f"The condition {condition.text!r} couples too many columns to compute its noise. Use fewer columns."
            )
        noise = rates.scale * rates.source.expectation(condition, column, weights)
        squares = noise
        if column is not None:
            squares = rates.scale * rates.source.expectation(condition, column, [weight**2 for weight in weights])
        return Stratum(
            published_totals[0],
            totals[0].value,
            noise,
            published_totals[1],
            totals[1],
            squares,
            rates.alpha,
            rates.kept,
        )

    def _totals(
        self, condition: Condition, column: str | None, weights: Sequence[Fraction]
    ) -> tuple[DomainCount, Fraction]:
        """Return the domain totals of a query: the sum of weights and of squared weights."""
        if column is None:
            counted = count_or_sample(condition, self.domain)
            return counted, counted.value
        plain, squares = (
            Fraction(count_or_refuse(condition, self.domain, "a sum", weights={column: [w**power for w in weights]}))
            for power in (1, 2)
        )
        return DomainCount(plain), squares
