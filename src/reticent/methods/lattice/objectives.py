"""Objectives in a form for searching: values of nodes, and bounds for many nodes at once.

The measures are those of ``utility``; there they are computed from any release, here from the groups of a node. Tests
check that both agree.

Three facts allow skipping nodes. *Floors*: the objective of a node is never below its value without suppression, which
for the column-wise measures follows from the columns' own histograms. *Penalties*: rows that an absorbing definition
suppresses at a node are suppressed at each of its specializations, where they cost at least as much extra. *Growth*:
without suppression every measure here is monotone along a generalization, so an evaluated node bounds all those above
it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.core import FrequencySet, Groups, NodeLevels
from reticent.errors import PolicyError, did_you_mean
from reticent.methods.lattice.costs import Costs, column_masses, entropy_costs, loss_costs, spread_costs
from reticent.methods.lattice.node_space import NodeSpace
from reticent.methods.lattice.points import Points
from reticent.utility import column_weights

Mask = NDArray[np.bool_]
Rows = NDArray[np.float64] | NDArray[np.int64]
Weights = Mapping[str, float]


@dataclass(frozen=True)
class NodeView:
    """What a callback objective sees of a passing node."""

    levels: Mapping[str, int]
    groups: Groups
    suppressed: int
    rows: int


@dataclass(frozen=True)
class ColumnBounds:
    """A lower bound for the specializations of a node: ``constant`` plus, for each column, the entry of ``tables[column]`` at the specialization's level, which does not fall with the level."""

    constant: float
    tables: tuple[NDArray[np.float64], ...]

    def at(self, levels: NodeLevels) -> float:
        """The bound of one specialization."""
        return self.constant + sum(float(table[level]) for table, level in zip(self.tables, levels, strict=True))


class Objective(ABC):
    """A measure to minimize, prepared for one frequency set.

    ``grows``: without suppression it never decreases along a generalization. ``sees_suppression``: suppressing rows
    changes it. ``knows_floors``: the bounds before any evaluation differ between nodes.
    """

    name: str
    grows: bool = True
    sees_suppression: bool = True
    knows_floors: bool = True

    @property
    def bounds_generalizations(self) -> bool:
        """True if an evaluated node says more about its generalizations than the floors do."""
        return type(self).growth is not Objective.growth

    @abstractmethod
    def floors(self, space: NodeSpace) -> NDArray[np.float64]:
        """Return a lower bound for every node, known before any evaluation."""

    @abstractmethod
    def value(self, points: Points, suppressed: Mask, penalty: float | None = None) -> float:
        """Return the objective of a node if the groups under ``suppressed`` are suppressed.

        ``penalty`` is their penalty, if already known.
        """

    def penalty(self, points: Points, doomed: Rows) -> float:
        """Return the minimum increase over the floor of every specialization if this many rows of each group are lost there."""
        return 0.0

    def column_bounds(self, points: Points, doomed: Rows) -> ColumnBounds | None:
        """Return bounds of all specializations of a node as a sum over columns, if this many rows of each group are lost there; None if the measure is no such sum."""
        return None

    def growth(self, points: Points, suppressed: Mask | None) -> float | None:
        """Return a bound for all generalizations of an evaluated node, if floors do not give it already.

        ``suppressed`` are its failing groups if the definition is absorbing: all other groups then stay published
        above.
        """
        return None


class Columnwise(Objective):
    """A weighted sum over columns of a cost per cell; a suppressed cell has the maximum cost."""

    def __init__(self, name: str, frequencies: FrequencySet, costs: Costs, weights: Sequence[float]) -> None:
        """Prepare the cost of every column and level without suppression, ``sums[column][level]``"""
        self.name = name
        self._costs = costs
        self._weights = weights
        self._frequencies = frequencies
        masses = column_masses(frequencies)
        self.sums = [
            np.array([float(masses[j][level] @ table) for level, table in enumerate(tables)])
            for j, tables in enumerate(costs.tables)
        ]

    def floors(self, space: NodeSpace) -> NDArray[np.float64]:
        tables = [weight * table for weight, table in zip(self._weights, self.sums, strict=True)]
        return space.added(tables) * self._costs.scale + self._costs.constant

    def value(self, points: Points, suppressed: Mask, penalty: float | None = None) -> float:
        """Return the weighted cost of all cells if the groups under ``suppressed`` are suppressed; ``penalty`` is their extra cost, if already known."""
        floor = sum(weight * table[level] for weight, table, level in self._chosen(points.levels))
        if penalty is None:
            penalty = self.penalty(points, np.where(suppressed, points.sizes, 0))
        return float(floor) * self._costs.scale + self._costs.constant + penalty

    def penalty(self, points: Points, doomed: Rows) -> float:
        """Return by how much the cost grows at least if the ``doomed`` rows of every group are suppressed."""
        chosen = np.flatnonzero(doomed)
        if len(chosen) == 0:
            return 0.0
        extra = [
            weight * (worst - tables[level])
            for weight, worst, tables, level in zip(
                self._weights, self._costs.worst, self._costs.tables, points.levels, strict=True
            )
        ]
        return float(doomed[chosen] @ points.runs.added(extra, chosen)) * self._costs.scale

    def column_bounds(self, points: Points, doomed: Rows) -> ColumnBounds | None:
        """Return a lower bound for every specialization as a sum over columns; ``doomed`` rows of each group are suppressed there.

        A group that is suppressed entirely costs the maximum in each column, whatever the level. For a group suppressed in
        part, only the extra cost at this node is added, which is at most that at a specialization.
        """
        entirely = (doomed > 0) & (doomed >= points.sizes)
        rows = np.flatnonzero(entirely.take(points.group_of_point))
        sizes = self._frequencies.sizes.take(rows).astype(np.float64)
        tables = []
        for weight, sums, extras, codes in zip(
            self._weights, self.sums, self._extras, self._frequencies.codes, strict=True
        ):
            lost = np.bincount(codes.take(rows), weights=sizes, minlength=extras.shape[1])
            tables.append((sums + extras @ lost) * (weight * self._costs.scale))
        partly = self.penalty(points, np.where(entirely, 0, doomed))
        return ColumnBounds(self._costs.constant + partly, tuple(tables))

    @cached_property
    def _extras(self) -> list[NDArray[np.float64]]:
        """For each column, how much more a suppressed cell costs than a published one: by level (zero below the frequency
        set's own) and by value at the frequency set's level.
        """
        extras_by_column = []
        for j, (hierarchy, start) in enumerate(
            zip(self._frequencies.hierarchies, self._frequencies.levels, strict=True)
        ):
            costs = self._costs.tables[j]
            extras = np.zeros((len(costs), hierarchy.levels[start].size))
            for level in range(start, len(costs)):
                extras[level] = self._costs.worst[j] - costs[level].take(hierarchy.between(start, level))
            extras_by_column.append(extras)
        return extras_by_column

    def _chosen(self, levels: NodeLevels) -> zip[tuple[float, NDArray[np.float64], int]]:
        return zip(self._weights, self.sums, levels, strict=True)


class Geometric(Columnwise):
    """The geometric mean of the columns' losses: ``(prod(x_j + 1)) ^ (1 / columns) - 1``, with exponents by weight."""

    def floors(self, space: NodeSpace) -> NDArray[np.float64]:
        """Return the geometric mean of the losses of every node without suppression."""
        tables: list[NDArray[Any]] = [
            weight * np.log1p(table * self._costs.scale) for weight, table in zip(self._weights, self.sums, strict=True)
        ]
        return np.expm1(space.added(tables))

    def value(self, points: Points, suppressed: Mask, penalty: float | None = None) -> float:
        """Return the geometric mean of the losses if the groups under ``suppressed`` are suppressed."""
        extra = self._extra(points, np.where(suppressed, points.sizes, 0))
        chosen = np.array([table[level] for _, table, level in self._chosen(points.levels)])
        return float(np.expm1(np.dot(self._weights, np.log1p((chosen + extra) * self._costs.scale))))

    def penalty(self, points: Points, doomed: Rows) -> float:
        return 0.0

    def column_bounds(self, points: Points, doomed: Rows) -> ColumnBounds | None:
        return None

    def _extra(self, points: Points, lost: Rows) -> NDArray[np.float64]:
        """Return the extra cost of suppressing this many rows of each group instead of publishing them, column by column."""
        extra = np.zeros(len(points.codes))
        chosen = np.flatnonzero(lost)
        if len(chosen):
            sizes = lost[chosen]
            for j, level in enumerate(points.levels):
                cost = self._costs.tables[j][level].take(points.codes[j].take(chosen))
                extra[j] = float(sizes @ (self._costs.worst[j] - cost))
        return extra


class Height(Objective):
    """The weighted sum of the levels."""

    name = "height"
    sees_suppression = False

    def __init__(self, weights: Sequence[float]) -> None:
        self._weights = weights

    def floors(self, space: NodeSpace) -> NDArray[np.float64]:
        """Return the weighted sum of the levels of every node."""
        return space.added(
            [weight * np.arange(high + 1) for weight, high in zip(self._weights, space.top, strict=True)]
        )

    def value(self, points: Points, suppressed: Mask, penalty: float | None = None) -> float:
        return float(np.dot(self._weights, points.levels))


class Discernibility(Objective):
    """The sum of squared sizes of kept groups, plus the number of all rows for each suppressed one ([Bayardo2005])."""

    name = "discernibility"
    knows_floors = False

    def __init__(self, rows: int, least: int) -> None:
        self._rows, self._least = rows, least

    def floors(self, space: NodeSpace) -> NDArray[np.float64]:
        return np.full(space.shape, float(self._rows))

    def penalty(self, points: Points, doomed: Rows) -> float:
        """Return the minimum increase over the floor of one per row: a suppressed row costs the number of all rows, any other
        at least the minimum group size.
        """
        lost = float(doomed.sum())
        return (self._rows - 1) * lost + (self._least - 1) * (self._rows - lost)

    def value(self, points: Points, suppressed: Mask, penalty: float | None = None) -> float:
        published_sizes = points.sizes[~suppressed].astype(np.float64)
        return float(published_sizes @ published_sizes) + float(self._rows) * float(points.sizes[suppressed].sum())

    def growth(self, points: Points, suppressed: Mask | None) -> float:
        """Return a lower bound of the cost of every generalization: merging groups adds to the sum of their squared sizes, and
        every row that is suppressed here is suppressed or in a group of at least the minimum size there.
        """
        sizes = points.sizes.astype(np.float64)
        squared_sizes = float(sizes @ sizes)
        if suppressed is None:
            return squared_sizes
        published_sizes = sizes[~suppressed]
        return max(
            squared_sizes, float(published_sizes @ published_sizes) + self._least * float(sizes[suppressed].sum())
        )


class AverageGroupSize(Objective):
    """Rows divided by groups; suppressed rows together are one more group."""

    name = "average_group_size"
    knows_floors = False

    def __init__(self, rows: int, least: int) -> None:
        self._rows, self._least = rows, least

    def floors(self, space: NodeSpace) -> NDArray[np.float64]:
        return np.zeros(space.shape)

    def penalty(self, points: Points, doomed: Rows) -> float:
        """Return the average size if all rows but the ``doomed`` ones form as many groups as possible."""
        published_rows = self._rows - int(doomed.sum())
        return self._rows / (published_rows // self._least + 1)

    def value(self, points: Points, suppressed: Mask, penalty: float | None = None) -> float:
        return self._rows / (int((~suppressed).sum()) + bool(points.sizes[suppressed].any()))

    def growth(self, points: Points, suppressed: Mask | None) -> float:
        """Return a lower bound of the cost of every generalization, which has no more groups."""
        # A generalization has no more groups; suppressed rows count as one group, but only if one was lost.
        if suppressed is None:
            return self._rows / len(points)
        regained = int(points.sizes[suppressed].sum()) // self._least
        return self._rows / min(len(points), int((~suppressed).sum()) + regained + bool(suppressed.any()))


class Divergence(Objective):
    """KL divergence between the table and the release as distributions over quasi and sensitive columns ([Kifer2006]).

    Suppressed rows form one group that covers the whole domain. Merging groups never brings the release closer (log-sum
    inequality), so the value without suppression bounds all generalizations.
    """

    name = "kl"
    knows_floors = False

    def __init__(self, frequencies: FrequencySet) -> None:
        """Prepare the negative entropy of the table (the sum of p log p over its distinct rows), and logarithms of the numbers of leaves: under every generalized value, and of the whole domain."""
        self._frequencies = frequencies
        rows = frequencies.rows
        shares = frequencies.histograms.counts / rows
        self._negative_entropy = float(shares @ np.log(shares))
        self._log_covers = [
            [np.log(hierarchy.cover(level).astype(np.float64)) for level in range(hierarchy.height + 1)]
            for hierarchy in frequencies.hierarchies
        ]
        self._log_domain = sum(float(np.log(hierarchy.size)) for hierarchy in frequencies.hierarchies)

    def floors(self, space: NodeSpace) -> NDArray[np.float64]:
        return np.full(space.shape, -1e-9)

    def value(self, points: Points, suppressed: Mask, penalty: float | None = None) -> float:
        """Return the divergence of the published groups, with all suppressed rows as one group that covers the whole domain."""
        rows = self._frequencies.rows
        cells = points.histograms
        is_published = ~suppressed[cells.owners]
        volumes = np.zeros(len(points))
        for tables, level, codes in zip(self._log_covers, points.levels, points.codes, strict=True):
            volumes += tables[level][codes]
        shares = cells.counts[is_published] / rows
        total = float(shares @ (np.log(shares) - volumes[cells.owners[is_published]]))
        suppressed_shares = np.bincount(cells.values[~is_published], weights=cells.counts[~is_published]) / rows
        suppressed_shares = suppressed_shares[suppressed_shares > 0]
        total += float(suppressed_shares @ (np.log(suppressed_shares) - self._log_domain))
        return self._negative_entropy - total

    def growth(self, points: Points, suppressed: Mask | None) -> float:
        # The margin covers rounding: equal divergences must not rule each other out.
        return self.value(points, np.zeros(len(points), dtype=bool)) - 1e-9


class Callback(Objective):
    """A user's function: nothing is known about it, so every passing node is evaluated."""

    name = "callback"
    grows = False

    def __init__(self, function: Callable[[NodeView], float], frequencies: FrequencySet) -> None:
        self._function = function
        self._columns = [hierarchy.column for hierarchy in frequencies.hierarchies]
        self._rows = frequencies.rows

    def floors(self, space: NodeSpace) -> NDArray[np.float64]:
        return np.full(space.shape, -np.inf)

    def value(self, points: Points, suppressed: Mask, penalty: float | None = None) -> float:
        """Return the result of the user's function for a node whose groups under ``suppressed`` are suppressed."""
        levels = dict(zip(self._columns, points.levels, strict=True))
        published = points.groups().select(~suppressed)
        return float(self._function(NodeView(levels, published, int(points.sizes[suppressed].sum()), self._rows)))


OBJECTIVES = (
    "loss",
    "loss_geometric",
    "ncp",
    "non_uniform_entropy",
    "discernibility",
    "average_group_size",
    "kl",
    "height",
)


def objective_for(
    objective: str | Callable[[NodeView], float],
    frequencies: FrequencySet,
    weights: Weights | None = None,
    least_rows: int = 1,
) -> Objective:
    """Return the named objective for a frequency set; attribute weights apply to the column-wise ones and to height.

    ``least_rows`` is a lower bound of the size of every passing group; it only sharpens bounds.
    """
    if callable(objective):
        return Callback(objective, frequencies)
    absolute_weights = _weights(frequencies, weights)
    shares = [weight / sum(absolute_weights) for weight in absolute_weights]
    rows = frequencies.rows
    match objective:
        case "loss":
            return Columnwise("loss", frequencies, loss_costs(frequencies), shares)
        case "loss_geometric":
            return Geometric("loss_geometric", frequencies, loss_costs(frequencies), shares)
        case "ncp":
            return Columnwise("ncp", frequencies, spread_costs(frequencies), shares)
        case "non_uniform_entropy":
            return Columnwise(
                "non_uniform_entropy", frequencies, entropy_costs(frequencies, absolute_weights), absolute_weights
            )
        case "discernibility":
            return Discernibility(rows, least_rows)
        case "average_group_size":
            return AverageGroupSize(rows, least_rows)
        case "kl":
            return Divergence(frequencies)
        case "height":
            return Height(absolute_weights)
    raise PolicyError(
        f"There is no objective {objective!r}.{did_you_mean(objective, OBJECTIVES)} Choose one of {', '.join(OBJECTIVES)}, or pass a function.",
        setting=("objective",),
        value=objective,
    )


def _weights(frequencies: FrequencySet, weights: Weights | None) -> list[float]:
    """Return the weight of each column, in the order of the frequency set."""
    columns = [hierarchy.column for hierarchy in frequencies.hierarchies]
    return [float(weight) for weight in column_weights(columns, weights)]


def describe(objective: str | Callable[[Any], float]) -> str:
    """The objective's name for manifests and reports."""
    return objective if isinstance(objective, str) else f"callback {getattr(objective, '__name__', 'function')}"
