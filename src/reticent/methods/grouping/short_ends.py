"""Ends of ranges rounded to few digits. An end is moved outward, never past the midpoint to the next value, so the range contains the same values."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from math import isfinite
from typing import Any

_READABLE = 3
"""Numbers with at most this many decimal places are not rounded."""

_EXACT = Context(prec=60)


def short_end(values: Sequence[Any], place: int, *, upper: bool) -> float | None:
    """The number with the fewest digits that bounds the value at index ``place`` of an ascending sequence, from above or below, and is closer to it than to the next value; None if it has no fewer digits."""
    value = values[place]
    if not isinstance(value, float) or not isfinite(value):
        return None
    end = Decimal(repr(value))
    digits = _behind_point(end)
    if digits <= _READABLE:
        return None
    next_place = place + 1 if upper else place - 1
    middle = _middle(end, values[next_place] if 0 <= next_place < len(values) else None)
    for digits_kept in range(digits):
        rounded = (
            float(end.quantize(Decimal(1).scaleb(-digits_kept), ROUND_CEILING if upper else ROUND_FLOOR, _EXACT)) + 0.0
        )
        if middle is None or (Decimal(rounded) < middle if upper else Decimal(rounded) > middle):
            return rounded
    return None


def _behind_point(number: Decimal) -> int:
    return max(-int(number.as_tuple().exponent), 0)


def _middle(end: Decimal, beside: Any) -> Decimal | None:
    """The midpoint between a value and its neighbour, or None if that is not a number."""
    if not isinstance(beside, float) or not isfinite(beside):
        return None
    return _EXACT.divide(_EXACT.add(end, Decimal(repr(beside))), Decimal(2))
