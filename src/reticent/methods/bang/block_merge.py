"""Merge underfull blocks with their surroundings."""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections import defaultdict
from fractions import Fraction

import numpy as np

from reticent.methods.bang.cell_space import WORD, Ids, Words
from reticent.methods.bang.directory import BangDirectory


class MergedRegions:
    """The regions of a directory while underfull blocks are removed: deepest first, ties by prefix, so that the result
    does not depend on row order.

    A block joins its buddy if that is a region (both become their parent half); otherwise the enclosing region; if
    there is none, it grows to the parent half and absorbs the least dense region directly inside. The whole space has
    no parent half and only absorbs. Mutable: merges update it in place.
    """

    def __init__(self, directory: BangDirectory, rows: Ids) -> None:
        """Start with the regions of a directory, of which ``rows`` are the rows of the blocks: ``prefix`` is the common key prefix of a region, ``around`` its encloser, ``inside`` the regions directly inside it, and ``merged_into`` the region that replaced it."""
        self._depth = directory.space.depth
        keys = directory.space.keys_at(directory.lows)
        self._starts = _numbers(keys, np.full(len(directory), self._depth))
        self.rows: list[int] = rows.tolist()
        self.level: list[int] = directory.level.tolist()
        self.prefix = _numbers(keys, directory.level)
        self.around: list[int] = directory.encloser.tolist()
        self.inside: defaultdict[int, set[int]] = defaultdict(set)
        for region in np.flatnonzero(directory.encloser >= 0).tolist():
            self.inside[self.around[region]].add(region)
        self.merged_into = list(range(len(self.level)))
        self.changed: set[int] = set()
        self.moved: set[int] = set()
        self._known = {
            level_and_prefix: region
            for region, level_and_prefix in enumerate(zip(self.level, self.prefix, strict=True))
        }

    def thin(self, minimum: int) -> None:
        """Merge blocks (regions without the regions inside) until each has at least ``minimum`` rows, or a single one remains."""
        waiting = [self._turn(region) for region, rows in enumerate(self.rows) if rows < minimum]
        heapq.heapify(waiting)
        while waiting:
            *_, region = heapq.heappop(waiting)
            if self.merged_into[region] != region or self.rows[region] >= minimum:
                continue
            grown = self._merged(region)
            if grown is None:
                return
            self.changed.add(grown)
            if self.rows[grown] < minimum:
                heapq.heappush(waiting, self._turn(grown))

    def final(self) -> Ids:
        """Return the final region of each original region."""
        region_of = np.array(self.merged_into, dtype=np.int64)
        while (region_of != region_of[region_of]).any():
            region_of = region_of[region_of]
        return region_of

    def _turn(self, region: int) -> tuple[int, int, int]:
        level = self.level[region]
        return -level, self.prefix[region] << (self._depth - level), region

    def _merged(self, region: int) -> int | None:
        """Merge a block with another and return the region that remains; None if the block is the whole space.

        Preferred is the other half of its parent, then the enclosing region, then the least dense region inside.
        """
        level, prefix, around = self.level[region], self.prefix[region], self.around[region]
        buddy = self._known.get((level, prefix ^ 1)) if level else None
        if buddy is not None:
            self._absorb(region, buddy)
            self._move(region, level - 1, prefix >> 1)
            self._tighten(around)
            return region
        if around >= 0:
            self._absorb(around, region)
            return around
        if level:
            self._grow(region)
        if not self.inside[region]:
            return None
        self._absorb(region, min(self.inside[region], key=lambda inner: (self._density(inner), self._turn(inner)[1])))
        return region

    def _absorb(self, region: int, other: int) -> None:
        """Let a region absorb the rows of another one, which ceases to exist."""
        self.rows[region] += self.rows[other]
        self.merged_into[other] = region
        del self._known[self.level[other], self.prefix[other]]
        if self.around[other] >= 0:
            self.inside[self.around[other]].discard(other)
        for inner in self.inside.get(other, ()):
            self.around[inner] = region
        self.inside[region] |= self.inside.pop(other, set())

    def _move(self, region: int, level: int, prefix: int) -> None:
        """Give a region another level and prefix, that is another box."""
        del self._known[self.level[region], self.prefix[region]]
        self.level[region], self.prefix[region] = level, prefix
        self.moved.add(region)
        self._known[level, prefix] = region

    def _grow(self, region: int) -> None:
        """Grow a region without an encloser to its parent half, including everything in that."""
        level, prefix = self.level[region] - 1, self.prefix[region] >> 1
        self._move(region, level, prefix)
        low, high = (other << (self._depth - level) for other in (prefix, prefix + 1))
        for other in range(bisect_left(self._starts, low), bisect_left(self._starts, high)):
            if other != region and self.merged_into[other] == other and self.around[other] < 0:
                self.around[other] = region
                self.inside[region].add(other)

    def _tighten(self, region: int) -> None:
        """Shrink a region to one half if the other half is a region itself."""
        while region >= 0:
            level, prefix = self.level[region] + 1, self.prefix[region] << 1
            half = next((candidate for candidate in (prefix, prefix | 1) if (level, candidate) in self._known), None)
            if half is None:
                return
            split_off, encloser = self._known[level, half], self.around[region]
            self._move(region, level, half ^ 1)
            self.inside[region].discard(split_off)
            self.around[split_off] = encloser
            if encloser >= 0:
                self.inside[encloser].add(split_off)

    def _density(self, region: int) -> Fraction:
        volume = Fraction(1, 2 ** self.level[region])
        volume -= sum(Fraction(1, 2 ** self.level[inner]) for inner in self.inside[region])
        return self.rows[region] / volume


def _numbers(keys: Words, bits: Ids) -> list[int]:
    """Return the first bits of keys as integers of any length."""
    if len(keys) == 1:
        # A word cannot be shifted by its full width.
        shifted = keys[0] >> np.minimum(WORD - bits, WORD - 1).astype(np.uint64)
        small: list[int] = np.where(bits > 0, shifted, np.uint64(0)).tolist()
        return small
    numbers = [0] * keys.shape[1]
    for word in keys.tolist():
        numbers = [(number << WORD) | part for number, part in zip(numbers, word, strict=True)]
    return [number >> (len(keys) * WORD - bit_count) for number, bit_count in zip(numbers, bits.tolist(), strict=True)]
