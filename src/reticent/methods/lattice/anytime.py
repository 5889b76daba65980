"""Anytime search of a lattice too large for memory: the best node within the time limit, with a lower bound.

Two searches take turns. *Best first*: from the top, the search moves to the best neighbour (one column one level finer or coarser), and if no neighbour is
better it returns to the best node with unseen neighbours. *Boxes* (:mod:`.box_search`), if the objective is a sum over columns: parts of the lattice are bounded from below and split, the most promising first, which
evaluates nodes far from those seen before, and proves the best node optimal once no part can contain a better one. While the first search finds better nodes it gets most of the time, then the second.
"""

from __future__ import annotations

import heapq
import time

from reticent.core import NodeLevels
from reticent.methods.lattice.box_search import BoxSearch
from reticent.methods.lattice.frontier import SearchOutcome
from reticent.methods.lattice.node_evaluation import Evaluation, Evaluator
from reticent.methods.lattice.node_space import NodeSpace

_PATIENCE = 400
"""After this many evaluations without a better node, most of the time is spent on boxes."""
_SHARES = (3.0, 0.1)
"""Evaluations of the best-first search for one of the boxes: before its patience ends, and after."""


class BestFirstSearch:
    """Best-first search over neighbours with a table of visited nodes, beside a search of boxes. Mutable: the table grows."""

    def __init__(self, evaluator: Evaluator) -> None:
        """Start without visited nodes; ``_queue`` has the passing nodes whose neighbours were not visited, ``_found_at`` the number of visited nodes when the best one was found."""
        self.evaluator = evaluator
        self.space = evaluator.space
        self.best: Evaluation | None = None
        self.bound = float("-inf")
        self._seen: dict[NodeLevels, Evaluation] = {}
        self._queue: list[tuple[float, NodeLevels]] = []
        self._found_at = 0

    def run(self, deadline: float | None) -> SearchOutcome:
        """Search until the best node is proven optimal or the deadline has passed (without one: until no unseen neighbour is left)."""
        top = self._visit(self.space.top)
        if top.hopeless:
            return SearchOutcome(None, True, None)
        is_bounded = self.evaluator.column_bounds(self.space.top) is not None
        boxes = BoxSearch(self.evaluator, self._visit) if is_bounded else None
        started, best_first_lead = time.monotonic(), 0.0
        while (self._queue or boxes is not None) and not _late(deadline):
            if deadline is not None:
                self.evaluator.context.step("searching", time.monotonic() - started, max(deadline - started, 1e-9))
            # The two searches take turns so that their numbers of steps stay in the ratio of _SHARES.
            if boxes is None or (self._queue and best_first_lead <= 0):
                seen_before = len(self._seen)
                self._expand(deadline)
                best_first_lead += len(self._seen) - seen_before
            else:
                boxes.split(self._least)
                best_first_lead -= _SHARES[len(self._seen) - self._found_at > _PATIENCE]
            if boxes is not None and boxes.is_finished(self._least):
                return SearchOutcome(self.best, True, self.best.objective if self.best is not None else None)
        if len(self._seen) == self.space.size:
            return SearchOutcome(self.best, True, self.best.objective if self.best is not None else None)
        bound = self.bound if boxes is None else max(self.bound, boxes.bound(self._least))
        return SearchOutcome(self.best, False, bound if self.best is None else min(bound, self._least))

    @property
    def _least(self) -> float:
        """The objective of the best node found so far; infinite if none was found."""
        return float("inf") if self.best is None or self.best.objective is None else self.best.objective

    def _expand(self, deadline: float | None) -> None:
        """Visit the unseen neighbours of the best node whose neighbours were not visited yet."""
        _, levels = heapq.heappop(self._queue)
        for neighbour in (*self.space.specializations(levels), *self.space.generalizations(levels)):
            self._visit(neighbour)
            if _late(deadline):
                break

    def _visit(self, levels: NodeLevels) -> Evaluation:
        """Return the evaluation of a node, computed once; a new one updates the queue, the best node and the bound."""
        if (seen := self._seen.get(levels)) is not None:
            return seen
        evaluation = self._seen[levels] = self.evaluator.evaluate(levels)
        if evaluation.objective is not None:
            heapq.heappush(self._queue, (evaluation.objective, levels))
            if (evaluation.objective, levels) < (self._least, () if self.best is None else self.best.levels):
                if evaluation.objective < self._least:
                    self._found_at = len(self._seen)
                self.best = evaluation
        self.bound = max(self.bound, self._bound_by(evaluation))
        return evaluation

    def _bound_by(self, evaluation: Evaluation) -> float:
        """Return a lower bound of every node's cost, from one evaluated node.

        A node is either a specialization of it, and then has at least its penalty, or it is coarser in some column, and
        then has at least that column's next level.
        """
        lowest_floor = _floor(self.evaluator, self.space.floor)
        outside = [
            _floor(self.evaluator, (*self.space.floor[:j], level + 1, *self.space.floor[j + 1 :]))
            for j, (level, high) in enumerate(zip(evaluation.levels, self.space.top, strict=True))
            if level < high
        ]
        inside = [] if evaluation.hopeless else [lowest_floor + evaluation.penalty]
        return min([*inside, *outside], default=lowest_floor)


def _floor(evaluator: Evaluator, levels: NodeLevels) -> float:
    """Return the lower bound of a node's objective that is known without evaluating it."""
    return float(evaluator.objective.floors(NodeSpace(levels, levels)).item())


def _late(deadline: float | None) -> bool:
    return deadline is not None and time.monotonic() >= deadline
