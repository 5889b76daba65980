"""Which sensitive values meet in a group, and which row of each value goes there.

Which values meet follows from how often each occurs, and from draws: from nothing that tells who has which. A release of all rows shows these numbers anyway. Who goes where
is then drawn uniformly among the people who share a value, so that every way to give the values of a group to its people makes the release
equally likely: an adversary who knows the method concludes no more than the histogram of a group tells (the first rows in the order of the file instead
gave people away in 20 of 25 small tables).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reticent.base.compiled import compiled
from reticent.base.packing import sum_by
from reticent.base.randomness import Randomness
from reticent.core import Groups, Histograms, SensitiveDomain

Ids = NDArray[np.int64]

_COMPILED_FROM = 20_000
"""Rows from which on compiling the loop pays, or reading its machine code."""


@dataclass(frozen=True)
class Signatures:
    """The values of ``count`` groups: entry ``e`` is a row with the value ``values[e]`` in ``group[e]``. No group has a value twice."""

    values: Ids
    group: Ids
    count: int

    @classmethod
    def drawn(cls, times: Ids, least: int, randomness: Randomness) -> Signatures:
        """Groups of ``least`` different values or a few more, given how many rows have each value: at most ``1/least`` of all.

        A group takes a row of each of the ``least`` values that have most rows left; among equals, an order of the values that was drawn decides. What is left over
        in the end, at most one row a value, joins groups that lack the value, drawn uniformly.
        """
        order = randomness.order(len(times))
        order = order[np.argsort(-times[order], kind="stable")]
        left, rows = times[order], int(times.sum())
        chosen = np.zeros((rows // least, least), dtype=np.int64)
        count = int(_loop(rows)(left, least, chosen))
        chosen = chosen[:count]
        late = np.flatnonzero(left)
        joined = [_one_of(np.flatnonzero((chosen != value).all(axis=1)), randomness) for value in late.tolist()]
        values = np.concatenate([chosen.ravel(), late])
        group = np.concatenate([np.repeat(np.arange(count), least), np.array(joined, dtype=np.int64)])
        return cls(order[values], group, count)

    def groups(self, domain: SensitiveDomain) -> Groups:
        """What a definition judges: the sizes and histograms of the groups."""
        histograms = Histograms.from_cells(self.group, self.values, None, self.count, domain.size)
        return Groups(sum_by(self.group, None, self.count), histograms, histograms.total(domain.size), domain)

    def dealt(self, values: Ids) -> Ids:
        """The group of every row, given the values of rows that stand in a random order: the first rows of a value go to the first groups that have it."""
        found = np.empty(len(values), dtype=np.int64)
        found[np.argsort(values, kind="stable")] = self.group[np.argsort(self.values, kind="stable")]
        return found


def _loop(rows: int) -> Callable[[Ids, int, Ids], int]:
    """How values are chosen: by compiled code where there are many rows, which takes a second to load."""
    return largest_first if rows < _COMPILED_FROM else _compiled_largest_first


def largest_first(counts: Ids, least: int, chosen: Ids) -> int:
    """Fill ``chosen[g]`` with the values of group ``g``, one row each of the ``least`` values that have most rows left, and return the number of groups.

    ``counts`` falls, and is left with the rows that remain. ``reaching[c]`` values have at least ``c`` rows, so that values with equal counts are a
    stretch of the order; of the stretch that is taken in part its end is taken, which keeps the order falling.
    """
    reaching = np.zeros(counts[0] + 2, dtype=np.int64)
    for value in range(len(counts)):
        reaching[counts[value]] += 1
    for count in range(len(reaching) - 2, -1, -1):
        reaching[count] += reaching[count + 1]
    group = 0
    while reaching[1] >= least:
        edge = counts[least - 1]
        above = reaching[edge + 1]
        stop = reaching[edge]
        for place in range(least):
            taken = stop - 1 - place if place < least - above else least - 1 - place
            reaching[counts[taken]] -= 1
            counts[taken] -= 1
            chosen[group, place] = taken
        group += 1
    return group


_compiled_largest_first = compiled(largest_first)


def _one_of(places: Ids, randomness: Randomness) -> int:
    """One of some places, each as likely. There is one: a value with at most as many rows as there are groups, one of them left over, is missing in some group."""
    return int(places[randomness.integers(len(places), 1)[0]])


def most_eligible(times: Ids) -> int:
    """The largest number of different values for which groups can be formed: no value has more than one row in so many."""
    return int(times.sum()) // int(times.max())
