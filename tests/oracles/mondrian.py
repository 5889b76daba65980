"""Mondrian the slow way: one group at a time, rows as tuples. Shares no code with src."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

Row = tuple
Judge = Callable[["Part"], bool]
AllJudge = Callable[[list["Part"]], bool]


@dataclass
class Part:
    """A group: its rows (quasi values first, as many as there are columns), and the people of a population who fit it."""

    rows: list[Row]
    people: list[Row] = field(default_factory=list)
    refused: set[int] = field(default_factory=set)


@dataclass
class Demand:
    """What groups must pass.

    ``firm`` judges hold for unions of groups that pass. ``wavering`` ones need not; ``hope`` says whether a part of a group may pass them.
    ``together`` judges see all groups at once.
    """

    firm: Sequence[Judge] = ()
    wavering: Sequence[Judge] = ()
    hope: Judge = lambda part: True
    together: Sequence[AllJudge] = ()

    def firm_pass(self, part: Part) -> bool:
        return all(judge(part) for judge in self.firm)

    def wavering_pass(self, part: Part) -> bool:
        return all(judge(part) for judge in self.wavering)

    def allows(self, parent: Part, halves: tuple[Part, Part]) -> bool:
        if not all(self.firm_pass(half) for half in halves):
            return False
        if self.wavering_pass(parent):
            return all(self.wavering_pass(half) for half in halves)
        return all(self.hope(half) for half in halves)


def partition(
    rows: Sequence[Row], order: Sequence[Sequence[str]], demand: Demand, least: int, people: Sequence[Row] = ()
) -> list[Part] | None:
    """Strict Mondrian in rounds: every open group is cut in its widest column that was not refused, nearest to the median between two
    values, if the demand allows; of cuts that are judged together those that come first are made. None where the whole table fails.

    ``order[j]`` lists the values of column ``j`` in the order of cutting; its length is the domain's size.
    """
    rank = [{value: place for place, value in enumerate(values)} for values in order]
    whole = Part(list(rows), list(people))
    if not demand.firm_pass(whole) or not all(judge([whole]) for judge in demand.together):
        return None

    def values(part: Part, j: int) -> list[int]:
        return sorted({rank[j][row[j]] for row in [*part.rows, *part.people]})

    def span(part: Part, j: int) -> float:
        return (len(values(part, j)) - 1) / max(len(order[j]) - 1, 1)

    def columns(part: Part) -> list[int]:
        if len(part.rows) < 2 * least:
            return []
        wide = [j for j in range(len(order)) if j not in part.refused and span(part, j) > 0]
        return sorted(wide, key=lambda j: (-span(part, j), j))

    def cut(part: Part, j: int) -> tuple[Part, Part] | None:
        best = None
        for value in values(part, j)[:-1]:
            left = sum(rank[j][row[j]] <= value for row in part.rows)
            if left >= least and len(part.rows) - left >= least:
                distance = abs(2 * left - len(part.rows))
                if best is None or distance < best[0]:
                    best = (distance, value)
        if best is None:
            return None
        sides = [lambda row: rank[j][row[j]] <= best[1], lambda row: rank[j][row[j]] > best[1]]
        lower, upper = (Part(list(filter(side, part.rows)), list(filter(side, part.people))) for side in sides)
        return lower, upper

    opened, done = [whole], []
    while opened:
        done += [part for part in opened if not columns(part)]
        opened = [part for part in opened if columns(part)]
        proposed = [cut(part, columns(part)[0]) for part in opened]
        now: list[list[Part]] = [[part] for part in opened]
        for place, (part, halves) in enumerate(zip(opened, proposed, strict=True)):
            if halves is None or not demand.allows(part, halves):
                continue
            trial = [*now[:place], list(halves), *now[place + 1 :]]
            if all(judge(done + [each for parts in trial for each in parts]) for judge in demand.together):
                now = trial
        for part, parts in zip(opened, now, strict=True):
            if len(parts) == 1:
                part.refused.add(columns(part)[0])
        opened = [each for parts in now for each in parts]
    return done


def contents(parts: Sequence[Part]) -> Counter:
    """A partition as what its groups hold, whatever their order."""
    return Counter(frozenset(Counter(part.rows).items()) for part in parts)
