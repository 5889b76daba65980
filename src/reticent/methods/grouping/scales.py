"""Scales: the split order of a column, and the number of its leaves that the published cell of a group covers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from reticent.base.packing import Codes
from reticent.table import BoundHierarchy

Ids = NDArray[np.int64]
CellStyle = Literal["sets", "ranges", "hierarchy", "typical"]
RANGED: tuple[CellStyle, ...] = ("ranges", "typical")
"""Styles that publish ranges of numbers; typical values are accompanied by a table of ranges."""
ShownStyle = Literal["sets", "ranges", "hierarchy", "typical", "stars"]
"""Style of the labels of a group: as in Mondrian, or its only value with ``*`` in place of several."""
Style = TypeVar("Style", CellStyle, ShownStyle)


@dataclass(frozen=True)
class Scale:
    """A column of a partition. ``place_of`` is the rank of every leaf in split order; leaves that are never separated share a rank.

    The leaves that a group covers depend on the style of its label: its exact values, all values between the lowest and the highest (``spanned``; a
    missing value, at rank ``null_place``, belongs to no range and is covered in addition), or the lowest hierarchy node that covers them. For nodes, ``parts`` holds, level
    by level, the node at every rank, and ``covers`` its number of leaves; both are empty without a hierarchy.
    """

    place_of: Ids
    spanned: bool
    null_place: int
    parts: Ids
    covers: Ids

    @classmethod
    def of(cls, hierarchy: BoundHierarchy, values: CellStyle) -> Scale:
        """The scale of a column of which ``values`` are published."""
        values = style_of(hierarchy, values)
        by_node = values == "hierarchy"
        place_of = order_of(hierarchy, along_tree=by_node or not hierarchy.is_numeric)
        if hierarchy.lowest:
            # The leaves of a node have consecutive ranks, so nodes are ordered by their first leaves.
            firsts = np.full(hierarchy.levels[hierarchy.lowest].size, hierarchy.size)
            np.minimum.at(firsts, hierarchy.levels[hierarchy.lowest].parts, place_of)
            place_of = np.argsort(np.argsort(firsts))[hierarchy.levels[hierarchy.lowest].parts]
        ranks, leaf_at = np.unique(place_of, return_index=True)
        numbers = range(hierarchy.lowest, hierarchy.height + 1) if by_node else ()
        table_shape = (len(numbers), len(ranks))
        parts = np.array([hierarchy.levels[number].parts[leaf_at] for number in numbers], dtype=np.int64).reshape(
            table_shape
        )
        covers = np.array([np.bincount(node_of_rank)[node_of_rank] for node_of_rank in parts], dtype=np.int64)
        null_place = -1 if hierarchy.null_leaf is None else int(place_of[hierarchy.null_leaf])
        return cls(place_of, values in RANGED and hierarchy.is_numeric, null_place, parts, covers.reshape(table_shape))

    @property
    def size(self) -> int:
        """The number of ranks: one per leaf, or per node of the finest level that may be published."""
        return int(self.parts.shape[1])

    @property
    def apart_null(self) -> int:
        """The rank of the missing value if it is covered in addition to a range, else -1."""
        return self.null_place if self.spanned else -1

    @property
    def needs_ends(self) -> bool:
        """Whether the leaves that a group covers depend on its lowest and highest rank, not only on its number of values."""
        return self.spanned or len(self.parts) > 0

    @cached_property
    def barriers(self) -> Ids:
        """For each rank the number of levels at which it and the next rank belong to different nodes; empty without levels."""
        ranks = np.arange(self.size - 1 if len(self.parts) else 0)
        return self.apart(ranks, ranks + 1)

    def covered(self, distinct: Ids, low: Ids, high: Ids, missing: Ids) -> Ids:
        """The number of leaves that the cells of groups cover, given their number of distinct values, lowest and highest rank, and whether a value is ``missing``.

        If the missing value is covered in addition to a range, its rank is not part of ``low`` and ``high``; a group without other values has ``high < low``.
        """
        if self.spanned:
            spanned: Ids = np.maximum(high - low + 1, 0) + missing
            return spanned
        if not len(self.parts):
            return distinct
        covered = np.full(len(low), self.size)
        for parts, covers in zip(self.parts[::-1], self.covers[::-1], strict=True):
            same_node = parts[low] == parts[high]
            covered[same_node] = covers[low[same_node]]
        return covered

    def apart(self, before: Codes, after: Codes) -> Ids:
        """The number of levels at which two ranks belong to different nodes; splits with more levels are preferred."""
        levels: Ids = (self.parts[:, before] != self.parts[:, after]).sum(axis=0)
        return levels


def style_of(hierarchy: BoundHierarchy, values: Style) -> Style:
    """The style of a column's labels: nodes of its hierarchy if this limits the levels, else ``values``."""
    return "hierarchy" if hierarchy.is_limited else values


def order_of(hierarchy: BoundHierarchy, *, along_tree: bool) -> Ids:
    """The rank of every leaf in the split order of a column: numbers and dates ascending, categories as listed.

    With ``along_tree`` the leaves of every hierarchy node are consecutive, and nodes are ordered by their first leaves: related values are
    separated last, and the lowest node that covers two values covers all values between them.
    """
    leaves_in_order = (
        hierarchy.leaves.arg_sort(nulls_last=True).to_numpy() if hierarchy.is_numeric else np.arange(hierarchy.size)
    )
    listed_order = np.empty(hierarchy.size, dtype=np.int64)
    listed_order[leaves_in_order] = np.arange(hierarchy.size)
    if not along_tree:
        return listed_order
    keys = [listed_order]
    for level in hierarchy.levels[1:]:
        first_of_node = np.full(level.size, hierarchy.size)
        np.minimum.at(first_of_node, level.parts, listed_order)
        keys.append(first_of_node[level.parts])
    ranks = np.empty(hierarchy.size, dtype=np.int64)
    ranks[np.lexsort(keys)] = np.arange(hierarchy.size)
    return ranks
