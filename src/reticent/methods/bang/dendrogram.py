"""The dendrogram of blocks, and cuts through it: classes of at least k rows for any k, without reading the data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from reticent.core import Groups
from reticent.methods.bang._kernels import loops_for
from reticent.methods.bang.cell_space import Ids
from reticent.methods.bang.directory import BangDirectory

MergeOrder = Literal["balanced", "gridclus", "closest"]
ORDERS: tuple[MergeOrder, ...] = ("balanced", "gridclus", "closest")
Wanted = Callable[[Ids], NDArray[np.bool_]]
"""Predicate over clusters: True if a cluster may be a class."""


@dataclass(frozen=True, eq=False)
class Dendrogram:
    """Merges of ``b`` blocks: clusters below ``b`` are blocks, and cluster ``b + i`` is the union of ``pairs[i]``. The last one is everything.

    ``rows`` is the number of rows of every cluster, and ``lows``..``highs`` its bounding box: a half-open cell range on
    each axis (row). Cluster ``c`` is the segment ``starts[c]``..``stops[c]`` (half-open) of the ``order`` of blocks.
    """

    pairs: Ids
    rows: Ids
    lows: NDArray[np.int32]
    highs: NDArray[np.int32]
    order: Ids
    starts: Ids
    stops: Ids

    @classmethod
    def of(cls, directory: BangDirectory, how: MergeOrder) -> Dendrogram:
        """Merge the blocks of a directory."""
        count, axes = len(directory), len(directory.space.axes)
        near = directory.neighbours
        loops = loops_for(2 * near.shape[1] * axes)
        sides = (np.int64(1) << directory.space.bits).astype(np.float64)
        rows, volume = np.zeros(2 * count, dtype=np.int64), np.ones(2 * count)
        lows, highs = np.zeros((2, axes, 2 * count), dtype=np.int32)
        rows[:count], volume[:count] = directory.rows, directory.volumes
        lows[:, :count], highs[:, :count] = directory.lows, directory.highs
        pairs = np.zeros((count - 1, 2), dtype=np.int64)
        starts, beside = np.zeros(count + 1, dtype=np.int64), np.zeros(2 * near.shape[1], dtype=np.int64)
        loops.listed(near[0], near[1], starts, beside)
        density = directory.rows / directory.volumes
        if how == "balanced":
            entries = len(beside)
            link = np.arange(1, entries + 1)
            link[starts[1:][np.diff(starts) > 0] - 1] = -1
            head = np.where(np.diff(starts) > 0, starts[:-1], -1)
            made = loops.balanced(rows, volume, lows, highs, sides, head, link, beside, pairs)
        elif how == "gridclus":
            # The neighbours of a block, densest first.
            owners = np.repeat(np.arange(count), np.diff(starts))
            beside = beside[np.lexsort((beside, -density[beside], owners))]
            falling = np.lexsort((np.arange(count), -density))
            made = loops.by_density(rows, volume, lows, highs, starts, beside, falling, pairs)
        else:
            made = loops.by_gap(rows, volume, lows, highs, starts, beside, pairs)
        loops.connected(made, rows, volume, lows, highs, sides, pairs)
        every = 2 * count - 1
        starts, stops, order = *np.zeros((2, every), dtype=np.int64), np.zeros(count, dtype=np.int64)
        loops.laid_out(pairs, starts, stops, order)
        return cls(pairs, rows[:every], lows[:, :every], highs[:, :every], order, starts, stops)

    def __len__(self) -> int:
        """Return the number of blocks."""
        return len(self.order)

    def standing(self, wanted: Wanted) -> Ids:
        """Return the clusters of a cut: from the root down, a cluster is split while both parts are ``wanted``."""
        blocks, kept = len(self), []
        open_ = np.array([2 * blocks - 2])
        while len(open_):
            inner = open_[open_ >= blocks]
            parts = self.pairs[inner - blocks]
            parted = wanted(parts.reshape(-1)).reshape(-1, 2).all(axis=1)
            kept += [open_[open_ < blocks], inner[~parted]]
            open_ = parts[parted].reshape(-1)
        return np.concatenate(kept)

    @cached_property
    def smaller(self) -> Ids:
        """The rows of the smaller part of every merge."""
        found: Ids = self.rows[self.pairs].min(axis=1) if len(self.pairs) else np.zeros(0, dtype=np.int64)
        return found

    def at(self, k: int) -> Ids:
        """Return the clusters of the cut in which each has at least ``k`` rows (the whole table may have fewer).

        They are the maximal clusters with a part of fewer rows, and the blocks in none of them: a cut can end nowhere
        else.
        """
        blocks = len(self)
        whole = np.flatnonzero(self.smaller < k) + blocks
        inside = np.bincount(self.starts[whole] + 1, minlength=blocks + 1) - np.bincount(
            self.stops[whole], minlength=blocks + 1
        )
        begins = np.flatnonzero(np.cumsum(inside)[:blocks] == 0)
        found = self.order[begins]
        place = np.cumsum(np.bincount(begins, minlength=blocks)) - 1
        mine = place[self.starts[whole]]
        largest = self.stops[whole] == np.append(begins[1:], blocks)[mine]
        largest &= self.starts[whole] == begins[mine]
        found[mine[largest]] = whole[largest]
        return found

    def classes(self, clusters: Ids) -> Ids:
        """Return the class of every block: the index of its cluster among ``clusters``, which partition the blocks."""
        along = np.argsort(self.starts[clusters])
        group = np.empty(len(self), dtype=np.int64)
        group[self.order] = np.repeat(along, (self.stops - self.starts)[clusters][along])
        return group

    def merged(self, blocks: Groups, clusters: Ids) -> Groups:
        """Return disjoint clusters as groups; blocks in no cluster are ignored."""
        many = (self.stops - self.starts)[clusters]
        places = np.repeat(self.starts[clusters], many)
        places += np.arange(len(places)) - np.repeat(np.cumsum(many) - many, many)
        ids = np.full(len(self), len(clusters), dtype=np.int32)
        ids[self.order[places]] = np.repeat(np.arange(len(clusters)), many)
        merged = blocks.merged(ids, len(clusters) + 1)
        return merged.select(np.arange(len(clusters) + 1) < len(clusters))
