"""The stage of a partition: the units of all open groups, group after group, and what can be done with all groups at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from reticent.data.frequencies import FrequencySet
from reticent.data.hierarchy import BoundHierarchy, Codes
from reticent.data.keys import sort_equal, sum_by

Ids = NDArray[np.int64]
Mask = NDArray[np.bool_]

COMPILED_FROM = 100_000
"""From this many units on, waiting for the compiler once costs less than numpy."""

LARGEST_TABLE = 1 << 26
"""Tables of all groups by all values of a column are made up to this size; beyond it values are listed."""

_COMPILED_LEAVES = 4096
_FARTHEST = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Cut:
    """A proposed cut of every group: the rows to the left of it (0 where there is none), and which units go to the right."""

    left: Ids
    right: Mask

    @property
    def possible(self) -> Mask:
        """The groups that can be cut at all."""
        return self.left > 0


@dataclass(frozen=True)
class Stage:
    """Units of open groups: group ``g`` holds those at ``starts[g]`` up to ``starts[g + 1]``.

    ``members`` are their numbers, ``sizes`` their rows, and ``ranks[j]`` the places of their values in the order in which column ``j``, of
    ``leaves[j]`` values, is cut.
    """

    members: Ids
    sizes: Ids
    ranks: Codes
    leaves: Ids
    starts: Ids

    @classmethod
    def of(cls, units: FrequencySet) -> Stage:
        """All units in one group."""
        leaves = np.array([hierarchy.size for hierarchy in units.hierarchies], dtype=np.int64)
        dtype = np.min_scalar_type(int(leaves.max()))
        ranks = np.stack(
            [order_of(h).astype(dtype).take(codes) for h, codes in zip(units.hierarchies, units.codes, strict=True)]
        )
        return cls(np.arange(len(units)), units.sizes, ranks, leaves, np.array([0, len(units)]))

    def __len__(self) -> int:
        """How many groups are open."""
        return len(self.starts) - 1

    @property
    def lengths(self) -> Ids:
        """How many units each group has."""
        return np.diff(self.starts)

    @cached_property
    def owners(self) -> Ids:
        """The group of every unit."""
        return np.repeat(np.arange(len(self)), self.lengths)

    @property
    def compiled(self) -> bool:
        """Whether this is worth the compiled loops."""
        return len(self.members) >= COMPILED_FROM and int(self.leaves.max()) <= _COMPILED_LEAVES

    def widths(self, known: Ids, fresh: Mask) -> Ids:
        """How many different values each group has in each column; ``known`` but for the ``fresh`` groups."""
        if not self.compiled:
            return self.widths_of(self.owners, len(self))
        from reticent.anonymize.mondrian import _kernels

        widths = known.copy()
        _kernels.distinct_values(self.starts, self.ranks, self.leaves, fresh, widths)
        return widths

    def widths_of(self, ids: Ids, count: int) -> Ids:
        """How many different values the units of each number have in each column."""
        widths = np.empty((count, len(self.leaves)), dtype=np.int64)
        for j, leaves in enumerate(self.leaves.tolist()):
            keys = ids * leaves + self.ranks[j]
            if count * leaves <= LARGEST_TABLE:
                present = np.zeros(count * leaves, dtype=bool)
                present[keys] = True
                widths[:, j] = present.reshape(count, leaves).sum(axis=1)
            else:
                widths[:, j] = np.bincount(np.unique(keys) // leaves, minlength=count)
        return widths

    def cut(self, column: Ids, rows: Ids, least: int, *, between_equal: bool = False) -> Cut:
        """Every group cut in its column, nearest to the median, with at least ``least`` rows on both sides.

        A cut lies between two values; with ``between_equal`` also between two units of one value. Of two that are as near the first counts.
        """
        if self.compiled and not between_equal:
            from reticent.anonymize.mondrian import _kernels

            left, right = np.zeros(len(self), dtype=np.int64), np.zeros(len(self.members), dtype=bool)
            widest = int(self.leaves.max())
            _kernels.cuts(self.starts, self.ranks, self.sizes, column, rows, least, widest, left, right)
            return Cut(left, right)
        owners, places = self.owners, np.arange(len(self.members))
        ranks = self.ranks[column.take(owners), places]
        widest = int(self.leaves.max())
        order, _ = sort_equal(owners * widest + ranks, len(self) * widest)
        values = ranks.take(order)
        before = np.cumsum(self.sizes.take(order))
        before -= (before - self.sizes.take(order)).take(self.starts[:-1]).take(owners)
        total = rows.take(owners)
        edge = np.zeros(len(order), dtype=bool)
        edge[:-1] = (owners[1:] == owners[:-1]) & ((values[1:] != values[:-1]) | between_equal)
        edge &= (before >= least) & (total - before >= least)
        distance = np.where(edge, np.abs(2 * before - total), _FARTHEST)
        nearest = np.minimum.reduceat(distance, self.starts[:-1])
        chosen = np.flatnonzero(edge & (distance == nearest.take(owners)))
        place = np.full(len(self), len(order))
        place[owners.take(chosen)[::-1]] = chosen[::-1]
        left = np.where(place < len(order), before.take(np.minimum(place, len(order) - 1)), 0)
        right = np.empty(len(order), dtype=bool)
        right[order] = places > place.take(owners)
        return Cut(left, right)

    def halved(self, right: Mask, made: Mask) -> Stage:
        """The groups under ``made`` in two, the units that are not ``right`` and those that are; the others as they were."""
        order, lefts = self._halves_apart(right & np.repeat(made, self.lengths))
        starts = np.stack([self.starts[:-1], self.starts[:-1] + lefts], axis=1)
        there = np.stack([np.ones_like(made), made], axis=1)
        return self.at(order, np.append(starts[there], self.starts[-1]))

    def _halves_apart(self, right: Mask) -> tuple[Ids, Ids]:
        order, lefts = np.empty(len(right), dtype=np.int64), np.empty(len(self), dtype=np.int64)
        if self.compiled:
            from reticent.anonymize.mondrian import _kernels

            _kernels.halves_apart(self.starts, right, order, lefts)
            return order, lefts
        rights = np.concatenate([[0], np.cumsum(right)])
        lefts = self.lengths - (rights[self.starts[1:]] - rights[self.starts[:-1]])
        before = self.starts[:-1]
        passed = rights[:-1] - rights[before].take(self.owners)
        first = before.take(self.owners)
        places = np.arange(len(right))
        order[np.where(right, first + lefts.take(self.owners) + passed, places - passed)] = places
        return order, lefts

    def only(self, groups: Mask) -> Stage:
        """Some of the groups."""
        if groups.all():
            return self
        starts = np.concatenate([[0], np.cumsum(self.lengths[groups])])
        return self.at(np.flatnonzero(np.repeat(groups, self.lengths)), starts)

    def at(self, places: Ids, starts: Ids) -> Stage:
        """The units at some places, with these starts of groups."""
        return Stage(
            self.members.take(places), self.sizes.take(places), self.ranks.take(places, axis=1), self.leaves, starts
        )

    def rows(self) -> Ids:
        """How many rows each group has."""
        return sum_by(self.owners, self.sizes, len(self))


def order_of(hierarchy: BoundHierarchy) -> Ids:
    """The place of every leaf in the order in which a column is cut: by size for numbers, along the hierarchy for categories, so
    that values that belong together stay together longest."""
    along_tree = [level.parts for level in hierarchy.levels]
    order = np.argsort(hierarchy.numbers(), kind="stable") if hierarchy.is_numeric else np.lexsort(along_tree)
    places = np.empty(hierarchy.size, dtype=np.int64)
    places[order] = np.arange(hierarchy.size)
    return places
