"""The audit state of a sensitive column: the family it is locked to, and the answered queries."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from reticent.audit.decision import FAMILIES, AggregateQuery, Auditor, Decision
from reticent.audit.maxima import MaxAuditor, MinAuditor
from reticent.audit.service.settings import ProtectedColumn
from reticent.audit.sums import SumAuditor
from reticent.errors import DataError

Asked = Literal["sum", "max", "min"]
_CALLED = {"linear": "sums and averages", "max": "maxima", "min": "minima"}
_CONTRADICTED = Decision(
    False,
    "The answers given so far contradict what was declared about the column (its prior, or that its values are distinct), so the risk of a further answer cannot be assessed. No further query of this column is answered.",
    "contradicted",
)
_CHANGED = Decision(
    False,
    "A value that was part of an answer has changed since. Users may know by how much (a raise for all staff), so that old answers disclose new values. No further query is answered until the value is restored, unless changes = 'unknown' is declared for the column.",
    "changed",
)
_GONE = Decision(
    False,
    "A value that was part of an answer is no longer in the table. The values are declared to be distinct, but values of different times need not be, so no further query is answered until it is restored.",
    "changed",
)


class ColumnAudit:
    """Decides on one column from declarations and past answers; has no access to the data.

    Mutable: holds the answered queries; it can be rebuilt from the ledger at any time. ``rounds`` is the number of
    decisions so far, including denials, which probabilistic auditors count; ``key`` makes their randomness
    reproducible.
    """

    def __init__(self, column: ProtectedColumn, key: bytes) -> None:
        """Start without variables and without an auditor; the first answer decides which auditor is kept, unless the
        column declares a family.
        """
        self.column = column
        self.family: str | None = column.family
        self.rounds = 0
        self._key = key
        self._auditor: Auditor | None = None
        # Auditors for decisions before the first answer; creating one samples a prime, which takes longer than the
        # decision.
        self._waiting: dict[str, Auditor] = {}
        self._contradicted = False
        self._owners: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._firsts: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._has_several = False
        # The last sum query with its members: a decision is usually followed by a record.
        self._asked: tuple[NDArray[np.int64], AggregateQuery] | None = None
        self._present = self._answered = np.empty(0, dtype=bool)

    def extend(self, owners: NDArray[np.int64], present: NDArray[np.int64]) -> None:
        """Grow to ``len(owners)`` variables, of which ``present`` are in the table now."""
        self._owners = owners
        _, first, owner_index = np.unique(owners, return_index=True, return_inverse=True)
        self._firsts = first[owner_index]
        self._has_several = len(first) < len(owners)
        self._asked = None
        self._present = np.zeros(len(owners), dtype=bool)
        self._present[present] = True
        self._answered = np.append(self._answered, np.zeros(len(owners) - len(self._answered), dtype=bool))
        self._waiting.clear()
        if self._auditor is not None:
            self._extend(self._auditor)

    def decide(self, function: Asked, members: NDArray[np.int64]) -> Decision:
        """Answer or deny a query by the declarations of the column, its family of queries and the auditor; nothing is
        recorded.
        """
        if self.column.refusal is not None:
            rule = "noise-only" if self.column.noise is not None and self.column.noise.only else "bounded"
            return Decision(False, self.column.refusal, rule)
        family = FAMILIES[function]
        if self.family is not None and family != self.family:
            return Decision(
                False,
                f"Column {self.column.name!r} answers {_CALLED[self.family]} only: sums, maxima and minima of one column together could disclose values, and so could a denial that depends on them.",
                "other-family",
            )
        if self._contradicted:
            return _CONTRADICTED
        if family != "linear" and self._needs_distinct and (self._answered & ~self._present).any():
            return _GONE
        if self._stops_at_changes(family) and self._has_changed():
            return _CHANGED
        auditor = self._auditor_of(family)
        if isinstance(auditor, SumAuditor):
            return auditor.would_answer(self._sum_of(members))
        return auditor.would_answer(members)

    def _sum_of(self, members: NDArray[np.int64]) -> AggregateQuery:
        """Return the sum query over the variables that a sum is audited by."""
        if self._asked is None or self._asked[0] is not members:
            self._asked = members, AggregateQuery.of(self._judged(members))
        return self._asked[1]

    def _judged(self, members: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the variables that sums are audited by: if changes may be known, all values of a person are one
        variable.

        *Guarantee*: an adversary who knows differences of old and new values, of some people or of all, knows at most
        the span of the answered sums and of these differences. Identifying the variables of each person divides by all
        differences, so a value outside the quotient's span is determined for none of them.
        """
        if not self._has_several or self.column.changes == "unknown":
            return members
        # A boolean mask takes a tenth of the time of sorting.
        chosen = np.zeros(len(self._firsts), dtype=bool)
        chosen[self._firsts[members]] = True
        return np.flatnonzero(chosen)

    def _stops_at_changes(self, family: str) -> bool:
        if self.column.changes == "any":
            return True
        return self.column.changes == "known" and (family != "linear" or self.column.chance is not None)

    def _has_changed(self) -> bool:
        """True if a person in an answer has, or had in another answer, a different value."""
        values = np.bincount(self._firsts, self._answered | self._present, minlength=1)
        answered = np.bincount(self._firsts, self._answered, minlength=1)
        return bool(((answered > 0) & (values > 1)).any())

    @property
    def _needs_distinct(self) -> bool:
        """True if all values in answers must have been in the table at the same time, so that they are distinct as declared."""
        return not self.column.duplicates and self.column.chance is None

    def count_round(self) -> None:
        """Count a decision, whether answered or denied."""
        self.rounds += 1
        self._waiting.clear()
        if self.column.chance is not None and self._auditor is not None:
            from reticent.audit.chance.auditor import ChanceAuditor

            assert isinstance(self._auditor, ChanceAuditor)
            self._auditor.asked = self.rounds

    def remember(self, function: Asked, members: NDArray[np.int64], answer: Fraction | None) -> None:
        """Record an answered query. The first answer locks the column to its family.

        Answers may contradict the declarations. That must not raise an error, which would depend on the values: the
        answers were returned anyway, so users can see it, and nothing more is decided from them.
        """
        family = FAMILIES[function]
        if self._auditor is None:
            self._auditor, self.family = self._auditor_of(family), family
        self._answered[members] = True
        try:
            if isinstance(self._auditor, SumAuditor):
                # Sums are decided without answers, and may have been recorded without one.
                self._auditor.record(self._sum_of(members))
                self._asked = None
            else:
                assert answer is not None
                self._auditor.record(members, answer)
        except DataError:
            self._contradicted = True

    def _auditor_of(self, family: str) -> Auditor:
        """Return the auditor for a family of queries; which one is kept is decided by the first answer."""
        if self._auditor is not None:
            return self._auditor
        if family not in self._waiting:
            self._waiting[family] = self._fresh(family)
        return self._waiting[family]

    def _fresh(self, family: str) -> Auditor:
        """Return a new auditor for the queries of a ``family``: linear, min or max, or one that bounds chances if the column has such settings."""
        if self.column.chance is not None:
            from reticent.audit.service.chance_settings import probabilistic

            auditor = probabilistic(self.column.chance, family, len(self._owners), self._key)
            auditor.asked = self.rounds
            return auditor
        if family == "linear":
            return SumAuditor(len(self._owners))
        kind = MinAuditor if family == "min" else MaxAuditor
        extreme_auditor = kind(len(self._owners), duplicates=self.column.duplicates)
        self._extend(extreme_auditor)
        return extreme_auditor

    def _extend(self, auditor: Auditor) -> None:
        """Grow an auditor to the current variables; maxima also need to know the owner of each."""
        if isinstance(auditor, MaxAuditor):
            auditor.extend(len(self._owners), self._owners)
        else:
            auditor.extend(len(self._owners))
