"""The only place that makes a verdict for a release: publish, verify, assess, preview and report call it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any, cast

from reticent.core import Columns, Evidence, Kind, SensitiveDomain
from reticent.definitions.definition import (
    Assessment,
    Definition,
    GroupDefinition,
    HistoryDefinition,
    JudgesPatterns,
    PlanDefinition,
    Witness,
    all_of,
    together,
)
from reticent.errors import PolicyError

SUPPRESSED_RECORDS = "the suppressed records"
_JUDGED: dict[Kind, str] = {
    "groups": "groups of rows",
    "plan": "how a release is made",
    "history": "a series of releases",
}


def judge(definition: Definition, evidence: Evidence) -> tuple[Assessment, ...]:
    """Judge every part of a definition on every piece of evidence of its kind; the release is private if all of them hold.

    Raises :class:`PolicyError` for a part without evidence of its kind, and for a definition of groups on overlapping
    groups for which it is not proved: nothing is assumed to hold because it could not be judged.
    """
    return tuple(assessment for part in definition.parts() for assessment in _judged(part, evidence))


def _judged(part: Definition, evidence: Evidence) -> Iterator[Assessment]:
    """Yield the assessments of one part of a definition on the evidence of its kind; raises if the evidence lacks that kind."""
    if isinstance(part, GroupDefinition):
        yield from _on_groups(part, evidence)
    elif isinstance(part, PlanDefinition):
        if evidence.plan is None:
            raise PolicyError(_lacking(part, evidence))
        lacks = part.fits(evidence.plan)
        if lacks is not None:
            raise PolicyError(lacks)
        yield part.assess(evidence.plan)
    elif isinstance(part, HistoryDefinition):
        if evidence.history is None:
            raise PolicyError(_lacking(part, evidence))
        yield part.assess(evidence.history)
    else:
        raise PolicyError(f"{part.name} judges neither groups, nor a plan, nor a history.")


def _on_groups(part: GroupDefinition, evidence: Evidence) -> Iterator[Assessment]:
    """Yield the assessments of a group definition: on patterns, on the groups of every set of columns, and on suppressed records."""
    if evidence.alike is not None and part.hides_identity:
        yield from _on_groups(part, evidence.alike)
        return
    if not evidence.groups and evidence.patterns is None:
        raise PolicyError(_lacking(part, evidence))
    if evidence.patterns is not None:
        if not isinstance(part, JudgesPatterns):
            raise PolicyError(
                f"{part.name} is not proven for rows with wildcards, whose groups overlap. Publish suppressed cells as a symbol of their own, "
                "so rows with equal labels form a group."
            )
        yield part.assess_patterns(evidence.patterns)
    if part.quasi is not None and part.quasi not in evidence.named:
        raise PolicyError(
            f"{part} assumes an adversary who knows {', '.join(part.quasi)}; these are not quasi columns of this table."
        )
    groups_by_columns = evidence.groups if part.quasi is None else {part.quasi: evidence.named[part.quasi]}
    for columns, groups in groups_by_columns.items():
        yield replace(part.assess(groups), about=", ".join(columns))
    for column, suppressed in evidence.remainder.items():
        requirement = about_column(part, column)
        if requirement is None:
            continue
        if not tells_about(requirement, evidence.published.domain):
            raise PolicyError(
                f"{part.name} cannot be judged for the suppressed rows, which the published histogram of {column!r} includes."
            )
        yield replace(requirement.assess(suppressed), definition=part, about=SUPPRESSED_RECORDS)


def about_column(definition: GroupDefinition, column: str) -> GroupDefinition | None:
    """The requirements of a definition if only one sensitive column's histogram is known; None if it has none."""
    parts = (part for part in definition.in_each_group().parts() if not part.needs_raw)
    requirements = tuple(
        part for part in parts if not part.needs_sensitive or getattr(part, "column", None) in (None, column)
    )
    return all_of(requirements) if requirements else None


def tells_about(definition: GroupDefinition, domain: SensitiveDomain) -> bool:
    """True if a definition can be judged on suppressed records, of which only one histogram per sensitive column is known.

    One histogram per column suffices for a definition on one column: an adversary who knows only these considers all
    joint assignments equally likely, so one value of a person reveals nothing about another.
    """

    def told(part: GroupDefinition) -> bool:
        is_independent = len(domain.columns) <= 1 or not part.needs_sensitive or hasattr(part, "column")
        return part.local and is_independent and part.shown_by_files and not part.needs_population

    return all(told(part) for part in definition.in_each_group().parts() if not part.needs_raw)


def by_set(definition: GroupDefinition, sets: Sequence[Columns]) -> list[tuple[Columns, GroupDefinition]]:
    """The requirements per known set of columns: for each of ``sets`` the parts that name no columns, and for each set
    named by parts, these parts.
    """
    parts = definition.parts()
    shared = tuple(part for part in parts if part.quasi is None)
    demands = [(columns, all_of(shared)) for columns in sets] if shared else []
    for named in own_sets(definition):
        demands.append((named, all_of(tuple(part for part in parts if part.quasi == named))))
    return demands


def against_all(definition: GroupDefinition) -> GroupDefinition:
    """Return the definition without column names in its parts: then they are about an adversary who knows all columns,
    which implies the guarantee against one who knows some.
    """
    parts = definition.parts()
    if all(part.quasi is None for part in parts):
        return definition
    unnamed: tuple[GroupDefinition, ...] = tuple(
        part if part.quasi is None else replace(cast(Any, part), quasi=None) for part in parts
    )
    return all_of(unnamed)


def own_sets(definition: Definition) -> tuple[Columns, ...]:
    """The sets of quasi columns that parts of a definition name."""
    named = (part.quasi for part in definition.parts() if isinstance(part, GroupDefinition))
    return tuple(dict.fromkeys(columns for columns in named if columns is not None))


def single_demands(definition: Definition) -> Iterator[Definition]:
    """Yield the simple definitions that a definition consists of: of a definition of groups what it demands of each group by itself (also where that is a parameter, as in ``AnyColumns``), other definitions as they are.

    Parts that judge the raw rows are not among them: they demand nothing of a group.
    """
    for part in definition.parts():
        if not isinstance(part, GroupDefinition):
            yield part
        elif not part.needs_raw:
            yield from part.in_each_group().parts()


def columns_compared(definition: Definition, sensitive: Sequence[str]) -> tuple[str, ...]:
    """The sensitive columns whose distribution in the whole table is used by some part of the definition."""
    names: dict[str, None] = {}
    for part in single_demands(definition):
        if part.needs_reference:
            chosen = getattr(part, "column", None)
            names.update(dict.fromkeys([chosen] if chosen is not None else sensitive))
    return tuple(names)


def named_values(definition: Definition) -> Iterator[str | None]:
    """The values, as text, that a definition names in its parameters; None is the missing value."""
    for part in single_demands(definition):
        yield from _listed(list(part.parameters().values()))


def _listed(parameters: Sequence[Any]) -> Iterator[str | None]:
    """Flatten the values in (nested) lists of parameters."""
    for item in parameters:
        if isinstance(item, list):
            yield from (value if value is None else str(value) for value in item if not isinstance(value, list))
            yield from _listed(item)


def _lacking(part: Definition, evidence: Evidence) -> str:
    """Return the message for a definition whose kind of evidence is missing."""
    has: dict[Kind, bool] = {
        "groups": bool(evidence.groups) or evidence.patterns is not None,
        "plan": evidence.plan is not None,
        "history": evidence.history is not None,
    }
    return _other_kind(part, [kind for kind, is_available in has.items() if is_available])


def _other_kind(part: Definition, kinds: Collection[Kind]) -> str:
    others = " or ".join(_JUDGED[kind] for kind in _JUDGED if kind in kinds)
    return f"{part.name} judges {_JUDGED[part.kind]}{f', not {others}' if others else ''}. Publish with {part.kept_by}."


def verdict(definition: Definition, assessments: Sequence[Assessment]) -> Assessment:
    """Combine the assessments of :func:`judge` into one.

    With several pieces of evidence, ``value`` has the achieved value of each and ``parts`` their assessments; the
    witness names the adversary. Suppressed records are mentioned only if they fail.
    """
    by_evidence: dict[str, list[Assessment]] = {}
    if len({assessment.about for assessment in assessments} - {SUPPRESSED_RECORDS}) > 1 and len(assessments) == len(
        definition.parts()
    ):
        # One set of columns, and parts that name others: one assessment per part.
        return together(definition, tuple(assessments))
    for assessment in assessments:
        by_evidence.setdefault(assessment.about, []).append(assessment)
    answers = {about: _together(definition, parts, about) for about, parts in by_evidence.items()}
    if len(answers) > 1 and SUPPRESSED_RECORDS in answers and answers[SUPPRESSED_RECORDS].holds:
        del answers[SUPPRESSED_RECORDS]
    if len(answers) == 1:
        return next(iter(answers.values()))
    witnesses = [_to_whom(answer.witness, about) for about, answer in answers.items() if answer.witness is not None]
    return Assessment(
        definition,
        not witnesses,
        {about: answer.value for about, answer in answers.items()},
        witnesses[0] if witnesses else None,
        parts=tuple(answers.values()),
    )


def _together(definition: Definition, parts: Sequence[Assessment], about: str) -> Assessment:
    """Return the assessments of all parts about one piece of evidence as one."""
    if len(definition.parts()) == 1:
        # Suppressed records have one histogram per sensitive column, and each must pass.
        return next((part for part in parts if not part.holds), parts[0])
    return replace(together(definition, tuple(parts)), about=about)


def _to_whom(witness: Witness, about: str) -> Witness:
    prefix = f"About {SUPPRESSED_RECORDS}" if about == SUPPRESSED_RECORDS else f"For an adversary who knows {about}"
    return replace(witness, text=f"{prefix}: {witness.text}")


def of_groups(definition: Definition, asked_by: str) -> GroupDefinition:
    """The definition, if it judges groups. Raises naming ``asked_by`` otherwise."""
    if not isinstance(definition, GroupDefinition):
        raise PolicyError(
            unkept(asked_by, frozenset[Kind]({"groups"}), definition) or f"{asked_by} needs a definition of groups."
        )
    return definition


def unkept(method: str, keeps: Collection[Kind], definition: Definition) -> str | None:
    """Why a method that satisfies some kinds of definitions cannot satisfy this one, or None."""
    wrong = next((part for part in definition.parts() if part.kind not in keeps), None)
    return None if wrong is None else f"{_other_kind(wrong, keeps)} {method} cannot satisfy it."
