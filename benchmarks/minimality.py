"""Whether a random choice in Suppress lowers what an adversary learns who reruns the method on every table (minimality).

Six people with known quasi values have three sensitive values, none more often than three times: 510 possible worlds. In each the method publishes with at most half of a class sharing a value; the
adversary knows its law and weighs the worlds that may have led to the release. Counted are worlds in which some belief exceeds 1/2.

Run: python -m benchmarks.minimality [name of a table]
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import reticent as rt
from reticent.base.context import Context
from reticent.base.randomness import Randomness
from reticent.methods.suppress import patterns

Person = tuple[str, ...]
World = tuple[str, ...]
Law = dict[World, dict[Any, Fraction]]

VALUES = "abc"
WORLDS = [world for world in product(VALUES, repeat=6) if max(map(world.count, VALUES)) <= 3]
TABLES: dict[str, list[Person]] = {
    "two columns": [("1", "x"), ("1", "x"), ("2", "x"), ("2", "y"), ("3", "y"), ("3", "y")],
    "grid": [(first, second) for first in "12" for second in "xyz"],
    "three columns": [("1", "x", "p"), ("1", "x", "q"), ("1", "y", "p"), ("2", "y", "q"), ("2", "x", "p"), ("2", "y", "p")],
    "cube": [each for each in product("01", repeat=3) if len(set(each)) > 1],
}  # fmt: skip


def beliefs(law: Law) -> tuple[float, float, float]:
    """Worlds in which somebody's value is believed above 1/2, the highest belief, and the mean over worlds of the highest belief about anybody."""
    leads: defaultdict[Any, list[tuple[World, Fraction]]] = defaultdict(list)
    for world, shown in law.items():
        for release, chance in shown.items():
            leads[release].append((world, chance))
    above, highest, mean = Fraction(0), Fraction(0), Fraction(0)
    for worlds in leads.values():
        total = sum((chance for _, chance in worlds), Fraction(0))
        top = Fraction(0)
        for person in range(6):
            weight: Counter[str] = Counter()
            for world, chance in worlds:
                weight[world[person]] += chance  # type: ignore[assignment]
            top = max(top, Fraction(max(weight.values())) / total)
        above, highest, mean = above + total * (top > Fraction(1, 2)), max(highest, top), mean + top * total
    return float(above), float(highest), float(mean / len(law))


def of_method(people: Sequence[Person], method: Any) -> Law:
    """What a method publishes in each world."""
    columns = {f"q{number}": [person[number] for person in people] for number in range(len(people[0]))}
    found: Law = {}
    for world in WORLDS:
        table = rt.Table({**columns, "s": list(world)}, quasi=list(columns), sensitive={"s": list(VALUES)})
        draft = method.draft(table, rt.ProbabilisticLDiversity(2), Context(Randomness(0)))
        found[world] = {tuple(sorted(draft.tables["data"].frame().rows())): Fraction(1)}
    return found


def of_drawn_patterns(people: Sequence[Person]) -> Law:
    """Suppress, if it took equally cheap patterns in a random order: the mean over all orders of one and of two suppressed columns."""
    orders = list(product(permutations(range(len(people[0]))), repeat=2 if len(people[0]) == 3 else 1))
    found: Law = {world: {} for world in WORLDS}
    for chosen in orders:
        with _ordered(chosen):
            for world, shown in of_method(people, rt.Suppress()).items():
                for release in shown:
                    found[world][release] = found[world].get(release, Fraction(0)) + Fraction(1, len(orders))
    return found


@contextmanager
def _ordered(chosen: tuple[tuple[int, ...], ...]) -> Iterator[None]:
    """While the block runs, the patterns that suppress one column, and those that suppress two, are tried in these orders."""
    place = patterns.PatternGreedy._place

    def ordered(self: Any, tier: list[Any]) -> None:
        order = chosen[min(sum(tier[0]), len(chosen)) - 1] if len(tier) > 1 else (0,)
        place(self, [tier[each] for each in order])

    patterns.PatternGreedy._place = ordered  # type: ignore[assignment, method-assign]
    try:
        yield
    finally:
        patterns.PatternGreedy._place = place  # type: ignore[method-assign]


def of_least_cost(people: Sequence[Person], *, drawn: bool) -> Law:
    """The partition of fewest suppressed cells, of all 203: the first of several in a fixed order, or one of them ``drawn`` at random."""
    every = list(_partitions(list(range(6))))
    found: Law = {}
    for world in WORLDS:
        costs = {release: cost for cost, release in (_release(people, each, world) for each in every) if cost >= 0}
        least = sorted(release for release, cost in costs.items() if cost == min(costs.values()))
        found[world] = dict.fromkeys(least, Fraction(1, len(least))) if drawn else {least[0]: Fraction(1)}
    return found


def _partitions(people: list[int]) -> Iterator[list[list[int]]]:
    if not people:
        yield []
        return
    first, *rest = people
    for parts in _partitions(rest):
        yield [[first], *parts]
        for place in range(len(parts)):
            yield [*parts[:place], [first, *parts[place]], *parts[place + 1 :]]


def _release(people: Sequence[Person], parts: list[list[int]], world: World) -> tuple[int, Any]:
    """Suppressed cells and what is shown; -1 cells where a class fails. Classes that show the same are one."""
    classes: defaultdict[Person, list[int]] = defaultdict(list)
    for part in parts:
        columns = zip(*(people[person] for person in part), strict=True)
        classes[tuple(each[0] if len(set(each)) == 1 else "*" for each in columns)] += part
    shown, cost = [], 0
    for labels, members in classes.items():
        values = sorted(world[person] for person in members)
        if 2 * max(map(values.count, VALUES)) > len(values):
            return -1, None
        shown.append((labels, tuple(sorted(members)), tuple(values)))
        cost += len(members) * labels.count("*")
    return cost, tuple(sorted(shown))


def main(only: str = "") -> None:
    """Print a row for each table and way to choose."""
    print("| table | choice | worlds of 510 above 1/2 | highest belief | mean |\n|---|---|---|---|---|")
    for name, people in TABLES.items():
        if only in ("", name):
            for choice, law in (
                ("Suppress", of_method(people, rt.Suppress())),
                ("Suppress, equally cheap patterns drawn", of_drawn_patterns(people)),
                ("fewest cells, ties in a fixed order", of_least_cost(people, drawn=False)),
                ("fewest cells, ties drawn", of_least_cost(people, drawn=True)),
            ):
                above, highest, mean = beliefs(law)
                print(f"| {name} | {choice} | {above:.0f} | {highest:.2f} | {mean:.3f} |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
