"""A sensitive column as its auditor sees it: the family it is locked to, and what was answered so far (R-QA-14)."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from reticent.audit.decision import FAMILIES, Auditor, Decision
from reticent.audit.service.settings import SensitiveColumn

Asked = Literal["sum", "max", "min"]
_CALLED = {"linear": "sums and averages", "max": "maxima", "min": "minima"}


class ColumnAudit:
    """Decides on one column from declared facts and past answers; has no way to the data (R-QA-1).

    Mutable because it remembers what was answered. It can be made again from the ledger at any time. ``rounds`` is how many decisions were
    taken so far, denied ones too, which probabilistic auditors count; ``key`` makes their randomness repeatable.
    """

    def __init__(self, column: SensitiveColumn, key: bytes) -> None:
        self.column = column
        self.family: str | None = column.family
        self.rounds = 0
        self._key = key
        self._variables = 0
        self._auditor: Auditor | None = None

    def extend(self, variables: int) -> None:
        """So many variables are known from now on."""
        if variables > self._variables:
            self._variables = variables
            if self._auditor is not None:
                self._auditor.extend(variables)

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
        auditor = self._auditor if self._auditor is not None else self._fresh(family)
        return auditor.would_answer(members)

    def count_round(self) -> None:
        """A decision was taken, whichever it was."""
        self.rounds += 1
        if self.column.chance is not None and self._auditor is not None:
            from reticent.audit.chance.auditor import ChanceAuditor

            assert isinstance(self._auditor, ChanceAuditor)
            self._auditor.asked = self.rounds

    def remember(self, function: Asked, members: NDArray[np.int64], answer: Fraction | None) -> None:
        """The query was answered. The first answer locks the column to its family."""
        family = FAMILIES[function]
        if self._auditor is None:
            self._auditor, self.family = self._fresh(family), family
        if answer is None:
            # Only sums are remembered without an answer: they are decided without any.
            self._auditor.ask(members)
            return
        self._auditor.record(members, answer)

    def _fresh(self, family: str) -> Auditor:
        if self.column.chance is not None:
            from reticent.audit.service.chance import probabilistic

            made = probabilistic(self.column.chance, family, self._variables, self._key)
            made.asked = self.rounds
            return made
        if family == "linear":
            from reticent.audit.sums import SumAuditor

            return SumAuditor(self._variables)
        from reticent.audit import MaxAuditor, MinAuditor

        kind = MinAuditor if family == "min" else MaxAuditor
        return kind(self._variables, duplicates=self.column.duplicates)
