"""A proven lower bound on the loss of every release by groups.

A release by groups publishes, for the records of a group, one label in each quasi column; a label covers the values of all records of its group, and every group satisfies the
definition. Let a definition demand at least ``k`` records per group, and let ``w_c = 1 / (columns * (leaves_c - 1))`` be the weight of column ``c``. A published record of group ``G``
costs ``cost(G) = sum_c w_c * (leaves covered in c - 1)``, a suppressed one costs 1, and the loss is the mean over all records.

*Distance.* For two records let ``delta_c`` be 0 where their values are equal and 1 otherwise; where numbers are published as ranges, the difference of their ranks (1 between a number and
a missing value, which belongs to no range). ``D = sum_c w_c delta_c``.

*Lemma.* In a group of ``s`` records, the sum of ``delta_c`` over all pairs is at most ``floor(s^2 / 4) * (leaves covered in c - 1)``. Proof: order the values. The gap between the
``t``-th and the next of the ``s`` values is counted by ``t (s - t) <= floor(s^2 / 4)`` pairs, and the gaps add up to the width of the range. For sets of values, number the distinct values in any
order: ``delta_c`` is at most the difference of these numbers, whose range is the number of distinct values less one. A missing value adds one leaf and, beside ``a`` numbers, ``a (s - a)``
pairs.

*Box bound.* The group of a record holds ``k`` records and as many different sensitive values as the definition demands, so it costs at least as much as the cheapest labels that cover the record, ``k`` records and these
values; they are found by branch and bound, for one sensitive column at a time. All records of the group are also within distance ``D <= cost(G)`` of the record, hence so are the demanded values. The mean over all records of the largest of these is a lower bound of the loss.

*Pair bound.* By the lemma ``s * cost(G) >= s / floor(s^2 / 4) * (sum of D over the pairs of G)``. Split the cost of a pair between its two records in the ratio of any positive prices
``p_i : p_j``, fixed beforehand. The ``s - 1`` shares of a record are on average at least the mean of its ``k - 1`` smallest shares in the whole table, and ``s (s - 1) / floor(s^2 / 4)`` does not
fall with ``s``. So a record's part of the cost of its group is at least ``y_i = k / floor(k^2 / 4) * (sum of its k - 1 smallest shares)``, and the mean of ``min(y_i, 1)`` is a lower bound
of the loss, suppressed records included. Equal prices are the first choice; prices proportional to ``y`` then charge outliers more for their pairs, which raises the bound.

Where adversaries know several sets of columns, each column is counted for one set, and the bounds of the sets add up. Tables of few records are solved exactly (:mod:`.partition_optimum`), those of
some dozens are also bounded by linear programming (:mod:`.dual_bound`), which finds the best prices of records for groups as they are.
Every sum has terms that are not negative, so that the relative error of floats is known, and the result is rounded down by more than that.

For tables with too many points for all pairs, records are sampled at random and compared with all points; the mean of the table is then bounded from below with a stated confidence by the
empirical Bernstein inequality [Maurer2009]: with values in [0, B], the mean of the table is at least ``mean - sqrt(2 v ln(2/q) / n) - 7 B ln(2/q) / (3 (n - 1))`` with probability ``1 - q``, where ``v``
is the variance of ``n`` samples. ``B`` is taken from a pilot sample; values above it are clipped, which only lowers the bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.base.context import Context
from reticent.core import FrequencySet, leaves_in_order
from reticent.utility import _kernels
from reticent.utility.dual_bound import DemandedValues, dual_certificate, is_affordable
from reticent.utility.partition_optimum import MOST_RECORDS, least_loss

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]
Failing = Callable[[FrequencySet, Ids, Ids, int], NDArray[np.bool_]]

CONFIDENCE = 0.999
"""Confidence level of a bound from sampled records."""
_QUICK = 5_000_000
"""Maximum pairs of points times columns that are compared within a fraction of a second without compiled loops."""
_ARRAYS = 20_000_000
"""Maximum pairs of points times columns for which numpy is as fast as compiled loops including their loading time."""
_WHOLE = 4_000_000_000
"""Maximum pairs of points times columns for an exhaustive comparison; above it records are sampled."""
_DEPTH = 8
"""Leading columns by which points are skipped together."""
_PILOT = 50
"""Points whose comparisons are counted to foresee the work for all."""
_BOXES, _MOST_BOXES, _ALL_BOXES = 20_000, 200_000, 20_000_000
"""Boxes that branch and bound may visit in one search for a record, at least and at most, and in all searches together (one for the
number of records, one for each sensitive column); then the minimum over the open nodes is used."""
_SEARCHED_FOR_VALUES = 100_000_000
"""Maximum pairs of points times columns for a search of boxes with enough sensitive values; above it values are bounded by distances."""
_MOST_BOXED = 50
"""Maximum group size for branch and bound; larger groups are bounded by distances."""
_BLOCK = 1 << 21
_COMPARED_AT_ONCE, _BOXED_AT_ONCE = 1 << 25, 64
"""Pairs of points, and searches for boxes, between two looks at whether the run is to stop."""
_LEAST_SAMPLE = 200


@dataclass(frozen=True)
class GroupDemand:
    """Requirements on the groups in the view of an adversary who knows ``columns`` (by index): the minimum number of ``rows`` and, per sensitive column, of distinct ``values``."""

    columns: tuple[int, ...]
    rows: int
    values: Mapping[str, int]


@dataclass(frozen=True)
class BoundEffort:
    """How much is computed for a lower bound on loss. More effort gives a sharper bound; every bound holds, and the same table always gets the same one.

    ``comparisons`` is the number of columns of pairs of points that may be compared; above it records are sampled. ``sweeps`` is how often prices of records are set. Without ``boxes`` distances alone are used.
    With ``arrays`` small tables are compared without compiled loops, which take a while to load.
    """

    comparisons: int
    sweeps: int
    boxes: bool = False
    arrays: bool = False


QUICK = BoundEffort(_WHOLE, 3, arrays=True)
"""What a screen waits for, where :func:`is_quick` says so."""
REPORTED = BoundEffort(200_000_000, 2)
"""What a report waits for: a second or two of distances."""
THOROUGH = BoundEffort(_WHOLE, 3, boxes=True)
"""What reading ``utility["loss_bound"]`` waits for: seconds to minutes."""


@dataclass(frozen=True)
class LowerBound:
    """A lower bound on the loss of releases by groups. ``confidence`` is 1 for a proof, below 1 where records were ``sampled``; ``exact`` says that some partition attains it."""

    value: float
    confidence: float = 1.0
    sampled: int | None = None
    exact: bool = False


def is_quick(counted: FrequencySet) -> bool:
    """Whether the bound takes a fraction of a second and no compiled loop."""
    return len(counted) ** 2 * max(len(counted.hierarchies), 1) <= _QUICK


def loss_bound(
    counted: FrequencySet,
    demands: Sequence[GroupDemand],
    *,
    ranges: bool = False,
    failing: Failing | None = None,
    effort: BoundEffort = THOROUGH,
    context: Context | None = None,
) -> LowerBound:
    """The best of the lower bounds on the loss of a release by groups that meet the ``demands``; with ``ranges``, of a release that publishes numbers and dates as ranges.

    ``failing`` judges groups of records by the definition itself: with it, tables of few records are solved exactly. ``context`` hears of progress and can stop the computation.
    """
    if not counted.rows or not counted.hierarchies:
        return LowerBound(0.0)
    points = counted.select(counted.sizes > 0)
    if failing is not None and points.rows <= MOST_RECORDS:
        spaces = [LabelSpace.of(points, tuple(range(len(points.hierarchies))), ranges)]
        return LowerBound(_rounded_down(least_loss(points, spaces[0], failing), 0), exact=True)
    size = len(points.hierarchies)
    bounds = [
        _set_bound(points, demand, LabelSpace.of(points, demand.columns, ranges), size, effort, context or Context())
        for demand in _disjoint(demands)
    ]
    confidence = 1 - sum(1 - bound.confidence for bound in bounds)
    sampled = min((bound.sampled for bound in bounds if bound.sampled is not None), default=None)
    return LowerBound(sum(bound.value for bound in bounds), confidence, sampled)


@dataclass(frozen=True)
class LabelSpace:
    """Points encoded for the cost of labels: ``codes`` are ranks if a column is ``spanned`` by ranges (-1: missing), else category codes; ``weights`` is the cost of one more covered leaf."""

    codes: NDArray[np.int32]
    weights: Floats
    spanned: NDArray[np.bool_]

    @classmethod
    def of(cls, points: FrequencySet, columns: Sequence[int], ranges: bool) -> LabelSpace:
        """The encoding of some columns of the points; weights are relative to the number of all columns."""
        encoded, weights, spanned = [], [], []
        for index in columns:
            hierarchy, codes = points.hierarchies[index], points.codes[index].astype(np.int32)
            is_range = ranges and hierarchy.is_numeric and points.levels[index] == 0
            if is_range:
                ranks = np.empty(hierarchy.size, dtype=np.int32)
                ranks[leaves_in_order(hierarchy)] = np.arange(hierarchy.size)
                if hierarchy.null_leaf is not None:
                    ranks[hierarchy.null_leaf] = -1
                codes = ranks[codes]
            encoded.append(codes)
            spanned.append(is_range)
            weights.append(1 / (len(points.hierarchies) * max(hierarchy.size - 1, 1)))
        return cls(np.stack(encoded, axis=1), np.array(weights), np.array(spanned, dtype=bool))

    def differences(self, column: int, chosen: Ids) -> NDArray[Any]:
        """Matrix of chosen points by all points: the number of leaves beyond the first that a label of the column needs to cover both."""
        values = self.codes[:, column]
        chosen_values, all_values = values[chosen][:, None], values[None, :]
        differences: NDArray[Any] = (
            np.abs(chosen_values - all_values) if self.spanned[column] else chosen_values != all_values
        )
        if self.spanned[column] and (values < 0).any():
            differences[(chosen_values < 0) != (all_values < 0)] = 1
        return differences

    def distances(self, chosen: Ids) -> Floats:
        """Matrix of chosen points by all points: the cost of a label combination that covers both."""
        costs = np.zeros((len(chosen), len(self.codes)))
        for column, weight in enumerate(self.weights):
            costs += weight * self.differences(column, chosen)
        return costs

    @cached_property
    def all_distances(self) -> Floats:
        """Distances between all points, cached; for small tables."""
        return self.distances(np.arange(len(self.codes)))


def _disjoint(demands: Sequence[GroupDemand]) -> Iterator[GroupDemand]:
    """The demands with every column assigned to one demand only, those on many columns first. Valid because a demand on groups in some columns also holds in a subset of these columns."""
    binding = [demand for demand in demands if demand.rows > 1]
    unassigned = {column for demand in binding for column in demand.columns}
    for demand in sorted(binding, key=lambda candidate: (-len(candidate.columns), -candidate.rows)):
        assigned = tuple(column for column in demand.columns if column in unassigned)
        unassigned.difference_update(assigned)
        if assigned:
            yield GroupDemand(assigned, demand.rows, demand.values)


def _set_bound(
    points: FrequencySet, demand: GroupDemand, space: LabelSpace, columns: int, effort: BoundEffort, context: Context
) -> LowerBound:
    """The best of the pair bound, the box bound and, for small tables, linear programming, for groups in the view of an adversary who knows some of all ``columns``; from sampled records
    if comparing all would take too long. No record loses more in these columns than their share of all columns (``ceiling``).
    """
    ceiling, work = len(demand.columns) / columns, len(points) ** 2 * len(demand.columns)
    if points.rows < demand.rows:
        return LowerBound(_rounded_down(ceiling, 0), exact=True)
    search = _Nearest(points, demand, space, effort, context, compiled=not effort.arrays or work > _ARRAYS)
    all_points = np.arange(len(points))
    if search.compared > effort.comparisons:
        return _sampled(points, search, ceiling)
    best, prices = 0.0, np.ones(len(points))
    for sweep in range(effort.sweeps):
        if search.compared * (sweep + 1) > effort.comparisons:
            break
        nearby = search.of(all_points, prices)
        best = max(best, _mean(points, np.minimum(nearby.shares, ceiling)))
        if sweep == 0:
            boxes = np.maximum(search.boxes(all_points, nearby.radii), nearby.value_radii)
            best = max(best, _mean(points, np.minimum(boxes, ceiling)))
        prices = np.maximum(nearby.shares, 1e-9)
    needed = [count for count in demand.values.values() if count > 1]
    if is_affordable(points.rows, demand.rows, needed):
        cells = points.histograms
        record = np.repeat(cells.owners, cells.counts) if needed else np.repeat(all_points, points.sizes)
        values = [
            DemandedValues(count, np.repeat(cell_values, cells.counts)) for count, cell_values, _ in search.demanded
        ]
        best = max(best, float(dual_certificate(space, record, demand.rows, values).value))
    return LowerBound(_rounded_down(best, len(points)))


def _mean(points: FrequencySet, by_record: Floats) -> float:
    """The mean over all records of a value given for each point."""
    return float(points.sizes @ by_record) / points.rows


@dataclass(frozen=True)
class _Near:
    """Bounds on the cost of the groups of chosen points: by pairs (``shares``), and, with equal prices, by the distances of the farthest of the required number of
    nearest records (``radii``) and within which the demanded sensitive values occur (``value_radii``).
    """

    shares: Floats
    radii: Floats
    value_radii: Floats


@dataclass(frozen=True)
class SortedPoints:
    """Points sorted by their codes, the costliest column first, so that compiled loops skip points that are alike in what is too far. ``order`` has the points in sorted order,
    ``ranks`` the sorted position of each point, and ``ends[p, c]`` the first position after ``p`` where one of the columns up to ``c`` differs.
    """

    order: Ids
    ranks: Ids
    codes: NDArray[np.int32]
    weights: Floats
    spanned: NDArray[np.bool_]
    ends: NDArray[np.int32]

    @classmethod
    def of(cls, space: LabelSpace) -> SortedPoints:
        """The points of a space, sorted."""
        columns = np.argsort(-space.weights, kind="stable")
        codes = space.codes[:, columns]
        order = np.lexsort(codes.T[::-1])
        codes = np.ascontiguousarray(codes[order])
        count, indices = len(codes), np.arange(len(codes))
        ends = np.empty((count, min(_DEPTH, len(columns))), dtype=np.int32)
        differs = np.zeros(max(count - 1, 0), dtype=bool)
        for column in range(ends.shape[1]):
            differs |= codes[1:, column] != codes[:-1, column]
            borders = np.append(np.flatnonzero(differs) + 1, count)
            ends[:, column] = borders[np.searchsorted(borders, indices, side="right")]
        ranks = np.empty(count, dtype=np.int64)
        ranks[order] = indices
        return cls(order, ranks, codes, space.weights[columns], space.spanned[columns], ends)

    def tops(self, prices: Floats) -> Floats:
        """For each point and leading column the highest of the ``prices`` (of the sorted points) of points that are alike up to this column."""
        highest_prices = np.empty(self.ends.shape)
        for column, ends in enumerate(self.ends.T):
            firsts = np.flatnonzero(np.diff(ends, prepend=-1))
            highest = np.maximum.reduceat(prices, firsts)
            highest_prices[:, column] = np.repeat(highest, np.diff(firsts, append=len(prices)))
        return highest_prices


@dataclass(frozen=True)
class _Nearest:
    """Search for the records nearest to given points (distinct combinations of quasi-identifier values), by numpy or compiled loops."""

    points: FrequencySet
    demand: GroupDemand
    space: LabelSpace
    effort: BoundEffort
    context: Context
    compiled: bool

    @property
    def _factor(self) -> float:
        """``k / floor(k^2 / 4)`` of the pair bound, for groups of at least ``k`` records."""
        return self.demand.rows / (self.demand.rows**2 // 4)

    @cached_property
    def compared(self) -> int:
        """The number of columns of pairs that are compared for all points: all of them for boxes and without compiled loops, otherwise extrapolated from a pilot of some points."""
        count = len(self.points)
        if self.effort.boxes or not self.compiled:
            return count**2 * len(self.space.weights)
        some = np.unique(np.linspace(0, count - 1, min(_PILOT, count)).astype(np.int64))
        return self._compared(some, np.ones(count))[1] * count // len(some)

    def of(self, chosen: Ids, prices: Floats) -> _Near:
        """What is near the chosen points at these prices of all points."""
        if self.compiled:
            return self._compared(chosen, prices)[0]
        others = self.demand.rows - 1
        sums, largest = np.empty(len(chosen)), np.empty(len(chosen))
        for block in self._blocks(chosen):
            sums[block], largest[block] = self._shares(chosen[block], prices, others)
        return _Near(self._factor * sums, 2 * largest, self._value_radii(chosen))

    def _compared(self, chosen: Ids, prices: Floats) -> tuple[_Near, int]:
        """What is near the chosen points, by compiled loops, and the number of columns that were compared."""
        ordered, others = self._sorted, self.demand.rows - 1
        starts, cell_values, needed = self._cells
        if not (prices == 1).all():
            cell_values, needed = cell_values[:0], needed[:0]
        sums, largest, radii = np.empty(len(chosen)), np.empty(len(chosen)), np.empty(len(chosen))
        width, compared = max(_COMPARED_AT_ONCE // len(self.points), 1), 0
        sorted_prices, sizes = prices[ordered.order], self.points.sizes[ordered.order]
        shared = (
            ordered.codes,
            ordered.weights,
            ordered.spanned,
            ordered.ends,
            ordered.tops(sorted_prices),
            sizes,
            sorted_prices,
        )
        for start in range(0, len(chosen), width):
            self.context.step("bounding the loss: nearest records", start, len(chosen))
            block = slice(start, start + width)
            arguments = (*shared, ordered.ranks[chosen[block]], others)
            compared += _kernels.nearest_records(
                *arguments, starts, cell_values, needed, sums[block], largest[block], radii[block]
            )
        if not self._is_diverse:
            radii[:] = np.inf
        return _Near(self._factor * sums, 2 * largest, radii), compared

    @cached_property
    def _sorted(self) -> SortedPoints:
        """The points sorted by their codes, for the compiled loops."""
        return SortedPoints.of(self.space)

    @cached_property
    def _is_diverse(self) -> bool:
        """Whether the table has the demanded number of different values of every sensitive column."""
        return all(len(np.unique(cell_values)) >= needed for needed, cell_values, _ in self.demanded)

    @cached_property
    def _cells(self) -> tuple[Ids, Ids, Ids]:
        """For the sorted points the cells of their histograms (pairs of a point and its sensitive values), as CSR offsets by point, the value of every cell by
        demanded column, and the demanded number of different values of each column.
        """
        demanded = self.demanded if self._is_diverse else []
        cells = self.points.histograms
        owners = self._sorted.ranks[cells.owners]
        order = np.argsort(owners, kind="stable")
        starts = np.searchsorted(owners[order], np.arange(len(self.points) + 1))
        cell_values = np.array([values[order] for _, values, _ in demanded], dtype=np.int64).reshape(
            len(demanded), len(order)
        )
        return starts, cell_values, np.array([needed for needed, _, _ in demanded], dtype=np.int64)

    @cached_property
    def demanded(self) -> list[tuple[int, Ids, int]]:
        """For each sensitive column of which groups need several values: their number, the value of every cell of the histograms, and the size of the column's domain."""
        demanded_columns = []
        for name, needed in self.demand.values.items():
            codes, column = self.points.domain.together([name])
            if needed > 1:
                demanded_columns.append((needed, codes[self.points.histograms.values].astype(np.int64), column.size))
        return demanded_columns

    def boxes(self, chosen: Ids, radii: Floats) -> Floats:
        """For each chosen point a lower bound on the cost of labels that cover it, the demanded number of records and of different sensitive values; at least its radius."""
        bounds = radii.copy()
        if self.effort.boxes and self.compiled and self.demand.rows <= _MOST_BOXED:
            searches = max(len(chosen), 1) * (1 + len(self.demanded))
            effort = min(max(_ALL_BOXES // searches, _BOXES), _MOST_BOXES)
            no_values, cells = np.zeros(len(self.points) + 1, dtype=np.int64), self.points.histograms
            bounds = np.maximum(bounds, self._cheapest(chosen, no_values, no_values[:0], 1, 1, effort))
            order = np.argsort(cells.owners, kind="stable")
            starts = np.searchsorted(cells.owners[order], np.arange(len(self.points) + 1))
            pairs = len(chosen) * len(self.points) * len(self.space.weights)
            for needed, cell_values, size in self.demanded if pairs <= _SEARCHED_FOR_VALUES else ():
                if needed <= _MOST_BOXED:
                    bounds = np.maximum(
                        bounds, self._cheapest(chosen, starts, cell_values[order], needed, size, effort)
                    )
        return bounds

    def _cheapest(self, chosen: Ids, starts: Ids, cell_values: Ids, needed: int, values: int, effort: int) -> Floats:
        """For each chosen point a lower bound on the cost of labels that cover it, the demanded number of records and ``needed`` different sensitive values, which are numbers below ``values``;
        ``starts`` and ``cell_values`` give the values of each point (CSR layout), and ``effort`` limits the search.
        """
        space, bounds = self.space, np.empty(len(chosen))
        for start in range(0, len(chosen), _BOXED_AT_ONCE):
            self.context.step("bounding the loss: cheapest labels", start, len(chosen))
            block = slice(start, start + _BOXED_AT_ONCE)
            arguments = (space.codes, space.weights, space.spanned, self.points.sizes, chosen[block], self.demand.rows)
            _kernels.cheapest_boxes(*arguments, starts, cell_values, needed, values, effort, bounds[block])
        return bounds

    def _value_radii(self, chosen: Ids) -> Floats:
        """For each chosen point the distance within which the demanded number of different sensitive values occurs (the largest over the sensitive columns), by numpy;
        infinite if the table has too few values.
        """
        radii = np.zeros(len(chosen))
        if not self._is_diverse:
            return np.full(len(chosen), np.inf)
        owners = self.points.histograms.owners
        for needed, cell_values, _ in self.demanded:
            column_radii = np.empty(len(chosen))
            order = np.argsort(cell_values, kind="stable")
            firsts = np.flatnonzero(np.diff(cell_values[order], prepend=-1))
            for block in self._blocks(chosen):
                distance_by_value = np.minimum.reduceat(
                    self._distances(chosen[block])[:, owners[order]], firsts, axis=1
                )
                column_radii[block] = np.partition(distance_by_value, needed - 1, axis=1)[:, needed - 1]
            radii = np.maximum(radii, column_radii)
        return radii

    def _blocks(self, chosen: Ids) -> Iterator[slice]:
        """Slices of the chosen points, short enough that their distances to all points are at most ``_BLOCK`` numbers."""
        width = max(_BLOCK // max(len(self.points), 1), 1)
        return (slice(start, start + width) for start in range(0, len(chosen), width))

    def _distances(self, chosen: Ids) -> Floats:
        """Matrix of the distances of chosen points to all points, from the cache if the table is small."""
        is_small = len(self.points) ** 2 <= _BLOCK
        return self.space.all_distances[chosen] if is_small else self.space.distances(chosen)

    def _shares(self, chosen: Ids, prices: Floats, others: int) -> tuple[Floats, Floats]:
        """For each chosen point the sum of its ``others`` smallest shares in the costs of pairs of records, and the largest of these. A pair costs as much as labels that cover both records,
        split in proportion to their ``prices``.
        """
        shares = self._distances(chosen) * (prices[chosen][:, None] / (prices[chosen][:, None] + prices[None, :]))
        row_indices = np.arange(len(chosen))
        shares[row_indices, chosen] = 0.0
        count = min(others + 1, len(prices))
        nearest = np.argpartition(shares, count - 1, axis=1)[:, :count]
        nearest = np.take_along_axis(nearest, np.argsort(np.take_along_axis(shares, nearest, axis=1), axis=1), axis=1)
        sizes = self.points.sizes[nearest] - (nearest == chosen[:, None])
        cumulative_sizes = np.minimum(np.cumsum(sizes, axis=1), others)
        record_counts = np.diff(cumulative_sizes, prepend=0, axis=1)
        costs = np.take_along_axis(shares, nearest, axis=1)
        return (costs * record_counts).sum(axis=1), np.where(record_counts > 0, costs, 0.0).max(axis=1)


def _sampled(points: FrequencySet, search: _Nearest, ceiling: float) -> LowerBound:
    """A bound on the mean loss that holds with the probability :data:`CONFIDENCE` (empirical Bernstein inequality), from sampled records that are compared with all points."""
    count = max(search.effort.comparisons * len(points) // max(search.compared, 1), _LEAST_SAMPLE)
    # This randomness protects no record, so it is seeded: the same table gets the same bound.
    random = np.random.default_rng(0)
    prices, cumulative_sizes = np.ones(len(points)), np.cumsum(points.sizes)

    def sampled_bounds(size: int) -> tuple[Floats, Floats]:
        """Sample records; return their lower bounds on cost by pairs and by boxes."""
        chosen = np.searchsorted(cumulative_sizes, random.integers(0, points.rows, size), side="right").astype(np.int64)
        nearby = search.of(chosen, prices)
        boxes = np.maximum(search.boxes(chosen, nearby.radii), nearby.value_radii)
        return np.minimum(nearby.shares, ceiling), np.minimum(boxes, ceiling)

    pilot = sampled_bounds(count // 4)
    sharper = int(pilot[1].mean() > pilot[0].mean())
    limit = min(3 * float(pilot[sharper].mean()), ceiling)
    values = np.minimum(sampled_bounds(count - count // 4)[sharper], limit)
    doubt, size = math.log(2 / (1 - CONFIDENCE)), len(values)
    bound = values.mean() - math.sqrt(2 * values.var(ddof=1) * doubt / size) - 7 * limit * doubt / (3 * (size - 1))
    return LowerBound(_rounded_down(float(bound), size), CONFIDENCE, size)


def _rounded_down(value: float, terms: int) -> float:
    """The value minus an upper bound on the rounding error of a floating-point sum of ``terms`` non-negative terms."""
    return max(value, 0.0) * (1 - (terms + 4096) * 2.0**-50)
