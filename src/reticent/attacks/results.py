"""What all adversaries achieved against one target: a sequence of findings that shows itself as a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, overload

import polars as pl

from reticent.attacks.adversary import Findings
from reticent.base.cards import Card, ShownAsCard, percent


@dataclass(frozen=True, repr=False)
class AttackResults(ShownAsCard, Sequence[Findings]):
    """The findings of every adversary that ran, in the order in which they ran.

    ``before`` has, for each of them, the findings of the same adversary against the original table, or None where the
    original table was not given or there is nothing to compare with. All of it is for the steward.
    """

    findings: tuple[Findings, ...]
    before: tuple[Findings | None, ...]

    @classmethod
    def of_pairs(cls, pairs: Iterable[tuple[Findings | None, Findings]]) -> AttackResults:
        """Results from pairs of findings: before, or None, and after."""
        listed = list(pairs)
        return cls(tuple(after for _, after in listed), tuple(before for before, _ in listed))

    @overload
    def __getitem__(self, index: int) -> Findings: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Findings, ...]: ...
    def __getitem__(self, index: int | slice) -> Findings | tuple[Findings, ...]:
        return self.findings[index]

    def __len__(self) -> int:
        return len(self.findings)

    @property
    def pairs(self) -> list[tuple[Findings | None, Findings]]:
        """The findings before and after, adversary by adversary."""
        return list(zip(self.before, self.findings, strict=True))

    @property
    def succeeding(self) -> tuple[Findings, ...]:
        """The findings of adversaries whom the release helped."""
        return tuple(each for each in self.findings if each.succeeds)

    @property
    def reservations(self) -> tuple[str, ...]:
        """What the headline of a release says of the attacks that succeed."""
        return tuple(each.reservation for each in self.succeeding)

    @property
    def table(self) -> pl.DataFrame:
        """One row an adversary: what it knew, whom it hit, with what certainty, and what it hit before publication."""
        return pl.DataFrame([_row(before, after) for before, after in self.pairs], schema=_SCHEMA)

    def card(self) -> Card:
        """How many adversaries ran and which of them succeed, with a row for each."""
        succeeding = [each.adversary for each in self.succeeding]
        return Card(
            "Attack",
            {"adversaries": len(self), "succeed": ", ".join(succeeding) or "none"},
            good=not succeeding,
            heads=("adversary", "hits", "of", "share", "succeeds"),
            rows=[(each.adversary, each.hits, each.people, percent(each.share, 1), each.succeeds) for each in self],
        )


_SCHEMA: dict[str, Any] = {
    "adversary": pl.String,
    "knows": pl.String,
    "hits": pl.Int64,
    "people": pl.Int64,
    "unit": pl.String,
    "share": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "baseline": pl.Float64,
    "succeeds": pl.Boolean,
    "share_before": pl.Float64,
    "example": pl.String,
}


def _row(before: Findings | None, after: Findings) -> dict[str, Any]:
    low, high = after.interval or (None, None)
    return {
        **{name: getattr(after, name) for name in _SCHEMA if hasattr(after, name)},
        "low": low,
        "high": high,
        "share_before": None if before is None else before.share,
    }
