"""The sensitive values of each bucket, and the assignment of rows to buckets.

The values of buckets follow from the histogram of the table and from randomness, not from who has which value. A
release of all rows shows the histogram anyway. The row of a value is then sampled uniformly among the people who share
it, so that every assignment of a bucket's values to its people makes the release equally likely: an adversary who knows
the method learns no more than the bucket's histogram (assigning rows in file order instead disclosed values in 20 of 25
small tables).
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
"""Number of rows from which compiling the loop, or loading its machine code, pays off."""


@dataclass(frozen=True)
class Signatures:
    """The values of ``count`` groups: entry ``e`` is a row with the value ``values[e]`` in ``group[e]``. No group has a value twice."""

    values: Ids
    group: Ids
    count: int

    @classmethod
    def drawn(cls, value_counts: Ids, minimum: int, randomness: Randomness) -> Signatures:
        """Sample groups of ``minimum`` distinct values or a few more, given the number of rows of each value: at most
        ``1/minimum`` of all rows.

        A group takes a row of each of the ``minimum`` values with the most remaining rows; ties are broken by a random
        order of the values. The final remainder, at most one row per value, joins groups that lack the value, chosen
        uniformly.
        """
        order = randomness.order(len(value_counts))
        order = order[np.argsort(-value_counts[order], kind="stable")]
        remaining, rows = value_counts[order], int(value_counts.sum())
        chosen = np.zeros((rows // minimum, minimum), dtype=np.int64)
        count = int(_loop(rows)(remaining, minimum, chosen))
        chosen = chosen[:count]
        leftover_values = np.flatnonzero(remaining)
        groups_joined = [
            _one_of(np.flatnonzero((chosen != value).all(axis=1)), randomness) for value in leftover_values.tolist()
        ]
        values = np.concatenate([chosen.ravel(), leftover_values])
        group = np.concatenate([np.repeat(np.arange(count), minimum), np.array(groups_joined, dtype=np.int64)])
        return cls(order[values], group, count)

    def groups(self, domain: SensitiveDomain) -> Groups:
        """Return the sizes and histograms of the groups, as definitions judge them."""
        histograms = Histograms.from_cells(self.group, self.values, None, self.count, domain.size)
        return Groups(sum_by(self.group, None, self.count), histograms, histograms.total(domain.size), domain)

    def dealt(self, values: Ids) -> Ids:
        """Return the group of every row, given the values of rows in random order: the first rows of a value go to the first groups that have it."""
        group_of_row = np.empty(len(values), dtype=np.int64)
        group_of_row[np.argsort(values, kind="stable")] = self.group[np.argsort(self.values, kind="stable")]
        return group_of_row


def _loop(rows: int) -> Callable[[Ids, int, Ids], int]:
    """Return the loop that chooses values: compiled if there are many rows, since loading it takes a second."""
    return largest_first if rows < _COMPILED_FROM else _compiled_largest_first


def largest_first(counts: Ids, least: int, chosen: Ids) -> int:
    """Fill ``chosen[g]`` with the values of group ``g``: the ``least`` values with the most remaining rows, which give a
    row each. Return the number of groups.

    ``counts`` is the number of rows of each value in decreasing order, and is reduced to the remaining rows.
    ``reaching[c]`` is the number of values with at least ``c`` rows, so values with equal counts are a segment of the
    order; of a partially used segment the end is used, which keeps the order decreasing.
    """
    reaching = np.zeros(counts[0] + 2, dtype=np.int64)
    for value in range(len(counts)):
        reaching[counts[value]] += 1
    for count in range(len(reaching) - 2, -1, -1):
        reaching[count] += reaching[count + 1]
    group = 0
    while reaching[1] >= least:
        boundary_count = counts[least - 1]
        values_above = reaching[boundary_count + 1]
        segment_end = reaching[boundary_count]
        for slot in range(least):
            chosen_value = segment_end - 1 - slot if slot < least - values_above else least - 1 - slot
            reaching[counts[chosen_value]] -= 1
            counts[chosen_value] -= 1
            chosen[group, slot] = chosen_value
        group += 1
    return group


_compiled_largest_first = compiled(largest_first)


def _one_of(indices: Ids, randomness: Randomness) -> int:
    """Return one of some indexes, uniformly.

    There is at least one: a value that has at most as many rows as there are groups, and a row left, is missing in some group.
    """
    return int(indices[randomness.integers(len(indices), 1)[0]])


def most_eligible(value_counts: Ids) -> int:
    """Return the largest number of distinct values for which groups can be formed: no value has more than that fraction of the rows."""
    return int(value_counts.sum()) // int(value_counts.max())
