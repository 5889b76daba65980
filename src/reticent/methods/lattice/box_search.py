"""Branch and bound over boxes of a lattice too large for memory: a lower bound of all nodes that keeps rising.

A *box* is the set of nodes between a finest node ``low`` and a coarsest node ``high``. *Bound.* Let ``L`` be the rows that are lost at ``high`` and at every specialization of it
(:class:`.node_evaluation.Evaluation`, ``doomed``). Every node of the box is such a specialization: it loses the rows of ``L``, which cost the most in every column, and
its other rows cost in each column at least as much as at ``low``, because costs do not fall along a generalization. The sum of both is a lower bound of the objective in the box. If ``high`` is hopeless, the whole box is.

*Relaxation by columns.* A box whose ``high`` is at the top in all columns but some is judged by the groups of these few columns alone: rows suppressed in the projection are suppressed in every node above it.
Its groups are few, and it is evaluated quickly.

*Branching.* The box with the least bound is split in one column, between two levels. The coarser half keeps ``high``, so its bound is known. The finer half has a ``high`` of its own, which is evaluated.
The split with the best outlook is chosen: what the coarser half gains, and what finer halves of the same split gained on average before. The boxes cover all nodes that may still be the best one, so that the least bound of all boxes
bounds the lattice; when none is left, the best node is proven optimal. Bounds are rounded down by more than the error of their sums.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from reticent.core import NodeLevels
from reticent.methods.lattice.node_evaluation import Evaluation, Evaluator
from reticent.methods.lattice.objectives import ColumnBounds

_ROUNDING = 1e-9
"""Relative error of a bound: far above that of a sum of some million floats."""
_LARGER_SHARE = 0.5
"""How much the larger of the two gains of a split counts beside the smaller."""


@dataclass(frozen=True)
class LatticeBox:
    """The nodes from ``low`` to ``high``, with the ``bounds`` from ``high``."""

    low: NodeLevels
    high: NodeLevels
    bounds: ColumnBounds


class BoxSearch:
    """The boxes that may still contain the best node. Mutable: every split narrows them.

    ``evaluate`` evaluates a node, at most once, for the search that this one belongs to.
    """

    def __init__(self, evaluator: Evaluator, evaluate: Callable[[NodeLevels], Evaluation]) -> None:
        """Start with one box, the whole lattice; ``_gains`` has for each split (column, level) the sum and the number of the gains of its finer halves."""
        self.evaluator = evaluator
        self._evaluate = evaluate
        self._queue: list[tuple[float, int, LatticeBox]] = []
        self._made = 0
        self._gains: dict[tuple[int, int], list[float]] = defaultdict(lambda: [0.0, 0.0])
        space = evaluator.space
        self._open(space.floor, space.top, float("-inf"), float("inf"))

    def bound(self, best: float) -> float:
        """A lower bound of all nodes, if ``best`` is the least objective found so far."""
        return min(best, self._queue[0][0]) if self._queue else best

    def is_finished(self, best: float) -> bool:
        """Whether no box may contain a node better than ``best``, or as good."""
        return not self._queue or self._queue[0][0] > best

    def split(self, best: float) -> None:
        """Split the box with the least bound; ``best`` is the least objective found so far."""
        bound, _, box = heapq.heappop(self._queue)
        # A gain of this much proves that a half has no better node than the best one.
        useful_gain = max(min(best, box.bounds.at(box.high)) - bound, 0.0)
        column, level = self._best_split(box, useful_gain)
        self._push(LatticeBox(_with(box.low, column, level + 1), box.high, box.bounds), bound, best)
        finer_bound = self._open(box.low, _with(box.high, column, level), bound, best)
        gain_record = self._gains[column, level]
        gain_record[0] += min(finer_bound - bound, useful_gain)
        gain_record[1] += 1

    def _open(self, low: NodeLevels, high: NodeLevels, bound: float, best: float) -> float:
        """Evaluate the coarsest node of a box, queue the box if it may contain the best node, and return its lower bound (infinite if no node passes).

        ``bound`` is that of the enclosing box, ``best`` the least objective found so far.
        """
        if self._evaluate(high).hopeless:
            return float("inf")
        bounds = self.evaluator.column_bounds(high)
        assert bounds is not None, "the objective is a sum over columns"
        return self._push(LatticeBox(low, high, bounds), bound, best)

    def _push(self, box: LatticeBox, bound: float, best: float) -> float:
        """Queue a box if it may contain a better node than ``best``; return its lower bound: its own, or ``bound``, that of the enclosing box, if higher."""
        own_bound = box.bounds.at(box.low)
        bound = max(bound, own_bound - _ROUNDING * abs(own_bound))
        if bound <= best and box.low != box.high:
            self._made += 1
            heapq.heappush(self._queue, (bound, self._made, box))
        return bound

    def _best_split(self, box: LatticeBox, useful_gain: float) -> tuple[int, int]:
        """Return the most promising split: a column, and the level at which its finer half ends.

        The gain of a half is by how much its bound rises. ``useful_gain`` suffices to discard a box; more is worth nothing.
        """

        def score(column: int, level: int) -> float:
            """Return the expected gains of the two halves, the smaller one weighted more."""
            table = box.bounds.tables[column]
            finer_total, finer_count = self._gains[column, level]
            coarser_gain = min(float(table[level + 1] - table[box.low[column]]), useful_gain)
            finer_gain = min(finer_total / finer_count, useful_gain) if finer_count else useful_gain
            return min(coarser_gain, finer_gain) + _LARGER_SHARE * max(coarser_gain, finer_gain)

        splits = [
            (column, level)
            for column, (low, high) in enumerate(zip(box.low, box.high, strict=True))
            for level in range(low, high)
        ]
        return max(splits, key=lambda split: score(*split))


def _with(levels: NodeLevels, column: int, level: int) -> NodeLevels:
    """Return the node with another level in one column."""
    return (*levels[:column], level, *levels[column + 1 :])
