"""Histograms of many groups at once, in CSR form."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from reticent.base.packing import Codes, sum_by, sum_equal
from reticent.base.ragged import starts_of

Scalar = TypeVar("Scalar", bound=np.generic)


@dataclass(frozen=True)
class Histograms:
    """Histograms in CSR form: group ``g`` has ``values[offsets[g]:offsets[g + 1]]``, ascending, with positive ``counts``."""

    offsets: NDArray[np.int64]
    values: NDArray[np.int32]
    counts: NDArray[np.int64]

    @classmethod
    def from_cells(
        cls,
        ids: Codes,
        values: Codes,
        counts: NDArray[np.int64] | None,
        groups: int,
        size: int,
    ) -> Histograms:
        """Sum entries ``(group, value, count)``; without counts every entry is one row."""
        space = groups * size
        dtype = np.int32 if space < 2**31 else np.int64
        keys: Any = ids.astype(dtype)
        keys *= dtype(size)
        np.add(keys, values, out=keys, casting="unsafe")
        distinct, totals = sum_equal(keys, counts, space)
        owners = distinct // size if size else distinct
        offsets = np.zeros(groups + 1, dtype=np.int64)
        np.cumsum(np.bincount(owners, minlength=groups), out=offsets[1:])
        return cls(offsets, (distinct - owners * size).astype(np.int32), totals)

    @classmethod
    def of_one_value(cls, sizes: NDArray[np.int64]) -> Histograms:
        """Groups of the given sizes with all rows under one value: for callers that only count rows."""
        return cls(np.arange(len(sizes) + 1), np.zeros(len(sizes), dtype=np.int32), sizes)

    @cached_property
    def owners(self) -> NDArray[np.int64]:
        """The group of every entry."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    @cached_property
    def distinct(self) -> NDArray[np.int64]:
        """The number of different values per group."""
        return np.diff(self.offsets)

    @cached_property
    def falling(self) -> NDArray[np.int64]:
        """Indices of the entries by group, the most frequent value first (ties by value)."""
        return np.lexsort((-self.counts, self.owners))

    @cached_property
    def ranked(self) -> NDArray[np.int64]:
        """The counts by group in descending order."""
        bits = int(self.counts.max(initial=0)).bit_length()
        if len(self.offsets) << bits >= 2**63:
            return self.counts[self.falling]
        # One packed key per entry: sorting plain integers is many times faster than sorting by two columns.
        largest = (1 << bits) - 1
        keys = (self.owners << bits) + (largest - self.counts)
        keys.sort()
        return largest - (keys & largest)

    @cached_property
    def ranked_sums(self) -> NDArray[np.int64]:
        """Prefix sums of :attr:`ranked` with a leading zero."""
        return starts_of(self.ranked)

    @cached_property
    def top(self) -> NDArray[np.int64]:
        """The count of the most frequent value of each group; 0 for an empty group."""
        return self.reduce_max(self.counts)

    def reduce_max(self, cells: NDArray[Scalar]) -> NDArray[Scalar]:
        """The maximum of some per-entry numbers by group, 0 if there are none; for masks, the logical or."""
        result = np.zeros(len(self.offsets) - 1, dtype=cells.dtype)
        if self.distinct.all():
            return np.maximum.reduceat(cells, self.offsets[:-1]) if len(result) else result
        filled = self.distinct > 0
        if filled.any():
            result[filled] = np.maximum.reduceat(cells, self.offsets[:-1][filled])
        return result

    def add_cells(self, cells: NDArray[Any]) -> NDArray[Any]:
        """Sums of per-entry integers by group, exact (int64, or Python integers as objects)."""
        sums = np.concatenate([np.zeros(1, dtype=cells.dtype), np.cumsum(cells)])
        totals: NDArray[Any] = sums[self.offsets[1:]] - sums[self.offsets[:-1]]
        return totals

    def sum_cells(self, cells: NDArray[np.float64] | NDArray[np.int64]) -> NDArray[np.float64]:
        """Sums of per-entry numbers by group."""
        if len(cells) and self.distinct.all():
            return np.add.reduceat(cells, self.offsets[:-1], dtype=np.float64)
        return np.bincount(self.owners, weights=cells, minlength=len(self.offsets) - 1).astype(np.float64, copy=False)

    def total(self, size: int) -> NDArray[np.int64]:
        """All groups in one histogram over ``size`` values."""
        return sum_by(self.values, self.counts, size)

    def merge(self, ids: Codes, groups: int) -> Histograms:
        """Histograms of merged groups: group ``g`` goes into ``ids[g]``."""
        size = int(self.values.max(initial=0)) + 1
        return Histograms.from_cells(np.repeat(ids, self.distinct), self.values, self.counts, groups, size)

    def select(self, mask: NDArray[np.bool_]) -> Histograms:
        """Only the groups under ``mask``."""
        cells = mask[self.owners]
        return Histograms(starts_of(self.distinct[mask]), self.values[cells], self.counts[cells])

    def append(self, other: Histograms, sign: int) -> Histograms:
        """These groups followed by those of ``other``, whose counts are multiplied by ``sign``."""
        return Histograms(
            np.concatenate([self.offsets, other.offsets[1:] + self.offsets[-1]]),
            np.concatenate([self.values, other.values]),
            np.concatenate([self.counts, sign * other.counts]),
        )
