"""The trie of a subset of keys, and regions found in it: the nesting of a directory's regions, and further splits of blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.base.packing import sum_by
from reticent.methods.bang._kernels import loops_for
from reticent.methods.bang.cell_space import Ids, Words, common_bits, order_of_keys

Levels = NDArray[np.int32]
"""A small integer for each node of a trie."""


@dataclass(frozen=True, eq=False)
class PartialTrie:
    """The binary trie of some keys. ``place`` is the leaf of every given key (equal ones share it), ``first`` a given key for each leaf.

    Inner node ``i`` separates leaves ``i`` and ``i + 1``, which share a prefix of ``shared[i]`` bits; leaf ``i`` is
    node ``inner + i``. ``walk`` lists the nodes, parents before children.
    """

    place: Ids
    first: Ids
    shared: Ids
    root: int
    left: Levels
    right: Levels
    parent: Levels
    walk: Levels
    loops: Any

    @classmethod
    def of(cls, keys: Words, depth: int) -> PartialTrie:
        """Build the trie of keys (columns) of ``depth`` bits, in any order."""
        order = order_of_keys(keys)
        shared = common_bits(keys[:, order])
        is_new = np.concatenate([[True], shared < depth])
        leaf_of = np.empty(len(order), dtype=np.int64)
        leaf_of[order] = np.cumsum(is_new) - 1
        firsts = np.flatnonzero(is_new)
        shared = shared[firsts[1:] - 1]
        inner = len(shared)
        loops = loops_for(inner + 1)
        left, right = np.zeros((2, inner), dtype=np.int32)
        parent, walk = np.zeros((2, 2 * inner + 1), dtype=np.int32)
        root = loops.trie(shared, left, right, parent, walk)
        return cls(leaf_of, order[firsts], shared, root, left, right, parent, walk, loops)

    @property
    def inner(self) -> int:
        """The number of inner nodes."""
        return len(self.shared)

    def tops(self, key: Ids, level: Ids) -> Ids:
        """Return the top (highest node inside) of each region, given a key inside it and its level."""
        node = self.inner + self.place[key]
        while True:
            above = self.parent[node].astype(np.int64)
            can_rise = above >= 0
            can_rise[can_rise] = self.shared[above[can_rise]] >= level[can_rise]
            if not can_rise.any():
                return node
            node = np.where(can_rise, above, node)

    def key_under(self, node: Ids) -> Ids:
        """Return a given key under each node."""
        return self.first[np.where(node >= self.inner, node - self.inner, node)]

    def nested(self, level: Levels) -> tuple[Ids, Ids, Ids, Ids]:
        """Return the regions whose tops have a ``level``, in prefix order: their tops, enclosers (-1: none), the region of
        every node, and the innermost of every given key.
        """
        tops: Ids = self.walk[level[self.walk] >= 0].astype(np.int64)
        region = np.zeros(len(self.walk), dtype=np.int32)
        owner, encloser = np.zeros(self.inner + 1, dtype=np.int64), np.zeros(len(tops), dtype=np.int64)
        self.loops.owners(self.walk, self.parent, self.inner, level, region, owner, encloser)
        return tops, encloser, region.astype(np.int64), owner[self.place]

    def levels(self, tops: Ids, level: Ids) -> Levels:
        """Return the levels of regions at their tops, -1 at all other nodes."""
        level_of = np.full(len(self.walk), -1, dtype=np.int32)
        level_of[tops] = level
        return level_of

    def divided(self, level: Levels, weights: Ids, waiting: Ids, minimum: int) -> tuple[Levels, Ids]:
        """Split the regions whose tops are ``waiting``, in order, while both parts keep ``minimum`` rows; ``weights`` are
        the rows of every given key. Return the new levels, and the rows of each region at its top.
        """
        level, rows_of_region = level.copy(), np.zeros(len(self.walk), dtype=np.int64)
        self.loops.weigh_apart(
            self.left, self.right, self.walk, sum_by(self.place, weights, self.inner + 1), level, rows_of_region
        )
        stack = np.empty(len(self.walk) + 1, dtype=np.int64)
        stack[: len(waiting)] = waiting[::-1]
        self.loops.divide_further(
            stack, len(waiting), minimum, self.shared, self.left, self.right, self.parent, rows_of_region, level
        )
        return level, rows_of_region
