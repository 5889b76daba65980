"""Repeated bisection of a grid: where a box is split never depends on the rows, only whether it is.

A box is a range of cells on every axis. It is split in the middle of one axis; axes alternate, and one with a single
cell left is skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reticent.methods.grid.axes import Cells

Boxes = NDArray[np.int64]
GoesOn = Callable[[Boxes, Boxes, Cells], NDArray[np.bool_]]
"""Decides whether boxes (first cells, and those after the last) with the given row counts are split further; called once per level."""


@dataclass(frozen=True)
class Bisection:
    """The final boxes, in the order of their splits, and the box of every row."""

    lows: Boxes
    highs: Boxes
    box_of: Cells

    def __len__(self) -> int:
        return len(self.lows)

    def counts(self) -> Cells:
        """The number of rows in each box."""
        return np.bincount(self.box_of, minlength=len(self.lows)).astype(np.int64)


@dataclass(frozen=True)
class _Level:
    """Boxes after the same number of halvings: their ends, the axis split last, their position in the split order, and the box of every row."""

    lows: Boxes
    highs: Boxes
    last: Cells
    path: Cells
    rows: Cells
    box_of: Cells

    def chosen(self, is_chosen: NDArray[np.bool_]) -> _Level:
        """Select some of the boxes, with their rows."""
        numbers = np.cumsum(is_chosen) - 1
        is_kept_row = is_chosen[self.box_of]
        return _Level(
            self.lows[is_chosen],
            self.highs[is_chosen],
            self.last[is_chosen],
            self.path[is_chosen],
            self.rows[is_kept_row],
            numbers[self.box_of[is_kept_row]],
        )

    def cut(self, cells: Cells) -> _Level:
        """Return both halves of every box, split at the middle of the next axis on which it has several cells; ``cells`` are those of all rows."""
        count, axes = self.lows.shape
        axis_order = (np.arange(axes)[None, :] + self.last[:, None] + 1) % axes
        is_splittable = np.take_along_axis(self.highs - self.lows, axis_order, axis=1) > 1
        axis = axis_order[np.arange(count), np.argmax(is_splittable, axis=1)]
        box_numbers = np.arange(count)
        middles = (self.lows[box_numbers, axis] + self.highs[box_numbers, axis]) // 2
        lows, highs = np.repeat(self.lows, 2, axis=0), np.repeat(self.highs, 2, axis=0)
        highs[2 * box_numbers, axis] = middles
        lows[2 * box_numbers + 1, axis] = middles
        is_upper = cells[self.rows, axis[self.box_of]] >= middles[self.box_of]
        path = np.column_stack([2 * self.path, 2 * self.path + 1]).ravel()
        return _Level(lows, highs, np.repeat(axis, 2), path, self.rows, 2 * self.box_of + is_upper)


def halve(sizes: Sequence[int], depth: int, cells: Cells, goes_on: GoesOn) -> Bisection:
    """Return the boxes from halving the whole grid up to ``depth`` times, and the box of each row (of ``cells``).

    ``goes_on(lows, highs, rows)`` masks the boxes to halve further, among those with more than one cell.
    """
    rows = np.arange(len(cells))
    full, zeros = np.array([sizes], dtype=np.int64), np.zeros(1, dtype=np.int64)
    level = _Level(np.zeros_like(full), full, zeros + len(sizes) - 1, zeros, rows, np.zeros(len(cells), dtype=np.int64))
    finished: list[tuple[_Level, int]] = []
    for number in range(depth):
        has_several_cells: NDArray[np.bool_] = np.any(level.highs - level.lows > 1, axis=1)
        splittable = level.chosen(has_several_cells)
        counts = np.bincount(splittable.box_of, minlength=len(splittable.lows)).astype(np.int64)
        is_split: NDArray[np.bool_] = np.zeros(len(has_several_cells), dtype=np.bool_)
        is_split[has_several_cells] = goes_on(splittable.lows, splittable.highs, counts)
        finished.append((level.chosen(~is_split), depth - number))
        level = level.chosen(is_split).cut(cells)
    finished.append((level, 0))
    lows, highs = (
        np.concatenate([getattr(level_done, end) for level_done, _ in finished]) for end in ("lows", "highs")
    )
    # Boxes split less often take the position of all their potential descendants.
    order = np.argsort(
        np.concatenate([level_done.path << remaining_depth for level_done, remaining_depth in finished]), kind="stable"
    )
    position_of = np.empty(len(order), dtype=np.int64)
    position_of[order] = np.arange(len(order))
    starts = np.cumsum([0, *(len(level_done.lows) for level_done, _ in finished)])
    box_of = np.empty(len(cells), dtype=np.int64)
    for (level_done, _), start in zip(finished, starts.tolist(), strict=False):
        box_of[level_done.rows] = position_of[start + level_done.box_of]
    return Bisection(lows[order], highs[order], box_of)
