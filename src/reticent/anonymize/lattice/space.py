"""The lattice of generalizations as an array: one axis per quasi column, one cell per node (R-LD-3)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.data.frequencies import Levels


@dataclass(frozen=True)
class Space:
    """All level vectors from ``floor`` to ``top``, ordered componentwise.

    What is known about a node holds for a whole sub-box: its generalizations are :meth:`above` it, its
    specializations :meth:`below` it, and both are slices of the array.
    """

    floor: Levels
    top: Levels

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The number of levels of every column."""
        return tuple(high - low + 1 for low, high in zip(self.floor, self.top, strict=True))

    @cached_property
    def size(self) -> int:
        """The number of nodes."""
        return prod(self.shape)

    def above(self, levels: Levels) -> tuple[slice, ...]:
        """The node and all its generalizations."""
        return tuple(slice(level - low, None) for level, low in zip(levels, self.floor, strict=True))

    def below(self, levels: Levels) -> tuple[slice, ...]:
        """The node and all its specializations."""
        return tuple(slice(None, level - low + 1) for level, low in zip(levels, self.floor, strict=True))

    def at(self, levels: Levels) -> tuple[int, ...]:
        """The node's place in the array."""
        return tuple(level - low for level, low in zip(levels, self.floor, strict=True))

    def node(self, index: int) -> Levels:
        """The node at a flat index; flat indices follow the lexicographic order of level vectors."""
        place = np.unravel_index(index, self.shape)
        return tuple(int(part) + low for part, low in zip(place, self.floor, strict=True))

    def nodes(self) -> Iterator[Levels]:
        """All nodes in lexicographic order."""
        return itertools.product(*(range(low, high + 1) for low, high in zip(self.floor, self.top, strict=True)))

    def specializations(self, levels: Levels) -> Iterator[Levels]:
        """The direct specializations: one column one level finer."""
        for column, (level, low) in enumerate(zip(levels, self.floor, strict=True)):
            if level > low:
                yield (*levels[:column], level - 1, *levels[column + 1 :])

    def generalizations(self, levels: Levels) -> Iterator[Levels]:
        """The direct generalizations: one column one level coarser."""
        for column, (level, high) in enumerate(zip(levels, self.top, strict=True)):
            if level < high:
                yield (*levels[:column], level + 1, *levels[column + 1 :])

    def added(self, tables: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
        """The array whose node has the sum of one number per column and level (``tables[j][level]``)."""
        total = np.zeros(self.shape)
        for column, table in enumerate(tables):
            shape = [1] * len(self.shape)
            shape[column] = -1
            total += table[self.floor[column] : self.top[column] + 1].reshape(shape)
        return total

    def corner(self, mask: NDArray[np.bool_]) -> Levels:
        """The finest node that all marked nodes generalize."""
        places = np.unravel_index(np.flatnonzero(mask), self.shape)
        return tuple(int(place.min()) + low for place, low in zip(places, self.floor, strict=True))

    def minimal(self, passing: NDArray[np.bool_]) -> list[Levels]:
        """Passing nodes without a passing direct specialization, in lexicographic order (R-LD-23)."""
        minimal = passing.copy()
        for axis in range(passing.ndim):
            finer = [slice(None)] * passing.ndim
            coarser = [slice(None)] * passing.ndim
            finer[axis], coarser[axis] = slice(None, -1), slice(1, None)
            minimal[tuple(coarser)] &= ~passing[tuple(finer)]
        return [self.node(int(index)) for index in np.flatnonzero(minimal)]


def accumulate(table: NDArray[Any], axes: int) -> NDArray[Any]:
    """Add up along the first ``axes`` axes: each cell becomes the sum of the cells at or below it. Overwrites the table.

    Axes are short, so adding slice to slice beats a cumulative sum along the axis, as long as slices are long runs of memory: the
    second half of the axes is therefore brought to the front first.
    """
    half = axes // 2
    _add_slices(table, half)
    order = (*range(half, axes), *range(half), *range(axes, table.ndim))
    turned = np.ascontiguousarray(table.transpose(order))
    _add_slices(turned, axes - half)
    return turned.transpose(np.argsort(order))


def _add_slices(table: NDArray[Any], axes: int) -> None:
    for axis in range(axes):
        before: tuple[Any, ...] = (slice(None),) * axis
        for level in range(1, table.shape[axis]):
            table[(*before, level)] += table[(*before, level - 1)]


def count_below(mask: NDArray[np.bool_]) -> NDArray[Any]:
    """For every node the number of marked nodes among itself and its specializations."""
    return accumulate(mask.astype(np.int32), mask.ndim)


def count_above(mask: NDArray[np.bool_]) -> NDArray[Any]:
    """For every node the number of marked nodes among itself and its generalizations."""
    flip = (slice(None, None, -1),) * mask.ndim
    return count_below(mask[flip])[flip]
