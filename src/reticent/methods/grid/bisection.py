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

    def chosen(self, which: NDArray[np.bool_]) -> _Level:
        """Select some of the boxes, with their rows."""
        numbers = np.cumsum(which) - 1
        inside = which[self.box_of]
        return _Level(
            self.lows[which],
            self.highs[which],
            self.last[which],
            self.path[which],
            self.rows[inside],
            numbers[self.box_of[inside]],
        )

    def cut(self, cells: Cells) -> _Level:
        """Return both halves of every box."""
        count, axes = self.lows.shape
        turns = (np.arange(axes)[None, :] + self.last[:, None] + 1) % axes
        wide = np.take_along_axis(self.highs - self.lows, turns, axis=1) > 1
        axis = turns[np.arange(count), np.argmax(wide, axis=1)]
        own = np.arange(count)
        middles = (self.lows[own, axis] + self.highs[own, axis]) // 2
        lows, highs = np.repeat(self.lows, 2, axis=0), np.repeat(self.highs, 2, axis=0)
        highs[2 * own, axis] = middles
        lows[2 * own + 1, axis] = middles
        upper = cells[self.rows, axis[self.box_of]] >= middles[self.box_of]
        path = np.column_stack([2 * self.path, 2 * self.path + 1]).ravel()
        return _Level(lows, highs, np.repeat(axis, 2), path, self.rows, 2 * self.box_of + upper)


def halve(sizes: Sequence[int], depth: int, cells: Cells, goes_on: GoesOn) -> Bisection:
    """Halve the whole grid up to ``depth`` times, wherever ``goes_on`` allows it and a box has more than one cell."""
    rows = np.arange(len(cells))
    whole, zero = np.array([sizes], dtype=np.int64), np.zeros(1, dtype=np.int64)
    level = _Level(np.zeros_like(whole), whole, zero + len(sizes) - 1, zero, rows, np.zeros(len(cells), dtype=np.int64))
    done: list[tuple[_Level, int]] = []
    for number in range(depth):
        wide: NDArray[np.bool_] = np.any(level.highs - level.lows > 1, axis=1)
        asked = level.chosen(wide)
        counts = np.bincount(asked.box_of, minlength=len(asked.lows)).astype(np.int64)
        on: NDArray[np.bool_] = np.zeros(len(wide), dtype=np.bool_)
        on[wide] = goes_on(asked.lows, asked.highs, counts)
        done.append((level.chosen(~on), depth - number))
        level = level.chosen(on).cut(cells)
    done.append((level, 0))
    lows, highs = (np.concatenate([getattr(each, end) for each, _ in done]) for end in ("lows", "highs"))
    # Boxes split less often take the position of all their potential descendants.
    order = np.argsort(np.concatenate([each.path << left for each, left in done]), kind="stable")
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    starts = np.cumsum([0, *(len(each.lows) for each, _ in done)])
    box_of = np.empty(len(cells), dtype=np.int64)
    for (each, _), start in zip(done, starts.tolist(), strict=False):
        box_of[each.rows] = place[start + each.box_of]
    return Bisection(lows[order], highs[order], box_of)
