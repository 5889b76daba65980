"""Exact comparisons of integer arrays scaled by a fraction: in 64-bit integers if they fit, otherwise in Python integers."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

WIDEST = 2**63
_ROUNDING = 1e-14


def less(left: NDArray[Any], factor: Fraction, right: NDArray[Any]) -> NDArray[np.bool_]:
    """Mask: ``left < factor * right``, for non-negative integers."""
    smaller: NDArray[np.bool_] = (_scaled(left, factor.denominator) < _scaled(right, factor.numerator)).astype(bool)
    return smaller


def at_most(left: NDArray[Any], factor: Fraction, right: NDArray[Any]) -> NDArray[np.bool_]:
    """Mask: ``left <= factor * right``, for non-negative integers."""
    bounded: NDArray[np.bool_] = (_scaled(left, factor.denominator) <= _scaled(right, factor.numerator)).astype(bool)
    return bounded


def largest_below(factor: Fraction, right: NDArray[Any]) -> NDArray[Any]:
    """The largest integers below ``factor * right``, for non-negative ``right`` (-1 below zero)."""
    scaled = _scaled(right, factor.numerator)
    exact = scaled if factor.denominator < WIDEST else scaled.astype(object)
    below: NDArray[Any] = (exact - 1) // factor.denominator
    return below


def largest_ratio(numerators: NDArray[Any], denominators: NDArray[Any]) -> tuple[int, Fraction | float]:
    """The index and the exact value of the largest ``numerator / denominator`` of non-negative integers.

    A positive number over zero is infinite (ties go to the largest numerator); zero over zero counts as zero.
    """
    numerators, denominators = np.asarray(numerators), np.asarray(denominators)
    if not denominators.all():
        unbounded = np.where(denominators == 0, numerators, 0)
        if unbounded.any():
            return int(np.argmax(unbounded)), math.inf
        denominators = np.maximum(denominators, 1)
    ratios = numerators.astype(np.float64) / denominators.astype(np.float64)
    # Only ratios within the rounding error of the largest float can be the exact maximum.
    candidates = np.flatnonzero(ratios >= ratios.max() * (1 - _ROUNDING))
    best = int(candidates[np.argmax(ratios[candidates])])
    while True:
        numerator, denominator = int(numerators[best]), int(denominators[best])
        candidates = candidates[
            _scaled(numerators[candidates], denominator) > _scaled(denominators[candidates], numerator)
        ]
        if len(candidates) == 0:
            return best, Fraction(numerator, denominator)
        best = int(candidates[np.argmax(ratios[candidates])])


def _scaled(values: NDArray[Any], factor: int) -> NDArray[Any]:
    """Return values times a factor, in 64 bits if they suffice."""
    if factor == 1:
        return values
    if values.dtype != object and max(int(values.max(initial=0)), 1) * factor < WIDEST:
        wide: NDArray[Any] = values.astype(np.int64, copy=False) * np.int64(factor)
        return wide
    return values.astype(object) * factor
