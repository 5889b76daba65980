"""Nested regions, read from a release alone: the class of a point, and the classes that a condition meets.

The ends of all labels split every column into steps, and a region is a range of steps in each. A point belongs to the
region of the highest level that contains it; a region without the regions directly inside it is its block.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.packing import first_rows, number, pack
from reticent.conditions import Condition, Domain
from reticent.core import Cover, QueriedPeople, cover
from reticent.errors import DataError, PolicyError, did_you_mean
from reticent.table import Interval, Meaning, Missing, Value, ValueType

Ids = NDArray[np.int64]
StepSet = NDArray[np.bool_]
_MOST_HALVINGS = 64
"""Maximum number of halvings of a column."""


@dataclass(frozen=True)
class SteppedColumn:
    """One column: the meaning of each step, and the half-open step range ``lows``..``highs`` of every region."""

    name: str
    steps: tuple[Meaning, ...]
    lows: Ids
    highs: Ids

    @classmethod
    def of(cls, name: str, kind: ValueType, bounds: pl.DataFrame, order: Sequence[str | None]) -> SteppedColumn:
        """Build a column from the plain bounds of its regions: begin, end and, if there is a third column, whether null is included.

        ``order`` lists the values if bounds are ranks; it is empty if bounds are values.
        """
        low, high = bounds.to_series(0), bounds.to_series(1)
        if order:
            value_meanings: list[Meaning] = [
                Missing() if value is None else Value(value) for value in stepped_values(kind, order)
            ]
            return cls(name, tuple(value_meanings), low.to_numpy().astype(np.int64), high.to_numpy().astype(np.int64))
        cuts = pl.concat([low, high]).drop_nulls().unique().sort()
        ends = [None, *cuts.to_list(), None]
        null_words = bounds.to_series(2).to_list() if bounds.width > 2 else []
        null_steps = min(len(null_words), 1)
        steps = [Missing()] * null_steps + [Interval(ends[index], ends[index + 1]) for index in range(len(ends) - 1)]
        lows, highs = _places(low, cuts, 0) + null_steps, _places(high, cuts, len(cuts) + 1) + null_steps
        if null_words:
            lows[np.array([word != "no" for word in null_words])] = 0
            highs[np.array([word == "only" for word in null_words])] = 1
        return cls(name, tuple(steps), lows, highs)

    def met(self, condition: Condition, domain: Domain | None) -> tuple[StepSet, StepSet]:
        """Return the steps in which a condition on this column alone may be met, and those in which it is certainly met."""
        codes = {self.name: np.arange(len(self.steps))}
        covers = condition.covers(codes, {self.name: self.steps}, {} if domain is None else {self.name: domain})
        return covers.possible, covers.certain

    @property
    def listed(self) -> bool:
        """True if every step is a single value, so that a condition is met by all of it or none."""
        return not any(isinstance(step, Interval) for step in self.steps)

    def holds(self, step: Ids) -> StepSet:
        """Mask the regions that contain a step (the first of the given ones, if any)."""
        if not len(step):
            return np.zeros(len(self.lows), dtype=bool)
        contains: StepSet = (self.lows <= step[0]) & (step[0] < self.highs)
        return contains

    def held(self, steps: StepSet) -> Ids:
        """Count how many of some steps every region contains."""
        before = np.concatenate([[0], np.cumsum(steps)])
        counts: Ids = before[self.highs] - before[self.lows]
        return counts


def stepped_values(kind: ValueType, texts: Sequence[str | None]) -> list[Any]:
    """Parse the values of a column from their texts in the table of places."""
    return [text == "true" if kind is ValueType.BOOLEAN and text is not None else text for text in texts]


def _places(ends: pl.Series, cuts: pl.Series, otherwise: int) -> Ids:
    """Return the rank of each end among the cuts, from 1; ``otherwise`` if unbounded."""
    ranks = pl.DataFrame({"end": cuts, "place": np.arange(1, len(cuts) + 1)})
    rank_of = ends.to_frame("end").join(ranks, on="end", how="left", maintain_order="left")["place"]
    return rank_of.fill_null(otherwise).to_numpy().astype(np.int64)


@dataclass(frozen=True, eq=False)
class NestedRegions:
    """The regions of a release: the ``level`` and the ``group`` (class number) of each, column by column in steps.

    ``rows`` is the number of rows of every class. ``domains`` is public knowledge about the columns' values. ``filled``
    has the extents of people in steps if they are published; otherwise it is empty.
    """

    columns: tuple[SteppedColumn, ...]
    level: Ids
    group: pl.Series
    rows: Mapping[int, int]
    domains: Mapping[str, Domain] = field(default_factory=dict)
    filled: tuple[SteppedColumn, ...] = ()

    def at(self, **values: Any) -> int | None:
        """Return the class of a point, given its value in every column: that of the innermost region containing it. None
        if there is none, or if the point is outside that region's extents.
        """
        point = pl.DataFrame({name: [value] for name, value in values.items()})
        contains = np.ones(len(self.level), dtype=bool)
        filled = np.ones(len(self.level), dtype=bool)
        for index, column in enumerate(self.columns):
            if column.name not in values:
                raise PolicyError(f"A point needs a value in every column, but {column.name!r} is missing.")
            step = cover(point[column.name], column.steps, column.name).labels
            contains &= column.holds(step)
            filled &= not self.filled or self.filled[index].holds(step)
        for name in values:
            self.column(name)
        inside = np.flatnonzero(contains)
        if not len(inside):
            return None
        innermost = int(inside[np.argmax(self.level[inside])])
        return int(self.group[innermost]) if filled[innermost] else None

    def within(self, condition: str | Condition) -> list[int]:
        """Return the classes that own a part of what a condition on quasi columns describes, sorted; each part of the
        condition must be about one column.
        """
        parsed = Condition.parse(condition) if isinstance(condition, str) else condition
        for name in parsed.scope:
            self.column(name)
        split = split_by_column(parsed, [column.name for column in self.columns])
        if split is None:
            raise PolicyError(
                f"{parsed.text!r} compares columns with each other, or joins them by 'or'. A range has one condition for each column, joined by 'and'."
            )
        possible, _ = self.met(split)
        return sorted(set(self.group.filter(pl.Series(self.blocks(possible) > 0)).to_list()))

    def column(self, name: str) -> SteppedColumn:
        """Return a column by name."""
        for column in self.columns:
            if column.name == name:
                return column
        raise DataError(
            f"There is no quasi column {name!r}.{did_you_mean(name, [column.name for column in self.columns])}"
        )

    def met(self, conditions: Mapping[str, Condition]) -> tuple[list[StepSet], list[StepSet]]:
        """Return for each column the steps (ranges between neighbouring bounds of regions, or single values) in which its
        condition may be met, and those in which it is certainly met; without a condition, all.
        """
        all_steps = [np.ones(len(column.steps), dtype=bool) for column in self.columns]
        steps_met = [
            column.met(conditions[column.name], self.domains.get(column.name))
            if column.name in conditions
            else (column_steps, column_steps)
            for column, column_steps in zip(self.columns, all_steps, strict=True)
        ]
        return [possible for possible, _ in steps_met], [certain for _, certain in steps_met]

    def blocks(self, steps: Sequence[StepSet]) -> NDArray[Any]:
        """Count the cells of some steps (in all columns together) in every block, as exact integers: those of its region,
        or of its extents, without those of the regions directly inside.
        """
        inner = np.flatnonzero(self.encloser >= 0)
        around = self.encloser[inner]
        region_cells, nested = np.ones(len(self.level), dtype=object), np.ones(len(inner), dtype=object)
        for column, filled, steps_of_column in zip(self.columns, self.filled or self.columns, steps, strict=True):
            region_cells *= filled.held(steps_of_column).astype(object)
            lows = np.maximum(column.lows[inner], filled.lows[around])
            highs = np.maximum(np.minimum(column.highs[inner], filled.highs[around]), lows)
            nested *= replace(column, lows=lows, highs=highs).held(steps_of_column).astype(object)
        np.subtract.at(region_cells, around, nested)
        return region_cells

    def volumes(self, share: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Return the volume of every block, or of the part that a condition covers, given its ``share`` of each region;
        each halving halves the volume.
        """
        region_volumes = np.ldexp(1.0 if share is None else share, -self.level)
        if self.filled:
            # People are spread over the extents; how much of these is in holes is unknown.
            return region_volumes
        inner = np.flatnonzero(self.encloser >= 0)
        block_volumes = region_volumes - np.bincount(
            self.encloser[inner], weights=region_volumes[inner], minlength=len(region_volumes)
        )
        return np.maximum(block_volumes, 0.0)

    @cached_property
    def encloser(self) -> Ids:
        """The region directly around each, -1 if none: the innermost other one that contains its first cell."""
        owners, corner_count = number(
            *pack(
                [column.lows for column in self.columns],
                [len(column.steps) for column in self.columns],
                len(self.level),
            )
        )
        first = first_rows(owners, corner_count)
        covers, values, codes = [], [], []
        for column in self.columns:
            side = len(column.steps) + 1
            ends, code = np.unique(column.lows * side + column.highs, return_inverse=True)
            points, value = np.unique(column.lows[first], return_inverse=True)
            fits = (ends // side <= points[:, None]) & (points[:, None] < ends % side)
            corner_matches, label = np.nonzero(fits)
            covers.append(Cover(corner_matches, label, len(points), len(ends)))
            values.append(value)
            codes.append(code)
        corners = QueriedPeople(
            (), tuple(covers), tuple(values), np.ones(corner_count, dtype=np.int64), np.arange(corner_count)
        )
        pairs = [(fits.people[fits.person], fits.place) for fits in corners.fits(codes)]
        corner, regions = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
        # The regions of a corner sorted by level: each is inside its predecessor if it contains the corner.
        order = np.lexsort((self.level[regions], corner))
        corner, regions = corner[order], regions[order]
        enclosers = np.full(len(self.level), -1, dtype=np.int64)
        is_own_corner = owners[regions] == corner
        after = np.flatnonzero(is_own_corner[1:] & (corner[1:] == corner[:-1])) + 1
        enclosers[regions[after]] = regions[after - 1]
        return enclosers

    def check(self) -> None:
        """Check that the regions cover every point: intersecting regions are nested, the inner one with the higher level,
        and together they cover the space; otherwise raise a :class:`DataError`.

        A region of level ``l`` results from ``l`` halvings, so it has the share 2^-l of the space: outermost regions
        cover all of it, and the regions inside another leave a part of it.
        """
        if (self.level > _MOST_HALVINGS * len(self.columns)).any():
            raise DataError(
                f"The table 'regions' has a level above {_MOST_HALVINGS * len(self.columns)}, which is impossible."
            )
        lows, highs = (
            np.stack([column.lows for column in self.columns]),
            np.stack([column.highs for column in self.columns]),
        )
        if (highs <= lows).any():
            raise DataError("The table 'regions' has a region that holds no value.")
        enclosers, inner = self.encloser, np.flatnonzero(self.encloser >= 0)
        outer = enclosers[inner]
        inside = (lows[:, inner] >= lows[:, outer]).all(axis=0) & (highs[:, inner] <= highs[:, outer]).all(axis=0)
        if not inside.all() or (self.level[inner] <= self.level[outer]).any() or not _apart(lows, highs, enclosers):
            raise DataError(
                "Regions of the table 'regions' overlap. Of two intersecting regions, one must be inside the other and have the higher level."
            )
        all_steps = [np.ones(len(column.steps), dtype=bool) for column in self.columns]
        # Regions cover everything, extents only what is occupied.
        blocks = (replace(self, filled=()) if self.filled else self).blocks(all_steps)
        if sum(blocks) != math.prod(len(steps) for steps in all_steps):
            raise DataError("The regions of the table 'regions' do not cover everything: some points are in no region.")
        if (blocks <= 0).any():
            raise DataError("The table 'regions' has a region that is fully covered by the regions inside it.")
        deepest = int(self.level.max())
        shares = np.array([1 << (deepest - level) for level in self.level.tolist()], dtype=object)
        remaining_share = shares.copy()
        np.subtract.at(remaining_share, outer, shares[inner])
        if shares[enclosers < 0].sum() != 1 << deepest or (remaining_share <= 0).any():
            raise DataError(
                "The levels of the table 'regions' are inconsistent: a region of level l has 2^-l of the space; those inside a region must have less than it, and the outermost ones all of it."
            )
        groups = self.group.to_numpy()
        if (groups[inner] == groups[outer]).any():
            raise DataError("The table 'regions' has a region directly inside another one of its own class.")


def _apart(lows: Ids, highs: Ids, around: Ids) -> bool:
    """True if regions directly inside the same one are disjoint.

    Regions from halvings can be separated by cuts through the whole: cut, axis after axis, wherever no region is
    crossed, until each is alone.
    """
    open_regions = np.arange(len(around))
    _, part_of = np.unique(around, return_inverse=True)
    unchanged, axis = 0, 0
    while len(open_regions) and unchanged < len(lows):
        side = int(highs[axis].max()) + 1
        order = np.lexsort((lows[axis, open_regions], part_of))
        low, high = (part_of[order] * side + bounds[axis, open_regions[order]] for bounds in (lows, highs))
        begins = np.ones(len(open_regions), dtype=bool)
        begins[1:] = low[1:] >= np.maximum.accumulate(high)[:-1]
        # A part starts where another part does; within a part, after everything before.
        begins[1:] |= part_of[order][1:] != part_of[order][:-1]
        new_part = np.cumsum(begins) - 1
        unchanged = 0 if new_part[-1] > len(np.unique(part_of)) - 1 else unchanged + 1
        is_shared = np.bincount(new_part)[new_part] > 1
        open_regions, part_of, axis = open_regions[order][is_shared], new_part[is_shared], (axis + 1) % len(lows)
    return not len(open_regions)


def split_by_column(condition: Condition, columns: Sequence[str]) -> dict[str, Condition] | None:
    """Split a condition into its parts for each of some columns, and for all others together (under an empty name); None
    if a part involves several of these columns, or one of them and others.
    """
    parts_by_column: dict[str, list[Condition]] = {}
    for part in condition.conjuncts:
        own_columns = [name for name in part.scope if name in columns]
        if len(own_columns) > 1 or (own_columns and len(part.scope) > 1):
            return None
        parts_by_column.setdefault(own_columns[0] if own_columns else "", []).append(part)
    return {name: Condition.together(parts) for name, parts in parts_by_column.items()}
