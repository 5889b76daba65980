"""The directory of an index: nested regions, their blocks, and the block of every point."""

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

# In microdata a block has 10 to 35 neighbours.
_MOST_BESIDE = 35
# This many keys or regions fit in the cache.
_AT_ONCE = 1 << 16


@dataclass(frozen=True, eq=False)
class KeyTrie:
    """The binary trie of a table's keys: its ``root``, the common prefix length below each inner node, both children, and
    the number and ``level`` of the region whose top is a node (-1: none).
    """

    root: int
    shared: NDArray[Any]
    left: NDArray[Any]
    right: NDArray[Any]
    region: NDArray[Any]
    level: NDArray[Any]


class KeyLeaves:
    """The keys of a table as leaves of a trie: maximal parts with fewer than ``minimum`` rows, which no region can split, are one leaf each.

    Mutable: sorted keys are added in one or several portions, so that a table's keys need not be in memory at once.
    """

    def __init__(self, space: GridSpace, minimum: int) -> None:
        """Start without keys; :func:`.loops.prune` describes the arrays (``_state``: its counters, ``_open``: parts that later keys may still extend)"""
        self.space, self.minimum = space, minimum
        self._state = np.zeros(3, dtype=np.int64)
        # No two open parts have the same common prefix length with their predecessor.
        self._open = np.zeros((3, space.depth + 3), dtype=np.int64)
        self._last = np.zeros((space.words, 0), dtype=np.uint64)
        self._keys = np.zeros((0, space.words), dtype=np.uint64)
        self._first, self._rows = (np.zeros(0, dtype=np.int64) for _ in range(2))

    def add(self, keys: Words, rows: Ids) -> None:
        """Add the next keys, sorted and not below earlier ones, with their rows; a key may be repeated."""
        key_count = keys.shape[1]
        if not key_count:
            return
        common_with_previous = common_bits(np.concatenate([self._last, keys], axis=1))
        common_with_previous = (
            common_with_previous if self._last.shape[1] else np.concatenate([[-1], common_with_previous])
        )
        self._last, count = keys[:, -1:].copy(), int(self._state[1])
        if count + key_count > len(self._rows):
            for array in (self._keys, self._first, self._rows):
                # In place, so that the leaves of a large table are not held twice.
                array.resize((max(count + key_count, len(array) * 5 // 4), *array.shape[1:]), refcheck=False)
        self._loops(key_count).prune(
            self.space.depth,
            keys,
            common_with_previous,
            rows,
            self.minimum,
            self._state,
            *self._open,
            self._keys,
            self._first,
            self._rows,
        )

    def _loops(self, count: int) -> Any:
        return loops_for(count * len(self.space.axes))

    def _closed(self) -> int:
        self._loops(0).close(-1, self.minimum, self._state, *self._open, self._rows)
        return int(self._state[1])

    @cached_property
    def keys(self) -> Words:
        """The first key of every leaf."""
        return self._keys[: self._closed()].T

    @cached_property
    def first(self) -> Ids:
        """The number of keys before those of each leaf."""
        return self._first[: self._closed()]

    @cached_property
    def rows(self) -> Ids:
        """The rows of each leaf."""
        return self._rows[: self._closed()]


@dataclass(frozen=True, eq=False)
class BangDirectory:
    """Regions in prefix order, enclosing ones before enclosed ones.

    Region ``r`` has the cells ``lows[:, r]``..``highs[:, r]`` (half-open). Its *block* is what remains of it without
    the regions inside. ``level`` is the number of its halvings, ``encloser`` the region around it (-1: none), ``rows``
    the rows of its block. ``trie`` is the trie in which the regions were found. ``tried`` is the number of rows each
    block had when it was last found unsplittable (None: the current number).
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
        """Build the canonical directory of points (their leaves and rows), independent of their order, and the region of every point."""
        keys = space.keys(codes)
        order = order_of_keys(keys)
        leaves = KeyLeaves(space, minimum)
        for start in range(0, len(order), _AT_ONCE):
            batch = order[start : start + _AT_ONCE]
            leaves.add(keys[:, batch], sizes[batch])
        del keys
        directory, owner = cls.of_leaves(leaves)
        of_point = np.empty(len(order), dtype=np.int64)
        of_point[order] = np.repeat(owner, np.diff(leaves.first, append=len(order)))
        return directory, of_point

    @classmethod
    def of_leaves(cls, leaves: KeyLeaves) -> tuple[BangDirectory, NDArray[np.int32]]:
        """Build the canonical directory of keys added to leaves, and the region of every leaf."""
        space, keys, leaf_count = leaves.space, leaves.keys, len(leaves.rows)
        shared = common_bits(keys).astype(np.int16)
        loops, nodes = loops_for(leaf_count * len(space.axes)), 2 * leaf_count - 1
        left, right = np.zeros((2, max(leaf_count - 1, 0)), dtype=np.int32)
        parent, walk, level, region = np.zeros((4, nodes), dtype=np.int32)
        rows_under = np.zeros(nodes, dtype=np.int64)
        root = loops.trie(shared, left, right, parent, walk)
        loops.weigh(left, right, walk, leaves.rows, rows_under)
        loops.divide(root, leaves.minimum, shared, left, right, parent, rows_under, level)
        owner, encloser = np.zeros(leaf_count, dtype=np.int32), np.zeros(int((level >= 0).sum()), dtype=np.int64)
        loops.owners(walk, parent, leaf_count - 1, level, region, owner, encloser)
        tops: Ids = walk[level[walk] >= 0].astype(np.int64)
        levels = level[tops].astype(np.int64)
        lows, highs = np.empty((2, len(space.axes), len(tops)), dtype=np.int64)
        for start in range(0, len(tops), _AT_ONCE):
            batch = slice(start, start + _AT_ONCE)
            lows[:, batch], highs[:, batch] = space.boxes(
                space.cells_of(keys[:, _key_under(tops[batch], leaf_count)]), levels[batch]
            )
        trie = KeyTrie(root, shared, left, right, region, level)
        return cls(space, lows, highs, levels, encloser, rows_under[tops], trie), owner

    @classmethod
    def recorded(cls, space: GridSpace, lows: Ids, level: Ids, rows: Ids, tried: Ids) -> tuple[BangDirectory, Ids]:
        """Return the directory of regions given by first cell and level, in any order, and the number of each region in it.

        The corners of the regions determine the nesting: no region inside another contains both of its corners.
        """
        lows, highs = space.boxes(lows, level)
        trie = PartialTrie.of(space.keys_at(np.concatenate([lows, highs - 1], axis=1)), space.depth)
        top = trie.tops(np.arange(len(level)), level)
        levels = trie.levels(top, level)
        tops, encloser, region, _ = trie.nested(levels)
        index_trie = KeyTrie(trie.root, trie.shared, trie.left, trie.right, region.astype(np.int32), levels)
        region_at = np.empty(len(trie.walk), dtype=np.int64)
        region_at[top] = np.arange(len(level))
        order = region_at[tops]
        directory = cls(
            space, lows[:, order], highs[:, order], level[order], encloser, rows[order], index_trie, tried[order]
        )
        return directory, region[top]

    def holding(self, keys: Words) -> Ids:
        """Return the innermost region of every key: the last that begins at or before it, or one of its enclosers."""
        (starts, ends), sought = self._ends, sortable(keys)
        regions: Ids = np.searchsorted(starts, sought, side="right") - 1
        while True:
            outside = np.flatnonzero(ends[regions] < sought)
            if not len(outside):
                return regions
            regions[outside] = self.encloser[regions[outside]]

    @cached_property
    def _ends(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the keys of the first and the last cell of every region."""
        return sortable(self.space.keys_at(self.lows)), sortable(self.space.keys_at(self.highs - 1))

    @cached_property
    def neighbours(self) -> NDArray[np.int32]:
        """Return all pairs of regions that share a face, or of which one is directly inside the other; each once, in no order."""
        assert self.trie is not None
        count, trie = len(self), self.trie
        loops = loops_for(_MOST_BESIDE * count * len(self.space.axes))
        first_part, second_part, region_of_node, inside, branch = np.zeros((5, 2 * count), dtype=np.int32)
        nodes = loops.outlined(
            trie.root,
            trie.left,
            trie.right,
            trie.level,
            trie.region,
            first_part,
            second_part,
            region_of_node,
            inside,
            branch,
        )
        first_part, second_part, region_of_node, inside, branch = (
            array[:nodes] for array in (first_part, second_part, region_of_node, inside, branch)
        )
        # A node without a region separates its keys, so it is not a leaf.
        levels, is_separator = self.level[inside], region_of_node < 0
        levels[is_separator] = trie.shared[branch[is_separator]]
        lows, highs = (
            bounds.T.astype(np.int32, order="C") for bounds in self.space.boxes(self.lows[:, inside], levels)
        )
        nested = np.flatnonzero(self.encloser >= 0)
        capacity = 8 * count * len(self.space.axes)
        while True:
            first, second = np.zeros((2, capacity), dtype=np.int32)
            pair_count = loops.touching(
                first_part, second_part, region_of_node, lows, highs, self.space.depth + 1, first, second
            )
            if pair_count <= capacity:
                break
            capacity = pair_count
        return np.stack(
            [np.concatenate([first[:pair_count], nested]), np.concatenate([second[:pair_count], self.encloser[nested]])]
        ).astype(np.int32)

    def __len__(self) -> int:
        return len(self.level)

    @cached_property
    def volumes(self) -> NDArray[np.float64]:
        """Return the share of the space of each block: its region without the regions directly inside."""
        region_volumes: NDArray[np.float64] = np.ldexp(1.0, -self.level)
        inner = np.flatnonzero(self.encloser >= 0)
        volumes: NDArray[np.float64] = region_volumes - np.bincount(
            self.encloser[inner], weights=region_volumes[inner], minlength=len(self)
        )
        # If nearly all of a region is covered by others, the difference of floats is meaningless.
        for region in np.flatnonzero(volumes <= region_volumes * 1e-9).tolist():
            inner_levels = self.level[inner[self.encloser[inner] == region]]
            exact = Fraction(1, 2 ** int(self.level[region])) - sum(
                Fraction(1, 2 ** int(level)) for level in inner_levels
            )
            volumes[region] = float(exact)
        if not (volumes > 0).all():
            raise AssertionError("a block without a cell")
        return volumes


def halving_arrays(space: GridSpace) -> tuple[Ids, Ids]:
    """Return the axis of each halving, and the shift that brings its bit to the lowest position."""
    halvings = np.array(space.halvings, dtype=np.int64).reshape(-1, 2)
    return halvings[:, 0].copy(), space.bits[halvings[:, 0]] - 1 - halvings[:, 1]


def _key_under(tops: Ids, keys: int) -> Ids:
    """Return a key under each trie node: inner node ``i`` has key ``i`` under it, and leaf ``keys - 1 + i`` is key ``i``."""
    return np.where(tops >= keys - 1, tops - (keys - 1), tops)
