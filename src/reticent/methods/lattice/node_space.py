"""The lattice of generalizations as an array: one axis per quasi column, one cell per node."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.core import NodeLevels

# Longer products cost more than they save.
_LONGEST_LADDER = 24
_LARGEST_PRODUCT = 1 << 18


@dataclass(frozen=True)
class NodeSpace:
    """All level vectors from ``floor`` to ``top``, ordered componentwise.

    Results about a node apply to a whole sub-box: its generalizations are :meth:`above` it, its specializations
    :meth:`below` it, and both are slices of the array.
    """

    floor: NodeLevels
    top: NodeLevels

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The number of levels of every column."""
        return tuple(high - low + 1 for low, high in zip(self.floor, self.top, strict=True))

    @cached_property
    def size(self) -> int:
        """The number of nodes."""
        return prod(self.shape)

    def above(self, levels: NodeLevels) -> tuple[slice, ...]:
        """The node and all its generalizations."""
        return tuple(slice(level - low, None) for level, low in zip(levels, self.floor, strict=True))

    def below(self, levels: NodeLevels) -> tuple[slice, ...]:
        """The node and all its specializations."""
        return tuple(slice(None, level - low + 1) for level, low in zip(levels, self.floor, strict=True))

    def at(self, levels: NodeLevels) -> tuple[int, ...]:
        """Return the node's index in the array."""
        return tuple(level - low for level, low in zip(levels, self.floor, strict=True))

    def node(self, index: int) -> NodeLevels:
        """The node at a flat index; flat indices follow the lexicographic order of level vectors."""
        levels = []
        for count, low in zip(reversed(self.shape), reversed(self.floor), strict=True):
            index, digit = divmod(index, count)
            levels.append(digit + low)
        return tuple(reversed(levels))

    def nodes(self) -> Iterator[NodeLevels]:
        """All nodes in lexicographic order."""
        return itertools.product(*(range(low, high + 1) for low, high in zip(self.floor, self.top, strict=True)))

    def specializations(self, levels: NodeLevels) -> Iterator[NodeLevels]:
        """The direct specializations: one column one level finer."""
        for column, (level, low) in enumerate(zip(levels, self.floor, strict=True)):
            if level > low:
                yield (*levels[:column], level - 1, *levels[column + 1 :])

    def generalizations(self, levels: NodeLevels) -> Iterator[NodeLevels]:
        """The direct generalizations: one column one level coarser."""
        for column, (level, high) in enumerate(zip(levels, self.top, strict=True)):
            if level < high:
                yield (*levels[:column], level + 1, *levels[column + 1 :])

    def added(self, tables: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
        """Return the array of sums of one number per column and level (``tables[j][level]``)."""
        inside = [table[low : high + 1] for table, low, high in zip(tables, self.floor, self.top, strict=True)]
        return reduce(np.add.outer, inside, np.zeros(()))

    def accumulated(self, table: NDArray[Any]) -> NDArray[Any]:
        """Return for every node the sum of the table's numbers at itself and its specializations.

        The table has one row per node; the result has one column per node. Exact for integers below 2^53, or 2^24 in
        single precision.
        """
        for ladder in self._ladders:
            # A product sums along one run of columns and moves it behind all others; what remains in front are the
            # table's columns.
            table = _product(table.reshape(len(ladder), -1).T, ladder)
        return table.reshape(-1, self.size)

    @cached_property
    def _ladders(self) -> list[NDArray[Any]]:
        """Return runs of neighbouring columns, each with the matrix whose product sums along it: a one where low is at or below high."""
        ladders: list[NDArray[Any]] = [np.ones((1, 1), dtype=np.float32)]
        for levels in self.shape:
            step = np.tri(levels, dtype=np.float32).T
            if len(ladders[-1]) * levels <= _LONGEST_LADDER:
                # Their Kronecker product; numpy's own is ten times slower for matrices this small.
                side = len(ladders[-1]) * levels
                ladders[-1] = (ladders[-1][:, None, :, None] * step[:, None]).reshape(side, side)
            else:
                ladders.append(step)
        return ladders

    def count_below(self, mask: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Return for every node the number of marked nodes among itself and its specializations."""
        return self.accumulated(mask.astype(np.float32)).reshape(self.shape)

    def count_above(self, mask: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Return for every node the number of marked nodes among itself and its generalizations."""
        # Reversed, every generalization precedes its specializations.
        backwards = self.accumulated(mask.ravel()[::-1].astype(np.float32)).ravel()[::-1]
        return backwards.reshape(self.shape)

    def minimal(self, passing: NDArray[np.bool_]) -> list[NodeLevels]:
        """Return passing nodes without a passing direct specialization, in lexicographic order."""
        minimal = passing.copy()
        for axis in range(passing.ndim):
            finer = [slice(None)] * passing.ndim
            coarser = [slice(None)] * passing.ndim
            finer[axis], coarser[axis] = slice(None, -1), slice(1, None)
            minimal[tuple(coarser)] &= ~passing[tuple(finer)]
        return [self.node(int(index)) for index in np.flatnonzero(minimal)]


def _product(left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    """``left @ right``, in pieces too small for multithreading, which would cost more than it saves."""
    rows = max(_LARGEST_PRODUCT // right.size, 1)
    if len(left) <= rows:
        product: NDArray[Any] = left @ right
        return product
    return np.concatenate([left[start : start + rows] @ right for start in range(0, len(left), rows)])
