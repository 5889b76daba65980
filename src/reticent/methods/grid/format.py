"""The formats ``grid sample`` (cells with enough sampled rows) and ``grid counts`` (boxes with noisy counts): parts of a
public grid, judged by their plans.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.conditions import Condition
from reticent.core import AdversaryView, Draft
from reticent.definitions import CrowdBlending, Definition, UnboundedDP
from reticent.errors import DataError
from reticent.methods.counts.format import channel_through
from reticent.methods.grid.axes import Cells
from reticent.methods.grid.box_tables import read_boxes, read_cells, whole_of
from reticent.methods.grid.counts import GridCount, asked_condition, count_boxes, count_sample
from reticent.methods.grid.details import NOISY_COUNT, SAMPLED_ROWS, BisectionDetails, BisectionPlan, SampleDetails
from reticent.methods.grid.method import GRID_COUNTS as COUNTS_NAME
from reticent.methods.grid.method import GRID_SAMPLE as SAMPLE_NAME
from reticent.methods.grid.sample_law import SamplePlan
from reticent.noise import hidden_by_noise
from reticent.release import ManifestColumn
from reticent.release.format import MechanismFormat, Words, read_details, role_of
from reticent.table import Rows, Table, ValueType

if TYPE_CHECKING:
    from reticent.release import PublicSide

_CELL, _COUNT = "cell", "count"
_PUBLIC_GRID = "That the grid was declared before anybody looked at the rows, and fits nothing that only the rows show, is the publisher's word."


class GridSampleFormat(MechanismFormat):
    """One table: the cells with enough sampled rows in grid order, and their numbers. The rows behind them are true rows."""

    name: ClassVar[str] = SAMPLE_NAME
    tables: ClassVar[tuple[str, ...]] = ("cells",)
    row_noun: ClassVar[str] = "cells"
    roles: ClassVar[tuple[str, ...]] = (_COUNT,)

    def refusal(self, definition: Definition) -> str | None:
        """Return why a grid sample does not satisfy a definition, or None."""
        for part in definition.parts():
            if not isinstance(part, UnboundedDP | CrowdBlending):
                return (
                    f"{part} is neither differential privacy nor crowd-blending, the only guarantees of a grid sample."
                )
        return None

    def columns(self, draft: Draft, table: Table, rows: Mapping[str, Rows]) -> tuple[ManifestColumn, ...]:
        """Return the manifest's columns: the axes with the labels that occur, and the number of rows."""
        grid, frame = SampleDetails.from_json(draft.details).grid, rows["cells"].frame()
        columns = []
        for axis in grid.axes:
            if axis.name not in table.quasi:
                columns.append(
                    ManifestColumn(
                        axis.name,
                        role_of(table, axis.name),
                        ValueType.TEXT,
                        reason=table.declared.get(axis.name),
                    )
                )
                continue
            labels_shown = set(frame[axis.name].unique().to_list())
            labels = {
                label: meaning
                for label, meaning in zip(axis.labels, axis.meanings, strict=True)
                if label in labels_shown
            }
            columns.append(ManifestColumn(axis.name, "quasi", ValueType.published(table.schema[axis.name]), labels))
        return (*columns, ManifestColumn(SAMPLED_ROWS, _COUNT, ValueType.INTEGER))

    def read(self, public: PublicSide) -> SampleDetails:
        """The details of a release."""
        return _sample_details(public.manifest.details, public.manifest.tables["cells"].columns)

    def plan(self, public: PublicSide) -> SamplePlan:
        return self.read(public).plan

    def check(self, public: PublicSide) -> None:
        """Check that cells are distinct cells of the grid, in order, with enough rows, and that labels match the grid."""
        details, frame = self.read(public), public.rows["cells"].frame()
        _check_whole(frame, SAMPLED_ROWS)
        read_cells(details.grid, frame)
        if frame.height and int(frame[SAMPLED_ROWS].to_numpy().min()) < details.plan.least:
            raise DataError(f"A cell shows fewer than {details.plan.least} rows; the file was changed after it was published.")  # fmt: skip
        for column in public.manifest.columns:
            if column.role == "quasi":
                axis = details.grid.axis(column.name)
                declared_meanings = dict(zip(axis.labels, axis.meanings, strict=True))
                meanings_shown = {
                    label: declared_meanings.get(label) for label in frame[column.name].unique().to_list()
                }
                if dict(column.labels) != meanings_shown:
                    raise DataError(f"manifest.json gives labels of column {column.name!r} a different meaning than the grid.")  # fmt: skip

    def seen(
        self, rows: Mapping[str, Rows], columns: Sequence[ManifestColumn], details: Mapping[str, Any]
    ) -> AdversaryView:
        """Return the view of true rows in cells: a sampled and published person has the labels of everyone else in the
        cell. If no cell has enough rows, nothing is seen.
        """
        frame = rows["cells"].frame()
        meanings = {column.name: column.labels for column in columns if column.role == "quasi"}
        if not frame.height:
            return AdversaryView.in_noise(frame.drop(SAMPLED_ROWS))
        sensitive = [column.name for column in columns if column.role == "sensitive"]
        return AdversaryView.in_rows(frame, frame[SAMPLED_ROWS].to_numpy().astype(np.int64), meanings, sensitive)

    def as_shown(self, public: PublicSide, frame: pl.DataFrame) -> pl.DataFrame | None:
        """Return true rows with their values replaced by the labels of their cells."""
        grid = self.read(public).grid
        return frame.with_columns(
            pl.Series(axis.name, axis.labels, pl.String).gather(axis.encode(frame[axis.name])) for axis in grid.axes
        )

    def attested(self, public: PublicSide) -> str:
        """Return what only the publisher can attest, and what was checked."""
        sampling_note = (
            ""
            if self.plan(public).sample is None
            else " So is that the rows were sampled once, at random with the stated chance."
        )
        return f"{_PUBLIC_GRID}{sampling_note} What was checked: the plan's arithmetic, and that every shown cell is one of the grid with enough rows."

    def words(self, public: PublicSide) -> Words:
        """Return what was published, what sampling hides, and the residual risks."""
        details = self.read(public)
        plan = details.plan
        if plan.sample is None:
            description = (
                f"Cells of a public grid of {details.grid.size:,} cells that hold at least {plan.least} rows, with their exact numbers. A cell is alike in all published "
                "columns. All rows were counted, so that this is not differential privacy."
            )
        else:
            description = (
                f"Cells of a public grid of {details.grid.size:,} cells that hold at least {plan.least} rows of a random sample, with the numbers of sampled rows. Every row was sampled with "
                f"the chance {plan.sample}, and a cell is alike in all published columns. Neighbours are unbounded: they differ by a row that is added or removed, and the number of rows is not shown."
            )
        risks = [
            "A cell that is not listed is empty or has too few sampled rows; nothing says which.",
            "Another sample of the same rows is another release: epsilon and delta add up, month after month. The same sample with another grid has no guarantee at all."
            if plan.sample is not None
            else "Two such releases of people who differ by one can be subtracted from each other.",
        ]
        return Words(description, tuple(risks), group="sampled rows in a cell")

    def count(self, public: PublicSide, condition: str | Condition, estimator: str = "uniform") -> GridCount:
        details, frame = self.read(public), public.rows["cells"].frame()
        parsed = asked_condition(condition, estimator, details.grid.names)
        return count_sample(details, frame, read_cells(details.grid, frame), parsed)


class GridCountsFormat(MechanismFormat):
    """One table: the final boxes in order with a noisy count of each; if a column is counted value by value, also of each value."""

    name: ClassVar[str] = COUNTS_NAME
    tables: ClassVar[tuple[str, ...]] = ("boxes",)
    row_noun: ClassVar[str] = "boxes"
    roles: ClassVar[tuple[str, ...]] = (_CELL, _COUNT)

    def refusal(self, definition: Definition) -> str | None:
        if isinstance(definition, UnboundedDP):
            return None
        return f"{definition} is not differential privacy for an added row, the only guarantee of noisy grid counts."

    def columns(self, draft: Draft, table: Table, rows: Mapping[str, Rows]) -> tuple[ManifestColumn, ...]:
        """Return the manifest's columns: the sides of the boxes, and the noisy count."""
        return tuple(
            ManifestColumn(name, _COUNT if name == NOISY_COUNT else _CELL, ValueType.published(dtype))
            for name, dtype in rows["boxes"].schema.items()
        )

    def read(self, public: PublicSide) -> BisectionDetails:
        """The details of a release."""
        return _halving_details(public.manifest.details, public.manifest.tables["boxes"].columns)

    def plan(self, public: PublicSide) -> BisectionPlan:
        return self.read(public).plan

    def check(self, public: PublicSide) -> None:
        """Check that boxes result from bisecting the grid, in order, with an integer count for each."""
        details, frame = self.read(public), public.rows["boxes"].frame()
        _check_whole(frame, NOISY_COUNT)
        read_boxes(details, frame)

    def seen(
        self, rows: Mapping[str, Rows], columns: Sequence[ManifestColumn], details: Mapping[str, Any]
    ) -> AdversaryView:
        """Return the view in which boxes, or values of boxes, with a noisy count of at least 1 are shown.

        The probabilities are those of a record that is alone in its box: others there make its count less informative.
        """
        frame = rows["boxes"].frame()
        details_read = _halving_details(details, frame.columns)
        finest, law = frame, details_read.plan.counts
        if details_read.histogram is not None and details_read.plan.histogram is not None:
            finest, law = _values_only(details_read, frame), details_read.plan.histogram
        is_shown = (finest[NOISY_COUNT] >= 1).to_numpy()

        def shows(people: pl.DataFrame) -> NDArray[np.bool_]:
            answer: NDArray[np.bool_] = is_shown[_places(details_read, frame, people)]
            return answer

        channel = channel_through(law, shows)
        return replace(
            AdversaryView.in_noise(finest.filter(pl.Series(is_shown)).select(details_read.grid.names)), channel=channel
        )

    def as_shown(self, public: PublicSide, frame: pl.DataFrame) -> pl.DataFrame | None:
        """Return rows with the labels of the published boxes that contain them."""
        details, boxes = self.read(public), public.rows["boxes"].frame()
        names = details.grid.names
        finest = boxes if details.histogram is None else _values_only(details, boxes)
        labels = finest.select(names)[_places(details, boxes, frame).tolist()]
        return frame.with_columns(labels.get_columns())

    def attested(self, public: PublicSide) -> str:
        """Return what the check of a release relies on, and what it covered."""
        return (
            f"{_PUBLIC_GRID} So is that the noise was drawn once, by the stated laws. What was checked: that the losses of all levels together are within epsilon, and that the "
            "boxes are what halving the grid leaves."
        )

    def words(self, public: PublicSide) -> Words:
        """Return what was published, what noise hides, and the residual risks."""
        details, frame = self.read(public), public.rows["boxes"].frame()
        law = details.plan.counts
        deviation = math.sqrt(float(law.variance))
        description = (
            f"Noisy counts of the boxes that are left of a public grid of {details.halved.size:,} cells, which was halved up to {details.plan.depth} times where noisy counts were at least "
            f"{details.stop:,}: each is the true number of rows plus noise with a standard deviation of {deviation:.1f}. A trusted curator, who saw the rows, added the noise. Neighbours are "
            "unbounded: they differ by a row that is added or removed; the number of rows is shown with noise only."
        )
        finest = frame
        if details.histogram is not None and details.plan.histogram is not None:
            finest, law = _values_only(details, frame), details.plan.histogram
            deviation = math.sqrt(float(law.variance))
            description += f" The values of {details.histogram!r} are counted in each box with a standard deviation of {deviation:.1f}; the rows that stand for all values have a count of their own."
        risks = [
            "Counts may be negative, and small ones may be noise alone. Count with `reticent query`, which knows the noise."
        ]
        warned = hidden_by_noise(law, finest[NOISY_COUNT].to_numpy())
        if warned is not None:
            risks.append(warned)
        return Words(description, tuple(risks))

    def count(self, public: PublicSide, condition: str | Condition, estimator: str = "uniform") -> GridCount:
        details, frame = self.read(public), public.rows["boxes"].frame()
        parsed = asked_condition(condition, estimator, details.grid.names)
        return count_boxes(details, frame, read_boxes(details, frame), parsed)


def _places(details: BisectionDetails, frame: pl.DataFrame, people: pl.DataFrame) -> Cells:
    """Return for each person the row among the finest ones, those of single values if there are any."""
    cells = details.grid.encode(people)
    halved = [index for index, name in enumerate(details.grid.names) if name != details.histogram]
    boxes = read_boxes(details, frame, cells[:, halved]).box_of
    if details.histogram is None:
        return boxes
    histogram_index = details.grid.names.index(details.histogram)
    return boxes * details.grid.axis(details.histogram).size + cells[:, histogram_index]


def _values_only(details: BisectionDetails, frame: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of single values, without those for all values."""
    assert details.histogram is not None
    return frame.filter(pl.col(details.histogram) != whole_of(details.grid.axis(details.histogram)))


def _sample_details(payload: Mapping[str, Any], described: Sequence[str]) -> SampleDetails:
    details = read_details(SampleDetails.from_json, payload)
    return details.in_order_of(_described(details.grid.names, described, SAMPLED_ROWS))


def _halving_details(payload: Mapping[str, Any], described: Sequence[str]) -> BisectionDetails:
    details = read_details(BisectionDetails.from_json, payload)
    return details.in_order_of(_described(details.grid.names, described, NOISY_COUNT))


def _described(names: Sequence[str], described: Sequence[str], count: str) -> list[str]:
    """Return the columns of the grid in the order of the table; a :class:`DataError` if they differ."""
    if sorted(described) != sorted([*names, count]):
        raise DataError(
            f"manifest.json describes the columns {', '.join(described)}, but its grid has {', '.join(names)}."
        )
    return [name for name in described if name != count]


def _check_whole(frame: pl.DataFrame, column: str) -> None:
    if not frame[column].dtype.is_integer() or frame[column].null_count():
        raise DataError(f"{column} is not a whole number; the file was changed after it was published.")


GRID_SAMPLE = GridSampleFormat()
GRID_COUNTS = GridCountsFormat()
