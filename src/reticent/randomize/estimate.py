"""An answer from a randomized view."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any


@dataclass(frozen=True)
class Estimate:
    """An unbiased answer to a counting or sum query, and how far it can be off (R-AB-11, R-AB-12).

    ``value`` is the raw estimate; it may be negative, and it is what sums and averages must use. ``clipped`` is for display only. ``interval`` holds
    the true answer with probability at least 1 - ``error``; so does ``value`` plus or minus ``bound``. ``shown`` is what the view shows,
    ``domain_count`` what the domain holds; where that was sampled ``domain_error`` is its standard error.
    """

    condition: str
    value: Fraction
    standard_error: float
    clipped: Fraction
    interval: tuple[int, int] | tuple[float, float]
    bound: float
    error: Fraction
    shown: Fraction
    domain_count: Fraction
    domain_error: float = 0.0

    @property
    def bounds(self) -> tuple[float, float]:
        """The interval, by the name that counts on other releases have."""
        return self.interval

    def describe(self) -> dict[str, Any]:
        """The answer as plain data."""
        return {
            "condition": self.condition,
            "value": self.value,
            "decimal": float(self.value),
            "standard_error": self.standard_error,
            "clipped": float(self.clipped),
            "interval": list(self.interval),
            "bounds": list(self.interval),
            "bound": self.bound,
            "confidence": float(1 - self.error),
            "shown": _plain(self.shown),
            "domain_count": _plain(self.domain_count),
            "domain_count_is_exact": self.domain_error == 0.0,
        }

    def lines(self) -> list[str]:
        """The answer for people."""
        low, high = (f"{end:,}" if isinstance(end, int) else f"{end:,.2f}" for end in self.interval)
        return [
            f"{float(self.value):,.2f} (standard error {self.standard_error:,.2f})",
            f"With {float(100 * (1 - self.error)):g}% confidence between {low} and {high}.",
        ]


def _plain(value: Fraction) -> int | Fraction:
    """Whole numbers as such."""
    return value.numerator if value.denominator == 1 else value
