"""Perturbed records (FRAPP, 3.9) as a release: their public manifest, and counts, sums and averages estimated from them (R-AB-27)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import polars as pl

from reticent.data.predicate import Condition
from reticent.definitions.base import Assessment
from reticent.definitions.mechanisms import BoundedBelief
from reticent.errors import DataError, PolicyError
from reticent.exact import Number, exact, whole
from reticent.randomize.bounds import level_of
from reticent.randomize.counting import checked, count_or_refuse
from reticent.randomize.domain import Keys, ViewDomain
from reticent.randomize.draws import Draws
from reticent.randomize.estimating import Estimate, average_of, fitting
from reticent.randomize.frapp import FrappPlan, Perturbed, RecordLayer
from reticent.randomize.grouping import QueryCells
from reticent.randomize.published import Published, Signer
from reticent.randomize.weighing import held, moment, numbers, without_nulls

VERSION = 2
_ERROR = Fraction(1, 20)


@dataclass(frozen=True)
class FrappManifest:
    """The public description of perturbed records: their plan, and how they were drawn."""

    format: ClassVar[str] = "frapp"
    table: ClassVar[str] = "records"
    is_set: ClassVar[bool] = False

    plan: FrappPlan
    secure: bool = True

    @property
    def domain(self) -> ViewDomain:
        """The public domain."""
        return self.plan.domain

    @property
    def definition(self) -> BoundedBelief:
        """What the records promise."""
        if self.plan.promise is None:
            raise PolicyError(
                "These records were perturbed for comparison, by a plan that promises nothing. To release records, publish with "
                "BoundedBelief(d, gamma, 'record') and method=Frapp(...)."
            )
        return self.plan.promise

    def assess(self) -> Assessment:
        """The promise, judged again on the plan."""
        return self.definition.assess(self.plan)

    def facts(self) -> dict[str, Any]:
        """Figures that the certificate repeats."""
        return {"kept": str(self.plan.kept)}

    def words(self, rows: int) -> str:
        """What perturbed records are, for everybody."""
        return (
            f"Perturbed records: each of the {rows:,} was kept with probability {float(self.plan.kept):.4g}, and else replaced by another record that the "
            "public domain allows. No single record proves anything; counts over many can be estimated with stated errors."
        )

    def as_json(self) -> dict[str, Any]:
        """The manifest as plain data."""
        promised = self.definition.parameters()
        return {
            "format": self.format,
            "version": VERSION,
            "n": self.plan.n,
            "domain": self.domain.as_json(),
            "kept": str(self.plan.kept),
            "promise": promised,
            "secure": self.secure,
        }

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> FrappManifest:
        """The manifest that :meth:`as_json` wrote; the promise is judged again."""
        if written.get("version") != VERSION:
            raise DataError(
                f"The manifest of the records has version {written.get('version')!r}, and this version of Reticent reads {VERSION}."
            )
        try:
            promise = BoundedBelief(**written["promise"])
            plan = FrappPlan(
                whole(written["n"], "n", low=1),
                ViewDomain.from_json(written["domain"]),
                exact(written["kept"], "kept"),
                promise,
            )
            return cls(plan, written["secure"] is True)
        except (AttributeError, KeyError, TypeError) as problem:
            raise DataError(
                f"The manifest of the records cannot be understood ({type(problem).__name__}: {problem})."
            ) from None


@dataclass(frozen=True)
class FrappView(Published):
    """Perturbed records as keys in rising order, with estimates from them."""

    called: ClassVar[str] = "Perturbed records have"

    manifest: FrappManifest
    keys: Keys = field(repr=False)
    certificate: Mapping[str, Any] = field(default_factory=dict, repr=False)
    files: str = "csv"
    signer: Signer | None = field(default=None, repr=False)

    @property
    def plan(self) -> FrappPlan:
        """How they were perturbed."""
        return self.manifest.plan

    def estimate(
        self, condition: str | Condition = "true", *, error: Number | None = None, queries: int = 1
    ) -> Estimate:
        """How many records meet a condition: (n_V - q n n_D)/(g_f - q), unbiased, with standard error, Bernstein bound and exact interval."""
        asked, level = checked(condition, self.domain), level_of(error, _ERROR, queries)
        found = self._query(asked)
        interval = self.plan.interval(int(found.shown), int(found.total), len(self), level)
        return _answer(asked.text, found, interval, level)

    def sum(self, column: str, condition: str | Condition = "true", *, error: Number | None = None) -> Estimate:
        """The sum of a numeric column over the records that meet a condition (a linear query); nulls count nothing."""
        asked, level = checked(condition, self.domain), level_of(error, _ERROR)
        found = self._query(asked, column)
        bound, least, most = Fraction(found.bound(level)), len(self) * found.low, len(self) * found.high
        low, high = (max(least, min(end, most)) for end in (found.value - bound, found.value + bound))
        return _answer(f"sum of {column} where {asked.text}", found, (float(low), float(high)), level)

    def average(self, column: str, condition: str | Condition = "true", *, error: Number | None = None) -> Estimate:
        """The average of a numeric column, nulls left out: the ratio of a sum and a count, its standard error by the delta method.

        The interval needs no large counts: over the true records the weights minus their average add up to 0 (``averaging``). ``bound`` is the
        distance to its farther end.
        """
        asked = without_nulls(checked(condition, self.domain), self.domain, column)
        level, count, total = level_of(error, _ERROR), self._query(asked), self._query(asked, column)
        value = average_of(asked.text, total.value, count.value)

        def is_too_far(at: Fraction) -> bool:
            moved = total.centred(count, at)
            return abs(moved.value) > moved.bound(level)

        least, most = total.extremes
        interval = fitting(is_too_far, value, least, most)
        return Estimate(
            f"average of {column} where {asked.text}",
            value,
            math.sqrt(total.centred(count, value).variance()) / float(count.value),
            max(least, min(value, most)),
            interval,
            max(abs(end - float(value)) for end in interval),
            level,
            count.shown,
            count.total,
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
        """One estimate for every combination of some columns' values, seen or not, the same that :meth:`estimate` gives of it.

        The columns are those of :meth:`View.group_by <reticent.randomize.view.View.group_by>`.
        """
        cells, level, rows = QueryCells.of(condition, self.domain, columns), level_of(error, _ERROR, queries), len(self)
        layer = RecordLayer.of(self.plan, cells.shown(self.keys), cells.totals, rows)
        figures = cells.figures([layer], level, layer.least, layer.most)
        if not intervals:
            return cells.frame(figures)

        def interval(shown: int, total: int) -> tuple[int, int]:
            return self.plan.interval(shown, total, rows, level)

        return cells.frame(figures | cells.exact_intervals(layer.shown, interval))

    def _query(self, asked: Condition, column: str | None = None) -> Perturbed:
        """A count, or the sum of a column."""
        one, size = Fraction(1), self.domain.size
        if column is None:
            shown, total = held(asked, self.domain, self.keys)[0], int(count_or_refuse(asked, self.domain, "a count"))
            extremes = (one, one) if total else (0 * one, 0 * one)
            return Perturbed(self.plan, len(self), shown, shown, one * total, one * total, extremes, total == size)
        weights = numbers(self.domain, column)
        counts = count_or_refuse(asked, self.domain, "a sum", keep=[column]).tolist()
        possible = [weight for count, weight in zip(counts, weights, strict=True) if count] or [0 * one]
        return Perturbed(
            self.plan,
            len(self),
            *held(asked, self.domain, self.keys, column, weights),
            moment(counts, weights, 1),
            moment(counts, weights, 2),
            (min(possible), max(possible)),
            sum(counts) == size,
        )


def _answer(
    condition: str, found: Perturbed, interval: tuple[int, int] | tuple[float, float], level: Fraction
) -> Estimate:
    return Estimate(
        condition,
        found.value,
        math.sqrt(found.variance()),
        found.clipped,
        interval,
        found.bound(level),
        level,
        found.shown,
        found.total,
    )


def perturb(frame: Any, plan: FrappPlan, *, insecure_seed: int | None = None) -> FrappView:
    """Perturb every record of a table by a plan. Nothing is recorded; releases go through ``publish`` with method=Frapp(...)."""
    draws = Draws(insecure_seed)
    return FrappView(FrappManifest(plan, draws.is_secure), plan.perturb(frame, draws))
