"""Check whether a release has enough utility: a release that satisfies its definition by destroying the table should not look like a success."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from reticent.base.context import Context
from reticent.definitions import Definition, Method, all_of
from reticent.errors import Infeasible, PolicyError
from reticent.release import Cheapest, default_method
from reticent.table import Table

POOR = 0.5
"""Above this loss a release satisfies its definition but has little utility."""

_HELPS = 0.05


@dataclass(frozen=True)
class Remedy:
    """A change that would reduce the loss, as written on the command line or in the policy, and the resulting loss."""

    change: str
    loss: float


@dataclass(frozen=True)
class LowUtility:
    """Why a release is of little use: its loss, the quasi-identifiers that become constant, the cause, and remedies,
    the lowest loss first.

    ``tried`` tells whether remedies were searched.
    """

    loss: float
    lost: tuple[str, ...]
    cause: str
    ways: tuple[Remedy, ...]
    tried: bool = True

    @property
    def words(self) -> list[str]:
        """Return the verdict, one sentence per item."""
        lost_text = f", and {', '.join(self.lost)} lost all detail" if self.lost else ""
        sentences = [
            f"The guarantee holds, but the release is of little use: a loss of {self.loss:.2f}{lost_text}. Cause: {self.cause}."
        ]
        sentences += [f"{remedy.change}: a loss of {remedy.loss:.2f}." for remedy in self.ways]
        if not self.tried:
            return [*sentences, "Run `reticent preview` to see alternatives with less loss."]
        return (
            sentences
            if self.ways
            else [
                *sentences,
                "No weaker definition or other method that was tried loses much less; publish fewer quasi columns.",
            ]
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the verdict as plain data."""
        remedies = [{"change": remedy.change, "loss": remedy.loss} for remedy in self.ways]
        return {"loss": self.loss, "lost": list(self.lost), "cause": self.cause, "ways_out": remedies}


def poor_worth(
    table: Table,
    definition: Definition,
    method: Mapping[str, Any],
    loss: float | None,
    by_column: Mapping[str, float],
    *,
    most_rows: int | None = None,
) -> LowUtility | None:
    """Return why a release with these losses is of little use, and remedies; None if it is useful.

    Drafts are made only if it is not, and only for tables of at most ``most_rows``.
    """
    lost = tuple(name for name, share in by_column.items() if share >= 1)
    if loss is None or (loss <= POOR and not lost):
        return None
    may_try = most_rows is None or table.rows <= most_rows
    remedies = _remedies(table, definition, str(method.get("name")), loss) if may_try else ()
    by_loss = sorted(remedies, key=lambda cause_and_remedy: cause_and_remedy[1].loss)
    most_lossy = max(by_column, key=lambda name: by_column[name], default="")
    cause = next(
        (cause for cause, _ in by_loss), f"the column {most_lossy!r}, together with {len(by_column) - 1} others"
    )
    return LowUtility(loss, lost, cause, ways=tuple(cause_and_remedy for _, cause_and_remedy in by_loss), tried=may_try)


def _remedies(table: Table, definition: Definition, name: str, loss: float) -> Iterator[tuple[str, Remedy]]:
    """Yield remedies that were tried and reduce the loss, each with the cause that it removes."""
    best = default_method(table, definition)
    alternatives: list[tuple[str, str, Definition, Method]] = []
    if name == "Lattice":
        alternatives.append(
            (
                f"the method {name}, which recodes all rows in the same way",
                '[method] name = "Mondrian", values = "ranges"',
                definition,
                best,
            )
        )
    parts = definition.parts()
    for part in parts if len(parts) > 1 else ():
        remaining = all_of(tuple(other_part for other_part in parts if other_part is not part))
        alternatives.append((f"the definition {part}", f"--definition '{remaining}'", remaining, best))
    with_suppression = default_method(table, definition, {"suppression": "0.05"})
    alternatives.append(("a few rows that fit into no group", "--suppression 0.05", definition, with_suppression))
    for cause, change, demanded, method in alternatives:
        try:
            achieved = (
                (method if isinstance(method, Cheapest) else Cheapest((method,)))
                .compared(table, demanded, Context())
                .best.loss
            )
        except (Infeasible, PolicyError):
            continue
        if achieved is not None and achieved <= loss - _HELPS:
            yield cause, Remedy(change, achieved)
