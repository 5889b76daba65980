"""The scalable greedy: patterns with the fewest suppressed cells first, and of equally cheap ones the one that places the most rows.

Guarantee: every class passes. There is no proven factor; the cost is compared with the lower bounds of the run. Cost:
one grouping of the remaining units for each examined pattern; at most ``MOST_PATTERNS`` (fewer for very many units) are
examined in order of cost, after which only patterns that suppress more and more columns are tried.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from reticent.base.context import Context
from reticent.base.packing import sum_by
from reticent.methods.suppress.ladders import Ids, Ladder, Mask, Pattern, Units

MOST_PATTERNS, _FEWEST_PATTERNS, _MOST_WORK = 4096, 64, 700_000_000
Passing = Callable[[Ids, Ids, int], Mask]
"""Mask of the passing groups, given some units, the group of each and the number of groups."""


def cheapest_patterns(ladders: tuple[Ladder, ...], most: int = MOST_PATTERNS) -> Iterator[tuple[int, Pattern]]:
    """Yield the cost of a row and its pattern, the generalization level (rung) of each column, by increasing cost."""
    start = (0,) * len(ladders)
    heap, pushed = [(0, start)], {start}
    for _ in range(most):
        if not heap:
            return
        cost, pattern = heapq.heappop(heap)
        yield cost, pattern
        for column, ladder in enumerate(ladders):
            if pattern[column] < ladder.top:
                higher = (*pattern[:column], pattern[column] + 1, *pattern[column + 1 :])
                if higher not in pushed:
                    pushed.add(higher)
                    step = ladder.costs[pattern[column] + 1] - ladder.costs[pattern[column]]
                    heapq.heappush(heap, (cost + step, higher))


def affordable(units: Units) -> int:
    """Return how many patterns to examine: fewer if there are very many units, to bound the time."""
    return min(MOST_PATTERNS, max(_FEWEST_PATTERNS, _MOST_WORK // max(len(units), 1)))


def enough_people(units: Units) -> Passing:
    """Return the check that groups have at least as many people as a class needs."""

    def passing(chosen: Ids, ids: Ids, count: int) -> Mask:
        """Mask the groups of the ``chosen`` units, numbered by ``ids``, that have enough people."""
        large: Mask = sum_by(ids, units.people[chosen], count) >= units.least
        return large

    return passing


class PatternGreedy:
    """Places units class by class; ``group`` is the class of each, -1 if none.

    Mutable: each pattern places some of the units that earlier ones left.
    """

    def __init__(self, units: Units, passing: Passing, context: Context) -> None:
        """Start with all units unplaced; ``passing`` masks the groups of units that may become classes."""
        self._units, self._passing, self._context = units, passing, context
        self.group: Ids = np.full(len(units), -1, dtype=np.int64)
        self.count = 0
        self._unplaced: Ids = np.arange(len(units))

    def run(self) -> Ids:
        """Return the class of every unit, -1 if no pattern could place it: cheapest patterns first, and of equal cost those that place the most rows."""
        total = len(self._unplaced)
        for cost, tier in groupby(
            cheapest_patterns(self._units.ladders, affordable(self._units)),
            key=lambda priced_pattern: priced_pattern[0],
        ):
            if not len(self._unplaced):
                break
            self._context.step("placing rows", total - len(self._unplaced), total, f"cost {cost}")
            self._place([pattern for _, pattern in tier])
        if len(self._unplaced):
            self._climb()
        return self.group

    def _place(self, patterns: list[Pattern]) -> None:
        """Form classes by the pattern that places the most rows, then by the next best for the remaining ones, until none places any."""
        heap: list[tuple[int, int, int, tuple[Ids, Mask]]] = []
        for order, pattern in enumerate(patterns):
            placed = self._placed(pattern)
            heapq.heappush(heap, (-int(self._units.rows[self._unplaced[placed[1]]].sum()), order, self.count, placed))
        while heap and heap[0][0] < 0:
            _, order, count_then, placed = heapq.heappop(heap)
            if count_then != self.count:
                # Fewer units remain than when this was counted.
                self._context.check("placing rows")
                placed = self._placed(patterns[order])
                rows = int(self._units.rows[self._unplaced[placed[1]]].sum())
                heapq.heappush(heap, (-rows, order, self.count, placed))
                continue
            self._take(*placed)

    def _placed(self, pattern: Pattern) -> tuple[Ids, Mask]:
        """Return the remaining units, numbered by what they show under a pattern, and mask those in a passing group."""
        ids, count = self._units.alike(pattern, self._unplaced)
        return ids, self._passing(self._unplaced, ids, count)[ids]

    def _take(self, ids: Ids, placed: Mask) -> None:
        """Form classes of the ``placed`` units, by their ids, and remove them from those left."""
        chosen = self._unplaced[placed]
        numbers = np.unique(ids[placed], return_inverse=True)[1]
        self.group[chosen] = self.count + numbers
        self.count += int(numbers.max(initial=-1)) + 1
        self._unplaced = self._unplaced[~placed]

    def _climb(self) -> None:
        """For many columns: suppress one more column at a time, the one that places the most rows, or else the one with the most remaining values."""
        ladders = self._units.ladders
        pattern = (0,) * len(ladders)
        while len(self._unplaced):
            self._context.step("placing rows", len(self._units) - len(self._unplaced), len(self._units), "many columns")
            higher = [
                (*pattern[:column], ladder.top, *pattern[column + 1 :])
                for column, ladder in enumerate(ladders)
                if pattern[column] < ladder.top
            ]
            if not higher:
                return
            placements = [self._placed(candidate) for candidate in higher]
            rows = [int(self._units.rows[self._unplaced[placed]].sum()) for _, placed in placements]
            negative_group_counts = [-int(ids.max(initial=0)) for ids, _ in placements]
            best = max(range(len(higher)), key=lambda index: (rows[index], negative_group_counts[index]))
            pattern = higher[best]
            if rows[best]:
                self._take(*placements[best])


def least_prices(units: Units, context: Context) -> tuple[NDArray[np.int64], bool]:
    """Return for every unit the smallest cost of a row at which enough people have equal labels, independent of the
    others; and whether it was found for all.

    No partition shows a row of the unit for less, so the sum over rows is a lower bound; it is at least that of the
    nearest neighbours, since people with equal labels at some cost are at most that far apart. Units for which the
    examined patterns do not suffice get the cost of the last of these.
    """
    price: Ids = np.full(len(units), -1, dtype=np.int64)
    all_units, cost = np.arange(len(units)), 0
    for cost, pattern in cheapest_patterns(units.ladders, affordable(units)):
        context.check("bounding the cost")
        ids, count = units.alike(pattern, all_units)
        large = sum_by(ids, units.people, count) >= units.least
        price[(price < 0) & large[ids]] = cost
        if (price >= 0).all():
            return price, True
    return np.where(price < 0, cost, price), False
