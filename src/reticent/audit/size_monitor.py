"""The size and overlap monitor: simulatable, needs no answers, and weak. Source: [Dobkin1979]; [Reiss1979]."""

from __future__ import annotations

import numpy as np

from reticent.audit.decision import Decision, Members, as_answer, as_members
from reticent.base.exact import Number, whole
from reticent.errors import PolicyError

ALLOWED = Decision(True, "The query is large enough, and its overlap with earlier queries is small enough.", "safe")


class OverlapMonitor:
    """Answers a query iff it has ``size`` members or more, shares at most ``overlap`` people with each query answered
    before, and the limit of (2 size - (known + 1)) / overlap queries is not reached.

    ``known`` is the number of values that the adversary already knows. The i-th query is denied if i reaches that
    limit, where i counts the answered queries and this one. With ``overlap`` 0 the number of queries is not limited,
    and they are disjoint.

    >>> monitor = OverlapMonitor(n=100, size=10, overlap=1)
    >>> monitor.ask(range(10)), monitor.ask(range(5, 15)), monitor.ask(range(9, 20)), monitor.ask(range(3))
    (True, False, True, False)
    """

    def __init__(self, n: int, *, size: int, overlap: int, known: int = 0) -> None:
        """Answer queries about at least ``size`` of ``n`` people, any two of which share at most ``overlap``; the
        adversary knows ``known`` values.
        """
        self._n = whole(n, "n", low=1)
        self.size = whole(size, "size", low=1)
        self.overlap = whole(overlap, "overlap", low=0)
        self.known = whole(known, "known", low=0)
        self._answered: list[np.ndarray] = []

    @property
    def n(self) -> int:
        return self._n

    def would_answer(self, members: Members) -> Decision:
        """Return the decision on a query without recording it."""
        people = as_members(members, self._n)
        if len(people) < self.size:
            return Decision(False, f"The query is about fewer than {self.size} people.", "too-small")
        if (len(self._answered) + 1) * self.overlap >= 2 * self.size - (self.known + 1):
            return Decision(False, "No more queries are answered: the monitor's limit is reached.", "too-many")
        marked = np.zeros(self._n, dtype=bool)
        marked[people] = True
        if any(marked[earlier].sum() > self.overlap for earlier in self._answered):
            return Decision(
                False, f"The query shares more than {self.overlap} people with a query answered before.", "overlaps"
            )
        return ALLOWED

    def ask(self, members: Members) -> bool:
        """Return whether the query is answered; if so it is recorded."""
        decision = self.would_answer(members)
        if decision:
            self._answered.append(as_members(members, self._n).copy())
        return decision.answer

    def record(self, members: Members, answer: Number) -> None:
        """Check the arguments only: the monitor never uses answers."""
        as_members(members, self._n)
        as_answer(answer)

    def extend(self, n: int) -> None:
        """Grow to ``n`` variables."""
        if whole(n, "n", low=1) < self._n:
            raise PolicyError(f"n cannot fall from {self._n} to {n}.")
        self._n = n
