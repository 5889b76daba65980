"""The max auditor for columns in which people may share a value, linear in the extreme incidences of the members.
Source: [Kenthapadi2005].

Let mu_j be the smallest answer of a query with member j, infinity if there is none. Person j is *extreme* for query k
if j is a member and mu_j is its answer: only extreme people can attain the answer. Answers are consistent iff every
query has an extreme person, and a value is determined iff some query has only one.

If values change, a person has several variables, and it is public that they differ. So at most one of them has a given
value, and two queries with the same answer cannot both be attained by the same person. Such queries are *rivals*. As
long as every query has two more extreme people than rivals, each query can be assigned its own holder even if any one
person is excluded: then no value is determined.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from reticent.audit.answer_levels import NO_BOUND, NumberedValues
from reticent.audit.decision import AggregateQuery, Decision
from reticent.audit.reasons import COULD_EXPOSE, IMPLIED, SAFE, SINGLE
from reticent.errors import DataError

Integers = NDArray[np.int64]
# Up to two billion links; four bytes instead of eight, because decisions are bound by memory bandwidth.
Links = NDArray[np.int32]
_END = -1


class RepeatedMaxima:
    """Answered maxima of values that may repeat.

    Each person has a linked list of the queries for which the person is extreme: ``_first`` points to a link, and a
    link has its ``_query`` and its ``_next``. When mu_j falls, person j starts a new list, so a decision visits extreme
    incidences only.

    *Cost*: O(members + extreme incidences of members + answered queries) per decision.
    """

    def __init__(self, n: int) -> None:
        """Start with ``n`` people without upper bounds (``_mu``) and without queries.

        For each query: the level of its answer, the number of its extreme people (those whose upper bound equals the
        answer) and of its rivals (earlier queries with this answer that other values of its people can attain).
        """
        self._levels = NumberedValues()
        self._mu: Integers = np.full(n, NO_BOUND, dtype=np.int64)
        self._first: Links = np.full(n, _END, dtype=np.int32)
        self._query: Links = np.empty(16, dtype=np.int32)
        self._next: Links = np.empty(16, dtype=np.int32)
        self._linked = 0
        self._answer: list[int] = []
        self._extreme: list[int] = []
        self._rivals: list[int] = []
        self._owner: Integers = np.arange(n)
        self._has_changes = False

    @property
    def n(self) -> int:
        return len(self._mu)

    def decide(self, query: AggregateQuery) -> Decision:
        """Deny iff some consistent answer would determine a value; does not change the state.

        A value is determined when only one person is left whose upper bound equals the answer of a query.
        """
        members = query.members
        if len(members) == 1:
            return SINGLE
        ranks = self._levels.rank[self._mu[members]]
        highest = ranks.max()
        if (ranks == highest).sum() == 1:
            return COULD_EXPOSE
        met, answers, outside = self._met(members)
        lowest = answers[outside == 0].max(initial=-1)
        rivals_needed = 2 + np.array(self._rivals, dtype=np.int64)[met]
        if (answers[(outside > 0) & (outside < rivals_needed)] > lowest).any():
            return COULD_EXPOSE
        if lowest == highest:
            return IMPLIED
        return COULD_EXPOSE if self._is_crowded(members, ranks, lowest) else SAFE

    def remember(self, query: AggregateQuery, answer: Fraction) -> None:
        """Add an answer: lower the bounds of members above it, and note who can attain it.

        An answer that contradicts earlier ones raises :class:`DataError` and changes nothing.
        """
        members = query.members
        if self._follows(members, answer):
            return
        level = self._levels.add(answer)
        rank = self._levels.rank
        ranks = rank[self._mu[members]]
        lowered = members[ranks > rank[level]]
        extreme = np.concatenate([lowered, members[ranks == rank[level]]])
        lost_incidences = self._incidences(lowered)
        for query_met in np.flatnonzero(lost_incidences).tolist():
            self._extreme[query_met] -= int(lost_incidences[query_met])
        self._mu[lowered] = level
        self._first[lowered] = _END
        rivals = [rival for rival in self._possible_rivals(members).tolist() if self._answer[rival] == level]
        for rival in rivals:
            self._rivals[rival] += 1
        self._link(extreme, len(self._answer))
        self._answer.append(level)
        self._extreme.append(len(extreme))
        self._rivals.append(len(rivals))

    def extend(self, n: int, owners: Integers | None = None) -> None:
        """Grow to ``n`` variables. ``owners`` maps each variable to its person; by default each is a person of its own."""
        added = n - self.n
        self._mu = np.append(self._mu, np.full(added, NO_BOUND))
        self._first = np.append(self._first, np.full(added, _END, dtype=np.int32))
        if owners is None:
            self._owner = np.append(self._owner, self._owner.max(initial=-1) + 1 + np.arange(added))
        else:
            self._owner = np.unique(owners, return_inverse=True)[1].astype(np.int64)
            self._has_changes = bool(self._owner.max(initial=-1) + 1 < n)

    def _is_crowded(self, members: Integers, ranks: Integers, lowest: int) -> bool:
        """True if an answer equal to earlier ones would leave too few people to attain all of them.

        Only possible if a person has several values, one of which may attain an earlier answer.
        """
        rivals = self._possible_rivals(members)
        answers = self._levels.rank[np.array(self._answer, dtype=np.int64)[rivals]]
        for answer, count in zip(*np.unique(answers, return_counts=True), strict=True):
            if not lowest <= answer <= ranks.max():
                continue
            short = any(self._extreme[rival] < 3 + self._rivals[rival] for rival in rivals[answers == answer].tolist())
            if short or (ranks >= answer).sum() < 2 + count:
                return True
        return False

    def _possible_rivals(self, members: Integers) -> Integers:
        """Return the queries that another value of a member's owner could attain; none if no person has several values."""
        if not self._has_changes:
            return np.empty(0, dtype=np.int64)
        changed = np.zeros(int(self._owner.max()) + 1, dtype=bool)
        changed[self._owner[members]] = True
        is_rival = changed[self._owner]
        is_rival[members] = False
        return np.flatnonzero(self._incidences(np.flatnonzero(is_rival)))

    def _follows(self, members: Integers, answer: Fraction) -> bool:
        """True if earlier answers imply this one. An answer that contradicts them raises :class:`DataError`.

        It must be between the largest answer of a query whose extreme people (those who can attain it) are all members,
        and the largest upper bound of a member.
        """
        equal_level = self._levels.find(answer)
        # A new value is below the rank it will get, and above all smaller ones.
        position = 2 * self._levels.below(answer) + (0 if equal_level is not None else -1)
        highest = 2 * int(self._levels.rank[self._mu[members]].max())
        _, answers, outside = self._met(members)
        lowest = 2 * int(answers[outside == 0].max(initial=-1))
        if not lowest <= position <= highest:
            raise DataError(
                f"The answer {answer} contradicts earlier answers: no data have these maxima. "
                "Record the answers that were given; a changed value is a new variable."
            )
        return lowest == highest

    def _met(self, members: Integers) -> tuple[Integers, Integers, Integers]:
        """Return the queries with an extreme person among ``members``, the ranks of their answers, and how many of
        their extreme people are not members.

        Extreme for a query: the person's upper bound equals its answer.
        """
        inside = self._incidences(members)
        met = np.flatnonzero(inside)
        answers = self._levels.rank[np.array(self._answer, dtype=np.int64)[met]]
        return met, answers, np.array(self._extreme, dtype=np.int64)[met] - inside[met]

    def _incidences(self, members: Integers) -> Integers:
        """Return, for every query, how many of ``members`` are extreme for it: their upper bound equals its answer."""
        counts = np.zeros(len(self._answer), dtype=np.int64)
        links = self._first[members]
        while (links := links[links != _END]).size:
            counts += np.bincount(self._query[links], minlength=len(counts))
            links = self._next[links]
        return counts

    def _link(self, people: Integers, query: int) -> None:
        """Prepend ``query`` to the linked list of queries of each of ``people``, growing the arrays of links as needed."""
        if self._linked + len(people) > len(self._query):
            self._compact()
            capacity = max(self._linked + len(people), 2 * self._linked)
            self._query, self._next = (_with_room(links, self._linked, capacity) for links in (self._query, self._next))
        new = np.arange(self._linked, self._linked + len(people), dtype=np.int32)
        self._query[new] = query
        self._next[new] = self._first[people]
        self._first[people] = new
        self._linked += len(people)

    def _compact(self) -> None:
        """Drop the links that no person's list of queries reaches any more, and renumber the others."""
        reached = np.zeros(self._linked, dtype=bool)
        links = self._first
        while (links := links[links != _END]).size:
            reached[links] = True
            links = self._next[links]
        new_index = np.append(np.cumsum(reached, dtype=np.int32) - 1, np.int32(_END))
        self._query = self._query[: self._linked][reached]
        self._next = new_index[self._next[: self._linked][reached]]
        self._first = new_index[self._first]
        self._linked = len(self._query)


def _with_room(links: Links, used: int, capacity: int) -> Links:
    larger = np.empty(capacity, dtype=links.dtype)
    larger[:used] = links[:used]
    return larger
