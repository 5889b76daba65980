"""The tables of grid releases: cells or boxes by their labels, and back."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.errors import DataError
from reticent.methods.grid.axes import Cells, Grid, GridAxis
from reticent.methods.grid.bisection import Bisection, halve
from reticent.methods.grid.details import NOISY_COUNT, SAMPLED_ROWS, BisectionDetails
from reticent.table import SUPPRESSED, unused

_CHANGED = "the file was changed after it was published."


def cell_table(grid: Grid, cells: Cells, counts: NDArray[np.int64]) -> pl.DataFrame:
    """Return cells in grid order, with their numbers of sampled rows."""
    columns = [_labels(axis).gather(cells[:, index]).alias(axis.name) for index, axis in enumerate(grid.axes)]
    return pl.DataFrame([*columns, pl.Series(SAMPLED_ROWS, counts, pl.Int64)])


def read_cells(grid: Grid, frame: pl.DataFrame) -> Cells:
    """Parse the cells of a table; a :class:`DataError` if they are not distinct cells of the grid in its order."""
    columns = []
    for axis in grid.axes:
        codes = frame[axis.name].replace_strict(
            _labels(axis), pl.Series(range(axis.size), dtype=pl.Int64), default=None, return_dtype=pl.Int64
        )
        if codes.null_count():
            label = frame[axis.name].filter(codes.is_null())[0]
            raise DataError(f"Column {axis.name!r} shows {label!r}, which is not a cell of the grid; {_CHANGED}")
        columns.append(codes.to_numpy())
    cells = np.column_stack(columns)
    if (np.diff(grid.pack(cells)) <= 0).any():
        raise DataError(f"The cells are not in the order of the grid, each once; {_CHANGED}")
    return cells


def whole_of(axis: GridAxis) -> str:
    """Return the label for all values of a column that is counted value by value."""
    return unused(SUPPRESSED, axis.labels)


def box_table(details: BisectionDetails, boxes: Bisection, totals: NDArray[np.int64], histograms: NDArray[np.int64] | None) -> pl.DataFrame:  # fmt: skip
    """Return boxes in order; if values are counted, the row for all values of a box precedes those of each."""
    frame = _box_labels(details, boxes)
    if details.histogram is None or histograms is None:
        return frame.with_columns(pl.Series(NOISY_COUNT, totals, pl.Int64)).select(*details.grid.names, NOISY_COUNT)
    noisy_counts = np.column_stack([totals, histograms]).ravel()
    return frame.with_columns(pl.Series(NOISY_COUNT, noisy_counts, pl.Int64)).select(*details.grid.names, NOISY_COUNT)


def _box_labels(details: BisectionDetails, boxes: Bisection) -> pl.DataFrame:
    """Return the labels of boxes, repeated for every published count of a box."""
    repeated = 1
    columns: dict[str, pl.Series] = {}
    if details.histogram is not None:
        axis = details.grid.axis(details.histogram)
        repeated = axis.size + 1
        texts = [whole_of(axis), *axis.labels]
        columns[axis.name] = pl.Series(axis.name, texts * len(boxes), pl.String)
    for index, axis in enumerate(details.halved.axes):
        ends = zip(boxes.lows[:, index].tolist(), boxes.highs[:, index].tolist(), strict=True)
        labels = pl.Series(axis.name, [axis.ranges[ends_of_box] for ends_of_box in ends], pl.String)
        columns[axis.name] = labels.gather(np.repeat(np.arange(len(boxes)), repeated))
    return pl.DataFrame(columns)


def read_boxes(details: BisectionDetails, frame: pl.DataFrame, cells: Cells | None = None) -> Bisection:
    """Parse the boxes of a table, with the box of each of some ``cells``; a :class:`DataError` if bisection cannot produce these boxes."""
    grid = details.halved
    repeated = 1 if details.histogram is None else details.grid.axis(details.histogram).size + 1
    first = frame.gather_every(repeated)
    ends = []
    for axis in grid.axes:
        label_ranges = [axis.halves.get(label) for label in first[axis.name].to_list()]
        if None in label_ranges:
            label = first[axis.name][label_ranges.index(None)]
            raise DataError(
                f"Column {axis.name!r} shows {label!r}, which does not result from halving the grid; {_CHANGED}"
            )
        ends.append(label_ranges)
    listed_boxes = set(zip(*ends, strict=True))

    def goes_on(lows: Cells, highs: Cells, rows: Cells) -> NDArray[np.bool_]:
        """Mask the boxes that must be halved further, because they are not listed."""
        # Every remaining box contains a listed one, so a forged table is detected early.
        if len(lows) > len(listed_boxes):
            raise DataError(f"The boxes do not result from halving the grid; {_CHANGED}")
        boxes = zip(lows.tolist(), highs.tolist(), strict=True)
        return np.array([tuple(zip(low, high, strict=True)) not in listed_boxes for low, high in boxes], dtype=bool)

    if len(listed_boxes) * repeated != frame.height:
        raise DataError(f"The boxes do not have a row for each count; {_CHANGED}")
    coded_cells = np.zeros((0, len(grid.axes)), dtype=np.int64) if cells is None else cells
    boxes = halve(grid.sizes, details.plan.depth, coded_cells, goes_on)
    if not _box_labels(details, boxes).select(details.grid.names).equals(frame.select(details.grid.names)):
        raise DataError(f"The boxes do not result from halving the grid, or are not in order; {_CHANGED}")
    return boxes


def _labels(axis: GridAxis) -> pl.Series:
    return pl.Series(axis.name, axis.labels, pl.String)
