"""The findings of all adversaries against one target: a sequence that displays as a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, overload

import polars as pl

from reticent.attacks.adversary import Findings
from reticent.base.cards import Card, CardTable, ShownAsCard, percent, sentence_case, tone_of


@dataclass(frozen=True, repr=False)
class AttackResults(ShownAsCard, Sequence[Findings]):
    """The findings of every adversary, in the order in which they ran.

    ``before`` has the findings of the same adversaries against the original table, None if it was not given or there is
    no counterpart. For the steward only.
    """

    findings: tuple[Findings, ...]
    before: tuple[Findings | None, ...]

    @classmethod
    def of_pairs(cls, pairs: Iterable[tuple[Findings | None, Findings]]) -> AttackResults:
        """Build results from pairs of findings: before (or None) and after."""
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
        """The findings before and after, per adversary."""
        return list(zip(self.before, self.findings, strict=True))

    @property
    def succeeding(self) -> tuple[Findings, ...]:
        """The findings of adversaries whom the release helped."""
        return tuple(finding for finding in self.findings if finding.succeeds)

    @property
    def reservations(self) -> tuple[str, ...]:
        """The sentences on successful attacks for the headline of a release."""
        return tuple(finding.reservation for finding in self.succeeding)

    @property
    def table(self) -> pl.DataFrame:
        """One row per adversary: what it knew, whom it hit, the confidence interval, and its hits before publication."""
        return pl.DataFrame([_row(before, after) for before, after in self.pairs], schema=_SCHEMA)

    @property
    def ok(self) -> bool:
        """Always true: an attack that ran is a result, whatever it found. Limits are checked by the command line and by gates."""
        return True

    def as_dict(self) -> dict[str, Any]:
        """Return the findings as plain data, with those before publication."""
        return {
            "attacks": [
                {**after.as_dict(), "before": None if before is None else before.as_dict()}
                for before, after in self.pairs
            ]
        }

    def card(self) -> Card:
        """Return a card: which adversaries ran and which succeed, one row each, with what each knew and hit."""
        succeeding = [findings.adversary for findings in self.succeeding]
        compared = any(before is not None for before in self.before)
        rows = []
        for before, after in self.pairs:
            low, high = after.interval or (0.0, 0.0)
            share_before = [percent(before.share, 1) if before is not None else ""] if compared else []
            baseline = "" if after.baseline is None else percent(after.baseline, 1)
            interval = f"{percent(low, 1)} to {percent(high, 1)}"
            rows.append((after.adversary, *share_before, percent(after.share, 1), interval, baseline, after.succeeds))
        original_heading = ("original",) if compared else ()
        headings = ("adversary", *original_heading, "published", "95 % interval", "anyway", "succeeds")
        return Card(
            "Attack",
            {"adversaries": len(self), "succeed": ", ".join(succeeding) or "none"},
            tone_of(not succeeding),
            [CardTable(headings, rows, "Success of the attacks (internal; do not publish)")],
            notes=["\n".join(_lines(before, after, compared)) for before, after in self.pairs] or [_NOBODY],
        )


_NOBODY = "No attack applies: the release contains no records in which a person could be looked up. Its guarantee follows from how it was made."


def _lines(before: Findings | None, after: Findings, compared: bool) -> list[str]:
    """Return what an adversary knew, whom it hit, and what that means compared with the control."""
    lines = [
        f"{sentence_case(after.adversary)} knows {after.knows}.",
        f"  It hits {after.hits:,} of {after.people:,} {after.unit}. They {after.hit}.",
    ]
    if before is not None:
        lines.append(f"  Original: {before.example}")
    lines.append(f"  {'Published: ' if compared else ''}{after.example}")
    if after.baseline is not None:
        lines.append(f"  In excess of the baseline: {after.points} percentage points (95 % interval).")
        if after.baseline_interval is not None:
            lines.append(f"  {_plainly(after)}")
    return lines


def _plainly(findings: Findings) -> str:
    """Return the excess over the control in words, per 1,000."""
    if not findings.succeeds:
        return "That is no more than in the comparison: this attack learns nothing about individual people."
    lowest, highest = (1000 * bound for bound in findings.excess)
    return f"So of every 1,000 {findings.unit}, {lowest:,.0f} to {highest:,.0f} are hit because of what was published."


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
    """Return the findings as a row of the table of results, with the 95 % interval and the share before publication."""
    low, high = after.interval or (None, None)
    return {
        **{name: getattr(after, name) for name in _SCHEMA if hasattr(after, name)},
        "low": low,
        "high": high,
        "share_before": None if before is None else before.share,
    }
