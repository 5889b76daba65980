"""The largest subset of a log that exposes no one: exact for up to 20 queries, greedy beyond.

A subset of a safe log is safe, so a log becomes safe by removing one query of every *conflict*, a set of queries that
together expose a person. Conflicts are found one by one: take the largest subset that avoids the known ones, check it,
and shrink an exposing subset to a minimal conflict.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from reticent.audit.offline.log_check import LIMIT, check_log
from reticent.audit.offline.question_log import Declared, Log, LogLike, as_log
from reticent.errors import Infeasible

EXACT_QUESTIONS = 20


@dataclass(frozen=True)
class SafeSubset:
    """``kept`` and ``dropped`` are query numbers; ``optimal`` is true if no larger subset is safe."""

    kept: tuple[int, ...]
    dropped: tuple[int, ...]
    optimal: bool

    @property
    def label(self) -> str:
        """How the subset was found, in words."""
        return "largest possible" if self.optimal else "not proved largest; a larger subset may exist"

    def as_json(self) -> dict[str, Any]:
        """Return the subset as plain data."""
        kept_numbers, dropped_numbers = list(self.kept), list(self.dropped)
        return {"kept": kept_numbers, "dropped": dropped_numbers, "optimal": self.optimal, "label": self.label}


def largest_safe_subset(
    log: LogLike,
    n: int | None = None,
    *,
    limit: int = LIMIT,
    **declared: Unpack[Declared],
) -> SafeSubset:
    """Return the most queries of a log that could have been answered without exposing anyone.

    A subset whose check stays undecided counts as exposing, and then the result is not called optimal.
    """
    checked = as_log(log, n, **declared)
    parts = _Parts(checked, limit)
    if check_log(checked, limit=limit).consistent is False:
        raise Infeasible(
            "The log contradicts itself, so no subset of it can be called safe; run check_log for the proof."
        )
    if len(checked.entries) <= EXACT_QUESTIONS:
        safe_numbers = parts.largest()
        optimal = not parts.undecided
    else:
        safe_numbers, optimal = parts.greedy(), False
    dropped = tuple(entry.number for entry in checked.entries if entry.number not in safe_numbers)
    return SafeSubset(tuple(sorted(safe_numbers)), dropped, optimal)


@dataclass
class _Parts:
    """Safety of subsets of a log. Mutable: remembers whether a subset stayed undecided."""

    log: Log
    limit: int
    undecided: bool = False

    def safe(self, numbers: set[int]) -> bool:
        report = check_log(self.log.only(numbers), limit=self.limit)
        self.undecided |= report.consistent is None or (bool(report.undecided) and not report.exposed)
        return report.ok

    def largest(self) -> set[int]:
        """Return a largest safe set of queries: sets are tried from large to small, and every set that contains a conflict already found is skipped."""
        numbers = [entry.number for entry in self.log.entries]
        subsets = np.arange(2 ** len(numbers), dtype=np.int32)
        order = np.argsort(-np.bitwise_count(subsets).astype(np.int8), kind="stable")
        subsets = subsets[order]
        while True:
            chosen = {number for bit, number in enumerate(numbers) if subsets[0] >> bit & 1}
            if self.safe(chosen):
                return chosen
            conflict = self._conflict(chosen)
            mask = sum(1 << bit for bit, number in enumerate(numbers) if number in conflict)
            subsets = subsets[(subsets & mask) != mask]

    def _conflict(self, unsafe: set[int]) -> set[int]:
        """Return a minimal conflict: drop queries that are not needed to expose a person."""
        conflict = set(unsafe)
        for number in sorted(unsafe):
            if not self.safe(conflict - {number}):
                conflict.discard(number)
        return conflict

    def greedy(self) -> set[int]:
        """Return a safe set of queries: each in order, if it keeps the set safe."""
        safe_numbers: set[int] = set()
        for entry in self.log.entries:
            if self.safe(safe_numbers | {entry.number}):
                safe_numbers.add(entry.number)
        return safe_numbers
