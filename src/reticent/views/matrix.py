"""All secrets against all views: a CI check for a repository of view definitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from reticent.base.cards import Card, CardTable, tone_of
from reticent.views.checker import Checker
from reticent.views.queries import Query
from reticent.views.verdict import PRIVATE, Verdict


@dataclass(frozen=True)
class Matrix:
    """A verdict for every secret (row) and view (column)."""

    secrets: tuple[str, ...]
    views: tuple[str, ...]
    verdicts: tuple[tuple[Verdict, ...], ...]

    @classmethod
    def of(cls, checker: Checker, secrets: Sequence[Query], views: Sequence[Query]) -> Matrix:
        """Check every pair; each query's critical rows are computed once."""
        rows = []
        for index, secret in enumerate(secrets):
            if checker.context is not None:
                checker.context.step("checking views", index, len(secrets))
            rows.append(tuple(checker.check(secret, view) for view in views))
        return cls(tuple(_short(query) for query in secrets), tuple(_short(query) for query in views), tuple(rows))

    @property
    def private(self) -> bool:
        """True if every pair is proved private."""
        return all(verdict.private for row in self.verdicts for verdict in row)

    def rows(self) -> list[list[str]]:
        """Return the statuses, one row per secret."""
        return [
            [name, *(verdict.status for verdict in row)] for name, row in zip(self.secrets, self.verdicts, strict=True)
        ]

    def denied(self) -> list[list[str]]:
        """Return view, secret, status and reason of every pair that is not private."""
        return [
            [view, secret, verdict.status, verdict.reason]
            for secret, row in zip(self.secrets, self.verdicts, strict=True)
            for view, verdict in zip(self.views, row, strict=True)
            if not verdict.private
        ]

    @property
    def ok(self) -> bool:
        """True if every view may be granted."""
        return self.private

    def card(self) -> Card:
        """Return the matrix, and why pairs are denied."""
        denied = self.denied()
        return Card(
            f"{len(denied)} pairs are denied." if denied else "Every view is private.",
            tone=tone_of(self.private),
            tables=[
                CardTable(("", *self.views), self.rows(), "Views against secrets"),
                CardTable(("view", "secret", "verdict", "why"), denied, "Denied"),
            ],
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the matrix as plain data."""
        counts = Counter(verdict.status for row in self.verdicts for verdict in row)
        return {
            "secrets": list(self.secrets),
            "views": list(self.views),
            "matrix": {
                secret: {view: verdict.status for view, verdict in zip(self.views, row, strict=True)}
                for secret, row in zip(self.secrets, self.verdicts, strict=True)
            },
            "counts": dict(counts),
            "denied": [
                {"ok": False, **verdict.as_dict(), "secret": secret, "view": view}
                for secret, row in zip(self.secrets, self.verdicts, strict=True)
                for view, verdict in zip(self.views, row, strict=True)
                if not verdict.private
            ],
        }

    def to_markdown(self) -> str:
        """Return the matrix as Markdown, with the reason for each denied pair."""
        lines = ["# Views against secrets", "", f"| | {' | '.join(self.views)} |", "|---" * (len(self.views) + 1) + "|"]
        lines += [f"| {' | '.join(row)} |" for row in self.rows()]
        denied = self.denied()
        lines += ["", f"{len(denied)} of {len(self.secrets) * len(self.views)} pairs are not proved {PRIVATE}.", ""]
        lines += [f"- **{view}** against **{secret}**: {status}. {reason}" for view, secret, status, reason in denied]
        return "\n".join(lines)


def _short(query: Query) -> str:
    return query.name.removeprefix("secret ").removeprefix("view ")
