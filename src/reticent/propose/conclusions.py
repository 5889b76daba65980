"""Check whether a proposed release preserves the conclusions of regressions. Typical values are proposed only if it does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from reticent.base.context import Context
from reticent.definitions import Definition, Method
from reticent.errors import Cancelled, ReticentError
from reticent.release import Request, analyst_designs, default_models, judged_draft, method_from
from reticent.table import Table
from reticent.utility import ConclusionChange, changed_conclusions

_NAMED = 3
_MISLEADING = ("separated", "sign")
_INSTEAD = ("drawn", "ranges")
"""Alternatives to misleading typical values, in order of preference."""


@dataclass(frozen=True)
class MethodConclusions:
    """A method, the number of regressions fitted before and after it, and the conclusions that it changes."""

    method: Mapping[str, Any]
    models: int
    changes: tuple[ConclusionChange, ...]
    replaced: bool = False

    @property
    def misleads(self) -> bool:
        """True if a sign is reversed, or an outcome is perfectly separated."""
        return any(change.change in _MISLEADING for change in self.changes)

    def notes(self) -> list[str]:
        """Return notes about regressions for the steward; empty if none could be fitted."""
        if not self.models:
            return []
        fitted = (
            f"{self.models} regression{'s' if self.models > 1 else ''} of sensitive columns fitted before and after"
        )
        conclusion = f"{fitted}: no conclusion changes."
        if self.changes:
            examples = " ".join(change.words for change in self.changes[:_NAMED])
            further = len(self.changes) - _NAMED
            conclusion = f"{fitted}; these conclusions change: {examples}" + (
                f" And {further} more: see preview." if further > 0 else ""
            )
        if not self.replaced:
            return [conclusion]
        return [
            f'Typical values would mislead regressions, so values = "{self.method["values"]}" is proposed instead.',
            conclusion,
        ]


def with_conclusions(table: Table, definition: Definition, method: Method, context: Context) -> MethodConclusions:
    """Return the method with its effect on conclusions. Misleading typical values are replaced by sampled values or
    ranges if these do not mislead.
    """
    measured = _measured(table, definition, method, context)
    if measured.method.get("values") != "typical" or not measured.misleads:
        return measured
    for values in _INSTEAD:
        kept_parameters = {key: value for key, value in measured.method.items() if key in ("effort", "weights")}
        replacement = _measured(
            table, definition, method_from("Mondrian", {**kept_parameters, "split": "loss", "values": values}), context
        )
        if values == _INSTEAD[-1] or not replacement.misleads:
            return replace(replacement, replaced=True)
    return measured


def _measured(table: Table, definition: Definition, method: Method, context: Context) -> MethodConclusions:
    """Return the conclusions changed by a release with this method; none if no release or no regression is possible."""
    context.step("fitting regressions before and after")
    try:
        judged = judged_draft(Request.of(table, definition, method), replace(context, memo={}))
        before, after = analyst_designs(table, judged.side)
        models = default_models(table, before)
        changes = changed_conclusions(models, before, after)
    except Cancelled:
        raise
    except ReticentError:
        return MethodConclusions(method.describe(), 0, ())
    return MethodConclusions(method.describe(), len(models), changes)
