"""Regions one inside the other, read from a release alone: which class holds a point, and which classes a condition meets (R-BA-12, R-BA-13).

The ends of all labels cut every column into steps, and a region is a range of steps in each. Of the regions that hold a point the one of the greatest level has it; the rest of a region, without the
regions directly inside it, is its block.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.data import AskedPeople, Cover, Interval, Meaning, Missing, Value, ValueType, cover
from reticent.data.predicate import Condition, Domain
from reticent.errors import DataError, PolicyError, did_you_mean

Ids = NDArray[np.int64]
StepSet = NDArray[np.bool_]


@dataclass(frozen=True)
class SteppedColumn:
    """One column: what each of its steps stands for, and the steps from ``lows`` up to ``highs`` of every region."""

    name: str
    steps: tuple[Meaning, ...]
    lows: Ids
    highs: Ids

    @classmethod
    def of(cls, name: str, kind: ValueType, bounds: pl.DataFrame, order: Sequence[str | None]) -> SteppedColumn:
        """A column from the plain bounds of its regions: where each begins, before what it ends and, if there is a third column, whether a missing value is in it.

        ``order`` has the values of a column whose bounds are places of values; it is empty where bounds are values themselves.
        """
        low, high = bounds.to_series(0), bounds.to_series(1)
        if order:
            texts = [text == "true" if kind is ValueType.BOOLEAN and text is not None else text for text in order]
            listed: list[Meaning] = [Missing() if each is None else Value(each) for each in texts]
            return cls(name, tuple(listed), low.to_numpy().astype(np.int64), high.to_numpy().astype(np.int64))
        cuts = pl.concat([low, high]).drop_nulls().unique().sort()
        ends = [None, *cuts.to_list(), None]
        told = bounds.to_series(2).to_list() if bounds.width > 2 else []
        spared = min(len(told), 1)
        steps = [Missing()] * spared + [Interval(ends[at], ends[at + 1]) for at in range(len(ends) - 1)]
        lows, highs = _places(low, cuts, 0) + spared, _places(high, cuts, len(cuts) + 1) + spared
        if told:
            lows[np.array([each != "no" for each in told])] = 0
            highs[np.array([each == "only" for each in told])] = 1
        return cls(name, tuple(steps), lows, highs)

    def met(self, condition: Condition, domain: Domain | None) -> tuple[StepSet, StepSet]:
        """The steps in which a condition on this column alone may be met, and those in which it is for certain."""
        codes = {self.name: np.arange(len(self.steps))}
        found = condition.covers(codes, {self.name: self.steps}, {} if domain is None else {self.name: domain})
        return found.possible, found.certain

    def holds(self, step: Ids) -> StepSet:
        """Which regions hold a step, if there is one (the first is taken)."""
        if not len(step):
            return np.zeros(len(self.lows), dtype=bool)
        found: StepSet = (self.lows <= step[0]) & (step[0] < self.highs)
        return found

    def held(self, steps: StepSet) -> Ids:
        """How many of some steps every region has."""
        before = np.concatenate([[0], np.cumsum(steps)])
        found: Ids = before[self.highs] - before[self.lows]
        return found


def _places(ends: pl.Series, cuts: pl.Series, otherwise: int) -> Ids:
    """The number of each end among the cuts, from 1; ``otherwise`` where there is no end."""
    numbered = pl.DataFrame({"end": cuts, "place": np.arange(1, len(cuts) + 1)})
    found = ends.to_frame("end").join(numbered, on="end", how="left", maintain_order="left")["place"]
    return found.fill_null(otherwise).to_numpy().astype(np.int64)


@dataclass(frozen=True, eq=False)
class NestedRegions:
    """The regions of a release: the ``level`` of each and the ``group`` (the number of its class), column by column in steps.

    ``rows`` says how many rows every class has. ``domains`` are what is publicly known of the columns' values. Where regions show between which values their people lie, ``filled`` has these
    extents, column by column in steps; elsewhere it is empty.
    """

    columns: tuple[SteppedColumn, ...]
    level: Ids
    group: pl.Series
    rows: Mapping[int, int]
    domains: Mapping[str, Domain] = field(default_factory=dict)
    filled: tuple[SteppedColumn, ...] = ()

    def at(self, **values: Any) -> int | None:
        """The class of a point, given its value in every column: that of the innermost region that holds it. None where none does, or where nobody is in that region by its extents."""
        point = pl.DataFrame({name: [value] for name, value in values.items()})
        held = np.ones(len(self.level), dtype=bool)
        filled = np.ones(len(self.level), dtype=bool)
        for at, column in enumerate(self.columns):
            if column.name not in values:
                raise PolicyError(f"A point needs a value in every column, and {column.name!r} is missing.")
            step = cover(point[column.name], column.steps, column.name).labels
            held &= column.holds(step)
            filled &= not self.filled or self.filled[at].holds(step)
        for name in values:
            self.column(name)
        inside = np.flatnonzero(held)
        if not len(inside):
            return None
        innermost = int(inside[np.argmax(self.level[inside])])
        return int(self.group[innermost]) if filled[innermost] else None

    def within(self, condition: str | Condition) -> list[int]:
        """The classes that own a part of what a condition on quasi columns describes, in rising order; each part of the condition is about one column."""
        asked = Condition.parse(condition) if isinstance(condition, str) else condition
        for name in asked.scope:
            self.column(name)
        split = split_by_column(asked, [column.name for column in self.columns])
        if split is None:
            raise PolicyError(
                f"{asked.text!r} compares columns with each other, or joins them by 'or'. A range has one condition for each column, joined by 'and'."
            )
        possible, _ = self.met(split)
        return sorted(set(self.group.filter(pl.Series(self.blocks(possible) > 0)).to_list()))

    def column(self, name: str) -> SteppedColumn:
        """A column by its name."""
        for each in self.columns:
            if each.name == name:
                return each
        raise DataError(f"There is no quasi column {name!r}.{did_you_mean(name, [each.name for each in self.columns])}")

    def met(self, conditions: Mapping[str, Sequence[Condition]]) -> tuple[list[StepSet], list[StepSet]]:
        """Column by column the steps in which conditions may all be met, and those in which they are for certain."""
        possible, certain = [], []
        for column in self.columns:
            found = [column.met(each, self.domains.get(column.name)) for each in conditions.get(column.name, ())]
            every = np.ones(len(column.steps), dtype=bool)
            possible.append(np.logical_and.reduce([every, *(may for may, _ in found)]))
            certain.append(np.logical_and.reduce([every, *(sure for _, sure in found)]))
        return possible, certain

    def blocks(self, steps: Sequence[StepSet]) -> NDArray[Any]:
        """How many cells of some steps (in all columns together) every block has, as whole numbers of any size: those of its region, or of its extents, without those in the regions directly inside."""
        inner = np.flatnonzero(self.encloser >= 0)
        around = self.encloser[inner]
        own, nested = np.ones(len(self.level), dtype=object), np.ones(len(inner), dtype=object)
        for column, filled, mine in zip(self.columns, self.filled or self.columns, steps, strict=True):
            own *= filled.held(mine).astype(object)
            lows = np.maximum(column.lows[inner], filled.lows[around])
            highs = np.maximum(np.minimum(column.highs[inner], filled.highs[around]), lows)
            nested *= replace(column, lows=lows, highs=highs).held(mine).astype(object)
        np.subtract.at(own, around, nested)
        return own

    def volumes(self, share: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """The volume of every block, or of what a condition covers of it, given its ``share`` of each region; a halving halves it."""
        own = np.ldexp(1.0 if share is None else share, -self.level)
        if self.filled:
            # People are spread over the extents, of which nobody knows how much lies in holes.
            return own
        inner = np.flatnonzero(self.encloser >= 0)
        found = own - np.bincount(self.encloser[inner], weights=own[inner], minlength=len(own))
        return np.maximum(found, 0.0)

    @cached_property
    def encloser(self) -> Ids:
        """The region directly around each, -1 where there is none: the innermost other one that holds its first cell."""
        corners = np.stack([column.lows for column in self.columns])
        distinct, owners = np.unique(corners, axis=1, return_inverse=True)
        covers, values, codes = [], [], []
        for column, mine in zip(self.columns, distinct, strict=True):
            ends, code = np.unique(np.stack([column.lows, column.highs]), axis=1, return_inverse=True)
            points, value = np.unique(mine, return_inverse=True)
            fits = (ends[0][None, :] <= points[:, None]) & (points[:, None] < ends[1][None, :])
            where, label = np.nonzero(fits)
            covers.append(Cover(where, label, len(points), ends.shape[1]))
            values.append(value.ravel())
            codes.append(code.ravel())
        many = distinct.shape[1]
        asked = AskedPeople((), tuple(covers), tuple(values), np.ones(many, dtype=np.int64), np.arange(many))
        pairs = [(fits.people[fits.person], fits.place) for fits in asked.fits(codes)]
        corner, place = (np.concatenate(each) for each in zip(*pairs, strict=True))
        # The regions of a corner in the order of their levels: each lies in the one before it, if it holds the same corner at all.
        order = np.lexsort((self.level[place], corner))
        corner, place = corner[order], place[order]
        found = np.full(len(self.level), -1, dtype=np.int64)
        mine = owners.ravel()[place] == corner
        after = np.flatnonzero(mine[1:] & (corner[1:] == corner[:-1])) + 1
        found[place[after]] = place[after - 1]
        return found


def split_by_column(condition: Condition, columns: Sequence[str]) -> dict[str, list[Condition]] | None:
    """The parts of a condition by the one column that each speaks of; those that are about none of some columns under an empty name. None if a part is about several."""
    found: dict[str, list[Condition]] = {}
    for part in condition.conjuncts:
        mine = [name for name in part.scope if name in columns]
        if len(mine) > 1 or (mine and len(part.scope) > 1):
            return None
        found.setdefault(mine[0] if mine else "", []).append(part)
    return found
