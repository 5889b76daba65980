"""Maxima, or minima, of unbounded values: people who alone can attain an answer. Source: [Chin1986].

With duplicates, person j can attain the maximum of a query iff none of its queries has a smaller one; a value is
determined iff only one candidate is left, and a log fits some data iff every query has a candidate. With distinct
values each answer is attained by one person, who is in every query with this answer and in none with a smaller one.
Minima are maxima of negated values. Linear in the members.
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
    """``level[j]``: the rank of person j's smallest answer; ``binding[j]``: the index of a query with that answer."""

    log: Log
    ranks: IntArray
    level: IntArray
    binding: IntArray

    @classmethod
    def of(cls, log: Log) -> _Holders:
        """Return, for a log of maxima (or of minima, with negated answers), the rank of the smallest answer that bounds
        each person, and the query that gives it.
        """
        sign = 1 if log.functions == {"max"} else -1
        answers = sorted({sign * entry.answer for entry in log.entries})
        rank = {answer: index for index, answer in enumerate(answers)}
        ranks = np.array([rank[sign * entry.answer] for entry in log.entries], dtype=np.int64)
        level = np.full(log.n, len(answers), dtype=np.int64)
        binding = np.full(log.n, -1, dtype=np.int64)
        for index in np.argsort(-ranks, kind="stable"):
            members = log.entries[index].query.members
            level[members], binding[members] = ranks[index], index
        return cls(log, ranks, level, binding)

    def of_question(self, index: int) -> IntArray:
        """Return the people who can attain the answer of a query."""
        members = self.log.entries[index].query.members
        candidates: IntArray = members[self.level[members] == self.ranks[index]]
        return candidates

    def proof(self, index: int, holder: int | None, elsewhere: list[tuple[int, tuple[int, ...]]]) -> SoleHolder:
        """Return the proof that ``holder`` alone can attain the answer of a query (None: that no one can).

        ``elsewhere`` lists, by query with the same answer, the people whom that query excludes.
        """
        entry = self.log.entries[index]
        excluded_elsewhere = {holder, *(person for _, people in elsewhere for person in people)}
        below: dict[int, list[int]] = {}
        for person in entry.query.members[self.level[entry.query.members] < self.ranks[index]].tolist():
            if person not in excluded_elsewhere:
                below.setdefault(self.log.entries[self.binding[person]].number, []).append(person)
        excluded = [*((number, tuple(people)) for number, people in below.items()), *elsewhere]
        return SoleHolder(holder, entry.answer, entry.number, tuple(excluded))


def check_maxima(log: Log) -> Report:
    """Find the people exposed by maxima, or by minima, of unbounded values: a person is exposed if no one else can
    attain the answer of a query.
    """
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
    """Return the proofs for people whose value is certain if several people may have the same value: each query has its own holder."""
    proofs = []
    for index in range(len(holders.log.entries)):
        candidates = holders.of_question(index)
        if len(candidates) <= 1:
            proofs.append(holders.proof(index, int(candidates[0]) if len(candidates) else None, []))
    return proofs


def _distinct(holders: _Holders) -> list[SoleHolder]:
    """Return the proofs for people whose value is certain, or for contradictions, if no two people have the same value: only one person can hold the answer of all queries that share it."""
    proofs = []
    for rank in range(int(holders.ranks.max(initial=-1)) + 1):
        indices = np.flatnonzero(holders.ranks == rank)
        candidates = holders.of_question(int(indices[0]))
        elsewhere: list[tuple[int, tuple[int, ...]]] = []
        for index in indices[1:]:
            other: LogEntry = holders.log.entries[index]
            inside = np.isin(candidates, other.query.members)
            if not inside.all():
                elsewhere.append((other.number, tuple(candidates[~inside].tolist())))
                candidates = candidates[inside]
        if len(candidates) <= 1:
            proofs.append(holders.proof(int(indices[0]), int(candidates[0]) if len(candidates) else None, elsewhere))
    return proofs
