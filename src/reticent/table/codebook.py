"""What a source says about its columns beside their values: titles, labels of values, codes for missing values, and what was assumed in reading it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Code = int | float | str


@dataclass(frozen=True)
class TableCodebook:
    """Of some columns the ``titles`` (variable labels), the ``labels`` of their codes, and how many rows had a code that means ``missing``.

    Labels are in the order of their codes. Codes for missing values are named with their label where they have one: ``"97 (refused)"``. ``assumed`` are
    sentences about what was found out and may be wrong, such as lines that were skipped.
    """

    titles: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, Mapping[Code, str]] = field(default_factory=dict)
    missing: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    assumed: tuple[str, ...] = ()

    def notes(self) -> tuple[str, ...]:
        """What was assumed, and what was read as missing, a sentence for each column."""
        return (*self.assumed, *(_note(column, codes) for column, codes in self.missing.items() if codes))


def _note(column: str, codes: Mapping[str, int]) -> str:
    rows, listed = sum(codes.values()), ", ".join(codes)
    kind = "is a code" if len(codes) == 1 else "are codes"
    return f"Column {column!r}: {listed} {kind} for a missing value in the file; {rows:,} {'row was' if rows == 1 else 'rows were'} read as missing."
