"""The default search: exact branch and bound over the whole lattice at once.

The lattice is an array with three entries per node: whether it is known to fail, a lower bound of its objective, and
whether it was evaluated. A node is a candidate while it may still beat the best one. Each round evaluates the candidate
whose outcome removes the most others in the worse case: a pass removes everything with a higher bound, a failure its
specializations; the search ends when no candidate is left, and the best node is then proven optimal.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.methods.lattice.forecast import Forecast
from reticent.methods.lattice.node_evaluation import Evaluation, Evaluator
from reticent.methods.lattice.outliers import Outliers

_ROUNDING = 1e-12
_FEW = 6


@dataclass(frozen=True)
class SearchOutcome:
    """The best node found, whether it is proven optimal, and a lower bound of all nodes."""

    best: Evaluation | None
    proven: bool
    bound: float | None


class Frontier:
    """The state of a search: what is still possible, node by node. Mutable: evaluations narrow it."""

    def __init__(self, evaluator: Evaluator) -> None:
        """Start with all nodes open, bounded from below by their objective without suppression (``base``; ``floors`` rise)"""
        self.evaluator = evaluator
        self.space = evaluator.space
        self.floors = evaluator.objective.floors(self.space)
        self.base = self.floors.copy()
        self.open: NDArray[np.bool_] = np.ones(self.space.shape, dtype=bool)
        self.best: Evaluation | None = None
        # Whether a bound or the best node has changed since candidates were last compared.
        self._moved = False
        self._index = np.arange(self.space.size).reshape(self.space.shape)
        usable = evaluator.allowed == 0 and evaluator.quasi_sets is None
        usable = usable and Outliers.applicable(evaluator.frequencies, self.space, evaluator.definition)
        self._outliers = (
            Outliers(evaluator.points(self.space.floor), self.space, evaluator.definition) if usable else None
        )
        self._evaluated: NDArray[np.bool_] = np.zeros(self.space.shape, dtype=bool)
        self._forecast = self._forecaster()
        # If suppression costs nothing and the objective is monotone, generalizations of a passing node cannot win.
        free = evaluator.allowed == 0 or not evaluator.objective.sees_suppression
        self._minimal_only = free and evaluator.objective.grows and evaluator.monotone

    def _forecaster(self) -> Forecast | None:
        """Return a forecast of suppressed rows, if these follow from sizes and counted values and the bounds use it."""
        evaluator = self.evaluator
        counted = all(part.relaxation() is not None for part in evaluator.definition.parts())
        usable = evaluator.allowed > 0 and evaluator.quasi_sets is None and evaluator.objective.knows_floors
        return Forecast(evaluator.frequencies, self.space, evaluator.allowed) if usable and counted else None

    def run(self, deadline: float | None = None) -> SearchOutcome:
        """Search until no node can beat the best one, or until the deadline."""
        if self._outliers is not None:
            self._look_at_outliers((self._outliers.rarest(),))
        while True:
            candidates = self._candidates()
            if not candidates.any():
                bound = self.best.objective if self.best is not None else None
                return SearchOutcome(self.best, True, bound)
            if deadline is not None and time.monotonic() >= deadline:
                lowest = float(self.floors[candidates].min())
                objective = self.best.objective if self.best is not None else None
                return SearchOutcome(self.best, False, lowest if objective is None else min(lowest, objective))
            context = self.evaluator.context
            if context.heard:
                note = f"{self.evaluator.evaluated:,} of {self.space.size:,} generalizations looked at"
                context.step("searching", self.space.size - int(candidates.sum()), self.space.size, note)
            evaluation = self.evaluator.evaluate(self.space.node(self._pick(candidates)))
            self.learn(evaluation)
            self._look_at_outliers(evaluation.outliers)

    def _look_at_outliers(self, points: tuple[int, ...]) -> None:
        """Rule out every node at which the group of one of these points of the frequency set fails; skipped if few candidates remain."""
        if self._outliers is not None and points and np.count_nonzero(self.open) > _FEW:
            self.open &= ~self._outliers.failing(points)

    def learn(self, evaluation: Evaluation) -> None:
        """Propagate the result of an evaluated node over the lattice."""
        space, levels = self.space, evaluation.levels
        self.open[space.at(levels)] = False
        self._evaluated[space.at(levels)] = True
        self._moved |= evaluation.passes or evaluation.penalty > 0 or evaluation.growth is not None
        if self._forecast is not None:
            self._forecast.learn(evaluation)
        if evaluation.hopeless:
            self.open[space.below(levels)] = False
        elif evaluation.penalty > 0:
            below = space.below(levels)
            np.maximum(self.floors[below], self.base[below] + evaluation.penalty, out=self.floors[below])
        if evaluation.growth is not None:
            above = space.above(levels)
            np.maximum(self.floors[above], evaluation.growth, out=self.floors[above])
        if evaluation.objective is None:
            return
        if self._minimal_only:
            self.open[space.above(levels)] = False
        if self.best is None or self._rank(evaluation) < self._rank(self.best):
            self.best = evaluation

    def _rank(self, evaluation: Evaluation) -> tuple[float, int]:
        """Return the sort key of a passing node: its objective, then its index in the lattice."""
        assert evaluation.objective is not None
        return evaluation.objective, int(self._index[self.space.at(evaluation.levels)])

    def _candidates(self) -> NDArray[np.bool_]:
        """Mask the open nodes whose bound is below the best objective; ties may still win by their level vector."""
        if self.best is None or not self._moved:
            return self.open
        self._moved = False
        objective, index = self._rank(self.best)
        nearly = objective + _ROUNDING * abs(objective)
        self.open &= (self.floors < objective) | ((self.floors <= nearly) & (self._index < index))
        return self.open

    def _pick(self, candidates: NDArray[np.bool_]) -> int:
        """Return the flat index of the candidate to evaluate next: the one that rules out the most others in the worse of
        its two outcomes or, with a forecast of suppressed rows, in expectation.
        """
        flat = np.flatnonzero(candidates)
        if len(flat) <= 2:
            return int(flat[0])
        if self._outliers is not None:
            # Half of the candidates cost more, and are removed if it passes; a group that fails here is rare enough to
            # fail at many nodes.
            middle = len(flat) // 2
            return int(flat[np.argpartition(self.floors.ravel()[flat], middle)[middle]])
        below = self.space.count_below(candidates)
        bounds = self.floors.ravel()[flat]
        if self._forecast is not None and self._forecast.is_ready:
            return self._most_promising(flat[np.argsort(bounds)], below)
        removed_if_failing = below.ravel()[flat]
        if not self.evaluator.objective.knows_floors:
            removed_if_passing: NDArray[Any] = self.space.count_above(candidates).ravel()[flat]
        else:
            removed_if_passing = len(flat) - np.searchsorted(np.sort(bounds), bounds)
        return int(flat[np.argmax(np.minimum(removed_if_failing, removed_if_passing))])

    def _most_promising(self, by_bound: NDArray[np.intp], below: NDArray[Any]) -> int:
        """Return the flat index of the node expected to rule out the most candidates, itself a candidate or only a
        generalization of some. ``by_bound`` are the candidates by increasing bound, ``below`` the number of candidates among each node's specializations.

        A node too costly to win can still fail, and then removes all candidates below it. A candidate that passes
        removes all that cost more: those after it in ``by_bound``.
        """
        assert self._forecast is not None
        failure_probability = self._forecast.hopeless()
        expected = (failure_probability * below).ravel()
        expected[by_bound] += (1 - failure_probability.ravel()[by_bound]) * np.arange(len(by_bound), 0, -1)
        expected[self._evaluated.ravel()] = -1.0
        chosen = int(np.argmax(expected))
        return chosen if expected[chosen] >= 1.0 else int(by_bound.min())
