"""Replies to a user. Everything in them is public or was decided to be answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import Any

_SAFE_INTEGER = 2**53
_DIGITS = Context(prec=20, rounding=ROUND_HALF_EVEN)


@dataclass(frozen=True)
class CellAnswer:
    """One aggregate of one cell. ``value`` is None if it was denied, and for an empty selection.

    ``decision`` is the number by which it can be explained, None if no decision was needed (counts are public).
    ``noisy`` means that the value is not exact: the exact one is in the ``interval`` with a probability of at least 95 %.
    """

    label: str
    answered: bool
    rule: str
    reason: str
    size: int
    value: Fraction | None = None
    decision: int | None = None
    noisy: bool = False
    interval: tuple[Fraction, Fraction] | None = None

    def describe(self) -> dict[str, Any]:
        """Return the JSON form: the exact value as an integer or a fraction, and as a decimal."""
        return {
            "label": self.label,
            "answered": self.answered,
            "value": exact_text(self.value),
            "decimal": decimal_text(self.value),
            "noisy": self.noisy,
            "interval": None if self.interval is None else [decimal_text(end) for end in self.interval],
            "size": self.size,
            "rule": self.rule,
            "reason": self.reason,
            "decision": self.decision,
        }


@dataclass(frozen=True)
class Row:
    """The answers for one combination of the GROUP BY columns; a single row without values if there is no GROUP BY."""

    group: Mapping[str, Any]
    answers: tuple[CellAnswer, ...]


@dataclass(frozen=True)
class Reply:
    """The result of a statement. ``question`` is its number, None for a dry run."""

    text: str
    rows: tuple[Row, ...]
    question: int | None = None

    @property
    def ok(self) -> bool:
        """True if nothing was denied."""
        return all(answer.answered for row in self.rows for answer in row.answers)

    def describe(self) -> dict[str, Any]:
        """Return the JSON form."""
        rows = [
            {
                "group": {name: plain(value) for name, value in row.group.items()},
                "answers": [answer.describe() for answer in row.answers],
            }
            for row in self.rows
        ]
        return {"ok": self.ok, "question": self.question, "rows": rows}


def exact_text(value: Fraction | None) -> int | str | None:
    """Return an integer (as text beyond 2^53), or a fraction such as ``"10/19"``."""
    if value is None:
        return None
    return value.numerator if value.denominator == 1 and abs(value) <= _SAFE_INTEGER else str(value)


def decimal_text(value: Fraction | None) -> str | None:
    """Return the value as a decimal: complete if it terminates, otherwise rounded to 20 digits."""
    if value is None:
        return None
    cofactor, decimals = value.denominator, 0
    for prime in (2, 5):
        count = 0
        while cofactor % prime == 0:
            cofactor, count = cofactor // prime, count + 1
        decimals = max(decimals, count)
    if cofactor != 1 or decimals > 40:
        return format(_DIGITS.divide(Decimal(value.numerator), Decimal(value.denominator)), "f")
    digits = str(abs(value.numerator) * 10**decimals // value.denominator).rjust(decimals + 1, "0")
    sign = "-" if value < 0 else ""
    return sign + (f"{digits[:-decimals]}.{digits[-decimals:]}" if decimals else digits)


def plain(value: Any) -> Any:
    """Return a public value in JSON form: numbers and booleans as they are, everything else as text."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return value if abs(value) <= _SAFE_INTEGER else str(value)
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else str(value)
    return str(value)
