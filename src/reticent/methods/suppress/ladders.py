"""Ladders: the ways to generalize or suppress a cell, column by column, with their integer costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import lcm
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from reticent.base.packing import Codes, number, pack, sum_by
from reticent.table import BoundHierarchy

Ids = NDArray[np.int64]
Mask = NDArray[np.bool_]
Hiding = Literal["stars", "hierarchy"]
Pattern = tuple[int, ...]
"""A rung for every column."""


@dataclass(frozen=True)
class Ladder:
    """One column: on rung ``r`` a value shows only its part ``parts[r][leaf]``, at ``costs[r]`` units per row; rung 0 is the value itself.

    The last rung of a suppressible column has a single part. A column that must be kept has one rung, and one with
    limited levels may end below full suppression.
    """

    parts: tuple[NDArray[np.int32], ...]
    costs: tuple[int, ...]

    @property
    def top(self) -> int:
        """The highest rung."""
        return len(self.parts) - 1

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of parts of each rung."""
        return tuple(int(parts.max(initial=0)) + 1 for parts in self.parts)


def ladders_of(
    hierarchies: Sequence[BoundHierarchy],
    weights: Mapping[str, Fraction],
    keep: Sequence[str],
    hiding: Hiding,
) -> tuple[tuple[Ladder, ...], int]:
    """Return the ladder of every column, and how many units make one suppressed cell of weight 1.

    With ``stars`` a cell is shown or suppressed. With ``hierarchy`` a cell may show a node of its hierarchy: of l rungs
    above the value, rung h costs h/l of the column's weight. A hierarchy without a single top node gets a star on top,
    unless its levels are limited; rung 0 is the lowest level that may be published.
    """
    shares = []
    for hierarchy in hierarchies:
        levels = hierarchy.levels[hierarchy.lowest :] if hiding == "hierarchy" else hierarchy.levels[:1]
        # Above the first level with a single part there is nothing more to hide.
        tops = [level_index for level_index, level in enumerate(levels) if level_index and level.size == 1]
        parts = [level.parts for level in levels[: tops[0] + 1 if tops else None]]
        if hierarchy.column in keep:
            parts = parts[:1]
        elif not hierarchy.capped and (len(parts) == 1 or int(parts[-1].max(initial=0)) > 0):
            parts.append(np.zeros(hierarchy.size, dtype=np.int32))
        weight = weights.get(hierarchy.column, Fraction(1))
        shares.append((parts, [weight * rung / max(len(parts) - 1, 1) for rung in range(len(parts))]))
    unit = lcm(*(cost.denominator for _, costs in shares for cost in costs))
    return tuple(Ladder(tuple(parts), tuple(int(cost * unit) for cost in costs)) for parts, costs in shares), unit


@dataclass(frozen=True)
class Units:
    """What is suppressed together or not at all: single rows, or all rows of a point.

    ``codes`` has the leaf of every unit in each column. Unit ``u`` represents ``rows[u]`` rows, which determine cost,
    and ``people[u]`` people, who count for the ``least`` size of a class.
    """

    ladders: tuple[Ladder, ...]
    codes: tuple[Codes, ...]
    rows: Ids
    people: Ids
    least: int

    def __len__(self) -> int:
        return len(self.rows)

    def select(self, chosen: NDArray[Any]) -> Units:
        """Select some of the units."""
        return replace(
            self, codes=tuple(code[chosen] for code in self.codes), rows=self.rows[chosen], people=self.people[chosen]
        )

    @cached_property
    def points(self) -> tuple[Ids, int]:
        """Return the point number of every unit, in leaf order, and the number of points."""
        return self.alike((0,) * len(self.ladders), np.arange(len(self)))

    def alike(self, pattern: Pattern, chosen: Ids) -> tuple[Ids, int]:
        """Number the ``chosen`` units by what they show if each column is generalized to the pattern's level (rung): return a
        number for each unit, equal for equal labels, and the count of distinct numbers.
        """
        parts, sizes = [], []
        for ladder, codes, rung in zip(self.ladders, self.codes, pattern, strict=True):
            if ladder.sizes[rung] > 1:
                parts.append(ladder.parts[rung].take(codes.take(chosen)))
                sizes.append(ladder.sizes[rung])
        ids, count = number(*pack(parts, sizes, len(chosen)))
        return ids.astype(np.int64, copy=False), count

    def rungs(self, group: Ids, count: int) -> NDArray[np.int64]:
        """Return for every group and column the lowest generalization level (rung) at which all its units are equal; one above the last if none."""
        lowest = np.empty((count, len(self.ladders)), dtype=np.int64)
        for column, (ladder, codes) in enumerate(zip(self.ladders, self.codes, strict=True)):
            lowest[:, column] = ladder.top + 1
            for rung in range(ladder.top, -1, -1):
                parts = ladder.parts[rung].take(codes)
                first = np.zeros(count, dtype=parts.dtype)
                first[group] = parts
                differing = np.zeros(count, dtype=bool)
                differing[group[parts != first[group]]] = True
                lowest[~differing, column] = rung
        return lowest

    def prices(self, group: Ids, count: int) -> Ids:
        """Return the cost of a row of each group."""
        return self.priced(self.rungs(group, count))

    def priced(self, rungs: NDArray[np.int64]) -> Ids:
        """Return the cost of a row that shows these rungs, one row of rungs for each group."""
        tables = [np.array(ladder.costs) for ladder in self.ladders]
        cost_of_group: Ids = np.zeros(len(rungs), dtype=np.int64)
        for column, table in enumerate(tables):
            cost_of_group += table[rungs[:, column]]
        return cost_of_group

    def cost(self, group: Ids) -> int:
        """Return the cost of a partition: the cells of all rows. A suppressed unit (-1) costs all its cells."""
        is_placed = group >= 0
        count = int(group.max(initial=-1)) + 1
        prices = self.select(is_placed).prices(group[is_placed], count)
        rows = sum_by(group[is_placed], self.rows[is_placed], count)
        return int(prices @ rows) + int(self.rows[~is_placed].sum()) * self.full

    @property
    def full(self) -> int:
        """The cost of a fully suppressed row."""
        return sum(ladder.costs[-1] for ladder in self.ladders)

    @cached_property
    def apart(self) -> tuple[Ids, int]:
        """Return the block of each unit, and the number of blocks: only units of one block can share a class. Kept columns separate blocks."""
        return self.alike(tuple(ladder.top for ladder in self.ladders), np.arange(len(self)))

    def distances(self, some: Ids, others: Ids) -> NDArray[np.int64]:
        """Return the cost of a row in a class of two, for each of some units (rows) with each of others (columns)."""
        total = np.zeros((len(some), len(others)), dtype=np.int64)
        for ladder, codes in zip(self.ladders, self.codes, strict=True):
            steps = np.diff(ladder.costs)
            for rung, step in enumerate(steps.tolist()):
                parts = ladder.parts[rung].take(codes)
                total += step * (parts[some][:, None] != parts[others][None, :])
        return total
