"""Units that no pattern places: they join a class, or classes join them, at minimal cost; or they are suppressed."""

from __future__ import annotations

import numpy as np

from reticent.base.context import Context
from reticent.base.packing import first_rows, sum_by
from reticent.base.ragged import ranks_among_equal
from reticent.methods.suppress.ladders import Ids, Units
from reticent.methods.suppress.patterns import Passing

_MOST_JOINING = 256
_TRIED_AT_ONCE = 64


def settled(units: Units, group: Ids, passing: Passing, context: Context) -> Ids:
    """Return the partition with the units without a class (-1) placed too, where that passes; a block is all units that could
    share a class, and blocks are treated one by one.

    There are three ways: units are taken from classes that can spare them, whole classes join the units, or each unit
    joins a class. The cheapest that passes is used.
    """
    group = group.copy()
    block, blocks = units.apart
    for block_index in np.unique(block[group < 0]).tolist():
        context.check("placing the last rows")
        block_units = np.flatnonzero(block == block_index) if blocks > 1 else np.arange(len(units))
        part = _Unplaced(units, block_units, group, passing)
        partitions = [
            partition for partition in (part.filled(), part.absorbing(), part.joining()) if partition is not None
        ]
        if partitions:
            group = min(partitions, key=units.cost)
    return group


class _Unplaced:
    """Units that could all be in one class, some of which have no class yet."""

    def __init__(self, units: Units, inside: Ids, group: Ids, passing: Passing) -> None:
        """Take the units ``inside`` one block; ``group`` is the class of every unit of the table, -1 if it has none yet."""
        self._units, self._group, self._passing = units, group, passing
        self._unplaced = inside[group[inside] < 0]
        self._placed = inside[group[inside] >= 0]
        self._classes, self._class_of_placed = np.unique(group[self._placed], return_inverse=True)
        self._prices = units.select(self._placed).prices(self._class_of_placed, len(self._classes))

    def _passes(self, chosen: Ids) -> bool:
        """True if the ``chosen`` units pass as one class."""
        return bool(self._passing(chosen, np.zeros(len(chosen), dtype=np.int64), 1)[0])

    def _renumbered(self, chosen: Ids) -> Ids:
        """Return the partition in which some units form a class of their own."""
        partition = self._group.copy()
        partition[chosen] = int(partition.max()) + 1
        return partition

    def filled(self) -> Ids | None:
        """Return the partition in which the unplaced units form a class with units that larger classes can lose, most
        expensive first; None if that fails. For definitions on class size alone.
        """
        units, least = self._units, self._units.least
        missing = least - int(units.people[self._unplaced].sum())
        if missing <= 0 or (units.people != 1).any():
            return None
        sizes = np.bincount(self._class_of_placed, minlength=len(self._classes))
        by_price = np.lexsort((self._class_of_placed, -self._prices[self._class_of_placed]))
        donors = by_price[(ranks_among_equal(self._class_of_placed) < sizes[self._class_of_placed] - least)[by_price]][
            :missing
        ]
        chosen = np.concatenate([self._unplaced, self._placed[donors]])
        if len(donors) < missing or not self._passes(chosen):
            return None
        partition = self._renumbered(chosen)
        # A class that lost units must still pass; by size alone it does.
        units_to_check = np.flatnonzero(np.isin(partition, np.unique(self._group[self._placed[donors]])))
        ids = np.unique(partition[units_to_check], return_inverse=True)[1]
        return partition if self._passing(units_to_check, ids, int(ids.max(initial=-1)) + 1).all() else None

    def absorbing(self) -> Ids | None:
        """Return the partition in which the unplaced units and whole classes, those that lose least first, are one class, with
        as few classes as pass; in the end the whole block is one class. None if that fails, too.
        """
        units = self._units
        rows = sum_by(self._class_of_placed, units.rows[self._placed], len(self._classes))
        order = np.argsort(rows * (units.full - self._prices), kind="stable")
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        for joined in [*range(min(len(order), _TRIED_AT_ONCE)), len(order)]:
            chosen = np.concatenate([self._unplaced, self._placed[rank[self._class_of_placed] < joined]])
            if self._passes(chosen):
                return self._renumbered(chosen)
        return None

    def joining(self) -> Ids | None:
        """Return the partition in which each unplaced unit joins the class with the smallest increase of cost among those that
        still pass; None if there is none, or there are too many units.
        """
        if len(self._unplaced) > _MOST_JOINING or not len(self._classes):
            return None
        partition = self._group.copy()
        for unit in self._unplaced.tolist():
            home = self._home(unit, partition)
            if home is None:
                return None
            partition[unit] = home
        return partition

    def _home(self, unit: int, group: Ids) -> int | None:
        """Return the class that a unit can join with the smallest increase of cost; None if none still passes."""
        units = self._units
        placed_units = np.concatenate([self._placed, self._unplaced[group[self._unplaced] >= 0]])
        classes, class_of = np.unique(group[placed_units], return_inverse=True)
        count = len(classes)
        placed = units.select(placed_units)
        rungs_before = placed.rungs(class_of, count)
        first_units = placed_units[first_rows(class_of, count)]
        rungs_after = rungs_before.copy()
        for column, (ladder, codes) in enumerate(zip(units.ladders, units.codes, strict=True)):
            for rung in range(ladder.top + 1):
                parts = ladder.parts[rung]
                differs = parts[codes[first_units]] != parts[codes[unit]]
                rungs_after[:, column] = np.where(
                    differs & (rungs_after[:, column] <= rung), rung + 1, rungs_after[:, column]
                )
        rows = sum_by(class_of, placed.rows, count)
        added_cost = units.priced(rungs_after) * (rows + units.rows[unit]) - units.priced(rungs_before) * rows
        for index in np.argsort(added_cost, kind="stable").tolist()[:_TRIED_AT_ONCE]:
            if self._passes(np.append(placed_units[class_of == index], unit)):
                return int(classes[index])
        return None
