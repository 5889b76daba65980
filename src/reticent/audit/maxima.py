"""The max and min auditors that ship: decide, then be told the answer."""

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

    ``ask(members)`` decides; the answer given must then be told with ``record(members, answer)`` before the next question, because
    decisions depend on past answers. ``duplicates`` is a declared property of the column: whether two people may share a value (True
    or ``"allowed"``, False or ``"distinct"``). It is never inferred from the data. Values are taken to be real and without bounds.

    *Guarantee*: classical and simulatable: the decision follows from the queries so far and the answers before this one, so a
    refusal says nothing. *Adversary*: knows all queries, answers and refusals, and no value.

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
        declared = _DECLARED.get(duplicates, duplicates) if isinstance(duplicates, str) else duplicates
        if not isinstance(declared, bool):
            raise PolicyError(f"duplicates must be True ('allowed') or False ('distinct'), but it is {duplicates!r}.")
        whole(n, "n", low=1)
        self.duplicates = declared
        self._maxima = RepeatedMaxima(n) if declared else DistinctMaxima(n)
        self._awaited: AggregateQuery | None = None

    @classmethod
    def of(cls, history: QueryHistory) -> MaxAuditor:
        """The auditor that has answered this history."""
        if history.family not in (None, cls.function):
            raise PolicyError(f"A {cls.function} auditor cannot continue a history of {history.family} queries.")
        auditor = cls(history.n, duplicates=history.duplicates)
        for entry in history.answered:
            assert entry.answer is not None, "only sums are remembered without an answer"
            auditor.record(entry.query, entry.answer)
        return auditor

    @property
    def n(self) -> int:
        """How many variables there are."""
        return self._maxima.n

    def would_answer(self, members: Members | AggregateQuery) -> Decision:
        """The decision on a query, without asking it."""
        self._expect_nothing()
        return self._maxima.decide(self._query(members))

    def ask(self, members: Members | AggregateQuery) -> bool:
        """Whether the query is answered; if so, :meth:`record` must follow."""
        self._expect_nothing()
        query = self._query(members)
        if self._maxima.decide(query):
            self._awaited = query
        return self._awaited is not None

    def record(self, members: Members | AggregateQuery, answer: Number) -> None:
        """The answer that was given, to the query asked last or before a restart."""
        query, value = self._query(members), as_answer(answer)
        if self._awaited is not None and query != self._awaited:
            raise PolicyError(
                "record must be told the answer to the query that was asked last, but it names other people."
            )
        self._maxima.remember(query, self._sign * Fraction(value))
        self._awaited = None

    def extend(self, n: int, owners: NDArray[np.int64] | None = None) -> None:
        """There are ``n`` variables from now on; the new ones are in no answered query.

        ``owners`` says for each variable whose value it is or was, by any numbers. Everybody knows that a changed value differs from the
        one before, which is taken into account where values may repeat. A column of distinct values must not be asked about
        values that were never there at the same time: they need not be distinct.
        """
        if whole(n, "n", low=1) < self.n:
            raise PolicyError(
                f"n cannot fall from {self.n} to {n}: variables of people who left stay, because answers name them."
            )
        if owners is not None and len(owners) != n:
            raise PolicyError(f"owners must name somebody for each of the {n} variables, but it names {len(owners)}.")
        if isinstance(self._maxima, RepeatedMaxima):
            self._maxima.extend(n, owners)
        else:
            self._maxima.extend(n)

    def _expect_nothing(self) -> None:
        if self._awaited is not None:
            raise PolicyError(
                f"The last {self.function} was allowed and its answer is not recorded yet: call record(members, answer) first."
            )

    def _query(self, members: Members | AggregateQuery) -> AggregateQuery:
        query = members if isinstance(members, AggregateQuery) else AggregateQuery.of(members, self.function)
        if query.function != self.function:
            raise PolicyError(f"A {self.function} auditor cannot decide on a {query.function}.")
        as_members(query.members, self.n)
        return query


class MinAuditor(MaxAuditor):
    """The auditor of minima: a minimum is the maximum of the negated values."""

    function = "min"
    _sign = -1
