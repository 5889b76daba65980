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
    def of(cls, directory: BangDirectory, merge_order: MergeOrder) -> Dendrogram:
        """Build the dendrogram of a directory: merge neighbouring blocks in the given order, then what remains unconnected."""
        count, axes = len(directory), len(directory.space.axes)
        neighbour_pairs = directory.neighbours
        loops = loops_for(2 * neighbour_pairs.shape[1] * axes)
        sides = (np.int64(1) << directory.space.bits).astype(np.float64)
        rows, volume = np.zeros(2 * count, dtype=np.int64), np.ones(2 * count)
        lows, highs = np.zeros((2, axes, 2 * count), dtype=np.int32)
        rows[:count], volume[:count] = directory.rows, directory.volumes
        lows[:, :count], highs[:, :count] = directory.lows, directory.highs
        pairs = np.zeros((count - 1, 2), dtype=np.int64)
        starts, neighbour_list = (
            np.zeros(count + 1, dtype=np.int64),
            np.zeros(2 * neighbour_pairs.shape[1], dtype=np.int64),
        )
        loops.listed(neighbour_pairs[0], neighbour_pairs[1], starts, neighbour_list)
        density = directory.rows / directory.volumes
        if merge_order == "balanced":
            entries = len(neighbour_list)
            link = np.arange(1, entries + 1)
            link[starts[1:][np.diff(starts) > 0] - 1] = -1
            head = np.where(np.diff(starts) > 0, starts[:-1], -1)
            merge_count = loops.balanced(rows, volume, lows, highs, sides, head, link, neighbour_list, pairs)
        elif merge_order == "gridclus":
            # The neighbours of a block, densest first.
            owners = np.repeat(np.arange(count), np.diff(starts))
            neighbour_list = neighbour_list[np.lexsort((neighbour_list, -density[neighbour_list], owners))]
            by_density = np.lexsort((np.arange(count), -density))
            merge_count = loops.by_density(rows, volume, lows, highs, starts, neighbour_list, by_density, pairs)
        else:
            merge_count = loops.by_gap(rows, volume, lows, highs, starts, neighbour_list, pairs)
        loops.connected(merge_count, rows, volume, lows, highs, sides, pairs)
        cluster_count = 2 * count - 1
        starts, stops, order = *np.zeros((2, cluster_count), dtype=np.int64), np.zeros(count, dtype=np.int64)
        loops.laid_out(pairs, starts, stops, order)
        return cls(pairs, rows[:cluster_count], lows[:, :cluster_count], highs[:, :cluster_count], order, starts, stops)

    def __len__(self) -> int:
        """Return the number of blocks."""
        return len(self.order)

    def standing(self, wanted: Wanted) -> Ids:
        """Return the clusters of a cut: from the root down, a cluster is split while ``wanted`` is True for both parts."""
        blocks, finished = len(self), []
        pending = np.array([2 * blocks - 2])
        while len(pending):
            merged_clusters = pending[pending >= blocks]
            children = self.pairs[merged_clusters - blocks]
            is_split = wanted(children.reshape(-1)).reshape(-1, 2).all(axis=1)
            finished += [pending[pending < blocks], merged_clusters[~is_split]]
            pending = children[is_split].reshape(-1)
        return np.concatenate(finished)

    @cached_property
    def smaller(self) -> Ids:
        """The rows of the smaller part of every merge."""
        sizes: Ids = self.rows[self.pairs].min(axis=1) if len(self.pairs) else np.zeros(0, dtype=np.int64)
        return sizes

    def at(self, k: int) -> Ids:
        """Return the clusters of the cut in which each has at least ``k`` rows (the whole table may have fewer).

        They are the maximal clusters with a part of fewer rows, and the blocks in none of them: a cut can end nowhere
        else.
        """
        blocks = len(self)
        small = np.flatnonzero(self.smaller < k) + blocks
        coverage = np.bincount(self.starts[small] + 1, minlength=blocks + 1) - np.bincount(
            self.stops[small], minlength=blocks + 1
        )
        begins = np.flatnonzero(np.cumsum(coverage)[:blocks] == 0)
        clusters = self.order[begins]
        rank_of = np.cumsum(np.bincount(begins, minlength=blocks)) - 1
        ranks = rank_of[self.starts[small]]
        is_maximal = self.stops[small] == np.append(begins[1:], blocks)[ranks]
        is_maximal &= self.starts[small] == begins[ranks]
        clusters[ranks[is_maximal]] = small[is_maximal]
        return clusters

    def classes(self, clusters: Ids) -> Ids:
        """Return the class of every block: the index of its cluster among ``clusters``, which partition the blocks.

        Every cluster is a segment of ``order``, so the classes follow from the lengths of the segments.
        """
        in_block_order = np.argsort(self.starts[clusters])
        group = np.empty(len(self), dtype=np.int64)
        group[self.order] = np.repeat(in_block_order, (self.stops - self.starts)[clusters][in_block_order])
        return group

    def merged(self, blocks: Groups, clusters: Ids) -> Groups:
        """Return disjoint clusters as groups, merged from the groups of all ``blocks``; blocks in no cluster are ignored."""
        sizes = (self.stops - self.starts)[clusters]
        positions = np.repeat(self.starts[clusters], sizes)
        positions += np.arange(len(positions)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        ids = np.full(len(self), len(clusters), dtype=np.int32)
        ids[self.order[positions]] = np.repeat(np.arange(len(clusters)), sizes)
        merged = blocks.merged(ids, len(clusters) + 1)
        return merged.select(np.arange(len(clusters) + 1) < len(clusters))
