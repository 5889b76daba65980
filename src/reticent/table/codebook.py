"""Metadata of a source's columns: titles, value labels, missing-value codes, and the assumptions made while reading it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Code = int | float | str


@dataclass(frozen=True)
class TableCodebook:
    """The ``titles`` (variable labels) of columns, the ``labels`` of their codes, and how many rows had a code for
    ``missing``.

    Labels are in the order of their codes. Missing-value codes include their label, if any: ``"97 (refused)"``.
    ``assumed`` are sentences about guesses that may be wrong, such as skipped lines.
    """

    titles: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, Mapping[Code, str]] = field(default_factory=dict)
    missing: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    assumed: tuple[str, ...] = ()

    def notes(self) -> tuple[str, ...]:
        """The assumptions, and what was read as missing, one sentence per column."""
        return (*self.assumed, *(_note(column, codes) for column, codes in self.missing.items() if codes))


def _note(column: str, codes: Mapping[str, int]) -> str:
    rows, listed = sum(codes.values()), ", ".join(codes)
    kind = "is a code" if len(codes) == 1 else "are codes"
    return f"Column {column!r}: {listed} {kind} for a missing value in the file; {rows:,} {'row was' if rows == 1 else 'rows were'} read as missing."
