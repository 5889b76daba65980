"""The directory of an index: regions, one inside the other, the blocks that they leave to each other, and who lies in which (R-BA-4, R-BA-5, R-BA-8)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from reticent.anonymize.bang._kernels import loops_for
from reticent.anonymize.bang.space import GridSpace, Ids, common_bits, order_of_keys
from reticent.data import sum_by


@dataclass(frozen=True, eq=False)
class BangDirectory:
    """Recorded regions, in the order of their prefixes, those around before those inside.

    Region ``r`` holds the cells from ``lows[:, r]`` up to, but without, ``highs[:, r]``, and is the innermost for its *block*: those of them that are in no region inside it.
    ``level`` is the number of its halvings, ``encloser`` the region around it (-1: none), ``rows`` the rows of its block. ``neighbours`` are pairs of regions that share a face or
    of which one lies directly inside the other, each pair once.
    """

    space: GridSpace
    lows: Ids
    highs: Ids
    level: Ids
    encloser: Ids
    rows: Ids
    neighbours: Ids

    @classmethod
    def built(cls, space: GridSpace, cells: Ids, sizes: Ids, minimum: int) -> tuple[BangDirectory, Ids]:
        """The canonical directory of points (their ``cells`` and rows), whatever order these come in; and the region of every point."""
        keys = space.keys(cells)
        order = order_of_keys(keys)
        ordered = keys[:, order]
        shared = common_bits(ordered)
        fresh = np.concatenate([[True], shared < space.depth])
        number = np.cumsum(fresh) - 1
        firsts = np.flatnonzero(fresh)
        held_keys, weights = len(firsts), sum_by(number, sizes[order], len(firsts))
        shared = shared[firsts[1:] - 1]
        loops, nodes = loops_for(held_keys), 2 * held_keys - 1
        left, right = np.zeros((2, max(held_keys - 1, 0)), dtype=np.int64)
        parent, walk, held, level = np.zeros((4, nodes), dtype=np.int64)
        root = loops.trie(shared, left, right, parent, walk)
        loops.weigh(left, right, walk, weights, held)
        loops.divide(root, minimum, shared, left, right, parent, held, level)
        count = int((level >= 0).sum())
        region, owner, encloser = (
            np.zeros(nodes, dtype=np.int64),
            np.zeros(held_keys, dtype=np.int64),
            np.zeros(count, dtype=np.int64),
        )
        loops.owners(walk, parent, held_keys - 1, level, region, owner, encloser)
        tops = walk[level[walk] >= 0]
        inside = order[firsts[_key_under(tops, held_keys)]]
        lows, highs = space.boxes(cells[:, inside], level[tops])
        axis_of, shift_of = halving_arrays(space)
        sides = np.int64(1) << space.bits
        room = 4 * count * len(sides)
        while True:
            one, other = np.zeros((2, room), dtype=np.int64)
            found = loops.around(
                root, axis_of, shift_of, sides, shared, left, right, region, level, lows, highs, one, other
            )
            if found <= room:
                break
            room = found
        nested = np.flatnonzero(encloser >= 0)
        pairs = np.stack([np.concatenate([one[:found], nested]), np.concatenate([other[:found], encloser[nested]])])
        made = cls(space, lows, highs, level[tops], encloser, held[tops], _once(pairs, count))
        of_point = np.empty(len(order), dtype=np.int64)
        of_point[order] = owner[number]
        return made, of_point

    def __len__(self) -> int:
        return len(self.level)

    @cached_property
    def volumes(self) -> NDArray[np.float64]:
        """The share of the space that each block has: that of its region without the regions directly inside it (R-BA-8)."""
        own: NDArray[np.float64] = np.ldexp(1.0, -self.level)
        inner = np.flatnonzero(self.encloser >= 0)
        found: NDArray[np.float64] = own - np.bincount(self.encloser[inner], weights=own[inner], minlength=len(self))
        # Where nearly all of a region is inside others, the difference of floats tells nothing.
        for region in np.flatnonzero(found <= own * 1e-9).tolist():
            mine = self.level[inner[self.encloser[inner] == region]]
            exact = Fraction(1, 2 ** int(self.level[region])) - sum(Fraction(1, 2 ** int(each)) for each in mine)
            found[region] = float(exact)
        if not (found > 0).all():
            raise AssertionError("a block without a cell")
        return found


def halving_arrays(space: GridSpace) -> tuple[Ids, Ids]:
    """The axis of each halving, and by how much a cell is shifted to bring the halving's bit to the end."""
    halvings = np.array(space.halvings, dtype=np.int64).reshape(-1, 2)
    return halvings[:, 0].copy(), space.bits[halvings[:, 0]] - 1 - halvings[:, 1]


def _key_under(tops: Ids, keys: int) -> Ids:
    """A key under each of some nodes of the trie: inner node ``i`` has key ``i`` under it, and leaf ``keys - 1 + i`` is key ``i``."""
    return np.where(tops >= keys - 1, tops - (keys - 1), tops)


def _once(pairs: Ids, count: int) -> Ids:
    """Each pair once, the smaller number first, in rising order."""
    low, high = pairs.min(axis=0), pairs.max(axis=0)
    distinct = np.unique(low * max(count, 1) + high)
    return np.stack([distinct // max(count, 1), distinct % max(count, 1)])
