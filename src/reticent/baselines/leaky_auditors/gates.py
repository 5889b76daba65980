"""The attacker's interface: a gate that answers a query about hidden values, or refuses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Protocol

import numpy as np

from reticent.audit import (
    BOUNDED,
    OTHER_FAMILY,
    AggregateQuery,
    Auditor,
    Decision,
    MaxAuditor,
    MinAuditor,
    QueryHistory,
    SumAuditor,
    exhausts_bounds,
)
from reticent.base.exact import Number, exact


class Gate(Protocol):
    """Answers or refuses. ``foreseen`` is the predictable decision: None if it depends on the hidden values."""

    def answer(self, members: Iterable[int], function: str) -> Fraction | None:
        """Return the true aggregate, or None for a refusal."""

    def foreseen(self, members: Iterable[int], function: str) -> bool | None:
        """Return whether the query will be answered, if that is predictable without asking it."""


def aggregate(values: Sequence[Fraction], members: Iterable[int], function: str) -> Fraction:
    """Return the true sum, maximum or minimum."""
    chosen = [values[person] for person in members]
    if function == "sum":
        return sum(chosen, Fraction(0))
    return max(chosen) if function == "max" else min(chosen)


class AuditedGate:
    """Our own auditors in front of hidden values: the decision is made before the values are read."""

    def __init__(
        self,
        values: Sequence[Number],
        *,
        duplicates: bool = True,
        lower: Number | None = None,
        upper: Number | None = None,
    ) -> None:
        """Take the hidden values, and what is declared of them: whether they may be equal, and their bounds."""
        self._values = [exact(value, "value") for value in values]
        bounds = [None if bound is None else exact(bound, "bound") for bound in (lower, upper)]
        self._declared = QueryHistory(len(self._values), duplicates=duplicates, lower=bounds[0], upper=bounds[1])
        self._auditor: Auditor | None = None
        self._family: str | None = None

    def foreseen(self, members: Iterable[int], function: str) -> bool:
        """Return the decision: every one is predictable."""
        return self._decide(AggregateQuery.of(members, function)).answer

    def answer(self, members: Iterable[int], function: str) -> Fraction | None:
        """Return the true answer of a query, or None if the auditor denies it."""
        query = AggregateQuery.of(members, function)
        if not self._decide(query):
            return None
        auditor = self._auditor or self._made(query.family)
        self._auditor, self._family = auditor, query.family
        auditor.ask(query.members)
        result = aggregate(self._values, query.members.tolist(), function)
        auditor.record(query.members, result)
        return result

    def _decide(self, query: AggregateQuery) -> Decision:
        """Return the decision on a query, without its answer."""
        if self._family not in (None, query.family):
            return OTHER_FAMILY
        if exhausts_bounds(self._declared, query):
            return BOUNDED
        return (self._auditor or self._made(query.family)).would_answer(np.asarray(query.members))

    def _made(self, family: str) -> Auditor:
        """Return a new auditor for a family of queries: sums, maxima or minima."""
        if family == "linear":
            return SumAuditor(self._declared.n)
        maker = MaxAuditor if family == "max" else MinAuditor
        return maker(self._declared.n, duplicates=self._declared.duplicates)
