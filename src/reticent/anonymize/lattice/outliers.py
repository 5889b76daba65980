"""One person against the whole lattice: in which nodes would this person's group fail?

Two points fall into the same group of a node exactly when, in every column, the node's level is at least the level at which
the two values meet. So the groups of one point at *all* nodes come from a single histogram of meeting levels, added up along the
lattice. When nothing may be suppressed, a handful of rare people rule out almost every failing node this way, without
evaluating it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reticent.anonymize.lattice.space import Space, accumulate
from reticent.data.frequencies import FrequencySet
from reticent.data.groups import Groups, Histograms
from reticent.data.keys import sum_by
from reticent.definitions.base import Definition

_LARGEST_TABLE = 4_000_000


class Outliers:
    """Judges single points of a frequency set at every node of a lattice."""

    def __init__(self, frequencies: FrequencySet, space: Space, definition: Definition) -> None:
        self._frequencies = frequencies
        self._space = space
        self._definition = definition

    @staticmethod
    def applicable(frequencies: FrequencySet, space: Space, definition: Definition) -> bool:
        """Whether the definition judges groups one by one, and the tables over all nodes stay small."""
        values = frequencies.domain.size if definition.needs_sensitive else 1
        return definition.local and space.size * values <= _LARGEST_TABLE

    def rarest(self) -> int:
        """The point whose values are the rarest, column by column: the likeliest to stand alone."""
        commonness = np.zeros(len(self._frequencies))
        for hierarchy, level, codes in zip(
            self._frequencies.hierarchies, self._frequencies.levels, self._frequencies.codes, strict=True
        ):
            counts = sum_by(codes, self._frequencies.sizes, hierarchy.levels[level].size)
            commonness += np.log(np.maximum(counts, 1))[codes]
        return int(np.argmin(commonness))

    def failing(self, point: int) -> NDArray[np.bool_]:
        """The nodes at which the group of this point fails the definition."""
        frequencies = self._frequencies
        meeting = self._meeting_nodes(point)
        sizes = self._over_lattice(meeting, frequencies.sizes)
        extras = {name: self._over_lattice(meeting, counts) for name, counts in frequencies.extras.items()}
        histograms = self._histograms(meeting) if self._definition.needs_sensitive else _one_value(sizes)
        groups = Groups(sizes, histograms, frequencies.reference, frequencies.domain, extras)
        return self._definition.failing(groups).reshape(self._space.shape)

    def _meeting_nodes(self, point: int) -> NDArray[np.int32]:
        """For every point the flat index of the lowest node at which it joins the given one; the lattice's size if none."""
        frequencies, space = self._frequencies, self._space
        index = np.zeros(len(frequencies), dtype=np.int32)
        apart = np.zeros(len(frequencies), dtype=bool)
        stride = space.size
        for j, hierarchy in enumerate(frequencies.hierarchies):
            low, high = space.floor[j], space.top[j]
            stride //= high - low + 1
            own = frequencies.codes[j][point]
            steps = np.zeros(hierarchy.levels[low].size, dtype=np.int32)
            for level in range(low, high + 1):
                parts = hierarchy.between(low, level)
                steps += parts != parts[own]
            index += (steps * np.int32(stride))[frequencies.codes[j]]
            never = steps > high - low
            if never.any():
                apart |= never[frequencies.codes[j]]
        index[apart] = space.size
        return index

    def _over_lattice(self, meeting: NDArray[np.int32], counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """At every node, the counts of the points that have joined."""
        table = sum_by(meeting, counts, self._space.size + 1)[:-1].reshape(self._space.shape)
        return accumulate(table, table.ndim).ravel()

    def _histograms(self, meeting: NDArray[np.int32]) -> Histograms:
        cells, values, nodes = self._frequencies.histograms, self._frequencies.domain.size, self._space.size
        keys = meeting[cells.owners].astype(np.int64) * values + cells.values
        table = sum_by(keys, cells.counts, (nodes + 1) * values)[: nodes * values]
        accumulate(table.reshape(*self._space.shape, values), len(self._space.shape))
        present = np.flatnonzero(table)
        owners = present // values
        offsets = np.searchsorted(owners, np.arange(nodes + 1))
        return Histograms(offsets, (present - owners * values).astype(np.int32), table[present])


def _one_value(sizes: NDArray[np.int64]) -> Histograms:
    return Histograms(np.arange(len(sizes) + 1), np.zeros(len(sizes), dtype=np.int32), sizes)
