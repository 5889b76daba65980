"""Brute force for bucketized releases: every way of giving the sensitive values of a bucket to its people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import permutations
from typing import Any


def outcomes(people: Sequence[Any], values: Sequence[Any], meets: Callable[[Any, Any], bool]) -> list[int]:
    """For every way, how many people meet the condition."""
    return [
        sum(meets(person, value) for person, value in zip(people, given, strict=True)) for given in permutations(values)
    ]


def summary(found: Sequence[int]) -> tuple[Fraction, Fraction, int, int]:
    """Mean, variance, fewest and most, all ways being equally likely."""
    mean = Fraction(sum(found), len(found))
    variance = sum((Fraction(number) - mean) ** 2 for number in found) / len(found)
    return mean, variance, min(found), max(found)
