"""The format ``noisy statistics``: noisy statistics with their intervals, and every noisy number behind them, judged by the plan of all noisy steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.conditions import Condition
from reticent.core import AdversaryView, Draft
from reticent.errors import DataError, PolicyError
from reticent.methods.noisy_columns import combinations_of
from reticent.methods.noisy_columns.format import NoisyColumnsFormat
from reticent.methods.statistics.details import StatisticsDetails
from reticent.methods.statistics.noisy_answers import placed_bounds
from reticent.methods.statistics.plan import StatisticsPlan
from reticent.methods.statistics.published_tables import STATISTICS_SCHEMA, statistic_table
from reticent.noise import CONFIDENCE, NoisySum, WholeNoise
from reticent.release import IntervalWidths, ManifestColumn
from reticent.release.format import Words, read_details
from reticent.table import Rows, Table, ValueType

if TYPE_CHECKING:
    from reticent.release import PublicSide

ATTESTED = (
    "Mechanism attested, not checkable from files: that records were counted and noise was drawn by this plan, once, and that cells, bounds and queries were declared before the data were looked at, is the "
    "publisher's word. What was checked: how far a record moves every noisy number, the cost of every step and their sum, and that all statistics and intervals follow from the noisy numbers."
)
_CELLS = ("query", "statistic", "column", "group", "at", "step", "about", "cell")


class StatisticsFormat(NoisyColumnsFormat):
    """Two tables: the statistics with standard errors and intervals, and the noisy numbers that they follow from."""

    name: ClassVar[str] = "noisy statistics"
    tables: ClassVar[tuple[str, ...]] = ("statistics", "measurements")
    row_noun: ClassVar[str] = "statistics"
    roles: ClassVar[tuple[str, ...]] = ("cell", "count")
    noised: ClassVar[str] = "noisy sums"
    known_as: ClassVar[str] = "statistics"

    def columns(self, draft: Draft, table: Table, rows: Mapping[str, Rows]) -> tuple[ManifestColumn, ...]:
        """Return the manifest's columns: those that name a statistic, and its noisy numbers."""
        types = {name: dtype for table_name in self.tables for name, dtype in rows[table_name].schema.items()}
        return tuple(
            ManifestColumn(name, "cell" if name in _CELLS else "count", ValueType.published(dtype))
            for name, dtype in types.items()
        )

    def read(self, public: PublicSide) -> StatisticsDetails:
        """The details of a release."""
        return read_details(StatisticsDetails.from_json, public.manifest.details)

    def plan(self, public: PublicSide) -> StatisticsPlan:
        return self.read(public).plan

    def check(self, public: PublicSide) -> None:
        """Check that every step has all its noisy numbers, and that selected keys, bounds and statistics follow from them."""
        details = self.read(public)
        self.check_unit(public, details.unit)
        numbers = self.noisy_numbers(public, details)
        for step, about, noisy in zip(details.plan.steps, details.about, numbers, strict=True):
            if step.kind == "keys" and (noisy < int(step.threshold or 0)).any():
                raise DataError(f"A key of {about!r} is published although its noisy count is below the threshold.")
            if step.kind == "bounds":
                public_bounds = (details.facts.outer or {})[str(about)]
                placed = placed_bounds(noisy, WholeNoise(details.currency, step.scale).deviation, public_bounds)
                if placed != details.facts.bounds[str(about)]:
                    raise DataError(f"The bounds of {about!r} do not follow from the noisy counts.")
        published = public.rows["statistics"].frame()
        expected = statistic_table(details, numbers)
        figures = [name for name, dtype in STATISTICS_SCHEMA.items() if dtype == pl.Float64 and name != "at"]
        texts = [name for name in STATISTICS_SCHEMA if name not in (*figures, "at")]
        if published.height != expected.height or not _same_texts(published, expected, texts):
            raise DataError("The statistics are not those of the queries; the file was changed after it was published.")
        for name in (*figures, "at"):
            if not np.allclose(
                _numbers(published[name]), _numbers(expected[name]), rtol=1e-7, atol=1e-9, equal_nan=True
            ):
                raise DataError(
                    f"The column {name!r} does not follow from the noisy numbers; the file was changed after it was published."
                )

    def noisy_numbers(self, public: PublicSide, details: StatisticsDetails) -> list[NDArray[np.int64]]:
        """The numbers of every step; raises :class:`DataError` if the table does not match the details."""
        frame = public.rows["measurements"].frame()
        sizes = [
            details.facts.numbers(step.kind, about, details.queries)
            for step, about in zip(details.plan.steps, details.about, strict=True)
        ]
        if frame.height != sum(sizes):
            raise DataError(f"The steps have {sum(sizes):,} noisy numbers, but there are {frame.height:,}.")
        if not frame["noisy_number"].dtype.is_integer() or frame["noisy_number"].null_count():
            raise DataError("A noisy number is not a whole number; the file was changed after it was published.")
        numbers_by_step, start = [], 0
        for step_number, (size, step, about) in enumerate(
            zip(sizes, details.plan.steps, details.about, strict=True), 1
        ):
            part = frame.slice(start, size)
            if (
                not (part["step"] == step_number).all()
                or not (part["about"] == f"{step.kind} {about}").all()
                or part["cell"].to_list() != list(range(1, size + 1))
            ):
                raise DataError(f"The noisy numbers of step {step_number} are not in order; the file was changed.")
            numbers_by_step.append(part["noisy_number"].to_numpy().astype(np.int64))
            start += size
        return numbers_by_step

    def seen(
        self, rows: Mapping[str, Rows], columns: Sequence[ManifestColumn], details: Mapping[str, Any]
    ) -> AdversaryView:
        """An empty view: statistics contain no records to link."""
        return AdversaryView.in_noise(rows["statistics"].frame().select("group").clear())

    def attested(self, public: PublicSide) -> str:
        return ATTESTED

    def words(self, public: PublicSide) -> Words:
        """Return what was published, what noise hides, and the residual risks."""
        details = self.read(public)
        risks = [
            "Intervals tell what noise does, not what sampling does: they hold the statistic of the records that were counted, with values clamped to their bounds.",
            "Another release from the same table adds its epsilon and delta.",
        ]
        if details.facts.chosen:
            risks.append(
                f"Groups of {', '.join(map(repr, details.facts.chosen))} are those with a noisy count above a threshold; records of others are in no group."
            )
        if details.facts.outer:
            risks.append(
                f"Bounds of {', '.join(map(repr, details.facts.outer))} were placed by noisy counts, which the plan pays for; about 1 % of the values lie beyond them and were clamped."
            )
        return Words(details.words(), tuple(risks))

    def interval_widths(self, public: PublicSide) -> list[IntervalWidths]:
        """Return one entry per query, of all its groups."""
        frame = public.rows["statistics"].frame()
        widths = []
        for (_, statistic, column), part in frame.group_by("query", "statistic", "column", maintain_order=True):
            values, low, high = (part[name].cast(pl.Float64).to_numpy() for name in ("value", "low", "high"))
            # An interval that is cut off at the least possible value has its other end as far away as before.
            half_widths = np.maximum(high - values, values - low)
            name = f"{statistic} of {column}" if column else str(statistic)
            widths.append(IntervalWidths.of_intervals(name, values, half_widths))
        return [one for one in widths if one is not None]

    def count(self, public: PublicSide, condition: str | Condition, estimator: str = "uniform") -> NoisySum:
        """Estimate how many records meet a condition on the columns of a published count."""
        details, condition_asked = self.read(public), Condition.of(condition)
        numbers = self.noisy_numbers(public, details)
        answers: list[NoisySum] = []
        for step, about, noisy in zip(details.plan.steps, details.about, numbers, strict=True):
            query = details.queries[about - 1] if isinstance(about, int) else None
            if query is None or query.statistic != "count" or query.where is not None or query.column is not None:
                continue
            if set(condition_asked.scope) <= set(query.by) and not set(query.by) & set(details.facts.chosen):
                columns = [details.facts.columns[name] for name in query.by]
                codes = combinations_of([column.size for column in columns])
                covers = condition_asked.covers(
                    {column.name: codes[:, index] for index, column in enumerate(columns)},
                    {column.name: column.cells for column in columns},
                )
                if np.array_equal(covers.certain, covers.possible):
                    answers.append(
                        _noisy_sum(condition_asked, noisy, covers.certain, WholeNoise(details.currency, step.scale))
                    )
        if not answers:
            raise PolicyError(
                f"No published count answers {condition_asked.text!r}. Counts of all records are published by: "
                f"{'; '.join(', '.join(query.by) or 'nothing' for query in details.queries if query.statistic == 'count' and query.where is None) or 'none'}."
            )
        return min(answers, key=lambda answer: answer.standard_error)


def _noisy_sum(
    condition: Condition, noisy: NDArray[np.int64], covered: NDArray[np.bool_], noise: WholeNoise
) -> NoisySum:
    """Return the sum of the noisy counts of the covered cells as the answer to a condition, with its interval."""
    cells, value = int(covered.sum()), int(noisy[covered].sum())
    reach = int(np.ceil(noise.reach(cells)))
    interval = max(0, value - reach), max(0, value + reach)
    return NoisySum(condition.text, value, cells, noise.deviation * cells**0.5, interval, CONFIDENCE)


def _same_texts(first: pl.DataFrame, second: pl.DataFrame, names: Sequence[str]) -> bool:
    """Whether two tables agree in some columns; empty and missing texts are equal, because files do not distinguish them."""
    return all(
        first[name].cast(pl.String).fill_null("").to_list() == second[name].cast(pl.String).fill_null("").to_list()
        for name in names
    )


def _numbers(series: pl.Series) -> NDArray[np.float64]:
    return series.cast(pl.Float64).fill_null(np.nan).to_numpy()


STATISTICS = StatisticsFormat()
