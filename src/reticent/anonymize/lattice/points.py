"""Points under generalization: merging the groups of one node into those of a coarser one, as cheaply as possible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.data.frequencies import FrequencySet, Levels
from reticent.data.groups import Groups, Histograms
from reticent.data.hierarchy import Codes
from reticent.data.keys import is_dense, pack, sort_equal, sum_by


@dataclass(frozen=True)
class Points:
    """The groups of a node: one code per column, sizes, and (made when asked for) histograms.

    A coarser node is made from a finer one by :meth:`at`, never from the rows (R-LD-21). Histograms are merged only when somebody
    looks at them: most nodes are decided by sizes alone.
    """

    frequencies: FrequencySet
    levels: Levels
    codes: tuple[Codes, ...]
    sizes: NDArray[np.int64]
    extras: Mapping[str, NDArray[np.int64]]
    source: Points | None = None
    ids: NDArray[Any] | None = None

    @classmethod
    def of(cls, frequencies: FrequencySet) -> Points:
        """The points of a frequency set themselves."""
        return cls(frequencies, frequencies.levels, frequencies.codes, frequencies.sizes, frequencies.extras)

    def __len__(self) -> int:
        return len(self.sizes)

    @cached_property
    def histograms(self) -> Histograms:
        """The sensitive histograms of the groups."""
        if self.source is None or self.ids is None:
            return self.frequencies.histograms
        cells = self.source.histograms
        return Histograms.from_cells(
            self.ids[cells.owners], cells.values, cells.counts, len(self), self.frequencies.domain.size
        )

    @cached_property
    def _weights(self) -> NDArray[np.float64]:
        return self.sizes.astype(np.float64)

    @cached_property
    def _has_empty(self) -> bool:
        return "population" in self.extras and not self.sizes.all()

    def at(self, levels: Levels) -> Points:
        """These groups merged at coarser levels."""
        keys, space, cards = self._keys(levels)
        if not is_dense(space, len(keys)):
            order, starts = sort_equal(keys, space)
            count = len(starts)
            ids = np.empty(len(keys), dtype=np.int32)
            ids[order] = np.repeat(np.arange(count, dtype=np.int32), np.diff(np.append(starts, len(keys))))
            sizes = np.add.reduceat(self.sizes[order], starts)
            firsts = order[starts]
            codes = tuple(
                self._map(column, levels[column]).take(code.take(firsts)) for column, code in enumerate(self.codes)
            )
        else:
            table = np.bincount(keys, weights=self._weights, minlength=space)
            # Points without rows stay: their population counts in the groups that they join.
            present = np.flatnonzero(np.bincount(keys, minlength=space) if self._has_empty else table)
            sizes = table[present].astype(np.int64)
            lookup = np.empty(space, dtype=np.int32)
            lookup[present] = np.arange(len(present), dtype=np.int32)
            ids, count = lookup.take(keys), len(present)
            codes = _unpack(present, cards)
        extras = {name: sum_by(ids, values, count) for name, values in self.extras.items()}
        return Points(self.frequencies, levels, codes, sizes, extras, self, ids)

    def groups(self) -> Groups:
        """What a definition judges, histograms included."""
        return Groups(self.sizes, self.histograms, self.frequencies.reference, self.frequencies.domain, self.extras)

    def bare_groups(self) -> Groups:
        """The same for definitions that only count: every group's rows are put under one value."""
        count = len(self)
        plain = Histograms(np.arange(count + 1), np.zeros(count, dtype=np.int32), self.sizes)
        return Groups(self.sizes, plain, self.frequencies.reference, self.frequencies.domain, self.extras)

    def find(self, levels: Levels, codes: Sequence[int]) -> int:
        """Some group here that lies in the group with these parts at a coarser node."""
        inside = np.ones(len(self), dtype=bool)
        for column, (level, code) in enumerate(zip(levels, codes, strict=True)):
            if self.frequencies.hierarchies[column].levels[level].size > 1:
                inside &= (self._map(column, level) == code).take(self.codes[column])
        return int(np.argmax(inside))

    def _map(self, column: int, level: int) -> NDArray[np.int32]:
        return self.frequencies.hierarchies[column].between(self.levels[column], level)

    def _keys(self, levels: Levels) -> tuple[NDArray[Any], int, list[int]]:
        hierarchies = self.frequencies.hierarchies
        cards = [hierarchy.levels[level].size for hierarchy, level in zip(hierarchies, levels, strict=True)]
        space = prod(cards)
        if space >= 2**31:
            parts = [self._map(column, level)[self.codes[column]] for column, level in enumerate(levels)]
            keys, packed_space = pack(parts, cards, len(self))
            return keys, packed_space, cards
        keys = np.zeros(len(self), dtype=np.int32)
        stride = space
        for column, (level, card) in enumerate(zip(levels, cards, strict=True)):
            stride //= card
            if card > 1:
                scaled = self._map(column, level) * np.int32(stride)
                keys += scaled.take(self.codes[column])
        return keys, space, cards


def _unpack(keys: NDArray[np.int64], cards: Sequence[int]) -> tuple[NDArray[np.int32], ...]:
    codes: list[NDArray[np.int32]] = []
    rest = keys
    for card in reversed(cards):
        if card == 1:
            codes.append(np.zeros(len(keys), dtype=np.int32))
            continue
        rest, code = np.divmod(rest, card)
        codes.append(code.astype(np.int32))
    return tuple(reversed(codes))
