"""How numbers and values are put into the sentences that people read."""

from __future__ import annotations

from fractions import Fraction

from reticent.base.exact import Number

_DIGITS = 6
_SCALE = 10**_DIGITS


def shown(number: Number) -> str:
    """A parameter as one would write it: ``3``, ``0.6``, or ``2/3`` where no short decimal says the same."""
    fraction = Fraction(number)
    if fraction.denominator == 1 or _SCALE % fraction.denominator:
        return str(fraction)
    whole, part = divmod(abs(fraction.numerator) * (_SCALE // fraction.denominator), _SCALE)
    return f"{'-' if fraction < 0 else ''}{whole}.{part:0{_DIGITS}d}".rstrip("0")


def measured(number: Fraction) -> str:
    """A measured ratio: as it is where a short decimal says it, otherwise rounded with the exact fraction beside it."""
    text = shown(number)
    return f"{float(number):.4g} ({text})" if "/" in text else text


def listed(values: tuple[str | None, ...], joined: str = "") -> str:
    """Sensitive values as they stand in a sentence, the last one ``joined`` by a word."""
    told = ["(missing)" if value is None else repr(value) for value in values]
    if joined and len(told) > 1:
        return f"{', '.join(told[:-1])} {joined} {told[-1]}"
    return ", ".join(told)
