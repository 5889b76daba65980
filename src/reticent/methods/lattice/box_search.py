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
        room = max(min(best, box.bounds.at(box.high)) - bound, 0.0)
        column, level = self._best_split(box, room)
        self._push(LatticeBox(_with(box.low, column, level + 1), box.high, box.bounds), bound, best)
        reached = self._open(box.low, _with(box.high, column, level), bound, best)
        gains = self._gains[column, level]
        gains[0] += min(reached - bound, room)
        gains[1] += 1

    def _open(self, low: NodeLevels, high: NodeLevels, bound: float, best: float) -> float:
        """Evaluate the coarsest node of a box and put the box into the queue, if it may contain the best node; return its bound."""
        if self._evaluate(high).hopeless:
            return float("inf")
        bounds = self.evaluator.column_bounds(high)
        assert bounds is not None, "the objective is a sum over columns"
        return self._push(LatticeBox(low, high, bounds), bound, best)

    def _push(self, box: LatticeBox, bound: float, best: float) -> float:
        """Put a box into the queue with its own bound or that of the box it is part of, if it may contain the best node; return the bound."""
        own_bound = box.bounds.at(box.low)
        bound = max(bound, own_bound - _ROUNDING * abs(own_bound))
        if bound <= best and box.low != box.high:
            self._made += 1
            heapq.heappush(self._queue, (bound, self._made, box))
        return bound

    def _best_split(self, box: LatticeBox, room: float) -> tuple[int, int]:
        """The column of a split and the highest level of its finer half; gains above ``room`` close a box and count as much."""

        def outlook(column: int, level: int) -> float:
            table, (total, times) = box.bounds.tables[column], self._gains[column, level]
            coarser = min(float(table[level + 1] - table[box.low[column]]), room)
            finer = min(total / times, room) if times else room
            return min(coarser, finer) + _LARGER_SHARE * max(coarser, finer)

        splits = [
            (column, level)
            for column, (low, high) in enumerate(zip(box.low, box.high, strict=True))
            for level in range(low, high)
        ]
        return max(splits, key=lambda split: outlook(*split))


def _with(levels: NodeLevels, column: int, level: int) -> NodeLevels:
    return (*levels[:column], level, *levels[column + 1 :])
