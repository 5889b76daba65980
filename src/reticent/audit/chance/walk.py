"""Hit-and-run sampling of data sets from the prior given linear answers, for any log-concave prior. Source:
[Lovasz2003].

Each step picks a random direction that changes no answer, and a new point on the chord within the support: uniformly
for a uniform prior, by slice sampling otherwise. Chains start at an interior point of a linear program, never at real
data. The mixing time is not certified; users of the result must say so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import null_space, pinv
from scipy.optimize import linprog

from reticent.audit.chance.priors import Prior, Uniform
from reticent.errors import DataError

FloatArray = NDArray[np.float64]

_PROJECT_EVERY = 1000
_SHRINKINGS = 200


@dataclass(frozen=True)
class Walk:
    """Chains over the data with ``matrix @ x = answers`` under ``prior`` for each of n people."""

    prior: Prior
    matrix: FloatArray

    @cached_property
    def directions(self) -> FloatArray:
        """Return an orthonormal basis of the directions that change no answer, one per column."""
        if not len(self.matrix):
            return np.eye(self.matrix.shape[1])
        return np.asarray(null_space(self.matrix))

    @cached_property
    def _inverse(self) -> FloatArray:
        return np.asarray(pinv(self.matrix))

    def start(self, answers: FloatArray) -> FloatArray:
        """Return an interior point: as far from the ends of the support as the answers allow."""
        low, high = self.prior.support
        quartiles = self.prior.quantile(np.array([0.25, 0.5, 0.75]))
        scale, people = float(quartiles[2] - quartiles[0]), self.matrix.shape[1]
        # Variables are the values and one common distance from the ends, at most the scale of the prior.
        costs = np.append(np.zeros(people), -1.0)
        above = np.hstack([-np.eye(people), np.ones((people, 1))])
        below = np.hstack([np.eye(people), np.ones((people, 1))])
        rows = [part for part, end in ((above, low), (below, high)) if np.isfinite(end)]
        ends = [np.full(people, value) for value, end in ((-low, low), (high, high)) if np.isfinite(end)]
        equal = np.hstack([self.matrix, np.zeros((len(self.matrix), 1))])
        solution = linprog(
            costs,
            A_ub=np.vstack(rows) if rows else None,
            b_ub=np.concatenate(ends) if ends else None,
            A_eq=equal if len(equal) else None,
            b_eq=answers if len(equal) else None,
            bounds=[*[(None, None)] * people, (0, scale)],
        )
        if solution.status != 0 or solution.x is None or solution.x[-1] <= 1e-9 * scale:
            raise DataError(
                "The recorded answers leave no room inside the support of the prior: "
                "an answer is at or beyond its end, or the prior does not fit."
            )
        if not rows:
            # An unbounded support has no ends; the point nearest to the medians is central.
            centre = np.full(people, float(quartiles[1]))
            return np.asarray(centre - self._inverse @ (self.matrix @ centre - answers) if len(equal) else centre)
        return np.asarray(solution.x[:-1])

    def run(
        self,
        points: FloatArray,
        steps: int,
        rng: np.random.Generator,
        observe: Callable[[FloatArray], None] | None = None,
    ) -> FloatArray:
        """Move every chain (one per row of ``points``) ``steps`` times; ``observe`` receives the points after each step."""
        basis = self.directions
        if not basis.shape[1]:
            return points
        answers = points @ self.matrix.T
        for step in range(steps):
            moves = rng.standard_normal((len(points), basis.shape[1])) @ basis.T
            moves /= np.linalg.norm(moves, axis=1, keepdims=True)
            points = self._moved(points, moves, rng)
            if step % _PROJECT_EVERY == _PROJECT_EVERY - 1 and len(self.matrix):
                # Rounding slowly drifts away from the answers; this projects the chains back.
                points = points - (points @ self.matrix.T - answers) @ self._inverse.T
            if observe is not None:
                observe(points)
        return points

    def _moved(self, points: FloatArray, moves: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Move every point along its direction to a random one on the chord through the region, by the density of the prior."""
        low, high = self._chord(points, moves)
        if isinstance(self.prior, Uniform):
            lengths = low + (high - low) * rng.random(len(points))
            return points + lengths[:, None] * moves
        return points + self._slice(points, moves, low, high, rng)[:, None] * moves

    def _chord(self, points: FloatArray, moves: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return how far each chain can move in either direction within the support."""
        low, high = self.prior.support
        with np.errstate(divide="ignore", invalid="ignore"):
            to_low, to_high = (low - points) / moves, (high - points) / moves
        forward = np.where(moves > 0, to_high, np.where(moves < 0, to_low, np.inf))
        backward = np.where(moves > 0, to_low, np.where(moves < 0, to_high, -np.inf))
        return np.minimum(backward.max(axis=1), 0.0), np.maximum(forward.min(axis=1), 0.0)

    def _slice(
        self, points: FloatArray, moves: FloatArray, low: FloatArray, high: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        """Return a sample from the prior's density along each chord, by slice sampling."""

        def height(lengths: FloatArray) -> FloatArray:
            """Return the log-density of the prior at these positions along the chords."""
            return np.asarray(self.prior.log_density(points + lengths[:, None] * moves).sum(axis=1))

        level = height(np.zeros(len(points))) + np.log(rng.random(len(points)))
        low, high = self._bracket(height, level, low, -1.0), self._bracket(height, level, high, 1.0)
        lengths = np.zeros(len(points))
        is_pending = np.ones(len(points), dtype=bool)
        for _ in range(_SHRINKINGS):
            proposals = low + (high - low) * rng.random(len(points))
            is_accepted = height(proposals) >= level
            lengths = np.where(is_pending & is_accepted, proposals, lengths)
            is_pending &= ~is_accepted
            if not is_pending.any():
                break
            low = np.where(is_pending & (proposals < 0), proposals, low)
            high = np.where(is_pending & (proposals >= 0), proposals, high)
        return lengths

    def _bracket(
        self, height: Callable[[FloatArray], FloatArray], level: FloatArray, end: FloatArray, side: float
    ) -> FloatArray:
        """Return, for each chain, how far along its direction (``side`` -1 or 1) slice sampling must look: the ``end``
        of the support, or, if that is infinite, a distance at which the density is below the level, found by doubling.
        """
        quartiles = self.prior.quantile(np.array([0.25, 0.75]))
        distance = np.where(np.isfinite(end), end, side * float(quartiles[1] - quartiles[0]))
        while True:
            too_short = ~np.isfinite(end) & (height(np.where(np.isfinite(end), 0.0, distance)) >= level)
            if not too_short.any():
                return distance
            distance = np.where(too_short, 2 * distance, distance)
