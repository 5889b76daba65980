"""What a definition measures in one group, from a list of its values: the figure, and which figures meet a parameter. Shares no code with src.

A figure is a function of a group's values and of the whole table's. ``pick`` takes the worst over groups, and ``meets`` says whether the worst
is good enough for the parameter.
"""

from __future__ import annotations

import math
import operator
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

Values = Sequence[Any]
Distance = Callable[[Mapping[Any, Fraction], Mapping[Any, Fraction]], Fraction]


@dataclass(frozen=True)
class Figure:
    """A measure of a group, the worst of several, and what it must be to the parameter."""

    measure: Callable[[Values, Values], Any]
    pick: Callable[..., Any]
    meets: Callable[[Any, Any], bool]


def at_least(measure: Callable[[Values, Values], Any]) -> Figure:
    return Figure(measure, min, operator.ge)


def at_most(measure: Callable[[Values, Values], Any]) -> Figure:
    return Figure(measure, max, operator.le)


def below(measure: Callable[[Values, Values], Any]) -> Figure:
    return Figure(measure, max, operator.lt)


def shares(values: Values) -> dict[Any, Fraction]:
    return {value: Fraction(count, len(values)) for value, count in Counter(values).items()}


def top(values: Values) -> Fraction:
    return max(shares(values).values())


DISTINCT = at_least(lambda group, whole: len(set(group)))
PROBABILISTIC = at_least(lambda group, whole: 1 / top(group))
LARGEST_SHARE = at_most(lambda group, whole: top(group))
ELIGIBLE = at_least(lambda group, whole: len(group) // max(Counter(group).values()))
UNIQUE = at_least(lambda group, whole: len(group) if len(set(group)) == len(group) else 0)
SPAN = at_least(lambda group, whole: Fraction(max(group) - min(group)))
GROWTH = at_most(lambda group, whole: max(p / shares(whole)[value] - 1 for value, p in shares(group).items()))


def recursive(order: int, dont_care: Collection[Any] = ()) -> Figure:
    """How many times as frequent a value that matters is as what is left once its ``order - 2`` most frequent rivals are ruled out."""

    def measure(group: Values, whole: Values) -> Any:
        counts, worst = Counter(group), Fraction(0)
        for value in set(counts) - set(dont_care) if order > 1 else ():
            rivals = sorted((n for other, n in counts.items() if other != value), reverse=True)
            left = sum(rivals[order - 2 :])
            worst = max(worst, Fraction(counts[value], left) if left else math.inf)
        return worst

    return Figure(measure, max, operator.lt if order > 1 else lambda worst, c: True)


def kept(must_keep: Collection[Any]) -> Figure:
    """The smallest percentage that one of some values has."""
    return at_least(lambda group, whole: min(100 * shares(group).get(value, Fraction(0)) for value in must_keep))


def listed(values: Collection[Any]) -> Figure:
    return at_most(lambda group, whole: max(shares(group).get(value, Fraction(0)) for value in values))


def categories(sets: Sequence[Collection[Any]]) -> Figure:
    return below(lambda group, whole: max(Fraction(sum(v in each for v in group), len(group)) for each in sets))


def ranges(length: Fraction) -> Figure:
    """The fullest range of some length; one begins at a number of the group."""
    return below(
        lambda group, whole: max(Fraction(sum(x <= y <= x + length for y in group), len(group)) for x in group)
    )


def near(epsilon: Fraction) -> Figure:
    return at_least(
        lambda group, whole: min(Fraction(len(group), sum(abs(y - x) <= epsilon for y in group)) for x in group)
    )


def weight(weights: Mapping[Any, Fraction]) -> Figure:
    return at_least(lambda group, whole: sum((weights.get(value, Fraction(0)) for value in set(group)), Fraction(0)))


def closeness(distance: Distance, large: float = math.inf) -> Figure:
    """The distance from the whole table; nothing for groups of ``large`` rows or more."""
    return at_most(lambda group, whole: distance(shares(group), shares(whole)) if len(group) < large else Fraction(0))


def equal(p: Mapping[Any, Fraction], q: Mapping[Any, Fraction]) -> Fraction:
    return sum((abs(p.get(value, Fraction(0)) - share) for value, share in q.items()), Fraction(0)) / 2


def ordered(order: Sequence[Any]) -> Distance:
    """The sum of differences of cumulated shares, over the number of steps."""

    def distance(p: Mapping[Any, Fraction], q: Mapping[Any, Fraction]) -> Fraction:
        carried = total = Fraction(0)
        for value in order[:-1]:
            carried += p.get(value, Fraction(0)) - q.get(value, Fraction(0))
            total += abs(carried)
        return total / max(len(order) - 1, 1)

    return distance


def hierarchical(paths: Mapping[Any, Sequence[str]]) -> Distance:
    """What every part of the tree has too much must leave it, half a step up and half a step down at each level."""
    height = len(next(iter(paths.values()))) - 1

    def distance(p: Mapping[Any, Fraction], q: Mapping[Any, Fraction]) -> Fraction:
        total = Fraction(0)
        for level in range(height):
            surplus: dict[tuple[str, ...], Fraction] = defaultdict(Fraction)
            for value, path in paths.items():
                surplus[tuple(path[level:])] += p.get(value, Fraction(0)) - q.get(value, Fraction(0))
            total += sum((abs(each) for each in surplus.values()), Fraction(0)) / (2 * height)
        return total

    return distance


def refined(rows: Sequence[Mapping[str, Any]], known: Sequence[str], column: str) -> list[list[Any]]:
    """The values of a column among rows that are alike in the known ones."""
    found: dict[tuple[Any, ...], list[Any]] = defaultdict(list)
    for row in rows:
        found[tuple(row[name] for name in known)].append(row[column])
    return list(found.values())
