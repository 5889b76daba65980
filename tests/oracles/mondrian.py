"""Mondrian the slow way: one group at a time, rows as they are. Shares no code with src."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

Judge = Callable[["Part"], bool]
AllJudge = Callable[[list["Part"]], bool]


class Row(NamedTuple):
    """A row of the table: its quasi values, its sensitive values, whose it is, and what that person asked for."""

    number: int
    quasi: tuple
    values: tuple
    person: int
    wish: str | None = None
    limit: str | None = None


@dataclass(frozen=True)
class Column:
    """A column: its leaves, and for each the parts that it belongs to, level by level from itself up.

    ``numeric`` leaves have an order of their own; None stands for a missing value.
    """

    leaves: tuple
    parts: dict[Any, tuple]
    numeric: bool

    def order(self, values: str) -> list:
        """The leaves in the order of cutting: by size, or as they are listed, or so that parts stay together."""
        listed = list(self.leaves)
        if self.numeric:
            listed = sorted(leaf for leaf in listed if leaf is not None) + [leaf for leaf in listed if leaf is None]
            if values != "hierarchy":
                return listed
        return self._together(listed, len(self.parts[listed[0]]) - 1)

    def _together(self, leaves: list, level: int) -> list:
        if level == 0:
            return leaves
        families: dict[Any, list] = {}
        for leaf in leaves:
            families.setdefault(self.parts[leaf][level], []).append(leaf)
        return [leaf for family in families.values() for leaf in self._together(family, level - 1)]

    def cell(self, held: set, values: str) -> frozenset:
        """The leaves that are published of a group that holds some values."""
        if values == "hierarchy":
            for level in range(len(self.parts[self.leaves[0]])):
                if len({self.parts[leaf][level] for leaf in held}) == 1:
                    part = self.parts[next(iter(held))][level]
                    return frozenset(leaf for leaf in self.leaves if self.parts[leaf][level] == part)
            return frozenset(self.leaves)
        known = {leaf for leaf in held if leaf is not None}
        if values == "ranges" and self.numeric and known:
            between = (leaf for leaf in self.leaves if leaf is not None and min(known) <= leaf <= max(known))
            return frozenset({*between, *(held - known)})
        return frozenset(held)

    def apart(self, left: Any, right: Any) -> int:
        """At how many levels two leaves lie in different parts."""
        return sum(a != b for a, b in zip(self.parts[left], self.parts[right], strict=True))


@dataclass
class Part:
    """A group: its rows, and the people (quasi values) of a population who fit it."""

    rows: list[Row]
    people: list[tuple] = field(default_factory=list)
    refused: set[int] = field(default_factory=set)

    @property
    def persons(self) -> int:
        return len({row.person for row in self.rows})


@dataclass
class Demand:
    """What groups must pass.

    ``firm`` judges hold for unions of groups that pass. ``wavering`` ones need not. ``hope`` says whether a part of a group may pass the wavering
    judges. ``together`` judges see all groups at once. ``softening`` firm judges may fail for the whole table and hold for parts of it: where rows may be
    left out they waver if it does, and bring a hope of their own; ``enough`` says in how many halves of a failing group there must be hope.
    """

    firm: Sequence[Judge] = ()
    wavering: Sequence[Judge] = ()
    hope: Judge = lambda part: True
    together: Sequence[AllJudge] = ()
    softening: Sequence[tuple[Judge, Judge]] = ()
    enough: Callable[[Any], bool] = all

    def settled(self, whole: Part, may_suppress: bool) -> Demand:
        """The same with every softening judge among the firm or the wavering ones."""
        soft = [pair for pair in self.softening if may_suppress and not pair[0](whole)]
        hard = [pair for pair in self.softening if pair not in soft]
        hopes = [self.hope, *(hope for _, hope in soft)]
        return Demand(
            [*self.firm, *(judge for judge, _ in hard)],
            [*self.wavering, *(judge for judge, _ in soft)],
            lambda part: all(hope(part) for hope in hopes),
            self.together,
            enough=any if may_suppress else all,
        )

    def firm_pass(self, part: Part) -> bool:
        return all(judge(part) for judge in self.firm)

    def wavering_pass(self, part: Part) -> bool:
        return all(judge(part) for judge in self.wavering)

    def allows(self, parent: Part, halves: tuple[Part, Part]) -> bool:
        if not all(self.firm_pass(half) for half in halves):
            return False
        if self.wavering_pass(parent):
            return all(self.wavering_pass(half) for half in halves)
        return self.enough(self.hope(half) for half in halves)


@dataclass
class Cutting:
    """Mondrian in rounds, in some of the columns: every open group is cut in its widest column that was not refused (``split="span"``), or
    in that whose cut leaves least (``"loss"``), if the demand allows; of cuts that are judged together those that come first are made.

    A cut lies between two values; where nodes are published, between parts of the highest level that can be parted; nearest to the median.
    """

    columns: Sequence[Column]
    chosen: Sequence[int]
    demand: Demand
    least: int
    split: str = "span"
    values: str = "sets"
    divide: bool = False

    def __post_init__(self) -> None:
        self.place = {j: {leaf: at for at, leaf in enumerate(self.columns[j].order(self.values))} for j in self.chosen}

    def run(self, whole: Part) -> list[Part] | None:
        """The groups in the end; None where the whole table fails."""
        if not self.demand.firm_pass(whole) or not all(judge([whole]) for judge in self.demand.together):
            return None
        done = self._rounds([whole], between_equal=False)
        if self.divide:
            done = self._rounds([Part(part.rows, part.people) for part in done], between_equal=True)
        return done

    def _rounds(self, opened: list[Part], between_equal: bool) -> list[Part]:
        done: list[Part] = []
        while opened:
            tries = [self._try(part, between_equal) for part in opened]
            done += [part for part, (column, _) in zip(opened, tries, strict=True) if column is None]
            left = [(part, *each) for part, each in zip(opened, tries, strict=True) if each[0] is not None]
            now: list[list[Part]] = [[part] for part, _, _ in left]
            for at, (part, column, halves) in enumerate(left):
                trial = None
                if halves is not None and self.demand.allows(part, halves):
                    trial = [*now[:at], list(halves), *now[at + 1 :]]
                    everything = done + [each for parts in trial for each in parts]
                    if not all(judge(everything) for judge in self.demand.together):
                        trial = None
                if trial is None:
                    part.refused.add(column)
                else:
                    now = trial
            opened = [each for parts in now for each in parts]
        return done

    def _try(self, part: Part, between_equal: bool) -> tuple[int | None, tuple[Part, Part] | None]:
        wide = [j for j in self.chosen if j not in part.refused and self.span(part, j) > 0]
        if len(part.rows) < 2 * self.least or not wide:
            return None, None
        if self.split == "span":
            column = max(wide, key=lambda j: (self.span(part, j), -j))
            return column, self._cut(part, column, between_equal)
        cuts = {j: self._cut(part, j, between_equal) for j in wide}
        costs = {j: self._cost(part, halves) for j, halves in cuts.items() if halves is not None}
        column = min(costs, key=lambda j: (costs[j], j)) if costs else wide[0]
        return column, cuts[column]

    def _cost(self, part: Part, halves: tuple[Part, Part]) -> float:
        total = sum(len(half.rows) * self.span(half, j) for half in halves for j in self.chosen)
        return round(float(total / len(part.rows)), 9)

    def held(self, part: Part, j: int) -> set:
        return {row.quasi[j] for row in part.rows} | {person[j] for person in part.people}

    def span(self, part: Part, j: int) -> Fraction:
        cell = self.columns[j].cell(self.held(part, j), self.values)
        return Fraction(len(cell) - 1, max(len(self.columns[j].leaves) - 1, 1))

    def _cut(self, part: Part, j: int, between_equal: bool) -> tuple[Part, Part] | None:
        at = self.place[j]
        if between_equal:
            rows = sorted(part.rows, key=lambda row: at[row.quasi[j]])
            sizes = [left for left in range(1, len(rows)) if min(left, len(rows) - left) >= self.least]
            if not sizes:
                return None
            left = min(sizes, key=lambda size: (abs(2 * size - len(rows)), size))
            first = {row.number for row in rows[:left]}
            lower = [row for row in part.rows if row.number in first]
            return Part(lower), Part([row for row in part.rows if row.number not in first])
        options = []
        values = sorted(self.held(part, j), key=at.__getitem__)
        for before, after in pairwise(values):
            left = sum(at[row.quasi[j]] <= at[before] for row in part.rows)
            if min(left, len(part.rows) - left) >= self.least:
                height = self.columns[j].apart(before, after) if self.values == "hierarchy" else 0
                options.append((-height, abs(2 * left - len(part.rows)), at[before]))
        if not options:
            return None
        border = min(options)[2]
        sides = [lambda value: at[value] <= border, lambda value: at[value] > border]
        lower, upper = (
            Part([row for row in part.rows if side(row.quasi[j])], [each for each in part.people if side(each[j])])
            for side in sides
        )
        return lower, upper


@dataclass
class Recoded:
    """What is published: of every row its cell in each column, None for one that is left out."""

    cells: dict[int, tuple[frozenset, ...] | None]
    lost: int


def publish(
    rows: Sequence[Row],
    columns: Sequence[Column],
    demand: Demand,
    least: int,
    *,
    sets: Sequence[Sequence[int]] | None = None,
    people: Sequence[tuple] = (),
    limit: Fraction = Fraction(0),
    split: str = "span",
    values: str = "sets",
    divide: bool = False,
) -> Recoded | None:
    """The release, or None where there is none: columns that some adversary holds together are cut together, the others apart; what fails in the
    end for some adversary is left out, again and again until nothing fails, and may be no more than ``limit`` of all rows.
    """
    known = [tuple(names) for names in sets] if sets is not None else [tuple(range(len(columns)))]
    settled = demand.settled(Part(list(rows), list(people)), limit > 0)
    cells: dict[int, dict[int, frozenset]] = {row.number: {} for row in rows}
    for chosen in _linked(known):
        cutting = Cutting(columns, chosen, settled, least, split, values, divide)
        parts = cutting.run(Part(list(rows), list(people)))
        if parts is None:
            return None
        for part in parts:
            shown = {j: columns[j].cell(cutting.held(part, j), values) for j in chosen}
            for row in part.rows:
                cells[row.number].update(shown)
    kept = list(rows)
    while settled.wavering:
        before = len(kept)
        for names in known:
            groups = seen(kept, cells, names, people)
            kept = [
                row for part in groups if settled.firm_pass(part) and settled.wavering_pass(part) for row in part.rows
            ]
        if len(kept) == before:
            break
    lost = len(rows) - len(kept)
    if not kept or lost > limit * len(rows):
        return None
    if not all(judge(seen(kept, cells, names, people)) for names in known for judge in settled.together):
        return None
    published = {row.number for row in kept}
    ordered = range(len(columns))
    return Recoded(
        {row.number: tuple(cells[row.number][j] for j in ordered) if row.number in published else None for row in rows},
        lost,
    )


def seen(rows: Sequence[Row], cells: Any, names: Sequence[int], people: Sequence[tuple]) -> list[Part]:
    """The groups of somebody who knows some columns, with the people of a population who fit them."""
    groups: dict[tuple, list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(cells[row.number][j] for j in names), []).append(row)
    return [
        Part(group, [each for each in people if all(each[j] in cell for j, cell in zip(names, key, strict=True))])
        for key, group in groups.items()
    ]


def _linked(sets: Sequence[tuple[int, ...]]) -> list[list[int]]:
    """Columns that are reached from each other by way of sets."""
    families = [set(names) for names in sets]
    for _ in sets:
        for first in families:
            for second in families:
                if first & second:
                    first |= second
    return [list(each) for each in sorted({tuple(sorted(family)) for family in families})]
