"""The buckets of a release as the attacker sees them: the histogram of sensitive values of each bucket.

Labels do not matter for a measurement, only counts do; so a bucket is its counts, descending, and all buckets together
are two flat integer arrays. A missing sensitive value is a value of its own and must have been counted as one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from reticent.base.ragged import places_in, starts_of
from reticent.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reticent.core import Groups

Integers: TypeAlias = NDArray[np.int64]
Histogram: TypeAlias = Sequence[int] | Mapping[Any, int]
"""Counts of the values in one bucket, in any order; or value -> count."""

Measured: TypeAlias = "Buckets | Groups | Iterable[Histogram] | Integers"
"""What a measurement accepts: plain histograms, one for each bucket, or the groups of a release."""

COMPILED_FROM = 150_000
"""The number of buckets from which compiling once costs less than numpy."""

LARGEST_BUCKET = 1 << 50
"""Sizes below this are exact in double precision with room to spare, as the screens require."""


@dataclass(frozen=True)
class Buckets:
    """Bucket ``b`` holds ``counts[offsets[b]:offsets[b + 1]]``: positive and descending."""

    offsets: Integers
    counts: Integers

    def __post_init__(self) -> None:
        """Refuse an empty bucket, and one with too many people for exact arithmetic."""
        if len(self.offsets) < 2:
            raise DataError("There is no bucket to measure. Pass at least one histogram, such as [(2, 2, 1)].")
        empty = np.flatnonzero(self.distinct < 1)
        if len(empty):
            raise DataError(f"Bucket {empty[0]} is empty: it has no people. Remove it, or fix the grouping.")
        if int(self.sizes.max()) >= LARGEST_BUCKET:
            raise DataError(f"Bucket {int(self.sizes.argmax())} counts {LARGEST_BUCKET} people or more.")

    @classmethod
    def of(cls, histograms: Measured) -> Buckets:
        """Buckets from plain counts, zeros dropped, or from the groups of a release.

        >>> Buckets.of([(1, 2, 2), {"flu": 2, "mumps": 1}]).counts.tolist()
        [2, 2, 1, 2, 1]
        """
        if isinstance(histograms, Buckets):
            return histograms
        if hasattr(histograms, "histograms"):
            return cls.of_cells(histograms.histograms.offsets, histograms.histograms.counts)
        rows = histograms if isinstance(histograms, Sequence | np.ndarray) else list(histograms)
        flat, lengths = _flatten(rows)
        return cls.of_cells(starts_of(lengths), flat)

    @classmethod
    def of_cells(cls, offsets: Integers, counts: Integers) -> Buckets:
        """Buckets from counts in any order within a bucket. Raises DataError for a negative count; zeros are dropped."""
        if len(counts) and int(counts.min()) < 1:
            negative = np.flatnonzero(counts < 0)
            if len(negative):
                bucket = int(np.searchsorted(offsets, negative[0], side="right")) - 1
                raise DataError(f"Bucket {bucket}: a count must not be negative, but it is {counts[negative[0]]}.")
            offsets, counts = starts_of(counts > 0)[offsets], counts[counts > 0]
        return cls(offsets, _falling(offsets, counts))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, bucket: int) -> tuple[int, ...]:
        return tuple(self.counts[self.offsets[bucket] : self.offsets[bucket + 1]].tolist())

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        return (self[bucket] for bucket in range(len(self)))

    @cached_property
    def sizes(self) -> Integers:
        """The number of people in each bucket."""
        return np.add.reduceat(self.counts, self.offsets[:-1])

    @cached_property
    def distinct(self) -> Integers:
        """The number of different values in each bucket."""
        return np.diff(self.offsets)

    @cached_property
    def fewest_values(self) -> int:
        """The minimum number of different values in a bucket: one fact fewer gives certainty."""
        return int(self.distinct.min())

    def select(self, buckets: Integers) -> Buckets:
        """Some of the buckets."""
        lengths = self.distinct[buckets]
        return Buckets(starts_of(lengths), self.counts[places_in(self.offsets[buckets], lengths)])

    def rank(self, rank: int, buckets: Integers | None = None) -> Integers:
        """The count of the value of that rank (0 is the most frequent) in each of ``buckets`` (or in all), 0 if there is none."""
        starts = self.offsets[:-1] if buckets is None else self.offsets[buckets]
        if rank < self.fewest_values:
            return self.counts[starts + rank]
        distinct = self.distinct if buckets is None else self.distinct[buckets]
        has_rank = np.flatnonzero(distinct > rank)
        counts = np.zeros(len(distinct), dtype=np.int64)
        counts[has_rank] = self.counts[starts[has_rank] + rank]
        return counts

    def top(self, ranks: int) -> Integers:
        """The counts of all buckets, the value of rank ``j`` in row ``j``."""
        return np.stack([self.rank(rank) for rank in range(ranks)])


def _flatten(rows: Sequence[Histogram] | Integers) -> tuple[Integers, Integers]:
    """All counts concatenated, and the length of each histogram. Raises DataError for anything but integers."""
    if isinstance(rows, np.ndarray) and rows.ndim == 2 and np.issubdtype(rows.dtype, np.integer):
        return rows.ravel().astype(np.int64), np.full(len(rows), rows.shape[1], dtype=np.int64)
    plain: Any = rows
    if not set(map(type, rows)) <= {tuple, list}:
        for bucket, row in enumerate(rows):
            if not isinstance(row, Sequence | Mapping | np.ndarray) or isinstance(row, str):
                raise DataError(f"Bucket {bucket} must be a histogram such as (2, 2, 1), but it is {row!r}.")
        plain = [tuple(row.values()) if isinstance(row, Mapping) else row for row in rows]
    if not set(map(type, chain.from_iterable(plain))) <= {int, np.int64, np.int32}:
        for bucket, row in enumerate(plain):
            for count in row:
                if isinstance(count, bool) or not isinstance(count, int | np.integer):
                    raise DataError(f"Bucket {bucket}: a count must be a whole number, but it is {count!r}.")
    lengths = np.fromiter(map(len, plain), dtype=np.int64, count=len(plain))
    try:
        return np.fromiter(chain.from_iterable(plain), dtype=np.int64, count=int(lengths.sum())), lengths
    except OverflowError:
        raise DataError(f"A bucket counts {LARGEST_BUCKET} people or more.") from None


def _falling(offsets: Integers, counts: Integers) -> Integers:
    """The counts sorted inside each bucket, most frequent first."""
    rising = counts[1:] > counts[:-1]
    inner = offsets[1:-1]
    rising[inner[(inner > 0) & (inner < len(counts))] - 1] = False
    if not rising.any():
        return counts
    if len(offsets) > COMPILED_FROM:
        from reticent.worst_case import _kernels

        ordered = counts.copy()
        _kernels.sort_falling(offsets, ordered)
        return ordered
    owners = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return counts[np.lexsort((-counts, owners))]
