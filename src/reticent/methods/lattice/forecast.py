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
        """Prepare the regression: a node's predictors are the logarithms of its numbers of generalized values, column by column."""
        log_counts = [
            np.log([hierarchy.levels[level].size for level in range(hierarchy.height + 1)])
            for hierarchy in frequencies.hierarchies
        ]
        self._log_counts = log_counts
        self._space = space
        self._log_allowed = float(np.log(allowed + 1))
        self._features: list[list[float]] = []
        self._log_lost: list[float] = []

    @property
    def is_ready(self) -> bool:
        """True if enough nodes were evaluated for a prediction."""
        return len(self._features) >= _ENOUGH

    def learn(self, evaluation: Evaluation) -> None:
        """Add an evaluated node: the logarithms of its numbers of generalized values by column, and of the rows lost."""
        self._features.append(
            [1.0, *(float(table[level]) for table, level in zip(self._log_counts, evaluation.levels, strict=True))]
        )
        self._log_lost.append(float(np.log(evaluation.doomed + 1)))

    def hopeless(self) -> NDArray[np.float64]:
        """Return for every node the estimated probability that it suppresses more rows than allowed."""
        features, log_lost = np.array(self._features), np.array(self._log_lost)
        # Nodes that suppress about as many rows as allowed are the most informative about the border.
        weight = np.exp(-np.abs(log_lost - self._log_allowed))[:, None]
        normal = features.T @ (weight * features) + _RIDGE * np.eye(features.shape[1])
        slopes = np.linalg.solve(normal, features.T @ (weight[:, 0] * log_lost))
        expected = slopes[0] + self._space.added(
            [slope * log_counts for slope, log_counts in zip(slopes[1:], self._log_counts, strict=True)]
        )
        probability: NDArray[np.float64] = np.clip(0.5 + _STEEPNESS * (expected - self._log_allowed), 0.0, 1.0)
        return probability
