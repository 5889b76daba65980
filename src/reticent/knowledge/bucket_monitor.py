"""Monitor a growing table: each insertion or deletion changes one bucket, and the verdict is updated at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from reticent.base.exact import Number
from reticent.errors import DataError
from reticent.worst_case import DisclosureTree, as_probability, fact_count


@dataclass(frozen=True)
class Watch:
    """The state of a monitored table: disclosure for 0..k facts, whether it stays below c, and the margin."""

    holds: bool
    curve: tuple[Fraction, ...]
    c: Fraction

    @property
    def disclosure(self) -> Fraction:
        """D(B, k)."""
        return self.curve[-1]

    @property
    def margin(self) -> Fraction:
        """c - D: negative once the threshold is exceeded."""
        return self.c - self.disclosure

    @property
    def breaking_point(self) -> int | None:
        """The smallest number of facts, up to k, that reaches c."""
        return next((known for known, value in enumerate(self.curve) if value >= self.c), None)


class Monitor:
    """Monitors the buckets of a growing table and warns before a release would reach ``c`` for ``k`` facts.

    Mutable: it follows the table. Buckets and values may be any names.

    >>> monitor = Monitor({"men": {"flu": 2, "mumps": 2, "gout": 1}}, c="0.67", k=1)
    >>> monitor.would_hold([("men", "flu")]), monitor.state().disclosure
    (False, Fraction(2, 3))
    """

    def __init__(self, buckets: Mapping[Hashable, Mapping[Hashable, int]], c: Number, k: int) -> None:
        self.c, self.k = as_probability(c), fact_count(k)
        self._buckets = {name: Counter(dict(histogram)) for name, histogram in buckets.items()}
        self._tree = DisclosureTree([tuple(histogram.values()) for histogram in self._buckets.values()], self.k)

    def __len__(self) -> int:
        """The number of buckets."""
        return len(self._buckets)

    def state(self) -> Watch:
        """Return the curve and the verdict for the current table."""
        return Watch(self._tree.holds(self.c), tuple(self._tree.curve()), self.c)

    def would_hold(
        self, arriving: Iterable[tuple[Hashable, Hashable]], leaving: Iterable[tuple[Hashable, Hashable]] = ()
    ) -> bool:
        """True if the table would still be safe after these (bucket, value) pairs are inserted and deleted."""
        before, after = self._change(arriving, leaving)
        return self._tree.holds_after(_plain(before), _plain(after), self.c)

    def apply(
        self, arriving: Iterable[tuple[Hashable, Hashable]], leaving: Iterable[tuple[Hashable, Hashable]] = ()
    ) -> Watch:
        """Apply the change and return the new state."""
        before, after = self._change(arriving, leaving)
        self._tree.exchange(_plain(before), _plain(after))
        for name in before:
            del self._buckets[name]
        self._buckets.update(after)
        return self.state()

    def _change(
        self, arriving: Iterable[tuple[Hashable, Hashable]], leaving: Iterable[tuple[Hashable, Hashable]]
    ) -> tuple[dict[Hashable, Counter[Hashable]], dict[Hashable, Counter[Hashable]]]:
        """Return the touched buckets before and after, without those that were or become empty."""
        touched: dict[Hashable, Counter[Hashable]] = {}
        for step, pairs in ((1, arriving), (-1, leaving)):
            for name, value in pairs:
                bucket = touched.setdefault(name, Counter(self._buckets.get(name, {})))
                bucket[value] += step
                if bucket[value] < 0:
                    raise DataError(f"Bucket {name!r} has no one with the value {value!r} who could leave.")
        before = {name: self._buckets[name] for name in touched if name in self._buckets}
        after = {name: +bucket for name, bucket in touched.items() if +bucket}
        return before, after


def _plain(buckets: Mapping[Hashable, Counter[Hashable]]) -> list[tuple[int, ...]]:
    return [tuple(bucket.values()) for bucket in buckets.values()]
