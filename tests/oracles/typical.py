"""Typical values by their definition: one group at a time, in Python's own numbers, sharing nothing with the product."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any


def decimal(value: Any) -> Fraction:
    """A number as it is written."""
    return Fraction(str(value))


def step_of(low: Any, high: Any) -> Fraction:
    """The largest of 1, 2, 5 times a power of ten that is at most a quarter of a range; at least 1 between whole ends."""
    width = (decimal(high) - decimal(low)) / 4
    whole = decimal(low).denominator == 1 and decimal(high).denominator == 1
    best = Fraction(1) if whole else Fraction(0)
    for power in range(-40, 40):
        for digit in (1, 2, 5):
            step = Fraction(digit) * Fraction(10) ** power
            if step <= width:
                best = max(best, step)
    return best


def grid_places(low: Any, high: Any) -> list[Fraction]:
    """All places of the grid of a range of numbers."""
    step = step_of(low, high)
    first = -((-decimal(low)) // step)
    return [step * place for place in range(int(first), int(decimal(high) // step) + 1)]


def grid_days(low: datetime.date, high: datetime.date) -> list[datetime.date]:
    """All days of the grid of a range of dates."""
    days = [low + datetime.timedelta(days=step) for step in range((high - low).days + 1)]
    quarter = (high - low).days / 4
    if quarter >= 366:
        return [day for day in days if (day.month, day.day) == (1, 1)]
    return [day for day in days if day.day == 1] if quarter >= 31 else days


def middle(values: Sequence[Any]) -> Any:
    """The median: the value in the middle, or the middle between two."""
    ordered = sorted(values)
    low, high = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    return low + (high - low) / 2


def commonest(values: Sequence[Any]) -> set[Any]:
    """The most frequent values."""
    counted = Counter(values)
    return {value for value, times in counted.items() if times == max(counted.values())}
