"""Descriptions without data values: definitions by their numbers, errors by kind, column and position."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction

from reticent.definitions import Definition
from reticent.errors import ReticentError


def without_values(definition: Definition) -> str:
    """Return a definition by name, column and numbers; other parameters may be data values, and become ``...``."""
    return " & ".join(_without_values(part) for part in definition.parts())


def _without_values(part: Definition) -> str:
    """Return a part of a definition as text, with its numbers and columns but no other values."""
    parameters = part.parameters().items()
    safe_parameters = [f"{name}={value}" for name, value in parameters if name == "column" or _is_number(value)]
    return f"{part.name}({', '.join(safe_parameters + ['...'] * (len(parameters) > len(safe_parameters)))})"


def _is_number(value: object) -> bool:
    """True if a parameter is a number, or text that is one."""
    if isinstance(value, int | float | Fraction):
        return True
    with suppress(TypeError, ValueError, ZeroDivisionError):
        Fraction(str(value))
        return isinstance(value, str)
    return False


def without_message(error: BaseException) -> str:
    """Return an error by its kind, column and position in a policy; its message may contain values."""
    parts = [type(error).__name__]
    if isinstance(error, ReticentError):
        parts += [f"about column {error.column!r}"] if error.column else []
        parts += [f"at {error.position}"] if error.position else []
    return " ".join(parts)
