"""Column splits: every column is recoded separately, for adversaries who know any subset of limited size of the columns.

Each column starts with one label for all units. A split divides a label at a value: units get the left label, the right label, or keep the old one, so that for every set of columns that an adversary knows
all label combinations are empty or pass. Splits are partial: units that would be nearly unique on their side keep the old label, which is what makes splits possible.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import heappop, heappush
from itertools import count
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from reticent.base.context import Context
from reticent.base.packing import sum_by
from reticent.base.ragged import starts_of
from reticent.core import FrequencySet, Groups, Histograms
from reticent.definitions import AnyColumns, GroupDefinition, KAnonymity, all_of, count_largest_sets, largest_sets
from reticent.methods.grouping import CellStyle, Ids, Stage, judged_sets
from reticent.table import Table

Weigh = Callable[[float, float], float]
"""Score of a split from the loss that it saves and the share of its smaller half; splits are tried in this order."""

ORDERS: tuple[Weigh, ...] = (
    lambda gain, balance: gain * sqrt(balance),
    lambda gain, balance: gain * balance,
    lambda gain, balance: gain,
)
_QUANTILES = np.arange(1, 6) / 6
_LEAST_MOVED = 0.05
_MOST_VISITS = 10**9
_MOST_SETS = 100_000
_JUDGED_VISITS = 30
"""Time to judge a label by a definition, relative to counting it."""


@dataclass(frozen=True)
class ColumnLabels:
    """The label of every unit in every column, as category codes, and the loss: the share of leaves that labels cover, summed over rows and columns."""

    labels: Ids
    loss: float

    @property
    def parts(self) -> list[tuple[tuple[int, ...], Ids]]:
        """Every column as a set of its own, with the label of every unit."""
        return [((column,), labels) for column, labels in enumerate(self.labels)]


@dataclass(frozen=True)
class _SetsBeside:
    """Sets of columns that an adversary knows besides the split one: set ``s`` is ``columns[starts[s]:starts[s + 1]]``, and its label combinations need ``least[s]`` people.

    ``demands`` are further definitions that label combinations must satisfy, each with its sets.
    """

    starts: Ids
    columns: Ids
    least: Ids
    demands: Sequence[tuple[GroupDefinition, _SetsBeside]] = ()

    @classmethod
    def of(cls, sets: Mapping[tuple[int, ...], KnownSet]) -> _SetsBeside:
        """The sets of known columns, sorted so that sets with common first columns are consecutive; those with requirements beyond
        a number of people (``demand``) are listed once more for each requirement.
        """
        counted = cls._listed(sets)
        demands = dict.fromkeys(known.demand for known in sets.values() if known.demand is not None)
        chosen = ((demand, {key: known for key, known in sets.items() if known.demand == demand}) for demand in demands)
        return replace(counted, demands=[(demand, cls._listed(sets_of_demand)) for demand, sets_of_demand in chosen])

    @classmethod
    def _listed(cls, sets: Mapping[tuple[int, ...], KnownSet]) -> _SetsBeside:
        """Return the sets sorted by their columns."""
        known_sets = sorted(sets)
        return cls(
            starts_of([len(known) for known in known_sets]),
            np.array([column for known in known_sets for column in known], dtype=np.int64),
            np.array([sets[known].least for known in known_sets], dtype=np.int64),
        )


class _Run:
    """One run of splits. Mutable: the labels change with every split."""

    def __init__(self, units: FrequencySet, stage: Stage, beside: tuple[_SetsBeside, ...], weigh: Weigh) -> None:
        """Start with one label per column; ``beside`` are the sets that an adversary knows besides each column, ``weigh`` scores a split."""
        self.units, self.stage, self.beside, self.weigh = units, stage, beside, weigh
        self.people: Ids = units.groups().people.astype(np.int64)
        self.labels: Ids = np.zeros((len(stage.scales), len(units)), dtype=np.int64)
        self.counts: Ids = np.ones(len(self.labels), dtype=np.int64)
        self.loss, self.visits = 0.0, 0
        self._waiting: list[tuple[float, int, int, int, int, int]] = []
        self._numbers = count()
        self._versions: dict[tuple[int, int], int] = {}
        all_units = np.arange(len(units))
        for column in range(len(self.labels)):
            self.loss += self._cost(column, all_units)
            self._propose_splits(column, 0, all_units)

    def run(self, context: Context) -> None:
        """Try splits, the best score first, until none is left or the time limit is reached."""
        while self._waiting and self.visits < _MOST_VISITS:
            context.check("cutting columns")
            _, _, column, label, version, last = heappop(self._waiting)
            if self._versions[column, label] == version:
                self._try_split(column, label, last)

    def _try_split(self, column: int, label: int, last: int) -> None:
        """Split a label behind rank ``last``. Units that would be in too small a combination keep the label; the split is made if enough people move and the loss shrinks."""
        from reticent.methods.mondrian._column_kernels import settle

        members = np.flatnonzero(self.labels[column] == label)
        side = (self.stage.ranks[column, members] > last).astype(np.int8)
        member_labels = self.labels[:, members]
        fixed: NDArray[np.bool_] = (member_labels == member_labels[:, :1]).all(axis=1)
        all_people = int(self.people[members].sum())
        minimum_moved = max(int(np.ceil(_LEAST_MOVED * all_people)), 1)
        known_sets, unsettled = self.beside[column], True
        while unsettled:
            self.visits += settle(
                side,
                members,
                self.labels,
                self.counts,
                self.people,
                known_sets.starts,
                known_sets.columns,
                known_sets.least,
                fixed,
                minimum_moved,
            )
            enough_moved = int(self.people[members[side < 2]].sum()) >= minimum_moved
            unsettled = enough_moved and any(
                self._exempt_failing(demand, sets, members, side) for demand, sets in known_sets.demands
            )
        parts = [members[side == which] for which in range(3)]
        if int(self.people[members[side < 2]].sum()) < minimum_moved:
            return
        loss_saved = self._cost(column, members) - sum(self._cost(column, part) for part in parts if len(part))
        if loss_saved <= 0:
            return
        self.loss -= loss_saved
        for part in parts[:2] if len(parts[2]) or not len(parts[0]) else parts[1:2]:
            if len(part):
                new_label = int(self.counts[column])
                self.labels[column, part] = new_label
                self.counts[column] += 1
                self._propose_splits(column, new_label, part)
        self._propose_splits(column, label, np.flatnonzero(self.labels[column] == label))

    def _exempt_failing(self, demand: GroupDefinition, sets: _SetsBeside, members: Ids, side: NDArray[np.int8]) -> bool:
        """Exempt units from the split whose label combination would fail ``demand``; return whether there are any."""
        from reticent.methods.mondrian._column_kernels import number_cells

        cells = np.empty((len(sets.least), len(members)), dtype=np.int64)
        total = number_cells(members, self.labels, self.counts, sets.starts, sets.columns, cells)
        self.visits += _JUDGED_VISITS * cells.size
        combination_sides = 3 * cells + side
        member_index = np.full(len(self.units), -1)
        member_index[members] = np.arange(len(members))
        histograms_of_units = self.units.histograms
        member = member_index[histograms_of_units.owners]
        inside = member >= 0
        shape = (len(cells), int(inside.sum()))
        histograms = Histograms.from_cells(
            combination_sides[:, member[inside]].ravel(),
            np.broadcast_to(histograms_of_units.values[inside], shape).ravel(),
            np.broadcast_to(histograms_of_units.counts[inside], shape).ravel(),
            3 * total,
            self.units.domain.size,
        )
        sizes = sum_by(histograms.owners, histograms.counts, 3 * total)
        groups = Groups(sizes, histograms, self.units.reference, self.units.domain)
        failing = demand.failing(groups) & (sizes > 0)
        # Units that keep the label and still fail need more units of their combination: the smaller side joins them, then the other one.
        moved_sizes = np.where(sizes > 0, sizes, np.iinfo(np.int64).max).reshape(-1, 3)[:, :2]
        failing_cells = np.flatnonzero(failing[2::3])
        failing[3 * failing_cells + np.argmin(moved_sizes[failing_cells], axis=1)] = True
        exempted = (side < 2) & failing[combination_sides].any(axis=0)
        side[exempted] = 2
        return bool(exempted.any())

    def _propose_splits(self, column: int, label: int, members: Ids) -> None:
        """Propose splits of a label at five quantiles of its units, replacing its earlier proposals."""
        version = self._versions[column, label] = self._versions.get((column, label), -1) + 1
        ranks, rows = self.stage.ranks[column, members], self.stage.sizes[members]
        values, inverse = np.unique(ranks, return_inverse=True)
        if len(values) < 2:
            return
        weights = np.bincount(inverse, weights=rows).astype(np.float64)
        before = np.cumsum(weights)[:-1]
        cuts = self._cuts(column, values, before, float(weights.sum()))
        undivided = self._cost(column, members)
        for cut in cuts:
            left, right = members[ranks <= values[cut]], members[ranks > values[cut]]
            gain = undivided - self._cost(column, left) - self._cost(column, right)
            if gain > 0:
                share = float(before[cut] / weights.sum())
                score = self.weigh(gain, min(share, 1 - share))
                heappush(self._waiting, (-score, next(self._numbers), column, label, version, int(values[cut])))

    def _cuts(self, column: int, values: Ids, before: NDArray[np.float64], rows: float) -> Sequence[int]:
        """Return the indexes into ``values`` after which to split: near the quantiles and, if hierarchy nodes are published,
        between nodes of the highest level. ``before`` is the number of rows up to each value.
        """
        scale, allowed = self.stage.scales[column], np.arange(len(before))
        if len(scale.parts):
            highest_level_between = scale.apart(values[:-1], values[1:])
            allowed = np.flatnonzero(highest_level_between == highest_level_between.max())
        nearest = [int(allowed[np.argmin(np.abs(before[allowed] - share * rows))]) for share in _QUANTILES]
        return list(dict.fromkeys(nearest))

    def _cost(self, column: int, members: Ids) -> float:
        """Return the cost of one label for some units: the share of the column's leaves that it covers, times their rows."""
        scale, ranks = self.stage.scales[column], self.stage.ranks[column, members]
        known = ranks[ranks != scale.apart_null] if scale.apart_null >= 0 else ranks
        missing = int(len(known) < len(ranks))
        low, high = (int(known.min()), int(known.max())) if len(known) else (1, 0)
        distinct = 0 if scale.needs_ends else len(np.unique(ranks))
        width = scale.covered(*(np.array([measure]) for measure in (distinct, low, high, missing)))[0]
        return float(self.stage.sizes[members].sum() * (width - 1) / max(scale.size - 1, 1))


@dataclass(frozen=True)
class KnownSet:
    """Columns (by index) that an adversary knows, the minimum number of people per label combination, and further definitions that it must satisfy."""

    columns: tuple[int, ...]
    least: int
    demand: GroupDefinition | None = None

    def joined(self, other: KnownSet) -> KnownSet:
        """The same columns with the requirements of both."""
        demands = [known_set.demand for known_set in (self, other) if known_set.demand is not None]
        demand = None if not demands else demands[0] if len(demands) == 1 else demands[0] & demands[1]
        return KnownSet(self.columns, max(self.least, other.least), demand)


@dataclass(frozen=True)
class ColumnCuts:
    """Column splits of some units, for adversaries who know one of the ``sets``."""

    units: FrequencySet
    values: CellStyle
    sets: Sequence[KnownSet]

    @classmethod
    def of(cls, table: Table, units: FrequencySet, definition: GroupDefinition, values: CellStyle) -> ColumnCuts | None:
        """Column splits that satisfy a definition about subsets of the columns; None if no part is about subsets, or if columns cannot be split separately."""
        parts = definition.parts()
        if values == "typical" or any(hierarchy.capped for hierarchy in units.hierarchies):
            return None
        if units.owners:
            # Rows of one person may end up on both sides, and only rows are counted here.
            return None
        if not any(isinstance(part, AnyColumns) for part in parts):
            return None
        sets: dict[tuple[int, ...], KnownSet] = {}
        column_indices = {name: index for index, name in enumerate(table.quasi)}
        for judged in judged_sets(table, definition):
            for part in judged.definition.parts():
                demanded_sets = _sets_of(part, judged.names)
                if demanded_sets is None:
                    return None
                for names, demand in demanded_sets:
                    columns = tuple(sorted(column_indices[name] for name in names))
                    known = _known_set(columns, demand)
                    sets[columns] = sets[columns].joined(known) if columns in sets else known
        return cls(units, values, list(sets.values()))

    def best(self, context: Context | None = None) -> ColumnLabels:
        """The run with the least loss."""
        context = context or Context()
        runs = []
        for weigh in ORDERS:
            run = _Run(self.units, self._stage, self._beside, weigh)
            run.run(context)
            runs.append(ColumnLabels(run.labels, run.loss))
        return min(runs, key=lambda run: run.loss)

    def loss_of(self, group: Ids, kept: NDArray[np.bool_]) -> float:
        """The loss of a partition over all columns, for comparison; suppressed rows (groups not ``kept``) have the full loss."""
        spans = (self._stage.widths_of(group, len(kept)) - 1) / np.maximum(self._stage.leaves - 1, 1)
        spans[~kept] = 1.0
        return float((np.bincount(group, weights=self.units.sizes, minlength=len(kept)) @ spans).sum())

    @cached_property
    def _stage(self) -> Stage:
        return Stage.of(self.units, self.values)

    @cached_property
    def _beside(self) -> tuple[_SetsBeside, ...]:
        """For every column the sets that it belongs to, with the column removed."""
        sets_of_column: list[dict[tuple[int, ...], KnownSet]] = [{} for _ in self.units.codes]
        for known in self.sets:
            for column in known.columns:
                sets_of_column[column][tuple(other for other in known.columns if other != column)] = known
        return tuple(_SetsBeside.of(sets) for sets in sets_of_column)


def _known_set(columns: tuple[int, ...], demand: GroupDefinition) -> KnownSet:
    """The columns with the requirements of ``demand``: a minimum number of people is counted, anything else is judged by the definition."""
    counted = [part.k for part in demand.parts() if isinstance(part, KAnonymity)]
    others = tuple(part for part in demand.parts() if not isinstance(part, KAnonymity))
    return KnownSet(columns, max(counted, default=1), all_of(others) if others else None)


def _sets_of(part: GroupDefinition, names: Sequence[str]) -> list[tuple[tuple[str, ...], GroupDefinition]] | None:
    """The sets of columns that a part is about, each with the definition for its label combinations; None if it does not judge them one by one, or if there are too many sets."""
    if not isinstance(part, AnyColumns):
        return [(tuple(names), part)] if part.local and part.monotone and not part.needs_population else None
    if count_largest_sets(names, part.known, part.relations) > _MOST_SETS:
        return None
    return [(known, part.demand) for known in largest_sets(names, part.known, part.relations)]
