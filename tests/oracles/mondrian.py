"""Mondrian the slow way: one group at a time, rows as they are. Shares no code with src."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

from tests.oracles import leaving
from tests.oracles.leaving import WHOLE, Judge, Part, PublishedGroups, Row, SuppressedGroups

AllJudge = Callable[[list[Part]], bool]


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
class Demand:
    """What groups must pass.

    ``firm`` judges hold for unions of groups that pass. ``wavering`` ones need not. ``hope`` says whether a part of a group may pass the wavering
    judges. ``together`` judges see all groups at once. ``softening`` firm judges may fail for the whole table and hold for parts of it: where rows may be
    left out they waver if it does, and bring a hope of their own; ``enough`` says in how many halves of a failing group there must be hope.
    ``compares``: some judge compares groups with the whole table.
    """

    firm: Sequence[Judge] = ()
    wavering: Sequence[Judge] = ()
    hope: Judge = lambda part: True
    together: Sequence[AllJudge] = ()
    softening: Sequence[tuple[Judge, Judge]] = ()
    enough: Callable[[Any], bool] = all
    compares: bool = False

    @property
    def judges(self) -> list[Judge]:
        """All that judge one group."""
        return [*self.firm, *self.wavering, *(judge for judge, _ in self.softening)]

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
            compares=self.compares,
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
            done = self._rounds([part.holding(part.rows, part.people) for part in done], between_equal=True)
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
            return part.holding(lower, []), part.holding([row for row in part.rows if row.number not in first], [])
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
            part.holding(
                [row for row in part.rows if side(row.quasi[j])], [each for each in part.people if side(each[j])]
            )
            for side in sides
        )
        return lower, upper


@dataclass(frozen=True)
class Recoded:
    """What is published: the cells of every row that is not left out, and what its groups were compared with."""

    cells: dict[int, tuple[frozenset, ...]]
    compared_with: str = WHOLE


@dataclass(frozen=True)
class Mondrian:
    """A table and what is asked of its release. Columns that some adversary holds together are cut together, the others apart; what fails in the
    end for some adversary is left out, again and again until nothing fails, and may be no more than ``limit`` of all rows.

    Where groups are compared with the whole table and rows are left out, it is done in one of the ways of :class:`PublishedGroups`, the one that loses fewer rows;
    where there is none, the table is cut anew and nobody may be left out.
    """

    rows: Sequence[Row]
    columns: Sequence[Column]
    demand: Demand
    least: int
    sets: Sequence[Sequence[int]] | None = None
    people: Sequence[tuple] = ()
    limit: Fraction = Fraction(0)
    split: str = "span"
    values: str = "sets"
    divide: bool = False
    row_is_person: bool = True

    def published(self, hoped: Recoded | None) -> Recoded | None:
        """The release, or None where there is none. Where ties leave several open, the one that is hoped for if it is one of them."""
        found: Recoded | None = None
        for found in self._outcomes(hoped):
            if found == hoped:
                break
        return found

    def _outcomes(self, hoped: Recoded | None) -> Iterator[Recoded | None]:
        settled = self.demand.settled(Part(list(self.rows), self.rows, list(self.people)), self.limit > 0)
        cells = self._cells(settled)
        kept = None if cells is None else self._kept(settled, cells)
        if cells is None or kept is None:
            yield None
            return
        failing = frozenset(row.number for row in self.rows) - {row.number for row in kept}
        if not failing or not settled.compares:
            yield self._without(cells, SuppressedGroups(failing, WHOLE))
            return
        ways = PublishedGroups(self.rows, cells, self._known, settled.judges, self.limit, self.row_is_person)
        wanted = None if hoped is None else SuppressedGroups(frozenset(cells) - hoped.cells.keys(), hoped.compared_with)
        for both in ways.outcomes(failing, wanted):
            possible = [way for way in both if way is not None]
            if possible:
                yield self._without(cells, min(possible, key=lambda way: len(way.rows)))
            else:
                yield from replace(self, limit=Fraction(0))._outcomes(hoped)

    @property
    def _known(self) -> list[tuple[int, ...]]:
        return [tuple(names) for names in self.sets] if self.sets is not None else [tuple(range(len(self.columns)))]

    def _cells(self, settled: Demand) -> dict[int, tuple[frozenset, ...]] | None:
        """What is shown of every row that is not left out; None where the whole table fails."""
        cells: dict[int, dict[int, frozenset]] = {row.number: {} for row in self.rows}
        for chosen in _linked(self._known):
            cutting = Cutting(self.columns, chosen, settled, self.least, self.split, self.values, self.divide)
            parts = cutting.run(Part(list(self.rows), self.rows, list(self.people)))
            if parts is None:
                return None
            for part in parts:
                shown = {j: self.columns[j].cell(cutting.held(part, j), self.values) for j in chosen}
                for row in part.rows:
                    cells[row.number].update(shown)
        return {number: tuple(shown[j] for j in range(len(self.columns))) for number, shown in cells.items()}

    def _kept(self, settled: Demand, cells: dict[int, tuple[frozenset, ...]]) -> list[Row] | None:
        """The rows that are published; None where too many would have to be left out, or the others do not pass together."""
        kept = list(self.rows)
        while settled.wavering:
            before = len(kept)
            for names in self._known:
                groups = seen(kept, cells, names, self.people, self.rows)
                kept = [row for part in groups if all(judge(part) for judge in settled.judges) for row in part.rows]
            if len(kept) == before:
                break
        if not kept or len(self.rows) - len(kept) > self.limit * len(self.rows):
            return None
        views = [seen(kept, cells, names, self.people, self.rows) for names in self._known]
        return kept if all(judge(view) for view in views for judge in settled.together) else None

    @staticmethod
    def _without(cells: dict[int, tuple[frozenset, ...]], left_out: SuppressedGroups) -> Recoded:
        shown = {number: own for number, own in cells.items() if number not in left_out.rows}
        return Recoded(shown, left_out.compared_with)


def seen(
    rows: Sequence[Row], cells: Any, names: Sequence[int], people: Sequence[tuple], beside: Sequence[Row]
) -> list[Part]:
    """The groups of somebody who knows some columns, with the people of a population who fit them."""
    groups = leaving.seen(rows, cells, names, beside)
    for key, part in groups.items():
        part.people += [each for each in people if all(each[j] in cell for j, cell in zip(names, key, strict=True))]
    return list(groups.values())


def _linked(sets: Sequence[tuple[int, ...]]) -> list[list[int]]:
    """Columns that are reached from each other by way of sets."""
    families = [set(names) for names in sets]
    for _ in sets:
        for first in families:
            for second in families:
                if first & second:
                    first |= second
    return [list(each) for each in sorted({tuple(sorted(family)) for family in families})]
