"""The earth mover's distance as what it is: a transport problem, solved as a linear program over any ground distance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog


def earth_movers_distance(here: Sequence[int], there: Sequence[int], ground: NDArray[np.float64]) -> float:
    """The least work that turns the distribution ``here`` into ``there``."""
    size = len(here)
    supply, demand = np.array(here) / sum(here), np.array(there) / sum(there)
    leaving = np.kron(np.eye(size), np.ones(size))
    arriving = np.kron(np.ones(size), np.eye(size))
    solved = linprog(
        ground.ravel(),
        A_eq=np.vstack([leaving, arriving]),
        b_eq=np.concatenate([supply, demand]),
        method="highs",
    )
    assert solved.status == 0, solved.message
    return float(solved.fun)


def equal_ground(size: int) -> NDArray[np.float64]:
    """1 between any two different values."""
    return 1 - np.eye(size)


def ordered_ground(size: int) -> NDArray[np.float64]:
    """Steps between two places, over the longest way."""
    places = np.arange(size)
    return np.abs(places[:, None] - places[None, :]) / max(size - 1, 1)


def hierarchical_ground(paths: Sequence[Sequence[str]]) -> NDArray[np.float64]:
    """The level of the lowest common ancestor over the height; ``paths[v]`` are the labels of value v from leaf to root."""
    height = len(paths[0]) - 1
    size = len(paths)
    ground = np.zeros((size, size))
    for one in range(size):
        for other in range(size):
            ground[one, other] = next(
                level for level in range(height + 1) if paths[one][level] == paths[other][level]
            ) / max(height, 1)
    return ground
