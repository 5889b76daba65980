"""The sum of some noisy counts, as the answer to a counting query."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from reticent.base.interval_answers import IntervalAnswer


@dataclass(frozen=True)
class NoisySum(IntervalAnswer):
    """The sum of some noisy counts: unbiased, and within ``interval`` of the true number with at least the stated ``confidence``.

    The interval is that of the exact noise distribution, clipped at 0.
    """

    condition: str
    value: int
    cells: int
    standard_error: float
    interval: tuple[int, int]
    confidence: Fraction

    def as_dict(self) -> dict[str, Any]:
        return {**super().as_dict(), "cells": self.cells}

    def lines(self) -> list[str]:
        """Human-readable lines."""
        summary_line = f"{self.value:,} rows in {self.cells:,} cells (standard error {self.standard_error:,.2f})"
        return [summary_line, self.confidence_line()]
