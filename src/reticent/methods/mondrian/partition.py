"""Mondrian's partition, all groups of one depth at once.

A round proposes one split for every open group: along the column in which the group is widest, between two values near its median. Splits
that the definition allows are made; a group whose split is refused tries its next column, and is finished when none
is left. Every round is a few passes over the units of open groups, and there are about log2(rows / k) rounds of
splits, so the total time is O(n log n). (Ties make splits uneven, but two splits isolate a frequent value, and a group is refused at most once per column.)
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from reticent.base.context import Context
from reticent.core import FrequencySet
from reticent.methods.grouping import CellStyle, Cut, Ids, Mask, Stage
from reticent.methods.mondrian.allowed_cuts import CutJudge, CutVerdict

Choice = Literal["span", "loss"]


class Partition:
    """Mutable state of a partition: units (points, or single rows if ties may be divided), and the group of those that are finished.

    It starts with the groups of ``start`` (by default the judge's) and keeps at least ``least`` rows on both sides of a split.
    ``weights`` are the weights of the columns in the choice of the column to split.

    For every open group it stores the ``rows``, the ``widths`` (leaves covered in each column), the columns in which a split was
    ``refused``, the ``losses`` after a split along each column (NaN: not computed yet), and whether it is ``passing`` the wavering parts of the definition.
    """

    def __init__(
        self,
        units: FrequencySet,
        judge: CutJudge,
        choice: Choice,
        divide_ties: bool,
        values: CellStyle,
        context: Context | None = None,
        *,
        weights: NDArray[np.float64] | None = None,
        start: tuple[Ids, int] | None = None,
        least: int = 1,
    ) -> None:
        """Start with the groups of ``start``, or of the judge, as open groups; splits keep ``least`` rows on both sides."""
        self.units = units
        self._context = context or Context()
        self.choice = choice
        self.values = values
        self.divide_ties = divide_ties
        self.judge = judge
        self.least = max(judge.least, least)
        self._weights = np.ones(len(units.hierarchies)) if weights is None else weights
        self.group: Ids = np.full(len(units), -1, dtype=np.int64)
        self.count = 0
        self._dividing = False
        self._begin(*(judge.start if start is None else start))

    def run(self) -> Ids:
        """Split until no group can be split; return the group of every unit.

        Ties are divided only at the end, when no other split is left, because dividing them loses information.
        """
        self._split_all()
        if self.divide_ties:
            self._dividing = True
            self._reopen()
            self._split_all()
        return self.group

    def _split_all(self) -> None:
        while len(self._stage):
            self._context.step("cutting groups", len(self.units) - len(self._stage.members), len(self.units))
            self._round()

    def _open(self, stage: Stage, passing: Mask) -> None:
        """Make the groups of ``stage`` the open ones, which may still be split; ``passing`` masks those that satisfy the parts
        of the definition that halves of a failing group may satisfy (``wavering``).
        """
        every_group = np.ones(len(stage), dtype=bool)
        self._stage, self._passing = stage, passing
        self._rows = stage.rows()
        self._refused = np.zeros((len(stage), len(stage.scales)), dtype=bool)
        self._widths = stage.widths(np.zeros(self._refused.shape, dtype=np.int64), every_group)
        self._losses = np.full(self._refused.shape, np.nan)

    def _reopen(self) -> None:
        group, count = self.group.copy(), self.count
        self.group[:], self.count = -1, 0
        self._begin(group, count)

    def _begin(self, group: Ids, count: int) -> None:
        """Start with the given groups of all units as open groups."""
        stage = Stage.of(self.units, self.values, measured=self.choice == "loss")
        if count > 1:
            order = np.argsort(group, kind="stable")
            stage = stage.at(order, np.searchsorted(group[order], np.arange(count + 1)))
        self._open(stage, self.judge.passing(group, count))

    def _round(self) -> None:
        """Close the groups that no column can split; propose, judge and apply one split for each of the others."""
        spans = self._spans(self._widths)
        spans[self._refused] = -1.0
        splittable = (spans.max(axis=1) > 0) & (self._rows >= 2 * self.least)
        self._close(~splittable)
        if not len(self._stage):
            return
        spans = spans[splittable]
        column = self._best_column(spans)
        cut = self._cut(column)
        verdict = self.judge.verdict(self._stage, cut, self._rows, self._passing, self.group)
        self._apply(column, cut, verdict)

    def _close(self, finished: Mask) -> None:
        """Remove finished groups from the stage and number them."""
        numbers = self.count + np.cumsum(finished) - 1
        closed = self._stage.only(finished)
        self.group[closed.members] = np.repeat(numbers[finished], closed.lengths)
        self.count += int(finished.sum())
        staying = ~finished
        self._stage = self._stage.only(staying)
        self._rows, self._passing = self._rows[staying], self._passing[staying]
        self._widths, self._refused = self._widths[staying], self._refused[staying]
        self._losses = self._losses[staying]

    def _spans(self, widths: Ids) -> NDArray[np.float64]:
        """The weighted share of each column's domain that each group covers: (covered leaves - 1) / (leaves - 1) times the weight."""
        spans: NDArray[np.float64] = (widths - 1) / np.maximum(self._stage.leaves - 1, 1) * self._weights
        return spans

    def _best_column(self, spans: NDArray[np.float64]) -> Ids:
        """Return the column along which each open group is split next: the widest one, or that with the least loss afterwards."""
        if self.choice == "span":
            widest: Ids = np.argmax(spans, axis=1)
            return widest
        unknown = np.isnan(self._losses[:, 0])
        if unknown.any():
            losses_after = self._stage.only(unknown).losses_left(
                self._rows[unknown], self.least, self._weights, between_equal=self._dividing
            )
            # Rounded, so that columns with equal losses tie regardless of the order of summation.
            self._losses[unknown] = np.round(losses_after, 9)
        # A column without a split that keeps enough rows on both sides comes last, and is refused.
        losses = np.where(np.isinf(self._losses), 1e300, self._losses)
        cheapest: Ids = np.argmin(np.where(spans > 0, losses, np.inf), axis=1)
        return cheapest

    def _cut(self, column: Ids) -> Cut:
        return self._stage.cut(column, self._rows, self.least, between_equal=self._dividing)

    def _apply(self, column: Ids, cut: Cut, verdict: CutVerdict) -> None:
        """Apply the verdict: allowed splits are made; for refused ones the column is marked as refused."""
        is_split = verdict.made
        self._refused[~is_split, column[~is_split]] = True
        # Every group has two slots; the second is occupied if the group is split.
        occupied = np.stack([np.ones_like(is_split), is_split], axis=1).ravel()
        is_half = np.repeat(is_split, 2)[occupied]
        self._stage = self._stage.halved(cut.right, is_split)
        left_rows = np.where(is_split, cut.left, self._rows)
        self._rows = np.stack([left_rows, self._rows - left_rows], axis=1).ravel()[occupied]
        self._passing = np.where(np.repeat(is_split, 2), verdict.passing, np.repeat(self._passing, 2))[occupied]
        self._refused = np.repeat(self._refused, 2, axis=0)[occupied] & ~is_half[:, None]
        self._losses = np.where(is_half[:, None], np.nan, np.repeat(self._losses, 2, axis=0)[occupied])
        self._widths = self._stage.widths(np.repeat(self._widths, 2, axis=0)[occupied], is_half)
