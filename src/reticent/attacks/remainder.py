"""Remainder: what the whole table's histogram minus the published rows discloses about suppressed records."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from reticent.attacks.adversary import Findings, secrets
from reticent.base.exact import Number, exact
from reticent.core import AdversaryView
from reticent.table import SensitiveColumn


@dataclass(frozen=True)
class Remainder:
    """An adversary who knows that a person is in the data but in no published group subtracts: the difference is the
    histogram of the suppressed records.

    All suppressed people are hit if the most frequent value of that histogram reaches the share ``threshold``, as in a
    group (:class:`Homogeneity`), decided in integers. *Baseline.* All people, if the whole table shares the value.
    """

    threshold: Number = 1
    column: str | None = None

    name = "remainder"

    def __post_init__(self) -> None:
        object.__setattr__(self, "threshold", exact(self.threshold, "Remainder: threshold", above=0, high=1))

    def needs(self, seen: AdversaryView) -> str | None:
        """Require a histogram of the whole table; if the published rows themselves are the reference, nothing follows about others."""
        if self._secret(seen) is not None:
            return None
        about = "" if self.column is None else f" of {self.column!r}"
        return f"Remainder: the release declares no histogram{about} of the whole table, so nothing follows about suppressed records."

    def attack(self, seen: AdversaryView) -> Findings:
        """Subtract the histograms. In an unmodified table no one was suppressed."""
        secret = self._secret(seen) or self.column or seen.sensitive[0]
        column, lost = _left_out(seen, secret)
        rows, most = int(lost.sum()), int(lost.max(initial=0))
        hit = rows > 0 and most >= Fraction(self.threshold) * rows
        whole = seen.reference[secret].counts if secret in seen.reference else np.zeros(0, dtype=np.int64)
        shared = bool(len(whole)) and int(whole.max()) >= Fraction(self.threshold) * int(whole.sum())
        told = {column.texts[place]: int(lost[place]) for place in np.argsort(-lost, kind="stable") if lost[place]}
        return Findings(
            self.name,
            "the whole table's histogram in the certificate, and that a person is in the data but not among the published rows",
            f"were suppressed and have their {secret} disclosed by the histogram",
            rows if hit else 0,
            rows,
            _example(secret, told, rows, seen.counted),
            details={"left_out": rows, "histogram": told, "threshold": str(self.threshold)},
            baseline=1.0 if shared else None,
        )

    def _secret(self, seen: AdversaryView) -> str | None:
        declared = [name for name in seen.sensitive if name in seen.reference]
        if self.column is None:
            return declared[0] if declared else None
        return self.column if self.column in declared else None


def _left_out(seen: AdversaryView, secret: str) -> tuple[SensitiveColumn, NDArray[np.int64]]:
    """Return a column of the whole table, and the number of suppressed rows per value."""
    _, groups = secrets(seen, secret, "Remainder")
    shown = groups.domain.columns[0]
    published = groups.histograms.total(shown.size)
    if secret not in seen.reference:
        return shown, np.zeros_like(published)
    column, lost = seen.reference[secret].column, seen.reference[secret].counts.copy()
    lost[column.codes(shown.labels)] -= published
    return column, np.maximum(lost, 0)


def _example(secret: str, told: dict[str, int], rows: int, counted: str) -> str:
    if not rows:
        return "Nothing is disclosed about suppressed records."
    value, count = next(iter(told.items()))
    if rows == 1:
        return f"One {'person' if counted == 'people' else 'record'} was suppressed, and has the {secret} {value!r}."
    left = "people who" if counted == "people" else "records that"
    return f"{count} of the {rows} {left} were suppressed have the {secret} {value!r}."
