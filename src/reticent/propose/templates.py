"""Templates: proposals adapted to a purpose, each with what it does not cover."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil
from typing import Any

from reticent.propose.proposal import ColumnProposal, Proposal

_OLDEST = 89
_PUBLIC_K = 10
_EMA_LIMIT = Fraction(9, 100)
_CMS_CELL = 11
_DATES = "dates finer than a year, or ages over 89"


@dataclass(frozen=True)
class Template:
    """What happens to each column, the minimum group size, what the template leaves open, and required parameters of the method."""

    column: Callable[[ColumnProposal], ColumnProposal]
    k: int
    open: str
    shown: Mapping[str, Any] = field(default_factory=dict)


def templated(proposal: Proposal, name: str | None) -> Proposal:
    """Return the proposal with the named template applied, if any; applying it twice makes no difference."""
    if name is None or proposal.refusal is not None:
        return proposal
    template = TEMPLATES[name]
    definition = tuple(
        {**part_of_definition, "k": max(template.k, part_of_definition["k"])}
        if part_of_definition["name"] == "KAnonymity"
        else part_of_definition
        for part_of_definition in proposal.definition
    )
    columns = tuple(template.column(column) for column in proposal.columns)
    note_of_template = f"Template {name}. {template.open}"
    sensitive = [column.name for column in columns if column.role == "sensitive"]
    return replace(
        proposal,
        columns=columns,
        definition=tuple(
            part_of_definition
            for part_of_definition in definition
            if part_of_definition["name"] == "KAnonymity" or _is_about(part_of_definition, sensitive)
        ),
        notes=(note_of_template, *(note for note in proposal.notes if note != note_of_template)),
    )


def _is_about(definition: Mapping[str, Any], sensitive: Sequence[str]) -> bool:
    """True if the definition is about a sensitive column that is still published."""
    return definition["column"] in sensitive if "column" in definition else bool(sensitive)


def _safe_harbor(column: ColumnProposal) -> ColumnProposal:
    """Drop the eighteen kinds of identifiers, reduce dates to years, and merge ages over 89. Source: [HIPAA], paragraph (b)(2)."""
    kind = column.safe_harbor
    if kind is None or column.role in (None, "identifier"):
        return column
    reason = f"HIPAA safe harbor: {kind}"
    if kind != _DATES:
        return ColumnProposal(column.profile, None, reason)
    if column.profile.type in ("date", "timestamp"):
        years = {"kind": "dates", "levels": ["year"], "min_level": 1}
        return _limited(column, {"kind": "calendar", "unit": "year"}, years, f"{reason}; the year may be published")
    if column.profile.type in ("integer", "number"):
        ages = {
            "kind": "cuts",
            "levels": [list(range(step, _OLDEST + 2, step)) for step in (1, 5, 10, 30)],
            "min_level": 1,
        }
        top = {"kind": "round", "to": 1, "top": _OLDEST + 1}
        return _limited(column, top, ages, f"{reason}; ages of 90 and above are merged")
    return ColumnProposal(column.profile, None, reason)


def _limited(column: ColumnProposal, coarsen: dict[str, Any], hierarchy: dict[str, Any], reason: str) -> ColumnProposal:
    """Return the column never finer than the rule allows: a sensitive one coarsened, a quasi-identifier starting at the
    first level of its hierarchy.
    """
    if column.role == "sensitive":
        return ColumnProposal(column.profile, "sensitive", reason, coarsen=coarsen)
    return ColumnProposal(column.profile, "quasi", reason, hierarchy, len(hierarchy["levels"]) + 2)


def _unchanged(column: ColumnProposal) -> ColumnProposal:
    return column


TEMPLATES: Mapping[str, Template] = {
    "hipaa-safe-harbor": Template(
        _safe_harbor,
        5,
        "The identifiers that 45 CFR 164.514(b)(2) lists are removed, dates become years, ages of 90 and above are merged; in addition, groups have at least 5 people. It does not cover: actual knowledge that a person can be recognised, identifiers that neither names nor values of columns reveal, three-digit ZIP codes (they are removed; the rule allows those with more than 20,000 people), and laws other than HIPAA. It is a hint, not a legal finding.",
    ),
    "public-use": Template(
        _unchanged,
        _PUBLIC_K,
        "For permanent publication to everyone: groups of at least 10. It does not cover: knowledge of others that you are not aware of, other data about the same people, whether publication is lawful or was consented to, and later releases.",
    ),
    "ema-prci": Template(
        _unchanged,
        # The smallest k with 1/k <= 0.09: 1/11 is 0.0909, which is above it. Source: [EMA0070].
        ceil(1 / _EMA_LIMIT),
        "For publication of clinical data: the probability of re-identification is at most 0.09, the threshold of the external guidance on EMA Policy 0070. 1/11 is 0.0909, so groups have at least 12 people, not 11. It does not cover: rare diseases and small trials, free text and documents, what else is known about participants, and the "
        "anonymisation report (`reticent dossier --for ema-prci` gathers its evidence).",
    ),
    "cms-11": Template(
        _unchanged,
        _CMS_CELL,
        "For data about Medicare and Medicaid beneficiaries: no group of fewer than 11, following the minimum cell size in CMS data use agreements. It does not cover: the agreement itself, other tables from which a small cell can be computed, and percentages that reveal one.",
    ),
    "research": Template(
        _unchanged,
        5,
        "For researchers who signed an agreement: groups of at least 5, one typical value per group in each column's own type, so that any statistics program can open the table. It does not cover: the agreement, who gets the files and for how long, whether results are checked before publication. Do not put this release on the web.",
        {"values": "typical"},
    ),
}
"""The templates by name."""
