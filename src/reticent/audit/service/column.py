"""A sensitive column as its auditor sees it: the family it is locked to, and what was answered so far."""

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
    "The answers given so far contradict what was declared about the column (its prior, or that its values are distinct), so nothing "
    "is known about what another answer would tell. The column answers nothing more.",
    "contradicted",
)
_CHANGED = Decision(
    False,
    "The value of somebody who was part of an answer changed since. People may know by how much (a raise for everybody), so that old answers tell "
    "of new values. Nothing more is answered until the value is back, unless changes = 'unknown' is declared for the column.",
    "changed",
)
_GONE = Decision(
    False,
    "A value that was part of an answer is no longer in the table. The values are declared to be distinct, but those of different times "
    "need not be, so nothing more is answered until it is back.",
    "changed",
)


class ColumnAudit:
    """Decides on one column from declared facts and past answers; has no way to the data.

    Mutable because it remembers what was answered. It can be made again from the ledger at any time. ``rounds`` is how many decisions were
    taken so far, denied ones too, which probabilistic auditors count; ``key`` makes their randomness repeatable.
    """

    def __init__(self, column: ProtectedColumn, key: bytes) -> None:
        self.column = column
        self.family: str | None = column.family
        self.rounds = 0
        self._key = key
        self._auditor: Auditor | None = None
        # Auditors for decisions before the first answer; making one draws a prime, which takes longer than the decision.
        self._waiting: dict[str, Auditor] = {}
        self._contradicted = False
        self._owners: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._firsts: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._has_several = False
        # The last query that sums were judged by, with the members it was made of: who decides on a query remembers it next.
        self._asked: tuple[NDArray[np.int64], AggregateQuery] | None = None
        self._present = self._answered = np.empty(0, dtype=bool)

    def extend(self, owners: NDArray[np.int64], present: NDArray[np.int64]) -> None:
        """Grow to ``len(owners)`` variables, of which these are ``present`` in the table now."""
        self._owners = owners
        _, first, whose = np.unique(owners, return_index=True, return_inverse=True)
        self._firsts = first[whose]
        self._has_several = len(first) < len(owners)
        self._asked = None
        self._present = np.zeros(len(owners), dtype=bool)
        self._present[present] = True
        self._answered = np.append(self._answered, np.zeros(len(owners) - len(self._answered), dtype=bool))
        self._waiting.clear()
        if self._auditor is not None:
            self._extend(self._auditor)

    def decide(self, function: Asked, members: NDArray[np.int64]) -> Decision:
        """Answer or deny, without remembering it."""
        if self.column.refusal is not None:
            rule = "noise-only" if self.column.noise is not None and self.column.noise.only else "bounded"
            return Decision(False, self.column.refusal, rule)
        family = FAMILIES[function]
        if self.family is not None and family != self.family:
            return Decision(
                False,
                f"Column {self.column.name!r} answers {_CALLED[self.family]} only: sums, maxima and minima of one column together could "
                "give values away, and a refusal that depends on them would too.",
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
        """The sum that a sum of variables is judged by."""
        if self._asked is None or self._asked[0] is not members:
            self._asked = members, AggregateQuery.of(self._judged(members))
        return self._asked[1]

    def _judged(self, members: NDArray[np.int64]) -> NDArray[np.int64]:
        """The variables that sums are judged by: where changes may be known, all values of a person are one variable.

        *Guarantee*: whoever knows differences of old and new values, of some people or of all, has at most the span of the answered sums and of these
        differences. Identifying the variables of each person divides by all differences, so that a value which is not in the quotient's span follows for none of them.
        """
        if not self._has_several or self.column.changes == "unknown":
            return members
        # Marking and listing them takes a tenth of the time that sorting does.
        chosen = np.zeros(len(self._firsts), dtype=bool)
        chosen[self._firsts[members]] = True
        return np.flatnonzero(chosen)

    def _stops_at_changes(self, family: str) -> bool:
        if self.column.changes == "any":
            return True
        return self.column.changes == "known" and (family != "linear" or self.column.chance is not None)

    def _has_changed(self) -> bool:
        """Whether somebody has another value now, or had another one in an answer, than one that was part of an answer."""
        values = np.bincount(self._firsts, self._answered | self._present, minlength=1)
        answered = np.bincount(self._firsts, self._answered, minlength=1)
        return bool(((answered > 0) & (values > 1)).any())

    @property
    def _needs_distinct(self) -> bool:
        """Whether all values in answers must have been in the table together, so that they are distinct as declared."""
        return not self.column.duplicates and self.column.chance is None

    def count_round(self) -> None:
        """A decision was taken, whichever it was."""
        self.rounds += 1
        self._waiting.clear()
        if self.column.chance is not None and self._auditor is not None:
            from reticent.audit.chance.auditor import ChanceAuditor

            assert isinstance(self._auditor, ChanceAuditor)
            self._auditor.asked = self.rounds

    def remember(self, function: Asked, members: NDArray[np.int64], answer: Fraction | None) -> None:
        """The query was answered. The first answer locks the column to its family.

        Answers may contradict what was declared. That must not be an error, which would depend on the values: they were given out
        all the same, so everybody can see it, and nothing more is decided from them.
        """
        family = FAMILIES[function]
        if self._auditor is None:
            self._auditor, self.family = self._auditor_of(family), family
        self._answered[members] = True
        try:
            if isinstance(self._auditor, SumAuditor):
                # Sums are decided without answers, and may have been remembered without one.
                self._auditor.record(self._sum_of(members))
                self._asked = None
            else:
                assert answer is not None
                self._auditor.record(members, answer)
        except DataError:
            self._contradicted = True

    def _auditor_of(self, family: str) -> Auditor:
        if self._auditor is not None:
            return self._auditor
        if family not in self._waiting:
            self._waiting[family] = self._fresh(family)
        return self._waiting[family]

    def _fresh(self, family: str) -> Auditor:
        if self.column.chance is not None:
            from reticent.audit.service.chance_settings import probabilistic

            made = probabilistic(self.column.chance, family, len(self._owners), self._key)
            made.asked = self.rounds
            return made
        if family == "linear":
            return SumAuditor(len(self._owners))
        kind = MinAuditor if family == "min" else MaxAuditor
        fresh = kind(len(self._owners), duplicates=self.column.duplicates)
        self._extend(fresh)
        return fresh

    def _extend(self, auditor: Auditor) -> None:
        if isinstance(auditor, MaxAuditor):
            auditor.extend(len(self._owners), self._owners)
        else:
            auditor.extend(len(self._owners))
