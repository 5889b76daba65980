"""Preview what a policy would publish, and the cost of other methods; nothing is recorded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from reticent.base.context import Context
from reticent.definitions import Definition
from reticent.policy.expressions import definition_from_text
from reticent.policy.policy import Policy
from reticent.registry import METHODS, load

if TYPE_CHECKING:
    from reticent.reports import MechanismPreview, Preview, PreviewComparison


def preview_policy(
    policy: Policy,
    *,
    definition: str | None = None,
    engine: str | None = None,
    method: Mapping[str, Any] | None = None,
    context: Context | None = None,
) -> Preview | MechanismPreview:
    """Preview the policy. Each argument overrides the policy's setting; None keeps it."""
    from reticent.reports import preview

    replaced = {name: value for name, value in (method or {}).items() if value is not None}
    chosen = _definition(policy, definition)
    policy.named_method(**replaced)  # errors in it are reported before any row is read
    table = policy.table(engine=cast(Any, engine), context=context)
    chosen_method = policy.method(table, chosen, **replaced)
    with policy.hinting("hierarchies", "declared", "roles", *([] if replaced else ["method"])):
        return preview(table, chosen, chosen_method, models=policy.sections.analysis.models, context=context)


def compare_policy(
    policy: Policy,
    *,
    definition: str | None = None,
    engine: str | None = None,
    attacks: bool = True,
    context: Context | None = None,
) -> PreviewComparison:
    """Compare the policy's method with every other method that needs no parameters and satisfies the definition."""
    from reticent.reports import compare

    chosen = _definition(policy, definition)
    table = policy.table(engine=cast(Any, engine), context=context)
    policy_method = policy.method(table, chosen)
    other_methods = [_plain(name) for name in METHODS if name != type(policy_method).__name__]
    comparable = [
        policy_method,
        *(candidate for candidate in other_methods if candidate is not None and _keeps(candidate, chosen)),
    ]
    return compare(table, [chosen], comparable, attacks=attacks, context=context)


def _definition(policy: Policy, text: str | None) -> Definition:
    return definition_from_text(text) if text is not None else policy.definition


def _plain(name: str) -> Any:
    """Return the method with its defaults; None if it has required parameters."""
    try:
        return load("method", name)()
    except TypeError:
        return None


def _keeps(method: Any, definition: Definition) -> bool:
    return all(part.kind in method.keeps for part in definition.parts())
