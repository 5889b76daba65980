"""One record against the whole lattice: the nodes at which its group fails.

Two points are in the same group of a node exactly if, in every column, the node's level is at least the level at which
the two values meet. So the groups of one point at *all* nodes follow from a single histogram of meeting levels,
accumulated along the lattice. If nothing may be suppressed, a few rare records rule out almost every failing node this
way, without evaluating it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.core import FrequencySet, Groups, Histograms
from reticent.definitions import GroupDefinition
from reticent.methods.lattice.node_space import NodeSpace
from reticent.methods.lattice.points import Points

_LARGEST_TABLE = 4_000_000
_WIDEST_TABLE = 256
_SINGLE_PRECISION = 2**24


class Outliers:
    """Judges the groups of single points of a frequency set at every node of the lattice.

    ``points`` are the groups of the lattice's finest node.
    """

    def __init__(self, points: Points, space: NodeSpace, definition: GroupDefinition) -> None:
        """Prepare for every column how far two values of the finest node must be generalized until they are equal."""
        self._points = points
        self._frequencies = points.frequencies
        self._space = space
        self._definition = definition
        self._open_ended = any(h.levels[-1].size > 1 for h in self._frequencies.hierarchies)
        self._ways = [Way.of(self._frequencies, space, column) for column in range(len(space.floor))]

    @staticmethod
    def applicable(frequencies: FrequencySet, space: NodeSpace, definition: GroupDefinition) -> bool:
        """True if the definition judges groups one by one, rows add up to people, and the tables over all nodes stay small."""
        values = frequencies.domain.size if definition.needs_sensitive else 1
        return definition.local and not frequencies.owners and space.size * values <= _LARGEST_TABLE

    def rarest(self) -> int:
        """Return a point of the group whose values are the rarest, column by column: the likeliest to be unique."""
        columns = zip(self._frequencies.column_sizes, self._ways, strict=True)
        sizes = [
            np.bincount(way.here, weights=sizes_of_column, minlength=way.parts) for sizes_of_column, way in columns
        ]
        commonness = self._points.runs.added([np.log(np.maximum(rows, 1)) for rows in sizes])
        return self._points.point_in(int(np.argmin(np.where(self._points.sizes > 0, commonness, np.inf))))

    def failing(self, chosen: Sequence[int]) -> NDArray[np.bool_]:
        """Mask the nodes at which the group of one of the chosen points fails the definition."""
        points = self._points
        meetings = [self._meeting_nodes(point) for point in chosen]
        sizes = self._over_lattice(meetings, points.weights)
        extras = {name: self._over_lattice(meetings, counts) for name, counts in points.extras.items()}
        histograms = self._histograms(meetings) if self._definition.needs_sensitive else Histograms.of_one_value(sizes)
        groups = Groups(sizes, histograms, self._frequencies.reference, self._frequencies.domain, extras)
        failing = self._definition.failing(groups)
        if "population" in extras:
            # If only people of a population have joined so far, there is no group that could fail.
            failing = failing & (sizes > 0)
        return failing.reshape(len(chosen), -1).any(axis=0).reshape(self._space.shape)

    def _meeting_nodes(self, point: int) -> NDArray[np.intp]:
        """Return for every group the flat index of the lowest node at which the point joins it; the lattice's size if none."""
        steps = [way.steps_to(codes[point]) for way, codes in zip(self._ways, self._frequencies.codes, strict=True)]
        index: NDArray[np.intp] = self._points.runs.added(steps)
        return np.minimum(index, self._space.size, out=index) if self._open_ended else index

    def _over_lattice(self, meetings: Sequence[NDArray[np.intp]], counts: NDArray[Any]) -> NDArray[np.int64]:
        """Return the counts of the points that have joined each of the chosen ones, in order, at every node."""
        nodes = self._space.size
        tables = [np.bincount(meeting, weights=counts, minlength=nodes + 1)[:nodes] for meeting in meetings]
        exact = np.float32 if counts.sum() < _SINGLE_PRECISION else np.float64
        return self._space.accumulated(np.stack(tables, axis=1, dtype=exact)).ravel().astype(np.int64)

    def _histograms(self, meetings: Sequence[NDArray[np.intp]]) -> Histograms:
        """Return the histograms of the groups that the points belong to, at every node, from the flat index of the node at which each group joins (``meetings``)."""
        cells, values, nodes = self._points.histograms, self._frequencies.domain.size, self._space.size
        tables = []
        for meeting in meetings:
            keys = meeting[cells.owners] * values + cells.values
            table = np.bincount(keys, weights=cells.counts, minlength=(nodes + 1) * values)
            tables.append(table[: nodes * values].reshape(nodes, values))
        counts = self._space.accumulated(np.concatenate(tables, axis=1))
        counts = counts.reshape(-1, values, nodes).transpose(0, 2, 1).ravel()
        present = np.flatnonzero(counts != 0)
        owners = present // values
        offsets = np.searchsorted(owners, np.arange(nodes * len(meetings) + 1))
        return Histograms(offsets, (present - owners * values).astype(np.int32), counts[present].astype(np.int64))


@dataclass(frozen=True)
class Way:
    """Meeting levels of one column, in flat indexes of the lattice: how far up the parts of the lattice's finest level meet.

    ``here`` maps the parts of the frequency set to those of the finest level. ``table`` has a row for each of these; a
    wide column has none, and its rows are computed on demand.
    """

    here: NDArray[np.int32]
    parts: int
    steps: Callable[[NDArray[np.int64]], NDArray[np.intp]]
    table: NDArray[np.intp] | None

    @classmethod
    def of(cls, frequencies: FrequencySet, space: NodeSpace, column: int) -> Way:
        """Return for a column how many levels two values of its finest level must be generalized until they are equal, for all pairs."""
        hierarchy, low, high = frequencies.hierarchies[column], space.floor[column], space.top[column]
        stride, parts = prod(space.shape[column + 1 :]), hierarchy.levels[low].size
        levels = np.stack([hierarchy.between(low, level) for level in range(low, high + 1)])

        def steps(chosen: NDArray[np.int64]) -> NDArray[np.intp]:
            """Return the steps from each chosen value (row) to every other one (column), in flat indexes of the lattice."""
            steps_apart = (levels[:, chosen, None] != levels[:, None]).sum(axis=0)
            return np.where(steps_apart > high - low, space.size, steps_apart * stride)

        part_of = hierarchy.between(frequencies.levels[column], low)
        return cls(part_of, parts, steps, steps(np.arange(parts)) if parts <= _WIDEST_TABLE else None)

    def steps_to(self, part: int) -> NDArray[np.intp]:
        """Return for every value of the finest level the distance, in flat indexes of the lattice, to the node at which it equals
        the value that contains the frequency set's value ``part``.
        """
        start = self.here[part]
        row: NDArray[np.intp] = self.steps(np.array([start]))[0] if self.table is None else self.table[start]
        return row
