"""The public sum auditor: exact fractions for few people, random null vectors beyond."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from reticent.audit.decision import AggregateQuery, Decision, Members, QueryHistory, as_answer, as_members
from reticent.audit.exact_sums import ExactSums
from reticent.audit.reasons import EXPOSES, SAFE
from reticent.base.exact import Number, whole
from reticent.errors import PolicyError

if TYPE_CHECKING:
    from reticent.audit.null_space import NullSpace

# Up to here fractions take milliseconds, and no compilation is needed.
EXACT_UP_TO = 100


class SumAuditor:
    """Answers a sum iff it and the sums answered before determine no person's value.

    ``ask(members)`` decides and records answered sums. Members are people numbered 0..n-1; a mapping from people to
    integers is a weighted sum. Values are assumed to be unbounded, so a column with declared bounds needs another
    auditor.

    *Guarantee*: classical: no person's value is determined. Integer values make no difference, because a null vector
    can be scaled to integers. *Adversary*: knows all queries, answers and denials, and no value. *Source*: [Chin1981];
    [Kenthapadi2005]. *Cost*: see :mod:`reticent.audit.null_space`; with at most 100 people the verdict is exact,
    otherwise its error probability is stated there.

    >>> auditor = SumAuditor(n=3)
    >>> auditor.ask({0, 1}), auditor.ask({1, 2}), auditor.ask({0, 2})
    (True, True, False)
    """

    def __init__(self, n: int, *, insecure_seed: int | None = None) -> None:
        """Start without answers, with exact linear algebra for few people, and modulo a random prime for many."""
        self._insecure_seed = insecure_seed
        self._kept: list[AggregateQuery] = []
        self._exposed = False
        self._space = self._space_for(whole(n, "n", low=1))

    @classmethod
    def of(cls, history: QueryHistory) -> SumAuditor:
        """Return an auditor with this history."""
        auditor = cls(history.n)
        for entry in history.answered:
            auditor.record(entry.query)
        return auditor

    @property
    def n(self) -> int:
        """The number of variables."""
        return self._space.n

    @property
    def rank(self) -> int:
        """The number of independent answered sums."""
        return self._space.rank

    def would_answer(self, members: Members | Mapping[int, int] | AggregateQuery) -> Decision:
        """Return the decision on a sum without recording it."""
        return self._decided(self._query(members))

    def ask(self, members: Members | Mapping[int, int] | AggregateQuery) -> bool:
        """Return whether the sum is answered; if so it is recorded."""
        query = self._query(members)
        decision = self._decided(query)
        if decision.answer and decision.rule != "implied":
            self._remember(query)
        return decision.answer

    def record(self, members: Members | Mapping[int, int] | AggregateQuery, answer: Number | None = None) -> None:
        """Record that the sum was answered, here or before a restart. An implied sum changes nothing; the answer is not
        used.

        If the recorded sums determine a value, only implied sums are answered from then on.
        """
        query = self._query(members)
        if answer is not None:
            as_answer(answer)
        self._exposed |= not self._space.decide(query)
        self._remember(query)

    def extend(self, n: int) -> None:
        """Grow to ``n`` variables; the new ones are in no answered sum."""
        if whole(n, "n", low=1) < self.n:
            raise PolicyError(
                f"n cannot fall from {self.n} to {n}: variables of people who left are kept, because answers refer to them."
            )
        self._space.extend(n)
        if n > EXACT_UP_TO and isinstance(self._space, ExactSums):
            self._space = self._space_for(n)
            for query in self._kept:
                self._space.remember(query)
            self._kept = []

    def _decided(self, query: AggregateQuery) -> Decision:
        decision = self._space.decide(query)
        return EXPOSES if self._exposed and decision.rule == SAFE.rule else decision

    def _space_for(self, n: int) -> ExactSums | NullSpace:
        """Return the linear algebra for ``n`` people: exact for few, modulo a prime for many."""
        if n <= EXACT_UP_TO:
            return ExactSums(n)
        from reticent.audit.null_space import NullSpace, prepare

        prepare()
        return NullSpace(n, insecure_seed=self._insecure_seed)

    def _remember(self, query: AggregateQuery) -> None:
        self._space.remember(query)
        if isinstance(self._space, ExactSums):
            self._kept.append(query)

    def _query(self, members: Members | Mapping[int, int] | AggregateQuery) -> AggregateQuery:
        """Return members, or coefficients by member, as a sum. Raises for another function, and for members beyond ``n``."""
        query = (
            members
            if isinstance(members, AggregateQuery)
            else (AggregateQuery.linear(members) if isinstance(members, Mapping) else AggregateQuery.of(members))
        )
        if query.family != "linear":
            raise PolicyError(f"A sum auditor cannot decide on a {query.function}.")
        if query.members[-1] >= self.n:
            as_members(query.members, self.n)
        return query
