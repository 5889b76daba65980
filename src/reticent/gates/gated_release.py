"""The target of a gate: a verified saved release, or the preview of a policy, with the same figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from reticent.attacks import Findings, attack
from reticent.base.context import Context
from reticent.errors import DataError, PolicyError
from reticent.policy import Policy, preview_policy
from reticent.release import PublicSide, Verification, open_public, verify
from reticent.reports import MechanismPreview, PrivateFacts


@dataclass(frozen=True)
class GateSubject:
    """A release as the public sees it, and the steward's knowledge about it; None or empty is unknown.

    ``unnamed`` are columns of the source to which the policy assigns no role.
    """

    kind: Literal["policy", "release"]
    side: PublicSide | None
    attacked: Callable[[], Sequence[Findings]] = field(repr=False)
    verification: Verification | None = None
    signed_by: str | None = None
    loss: float | None = None
    loss_by_column: Mapping[str, float] = field(default_factory=dict)
    suppressed: Fraction | None = None
    unnamed: tuple[str, ...] | None = None


def released(path: Path, keys: Sequence[str], population: Any, raw: Path | None, context: Context) -> GateSubject:
    """Return a saved release: verified from its public side, with the figures of its private side if present.

    Of several ``keys``, ``signed_by`` is the one that signed it. Adversaries look up the people of ``raw``, the policy
    of the original table.
    """
    signed_by, verification = None, None
    for key in keys:
        tried = verify(path, population=population, key=key, context=context)
        if any(check.name == "origin" and check.status == "holds" for check in tried.checks):
            signed_by, verification = key, tried
            break
    verification = verification or verify(path, population=population, context=context)
    try:
        side = open_public(path)
    except DataError:
        side = None

    def attacked() -> Sequence[Findings]:
        table = Policy.read(raw).table() if raw is not None else None
        return attack(path, raw=table, context=context).findings

    subject = GateSubject("release", side, attacked, verification, signed_by)
    if side is None or not (path / "private").is_dir():
        return subject
    facts = PrivateFacts.read(path)
    rows = side.height + facts.suppressed
    suppressed = Fraction(facts.suppressed, rows) if rows else Fraction(0)
    return GateSubject(
        "release", side, attacked, verification, signed_by, loss=facts.utility.get("loss"), suppressed=suppressed
    )


def planned(path: Path, context: Context) -> GateSubject:
    """Return what a policy would publish; nothing is recorded. Adversaries look up the people of its own table."""
    policy = Policy.read(path)
    preview = preview_policy(policy, context=context)
    if isinstance(preview, MechanismPreview):
        raise PolicyError(
            f"{preview.method.get('name')} publishes random samples, and its preview samples nothing to check. Gate the release instead: reticent gate DIR",
            setting=("method", "name"),
        )
    rows = preview.rows + preview.suppressed
    return GateSubject(
        "policy",
        preview.side,
        lambda: [after for _, after in preview.attacks],
        loss=preview.utility.get("loss"),
        loss_by_column=preview.loss_by_column,
        suppressed=Fraction(preview.suppressed, rows) if rows else Fraction(0),
        unnamed=tuple(preview.table.unpublished),
    )
