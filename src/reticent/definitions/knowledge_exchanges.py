"""Worst-case knowledge of a partition whose groups are replaced many at a time, without judging the whole again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from reticent.base.ragged import ranks_among_equal
from reticent.core import Groups
from reticent.definitions.exchanges import Exchanges
from reticent.worst_case import Buckets, Floats, least_chances, merge, merge_all, screened_verdict

Refine = Callable[[Groups], Iterable[Groups]]


class KnowledgeExchanges(Exchanges):
    """The exchanges under (c,k)-safety. Every ``before`` is safe together with ``rest``, and every group has more than ``k
    + 1`` values.

    A set of groups is summarized by its minimum factors with and without the consequent, and two summaries merge into
    one. Kept are the summary of the decided groups, those of aligned blocks of new groups, and those of all old groups
    behind each index; so a query costs two merges of k^2 each. Floats screen; where rounding might matter the whole
    partition is judged exactly.
    """

    def __init__(
        self,
        limits: tuple[Fraction, int],
        holds: Callable[[Groups], bool],
        refine: Refine,
        rest: Groups,
        before: Groups,
        after: Groups,
    ) -> None:
        """Prepare the exchange of each group of ``before`` for two of ``after``; the groups of ``rest`` stay.

        ``limits`` are c and k of (c,k)-safety, ``holds`` judges groups exactly, and ``refine`` returns them once per
        sensitive column, split by what may be known.
        """
        super().__init__(rest, before, after)
        self._c, self._k = limits
        self._holds = holds
        columns = zip(refine(rest), refine(before), refine(after), strict=True)
        self._sums = [
            _Sums(*(_sums(groups, count, self._k) for groups, count in zip(parts, self._sizes, strict=True)))
            for parts in columns
        ]

    @property
    def _sizes(self) -> tuple[int, int, int]:
        return len(self.rest), len(self.before), len(self.after)

    def fits(self, level: int, block: int) -> bool:
        """Return whether all groups stay below the highest admissible belief if the exchanges of a block are made;
        floats decide unless rounding might matter.
        """
        required_ratio = (1 - self._c) / self._c
        behind = self.places(level, block).stop
        verdicts = [
            screened_verdict(value_sum.ratio(level, block, behind), required_ratio, self._k) for value_sum in self._sums
        ]
        if None in verdicts:
            return self._holds(self.partition(level, block))
        return all(verdicts)

    def settle(self, level: int, block: int, made: bool) -> None:
        super().settle(level, block, made)
        for value_sum in self._sums:
            value_sum.settle(level, block, made)


class _Sums:
    """The summaries for one sensitive column."""

    def __init__(self, rest: Floats, before: Floats, after: Floats) -> None:
        """Merge the minimum factors of the groups: all that stay (``rest``), the new ones (``after``) by aligned
        blocks, and the old ones (``before``) behind each index.
        """
        self._decided = merge_all(rest) if len(rest) else _absent(1, after.shape[-1])[0]
        self._before = before
        self._blocks = [merge(after[0::2], after[1::2])]
        while len(self._blocks[-1]) > 1:
            lower = self._blocks[-1]
            even = np.concatenate([lower, _absent(len(lower) % 2, lower.shape[-1])])
            self._blocks.append(merge(even[0::2], even[1::2]))
        self._behind = np.concatenate([before, _absent(1, before.shape[-1])])
        step = 1
        while step < len(before):
            self._behind[:-step] = merge(self._behind[:-step], self._behind[step:])
            step *= 2

    def ratio(self, level: int, block: int, behind: int) -> float:
        """The minimum ratio of all groups with a block exchanged and everything behind it unchanged."""
        exchanged = merge(self._decided, self._blocks[level][block])
        return float(merge(exchanged, self._behind[behind])[1, -1])

    def settle(self, level: int, block: int, made: bool) -> None:
        self._decided = merge(self._decided, self._blocks[level][block] if made else self._before[block])


def _sums(groups: Groups, count: int, k: int) -> Floats:
    """Return for each group the minimum factors without and with the predicted atom, by number of antecedents (see
    ``worst_case.screen.merge``).

    A group's factors are merged from those of the groups that it is split into by known sensitive values.
    """
    sums, filled = _absent(count, k + 1), groups.sizes > 0
    if not filled.any():
        return sums
    buckets, parents = Buckets.of(groups.select(filled)), groups.parents()[filled]
    top = buckets.top(k + 1)
    chances = least_chances(buckets.sizes, top)
    pairs = np.stack([chances[:-1].T, (chances[1:] * (buckets.sizes / top[0])).T], axis=1)
    for batch in _one_of_each(parents):
        sums[parents[batch]] = merge(sums[parents[batch]], pairs[batch])
    return sums


def _one_of_each(parents: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Yield index batches that together cover all refined groups, each with at most one refined group per parent group."""
    rank = ranks_among_equal(parents)
    for number in range(int(rank.max()) + 1):
        yield np.flatnonzero(rank == number)


def _absent(count: int, length: int) -> Floats:
    """The summaries of empty sets of groups."""
    return np.repeat(np.stack([np.ones(length), np.full(length, np.inf)])[None], count, axis=0)
