"""Answers to counting queries with a confidence interval."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from reticent.base.cards import SaidInLines


class IntervalAnswer(SaidInLines):
    """An estimate ``value`` of the number of records that meet a ``condition``, and an ``interval`` that contains the true
    number with at least the stated ``confidence``.
    """

    condition: str
    value: Any
    standard_error: Any
    interval: tuple[int, int] | tuple[float, float]
    confidence: Fraction

    @property
    def bounds(self) -> tuple[float, float]:
        """The interval, under the name used by counts on other releases."""
        return self.interval

    def as_dict(self) -> dict[str, Any]:
        """The answer as plain data."""
        return {
            "condition": self.condition,
            "value": self.value,
            "standard_error": self.standard_error,
            "interval": list(self.interval),
            "bounds": list(self.bounds),
            "confidence": float(self.confidence),
        }

    def confidence_line(self) -> str:
        """The interval in a sentence."""
        low, high = (f"{end:,}" if isinstance(end, int) else f"{end:,.2f}" for end in self.interval)
        return f"With {float(100 * self.confidence):g}% confidence between {low} and {high}."
