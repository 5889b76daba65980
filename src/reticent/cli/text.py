"""Values in words, for people."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any


def shown(value: Any) -> str:
    """A measured value: fractions as they are and as a decimal, mappings item by item."""
    if value is None:
        return "-"
    if isinstance(value, Fraction):
        return str(value.numerator) if value.denominator == 1 else f"{value} ({float(value):.4g})"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {shown(item)}" for name, item in value.items())
    return str(value)
