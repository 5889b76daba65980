"""The public max and min auditors: decide first, then record the answer."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from reticent.audit.decision import AggregateQuery, Decision, Members, QueryHistory, as_answer, as_members
from reticent.audit.distinct import DistinctMaxima
from reticent.audit.extremes import RepeatedMaxima
from reticent.base.exact import Number, whole
from reticent.errors import PolicyError

_DECLARED = {"allowed": True, "distinct": False}


class MaxAuditor:
    """Answers a maximum iff no consistent answer to it would determine a person's value.

    ``ask(members)`` decides; the answer must then be passed to ``record(members, answer)`` before the next query,
    because decisions depend on past answers. ``duplicates`` is a declared property of the column: whether two people
    may share a value (True or ``"allowed"``, False or ``"distinct"``). It is never inferred from the data. Values are
    assumed to be real and unbounded.

    *Guarantee*: classical and simulatable: the decision follows from the queries so far and the answers before this
    one, so a denial reveals nothing. *Adversary*: knows all queries, answers and denials, and no value. *Source*:
    [Kenthapadi2005].

    >>> auditor = MaxAuditor(n=4)
    >>> auditor.ask({0, 1, 2, 3})
    True
    >>> auditor.record({0, 1, 2, 3}, 9)
    >>> auditor.ask({0, 2, 3})
    False
    """

    function: ClassVar[str] = "max"
    _sign: ClassVar[int] = 1

    def __init__(self, n: int, *, duplicates: bool | str = True) -> None:
        """Start without answers; ``duplicates`` states whether people may share a value (True or "allowed")."""
        declared = _DECLARED.get(duplicates, duplicates) if isinstance(duplicates, str) else duplicates
        if not isinstance(declared, bool):
            raise PolicyError(f"duplicates must be True ('allowed') or False ('distinct'), but it is {duplicates!r}.")
        whole(n, "n", low=1)
        self.duplicates = declared
        self._maxima = RepeatedMaxima(n) if declared else DistinctMaxima(n)
        self._awaited: AggregateQuery | None = None

    @classmethod
    def of(cls, history: QueryHistory) -> MaxAuditor:
        """Return an auditor with this history."""
        if history.family not in (None, cls.function):
            raise PolicyError(f"A {cls.function} auditor cannot continue a history of {history.family} queries.")
        auditor = cls(history.n, duplicates=history.duplicates)
        for entry in history.answered:
            assert entry.answer is not None, "only sums are remembered without an answer"
            auditor.record(entry.query, entry.answer)
        return auditor

    @property
    def n(self) -> int:
        """The number of variables."""
        return self._maxima.n

    def would_answer(self, members: Members | AggregateQuery) -> Decision:
        """Return the decision on a query without recording it."""
        self._expect_nothing()
        return self._maxima.decide(self._query(members))

    def ask(self, members: Members | AggregateQuery) -> bool:
        """Return whether the query is answered; if so, :meth:`record` must follow."""
        self._expect_nothing()
        query = self._query(members)
        if self._maxima.decide(query):
            self._awaited = query
        return self._awaited is not None

    def record(self, members: Members | AggregateQuery, answer: Number) -> None:
        """Record the answer to the last query, or to a query before a restart."""
        query, value = self._query(members), as_answer(answer)
        if self._awaited is not None and query != self._awaited:
            raise PolicyError("record needs the answer to the last query, but it names other people.")
        self._maxima.remember(query, self._sign * Fraction(value))
        self._awaited = None

    def extend(self, n: int, owners: NDArray[np.int64] | None = None) -> None:
        """Grow to ``n`` variables; the new ones are in no answered query.

        ``owners`` maps each variable to the person whose value it is or was, by any numbers. It is public that a
        changed value differs from the one before; this is taken into account if values may repeat. A column of distinct
        values must not be queried about values that never existed at the same time: they need not be distinct.
        """
        if whole(n, "n", low=1) < self.n:
            raise PolicyError(
                f"n cannot fall from {self.n} to {n}: variables of people who left are kept, because answers refer to them."
            )
        if owners is not None and len(owners) != n:
            raise PolicyError(
                f"owners must name a person for each of the {n} variables, but it has {len(owners)} entries."
            )
        if isinstance(self._maxima, RepeatedMaxima):
            self._maxima.extend(n, owners)
        else:
            self._maxima.extend(n)

    def _expect_nothing(self) -> None:
        """Raise if the answer of the last allowed query is not recorded yet."""
        if self._awaited is not None:
            raise PolicyError(
                f"The last {self.function} was allowed and its answer is not recorded yet: call record(members, answer) first."
            )

    def _query(self, members: Members | AggregateQuery) -> AggregateQuery:
        """Return members as a query of this auditor's function. Raises for another function, and for members beyond ``n``"""
        query = members if isinstance(members, AggregateQuery) else AggregateQuery.of(members, self.function)
        if query.function != self.function:
            raise PolicyError(f"A {self.function} auditor cannot decide on a {query.function}.")
        as_members(query.members, self.n)
        return query


class MinAuditor(MaxAuditor):
    """The auditor of minima: a minimum is the maximum of the negated values."""

    function = "min"
    _sign = -1
