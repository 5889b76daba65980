"""Points under generalization: merge the groups of one node into those of a coarser one efficiently."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.base.packing import Codes, is_dense, number, pack, sort_equal, sum_by
from reticent.core import FrequencySet, Groups, Histograms, NodeLevels, Owners
from reticent.methods.lattice.packed_columns import Runs

# Keys below this are packed digit by digit, so that the parts of a group can be decoded from its key.
_LARGEST_UNPACKED = 2**31
# Powers of two; a multiplier that spreads neighbouring keys (hashing).
_MOST_PLACES, _SCATTER = 22, np.uint32(0x9E3779B1)


@dataclass(frozen=True)
class Points:
    """The groups of a node: sizes and, computed lazily, one code per column and histograms.

    A coarser node is made from a finer one by :meth:`at`, never from the rows. Most nodes are decided by sizes alone,
    so everything else is lazy. ``distinct`` holds the packed parts of the groups here.
    """

    frequencies: FrequencySet
    levels: NodeLevels
    sizes: NDArray[np.int64]
    source: Points | None = None
    distinct: NDArray[Any] | None = None

    @classmethod
    def of(cls, frequencies: FrequencySet) -> Points:
        """Return the points of a frequency set."""
        return cls(frequencies, frequencies.levels, frequencies.sizes)

    def __len__(self) -> int:
        return len(self.sizes)

    @cached_property
    def keys(self) -> NDArray[Any] | None:
        """The packed parts of each group of the source at this node."""
        return None if self.source is None else self.source._keys(self.levels)[0]

    def forget_source_groups(self) -> None:
        """Free the two arrays with an entry for each group of the source. They are computed again if they are needed."""
        for name in ("keys", "ids"):
            self.__dict__.pop(name, None)

    @cached_property
    def ids(self) -> NDArray[Any] | None:
        """The group here of each group of the source."""
        if self.keys is None or self.distinct is None:
            return None
        space = int(self.distinct[-1]) + 1
        if not is_dense(space, len(self.keys)):
            return np.searchsorted(self.distinct, self.keys).astype(np.int32)
        lookup = np.empty(space, dtype=np.int32)
        lookup[self.distinct] = np.arange(len(self), dtype=np.int32)
        return lookup.take(self.keys)

    @cached_property
    def group_of_point(self) -> NDArray[Any]:
        """The group here of every point of the frequency set."""
        if self.source is None or self.ids is None:
            return np.arange(len(self))
        group: NDArray[Any] = self.ids.take(self.source.group_of_point)
        return group

    @cached_property
    def codes(self) -> tuple[Codes, ...]:
        """The part of each group in every column."""
        if self.source is None or self.distinct is None:
            return self.frequencies.codes
        if prod(self.cards) < _LARGEST_UNPACKED:
            return _unpack(self.distinct, self.cards)
        assert self.ids is not None
        firsts = np.empty(len(self), dtype=np.int64)
        firsts[self.ids] = np.arange(len(self.ids))
        return tuple(
            self.source.map(column, level).take(self.source.codes[column].take(firsts))
            for column, level in enumerate(self.levels)
        )

    @cached_property
    def runs(self) -> Runs:
        """The codes in runs of columns, for sums over columns."""
        if self.distinct is None or prod(self.cards) >= _LARGEST_UNPACKED:
            return Runs.of_columns(self.codes, self.cards)
        return Runs.of_keys(self.distinct, self.cards)

    def alike(self, columns: Sequence[int]) -> tuple[NDArray[Any], int]:
        """Return for every group a number that is equal for groups with equal labels in ``columns``, which an adversary who
        knows only these cannot distinguish, and the count of such numbers.
        """
        cards = [self.cards[column] for column in columns]
        return number(*pack([self.codes[column] for column in columns], cards, len(self)))

    def point_in(self, group: int) -> int:
        """Return the index of a point of the frequency set that belongs to a group of this node."""
        points, index = self, group
        while points.source is not None and points.keys is not None and points.distinct is not None:
            index = int(np.argmax(points.keys == points.distinct[index]))
            points = points.source
        return index

    @cached_property
    def extras(self) -> Mapping[str, NDArray[np.int64]]:
        """Counts of the groups besides their rows, by name, such as the people of a population; summed from the finer groups."""
        if self.source is None or not self.source.extras or self.ids is None:
            return self.frequencies.extras
        return {name: sum_by(self.ids, values, len(self)) for name, values in self.source.extras.items()}

    @cached_property
    def owners(self) -> tuple[Owners, ...]:
        """The people who own the rows of the groups, if a person may have several rows."""
        if self.source is None or not self.source.owners or self.ids is None:
            return self.frequencies.owners
        return tuple(owner_sets.merged(self.ids, len(self)) for owner_sets in self.source.owners)

    @cached_property
    def histograms(self) -> Histograms:
        """The sensitive histograms of the groups."""
        if self.source is None or self.ids is None:
            return self.frequencies.histograms
        cells = self.source.histograms
        return Histograms.from_cells(
            self.ids.take(cells.owners), cells.values, cells.counts, len(self), self.frequencies.domain.size
        )

    @cached_property
    def cards(self) -> list[int]:
        """The number of parts of every column at this node."""
        return self._cards_at(self.levels)

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """The sizes as floats, as numpy's bincount needs them."""
        return self.sizes.astype(np.float64)

    @cached_property
    def _has_empty(self) -> bool:
        return "population" in self.extras and not self.sizes.all()

    def at(self, levels: NodeLevels) -> Points:
        """Return the groups at coarser levels, merged from these."""
        keys, space = self._keys(levels)
        if not is_dense(space, len(keys)):
            order, starts = sort_equal(keys, space)
            sizes = np.add.reduceat(self.sizes.take(order), starts)
            return self._merged(levels, sizes, keys, keys.take(order.take(starts)))
        table = np.bincount(keys, weights=self.weights, minlength=space)
        # Points without rows stay: their population counts in the groups that they join.
        present = np.flatnonzero((np.bincount(keys, minlength=space) if self._has_empty else table) != 0)
        return self._merged(levels, table.take(present).astype(np.int64), keys, present)

    def _merged(
        self, levels: NodeLevels, sizes: NDArray[np.int64], keys: NDArray[Any], distinct: NDArray[Any]
    ) -> Points:
        """Return the points at coarser levels, given the key of every point."""
        merged = Points(self.frequencies, levels, sizes, self, distinct)
        merged.__dict__["keys"] = keys
        return merged

    def in_small_groups(self, levels: NodeLevels, least: int) -> int:
        """Return a lower bound of the rows in groups of fewer than ``least`` rows at coarser levels; 0, which bounds nothing,
        if :meth:`at` can count them exactly without sorting.

        Groups are hashed to fewer buckets than there are groups. Colliding ones count as one group, which only makes
        groups larger.
        """
        space = prod(self._cards_at(levels))
        if is_dense(space, len(self)) or space >= _LARGEST_UNPACKED:
            return 0
        bits = min((2 * len(self)).bit_length(), _MOST_PLACES)
        buckets = (self._keys(levels)[0].astype(np.uint32) * _SCATTER) >> np.uint32(32 - bits)
        bucket_rows = np.bincount(buckets, weights=self.weights)
        return int(bucket_rows[bucket_rows < least].sum())

    def groups(self) -> Groups:
        """Return the groups with histograms, as definitions judge them."""
        frequencies = self.frequencies
        labels = frequencies.labels_of(self.levels, lambda: self.codes, lambda: self.group_of_point)
        return Groups(
            self.sizes, self.histograms, frequencies.reference, frequencies.domain, self.extras, labels, self.owners
        )

    def bare_groups(self) -> Groups:
        """Return the groups for definitions that only count: every group's rows have one value."""
        one_value, frequencies = Histograms.of_one_value(self.sizes), self.frequencies
        return Groups(self.sizes, one_value, frequencies.reference, frequencies.domain, self.extras, owners=self.owners)

    def map(self, column: int, level: int) -> NDArray[np.int32]:
        """Return the map from the codes of a column's generalized values here to those at a coarser level."""
        return self.frequencies.hierarchies[column].between(self.levels[column], level)

    def _cards_at(self, levels: NodeLevels) -> list[int]:
        """Return the number of generalized values of every column at some levels."""
        return [h.levels[level].size for h, level in zip(self.frequencies.hierarchies, levels, strict=True)]

    def _keys(self, levels: NodeLevels) -> tuple[NDArray[Any], int]:
        """Return a key for the group of every point at coarser levels, and the number of possible keys."""
        cards = self._cards_at(levels)
        space = prod(cards)
        if space >= _LARGEST_UNPACKED:
            parts = [self.map(column, level).take(self.codes[column]) for column, level in enumerate(levels)]
            return pack(parts, cards, len(self))
        scaled, stride = [], space
        for column, (level, card) in enumerate(zip(levels, cards, strict=True)):
            stride //= card
            scaled.append(self.map(column, level) * np.int32(stride))
        return self.runs.added(scaled), space


def _unpack(keys: NDArray[np.int64], cards: Sequence[int]) -> tuple[NDArray[np.int32], ...]:
    """Return the code of every column from keys that combine them, the first column as the highest digit."""
    codes: list[NDArray[np.int32]] = []
    remaining = keys
    for card in reversed(cards):
        if card == 1:
            codes.append(np.zeros(len(keys), dtype=np.int32))
            continue
        remaining, code = np.divmod(remaining, card)
        codes.append(code.astype(np.int32))
    return tuple(reversed(codes))
