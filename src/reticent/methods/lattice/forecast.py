"""Predict how many rows a node will suppress, from the nodes evaluated so far. It only determines the order of evaluation."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reticent.core import FrequencySet
from reticent.methods.lattice.node_evaluation import Evaluation
from reticent.methods.lattice.node_space import NodeSpace

_ENOUGH = 5
_RIDGE = 0.3
_STEEPNESS = 2.0


class Forecast:
    """Suppressed rows grow about as a power of the number of parts of each column, so their logarithm is fitted by a plane.

    The search stays exact for any prediction: nodes are ruled out only by bounds. Mutable: it learns from evaluations.
    """

    def __init__(self, frequencies: FrequencySet, space: NodeSpace, allowed: int) -> None:
        parts = [
            np.log([hierarchy.levels[level].size for level in range(hierarchy.height + 1)])
            for hierarchy in frequencies.hierarchies
        ]
        self._parts = parts
        self._space = space
        self._limit = float(np.log(allowed + 1))
        self._seen: list[list[float]] = []
        self._lost: list[float] = []

    @property
    def is_ready(self) -> bool:
        """True if enough nodes were evaluated for a prediction."""
        return len(self._seen) >= _ENOUGH

    def learn(self, evaluation: Evaluation) -> None:
        """Add an evaluated node."""
        self._seen.append(
            [1.0, *(float(table[level]) for table, level in zip(self._parts, evaluation.levels, strict=True))]
        )
        self._lost.append(float(np.log(evaluation.doomed + 1)))

    def hopeless(self) -> NDArray[np.float64]:
        """Return for every node the estimated probability that it suppresses more rows than allowed."""
        costs_of_parts, log_rows = np.array(self._seen), np.array(self._lost)
        # Nodes that suppress about as many rows as allowed are the most informative about the border.
        weight = np.exp(-np.abs(log_rows - self._limit))[:, None]
        normal = costs_of_parts.T @ (weight * costs_of_parts) + _RIDGE * np.eye(costs_of_parts.shape[1])
        slopes = np.linalg.solve(normal, costs_of_parts.T @ (weight[:, 0] * log_rows))
        expected = slopes[0] + self._space.added([s * t for s, t in zip(slopes[1:], self._parts, strict=True)])
        chance: NDArray[np.float64] = np.clip(0.5 + _STEEPNESS * (expected - self._limit), 0.0, 1.0)
        return chance
