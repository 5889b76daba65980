"""One person against the whole lattice: in which nodes would this person's group fail?

Two points fall into the same group of a node exactly when, in every column, the node's level is at least the level at which
the two values meet. So the groups of one point at *all* nodes come from a single histogram of meeting levels, added up along the
lattice. When nothing may be suppressed, a handful of rare people rule out almost every failing node this way, without
evaluating it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from reticent.anonymize.lattice.points import Points
from reticent.anonymize.lattice.space import Space, accumulate
from reticent.data.frequencies import FrequencySet
from reticent.data.groups import Groups, Histograms
from reticent.data.hierarchy import BoundHierarchy, Codes
from reticent.data.keys import sum_by
from reticent.definitions.base import Definition

_LARGEST_TABLE = 4_000_000
_WIDEST_TABLE = 256

Tables = dict[tuple[str, int], NDArray[np.int32]]


class Outliers:
    """Judges single groups of a fine grouping at every node of the lattice above it.

    ``tables`` remembers where parts of a column meet, from one of these to the next.
    """

    def __init__(self, points: Points, space: Space, definition: Definition, tables: Tables | None = None) -> None:
        self.points = points
        self._space = space
        self._definition = definition
        self._tables = tables if tables is not None else {}

    @staticmethod
    def applicable(frequencies: FrequencySet, space: Space, definition: Definition) -> bool:
        """Whether the definition judges groups one by one, and the tables over all nodes stay small."""
        values = frequencies.domain.size if definition.needs_sensitive else 1
        return definition.local and space.size * values <= _LARGEST_TABLE

    def rarest(self) -> int:
        """The group whose values are the rarest, column by column: the likeliest to stand alone."""
        commonness = np.zeros(len(self.points))
        for hierarchy, level, codes in self._columns():
            counts = sum_by(codes, self.points.sizes, hierarchy.levels[level].size)
            commonness += np.log(np.maximum(counts, 1))[codes]
        return int(np.argmin(np.where(self.points.sizes > 0, commonness, np.inf)))

    def failing(self, group: int) -> NDArray[np.bool_]:
        """The nodes at which the group that this one has become part of fails the definition.

        Only nodes at or above the points' own levels are meant; the rest of the array says nothing.
        """
        points = self.points
        meeting = self._meeting_nodes(group)
        sizes = self._over_lattice(meeting, points.sizes)
        extras = {name: self._over_lattice(meeting, counts) for name, counts in points.extras.items()}
        histograms = self._histograms(meeting) if self._definition.needs_sensitive else _one_value(sizes)
        groups = Groups(sizes, histograms, points.frequencies.reference, points.frequencies.domain, extras)
        # Where only people of a population have joined so far there is no group that could fail.
        return (self._definition.failing(groups) & (sizes > 0)).reshape(self._space.shape)

    def _columns(self) -> Iterator[tuple[BoundHierarchy, int, Codes]]:
        return zip(self.points.frequencies.hierarchies, self.points.levels, self.points.codes, strict=True)

    def _meeting_nodes(self, group: int) -> NDArray[np.int32]:
        """For every group the flat index of the lowest node at which it joins the given one; the lattice's size if none."""
        space = self._space
        index: NDArray[np.int32] | None = None
        apart: NDArray[np.bool_] | None = None
        stride = space.size
        for j, (hierarchy, own_level, codes) in enumerate(self._columns()):
            low, high = space.floor[j], space.top[j]
            stride //= high - low + 1
            steps = self._steps(hierarchy, own_level, high, int(codes[group]))
            here = ((steps + np.int32(own_level - low)) * np.int32(stride)).take(codes)
            index = here if index is None else np.add(index, here, out=index)
            never = steps > high - own_level
            if hierarchy.levels[high].size > 1 and never.any():
                apart = never.take(codes) if apart is None else apart | never.take(codes)
        assert index is not None
        if apart is not None:
            index[apart] = space.size
        return index

    def _steps(self, hierarchy: BoundHierarchy, low: int, high: int, own: int) -> NDArray[np.int32]:
        """For each part of level ``low`` how many steps up it takes to meet the part ``own``; one more than there are, if never."""
        key = (hierarchy.column, low)
        steps: NDArray[np.int32]
        if hierarchy.levels[low].size > _WIDEST_TABLE:
            steps = _steps_between(hierarchy, low, high, np.array([own]))[0]
            return steps
        if key not in self._tables:
            self._tables[key] = _steps_between(hierarchy, low, high, np.arange(hierarchy.levels[low].size))
        steps = self._tables[key][own]
        return steps

    def _over_lattice(self, meeting: NDArray[np.int32], counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """At every node, the counts of the points that have joined."""
        table = sum_by(meeting, counts, self._space.size + 1)[:-1].reshape(self._space.shape)
        return accumulate(table, table.ndim).ravel()

    def _histograms(self, meeting: NDArray[np.int32]) -> Histograms:
        cells, values, nodes = self.points.histograms, self.points.frequencies.domain.size, self._space.size
        keys = meeting[cells.owners].astype(np.int64) * values + cells.values
        table = sum_by(keys, cells.counts, (nodes + 1) * values)[: nodes * values]
        table = accumulate(table.reshape(*self._space.shape, values), len(self._space.shape)).ravel()
        present = np.flatnonzero(table)
        owners = present // values
        offsets = np.searchsorted(owners, np.arange(nodes + 1))
        return Histograms(offsets, (present - owners * values).astype(np.int32), table[present])


def _steps_between(hierarchy: BoundHierarchy, low: int, high: int, chosen: NDArray[np.int64]) -> NDArray[np.int32]:
    steps = np.zeros((len(chosen), hierarchy.levels[low].size), dtype=np.int32)
    for level in range(low, high + 1):
        parts = hierarchy.between(low, level)
        steps += parts[chosen, None] != parts
    return steps


def _one_value(sizes: NDArray[np.int64]) -> Histograms:
    return Histograms(np.arange(len(sizes) + 1), np.zeros(len(sizes), dtype=np.int32), sizes)
