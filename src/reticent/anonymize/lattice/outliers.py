"""One person against the whole lattice: in which nodes would this person's group fail?

Two points fall into the same group of a node exactly when, in every column, the node's level is at least the level at which
the two values meet. So the groups of one point at *all* nodes come from a single histogram of meeting levels, added up along the
lattice. When nothing may be suppressed, a handful of rare people rule out almost every failing node this way, without
evaluating it.
"""

from __future__ import annotations

from math import prod
from typing import cast

import numpy as np
from numpy.typing import NDArray

from reticent.anonymize.lattice.points import Points
from reticent.anonymize.lattice.space import Space
from reticent.data.frequencies import FrequencySet
from reticent.data.groups import Groups, Histograms
from reticent.definitions.base import Definition

_LARGEST_TABLE = 4_000_000
_WIDEST_TABLE = 256


class Outliers:
    """Judges the groups that single points of a frequency set belong to, at every node of the lattice."""

    def __init__(self, frequencies: FrequencySet, space: Space, definition: Definition) -> None:
        self._frequencies = frequencies
        self._space = space
        self._definition = definition
        self._steps: dict[tuple[int, int], NDArray[np.int32]] = {}
        shape = space.shape
        self._strides = [prod(shape[column + 1 :]) for column in range(len(shape))]
        self._open_ended = any(h.levels[-1].size > 1 for h in frequencies.hierarchies)

    @staticmethod
    def applicable(frequencies: FrequencySet, space: Space, definition: Definition) -> bool:
        """Whether the definition judges groups one by one, and the tables over all nodes stay small."""
        values = frequencies.domain.size if definition.needs_sensitive else 1
        return definition.local and space.size * values <= _LARGEST_TABLE

    def rarest(self) -> int:
        """The point whose values are the rarest, column by column: the likeliest to stand alone."""
        frequencies = self._frequencies
        commonness = np.zeros(len(frequencies))
        for codes, counts in zip(frequencies.codes, frequencies.column_sizes, strict=True):
            commonness += np.log(np.maximum(counts, 1)).take(codes)
        return int(np.argmin(np.where(frequencies.sizes > 0, commonness, np.inf)))

    def failing(self, point: int, points: Points) -> NDArray[np.bool_]:
        """The nodes at which the group that a point has become part of fails the definition.

        It is seen from a grouping ``points``: only nodes at or above its levels are meant, the rest of the array says nothing.
        """
        meeting = self._meeting_nodes(point, points)
        sizes = self._over_lattice(meeting, points.sizes)
        extras = {name: self._over_lattice(meeting, counts) for name, counts in points.extras.items()}
        histograms = self._histograms(meeting, points) if self._definition.needs_sensitive else _one_value(sizes)
        groups = Groups(sizes, histograms, self._frequencies.reference, self._frequencies.domain, extras)
        # Where only people of a population have joined so far there is no group that could fail.
        return (self._definition.failing(groups) & (sizes > 0)).reshape(self._space.shape)

    def _meeting_nodes(self, point: int, points: Points) -> NDArray[np.int32]:
        """For every group the flat index of the lowest node at which the point joins it; the lattice's size if none."""
        columns = enumerate(zip(points.levels, self._frequencies.codes, strict=True))
        tables = [self._steps_to(column, level, int(codes[point])) for column, (level, codes) in columns]
        index: NDArray[np.int32] = points.runs.added(tables)
        return np.minimum(index, self._space.size, out=index) if self._open_ended else index

    def _steps_to(self, column: int, level: int, own: int) -> NDArray[np.int32]:
        """For each part of a level how far up the lattice it takes to meet the part of the frequency set ``own``, in flat indices."""
        hierarchy, start = self._frequencies.hierarchies[column], self._frequencies.levels[column]
        here = int(hierarchy.between(start, level)[own])
        if hierarchy.levels[level].size > _WIDEST_TABLE:
            return cast(NDArray[np.int32], self._steps_between(column, level, np.array([here]))[0])
        if (column, level) not in self._steps:
            everyone = np.arange(hierarchy.levels[level].size)
            self._steps[column, level] = self._steps_between(column, level, everyone)
        return cast(NDArray[np.int32], self._steps[column, level][here])

    def _steps_between(self, column: int, level: int, chosen: NDArray[np.int64]) -> NDArray[np.int32]:
        hierarchy, low, high = self._frequencies.hierarchies[column], self._space.floor[column], self._space.top[column]
        steps = np.full((len(chosen), hierarchy.levels[level].size), level - low, dtype=np.int32)
        for coarser in range(level, high + 1):
            parts = hierarchy.between(level, coarser)
            steps += parts[chosen, None] != parts
        return np.where(steps > high - low, np.int32(self._space.size), steps * np.int32(self._strides[column]))

    def _over_lattice(self, meeting: NDArray[np.int32], counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """At every node, the counts of the points that have joined."""
        nodes = self._space.size
        table = np.bincount(meeting, weights=counts, minlength=nodes + 1)[:nodes]
        return self._space.accumulated(table).ravel().astype(np.int64)

    def _histograms(self, meeting: NDArray[np.int32], points: Points) -> Histograms:
        cells, values, nodes = points.histograms, self._frequencies.domain.size, self._space.size
        keys = meeting[cells.owners].astype(np.int64) * values + cells.values
        table = np.bincount(keys, weights=cells.counts, minlength=(nodes + 1) * values)[: nodes * values]
        counts = self._space.accumulated(table).ravel()
        present = np.flatnonzero(counts)
        owners = present // values
        offsets = np.searchsorted(owners, np.arange(nodes + 1))
        return Histograms(offsets, (present - owners * values).astype(np.int32), counts[present].astype(np.int64))


def _one_value(sizes: NDArray[np.int64]) -> Histograms:
    return Histograms(np.arange(len(sizes) + 1), np.zeros(len(sizes), dtype=np.int32), sizes)
