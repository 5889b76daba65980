"""What all adversaries achieved against one target: a sequence of findings that shows itself as a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, overload

import polars as pl

from reticent.attacks.adversary import Findings
from reticent.base.cards import Card, CardTable, ShownAsCard, percent, sentence_case, tone_of


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

    @property
    def ok(self) -> bool:
        """An attack that ran is a result, whatever it found: a limit is for the command line and for gates."""
        return True

    def as_dict(self) -> dict[str, Any]:
        """What every adversary achieved, and before publication."""
        return {
            "attacks": [
                {**after.as_dict(), "before": None if before is None else before.as_dict()}
                for before, after in self.pairs
            ]
        }

    def card(self) -> Card:
        """How many adversaries ran and which of them succeed, a row for each, and what each knew and hit."""
        succeeding = [each.adversary for each in self.succeeding]
        compared = any(before is not None for before in self.before)
        rows = []
        for before, after in self.pairs:
            low, high = after.interval or (0.0, 0.0)
            was = [percent(before.share, 1) if before is not None else ""] if compared else []
            anyway = "" if after.baseline is None else percent(after.baseline, 1)
            sure = f"{percent(low, 1)} to {percent(high, 1)}"
            rows.append((after.adversary, *was, percent(after.share, 1), sure, anyway, after.succeeds))
        stood = ("as it stood",) if compared else ()
        heads = ("adversary", *stood, "published", "95 % sure", "anyway", "succeeds")
        return Card(
            "Attack",
            {"adversaries": len(self), "succeed": ", ".join(succeeding) or "none"},
            tone_of(not succeeding),
            [CardTable(heads, rows, "Success of the attacks (internal; do not publish)")],
            notes=["\n".join(_told(before, after, compared)) for before, after in self.pairs] or [_NOBODY],
        )


_NOBODY = "No adversary can run on this: it shows no records that somebody could be looked up in. What is promised rests on how it was made."


def _told(before: Findings | None, after: Findings, compared: bool) -> list[str]:
    """What an adversary knew, whom it hit, and what that means beside those it was compared with."""
    lines = [
        f"{sentence_case(after.adversary)} knows {after.knows}.",
        f"  It hits {after.hits:,} of {after.people:,} {after.unit}. They {after.hit}.",
    ]
    if before is not None:
        lines.append(f"  As it stood: {before.example}")
    lines.append(f"  {'Published: ' if compared else ''}{after.example}")
    if after.baseline is not None:
        lines.append(f"  Beyond what is reached anyway: {after.points} points (95 % sure).")
        if after.baseline_interval is not None:
            lines.append(f"  {_plainly(after)}")
    return lines


def _plainly(found: Findings) -> str:
    """What an adversary reached beyond those it was compared with, out of 1,000."""
    if not found.succeeds:
        return "That is no more than the comparison shows: this adversary learns nothing about single people."
    least, most = (1000 * end for end in found.excess)
    return f"So of every 1,000 {found.unit}, {least:,.0f} to {most:,.0f} are hit because of what was published."


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
