"""Formatting of numbers and values in sentences for people."""

from __future__ import annotations

from fractions import Fraction

from reticent.base.exact import Number

_DIGITS = 6
_SCALE = 10**_DIGITS


def shown(number: Number) -> str:
    """A parameter in its usual notation: ``3``, ``0.6``, or ``2/3`` if no short decimal is equal."""
    fraction = Fraction(number)
    if fraction.denominator == 1 or _SCALE % fraction.denominator:
        return str(fraction)
    integer_part, part = divmod(abs(fraction.numerator) * (_SCALE // fraction.denominator), _SCALE)
    return f"{'-' if fraction < 0 else ''}{integer_part}.{part:0{_DIGITS}d}".rstrip("0")


def measured(number: Fraction) -> str:
    """A measured ratio: a short decimal if exact, otherwise rounded, with the exact fraction in parentheses."""
    text = shown(number)
    return f"{float(number):.4g} ({text})" if "/" in text else text


def listed(values: tuple[str | None, ...], joined: str = "") -> str:
    """Sensitive values as a list in a sentence, the last one ``joined`` by a word."""
    texts = ["(missing)" if value is None else repr(value) for value in values]
    if joined and len(texts) > 1:
        return f"{', '.join(texts[:-1])} {joined} {texts[-1]}"
    return ", ".join(texts)
