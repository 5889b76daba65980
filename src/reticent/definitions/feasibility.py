"""The feasibility precheck: can any generalization of these rows pass?"""

from __future__ import annotations

from fractions import Fraction

from reticent.core import Groups
from reticent.definitions.definition import Assessment, GroupDefinition
from reticent.definitions.number_text import measured
from reticent.errors import Infeasible


def feasibility(groups: Groups, definition: GroupDefinition) -> Assessment | None:
    """The assessment of all rows in a single group, an upper bound for every generalization.

    None if the definition is not monotone, so that the bound does not hold. Suppression can exceed it: without the rows
    of its worst groups a table may pass although the whole table fails.
    """
    if not definition.monotone:
        return None
    return definition.assess(groups.whole())


def require_feasible(groups: Groups, definition: GroupDefinition) -> None:
    """Raise :class:`Infeasible` with the whole table's figures if no generalization can pass without suppression."""
    verdict = feasibility(groups, definition)
    if verdict is None or verdict.holds:
        return
    reasons = " ".join(_reason(part) for part in _failing_parts(verdict))
    raise Infeasible(
        f"No generalization of this table satisfies {definition}: even all {int(groups.sizes.sum())} rows in one group do not. {reasons} "
        "Weaken the definition, or allow suppression."
    )


def _failing_parts(assessment: Assessment) -> list[Assessment]:
    if not assessment.parts:
        return [] if assessment.holds else [assessment]
    return [failing for part in assessment.parts for failing in _failing_parts(part)]


def _reason(assessment: Assessment) -> str:
    """Why one definition fails on the whole table, and which parameters would pass."""
    figures = assessment.diagnostics
    assert assessment.witness is not None
    text = assessment.witness.text
    if "effective_l" not in figures:
        return text
    order, ratio = max(figures["infimum_c"].items())
    needs = f"c > {measured(ratio)}" if isinstance(ratio, Fraction) else "more different values"
    return (
        f"{text} The whole table has {figures['distinct']} different values, an effective l (exp of the entropy) of "
        f"{figures['effective_l']:.6g}, and would need {needs} for recursive diversity with l = {order}."
    )
