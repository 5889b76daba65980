"""The format ``perturbed``: true rows except for one sampled column; counts are estimated without bias, with standard errors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.packing import sum_by
from reticent.conditions import Condition
from reticent.core import AdversaryView, Channel, Draft, MechanismPlan
from reticent.definitions import Definition, column_list
from reticent.errors import DataError, PolicyError
from reticent.methods.randomize.error_bounds import bernstein_from
from reticent.methods.randomize.estimators import Estimate
from reticent.methods.randomize.format import ROLE
from reticent.methods.randomize.frapp import FrappPlan
from reticent.methods.randomize.perturbation import FORMAT, PerturbedManifest, is_local
from reticent.release import Manifest, ManifestColumn
from reticent.release.format import MechanismFormat, Words, read_details, role_of
from reticent.table import Rows, Table, ValueType, unused

if TYPE_CHECKING:
    from reticent.release import PublicSide

_ERROR = Fraction(1, 20)
_EVEN = Fraction(1, 2)


class PerturbedFormat(MechanismFormat):
    """One table of true rows in which the values of one column were sampled. Quasi columns are published unchanged."""

    name: ClassVar[str] = FORMAT
    tables: ClassVar[tuple[str, ...]] = ("data",)
    roles: ClassVar[tuple[str, ...]] = (ROLE,)
    order: ClassVar[Any] = "sorted"

    def refusal(self, definition: Definition) -> str | None:
        wrong = next((part for part in definition.parts() if not is_local(part)), None)
        return (
            None
            if wrong is None
            else f"{wrong} does not bound what a randomized value discloses, and nothing else is protected here."
        )

    def columns(self, draft: Draft, table: Table, rows: Mapping[str, Rows]) -> tuple[ManifestColumn, ...]:
        return tuple(
            ManifestColumn(
                name,
                ROLE if name in table.sensitive else role_of(table, name),
                ValueType.published(dtype),
                published="values" if name in table.quasi else "labels",
                coarsened=table.coarsen[name].told() if name in table.coarsen else None,
                reason=table.declared.get(name),
            )
            for name, dtype in rows["data"].schema.items()
        )

    def record_classes(self, manifest: Manifest) -> tuple[str, tuple[str, ...]] | None:
        # All columns but the sampled one are true.
        return "data", manifest.named("quasi")

    def read(self, public: PublicSide) -> PerturbedManifest:
        """The details of a release."""
        found = read_details(PerturbedManifest.from_json, public.manifest.details)
        if list(public.manifest.named(ROLE)) != [found.column.name]:
            raise DataError(f"manifest.json: the randomized column is {found.column.name!r}.")
        return found

    def plan(self, public: PublicSide) -> MechanismPlan:
        return self.read(public).plan

    def check(self, public: PublicSide) -> None:
        """Check that every value is a declared one, and that the number of rows is that of the plan."""
        details, rows = self.read(public), public.rows["data"]
        if rows.height != details.plan.n:
            raise DataError(f"The plan is for {details.plan.n:,} rows, but there are {rows.height:,}.")
        values, _ = rows.counted([details.column.name])
        details.column.encode(values[details.column.name])

    def seen(
        self, rows: Mapping[str, Rows], columns: Sequence[ManifestColumn], details: Mapping[str, Any]
    ) -> AdversaryView:
        """Return the view of records of which all values but one are true. The probabilities are those of a person with
        unique other values; people with equal other values may produce the record as well.

        An adversary whose prior in a record is at most other/(own + other) has a posterior of at most 1/2 after seeing
        it.
        """
        frame, plan = rows["data"].frame(), read_details(PerturbedManifest.from_json, details).plan
        there = unused("shown", frame.columns)
        every = frame.unique().with_columns(pl.lit(True).alias(there))

        def shows(people: pl.DataFrame) -> NDArray[np.bool_]:
            asked = people.select(pl.col(name).cast(dtype, strict=False) for name, dtype in frame.schema.items())
            found = asked.join(every, on=frame.columns, how="left", maintain_order="left", nulls_equal=True)
            shown: NDArray[np.bool_] = found[there].fill_null(False).to_numpy()
            return shown

        prior = plan.replaced / (plan.kept + plan.replaced)
        channel = Channel(plan.kept, plan.replaced, plan.replaced, prior, _EVEN, shows)
        return replace(AdversaryView.in_noise(frame), channel=channel)

    def words(self, public: PublicSide) -> Words:
        details = self.read(public)
        own, size = float(details.plan.gain), details.plan.domain.size
        kept = (
            " Draws are kept: a later release of the same people shows the same for whoever's value did not change."
            if details.memory
            else ""
        )
        coarser = [column.name for column in public.manifest.columns if column.coarsened is not None]
        others = (
            f"All other columns are true ({column_list(coarser)} rounded)"
            if coarser
            else "All other columns are published as they are"
        )
        return Words(
            f"True rows but for {details.column.name!r}: each of its values was kept with probability {own:.4g}, and else drawn from the {size} that there can be. No single value proves "
            f"anything; counts over many can be estimated with stated errors.{kept}",
            (
                f"{others}, so that anybody can see whether a person with certain values is in the table.",
                "Whoever takes a drawn value for true is often wrong. Count with `reticent query`, which knows the noise.",
                "Drawing again for the same people multiplies what is told: keep the draws (memory) where there are several releases.",
            ),
        )

    def count(self, public: PublicSide, condition: str | Condition, estimator: str = "uniform") -> Estimate:
        """Estimate without bias how many people meet a condition; conditions without the sampled column are counted exactly."""
        if estimator != "uniform":
            raise PolicyError(f"Perturbed values have a single estimator, not {estimator!r}.")
        asked = Condition.of(condition)
        details, rows = self.read(public), public.rows["data"]
        asked.check_names(list(rows.schema))
        strata = _strata(rows, asked, details)
        return _estimate(asked.text, strata, details.plan)


@dataclass(frozen=True)
class _PerturbedStratum:
    """``rows`` people whose other values leave ``cells`` sensitive values that meet the condition; ``shown`` of them are published with one."""

    cells: int
    rows: int
    shown: int


def _strata(rows: Rows, asked: Condition, details: PerturbedManifest) -> list[_PerturbedStratum]:
    """Group the rows by how many of the possible sensitive values make them meet the condition."""
    column, name = details.column, details.column.name
    kinds, times = rows.counted([*(each for each in asked.scope if each != name), name])
    met = _met(asked, kinds)
    if name in asked.scope:
        values = column.listed.cast(kinds.schema[name])
        cells = sum(
            _met(asked, kinds.with_columns(value.alias(name))).astype(np.int64) for value in map(pl.lit, values)
        )
    else:
        cells = np.where(met, column.size, 0)
    found, stratum = np.unique(cells, return_inverse=True)
    many, shown = sum_by(stratum, times, len(found)), sum_by(stratum, times * met, len(found))
    return [_PerturbedStratum(*figures) for figures in zip(found.tolist(), many.tolist(), shown.tolist(), strict=True)]


def _met(asked: Condition, rows: pl.DataFrame) -> NDArray[np.bool_]:
    met: NDArray[np.bool_] = asked.mask(rows).to_numpy()
    return met


def _estimate(condition: str, strata: Sequence[_PerturbedStratum], plan: FrappPlan) -> Estimate:
    """Estimate (o - n q c)/(g - q) for each stratum, with its variance and an interval that holds for all of them together."""
    value, clipped, variance, spread, low, high = Fraction(0), Fraction(0), Fraction(0), Fraction(0), 0, 0
    for each in strata:
        answer = (each.shown - each.rows * each.cells * plan.replaced) / plan.gain
        possible = max(Fraction(0), min(answer, Fraction(each.rows)))
        value, clipped = value + answer, clipped + possible
        if 0 < each.cells < plan.domain.size:
            variance += plan.variance(possible, each.rows, each.cells)
            spread += each.rows * max(chance * (1 - chance) for chance in plan.chances(each.cells))
        first, last = plan.interval(each.shown, each.cells, each.rows, _ERROR / len(strata))
        low, high = low + first, high + last
    return Estimate(
        condition,
        value,
        math.sqrt(variance),
        clipped,
        (low, high),
        bernstein_from(float(spread), float(plan.gain), _ERROR) if spread else 0.0,
        _ERROR,
        Fraction(sum(each.shown for each in strata)),
        Fraction(plan.domain.size),
    )


PERTURBED = PerturbedFormat()
