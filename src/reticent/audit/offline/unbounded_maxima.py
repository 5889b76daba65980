"""Maxima, or minima, of values without bounds: who alone can hold an answer.

With duplicates, person j can hold the maximum of a question iff none of its questions has a smaller one; a value is determined
iff its holder is the only one left, and a log fits some data iff every question has a holder. With distinct values
each answer has one holder, who is in every question with this answer and in none with a smaller one. Minima are maxima of
negated values. Linear in the members.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from reticent.audit.offline.exposure_report import Report
from reticent.audit.offline.offline_proofs import SoleHolder
from reticent.audit.offline.question_log import Log, LogEntry

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class _Holders:
    """``level[j]``: the rank of person j's tightest answer; ``binding[j]``: the place of a question that gives it."""

    log: Log
    ranks: IntArray
    level: IntArray
    binding: IntArray

    @classmethod
    def of(cls, log: Log) -> _Holders:
        sign = 1 if log.functions == {"max"} else -1
        answers = sorted({sign * entry.answer for entry in log.entries})
        rank = {answer: place for place, answer in enumerate(answers)}
        ranks = np.array([rank[sign * entry.answer] for entry in log.entries], dtype=np.int64)
        level = np.full(log.n, len(answers), dtype=np.int64)
        binding = np.full(log.n, -1, dtype=np.int64)
        for place in np.argsort(-ranks, kind="stable"):
            members = log.entries[place].query.members
            level[members], binding[members] = ranks[place], place
        return cls(log, ranks, level, binding)

    def of_question(self, place: int) -> IntArray:
        """Who can hold the answer of a question."""
        members = self.log.entries[place].query.members
        able: IntArray = members[self.level[members] == self.ranks[place]]
        return able

    def proof(self, place: int, holder: int | None, elsewhere: list[tuple[int, tuple[int, ...]]]) -> SoleHolder:
        """Why only ``holder`` is left; ``elsewhere`` are those excluded by a question with the same answer."""
        entry = self.log.entries[place]
        named = {holder, *(person for _, people in elsewhere for person in people)}
        below: dict[int, list[int]] = {}
        for person in entry.query.members[self.level[entry.query.members] < self.ranks[place]].tolist():
            if person not in named:
                below.setdefault(self.log.entries[self.binding[person]].number, []).append(person)
        excluded = [*((number, tuple(people)) for number, people in below.items()), *elsewhere]
        return SoleHolder(holder, entry.answer, entry.number, tuple(excluded))


def check_maxima(log: Log) -> Report:
    """Who is exposed by maxima, or by minima, of values without bounds; see the module."""
    holders = _Holders.of(log)
    questions = _with_duplicates(holders) if log.duplicates else _distinct(holders)
    shared = "may be shared" if log.duplicates else "are distinct"
    method = f"Extreme elements, exact; values {shared}."
    proofs: dict[int, SoleHolder] = {}
    for proof in questions:
        if proof.person is None:
            return Report(log, method, contradiction=proof, consistent=False)
        proofs.setdefault(proof.person, proof)
    exposed: dict[int, Fraction] = {person: proofs[person].value for person in sorted(proofs)}
    return Report(log, method, exposed=exposed, certificate={person: proofs[person] for person in exposed})


def _with_duplicates(holders: _Holders) -> list[SoleHolder]:
    proofs = []
    for place in range(len(holders.log.entries)):
        left = holders.of_question(place)
        if len(left) <= 1:
            proofs.append(holders.proof(place, int(left[0]) if len(left) else None, []))
    return proofs


def _distinct(holders: _Holders) -> list[SoleHolder]:
    proofs = []
    for rank in range(int(holders.ranks.max(initial=-1)) + 1):
        places = np.flatnonzero(holders.ranks == rank)
        left = holders.of_question(int(places[0]))
        elsewhere: list[tuple[int, tuple[int, ...]]] = []
        for place in places[1:]:
            other: LogEntry = holders.log.entries[place]
            inside = np.isin(left, other.query.members)
            if not inside.all():
                elsewhere.append((other.number, tuple(left[~inside].tolist())))
                left = left[inside]
        if len(left) <= 1:
            proofs.append(holders.proof(int(places[0]), int(left[0]) if len(left) else None, elsewhere))
    return proofs
