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
        """Return why a definition cannot be satisfied by randomized values, or None."""
        wrong = next((part for part in definition.parts() if not is_local(part)), None)
        return (
            None
            if wrong is None
            else f"{wrong} does not bound what a randomized value discloses, and nothing else is protected here."
        )

    def columns(self, draft: Draft, table: Table, rows: Mapping[str, Rows]) -> tuple[ManifestColumn, ...]:
        """Return the manifest's columns; sensitive ones are randomized, all others are as in the table."""
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
        details = read_details(PerturbedManifest.from_json, public.manifest.details)
        if list(public.manifest.named(ROLE)) != [details.column.name]:
            raise DataError(f"manifest.json: the randomized column is {details.column.name!r}.")
        return details

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
        marker = unused("shown", frame.columns)
        published_rows = frame.unique().with_columns(pl.lit(True).alias(marker))

        def shows(people: pl.DataFrame) -> NDArray[np.bool_]:
            """Mask the records that the release contains."""
            looked_up = people.select(pl.col(name).cast(dtype, strict=False) for name, dtype in frame.schema.items())
            matches = looked_up.join(
                published_rows, on=frame.columns, how="left", maintain_order="left", nulls_equal=True
            )
            is_published: NDArray[np.bool_] = matches[marker].fill_null(False).to_numpy()
            return is_published

        prior = plan.replaced / (plan.kept + plan.replaced)
        channel = Channel(plan.kept, plan.replaced, plan.replaced, prior, _EVEN, shows)
        return replace(AdversaryView.in_noise(frame), channel=channel)

    def words(self, public: PublicSide) -> Words:
        """Return what was published, what randomization hides, and the residual risks."""
        details = self.read(public)
        kept_probability, size = float(details.plan.gain), details.plan.domain.size
        memory_note = (
            " Draws are kept: a later release of the same people shows the same for whoever's value did not change."
            if details.memory
            else ""
        )
        coarser = [column.name for column in public.manifest.columns if column.coarsened is not None]
        other_columns = (
            f"All other columns are true ({column_list(coarser)} rounded)"
            if coarser
            else "All other columns are published as they are"
        )
        return Words(
            f"True rows but for {details.column.name!r}: each of its values was kept with probability {kept_probability:.4g}, and else drawn from the {size} that there can be. No single value proves "
            f"anything; counts over many can be estimated with stated errors.{memory_note}",
            (
                f"{other_columns}, so that anybody can see whether a person with certain values is in the table.",
                "Whoever takes a drawn value for true is often wrong. Count with `reticent query`, which knows the noise.",
                "Drawing again for the same people multiplies what is told: keep the draws (memory) where there are several releases.",
            ),
        )

    def count(self, public: PublicSide, condition: str | Condition, estimator: str = "uniform") -> Estimate:
        """Estimate without bias how many people meet a condition; conditions without the sampled column are counted exactly."""
        if estimator != "uniform":
            raise PolicyError(f"Perturbed values have a single estimator, not {estimator!r}.")
        parsed = Condition.of(condition)
        details, rows = self.read(public), public.rows["data"]
        parsed.check_names(list(rows.schema))
        strata = _strata(rows, parsed, details)
        return _estimate(parsed.text, strata, details.plan)


@dataclass(frozen=True)
class _PerturbedStratum:
    """``rows`` people whose other values leave ``cells`` sensitive values that meet the condition; ``shown`` of them are published with one."""

    cells: int
    rows: int
    shown: int


def _strata(rows: Rows, condition: Condition, details: PerturbedManifest) -> list[_PerturbedStratum]:
    """Return strata of the rows, by how many of the possible sensitive values make them meet the condition."""
    column, name = details.column, details.column.name
    distinct, multiplicities = rows.counted(
        [*(name_in_scope for name_in_scope in condition.scope if name_in_scope != name), name]
    )
    is_met = _met(condition, distinct)
    if name in condition.scope:
        values = column.listed.cast(distinct.schema[name])
        cells = sum(
            _met(condition, distinct.with_columns(value.alias(name))).astype(np.int64) for value in map(pl.lit, values)
        )
    else:
        cells = np.where(is_met, column.size, 0)
    cell_counts, stratum = np.unique(cells, return_inverse=True)
    row_counts, shown_counts = (
        sum_by(stratum, multiplicities, len(cell_counts)),
        sum_by(stratum, multiplicities * is_met, len(cell_counts)),
    )
    return [
        _PerturbedStratum(*figures)
        for figures in zip(cell_counts.tolist(), row_counts.tolist(), shown_counts.tolist(), strict=True)
    ]


def _met(condition: Condition, rows: pl.DataFrame) -> NDArray[np.bool_]:
    is_met: NDArray[np.bool_] = condition.mask(rows).to_numpy()
    return is_met


def _estimate(condition: str, strata: Sequence[_PerturbedStratum], plan: FrappPlan) -> Estimate:
    """Estimate (o - n q c)/(g - q) for each stratum, with its variance and an interval that holds for all of them together."""
    value, clipped, variance, spread, low, high = Fraction(0), Fraction(0), Fraction(0), Fraction(0), 0, 0
    for stratum in strata:
        answer = (stratum.shown - stratum.rows * stratum.cells * plan.replaced) / plan.gain
        possible = max(Fraction(0), min(answer, Fraction(stratum.rows)))
        value, clipped = value + answer, clipped + possible
        if 0 < stratum.cells < plan.domain.size:
            variance += plan.variance(possible, stratum.rows, stratum.cells)
            spread += stratum.rows * max(chance * (1 - chance) for chance in plan.chances(stratum.cells))
        first, last = plan.interval(stratum.shown, stratum.cells, stratum.rows, _ERROR / len(strata))
        low, high = low + first, high + last
    return Estimate(
        condition,
        value,
        math.sqrt(variance),
        clipped,
        (low, high),
        bernstein_from(float(spread), float(plan.gain), _ERROR) if spread else 0.0,
        _ERROR,
        Fraction(sum(stratum.shown for stratum in strata)),
        Fraction(plan.domain.size),
    )


PERTURBED = PerturbedFormat()
