"""The result of one check: PRIVATE, DISCLOSES or UNKNOWN, with its reasons."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from reticent.base.cards import Card, tone_of
from reticent.errors import PolicyError

if TYPE_CHECKING:
    from reticent.views.witness import DatabaseWitness

PRIVATE, DISCLOSES, UNKNOWN = "PRIVATE", "DISCLOSES", "UNKNOWN"


@dataclass(frozen=True)
class Verdict:
    """Whether seeing the view's answer changes any adversary's belief about the secret's answer. Source: [Miklau2004].

    *Guarantee*: PRIVATE holds for every prior in which rows are independent of each other, given the constraints of the
    schema (keys, foreign keys, CHECK), also in combination with other private views (collusion resistant, stateless).
    DISCLOSES has a witness that was replayed. UNKNOWN proves nothing and must be treated as a denial.
    """

    status: str
    secret: str
    view: str
    reason: str
    relation: str | None = None
    pattern: str | None = None
    view_pattern: str | None = None
    witness: DatabaseWitness | None = None
    query_class: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    bound: str = ""
    assumptions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    nodes: int = 0
    each: tuple[Verdict, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if self.status not in (PRIVATE, DISCLOSES, UNKNOWN):
            raise PolicyError(f"A verdict is PRIVATE, DISCLOSES or UNKNOWN, not {self.status!r}.")

    @property
    def private(self) -> bool:
        """True if the view may be granted: only a proof counts."""
        return self.status == PRIVATE

    @property
    def ok(self) -> bool:
        """True if the view may be granted."""
        return self.private

    def card(self) -> Card:
        """Return the verdict with its reason, the rows concerned, and its assumptions."""
        sentences = [f"Rows: {self.pattern}"] if self.pattern else []
        if self.witness is not None:
            witness = self.witness
            rows = [(witness.relation, witness.row), (witness.view_relation, witness.view_row)]
            secret_row, view_row = (f"{name}({', '.join(map(str, row))})" for name, row in rows)
            what = (
                "both answers" if secret_row == view_row else f"the secret's answer, adding {view_row} that of the view"
            )
            sentences.append(f"Witness ({witness.engine}): adding {secret_row} changes {what}.")
        sentences.append(f"Class: {', '.join(self.query_class[0])} / {', '.join(self.query_class[1])}")
        sentences.append(f"Bound: {self.bound}")
        remarks = [f"- {line}" for line in (*self.assumptions, *self.warnings)]
        return Card(f"{self.status}: {self.reason}", tone=tone_of(self.private), sentences=[*sentences, *remarks])

    def as_dict(self) -> dict[str, Any]:
        """Return the verdict as plain data."""
        payload: dict[str, Any] = {
            "status": self.status,
            "secret": self.secret,
            "view": self.view,
            "reason": self.reason,
            "relation": self.relation,
            "pattern": self.pattern,
            "view_pattern": self.view_pattern,
            "witness": self.witness.as_dict() if self.witness else None,
            "class": {"secret": list(self.query_class[0]), "view": list(self.query_class[1])},
            "bound": self.bound,
            "assumptions": list(self.assumptions),
            "warnings": list(self.warnings),
            "nodes": self.nodes,
        }
        if self.each:
            payload["each"] = [{"ok": verdict.ok, **verdict.as_dict()} for verdict in self.each]
        return payload


def jointly(verdicts: tuple[Verdict, ...]) -> Verdict:
    """Return the verdict on several views seen together: private iff each one is, because private views stay private in
    combination.
    """
    order = (DISCLOSES, UNKNOWN, PRIVATE)
    worst = min(verdicts, key=lambda verdict: order.index(verdict.status))
    if len(verdicts) == 1:
        return worst
    return Verdict(
        worst.status,
        worst.secret,
        worst.view if worst.status != PRIVATE else ", ".join(verdict.view for verdict in verdicts),
        worst.reason,
        worst.relation,
        worst.pattern,
        worst.view_pattern,
        worst.witness,
        worst.query_class,
        worst.bound,
        tuple(dict.fromkeys(item for verdict in verdicts for item in verdict.assumptions)),
        tuple(dict.fromkeys(item for verdict in verdicts for item in verdict.warnings)),
        sum(verdict.nodes for verdict in verdicts),
        verdicts,
    )
