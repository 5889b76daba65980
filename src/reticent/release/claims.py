"""Claims: definitions as a certificate writes them, judged again on what the public tables show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Literal, NamedTuple

import polars as pl

from reticent.data import Evidence, Groups, SensitiveColumn
from reticent.data.leaves import as_type
from reticent.definitions import Definition, judge
from reticent.definitions.catalogue import definition_from, names
from reticent.errors import DataError, PolicyError, ReticentError
from reticent.release.format import GroupFormat, Judged
from reticent.release.population import people_of, with_population
from reticent.release.public import PublicSide
from reticent.release.reference import ReferenceColumn, columns_compared, read_reference
from reticent.release.stored import counted

Status = Literal["holds", "fails", "not re-checked"]


class Check(NamedTuple):
    """One thing that was checked, how it came out, and a sentence that says why; ``claim``: it is what the release promises."""

    name: str
    status: Status
    detail: str
    claim: bool = False


@dataclass(frozen=True)
class Claim:
    """A definition that a certificate claims; None where this version does not know it."""

    text: str
    definition: Definition | None


def read_claims(certificate: Mapping[str, Any]) -> list[Claim]:
    """The claims of a certificate; one that cannot be understood is a :class:`DataError`."""
    listed = certificate.get("claims")
    if not isinstance(listed, list) or not listed:
        raise DataError("certificate.json claims nothing.")
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


def check_claims(side: PublicSide, population: Any = None) -> Iterator[Check]:
    """Judge every claim on the groups that the public tables show, for each set of columns that an adversary may hold.

    A claim that compares with a population is not re-checked without one.
    """
    people = None if population is None else people_of(population)
    reference = whole_table(side)
    if reference:
        yield _check_reference(side, reference)
    for claim in read_claims(side.certificate):
        if claim.definition is None:
            unknown = "This version of Reticent does not know the definition."
            yield Check(f"claim {claim.text}", "not re-checked", unknown, claim=True)
        else:
            status, detail = _judged(claim.definition, side, reference, people)
            by_rows = side.manifest.unit == "person" and claim.definition.counts_people
            yield Check(f"claim {claim.text}{', counting rows' if by_rows else ''}", status, detail, claim=True)
    if side.manifest.unit == "person":
        yield Check(
            "people", "not re-checked", "The published files show rows; how many people they are about does not follow."
        )


def _judged(
    definition: Definition,
    side: PublicSide,
    reference: Mapping[str, ReferenceColumn],
    people: pl.DataFrame | None,
) -> tuple[Status, str]:
    refused = side.form.refusal(definition)
    if refused is not None:
        return "fails", refused
    if not definition.shown_by_files:
        return "not re-checked", "It depends on what people asked for, which is not published."
    if definition.needs_population and people is None:
        return "not re-checked", "It compares with a population, and none was given."
    if side.manifest.unit == "person" and definition.counts_people and definition.needs_population:
        return "not re-checked", "It compares people with people, and the published files show rows."
    compared = columns_compared(definition, side.manifest.named("sensitive"))
    missing = [column for column in compared if column not in reference]
    if missing:
        return "fails", f"The whole table's histogram of {missing[0]!r}, with which it compares, was not published."
    try:
        found = judge(definition, evidence_in(definition, side, reference, people, (definition,)))
    except ReticentError as error:
        return "fails", str(error)
    failing = next((each for each in found if not each.holds), None)
    if failing is not None:
        return "fails", failing.witness.text if failing.witness is not None else "It does not hold."
    values = dict.fromkeys(_shown(each.value) for each in found)
    return "holds", f"Recomputed from the published rows; achieved: {'; '.join(values)}."


def evidence_in(
    definition: Definition,
    side: PublicSide,
    reference: Mapping[str, ReferenceColumn],
    people: pl.DataFrame | None,
    claimed: Sequence[Definition],
) -> Evidence:
    """What the public side shows to each adversary, for a definition to be judged by; see :func:`_groups_in`."""
    return Evidence(
        {
            quasi: _groups_in(definition, side, quasi, reference, people, claimed)
            for quasi in side.manifest.adversary_sets
        }
    )


def _groups_in(
    definition: Definition,
    side: PublicSide,
    quasi: Sequence[str],
    reference: Mapping[str, ReferenceColumn],
    people: pl.DataFrame | None,
    claimed: Sequence[Definition],
) -> Groups:
    """What a definition looks at, as the public side shows it to somebody who knows the ``quasi`` columns.

    A column that was published with the whole table's histogram is compared with that, any other with the published rows. Values that
    ``claimed`` definitions name and no published row has are absent, not unknown. ``people`` are counted where the definition compares with a
    population.
    """
    form = side.form
    if not isinstance(form, GroupFormat):
        raise PolicyError(f"{definition} judges groups, and a release of format {side.format!r} has none.")
    columns = tuple(
        reference[column.name].column if column.name in reference else reduce(_with_named_values, claimed, column)
        for column in form.occurring(side)
    )
    compared = columns_compared(definition, side.manifest.named("sensitive"))
    # Histograms of several columns are put together; where one is missing, the published rows stand for all.
    known = compared if all(column in reference for column in compared) else ()
    groups = form.groups(side, Judged(tuple(quasi), columns, {name: reference[name].counts for name in known}))
    if definition.needs_population and people is not None:
        return with_population(groups, counted(side.tables, "data", quasi)[0], side.manifest, people, quasi)
    return groups


def whole_table(side: PublicSide) -> dict[str, ReferenceColumn]:
    """The whole table's histograms, as far as the certificate declares them."""
    kinds = {column.name: column.kind for column in side.manifest.columns if column.role == "sensitive"}
    return read_reference(side.certificate.get("reference"), kinds)


def _check_reference(side: PublicSide, reference: Mapping[str, ReferenceColumn]) -> Check:
    """Every published value is in the whole table at least as often, and all columns count the same rows."""
    groups, totals = side.groups, set()
    for name, whole in reference.items():
        shown = groups.marginal(name)
        try:
            places = whole.column.codes(shown.domain.columns[0].labels)
        except DataError:
            return Check(
                "reference", "fails", f"A published value of column {name!r} is not in the whole table's histogram."
            )
        if (shown.reference > whole.counts[places]).any():
            return Check(
                "reference",
                "fails",
                f"A value of column {name!r} is published more often than it occurs in the whole table.",
            )
        totals.add(int(whole.counts.sum()))
    if len(totals) > 1:
        return Check("reference", "fails", "The whole table's histograms count different numbers of rows.")
    return Check("reference", "holds", "The whole table's histogram, as declared, can contain the published rows.")


def _with_named_values(column: SensitiveColumn, definition: Definition) -> SensitiveColumn:
    """The column with values that the definition names, although no published row has them: they are absent, not unknown."""
    named = list(_named(list(definition.parameters().values())))
    texts, missing = column.texts, column.labels.null_count() > 0
    absent = [value for value in dict.fromkeys(named) if not (missing if value is None else str(value) in texts)]
    if not absent:
        return column
    extra = _typed(absent, column.labels)
    return SensitiveColumn(column.name, pl.concat([column.labels, extra]).unique(maintain_order=True), column.ordered)


def _named(given: Any) -> Iterator[str | None]:
    """The values in lists, and in lists of lists, of parameters."""
    for item in given:
        if isinstance(item, list):
            yield from (value for value in item if not isinstance(value, list))
            yield from _named(item)


def _typed(texts: Sequence[str | None], like: pl.Series) -> pl.Series:
    """Values given as text, of the type of a column; what is no value of that type is left out."""
    raw = pl.Series(like.name, texts, dtype=pl.String)
    values = as_type(raw, like.dtype).alias(like.name)
    return values.filter(values.is_not_null() | raw.is_null())


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_shown(item)}" for name, item in value.items())
    return f"{value:.6g}" if isinstance(value, float) else str(value)
