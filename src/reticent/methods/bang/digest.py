"""An order-independent hash of counted rows that is additive over the parts of a table."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reticent.base.packing import mixed
from reticent.core import FrequencySet

_LANES = 2
# This many points fit in the cache.
_AT_ONCE = 1 << 15


@dataclass(frozen=True)
class RowDigest:
    """The sum over all rows of 128 pseudo-random bits derived from a row's values; other counts of a point (people,
    population, weight) are summed likewise.

    Different tables collide with probability 2^-128; a table constructed to collide is not detected.
    """

    lanes: tuple[int, ...]

    @classmethod
    def of(cls, units: FrequencySet) -> RowDigest:
        """Return the digest of counted rows."""
        return cls(tuple(_sum_of(units, lane) for lane in range(_LANES)))

    def __add__(self, other: RowDigest) -> RowDigest:
        """Return the digest of the rows of both."""
        return RowDigest(
            tuple((own_lane + other_lane) % 2**64 for own_lane, other_lane in zip(self.lanes, other.lanes, strict=True))
        )

    def __str__(self) -> str:
        return "".join(f"{lane:016x}" for lane in self.lanes)


def _sum_of(units: FrequencySet, lane: int) -> int:
    """Return the sum of the hashed rows of one lane, modulo 2^64."""
    quasi = [_drawn(f"quasi {lane} {index}", hierarchy.size) for index, hierarchy in enumerate(units.hierarchies)]
    values = np.zeros(units.domain.size, dtype=np.uint64)
    for index, column in enumerate(units.domain.columns):
        values += _drawn(f"sensitive {lane} {index}", column.size).take(units.domain.joint[:, index])
    extra_words = [(_drawn(f"count {lane} {name}", 1), counts) for name, counts in units.extras.items()]
    cells, total = units.histograms, 0
    for start in range(0, len(units), _AT_ONCE):
        stop = min(start + _AT_ONCE, len(units))
        points = np.zeros(stop - start, dtype=np.uint64)
        for words, codes in zip(quasi, units.codes, strict=True):
            points += words.take(codes[start:stop])
        points = mixed(points)
        first, last = cells.offsets[start], cells.offsets[stop]
        rows = np.repeat(points, np.diff(cells.offsets[start : stop + 1]))
        rows = mixed(rows + values.take(cells.values[first:last]))
        total += int((rows * cells.counts[first:last].astype(np.uint64)).sum(dtype=np.uint64))
        for word, counts in extra_words:
            people = mixed(points + word)
            total += int((people * counts[start:stop].astype(np.uint64)).sum(dtype=np.uint64))
    return total % 2**64


def _drawn(seed: str, size: int) -> NDArray[np.uint64]:
    """Return pseudo-random words, a function of the seed."""
    start = int.from_bytes(hashlib.sha256(seed.encode()).digest()[:8], "big")
    step = np.uint64(0x9E3779B97F4A7C15)
    return mixed(np.uint64(start) + step * np.arange(1, size + 1, dtype=np.uint64))
