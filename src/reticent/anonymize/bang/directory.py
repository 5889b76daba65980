"""The directory of an index: regions, one inside the other, the blocks that they leave to each other, and who lies in which (R-BA-4, R-BA-5, R-BA-8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from reticent.anonymize.bang._kernels import loops_for
from reticent.anonymize.bang.space import GridSpace, Ids, common_bits, order_of_keys
from reticent.data import Codes, sum_by


@dataclass(frozen=True, eq=False)
class KeyTrie:
    """The binary trie of the keys of a table: its ``root``, how many first bits the keys below each inner node share, both children, and the number and ``level`` of the region whose top a node is (-1: none)."""

    root: int
    shared: Ids
    left: Ids
    right: Ids
    region: Ids
    level: Ids


@dataclass(frozen=True, eq=False)
class BangDirectory:
    """Recorded regions, in the order of their prefixes, those around before those inside.

    Region ``r`` holds the cells from ``lows[:, r]`` up to, but without, ``highs[:, r]``, and is the innermost for its *block*: those of them that are in no region inside it.
    ``level`` is the number of its halvings, ``encloser`` the region around it (-1: none), ``rows`` the rows of its block. ``trie`` is what the regions were found in.
    """

    space: GridSpace
    lows: Ids
    highs: Ids
    level: Ids
    encloser: Ids
    rows: Ids
    trie: KeyTrie | None = None

    @classmethod
    def built(cls, space: GridSpace, codes: Sequence[Codes], sizes: Ids, minimum: int) -> tuple[BangDirectory, Ids]:
        """The canonical directory of points (their leaves and rows), whatever order these come in; and the region of every point."""
        keys = space.keys(codes)
        order = order_of_keys(keys)
        shared = common_bits(keys[:, order])
        fresh = np.concatenate([[True], shared < space.depth])
        number = np.cumsum(fresh) - 1
        firsts = np.flatnonzero(fresh)
        weights, shared = sum_by(number, sizes[order], len(firsts)), shared[firsts[1:] - 1]
        many = len(firsts)
        loops, nodes = loops_for(many * len(space.axes)), 2 * many - 1
        left, right = np.zeros((2, max(many - 1, 0)), dtype=np.int64)
        parent, walk, held, level, region = np.zeros((5, nodes), dtype=np.int64)
        root = loops.trie(shared, left, right, parent, walk)
        loops.weigh(left, right, walk, weights, held)
        loops.divide(root, minimum, shared, left, right, parent, held, level)
        owner, encloser = np.zeros(many, dtype=np.int64), np.zeros(int((level >= 0).sum()), dtype=np.int64)
        loops.owners(walk, parent, many - 1, level, region, owner, encloser)
        tops = walk[level[walk] >= 0]
        inside = order[firsts[_key_under(tops, many)]]
        lows, highs = space.boxes(space.cells([each[inside] for each in codes]), level[tops])
        found = KeyTrie(root, shared, left, right, region, level)
        of_point = np.empty(len(order), dtype=np.int64)
        of_point[order] = owner[number]
        return cls(space, lows, highs, level[tops], encloser, held[tops], found), of_point

    @cached_property
    def neighbours(self) -> Ids:
        """Pairs of regions that share a face or of which one lies directly inside the other, each pair once (R-BA-9)."""
        assert self.trie is not None
        sides, nested = np.int64(1) << self.space.bits, np.flatnonzero(self.encloser >= 0)
        loops, room = loops_for(len(self) * len(sides)), 4 * len(self) * len(sides)
        while True:
            one, other = np.zeros((2, room), dtype=np.int64)
            found = loops.around(
                self.trie.root, *halving_arrays(self.space), sides, self.trie.shared, self.trie.left, self.trie.right,
                self.trie.region, self.trie.level, self.lows, self.highs, one, other,
            )  # fmt: skip
            if found <= room:
                break
            room = found
        pairs = [np.concatenate([one[:found], nested]), np.concatenate([other[:found], self.encloser[nested]])]
        return _once(np.stack(pairs), len(self))

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
