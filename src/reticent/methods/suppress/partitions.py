"""One partition for each set of columns that an adversary may know, and their total cost.

Sets are solved one after the other, those that need the largest classes first. Columns settled by an earlier set stay
fixed: their labels separate blocks, within which the other columns of the set are suppressed. If a block does not pass,
the sets that share a column are solved as one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from reticent.base.context import Context
from reticent.base.packing import first_rows, number, pack, sum_by
from reticent.core import FrequencySet
from reticent.definitions import GroupDefinition, KAnonymity, against_all, all_of
from reticent.methods.grouping import Columns, JudgedSet, together_of
from reticent.methods.suppress.ladders import Ids, Ladder, Mask, Units
from reticent.methods.suppress.nearest import nearest_prices
from reticent.methods.suppress.patterns import Passing, enough_people, least_prices
from reticent.methods.suppress.strategy import (
    Algorithm,
    PartitionResult,
    solve_by_judgement,
    solve_by_size,
    solve_exactly,
)


@dataclass(frozen=True)
class Demand:
    """Some columns, and the definition that classes must satisfy against an adversary who knows them; at least ``least`` people in any case."""

    columns: Columns
    definition: GroupDefinition
    least: int

    @classmethod
    def of(cls, judged: JudgedSet, least: int) -> Demand:
        """Return the demand for one set, with ``least`` people if that is more."""
        definition = against_all(judged.definition)
        return cls(judged.places, definition, max(least, definition.least_rows()))

    def with_others(self, others: Sequence[Demand]) -> Demand:
        """Return the demand for several sets against an adversary who knows all their columns: it implies each of them if monotone."""
        demands = (self, *others)
        columns = tuple(sorted({column for demand in demands for column in demand.columns}))
        parts = tuple(dict.fromkeys(part for demand in demands for part in demand.definition.parts()))
        return Demand(columns, all_of(parts), max(demand.least for demand in demands))


@dataclass(frozen=True)
class ColumnClasses:
    """For some columns the class of every unit (-1: none), and the proven factor of its cost."""

    columns: Columns
    solved: PartitionResult


@dataclass(frozen=True)
class SetSolver:
    """How units are partitioned: by which algorithm, or ``exact``. Units are single rows if ``single``, otherwise points."""

    frequencies: FrequencySet
    ladders: tuple[Ladder, ...]
    algorithm: Algorithm
    exact: bool
    single: bool
    context: Context

    def run(self, demands: Sequence[Demand]) -> tuple[ColumnClasses, ...]:
        """Return partitions that together cover every column; columns in no set are shown unchanged."""
        pending = sorted(demands, key=lambda candidate: (-candidate.least, -len(candidate.columns), candidate.columns))
        settled: list[tuple[Demand, ColumnClasses]] = []
        while pending:
            demand, *pending = pending
            overlapping = [
                settled_demand
                for settled_demand, _ in settled
                if not set(settled_demand.columns).isdisjoint(demand.columns)
            ]
            partition_found = self._solved(demand, [partition for _, partition in settled])
            if overlapping and (partition_found.solved.group[self._filled] < 0).any():
                settled = [
                    (settled_demand, partition)
                    for settled_demand, partition in settled
                    if settled_demand not in overlapping
                ]
                pending = [demand.with_others(overlapping), *pending]
            else:
                settled.append((demand, partition_found))
        covered = {column for _, partition in settled for column in partition.columns}
        free_columns = [column for column in range(len(self.ladders)) if column not in covered]
        unchanged = [
            ColumnClasses((column,), PartitionResult(self.frequencies.codes[column].astype(np.int64)))
            for column in free_columns
        ]
        return (*(partition for _, partition in settled if partition.columns), *unchanged)

    @property
    def _filled(self) -> Mask:
        filled: Mask = self.frequencies.sizes > 0
        return filled

    def units(self, columns: Columns, least: int) -> Units:
        """Return all units that have rows, in some columns."""
        filled = np.flatnonzero(self._filled)
        people = self.frequencies.groups().people
        return Units(
            tuple(self.ladders[column] for column in columns),
            tuple(self.frequencies.codes[column][filled] for column in columns),
            self.frequencies.sizes[filled],
            people[filled],
            least,
        )

    def _solved(self, demand: Demand, partitions: Sequence[ColumnClasses]) -> ColumnClasses:
        """Return a partition for one demand; columns of earlier partitions show the labels of these."""
        partition_of_column = {column: partition for partition in partitions for column in partition.columns}
        units = self.units(demand.columns, demand.least)
        settled_columns = [index for index, column in enumerate(demand.columns) if column in partition_of_column]
        for index in settled_columns:
            units = _shown_as(units, index, partition_of_column[demand.columns[index]].solved.group[self._filled])
        result = self._grown(units, demand)
        group = np.full(len(self.frequencies), -1, dtype=np.int64)
        group[self._filled] = result.group
        new_columns = tuple(column for column in demand.columns if column not in partition_of_column)
        return ColumnClasses(new_columns, replace(result, group=group))

    def _grown(self, units: Units, demand: Demand) -> PartitionResult:
        """Return a partition that satisfies the definition: classes are enlarged until the parts hold that judge all classes together."""
        parts = demand.definition.parts()
        class_parts = together_of(tuple(part for part in parts if part.local))
        whole_parts = together_of(tuple(part for part in parts if not part.local))
        while True:
            result = self._by_class(units, class_parts)
            is_placed = result.group >= 0
            if whole_parts is None or units.least > int(units.people.sum()) or not is_placed.any():
                return result
            filled_groups = self.frequencies.groups().select(self._filled)
            groups = filled_groups.select(is_placed).merged(
                result.group[is_placed].astype(np.int32), int(result.group.max()) + 1
            )
            if whole_parts.holds(groups.select(groups.sizes > 0)):
                return result
            units = replace(units, least=2 * units.least)

    def _by_class(self, units: Units, definition: GroupDefinition | None) -> PartitionResult:
        """Return a partition in which every class satisfies the definition: found exactly, by class sizes if nothing else is required, or by judging every class."""
        by_size = definition is None or all(isinstance(part, KAnonymity) for part in definition.parts())
        if self.exact:
            return solve_exactly(units, self.context)
        if by_size and self.single:
            return solve_by_size(units, self.algorithm, self.context)
        passing = enough_people(units) if by_size or definition is None else self._judging(units, definition)
        return solve_by_judgement(units, passing, self.context)

    def _judging(self, units: Units, definition: GroupDefinition) -> Passing:
        """Return the check for groups: enough people, and the definition, which is evaluated only for those."""
        all_groups, large = self.frequencies.groups().select(self._filled), enough_people(units)

        def passing(chosen: Ids, ids: Ids, count: int) -> Mask:
            """Mask the groups of the ``chosen`` units, numbered by ``ids``, that have enough people and satisfy the definition."""
            passes = large(chosen, ids, count)
            to_judge = np.zeros(len(units), dtype=bool)
            in_passing = passes[ids]
            to_judge[chosen[in_passing]] = True
            if in_passing.any():
                order = np.argsort(chosen[in_passing], kind="stable")
                new_index = np.cumsum(passes) - 1
                groups = all_groups.select(to_judge).merged(
                    new_index[ids[in_passing]][order].astype(np.int32), int(passes.sum())
                )
                passes[passes] = ~definition.failing(groups)
            return passes

        return passing


def _shown_as(units: Units, column: int, group: Ids) -> Units:
    """Return the units with a column that shows the labels of an earlier partition's classes (``group``), and can no longer be
    generalized. Units that the partition suppressed show their own value.
    """
    ladder, codes = units.ladders[column], units.codes[column]
    is_placed = group >= 0
    count = int(group.max(initial=-1)) + 1
    rung = np.zeros(len(units), dtype=np.int64)
    placed_column = replace(units, ladders=(ladder,), codes=(codes,)).select(is_placed)
    rung[is_placed] = placed_column.rungs(group[is_placed], count)[:, 0][group[is_placed]]
    part = np.zeros(len(units), dtype=np.int64)
    for rung_index in range(ladder.top + 1):
        chosen = rung == rung_index
        part[chosen] = ladder.parts[rung_index][codes[chosen]]
    labels, label_count = number(*pack([rung, part], [ladder.top + 1, int(part.max(initial=0)) + 1], len(units)))
    settled = Ladder((np.arange(label_count, dtype=np.int32),), (0,))
    return replace(
        units,
        ladders=(*units.ladders[:column], settled, *units.ladders[column + 1 :]),
        codes=(*units.codes[:column], labels, *units.codes[column + 1 :]),
    )


def cells_hidden(solver: SetSolver, partitions: Sequence[ColumnClasses], is_out: Mask) -> tuple[int, dict[int, int]]:
    """Return the cost of partitions in integer units, and for each column the number of cells that do not show their
    value; rows that are ``is_out`` cost all cells.
    """
    rows = solver.frequencies.sizes
    cost, hidden = 0, {}
    for partition in partitions:
        group = np.where(is_out, -1, partition.solved.group)
        is_kept = group >= 0
        count = int(group.max(initial=-1)) + 1
        for column in partition.columns:
            ladder = solver.ladders[column]
            single = Units((ladder,), (solver.frequencies.codes[column],), rows, rows, 1).select(is_kept)
            rungs = single.rungs(group[is_kept], count)[:, 0]
            sizes = sum_by(group[is_kept], rows[is_kept], count)
            lost_rows = int(rows[~is_kept].sum())
            cost += int(np.array(ladder.costs)[rungs] @ sizes) + lost_rows * ladder.costs[-1]
            hidden[column] = int(sizes[rungs > 0].sum()) + lost_rows
    return cost, hidden


@dataclass(frozen=True)
class LowerBounds:
    """Lower bounds of the cost of any partition, in integer units: by ``nearest`` neighbours (None: not computed), by
    ``patterns``, and the ``sharpest`` of those computed.
    """

    nearest: int | None = 0
    patterns: int = 0
    sharpest: int = 0

    def __add__(self, other: LowerBounds) -> LowerBounds:
        nearest = None if self.nearest is None or other.nearest is None else self.nearest + other.nearest
        return LowerBounds(nearest, self.patterns + other.patterns, self.sharpest + other.sharpest)


def least_possible(solver: SetSolver, demands: Sequence[Demand], *, nearest: bool) -> LowerBounds:
    """Return lower bounds of the cost. That of nearest neighbours does not exceed that of patterns if these were found for
    all rows; then it is computed only on request.

    Bounds of sets that share no column add up.
    """
    bounds_of_sets = [(demand.columns, _bounded(solver, demand, nearest)) for demand in demands]
    taken_columns: set[int] = set()
    total = LowerBounds()
    for columns, bounds in sorted(
        bounds_of_sets, key=lambda bounds_of_set: (-bounds_of_set[1].sharpest, bounds_of_set[0])
    ):
        if taken_columns.isdisjoint(columns):
            taken_columns |= set(columns)
            total += bounds
    return total


def _bounded(solver: SetSolver, demand: Demand, nearest: bool) -> LowerBounds:
    """Return lower bounds on the number of suppressed cells, by nearest records and by patterns."""
    units = solver.units(demand.columns, demand.least)
    ids, count = units.points
    rows, people = sum_by(ids, units.rows, count), sum_by(ids, units.people, count)
    points = replace(units.select(first_rows(ids, count)), rows=rows, people=people)
    prices, complete = least_prices(points, solver.context)
    patterns = int(prices @ rows)
    distances = nearest_prices(points, solver.context) if nearest or not complete else None
    near = None if distances is None else int(distances @ rows)
    return LowerBounds(near, patterns, max(patterns, near or 0))
