"""Decides goals about a region: finds a point beyond a bound, in exact fractions, or an argument that there is none.

Floating-point linear programs only propose. A proposed point is solved again in fractions and counts if it fits the log
exactly; proposed dual weights are rounded to fractions and count if the checker of :mod:`argument` accepts them. What
neither side proves within the limit is undecided.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from reticent.audit.offline.answer_region import Bound, Box, Region
from reticent.audit.offline.argument import ByHolder, ByValue, Goal, Leaf, Tree, leaf_proves, upper_bound

if TYPE_CHECKING:
    from reticent.base.context import Context

Point = tuple[Fraction, ...]
FloatArray = NDArray[np.float64]

_DENOMINATORS = (1, 12, 1000, 10**6, 10**9)
_NEAR = 1e-7

# Status codes of linprog.
_INFEASIBLE, _UNBOUNDED, _UNCLEAR = 2, 3, 4


@dataclass
class RegionSearch:
    """Decides goals about one region under one limit. Mutable: counts the linear programs solved."""

    region: Region
    limit: int
    context: Context | None = None
    solved: int = 0
    points: list[Point] = field(default_factory=list)

    @cached_property
    def price(self) -> int:
        """The cost of one linear program against the limit: higher for a large region."""
        return 1 + int(self.region.matrix.nnz) // 5_000

    def beyond(self, goal: Goal) -> Point | Tree | None:
        """Return a possible point that violates the goal (``sign * piece`` is at most a value), a proof of the goal, or
        None if the limit was reached.
        """
        if self.region.integral:
            witness = self._whole_witness(goal)
            if witness is not None:
                return self._kept(witness)
        outcome = self._explore(goal, self.region.box)
        return self._kept(outcome) if isinstance(outcome, tuple) else outcome

    def _kept(self, point: Point) -> Point:
        self.points.append(point)
        return point

    def extent(self, piece: int, sign: int) -> tuple[Bound, Leaf | None, Point | None]:
        """Return the best proved bound of ``sign * piece``, its proof, and an exact point near the optimum; None for
        what was not found.

        Only for a region without maxima, minima or integrality, which would need cases.
        """
        goal = Goal(piece, sign)
        status, point, duals = self._program(goal, self.region.box)
        if status != "optimal":
            return None, None, None
        leaves = [Leaf(weights) for weights in _rounded(duals)]
        proved = [
            (bound, leaf)
            for leaf in leaves
            if (bound := upper_bound(self.region, goal, leaf, self.region.box)) is not None
        ]
        best = min(proved, key=lambda pair: pair[0], default=(None, None))
        exact = self._exactly(point, self.region.box)
        if exact is not None:
            self.points.append(exact)
        return best[0], best[1], exact

    def _explore(self, goal: Goal, box: Box) -> Point | Tree | None:
        """Return a point in the box that violates the goal, a proof that there is none, or None if neither was found.

        By linear programming, splitting the box where the relaxed solution violates a maximum, a minimum or
        integrality.
        """
        if box.is_empty:
            return Leaf(())
        if self.solved >= self.limit:
            return None
        if self.context is not None:
            self.context.check("solving linear programs")
        status, point, duals = self._program(goal, box)
        if status == "unbounded" and goal.piece is not None:
            status, point, duals = self._one_beyond(goal, box)
        if status == "infeasible":
            return self._proved(goal, box, self._infeasibility(box))
        if status != "optimal":
            return None
        if goal.piece is not None and goal.sign * point[goal.piece] <= float(goal.value) + _scaled(float(goal.value)):
            leaf = self._proved(goal, box, duals)
            if leaf is not None:
                return leaf
        return self._branch(goal, box, point)

    def _proved(self, goal: Goal, box: Box, duals: FloatArray | None) -> Leaf | None:
        """Return the first rounding of the dual weights that proves the goal in the box, in fractions; None if none
        does.
        """
        if duals is None:
            return None
        leaves = (Leaf(weights) for weights in _rounded(duals))
        return next((leaf for leaf in leaves if leaf_proves(self.region, goal, leaf, box)), None)

    def _branch(self, goal: Goal, box: Box, point: FloatArray) -> Point | Tree | None:
        """Split the box at a maximum that no one attains, or at a fraction where an integer is needed, in the relaxed
        solution; return the proof by cases, or a point.

        If nothing is violated the solution itself is made exact and returned, if it violates the goal.
        """
        index = self._unheld(box, point)
        if index is not None:
            holding = self.region.holdings[index]
            candidates = [piece for piece in holding.pieces if box.allows(piece, holding.value)]
            boxes = [box.narrowed(piece, holding.value, holding.value) for piece in candidates]
            outcomes = self._all(goal, boxes)
            return (
                ByHolder(index, tuple(zip(candidates, outcomes, strict=True)))
                if isinstance(outcomes, list)
                else outcomes
            )
        piece = self._broken(point)
        if piece is not None:
            floor = int(np.floor(point[piece]))
            sides = [box.narrowed(piece, None, Fraction(floor)), box.narrowed(piece, Fraction(floor + 1), None)]
            outcomes = self._all(goal, sides)
            return ByValue(piece, floor, *outcomes) if isinstance(outcomes, list) else outcomes
        exact = self._exactly(point, box)
        beyond = exact is not None and (goal.piece is None or goal.sign * exact[goal.piece] > goal.value)
        return exact if beyond else None

    def _all(self, goal: Goal, boxes: list[Box]) -> list[Tree] | Point | None:
        """Return a proof for every box, or a point in one of them that violates the goal, or None if a box stays
        undecided.
        """
        trees: list[Tree] = []
        undecided = False
        for box in boxes:
            outcome = self._explore(goal, box)
            if isinstance(outcome, tuple):
                return outcome
            if outcome is None:
                undecided = True
            else:
                trees.append(outcome)
        return None if undecided else trees

    def _unheld(self, box: Box, point: FloatArray) -> int | None:
        """Return the index of a maximum or minimum that no one attains in the relaxed solution, the one with the fewest
        candidates; None if all are attained.
        """
        open_holdings = []
        for index, holding in enumerate(self.region.holdings):
            value = float(holding.value)
            candidates = [piece for piece in holding.pieces if box.allows(piece, holding.value)]
            fixed = any(box.lower[piece] == holding.value == box.upper[piece] for piece in candidates)
            if not fixed and not any(abs(point[piece] - value) <= _scaled(value) for piece in candidates):
                open_holdings.append((len(candidates), index))
        return min(open_holdings)[1] if open_holdings else None

    def _broken(self, point: FloatArray) -> int | None:
        """Return the piece (a person, or a group with one sum) that is furthest from an integer; None if all are
        integers, or need not be.
        """
        if not self.region.integral:
            return None
        distance = np.abs(point - np.round(point))
        piece = int(np.argmax(distance)) if len(distance) else 0
        return piece if len(distance) and distance[piece] > 1e-6 else None

    def _program(self, goal: Goal, box: Box) -> tuple[str, FloatArray, FloatArray]:
        """Maximise ``sign * piece`` over the box and the equations of the queries; return status, point and dual
        weights.

        A piece is a person, or a group with one sum. Without a piece to maximise, any point will do.
        """
        self.solved += self.price
        limits = _limits(box)
        costs = np.zeros(len(limits))
        if goal.piece is not None:
            costs[goal.piece] = -goal.sign
        else:
            # Any direction will do, and different ones find different points; unbounded pieces are excluded.
            bounded = np.isfinite(np.array(limits)).all(axis=1) if limits else np.zeros(0, dtype=bool)
            costs = np.where(bounded, np.cos(np.arange(len(costs)) * (1 + self.solved)), 0.0)
        rows = self.region.matrix if self.region.answers else None
        solution = _solved(costs, rows, [float(answer) for answer in self.region.answers], limits)
        if solution.status == 0:
            return "optimal", solution.x, np.zeros(0) if rows is None else -solution.eqlin.marginals
        words = {_INFEASIBLE: "infeasible", _UNBOUNDED: "unbounded", _UNCLEAR: "unbounded"}
        status = words.get(solution.status, "failed")
        return status, np.zeros(0), np.zeros(0)

    def _one_beyond(self, goal: Goal, box: Box) -> tuple[str, FloatArray, FloatArray]:
        """Return a point at least 1 beyond a goal that the relaxed region exceeds without bound."""
        piece = goal.piece or 0
        step = goal.sign * (goal.value + 1)
        ends = (step, None) if goal.sign > 0 else (None, step)
        status, point, _ = self._program(Goal(), box.narrowed(piece, *ends))
        return status, point, np.zeros(len(self.region.answers))

    def _infeasibility(self, box: Box) -> FloatArray:
        """Return weights of queries whose answers the box cannot reach, from a program with slack on both sides."""
        self.solved += self.price
        rows = self.region.matrix
        count, width = rows.shape
        slack = sparse.identity(count, format="csr")
        with_slack = sparse.hstack([rows, slack, -slack], format="csr")
        costs = np.concatenate([np.zeros(width), np.ones(2 * count)])
        limits = [*_limits(box), *([(0.0, np.inf)] * (2 * count))]
        solution = _solved(costs, with_slack, [float(answer) for answer in self.region.answers], limits)
        return solution.eqlin.marginals if solution.status == 0 else np.zeros(count)

    def _whole_witness(self, goal: Goal) -> Point | None:
        """Return an integer point that violates the goal, from the mixed-integer solver, checked exactly."""
        box = self.region.box
        if goal.piece is not None:
            step = Fraction(goal.sign * (goal.value + 1))
            box = box.narrowed(goal.piece, step, None) if goal.sign > 0 else box.narrowed(goal.piece, None, step)
        if box.is_empty or self.region.holdings or not len(box.lower) or self.solved >= self.limit:
            return None
        self.solved += self.price
        lower, upper = (np.array(side, dtype=float) for side in zip(*_limits(box), strict=True))
        right = np.array([float(answer) for answer in self.region.answers])
        rules = [LinearConstraint(self.region.matrix, right, right)] if len(right) else []
        costs = np.cos(np.arange(len(lower)) * (1 + self.solved))
        solution = milp(
            costs,
            integrality=np.ones(len(lower), dtype=np.int64),
            bounds=Bounds(lower, upper),
            constraints=rules,
            options={"time_limit": 5.0},
        )
        if solution.x is None:
            return None
        point = tuple(Fraction(round(value)) for value in solution.x)
        violates = goal.piece is None or goal.sign * point[goal.piece] > goal.value
        return point if violates and self.region.fits(point) else None

    def _exactly(self, point: FloatArray, box: Box) -> Point | None:
        """Return the exact point near the floating-point one: at its bounds, the rest solved in fractions."""
        values: list[Fraction | None] = []
        for piece, value in enumerate(point):
            near = [
                bound
                for bound in (box.lower[piece], box.upper[piece])
                if bound is not None and abs(float(bound) - value) <= _scaled(value)
            ]
            values.append(near[0] if near else Fraction(round(value)) if self.region.integral else None)
        solved = _solve(self.region, values, point)
        return solved if solved is not None and self.region.fits(solved) else None


def _solved(costs: FloatArray, rows: Any, right: list[float], limits: list[tuple[float, float]]) -> Any:
    """Solve the linear program with HiGHS; ``rows`` is a sparse matrix, or None for a box alone."""
    return linprog(costs, A_eq=rows, b_eq=None if rows is None else right, bounds=limits, method="highs")


def _solve(region: Region, values: list[Fraction | None], guess: FloatArray) -> Point | None:
    """Solve the equations of the queries, in fractions, for the values that are None; those that stay free take a
    simple fraction near ``guess``.

    None if the given values contradict the equations.
    """
    start, data, columns = region.matrix.indptr, region.matrix.data, region.matrix.indices
    pivots: dict[int, tuple[dict[int, Fraction], Fraction]] = {}
    for row, answer in enumerate(region.answers):
        terms: dict[int, Fraction] = {}
        right = answer
        for k in range(start[row], start[row + 1]):
            fixed_value = values[columns[k]]
            if fixed_value is None:
                terms[int(columns[k])] = Fraction(int(data[k]))
            else:
                right -= int(data[k]) * fixed_value
        for pivot, (others, value) in pivots.items():
            factor = terms.pop(pivot, None)
            if factor:
                right -= factor * value
                for piece, weight in others.items():
                    terms[piece] = terms.get(piece, Fraction(0)) - factor * weight
        terms = {piece: weight for piece, weight in terms.items() if weight}
        if terms:
            pivot = next(iter(terms))
            scale = terms.pop(pivot)
            pivots[pivot] = ({piece: weight / scale for piece, weight in terms.items()}, right / scale)
        elif right:
            return None
    point = [
        Fraction(float(guess[piece])).limit_denominator(1000) if value is None else value
        for piece, value in enumerate(values)
    ]
    for pivot in reversed(pivots):
        others, value = pivots[pivot]
        point[pivot] = value - sum((weight * point[piece] for piece, weight in others.items()), Fraction(0))
    return tuple(point)


def _rounded(duals: FloatArray) -> list[tuple[tuple[int, Fraction], ...]]:
    """Return the dual weights as increasingly fine fractions, no weights first: often the bounds alone prove the goal."""
    candidates: list[tuple[tuple[int, Fraction], ...]] = [()]
    for denominator in _DENOMINATORS:
        rounded = [(row, Fraction(float(weight)).limit_denominator(denominator)) for row, weight in enumerate(duals)]
        candidates.append(tuple((row, weight) for row, weight in rounded if weight))
    return candidates


def _limits(box: Box) -> list[tuple[float, float]]:
    """Return the bounds of every piece as floating-point numbers, infinite where there are none."""
    return [
        (-np.inf if low is None else float(low), np.inf if high is None else float(high))
        for low, high in zip(box.lower, box.upper, strict=True)
    ]


def _scaled(value: float) -> float:
    return _NEAR * max(1.0, abs(float(value)))
