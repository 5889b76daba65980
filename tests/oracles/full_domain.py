"""Full-domain generalization the slow way, rows as they are: whom given levels leave out, and Datafly, which raises one column at a time. Shares no code with src."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from tests.oracles.leaving import WHOLE, Part, PublishedGroups, Row, SuppressedGroups
from tests.oracles.mondrian import Column, Demand

Levels = tuple[int, ...]


class Climbed(NamedTuple):
    """The levels of the columns, and whom they leave out."""

    levels: Levels
    left_out: SuppressedGroups


@dataclass(frozen=True)
class FullDomain:
    """Rows whose columns are all shown at one level each, of which at most ``limit`` may be left out.

    What is left out on account of one set of columns is missing in the groups of the others. A demand on all groups together is looked at where
    nothing may be left out. Where groups are compared with the whole table, rows are left out in one of the ways of :class:`PublishedGroups`, that which loses least.
    """

    rows: Sequence[Row]
    columns: Sequence[Column]
    demand: Demand
    limit: Fraction
    sets: Sequence[Sequence[int]] | None = None
    people: Sequence[tuple] = ()
    row_is_person: bool = True

    def ways(self, levels: Levels, hoped: SuppressedGroups | None) -> Iterator[SuppressedGroups | None]:
        """Whom these levels may leave out; None where they do not pass. Of several possibilities one that is hoped for is among the first."""
        failing = self.failing(levels)
        kept = [row for row in self.rows if row.number not in failing]
        together = not kept or all(
            judge(self._groups(kept, names, levels)) for names in self._known for judge in self.demand.together
        )
        if len(failing) > self.limit * len(self.rows) or not together:
            yield None
        elif not failing or not self.demand.compares:
            yield SuppressedGroups(failing, WHOLE)
        else:
            for both in self.leaving(levels).outcomes(failing, hoped):
                yield from self._best(levels, [way for way in both if way is not None])

    def leaving(self, levels: Levels) -> PublishedGroups:
        """The ways to leave out rows at some levels."""
        cells = {row.number: self._shown(row.quasi, range(len(self.columns)), levels) for row in self.rows}
        return PublishedGroups(self.rows, cells, self._known, self.demand.judges, self.limit, self.row_is_person)

    def failing(self, levels: Levels) -> frozenset[int]:
        """The rows of groups that fail beside the whole table, for some adversary."""
        kept, before = list(self.rows), -1
        while len(kept) != before:
            before = len(kept)
            for names in self._known:
                fine = [
                    part
                    for part in self._groups(kept, names, levels)
                    if all(judge(part) for judge in self.demand.judges)
                ]
                kept = [row for part in fine for row in part.rows]
        return frozenset(row.number for row in self.rows) - {row.number for row in kept}

    @property
    def _known(self) -> Sequence[Sequence[int]]:
        return self.sets if self.sets is not None else [range(len(self.columns))]

    def _shown(self, quasi: tuple, names: Sequence[int], levels: Levels) -> tuple:
        return tuple(self.columns[j].parts[quasi[j]][levels[j]] for j in names)

    def _groups(self, some: Sequence[Row], names: Sequence[int], levels: Levels) -> list[Part]:
        found: dict[tuple, Part] = {}
        for row in some:
            found.setdefault(self._shown(row.quasi, names, levels), Part([], self.rows)).rows.append(row)
        for person in self.people:
            if self._shown(person, names, levels) in found:
                found[self._shown(person, names, levels)].people.append(person)
        return list(found.values())

    def _best(self, levels: Levels, possible: Sequence[SuppressedGroups]) -> Iterator[SuppressedGroups | None]:
        """The ways that lose least, of those that leave out the same rows the first."""
        losses = {way: self._loss(levels, way) for way in possible}
        least = {way.rows: way for way in reversed(possible) if losses[way] == min(losses.values())}
        yield from least.values() if possible else [None]

    def _loss(self, levels: Levels, left_out: SuppressedGroups) -> Fraction:
        """The share of its domain that a cell covers beside its value, over all rows and columns; a row that is left out covers everything."""
        total = Fraction(0)
        for row in self.rows:
            for column, value, level in zip(self.columns, row.quasi, levels, strict=True):
                part = column.parts[value][level]
                covered = sum(column.parts[leaf][level] == part for leaf in column.leaves)
                most = len(column.leaves) - 1
                total += row.number in left_out.rows or (Fraction(covered - 1, most) if most else 0)
        return total


@dataclass(frozen=True)
class Datafly(FullDomain):
    """While levels do not pass, raise the column with most distinct values that can be raised."""

    def climb(self, hoped: Climbed | None) -> Climbed | None:
        """Where it ends; None where the top is reached in vain. Where ties leave several ends open, the one that is hoped for if it is one of them."""
        found: Climbed | None = None
        for found in self._ends(hoped):
            if found == hoped:
                break
        return found

    def _ends(self, hoped: Climbed | None) -> Iterator[Climbed | None]:
        levels: Levels | None = (0,) * len(self.columns)
        while levels is not None:
            goes_on = False
            for left_out in self.ways(levels, None if hoped is None else hoped.left_out):
                if left_out is None:
                    goes_on = True
                elif len(left_out.rows) == len(self.rows):
                    yield None
                else:
                    yield Climbed(levels, left_out)
            if not goes_on:
                return
            levels = self._raised(levels)
        yield None

    def _raised(self, levels: Levels) -> Levels | None:
        """The next levels; None at the top."""
        opened = [j for j, column in enumerate(self.columns) if levels[j] < len(column.parts[column.leaves[0]]) - 1]
        if not opened:
            return None
        values = {j: len({self.columns[j].parts[row.quasi[j]][levels[j]] for row in self.rows}) for j in opened}
        highest = max(opened, key=lambda j: (values[j], -j))
        return tuple(level + (j == highest) for j, level in enumerate(levels))
