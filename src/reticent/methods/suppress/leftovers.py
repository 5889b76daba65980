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
    """Return the partition with unplaced units (-1) placed too, block by block; -1 remains where no way passes.

    There are three ways: units are taken from classes that can spare them, classes join the units, or each unit joins a
    class. The cheapest is used.
    """
    group = group.copy()
    block, blocks = units.apart
    for each in np.unique(block[group < 0]).tolist():
        context.check("placing the last rows")
        inside = np.flatnonzero(block == each) if blocks > 1 else np.arange(len(units))
        part = _Unplaced(units, inside, group, passing)
        ways = [way for way in (part.filled(), part.absorbing(), part.joining()) if way is not None]
        if ways:
            group = min(ways, key=units.cost)
    return group


class _Unplaced:
    """Units that could all be in one class, some of which have no class yet."""

    def __init__(self, units: Units, inside: Ids, group: Ids, passing: Passing) -> None:
        self._units, self._group, self._passing = units, group, passing
        self._rest = inside[group[inside] < 0]
        self._placed = inside[group[inside] >= 0]
        self._classes, self._of = np.unique(group[self._placed], return_inverse=True)
        self._prices = units.select(self._placed).prices(self._of, len(self._classes))

    def _passes(self, chosen: Ids) -> bool:
        return bool(self._passing(chosen, np.zeros(len(chosen), dtype=np.int64), 1)[0])

    def _renumbered(self, chosen: Ids) -> Ids:
        """Return the partition in which some units form a class of their own."""
        found = self._group.copy()
        found[chosen] = int(found.max()) + 1
        return found

    def filled(self) -> Ids | None:
        """Let classes with surplus units give single ones, most expensive first; for definitions on size alone."""
        units, least = self._units, self._units.least
        missing = least - int(units.people[self._rest].sum())
        if missing <= 0 or (units.people != 1).any():
            return None
        sizes = np.bincount(self._of, minlength=len(self._classes))
        order = np.lexsort((self._of, -self._prices[self._of]))
        spare = order[(ranks_among_equal(self._of) < sizes[self._of] - least)[order]][:missing]
        chosen = np.concatenate([self._rest, self._placed[spare]])
        if len(spare) < missing or not self._passes(chosen):
            return None
        found = self._renumbered(chosen)
        # A class that lost units must still pass; by size alone it does.
        touched = np.flatnonzero(np.isin(found, np.unique(self._group[self._placed[spare]])))
        ids = np.unique(found[touched], return_inverse=True)[1]
        return found if self._passing(touched, ids, int(ids.max(initial=-1)) + 1).all() else None

    def absorbing(self) -> Ids | None:
        """Let whole classes join, those with the smallest loss first, until all together pass; at the end the whole block is one class."""
        units = self._units
        rows = sum_by(self._of, units.rows[self._placed], len(self._classes))
        order = np.argsort(rows * (units.full - self._prices), kind="stable")
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        for joined in [*range(min(len(order), _TRIED_AT_ONCE)), len(order)]:
            chosen = np.concatenate([self._rest, self._placed[rank[self._of] < joined]])
            if self._passes(chosen):
                return self._renumbered(chosen)
        return None

    def joining(self) -> Ids | None:
        """Let each unit join the class with the smallest increase of cost among those that still pass."""
        if len(self._rest) > _MOST_JOINING or not len(self._classes):
            return None
        found = self._group.copy()
        for unit in self._rest.tolist():
            home = self._home(unit, found)
            if home is None:
                return None
            found[unit] = home
        return found

    def _home(self, unit: int, group: Ids) -> int | None:
        units = self._units
        held = np.concatenate([self._placed, self._rest[group[self._rest] >= 0]])
        classes, of = np.unique(group[held], return_inverse=True)
        count = len(classes)
        own = units.select(held)
        before = own.rungs(of, count)
        one = held[first_rows(of, count)]
        after = before.copy()
        for column, (ladder, codes) in enumerate(zip(units.ladders, units.codes, strict=True)):
            for rung in range(ladder.top + 1):
                parts = ladder.parts[rung]
                differs = parts[codes[one]] != parts[codes[unit]]
                after[:, column] = np.where(differs & (after[:, column] <= rung), rung + 1, after[:, column])
        rows = sum_by(of, own.rows, count)
        dearer = units.priced(after) * (rows + units.rows[unit]) - units.priced(before) * rows
        for place in np.argsort(dearer, kind="stable").tolist()[:_TRIED_AT_ONCE]:
            if self._passes(np.append(held[of == place], unit)):
                return int(classes[place])
        return None
