"""The format ``marginals``: synthetic records, and the noisy marginals that they were sampled from, judged by the plan of all noisy steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.conditions import Condition
from reticent.core import AdversaryView, Draft
from reticent.errors import DataError
from reticent.methods.marginals.details import MarginalsDetails
from reticent.methods.marginals.estimates import MarginalCount, count_marginals
from reticent.methods.marginals.marginal_table import CELL, COLUMNS, COUNT, ERROR, MEASUREMENT
from reticent.methods.marginals.plan import MarginalsPlan
from reticent.methods.noisy_columns import cell_labels
from reticent.methods.noisy_columns.format import NoisyColumnsFormat
from reticent.noise import WholeNoise
from reticent.release import IntervalWidths, ManifestColumn
from reticent.release.format import Words, read_details
from reticent.table import Rows, Table, ValueType

if TYPE_CHECKING:
    from reticent.release import PublicSide

ATTESTED = (
    "Mechanism attested, not checkable from files: that counts, choices and noise were made by this plan, once, and that cells and conditions were declared before the data were looked at, is the "
    "publisher's word. What was checked: the cost of every noisy step and their sum, the cells of every measured marginal, and that synthetic records are in the domain. How they were sampled is not re-checked."
)


class MarginalsFormat(NoisyColumnsFormat):
    """Two tables: synthetic records, and every measured marginal cell by cell with its noisy count and standard error."""

    name: ClassVar[str] = "marginals"
    tables: ClassVar[tuple[str, ...]] = ("records", "marginals")
    row_noun: ClassVar[str] = "synthetic records"
    roles: ClassVar[tuple[str, ...]] = ("drawn", "cell", "count")
    noised: ClassVar[str] = "noisy counts"
    known_as: ClassVar[str] = "marginals"

    def columns(self, draft: Draft, table: Table, rows: Mapping[str, Rows]) -> tuple[ManifestColumn, ...]:
        """Return the manifest's columns: those of the noisy counts, and the sampled ones."""
        roles = {MEASUREMENT: "cell", COLUMNS: "cell", CELL: "cell", COUNT: "count", ERROR: "count"}
        types = {name: dtype for table_name in self.tables for name, dtype in rows[table_name].schema.items()}
        return tuple(
            ManifestColumn(name, roles.get(name, "drawn"), ValueType.published(dtype)) for name, dtype in types.items()
        )

    def read(self, public: PublicSide) -> MarginalsDetails:
        """The details of a release."""
        details = read_details(MarginalsDetails.from_json, public.manifest.details)
        described = public.manifest.tables["records"].columns
        if sorted(described) != sorted(details.by_name):
            raise DataError(
                f"manifest.json describes the columns {', '.join(described)}, and its details {', '.join(details.by_name)}."
            )
        return details.in_order_of(described)

    def plan(self, public: PublicSide) -> MarginalsPlan:
        return self.read(public).plan

    def check(self, public: PublicSide) -> None:
        """Check that every measured marginal has a count for each of its cells, in order, and that records are sorted and belong to the domain."""
        details = self.read(public)
        self.check_unit(public, details.unit)
        counts = self.noisy_counts(public, details)
        if details.merged and details.merged != details.rare_groups(counts):
            raise DataError(
                "The cells that were counted as one are not those that are rare by the noisy counts of single columns; the file was changed after it was published."
            )
        records = public.rows["records"].frame()
        if details.total is not None and records.height > 10 * max(details.total, 1):
            raise DataError("There are many more synthetic records than records; the file was changed.")
        for column in details.columns:
            column.encode(records[column.name])
        if not records.equals(records.sort(records.columns, nulls_last=False, maintain_order=True)):
            raise DataError("The synthetic records are not sorted; the file was changed after it was published.")

    def noisy_counts(self, public: PublicSide, details: MarginalsDetails) -> list[NDArray[np.int64]]:
        """The counts of every measured marginal; raises :class:`DataError` if the table does not match the details."""
        frame = public.rows["marginals"].frame()
        sizes = [details.cells(step.columns) for step in details.measured]
        if frame.height != sum(sizes):
            raise DataError(
                f"The measured marginals have {sum(sizes):,} cells, but there are {frame.height:,} noisy counts."
            )
        if not frame[COUNT].dtype.is_integer() or frame[COUNT].null_count():
            raise DataError("A noisy count is not a whole number; the file was changed after it was published.")
        counts_by_step, start = [], 0
        for number, (step, size) in enumerate(zip(details.measured, sizes, strict=True), 1):
            part = frame.slice(start, size)
            names_match = (part[MEASUREMENT] == number).all() and (part[COLUMNS] == ", ".join(step.columns)).all()
            if not names_match or part[CELL].to_list() != cell_labels(details.counted_columns(step.columns)):
                raise DataError(
                    f"The cells of measurement {number} are not those of its columns, in order; the file was changed after it was published."
                )
            counts_by_step.append(part[COUNT].to_numpy().astype(np.int64))
            start += size
        return counts_by_step

    def seen(
        self, rows: Mapping[str, Rows], columns: Sequence[ManifestColumn], details: Mapping[str, Any]
    ) -> AdversaryView:
        return AdversaryView.in_noise(rows["records"].frame())

    def attested(self, public: PublicSide) -> str:
        return ATTESTED

    def words(self, public: PublicSide) -> Words:
        """Return what was published, what noise hides, and the residual risks."""
        details = self.read(public)
        steps = details.measured
        risks = [
            "Counts that no measured marginal covers are guesses of the model: `reticent query` says which counts have an interval.",
            "Another draw from the same table is another release: epsilon and delta add up. More synthetic records drawn from the published marginals cost nothing.",
        ]
        if details.total is None:
            risks.append("The number of synthetic records is a noisy estimate of the number of records.")
        if details.merged:
            merged = ", ".join(name for name in details.by_name if name in details.merged)
            risks.append(
                f"Marginals of several columns count the values of {merged} that are rare by noisy counts as one: how a single rare value goes together with other columns is not measured."
            )
        if any(step.kind == "cut" for step in details.plan.steps):
            risks.append("Bins of some columns were cut by noisy counts, which the plan pays for.")
        if details.impossible:
            risks.append(
                f"Declared impossible before the data were looked at: {'; '.join(details.impossible)}. Real records that meet it are counted in the noise and never shown."
            )
        described = f" Measured: {', '.join(' x '.join(step.columns) for step in steps[:8])}{' and more' if len(steps) > 8 else ''}."
        return Words(details.words(public.rows["records"].height) + described, tuple(risks))

    def interval_widths(self, public: PublicSide) -> list[IntervalWidths]:
        """Return one entry per measured marginal: its noisy counts with the interval of a single cell."""
        details = self.read(public)
        measured = zip(details.measured, self.noisy_counts(public, details), strict=True)
        widths = [
            IntervalWidths.of_intervals(
                " x ".join(step.columns),
                noisy.astype(np.float64),
                np.full(len(noisy), WholeNoise(details.plan.currency, step.scale).reach(1)),
            )
            for step, noisy in measured
        ]
        return [one for one in widths if one is not None]

    def count(self, public: PublicSide, condition: str | Condition, estimator: str = "uniform") -> MarginalCount:
        """Estimate how many records meet a condition, from measured counts if a marginal has all its columns."""
        details = self.read(public)
        noisy = self.noisy_counts(public, details)
        records: pl.DataFrame = public.rows["records"].frame()
        return count_marginals(Condition.of(condition), details, noisy, records)


MARGINALS = MarginalsFormat()
