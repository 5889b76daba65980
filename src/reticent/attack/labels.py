"""What a published label means, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Meaning = Mapping[str, Any]
_SHOWN = 4


def describe(meaning: Meaning) -> str:
    """A label's meaning in words."""
    if "value" in meaning:
        return str(meaning["value"])
    if "values" in meaning:
        listed = [str(value) for value in meaning["values"]]
        shown = ", ".join(listed[:_SHOWN])
        return shown if len(listed) == 1 else f"in {{{shown}{', ...' if len(listed) > _SHOWN else ''}}}"
    if "interval" in meaning:
        low, high = meaning["interval"]
        closed = meaning.get("closed", "left")
        left = "(-inf" if low is None else f"{'[' if closed in ('left', 'both') else '('}{low}"
        return f"in {left}, " + ("inf)" if high is None else f"{high}{']' if closed in ('right', 'both') else ')'}")
    if "prefix" in meaning:
        return str(meaning["prefix"]).ljust(int(meaning["length"]), "*")
    return "missing" if "null" in meaning else "anything"
