"""Evaluating one node: merge, judge, suppress, measure. Every search goes through here."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from reticent.base.context import Context
from reticent.core import FrequencySet, NodeLevels
from reticent.definitions import GroupDefinition
from reticent.methods.grouping import JudgedSet, failing_groups, seen_as, together_of
from reticent.methods.lattice.node_space import NodeSpace
from reticent.methods.lattice.objectives import ColumnBounds, NodeView, Objective, Weights, objective_for
from reticent.methods.lattice.points import Points

Mask = NDArray[np.bool_]

# One failing group rules out many other nodes; more than three cost more than evaluating another node.
_OUTLIERS = 3
# Up to this many, sorting points is as fast as counting small groups.
_MANY_POINTS = 1 << 18


@dataclass(frozen=True)
class Evaluation:
    """Result of evaluating a node: whether it passes, suppressed rows, and cost.

    ``objective`` is None for a failing node. ``penalty`` and ``growth`` are its bounds on specializations and
    generalizations. A failing node may have more ``suppressed`` rows than counted. ``hopeless``: every specialization
    fails as well. ``outliers`` are points of the frequency set in the smallest failing groups, given if a node fails
    and nothing may be suppressed. ``doomed`` counts rows that are lost here and at every specialization.
    """

    levels: NodeLevels
    passes: bool
    suppressed: int
    groups: int
    objective: float | None
    penalty: float = 0.0
    growth: float | None = None
    hopeless: bool = False
    outliers: tuple[int, ...] = ()
    doomed: float = 0.0


class Evaluator:
    """Evaluates the nodes of one search. Mutable: it caches the groups of evaluated nodes, from which coarser ones are computed."""

    def __init__(
        self,
        frequencies: FrequencySet,
        definition: GroupDefinition,
        suppression: Fraction,
        objective: str | Callable[[NodeView], float],
        weights: Weights | None = None,
        quasi_sets: Sequence[JudgedSet] | None = None,
        only: NodeLevels | None = None,
        context: Context | None = None,
    ) -> None:
        """Prepare the search of ``frequencies``, with at most a share ``suppression`` of the rows suppressed, or of the node ``only``"""
        self.frequencies = frequencies
        self.definition = definition
        self.allowed = int(suppression * frequencies.rows)
        self._least = definition.least_rows()
        self.objective: Objective = objective_for(objective, frequencies, weights, self._least)
        self.quasi_sets = quasi_sets
        self.context = context or Context()
        self.log: list[Evaluation] = []
        top = tuple(hierarchy.height for hierarchy in frequencies.hierarchies)
        self.space = NodeSpace(frequencies.levels, top) if only is None else NodeSpace(only, only)
        self._absorbing = definition.absorbing_on(frequencies) and quasi_sets is None
        self._counting, self._judging = _split(definition, frequencies)
        # Small groups alone can rule out a node if nothing more is needed of a failing one.
        self._rules_out = bool(self.allowed) and quasi_sets is None and not self.objective.bounds_generalizations
        # From the smallest to the largest: the first that a node generalizes is the best start.
        self._newest = Points.of(frequencies)
        self._known = [self._newest]
        self._known_levels = np.array([frequencies.levels])
        self._cache_left = 4 * len(frequencies) + 100_000

    @property
    def evaluated(self) -> int:
        """The number of nodes evaluated so far."""
        return len(self.log)

    @property
    def monotone(self) -> bool:
        """True if all generalizations of a passing node pass.

        True for monotone definitions when nothing may be suppressed, and for absorbing ones in any case. Several quasi
        sets preserve the first, but not the second once rows are suppressed because of another set.
        """
        if self.allowed == 0:
            return self.definition.monotone
        return self.definition.absorbing_on(self.frequencies) and self.quasi_sets is None

    def points(self, levels: NodeLevels) -> Points:
        """Return the groups of a node, computed from the smallest cached node that it generalizes."""
        nearest = self._nearest(levels)
        if nearest.levels == levels:
            return nearest
        points = nearest.at(levels)
        if 2 * len(points) <= len(nearest) and len(points) <= self._cache_left:
            self._cache_left -= len(points)
            # The node that was kept before this one was judged since.
            self._newest.forget_source_groups()
            self._newest = points
            index = bisect_right(self._known, len(points), key=len)
            self._known.insert(index, points)
            smaller, larger = self._known_levels[:index], self._known_levels[index:]
            self._known_levels = np.concatenate([smaller, [levels], larger])
        return points

    def _nearest(self, levels: NodeLevels) -> Points:
        """Return the smallest cached node of which this one is a generalization."""
        return self._known[int(np.argmax((self._known_levels <= levels).all(axis=1)))]

    def evaluate(self, levels: NodeLevels) -> Evaluation:
        """Return the evaluation of a node, and log it: rows of failing groups count as suppressed, and the node passes if these are not too many."""
        self.context.check("searching")
        evaluation = self._evaluate(levels)
        self.log.append(evaluation)
        return evaluation

    def _evaluate(self, levels: NodeLevels) -> Evaluation:
        """Return the evaluation of a node; many small groups alone may rule it out without computing all groups."""
        if self._rules_out and len(nearest := self._nearest(levels)) > _MANY_POINTS:
            lost = nearest.in_small_groups(levels, self._least)
            if lost > self.allowed:
                return Evaluation(levels, False, lost, 0, None, hopeless=True, doomed=float(lost))
        points = self.points(levels)
        return self._evaluation(points, *self._judged(points))

    def _judged(self, points: Points) -> tuple[Mask, NDArray[np.float64]]:
        """Return the mask of suppressed groups, possibly incomplete if too many rows are lost, and the number of rows of
        each group that are suppressed at every specialization as well ('doomed').
        """
        if self.quasi_sets is not None:
            return self._suppressed_in_sets(points), np.zeros(len(points))
        too_small = self._too_small(points)
        doomed = np.where(too_small, points.sizes, 0).astype(np.float64)
        if doomed.sum() > self.allowed or self._judging is None:
            return too_small, doomed
        groups = points.groups()
        doomed = np.maximum(doomed, self._judging.doomed(groups))
        if doomed.sum() > self.allowed:
            # Not all failing groups, but enough of them: a group with doomed rows fails.
            return too_small | (doomed > 0), doomed
        return failing_groups(self._judging, groups, too_small, self.allowed), doomed

    def column_bounds(self, levels: NodeLevels) -> ColumnBounds | None:
        """Bounds of the specializations of a node, column by column; None if the objective is no sum over columns."""
        points = self.points(levels)
        return self.objective.column_bounds(points, self._judged(points)[1])

    def suppressed(self, points: Points) -> Mask:
        """Mask the groups of a node that a release would suppress."""
        if self.quasi_sets is not None:
            return self._suppressed_in_sets(points)
        too_small = self._too_small(points)
        if self._judging is None:
            return too_small
        return failing_groups(self._judging, points.groups(), too_small, self.allowed)

    def _evaluation(self, points: Points, suppressed: Mask, doomed: NDArray[np.float64]) -> Evaluation:
        """Return the evaluation of a node whose groups under ``suppressed`` are suppressed; ``doomed`` is the number of rows
        of each group that are suppressed at every specialization as well.
        """
        rows = int(points.sizes[suppressed].sum())
        lost = float(doomed.sum())
        hopeless = lost > self.allowed
        passes = rows <= self.allowed and not hopeless
        penalty = self.objective.penalty(points, doomed) if self.allowed and not hopeless else 0.0
        all_lost_doomed = not passes or rows == int(lost)
        return Evaluation(
            points.levels,
            passes,
            rows,
            len(points) - int(suppressed.sum()),
            self.objective.value(points, suppressed, penalty if all_lost_doomed else None) if passes else None,
            penalty,
            self.objective.growth(points, suppressed if self._absorbing else None),
            hopeless or (not passes and self.monotone),
            () if passes or self.allowed else _outliers(points, suppressed),
            lost,
        )

    def _too_small(self, points: Points) -> Mask:
        """Mask the groups without rows, and those that fail the part of the definition that only counts."""
        is_empty: Mask = points.sizes == 0
        return is_empty if self._counting is None else is_empty | self._counting.failing(points.bare_groups())

    def _suppressed_in_sets(self, points: Points) -> Mask:
        """Mask the suppressed groups for several quasi sets: each set must be safe on its own, and rows suppressed for one
        are missing in the others.
        """
        mask = np.zeros(len(points), dtype=bool)
        while True:
            suppressed_before = int(mask.sum())
            for judged_set in self.quasi_sets or ():
                group_of, _, groups = seen_as(
                    points.groups(), judged_set.places, *points.alike(judged_set.places), ~mask
                )
                failing = failing_groups(judged_set.definition, groups, np.zeros(len(groups), dtype=bool), self.allowed)
                mask[np.flatnonzero(~mask)[failing[group_of]]] = True
                if int(points.sizes[mask].sum()) > self.allowed:
                    return mask
            if int(mask.sum()) == suppressed_before:
                return mask


def _outliers(points: Points, failing: Mask) -> tuple[int, ...]:
    """Return a point of the frequency set in each of the smallest failing groups."""
    failing_groups_here = np.flatnonzero(failing)
    smallest = np.argsort(points.sizes[failing_groups_here], kind="stable")[:_OUTLIERS]
    return tuple(points.point_in(int(group)) for group in failing_groups_here[smallest])


def _split(
    definition: GroupDefinition, frequencies: FrequencySet
) -> tuple[GroupDefinition | None, GroupDefinition | None]:
    """Split a definition into the parts that depend on group sizes only, whose failures finer groups inherit, and the
    other parts; each is None if there are no such parts.
    """

    def counts(part: GroupDefinition) -> bool:
        """True if the part depends on group sizes only, and a group that fails it fails at every specialization."""
        return part.local and part.absorbing_on(frequencies) and not part.needs_sensitive

    parts = definition.parts()
    return together_of(tuple(filter(counts, parts))), together_of(tuple(part for part in parts if not counts(part)))
