"""A segment tree over buckets: after one bucket changes, the whole curve costs one path to the root.

Leaves are the distinct keys; a key shared by many buckets is one leaf with a multiplicity (at most k + 1 copies
matter). Nodes hold (N, A) pairs as doubles. The tree screens and never decides: an exact answer descends to the leaves
that can be part of an optimum and computes with fractions on those alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np

from reticent.errors import DataError
from reticent.worst_case.disclosure import disclosures, fact_count, ratios, screened_verdict
from reticent.worst_case.histogram_buckets import Buckets, Histogram, Integers, Measured
from reticent.worst_case.screen import Floats, bounds, least_chances, merge, sorted_by_key, within

Counts = tuple[int, ...]
_CHUNK = 4096


class DisclosureTree:
    """The buckets of a release, changeable one by one, with their worst-case disclosure up to date.

    Mutable: it follows a growing table. ``add`` and ``remove`` take histograms and cost
    O(k^2 log |B|).

    >>> tree = DisclosureTree([(2, 2, 1)], k=2)
    >>> tree.add((2, 1, 1, 1))
    >>> [str(value) for value in tree.curve()]
    ['2/5', '2/3', '1']
    >>> tree.remove((2, 2, 1))
    >>> [str(value) for value in tree.curve()]
    ['2/5', '4/7', '4/5']
    """

    def __init__(self, histograms: Measured = (), k: int = 12) -> None:
        """Build the tree over some buckets, for up to ``k`` facts."""
        self.k = fact_count(k)
        self._slots: dict[tuple[int, Counts], int] = {}
        self._free: list[int] = []
        self._counts: list[Counts] = []
        self._copies: list[int] = []
        self._variety: Counter[int] = Counter()
        self._absent = np.stack([np.ones(self.k + 1), np.full(self.k + 1, np.inf)])
        self._nodes = np.stack([self._absent, self._absent])
        rows = histograms if not isinstance(histograms, Sequence) or len(histograms) else None
        if rows is not None:
            self._build(Buckets.of(rows))

    def __len__(self) -> int:
        """The number of buckets."""
        return sum(self._variety.values())

    def add(self, histogram: Histogram) -> None:
        """Add a bucket with this histogram of sensitive values, and update the minima that depend on it."""
        counts = Buckets.of([histogram])[0]
        key = self._key(counts)
        slot = self._slots.get(key)
        if slot is None:
            slot = self._slots[key] = self._new_slot(counts)
        self._copies[slot] += 1
        self._variety[len(counts)] += 1
        if self._copies[slot] <= self.k + 1:
            self._refresh(slot)

    def remove(self, histogram: Histogram) -> None:
        """Remove a bucket, which must be there."""
        counts = Buckets.of([histogram])[0]
        key = self._key(counts)
        slot = self._slots.get(key)
        if slot is None or not self._variety[len(counts)]:
            raise DataError(f"There is no bucket with the histogram {counts} to remove.")
        self._copies[slot] -= 1
        self._variety[len(counts)] -= 1
        if not self._variety[len(counts)]:
            del self._variety[len(counts)]
        if not self._copies[slot]:
            del self._slots[key]
            self._free.append(slot)
        if self._copies[slot] <= self.k:
            self._refresh(slot)

    def curve(self) -> list[Fraction]:
        """D(B, j) for j = 0..k, exactly."""
        largest_k = min(self.k, self._fewest() - 2)
        if largest_k < 0:
            return [Fraction(1)] * (self.k + 1)
        root = self._nodes[1, :, : largest_k + 1]
        limits = bounds(root[0], root[1], range(largest_k + 1))
        critical = [
            self._counts[slot] for slot in self._critical(limits) for _ in range(min(self._copies[slot], largest_k + 1))
        ]
        return disclosures(ratios(Buckets.of(critical), largest_k)) + [Fraction(1)] * (self.k - largest_k)

    def holds(self, c: Fraction, k: int | None = None) -> bool:
        """Whether D(B, k) is strictly below ``c``; exact, and nearly always decided by the root alone."""
        facts = self.k if k is None else k
        if c <= 0 or facts >= self._fewest() - 1:
            return False
        needed = (1 - c) / c
        verdict = screened_verdict(float(self._nodes[1, 1, facts]), needed, self.k)
        return self.curve()[facts] < c if verdict is None else verdict

    def holds_after(self, removed: Iterable[Histogram], added: Sequence[Histogram], c: Fraction) -> bool:
        """The result of :meth:`holds` after a hypothetical change.

        The present buckets together with the new ones are at least as dangerous as the change, so if even that is safe
        nothing has to be removed.
        """
        removed_buckets = list(removed)
        if not removed_buckets and not added:
            return self.holds(c)
        if not added:
            return self._after_exchange(removed_buckets, added, c)
        new = Buckets.of(added)
        if c > 0 and new.fewest_values > self.k + 1 and (not len(self) or self._fewest() > self.k + 1):
            merged = self._nodes[1]
            for pair in self._leaves(new):
                merged = merge(merged, pair)
            if screened_verdict(float(merged[1, self.k]), (1 - c) / c, self.k):
                return True
        return self._after_exchange(removed_buckets, added, c)

    def _after_exchange(self, removed: Sequence[Histogram], added: Sequence[Histogram], c: Fraction) -> bool:
        """Return whether the threshold would hold after an exchange of buckets, which is undone again."""
        self.exchange(removed, added)
        try:
            return self.holds(c)
        finally:
            self.exchange(added, removed)

    def exchange(self, removed: Iterable[Histogram], added: Iterable[Histogram]) -> None:
        """Remove some buckets and add others: a split, a merge, or a bucket that grew."""
        for histogram in removed:
            self.remove(histogram)
        for histogram in added:
            self.add(histogram)

    def _fewest(self) -> int:
        if not self._variety:
            raise DataError("There is no bucket to measure. Add one first.")
        return min(self._variety)

    def _key(self, counts: Counts) -> tuple[int, Counts]:
        return sum(counts), counts[: self.k + 1]

    def _leaves(self, buckets: Buckets) -> Floats:
        top = buckets.top(self.k + 1)
        chances = least_chances(buckets.sizes, top)
        return np.stack([chances[:-1].T, (chances[1:] * (buckets.sizes / top[0])).T], axis=1)

    def _build(self, buckets: Buckets) -> None:
        """Build the tree: one leaf per distinct bucket, to the power of its multiplicity."""
        order, starts = sorted_by_key(buckets, np.arange(len(buckets)), self.k + 1)
        copies = np.diff(np.append(starts, len(order)))
        self._variety.update(buckets.distinct.tolist())
        leaves = np.empty((len(starts), 2, self.k + 1))
        for begin in range(0, len(starts), _CHUNK):
            batch = order[starts[begin : begin + _CHUNK]]
            single = self._leaves(buckets.select(batch))
            leaves[begin : begin + _CHUNK] = self._powers(single, copies[begin : begin + _CHUNK])
        for slot, bucket in enumerate(order[starts].tolist()):
            counts = buckets[bucket]
            self._slots[self._key(counts)] = slot
            self._counts.append(counts)
        self._copies = copies.tolist()
        self._plant(leaves)

    def _powers(self, single: Floats, copies: Integers) -> Floats:
        """Return the minimum factors of each bucket's equal copies together; more than k + 1 copies count as k + 1,
        which is as dangerous.
        """
        powers = single.copy()
        for repeat in range(2, min(int(copies.max(initial=1)), self.k + 1) + 1):
            is_repeated = copies >= repeat
            powers[is_repeated] = merge(powers[is_repeated], single[is_repeated])
        return powers

    def _plant(self, leaves: Floats) -> None:
        """Build the segment tree over these leaves, one per distinct bucket, level by level; capacity for as many
        again.
        """
        capacity = 1 << max(1, len(leaves)).bit_length()
        self._nodes = np.empty((2 * capacity, 2, self.k + 1))
        self._nodes[:] = self._absent
        self._nodes[capacity : capacity + len(leaves)] = leaves
        level, used = capacity // 2, len(leaves)
        while level:
            used = (used + 1) // 2
            for begin in range(level, level + used, _CHUNK):
                end = min(begin + _CHUNK, level + used)
                self._nodes[begin:end] = merge(
                    self._nodes[2 * begin : 2 * end : 2], self._nodes[2 * begin + 1 : 2 * end : 2]
                )
            level //= 2
        self._free = list(range(capacity - 1, len(leaves) - 1, -1))
        self._counts += [()] * (capacity - len(self._counts))
        self._copies += [0] * (capacity - len(self._copies))

    def _new_slot(self, counts: Counts) -> int:
        """Return a free leaf for a histogram; the tree grows if there is none."""
        if not self._free:
            capacity = len(self._nodes) // 2
            self._plant(self._nodes[capacity : capacity + len(self._counts)].copy())
        slot = self._free.pop()
        self._counts[slot] = counts
        return slot

    def _refresh(self, slot: int) -> None:
        """Recompute the leaf of a slot and the nodes above it."""
        capacity = len(self._nodes) // 2
        copies = self._copies[slot]
        if copies:
            single = self._leaves(Buckets.of([self._counts[slot]]))
            self._nodes[capacity + slot] = self._powers(single, np.array([copies]))[0]
        else:
            self._nodes[capacity + slot] = self._absent
        node = (capacity + slot) // 2
        while node:
            self._nodes[node] = merge(self._nodes[2 * node], self._nodes[2 * node + 1])
            node //= 2

    def _critical(self, limits: Floats) -> list[int]:
        """Return the slots whose factors are within ``limits``, so they may be part of an optimum; a subtree without
        any is skipped.
        """
        capacity, width = len(self._nodes) // 2, limits.shape[1]
        level = np.array([1])
        while level[0] < capacity:
            children = np.concatenate([2 * level, 2 * level + 1])
            level = np.sort(children[within(self._nodes[children][:, :, :width], limits)])
        slots: list[int] = (level - capacity).tolist()
        return slots
