"""Scales: the order in which a column is cut, and how much of the column a group covers once its cell is published."""

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
"""What publishes ranges of numbers; typical values have theirs behind them."""
ShownStyle = Literal["sets", "ranges", "hierarchy", "typical", "stars"]
"""What is shown of a group: as Mondrian publishes it, or its value, starred where there are several."""
Style = TypeVar("Style", CellStyle, ShownStyle)


@dataclass(frozen=True)
class Scale:
    """A column of a partition. ``place_of`` is the place of every leaf in the order of cutting; leaves that are never told apart share one.

    What a group covers depends on what is published of it: its exact values, all values between the lowest and the highest (``spanned``; a
    missing value, at ``null_place``, lies between no others and is covered beside them), or the lowest part of the hierarchy that holds it. For the last ``parts`` tells, level
    by level, the part at every place, and ``covers`` how many leaves it has; without a hierarchy there are no levels.
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
            # The parts of a level lie together, so that the order of their first leaves is theirs.
            firsts = np.full(hierarchy.levels[hierarchy.lowest].size, hierarchy.size)
            np.minimum.at(firsts, hierarchy.levels[hierarchy.lowest].parts, place_of)
            place_of = np.argsort(np.argsort(firsts))[hierarchy.levels[hierarchy.lowest].parts]
        places, leaf_at = np.unique(place_of, return_index=True)
        numbers = range(hierarchy.lowest, hierarchy.height + 1) if by_node else ()
        shape = (len(numbers), len(places))
        parts = np.array([hierarchy.levels[number].parts[leaf_at] for number in numbers], dtype=np.int64).reshape(shape)
        covers = np.array([np.bincount(own)[own] for own in parts], dtype=np.int64)
        null = -1 if hierarchy.null_leaf is None else int(place_of[hierarchy.null_leaf])
        return cls(place_of, values in RANGED and hierarchy.is_numeric, null, parts, covers.reshape(shape))

    @property
    def size(self) -> int:
        """The number of places: that of the leaves, or of the finest parts that may be published."""
        return int(self.parts.shape[1])

    @property
    def apart_null(self) -> int:
        """The place of the missing value where it is covered beside a range; -1 where there is none."""
        return self.null_place if self.spanned else -1

    @property
    def needs_ends(self) -> bool:
        """Whether the number of a group's values is not enough to tell what it covers."""
        return self.spanned or len(self.parts) > 0

    @cached_property
    def barriers(self) -> Ids:
        """At how many levels each place lies apart from the next one; empty where there are no levels."""
        places = np.arange(self.size - 1 if len(self.parts) else 0)
        return self.apart(places, places + 1)

    def covered(self, distinct: Ids, low: Ids, high: Ids, missing: Ids) -> Ids:
        """How many leaves the cells of groups cover, given the number of their values, their first and last place, and whether one is ``missing``.

        Where a missing value is covered beside a range, it is none of the places; a group that has no others ends before it begins.
        """
        if self.spanned:
            spanned: Ids = np.maximum(high - low + 1, 0) + missing
            return spanned
        if not len(self.parts):
            return distinct
        covered = np.full(len(low), self.size)
        for parts, covers in zip(self.parts[::-1], self.covers[::-1], strict=True):
            together = parts[low] == parts[high]
            covered[together] = covers[low[together]]
        return covered

    def apart(self, before: Codes, after: Codes) -> Ids:
        """At how many levels two places lie in different parts: the more, the better is a cut between them."""
        levels: Ids = (self.parts[:, before] != self.parts[:, after]).sum(axis=0)
        return levels


def style_of(hierarchy: BoundHierarchy, values: Style) -> Style:
    """What is published of a column: nodes of its hierarchy where this says which levels may be."""
    return "hierarchy" if hierarchy.is_limited else values


def order_of(hierarchy: BoundHierarchy, *, along_tree: bool) -> Ids:
    """The place of every leaf in the order in which a column is cut: numbers and dates by size, categories as they are listed.

    ``along_tree`` keeps the parts of every level together, each in the place of its first leaf: values that belong together stay
    together longest, and the lowest part that holds two values holds all between them.
    """
    first = hierarchy.leaves.arg_sort(nulls_last=True).to_numpy() if hierarchy.is_numeric else np.arange(hierarchy.size)
    plain = np.empty(hierarchy.size, dtype=np.int64)
    plain[first] = np.arange(hierarchy.size)
    if not along_tree:
        return plain
    keys = [plain]
    for level in hierarchy.levels[1:]:
        start = np.full(level.size, hierarchy.size)
        np.minimum.at(start, level.parts, plain)
        keys.append(start[level.parts])
    places = np.empty(hierarchy.size, dtype=np.int64)
    places[np.lexsort(keys)] = np.arange(hierarchy.size)
    return places
