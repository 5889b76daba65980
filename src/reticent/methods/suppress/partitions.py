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
        everything = (self, *others)
        columns = tuple(sorted({column for each in everything for column in each.columns}))
        parts = tuple(dict.fromkeys(part for each in everything for part in each.definition.parts()))
        return Demand(columns, all_of(parts), max(each.least for each in everything))


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
        pending = sorted(demands, key=lambda each: (-each.least, -len(each.columns), each.columns))
        done: list[tuple[Demand, ColumnClasses]] = []
        while pending:
            demand, *pending = pending
            earlier = [each for each, _ in done if not set(each.columns).isdisjoint(demand.columns)]
            found = self._solved(demand, [partition for _, partition in done])
            if earlier and (found.solved.group[self._filled] < 0).any():
                done = [(each, partition) for each, partition in done if each not in earlier]
                pending = [demand.with_others(earlier), *pending]
            else:
                done.append((demand, found))
        covered = {column for _, partition in done for column in partition.columns}
        free = [column for column in range(len(self.ladders)) if column not in covered]
        alone = [
            ColumnClasses((column,), PartitionResult(self.frequencies.codes[column].astype(np.int64)))
            for column in free
        ]
        return (*(partition for _, partition in done if partition.columns), *alone)

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

    def _solved(self, demand: Demand, done: Sequence[ColumnClasses]) -> ColumnClasses:
        settled = {column: partition for partition in done for column in partition.columns}
        units = self.units(demand.columns, demand.least)
        fixed = [place for place, column in enumerate(demand.columns) if column in settled]
        for place in fixed:
            units = _shown_as(units, place, settled[demand.columns[place]].solved.group[self._filled])
        found = self._grown(units, demand)
        group = np.full(len(self.frequencies), -1, dtype=np.int64)
        group[self._filled] = found.group
        own = tuple(column for column in demand.columns if column not in settled)
        return ColumnClasses(own, replace(found, group=group))

    def _grown(self, units: Units, demand: Demand) -> PartitionResult:
        """Enlarge classes until the parts of the definition that judge all classes together hold too."""
        parts = demand.definition.parts()
        local = together_of(tuple(part for part in parts if part.local))
        whole = together_of(tuple(part for part in parts if not part.local))
        while True:
            found = self._by_class(units, local)
            kept = found.group >= 0
            if whole is None or units.least > int(units.people.sum()) or not kept.any():
                return found
            filled = self.frequencies.groups().select(self._filled)
            groups = filled.select(kept).merged(found.group[kept].astype(np.int32), int(found.group.max()) + 1)
            if whole.holds(groups.select(groups.sizes > 0)):
                return found
            units = replace(units, least=2 * units.least)

    def _by_class(self, units: Units, definition: GroupDefinition | None) -> PartitionResult:
        by_size = definition is None or all(isinstance(part, KAnonymity) for part in definition.parts())
        if self.exact:
            return solve_exactly(units, self.context)
        if by_size and self.single:
            return solve_by_size(units, self.algorithm, self.context)
        passing = enough_people(units) if by_size or definition is None else self._judging(units, definition)
        return solve_by_judgement(units, passing, self.context)

    def _judging(self, units: Units, definition: GroupDefinition) -> Passing:
        """Return the check for groups: enough people, and the definition, which is evaluated only for those."""
        everybody, large = self.frequencies.groups().select(self._filled), enough_people(units)

        def passing(chosen: Ids, ids: Ids, count: int) -> Mask:
            found = large(chosen, ids, count)
            asked = np.zeros(len(units), dtype=bool)
            there = found[ids]
            asked[chosen[there]] = True
            if there.any():
                order = np.argsort(chosen[there], kind="stable")
                places = np.cumsum(found) - 1
                groups = everybody.select(asked).merged(places[ids[there]][order].astype(np.int32), int(found.sum()))
                found[found] = ~definition.failing(groups)
            return found

        return passing


def _shown_as(units: Units, place: int, group: Ids) -> Units:
    """Return the units with one column settled by an earlier partition: it shows the labels of its classes. Units
    suppressed there show themselves.
    """
    ladder, codes = units.ladders[place], units.codes[place]
    kept = group >= 0
    count = int(group.max(initial=-1)) + 1
    rung = np.zeros(len(units), dtype=np.int64)
    single = replace(units, ladders=(ladder,), codes=(codes,)).select(kept)
    rung[kept] = single.rungs(group[kept], count)[:, 0][group[kept]]
    part = np.zeros(len(units), dtype=np.int64)
    for each in range(ladder.top + 1):
        chosen = rung == each
        part[chosen] = ladder.parts[each][codes[chosen]]
    labels, many = number(*pack([rung, part], [ladder.top + 1, int(part.max(initial=0)) + 1], len(units)))
    settled = Ladder((np.arange(many, dtype=np.int32),), (0,))
    return replace(
        units,
        ladders=(*units.ladders[:place], settled, *units.ladders[place + 1 :]),
        codes=(*units.codes[:place], labels, *units.codes[place + 1 :]),
    )


def cells_hidden(solver: SetSolver, partitions: Sequence[ColumnClasses], out: Mask) -> tuple[int, dict[int, int]]:
    """Return the cost of partitions in integer units, and for each column the number of cells that do not show their
    value; rows that are ``out`` cost all cells.
    """
    rows = solver.frequencies.sizes
    cost, hidden = 0, {}
    for partition in partitions:
        group = np.where(out, -1, partition.solved.group)
        kept = group >= 0
        count = int(group.max(initial=-1)) + 1
        for column in partition.columns:
            ladder = solver.ladders[column]
            single = Units((ladder,), (solver.frequencies.codes[column],), rows, rows, 1).select(kept)
            rungs = single.rungs(group[kept], count)[:, 0]
            sizes = sum_by(group[kept], rows[kept], count)
            lost = int(rows[~kept].sum())
            cost += int(np.array(ladder.costs)[rungs] @ sizes) + lost * ladder.costs[-1]
            hidden[column] = int(sizes[rungs > 0].sum()) + lost
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
    found = [(demand.columns, _bounded(solver, demand, nearest)) for demand in demands]
    taken: set[int] = set()
    total = LowerBounds()
    for columns, bounds in sorted(found, key=lambda each: (-each[1].sharpest, each[0])):
        if taken.isdisjoint(columns):
            taken |= set(columns)
            total += bounds
    return total


def _bounded(solver: SetSolver, demand: Demand, nearest: bool) -> LowerBounds:
    units = solver.units(demand.columns, demand.least)
    ids, count = units.points
    rows, people = sum_by(ids, units.rows, count), sum_by(ids, units.people, count)
    points = replace(units.select(first_rows(ids, count)), rows=rows, people=people)
    prices, complete = least_prices(points, solver.context)
    patterns = int(prices @ rows)
    distances = nearest_prices(points, solver.context) if nearest or not complete else None
    near = None if distances is None else int(distances @ rows)
    return LowerBounds(near, patterns, max(patterns, near or 0))
