"""Anytime search of a lattice too large for memory: the best node within the time limit, with a bound but without a proof.

From the top, the search moves to the best neighbour (one column one level finer or coarser), and if no neighbour is
better it returns to the best node with unseen neighbours. Nodes that a bound rules out are never evaluated.
"""

from __future__ import annotations

import heapq
import time

from reticent.core import NodeLevels
from reticent.methods.lattice.frontier import SearchOutcome
from reticent.methods.lattice.node_evaluation import Evaluation, Evaluator
from reticent.methods.lattice.node_space import NodeSpace


class BestFirstSearch:
    """Best-first search over neighbours with a table of visited nodes. Mutable: the table grows."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self.space = evaluator.space
        self.best: Evaluation | None = None
        self.bound = float("-inf")
        self._seen: set[NodeLevels] = set()
        self._queue: list[tuple[float, NodeLevels]] = []

    def run(self, deadline: float | None) -> SearchOutcome:
        """Search until the deadline (without one: until no unseen neighbour is left)."""
        self._visit(self.space.top)
        began = time.monotonic()
        while self._queue and not _late(deadline):
            if deadline is not None:
                self.evaluator.context.step("searching", time.monotonic() - began, max(deadline - began, 1e-9))
            _, levels = heapq.heappop(self._queue)
            for neighbour in (*self.space.specializations(levels), *self.space.generalizations(levels)):
                if neighbour not in self._seen:
                    self._visit(neighbour)
                if _late(deadline):
                    break
        everything = len(self._seen) == self.space.size
        if everything:
            return SearchOutcome(self.best, True, self.best.objective if self.best is not None else None)
        return SearchOutcome(self.best, False, self.bound)

    def _visit(self, levels: NodeLevels) -> None:
        self._seen.add(levels)
        found = self.evaluator.evaluate(levels)
        if found.objective is not None:
            heapq.heappush(self._queue, (found.objective, levels))
            if self.best is None or self.best.objective is None or found.objective < self.best.objective:
                self.best = found
        self.bound = max(self.bound, self._bound_by(found))

    def _bound_by(self, found: Evaluation) -> float:
        """Return a lower bound of every node's cost, from one evaluated node.

        A node is either a specialization of it, and then has at least its penalty, or it is coarser in some column, and
        then has at least that column's next level.
        """
        floor = _floor(self.evaluator, self.space.floor)
        outside = [
            _floor(self.evaluator, (*self.space.floor[:j], level + 1, *self.space.floor[j + 1 :]))
            for j, (level, high) in enumerate(zip(found.levels, self.space.top, strict=True))
            if level < high
        ]
        inside = [] if found.hopeless else [floor + found.penalty]
        return min([*inside, *outside], default=floor)


def _floor(evaluator: Evaluator, levels: NodeLevels) -> float:
    return float(evaluator.objective.floors(NodeSpace(levels, levels)).item())


def _late(deadline: float | None) -> bool:
    return deadline is not None and time.monotonic() >= deadline
