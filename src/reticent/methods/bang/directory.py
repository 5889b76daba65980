"""The directory of an index: regions, one inside the other, the blocks that they leave to each other, and who lies in which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.base.packing import Codes
from reticent.methods.bang._kernels import loops_for
from reticent.methods.bang.cell_space import GridSpace, Ids, Words, common_bits, order_of_keys, sortable
from reticent.methods.bang.partial import PartialTrie

# A block has 10 to 35 neighbours in tables of people.
_MOST_BESIDE = 35
# So many keys or regions at once stay in the cache.
_AT_ONCE = 1 << 16


@dataclass(frozen=True, eq=False)
class KeyTrie:
    """The binary trie of the keys of a table: its ``root``, how many first bits the keys below each inner node share, both children, and the number and ``level`` of the region whose top a node is (-1: none)."""

    root: int
    shared: NDArray[Any]
    left: NDArray[Any]
    right: NDArray[Any]
    region: NDArray[Any]
    level: NDArray[Any]


class KeyLeaves:
    """The keys of a table as leaves of a trie: parts with fewer than ``minimum`` rows, which no region can divide, are one leaf each.

    Keys come sorted, in one portion or in several, so that a table's need not be in memory together. It has state because they do; what there is, is asked for in the end.
    """

    def __init__(self, space: GridSpace, minimum: int) -> None:
        self.space, self.minimum = space, minimum
        self._state = np.zeros(3, dtype=np.int64)
        # No two open parts share the same number of bits with the part before.
        self._open = np.zeros((3, space.depth + 3), dtype=np.int64)
        self._last = np.zeros((space.words, 0), dtype=np.uint64)
        self._keys = np.zeros((0, space.words), dtype=np.uint64)
        self._first, self._rows = (np.zeros(0, dtype=np.int64) for _ in range(2))

    def add(self, keys: Words, rows: Ids) -> None:
        """Take the next keys, rising and none below those before, with their rows; a key may come several times."""
        many = keys.shape[1]
        if not many:
            return
        before = common_bits(np.concatenate([self._last, keys], axis=1))
        before = before if self._last.shape[1] else np.concatenate([[-1], before])
        self._last, count = keys[:, -1:].copy(), int(self._state[1])
        if count + many > len(self._rows):
            for each in (self._keys, self._first, self._rows):
                # In its place: the leaves of a large table are not held twice.
                each.resize((max(count + many, len(each) * 5 // 4), *each.shape[1:]), refcheck=False)
        self._loops(many).prune(
            self.space.depth,
            keys,
            before,
            rows,
            self.minimum,
            self._state,
            *self._open,
            self._keys,
            self._first,
            self._rows,
        )

    def _loops(self, many: int) -> Any:
        return loops_for(many * len(self.space.axes))

    def _closed(self) -> int:
        self._loops(0).close(-1, self.minimum, self._state, *self._open, self._rows)
        return int(self._state[1])

    @cached_property
    def keys(self) -> Words:
        """The first key of every leaf."""
        return self._keys[: self._closed()].T

    @cached_property
    def first(self) -> Ids:
        """How many keys came before those of each leaf."""
        return self._first[: self._closed()]

    @cached_property
    def rows(self) -> Ids:
        """The rows of each leaf."""
        return self._rows[: self._closed()]


@dataclass(frozen=True, eq=False)
class BangDirectory:
    """Recorded regions, in the order of their prefixes, those around before those inside.

    Region ``r`` holds the cells from ``lows[:, r]`` up to, but without, ``highs[:, r]``, and is the innermost for its *block*: those of them that are in no region inside it.
    ``level`` is the number of its halvings, ``encloser`` the region around it (-1: none), ``rows`` the rows of its block. ``trie`` is what the regions were found in.
    ``tried`` are the rows that each block had when it was last found that it cannot be split (None: those that it has).
    """

    space: GridSpace
    lows: Ids
    highs: Ids
    level: Ids
    encloser: Ids
    rows: Ids
    trie: KeyTrie | None = None
    tried: Ids | None = None

    @classmethod
    def built(cls, space: GridSpace, codes: Sequence[Codes], sizes: Ids, minimum: int) -> tuple[BangDirectory, Ids]:
        """The canonical directory of points (their leaves and rows), whatever order these come in; and the region of every point."""
        keys = space.keys(codes)
        order = order_of_keys(keys)
        leaves = KeyLeaves(space, minimum)
        for start in range(0, len(order), _AT_ONCE):
            mine = order[start : start + _AT_ONCE]
            leaves.add(keys[:, mine], sizes[mine])
        del keys
        directory, owner = cls.of_leaves(leaves)
        of_point = np.empty(len(order), dtype=np.int64)
        of_point[order] = np.repeat(owner, np.diff(leaves.first, append=len(order)))
        return directory, of_point

    @classmethod
    def of_leaves(cls, leaves: KeyLeaves) -> tuple[BangDirectory, NDArray[np.int32]]:
        """The canonical directory of the keys that were added to some leaves; and the region of every leaf."""
        space, keys, many = leaves.space, leaves.keys, len(leaves.rows)
        shared = common_bits(keys).astype(np.int16)
        loops, nodes = loops_for(many * len(space.axes)), 2 * many - 1
        left, right = np.zeros((2, max(many - 1, 0)), dtype=np.int32)
        parent, walk, level, region = np.zeros((4, nodes), dtype=np.int32)
        held = np.zeros(nodes, dtype=np.int64)
        root = loops.trie(shared, left, right, parent, walk)
        loops.weigh(left, right, walk, leaves.rows, held)
        loops.divide(root, leaves.minimum, shared, left, right, parent, held, level)
        owner, encloser = np.zeros(many, dtype=np.int32), np.zeros(int((level >= 0).sum()), dtype=np.int64)
        loops.owners(walk, parent, many - 1, level, region, owner, encloser)
        tops: Ids = walk[level[walk] >= 0].astype(np.int64)
        levels = level[tops].astype(np.int64)
        lows, highs = np.empty((2, len(space.axes), len(tops)), dtype=np.int64)
        for start in range(0, len(tops), _AT_ONCE):
            mine = slice(start, start + _AT_ONCE)
            lows[:, mine], highs[:, mine] = space.boxes(
                space.cells_of(keys[:, _key_under(tops[mine], many)]), levels[mine]
            )
        found = KeyTrie(root, shared, left, right, region, level)
        return cls(space, lows, highs, levels, encloser, held[tops], found), owner

    @classmethod
    def recorded(cls, space: GridSpace, lows: Ids, level: Ids, rows: Ids, tried: Ids) -> tuple[BangDirectory, Ids]:
        """The directory of regions that are given by a first cell and a level each, in any order; and the number that each has in it.

        The corners of the regions are enough to tell where they lie in each other: no region inside another one has both corners of it.
        """
        lows, highs = space.boxes(lows, level)
        trie = PartialTrie.of(space.keys_at(np.concatenate([lows, highs - 1], axis=1)), space.depth)
        top = trie.tops(np.arange(len(level)), level)
        levels = trie.levels(top, level)
        tops, encloser, region, _ = trie.nested(levels)
        found = KeyTrie(trie.root, trie.shared, trie.left, trie.right, region.astype(np.int32), levels)
        given = np.empty(len(trie.walk), dtype=np.int64)
        given[top] = np.arange(len(level))
        order = given[tops]
        made = cls(space, lows[:, order], highs[:, order], level[order], encloser, rows[order], found, tried[order])
        return made, region[top]

    def holding(self, keys: Words) -> Ids:
        """The innermost region of every key: the last that begins at or before it, or one around that."""
        (starts, ends), asked = self._ends, sortable(keys)
        found: Ids = np.searchsorted(starts, asked, side="right") - 1
        while True:
            outside = np.flatnonzero(ends[found] < asked)
            if not len(outside):
                return found
            found[outside] = self.encloser[found[outside]]

    @cached_property
    def _ends(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """The keys of the first and of the last cell of every region."""
        return sortable(self.space.keys_at(self.lows)), sortable(self.space.keys_at(self.highs - 1))

    @cached_property
    def neighbours(self) -> NDArray[np.int32]:
        """Pairs of regions that share a face, or of which one lies directly inside the other: all of them, each once, in no order."""
        assert self.trie is not None
        count, trie = len(self), self.trie
        loops = loops_for(_MOST_BESIDE * count * len(self.space.axes))
        one, other, held, inside, branch = np.zeros((5, 2 * count), dtype=np.int32)
        nodes = loops.outlined(
            trie.root, trie.left, trie.right, trie.level, trie.region, one, other, held, inside, branch
        )
        one, other, held, inside, branch = (each[:nodes] for each in (one, other, held, inside, branch))
        # A node that holds no region parts its keys, and is no leaf.
        levels, parting = self.level[inside], held < 0
        levels[parting] = trie.shared[branch[parting]]
        lows, highs = (each.T.astype(np.int32, order="C") for each in self.space.boxes(self.lows[:, inside], levels))
        nested = np.flatnonzero(self.encloser >= 0)
        room = 8 * count * len(self.space.axes)
        while True:
            first, second = np.zeros((2, room), dtype=np.int32)
            found = loops.touching(one, other, held, lows, highs, self.space.depth + 1, first, second)
            if found <= room:
                break
            room = found
        return np.stack(
            [np.concatenate([first[:found], nested]), np.concatenate([second[:found], self.encloser[nested]])]
        ).astype(np.int32)

    def __len__(self) -> int:
        return len(self.level)

    @cached_property
    def volumes(self) -> NDArray[np.float64]:
        """The share of the space that each block has: that of its region without the regions directly inside it."""
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
