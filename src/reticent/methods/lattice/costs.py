"""Cell costs: tables by column, level and part, from which the column-wise objectives are summed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.core import FrequencySet
from reticent.table import BoundHierarchy


@dataclass(frozen=True)
class Costs:
    """Cost tables: ``tables[column][level][part]``, the cost of a suppressed cell, and the conversion of sums to the measure."""

    tables: list[list[NDArray[np.float64]]]
    worst: list[float]
    scale: float
    constant: float = 0.0


def column_masses(frequencies: FrequencySet) -> list[list[NDArray[np.float64]]]:
    """Return the number of rows of each generalized value, by column and level; zeros at levels below the frequency set's own."""
    masses: list[list[NDArray[Any]]] = []
    for hierarchy, start, sizes in zip(
        frequencies.hierarchies, frequencies.levels, frequencies.column_sizes, strict=True
    ):
        masses.append(
            [
                np.zeros(hierarchy.levels[level].size)
                if level < start
                else np.bincount(hierarchy.between(start, level), weights=sizes, minlength=hierarchy.levels[level].size)
                for level in range(hierarchy.height + 1)
            ]
        )
    return masses


def loss_costs(frequencies: FrequencySet) -> Costs:
    """Return the costs of the loss measure: the share of the other leaves that a generalized value covers."""

    def table(hierarchy: BoundHierarchy, level: int) -> NDArray[np.float64]:
        return (hierarchy.cover(level) - 1) / max(hierarchy.size - 1, 1)

    return _costs(frequencies, table)


def spread_costs(frequencies: FrequencySet) -> Costs:
    return _costs(frequencies, spread)


def spread(hierarchy: BoundHierarchy, level: int) -> NDArray[np.float64]:
    """Return the normalized certainty penalty of each generalized value at a level: the width of its range relative to the
    domain's or, if not numeric, its number of leaves relative to all leaves ([Xu2006]).
    """
    cover, parts = hierarchy.cover(level), hierarchy.levels[level].parts
    by_leaves = np.where(cover > 1, cover / hierarchy.size, 0.0)
    if not hierarchy.is_numeric:
        return by_leaves
    numbers = hierarchy.numbers()
    is_known = ~np.isnan(numbers)
    width = float(numbers[is_known].max() - numbers[is_known].min()) if is_known.any() else 0.0
    if width == 0:
        return by_leaves
    low = np.full(len(cover), np.inf)
    high = np.full(len(cover), -np.inf)
    np.minimum.at(low, parts[is_known], numbers[is_known])
    np.maximum.at(high, parts[is_known], numbers[is_known])
    return np.where(cover > 1, (high - low) / width, 0.0)


def _costs(frequencies: FrequencySet, table: Callable[[BoundHierarchy, int], NDArray[np.float64]]) -> Costs:
    tables = [[table(h, level) for level in range(h.height + 1)] for h in frequencies.hierarchies]
    return Costs(tables, [1.0] * len(tables), 1 / frequencies.rows)


def entropy_costs(frequencies: FrequencySet, weights: Sequence[float]) -> Costs:
    """Return the non-uniform entropy costs: log2 of the rows with the generalized value, minus that of the value itself."""
    masses = column_masses(frequencies)
    tables = [[np.log2(np.maximum(mass, 1.0)) for mass in column] for column in masses]
    worst = float(np.log2(frequencies.rows))
    original = [float(m[start] @ t[start]) for m, t, start in zip(masses, tables, frequencies.levels, strict=True)]
    return Costs(tables, [worst] * len(tables), 1.0, -float(np.dot(weights, original)))
