"""The largest part of a log that exposes nobody: exact for up to 20 questions, greedy beyond.

A part of a safe log is safe, so a log is cured by leaving out one question of every *conflict*, a set of questions that together
expose somebody. Conflicts are found one after the other: take the largest part that avoids the known ones, check it, and
shrink what exposes somebody to a conflict from which nothing can be left out.
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
    """``kept`` and ``dropped`` are numbers of questions; ``optimal`` says whether no larger part exposes nobody."""

    kept: tuple[int, ...]
    dropped: tuple[int, ...]
    optimal: bool

    @property
    def label(self) -> str:
        """How it was found, in words."""
        return "largest possible" if self.optimal else "not proved largest; a larger part may exist"

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        kept, dropped = list(self.kept), list(self.dropped)
        return {"kept": kept, "dropped": dropped, "optimal": self.optimal, "label": self.label}


def largest_safe_subset(
    log: LogLike,
    n: int | None = None,
    *,
    limit: int = LIMIT,
    **declared: Unpack[Declared],
) -> SafeSubset:
    """The most questions of a log that could have been answered as they were without exposing anybody.

    A part for which the check stays undecided counts as exposing somebody, and then the result is not called optimal.
    """
    checked = as_log(log, n, **declared)
    parts = _Parts(checked, limit)
    if check_log(checked, limit=limit).consistent is False:
        raise Infeasible("The log contradicts itself, so no part of it can be told safe; run check_log for the proof.")
    if len(checked.entries) <= EXACT_QUESTIONS:
        kept = parts.largest()
        optimal = not parts.undecided
    else:
        kept, optimal = parts.greedy(), False
    dropped = tuple(entry.number for entry in checked.entries if entry.number not in kept)
    return SafeSubset(tuple(sorted(kept)), dropped, optimal)


@dataclass
class _Parts:
    """Safety of parts of a log; mutable because it remembers whether some part stayed undecided."""

    log: Log
    limit: int
    undecided: bool = False

    def safe(self, numbers: set[int]) -> bool:
        report = check_log(self.log.only(numbers), limit=self.limit)
        self.undecided |= report.consistent is None or (bool(report.undecided) and not report.exposed)
        return report.ok

    def largest(self) -> set[int]:
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
        """Leave out what is not needed to expose somebody."""
        conflict = set(unsafe)
        for number in sorted(unsafe):
            if not self.safe(conflict - {number}):
                conflict.discard(number)
        return conflict

    def greedy(self) -> set[int]:
        kept: set[int] = set()
        for entry in self.log.entries:
            if self.safe(kept | {entry.number}):
                kept.add(entry.number)
        return kept
