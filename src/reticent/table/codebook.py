"""What a statistics program knows about columns beside their values: titles, labels of values, and codes that stand for a missing value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Code = int | float | str


@dataclass(frozen=True)
class TableCodebook:
    """Of some columns the ``titles`` (variable labels), the ``labels`` of their codes, and how many rows had a code that means ``missing``.

    Labels are in the order of their codes. Codes for missing values are named with their label where they have one: ``"97 (refused)"``.
    """

    titles: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, Mapping[Code, str]] = field(default_factory=dict)
    missing: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    def notes(self) -> tuple[str, ...]:
        """What was read as missing, a sentence for each column."""
        return tuple(_note(column, codes) for column, codes in self.missing.items() if codes)


def _note(column: str, codes: Mapping[str, int]) -> str:
    rows, listed = sum(codes.values()), ", ".join(codes)
    kind = "is a code" if len(codes) == 1 else "are codes"
    return f"Column {column!r}: {listed} {kind} for a missing value in the file; {rows:,} {'row was' if rows == 1 else 'rows were'} read as missing."
