"""Parameters as written: numbers become exact fractions, never binary approximations; words must be known ones."""

from __future__ import annotations

from collections.abc import Collection
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

from reticent.errors import ParameterError, did_you_mean

_MOST_DIGITS = 5_000

Number = int | float | str | Fraction | Decimal


def exact(
    value: Number,
    name: str,
    *,
    low: Number | None = None,
    high: Number | None = None,
    above: Number | None = None,
    below: Number | None = None,
) -> Fraction:
    """Return ``value`` as an exact fraction: ``"2/3"``, ``"0.6"``, ``1e-5``, ``3`` or a Fraction.

    A float is read as its shortest decimal, so ``exact(0.1, "t")`` is 1/10 and not the nearest binary number. ``low``
    and ``high`` are inclusive bounds, ``above`` and ``below`` exclusive ones. Raises :class:`ParameterError` naming the
    parameter for a value outside the bounds or one that is not a number.
    """
    try:
        number = _read(value)
    except (ValueError, InvalidOperation, ZeroDivisionError, OverflowError, TypeError):
        raise ParameterError(
            f"{name} must be a number such as 3, 0.6, '0.6' or '2/3', but it is {value!r}.", **_fields(name, value)
        ) from None
    if low is not None and number < _read(low):
        raise ParameterError(f"{name} must be at least {low}, but it is {value}.", **_fields(name, value))
    if high is not None and number > _read(high):
        raise ParameterError(f"{name} must be at most {high}, but it is {value}.", **_fields(name, value))
    if above is not None and number <= _read(above):
        raise ParameterError(f"{name} must be above {above}, but it is {value}.", **_fields(name, value))
    if below is not None and number >= _read(below):
        raise ParameterError(f"{name} must be below {below}, but it is {value}.", **_fields(name, value))
    return number


def whole(value: object, name: str, *, low: int, high: int | None = None) -> int:
    """``value`` as an integer from ``low`` to ``high``. Raises :class:`ParameterError` naming the parameter otherwise."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ParameterError(f"{name} must be a whole number, but it is {value!r}.", **_fields(name, value))
    if value < low:
        raise ParameterError(f"{name} must be at least {low}, but it is {value}.", **_fields(name, value))
    if high is not None and value > high:
        raise ParameterError(f"{name} must be at most {high:,}, but it is {value:,}.", **_fields(name, value))
    return value


def one_of(value: object, name: str, known: Collection[str]) -> None:
    """Raise :class:`ParameterError`, naming the parameter and listing the known words, for an unknown word."""
    if value not in known:
        raise ParameterError(
            f"{name} must be one of {', '.join(known)}, but it is {value!r}.{did_you_mean(value, known)}",
            **_fields(name, value),
        )


def _fields(name: str, value: object) -> dict[str, Any]:
    """The fields of an error about a parameter; ``name`` may have its owner and a colon in front."""
    return {"setting": tuple(name.split(": ")), "value": value}


def _read(value: Number) -> Fraction:
    """Return a number exactly: a float by its shortest decimal form, a text as written."""
    if isinstance(value, bool):
        raise TypeError("a truth value is not a number")
    if isinstance(value, float):
        return _fraction(Decimal(repr(value)))
    if isinstance(value, str) and "/" not in value:
        return _fraction(Decimal(value.strip()))
    return _fraction(value) if isinstance(value, Decimal) else Fraction(value)


def _fraction(number: Decimal) -> Fraction:
    """A decimal as a fraction. Raises if its exponent alone would exhaust the memory (``1e999999999``)."""
    exponent = number.as_tuple().exponent
    if isinstance(exponent, int) and abs(exponent) > _MOST_DIGITS:
        raise ValueError("too many digits")
    return Fraction(number)
