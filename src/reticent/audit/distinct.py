"""The max auditor for columns with declared distinct values: the synopsis of [Kenthapadi2005], made simulatable.

Answered maxima of distinct values are equivalent to a set of disjoint predicates ``max(S) = M`` or ``max(S) < M``. A
person in no predicate is in no answered query. A value is determined iff an ``=`` predicate has one member.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from reticent.audit.answer_levels import NO_BOUND, NumberedValues
from reticent.audit.decision import AggregateQuery, Decision
from reticent.audit.reasons import COULD_EXPOSE, IMPLIED, SAFE, SINGLE
from reticent.errors import DataError

Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Trial:
    """The effect of candidate answers, in rising order: which are consistent, and which determine a value.

    Candidates are every bound met by the query and every open gap between them: within a gap the effect is constant.
    """

    consistent: Mask
    exposes: Mask


class DistinctMaxima:
    """The synopsis of answered maxima of distinct values.

    Predicate 0 is about the people in no answered query: ``max(S) < infinity``.

    *Cost*: O(members + predicates) per decision; each answer adds at most two predicates.
    """

    def __init__(self, n: int) -> None:
        """Start with all ``n`` people in one predicate without a bound.

        A predicate is a statement about a group of people: their maximum equals a level (``_equal``), or all their
        values are below it.
        """
        self._levels = NumberedValues()
        self._predicate: Integers = np.zeros(n, dtype=np.int64)
        self._size: Integers = np.array([n], dtype=np.int64)
        self._bound: Integers = np.array([NO_BOUND], dtype=np.int64)
        self._equal: Mask = np.array([False])

    @property
    def n(self) -> int:
        return len(self._predicate)

    def decide(self, query: AggregateQuery) -> Decision:
        """Deny iff some consistent answer would determine a value; does not change the state."""
        if len(query) == 1:
            return SINGLE
        trial = self._trial(query.members)
        if (trial.consistent & trial.exposes).any():
            return COULD_EXPOSE
        return IMPLIED if trial.consistent.sum() == 1 and trial.consistent[1::2].any() else SAFE

    def remember(self, query: AggregateQuery, answer: Fraction) -> None:
        """Add an answer to the groups of people with a known maximum or upper bound.

        An answer that contradicts earlier ones raises :class:`DataError` and changes nothing.
        """
        members = query.members
        predicate_of = self._predicate[members]
        inside = np.bincount(predicate_of, minlength=len(self._size))
        equal_level = self._levels.find(answer)
        # A new value falls between two ranks.
        rank = self._levels.below(answer) - (0 if equal_level is not None else 0.5)
        bounds = self._levels.rank[self._bound]
        above, same = bounds > rank, (bounds == rank) & self._equal
        emptied = above & self._equal & (inside > 0) & (inside == self._size)
        free = int(inside[above].sum())
        if emptied.any() or (inside[same] == 0).any() or not (same.any() or free):
            raise DataError(
                f"The answer {answer} contradicts earlier answers: no distinct values have these maxima. "
                "Record the answers that were given; a changed value is a new variable."
            )
        level = self._levels.add(answer)
        self._move(members[above[predicate_of]], level, equal=not same.any())
        self._move(members[same[predicate_of]], level, equal=True)
        self._equal[np.flatnonzero(same)] = False

    def extend(self, n: int) -> None:
        self._size[0] += n - self.n
        self._predicate = np.append(self._predicate, np.zeros(n - self.n, dtype=np.int64))

    def _move(self, people: Integers, level: int, *, equal: bool) -> None:
        """Move people into a new predicate: their maximum equals ``level`` if ``equal``, otherwise all their values are
        below it.
        """
        if len(people):
            departures = np.bincount(self._predicate[people], minlength=len(self._size))
            self._size = np.append(self._size - departures, len(people))
            self._bound = np.append(self._bound, level)
            self._equal = np.append(self._equal, equal)
            self._predicate[people] = len(self._size) - 1

    def _trial(self, members: Integers) -> Trial:
        """Return, for every candidate answer to the maximum of ``members``, whether it is consistent and whether it
        determines a value.

        Candidates are every upper bound of a member, and every gap between two of them. A predicate is a group of
        people with a known maximum (``equal``) or with an upper bound only.
        """
        inside = np.bincount(self._predicate[members], minlength=len(self._size))
        predicates = np.flatnonzero(inside)
        predicates = predicates[np.argsort(self._levels.rank[self._bound[predicates]], kind="stable")]
        bounds, inside, size, equal = (
            self._levels.rank[self._bound[predicates]],
            inside[predicates],
            self._size[predicates],
            self._equal[predicates],
        )
        distinct, start = np.unique(bounds, return_index=True)
        # Candidate 2i is the gap below the i-th bound, candidate 2i+1 the bound itself; the last gap is above all of them.
        above = np.repeat(np.append(start, len(predicates)), 2)[1:]
        free = _from(inside, above)
        emptied = _from(equal & (size == inside), above)
        leaves_one = _from(equal & (size - inside == 1), above)
        winners = np.zeros(len(above), dtype=np.int64)
        winners[1::2] = np.add.reduceat(np.where(equal, inside, 0), start)
        consistent = (emptied == 0) & ((winners > 0) | (free > 0))
        # A value that a person outside the query has cannot be anyone else's.
        has_owner = np.isin(distinct, self._levels.rank[self._bound[self._equal]])
        consistent[1::2] &= ~has_owner | (winners[1::2] > 0)
        return Trial(consistent, (leaves_one > 0) | (winners == 1) | ((winners == 0) & (free == 1)))


def _from(values: NDArray[np.generic], start: Integers) -> Integers:
    """Return the sums of ``values[start:]``."""
    total = np.concatenate([np.cumsum(values[::-1])[::-1], [0]])
    return total[start].astype(np.int64)
