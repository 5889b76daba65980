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

    def needs(self, view: AdversaryView) -> str | None:
        """Require a histogram of the whole table; if the published rows themselves are the reference, nothing follows about others."""
        if self._secret(view) is not None:
            return None
        about = "" if self.column is None else f" of {self.column!r}"
        return f"Remainder: the release declares no histogram{about} of the whole table, so nothing follows about suppressed records."

    def attack(self, view: AdversaryView) -> Findings:
        """Subtract the published histogram from that of the whole table: if one value dominates the rest, it is disclosed for suppressed people."""
        secret = self._secret(view) or self.column or view.sensitive[0]
        column, suppressed = _suppressed_counts(view, secret)
        rows, most_frequent = int(suppressed.sum()), int(suppressed.max(initial=0))
        is_disclosed = rows > 0 and most_frequent >= Fraction(self.threshold) * rows
        whole_counts = view.reference[secret].counts if secret in view.reference else np.zeros(0, dtype=np.int64)
        is_disclosed_anyway = bool(len(whole_counts)) and int(whole_counts.max()) >= Fraction(self.threshold) * int(
            whole_counts.sum()
        )
        histogram = {
            column.texts[value]: int(suppressed[value])
            for value in np.argsort(-suppressed, kind="stable")
            if suppressed[value]
        }
        return Findings(
            self.name,
            "the whole table's histogram in the certificate, and that a person is in the data but not among the published rows",
            f"were suppressed and have their {secret} disclosed by the histogram",
            rows if is_disclosed else 0,
            rows,
            _example(secret, histogram, rows, view.counted),
            details={"left_out": rows, "histogram": histogram, "threshold": str(self.threshold)},
            baseline=1.0 if is_disclosed_anyway else None,
        )

    def _secret(self, view: AdversaryView) -> str | None:
        """Return the sensitive column to guess: ``column`` if the release declares it, without a choice the first
        declared one; else None.
        """
        declared = [name for name in view.sensitive if name in view.reference]
        if self.column is None:
            return declared[0] if declared else None
        return self.column if self.column in declared else None


def _suppressed_counts(view: AdversaryView, secret: str) -> tuple[SensitiveColumn, NDArray[np.int64]]:
    """Return a column of the whole table, and the number of suppressed rows per value."""
    _, groups = secrets(view, secret, "Remainder")
    published_column = groups.domain.columns[0]
    published = groups.histograms.total(published_column.size)
    if secret not in view.reference:
        return published_column, np.zeros_like(published)
    column, suppressed = view.reference[secret].column, view.reference[secret].counts.copy()
    suppressed[column.codes(published_column.labels)] -= published
    return column, np.maximum(suppressed, 0)


def _example(secret: str, histogram: dict[str, int], rows: int, counted: str) -> str:
    """Return a sentence about the most frequent value of suppressed records."""
    if not rows:
        return "Nothing is disclosed about suppressed records."
    value, count = next(iter(histogram.items()))
    if rows == 1:
        return f"One {'person' if counted == 'people' else 'record'} was suppressed, and has the {secret} {value!r}."
    subjects = "people who" if counted == "people" else "records that"
    return f"{count} of the {rows} {subjects} were suppressed have the {secret} {value!r}."
