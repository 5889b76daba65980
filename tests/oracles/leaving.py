"""Whom a release leaves out where groups are compared with the whole table, the slow way. Shares no code with src.

The whole table's histograms are published then, and minus the published rows they tell about those left out. So either the groups are compared with the
published rows instead, or those left out must pass themselves.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

WHOLE, PUBLISHED = "whole table", "published rows"
MOST_ADDED = 31

Judge = Callable[["Part"], bool]
Places = frozenset[int]


class Row(NamedTuple):
    """A row of the table: its quasi values, its sensitive values, whose it is, and what that person asked for."""

    number: int
    quasi: tuple
    values: tuple
    person: int
    wish: str | None = None
    limit: str | None = None


@dataclass
class Part:
    """A group: its rows, the rows that it is compared with, and the people (quasi values) of a population who fit it."""

    rows: list[Row]
    beside: Sequence[Row]
    people: list[tuple] = field(default_factory=list)
    refused: set[int] = field(default_factory=set)

    @property
    def persons(self) -> int:
        return len({row.person for row in self.rows})

    @property
    def hidden(self) -> int:
        """Among how many people a row hides: that many are there, and none has more than one in as many rows."""
        rows = Counter(row.person for row in self.rows)
        return min(len(rows), len(self.rows) // max(rows.values(), default=1))

    def holding(self, rows: list[Row], people: list[tuple]) -> Part:
        """A part of this group."""
        return Part(rows, self.beside, people)


def seen(
    rows: Sequence[Row], cells: Mapping[int, tuple], names: Sequence[int], beside: Sequence[Row]
) -> dict[tuple, Part]:
    """The groups of somebody who knows some columns, by what they show there."""
    groups: dict[tuple, Part] = {}
    for row in rows:
        groups.setdefault(tuple(cells[row.number][j] for j in names), Part([], beside)).rows.append(row)
    return groups


class SuppressedGroups(NamedTuple):
    """The rows that are not published, by number, and what the groups of the others are compared with."""

    rows: frozenset[int]
    compared_with: str


@dataclass(frozen=True)
class PublishedGroups:
    """What is shown of every row, and what the groups that each adversary sees must pass; at most ``limit`` of the rows may be left out.

    ``counted``: a row is a person. Where a person may have several, histograms do not tell how many people are left out.
    """

    rows: Sequence[Row]
    cells: Mapping[int, tuple]
    sets: Sequence[Sequence[int]]
    judges: Sequence[Judge]
    limit: Fraction
    counted: bool

    def outcomes(
        self, failing: frozenset[int], hoped: SuppressedGroups | None
    ) -> Iterator[tuple[SuppressedGroups | None, SuppressedGroups | None]]:
        """The two ways to leave out the failing rows, None for one that does not exist: compared with the published rows, with the whole table.

        The second may end differently, since a choice leaves ties open. All endings are told, one that is hoped for among the first; of the others not
        all that lose the same number of rows.
        """
        first = self.among_published(failing)
        for second in self.with_more(failing, hoped):
            yield first, second

    def among_published(self, failing: frozenset[int]) -> SuppressedGroups | None:
        """Adversary by adversary, groups that fail beside the rows that are still published are left out as well, until none does."""
        kept, before = [row for row in self.rows if row.number not in failing], -1
        while len(kept) != before:
            before = len(kept)
            for names in self.sets:
                parts = seen(kept, self.cells, names, kept).values()
                kept = [row for part in parts if self._passes(part) for row in part.rows]
                if self._too_few(len(kept)):
                    return None
        return SuppressedGroups(frozenset(row.number for row in self.rows) - {row.number for row in kept}, PUBLISHED)

    def with_more(self, failing: frozenset[int], hoped: SuppressedGroups | None) -> Iterator[SuppressedGroups | None]:
        """Group by group more is left out until those left out pass, of whom each column's histogram is told. Then the others must pass as well."""
        if not self.counted:
            yield None
            return
        start = self._groups_of(failing)
        for ending in self._endings(start):
            if ending is None:
                yield None
                continue
            if hoped is not None and hoped.compared_with == WHOLE:
                wanted = self._groups_of(hoped.rows)
                if start <= wanted and self._left_out(wanted) == hoped and self._kinds(wanted) == self._kinds(ending):
                    yield hoped if self._holds(wanted) else None
            verdicts: set[bool] = set()
            for places in self._alike(start, ending):
                if len(verdicts) == 2:
                    break
                holds = self._holds(places)
                if holds not in verdicts:
                    verdicts.add(holds)
                    yield self._left_out(places) if holds else None

    @cached_property
    def _groups(self) -> list[list[Row]]:
        """Rows that show the same in all columns."""
        everything = range(len(next(iter(self.cells.values()))))
        return [part.rows for part in seen(self.rows, self.cells, everything, ()).values()]

    def _groups_of(self, rows: frozenset[int]) -> Places:
        """The groups with some of the rows."""
        return frozenset(place for place, group in enumerate(self._groups) if any(row.number in rows for row in group))

    def _left_out(self, places: Places) -> SuppressedGroups:
        return SuppressedGroups(frozenset(row.number for place in places for row in self._groups[place]), WHOLE)

    def _endings(self, start: Places) -> Iterator[Places | None]:
        """Where the choice of further groups may end: where those left out pass, or (None) nowhere. Of groups that hold the same the first is taken."""
        reached = {start}
        for _ in range(MOST_ADDED + 1):
            following: set[Places] = set()
            for out in reached:
                if self._too_few(len(self.rows) - self._lost(out)):
                    yield None
                elif self._told(out):
                    yield out
                else:
                    nearest = self._nearest(out)
                    following.update(out | {place} for place in nearest)
                    if not nearest:
                        yield None
            reached = following
        if reached:
            yield None

    def _nearest(self, out: Places) -> list[int]:
        """The groups to leave out next, one of them: the smallest with which those left out pass; if there is none, those that bring them
        nearest to the whole table."""
        room = int(self.limit * len(self.rows)) - self._lost(out)
        kinds: dict[tuple, int] = {}
        for place, group in enumerate(self._groups):
            if place not in out and len(group) <= room:
                kinds.setdefault(self._kind(place), place)
        passing = [place for place in kinds.values() if self._told(out | {place})]
        if passing:
            least = min(len(self._groups[place]) for place in passing)
            return [place for place in passing if len(self._groups[place]) == least]
        distances = {place: self._distance(out | {place}) for place in kinds.values()}
        return [place for place, distance in distances.items() if distance == min(distances.values())]

    def _alike(self, start: Places, ending: Places) -> Iterator[Places]:
        """What may be left out instead, since it holds the same."""
        numbers = Counter(self._kind(place) for place in ending - start)
        others = [place for place in range(len(self._groups)) if place not in start]
        choices = [
            itertools.combinations([place for place in others if self._kind(place) == kind], number)
            for kind, number in numbers.items()
        ]
        for chosen in itertools.product(*choices):
            yield start.union(*chosen)

    def _kind(self, place: int) -> tuple:
        """What a group holds: the histogram of every column."""
        return tuple(
            frozenset(Counter(column).items())
            for column in zip(*(row.values for row in self._groups[place]), strict=True)
        )

    def _kinds(self, places: Places) -> Counter:
        return Counter(self._kind(place) for place in places)

    def _lost(self, out: Places) -> int:
        return sum(len(self._groups[place]) for place in out)

    def _columns(self, out: Places) -> Iterator[Part]:
        """Those left out, as the histogram of each column tells about them."""
        for c in range(len(self.rows[0].values)):
            lost = [row._replace(values=(row.values[c],)) for place in out for row in self._groups[place]]
            yield Part(lost, [row._replace(values=(row.values[c],)) for row in self.rows])

    def _told(self, out: Places) -> bool:
        """Whether what is told about those left out passes."""
        return all(self._passes(part) for part in self._columns(out))

    def _distance(self, out: Places) -> Fraction:
        """How far those left out are from the whole table: differences of shares, over all values and columns."""
        total = Fraction(0)
        for part in self._columns(out):
            lost, whole = Counter(row.values for row in part.rows), Counter(row.values for row in part.beside)
            for value, count in whole.items():
                total += abs(Fraction(lost[value], len(part.rows)) - Fraction(count, len(part.beside)))
        return total

    def _holds(self, out: Places) -> bool:
        """Whether the published groups pass: to somebody who knows few columns they lost rows of their own."""
        gone = self._left_out(out).rows
        kept = [row for row in self.rows if row.number not in gone]
        return all(
            self._passes(part) for names in self.sets for part in seen(kept, self.cells, names, self.rows).values()
        )

    def _passes(self, part: Part) -> bool:
        return all(judge(part) for judge in self.judges)

    def _too_few(self, kept: int) -> bool:
        return kept == 0 or len(self.rows) - kept > self.limit * len(self.rows)
