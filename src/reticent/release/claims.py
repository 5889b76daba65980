"""Claims: definitions as a certificate lists them, judged again on the public tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, NamedTuple

import polars as pl

from reticent.base.context import Context
from reticent.definitions import (
    NOT_WITH_SETS,
    SUPPRESSED_RECORDS,
    Definition,
    GroupDefinition,
    HistoryDefinition,
    columns_compared,
    definition_from,
    judge,
    names,
    verdict,
)
from reticent.errors import DataError, ReticentError, did_you_mean
from reticent.release.format import EvidenceRequest
from reticent.release.joint_claims import Promised
from reticent.release.public import PublicSide
from reticent.release.reference_histogram import ReferenceColumn, declared_reference
from reticent.release.statements import covers, scope_of

Status = Literal["holds", "fails", "not re-checked"]
_LARGEST_DENOMINATOR = 1_000_000


class Check(NamedTuple):
    """One check with its outcome and the reason in a sentence. ``claim``: the check is of a claim, worded as ``sentence``.

    A claim that the files show only in part gives two checks: the part, and the whole, which was not re-checked.
    ``promised`` is the content of the sentence if it covers a whole claim.
    """

    name: str
    status: Status
    detail: str
    claim: bool = False
    sentence: str = ""
    promised: Promised | None = None


@dataclass(frozen=True)
class Claim:
    """A definition claimed by a certificate; None if this version does not know it."""

    text: str
    definition: Definition | None


def read_claims(certificate: Mapping[str, Any]) -> list[Claim]:
    """Parse the claims of a certificate; a malformed claim raises a :class:`DataError`."""
    listed = certificate.get("claims")
    if not isinstance(listed, list) or not listed:
        raise DataError("certificate.json makes no claims.")
    known = names()
    claims = []
    for number, entry in enumerate(listed, start=1):
        if not isinstance(entry, Mapping) or not isinstance(entry.get("parameters"), Mapping):
            raise DataError(f"certificate.json: claim {number} is not a definition with parameters.")
        name = str(entry.get("definition"))
        if name not in known:
            claims.append(Claim(name, None))
            continue
        try:
            definition = definition_from(name, dict(entry["parameters"]))
        except (ReticentError, TypeError, ValueError, AttributeError) as error:
            raise DataError(f"certificate.json, claim {number}: {error}") from None
        claims.append(Claim(str(definition), definition))
    return claims


def check_claims(
    side: PublicSide, people: pl.DataFrame | None, earlier: tuple[PublicSide, ...] | None, context: Context
) -> Iterator[Check]:
    """Judge every claim on the groups in the public tables, for each set of columns that an adversary may know.

    Not re-checked are claims that compare with a population if none is given, claims about a series without the
    ``earlier`` releases, and all claims after the deadline of the ``context``.
    """
    yield from _check_links(side)
    claims, reference, is_reference_valid = read_claims(side.certificate), declared_reference(side), True
    scope = scope_of(side.manifest)
    linked = side.form.judges_links and side.manifest.named("pseudonym")
    people_shown = side.manifest.unit == "row" or bool(linked)
    if reference:
        reference_check = _check_reference(side, reference)
        is_reference_valid = reference_check.status == "holds"
        yield reference_check
    for number, claim in enumerate(claims):
        context.step("judging claims", number, len(claims), claim.text)
        definition, name = claim.definition, f"claim {claim.text}"
        if definition is None:
            unknown = "This version of Reticent does not know the definition."
            yield Check(name, "not re-checked", unknown, claim=True)
            continue
        status: Status = "not re-checked"
        if context.late:
            detail = "The time limit was reached."
        elif definition.needs_reference and not is_reference_valid:
            detail = "It compares with the whole table's histogram, but the certificate declares another one."
        else:
            status, detail = _judged(
                EvidenceRequest(definition, reference, people, naming=(definition,), earlier=earlier), side
            )
        by_rows = status != "not re-checked" and not people_shown and definition.counts_people
        # Report only what was recomputed: the files show records, not people.
        claim_scope = replace(scope, unit="record") if by_rows else scope
        sentence = covers(definition, claim_scope, side.certificate.get("reference"))
        name = f"{name}, counting rows" if by_rows else name
        shown_part = (
            definition.shown_part() if isinstance(definition, HistoryDefinition) and status == "holds" else None
        )
        promised = Promised(definition, claim_scope, side.certificate.get("reference")) if shown_part is None else None
        yield Check(name, status, detail, True, sentence if shown_part is None else shown_part.shown, promised)
        if shown_part is not None:
            yield Check(f"{name}, all of it", "not re-checked", shown_part.hidden, sentence=sentence)
    attested = side.form.attested(side)
    if attested:
        yield Check("mechanism", "not re-checked", attested)
    if not people_shown:
        yield Check("people", "not re-checked", "The published files show rows, not how many people they are about.")


def _check_links(side: PublicSide) -> Iterator[Check]:
    """Check that repeated pseudonyms do not link rows if every row counts as a person: the linked rows were not judged together."""
    for column in side.manifest.named("pseudonym"):
        rows = next(rows for rows in side.rows.values() if column in rows.schema)
        repeated = rows.height - len(rows.counted([column])[1])
        if repeated and side.manifest.unit == "row":
            text = f"It repeats, and so links rows of one person ({repeated:,} more rows than pseudonyms), but every row was counted as a different person."
            yield Check(f"pseudonym {column}", "fails", text)
        elif repeated and not side.form.judges_links:
            yield Check(
                f"pseudonym {column}",
                "fails",
                "It repeats, and so links rows of one person, which were judged separately.",
            )
        elif repeated:
            text = "It links the rows of a person, and all people of a group show the same sequence of labels."
            yield Check(f"pseudonym {column}", "holds", text)
        else:
            yield Check(f"pseudonym {column}", "holds", "It never repeats: no rows are linked by it.")


def _judged(request: EvidenceRequest, side: PublicSide) -> tuple[Status, str]:
    """Judge one claim on the published files: its status, and the reason or the values achieved.

    A claim that the files cannot show is "not re-checked", with the reason; one that the format refuses fails.
    """
    definition = request.definition
    refusal = side.form.refusal(definition)
    if refusal is not None:
        return "fails", refusal
    if side.manifest.quasi_sets is not None and any(
        isinstance(part, GroupDefinition) and part.own_family for part in definition.parts()
    ):
        return "fails", f"{definition} {NOT_WITH_SETS}"
    if not definition.shown_by_files:
        return "not re-checked", "It depends on the people's own requests, which are not published."
    if isinstance(definition, HistoryDefinition) and request.earlier is None and not definition.judged_alone:
        return "not re-checked", "It is about a series of releases. Verify all of its folders together, first to last."
    unfit = _unfit(request.people, side.manifest.named("quasi")) if definition.needs_population else None
    if unfit is not None:
        return "not re-checked", unfit
    if side.manifest.unit != "row" and definition.counts_people and definition.needs_population:
        return "not re-checked", "It compares people, but the published files show rows."
    compared = columns_compared(definition, side.manifest.named("sensitive"))
    missing = [column for column in compared if column not in request.reference]
    if missing:
        return "fails", f"The histogram of {missing[0]!r}, with which it compares, was not published."
    try:
        evidence = side.form.evidence(side, request)
        missing_evidence = definition.not_shown(evidence) if isinstance(definition, GroupDefinition) else None
        if missing_evidence is not None:
            return "not re-checked", missing_evidence
        judgements = judge(definition, evidence)
    except ReticentError as error:
        return "fails", str(error)
    assessment = verdict(definition, judgements)
    if not assessment.holds:
        return "fails", assessment.witness.text if assessment.witness is not None else "It does not hold."
    values = dict.fromkeys(_shown(judgement.value) for judgement in judgements if judgement.about != SUPPRESSED_RECORDS)
    source = "plan" if definition.kind == "plan" else "rows"
    return "holds", f"Recomputed from the published {source}; achieved: {'; '.join(values)}."


def _unfit(people: pl.DataFrame | None, quasi: Sequence[str]) -> str | None:
    """Return why a population cannot be used for comparison, or None; that is not a fault of the release."""
    if people is None:
        return "It compares with a population, and none was given."
    for name in quasi:
        if name not in people.columns:
            return f"The population has no column {name!r}.{did_you_mean(name, people.columns)}"
        if people[name].null_count():
            return f"The population has missing values in column {name!r}: such people fit no group."
    return None


def _check_reference(side: PublicSide, reference: Mapping[str, ReferenceColumn]) -> Check:
    """Check that the histogram contains every published value at least as often, and that all columns count the same number of rows."""
    try:
        suppressed_counts = {int(histogram.unpublished(side.groups).sum()) for histogram in reference.values()}
    except DataError as error:
        return Check("reference", "fails", str(error))
    if len(suppressed_counts) > 1:
        return Check("reference", "fails", "The histograms count different numbers of rows.")
    if {histogram.of for histogram in reference.values()} == {"published rows"}:
        return Check(
            "reference", "holds", "The published rows are compared with themselves: nothing is disclosed about others."
        )
    return Check("reference", "holds", "The whole table's histogram, as declared, can contain the published rows.")


def _shown(value: Any) -> str:
    """Format a figure; long fractions are rounded."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_shown(item)}" for name, item in value.items())
    long = isinstance(value, Fraction) and value.denominator > _LARGEST_DENOMINATOR
    return f"{float(value):.6g}" if isinstance(value, float) or long else str(value)
