"""Plain-language text of a release: its guarantees, their limits, and the residual risks.

All of it follows from the certificate's other entries, so that ``verify`` can check the wording.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from reticent.core import Columns, Comparison
from reticent.definitions import (
    AnyColumns,
    ClaimScope,
    CountedUnit,
    Definition,
    GroupDefinition,
    InTurn,
    column_list,
    definition_from,
    named_column,
    numbers_beyond,
    unique_share,
)
from reticent.errors import ReticentError
from reticent.release.declared_columns import DeclaredColumns
from reticent.release.format import EvidenceRequest, Words, format_of
from reticent.release.headline import Headline
from reticent.release.joint_claims import Promised, beside_each_other, joined_promise, same_promises
from reticent.release.manifest import Manifest

if TYPE_CHECKING:
    from reticent.release.public import PublicSide

UNNAMED = (
    "The data set was not named, so earlier releases of it could not be checked. If there were any, they were not judged together "
    "with this one."
)
INSECURE = "NOT RELEASABLE: random choices were made with an insecure seed, which is for tests only. An attacker who guesses the seed can undo them."
_AMONG_PUBLISHED = 'Here "the whole table" are the published records: they are compared among themselves, and nothing is disclosed about suppressed records.'
UNIT_DECLARED = (
    "The promises count records, and each record counts as another person because the publisher says so: a column that names people, which is not published, repeats. Where a person has several "
    "records, the records that look alike are about fewer people than are counted."
)
ONE_RECORD = "Noise hides one record, as the publisher chose: a person who has several records is hidden less."
SECURE = "All protective randomness came from the operating system's generator."


def ledger_statement(dataset: str | None, number: int | None, beside: str | None = None) -> str:
    """Describe prior disclosures as the ledger records them; ``beside`` is how this release was judged together with them."""
    if dataset is None or number is None:
        return UNNAMED
    if beside:
        return f"This is release {number} of the data set {dataset!r}. {beside}"
    if number == 1:
        return f"This is release 1 of the data set {dataset!r}: the publisher's ledger knew no earlier one."
    return f"This is release {number} of the data set {dataset!r}: earlier ones were withdrawn, and never left."


def scope_of(manifest: Manifest) -> ClaimScope:
    """Return the scope of a release's claims, as its public side shows it and as it was judged."""
    return ClaimScope(
        cast(CountedUnit, "record" if manifest.unit == "row" else manifest.unit),
        manifest.named("quasi"),
        sets=manifest.quasi_sets,
        sensitive=manifest.named("sensitive"),
        declared=manifest.named("declared"),
        alike=format_of(manifest.format).alike,
        rows=None if manifest.known_rows is None else manifest.known_rows.rows,
    )


def covers(definition: Definition, scope: ClaimScope, reference: Mapping[str, Any] | None) -> str:
    """Describe a definition's guarantee, its reference, and, if people are counted but rows are shown, that the publisher attests the link."""
    sentence = definition.meaning(scope)
    if scope.unit != "record" and definition.counts_people and definition.needs_population:
        sentence = f"{sentence} The files show records, not people, so this is the publisher's word."
    elif scope.unit != "record" and definition.counts_people:
        sentence = f"{sentence} The files show this for records; that the records are about as many people is the publisher's word."
    if definition.needs_reference and compared(reference, "published rows"):
        return f"{sentence} {_AMONG_PUBLISHED}"
    return sentence


def joined_claims(certificate: Mapping[str, Any], manifest: Manifest) -> list[tuple[Promised, list[int]]]:
    """Return the claims of a release, merged if they differ only in their column, with their indexes."""
    claims = [definition_from(claim["definition"], dict(claim["parameters"])) for claim in certificate["claims"]]
    scope = beside_each_other(claims, scope_of(manifest))
    promised = [Promised(claim, scope, certificate["reference"]) for claim in claims]
    return [(joined_promise([promised[index] for index in indices]), indices) for indices in same_promises(promised)]


def promised_by(certificate: Mapping[str, Any], manifest: Manifest) -> list[Promised]:
    """Return the claims of a release, merged if they differ only in their column."""
    return [promised for promised, _ in joined_claims(certificate, manifest)]


def risks(
    definition: Definition,
    manifest: Manifest,
    words: Words,
    reference: Mapping[str, Any] | None,
    insecure: bool,
    declared: DeclaredColumns,
) -> list[str]:
    """Return the residual risks, most specific first; the last two apply to every release."""
    sentences = [INSECURE] if insecure else []
    sentences.extend(declared.sentences())
    sentences += [
        f"{named_column(column.name)} can be computed from {' and '.join(map(repr, column.computable))}, which count as known: it is not a secret."
        for column in manifest.columns
        if column.role == "sensitive" and column.computable
    ]
    if manifest.named("pseudonym"):
        sentences.append(
            "Rows carry random pseudonyms: rows of one person can be linked, and an attacker who learns whose pseudonym it is learns all of them."
        )
    sentences.extend(words.risks)
    if manifest.quasi_sets is not None:
        sets = "; ".join(column_list(names) for names in manifest.quasi_sets)
        sentences.append(
            f"The promises are about an attacker who knows the columns of one of these sets: {sets}. One who knows columns of several sets, or other columns of "
            "other people, is not covered."
        )
    sentences += [
        f"Nothing is promised about {named_column(name)}: where records that look alike share its value, it is known for all of them."
        for name in unguarded(definition.parts(), manifest.named("sensitive"))
    ]
    whole_table_columns = compared(reference, "whole table")
    if whole_table_columns:
        sentences.append(
            f"How often each value of {_listed(whole_table_columns)} occurs in the whole table is published with this certificate, suppressed "
            "rows included. What that discloses about the suppressed rows satisfies the guarantees, as a group does."
        )
    if manifest.unit != "row":
        sentences.append(
            "Several rows may be about one person. That the groups hold as many people as claimed is the publisher's word: the published "
            "files show rows."
        )
    if any(part.kind == "groups" for part in definition.parts()):
        sentences.append("Records may be missing: the release need not have every record of the table.")
        sentences.append(
            "An attacker who knows how the release was made reruns the method on every table that fits, and can sometimes conclude that finer releases were not "
            "safe (minimality). No figure is stated here, since it depends on exact values that the release hides; the publisher can measure it where the tables can be listed or sampled (attack)."
        )
    sentences.append(
        "Other data about the same people, earlier and later releases and other publishers' among them, were not judged together with this one."
    )
    return sentences


def unguarded(claims: Sequence[Definition], sensitive: Columns) -> Columns:
    """Return the sensitive columns that no claim covers."""
    guarded = {name for claim in claims for name in claim.guarded(sensitive)}
    return tuple(name for name in sensitive if name not in guarded)


def reservations(
    side: PublicSide, claims: Sequence[Definition], declared: DeclaredColumns, insecure: bool
) -> Iterator[str]:
    """Yield what the claims do not cover although a reader would expect it, computed from the published rows, most severe first."""
    scope = scope_of(side.manifest)
    if insecure:
        yield INSECURE
    yield from declared.reservations()
    if side.manifest.unit_declared:
        yield UNIT_DECLARED
    if side.manifest.method.get("unit") == "row":
        yield ONE_RECORD
    for name in unguarded(claims, scope.sensitive):
        yield f"Nothing is promised about {named_column(name)}."
    yield from _known_rows(side.manifest, claims)
    parts = [part for claim in claims for part in claim.parts() if isinstance(part, GroupDefinition)]
    yield from _on_the_publishers_word(side, parts)
    # Subjects that some claim guards against an adversary who knows all published columns.
    subjects_covered = {_about(part) for part in parts if part.knows_all(scope)}
    if any(_about(part) not in subjects_covered for part in parts):
        yield f"The promises are about an attacker who knows some of the published columns, not all of them.{_unique(side)}{_beyond(side, parts)}"


def _known_rows(manifest: Manifest, claims: Sequence[Definition]) -> Iterator[str]:
    """Yield the reservation that an adversary who knows several rows of a person may learn more, if claims cover fewer."""
    in_turn = [name for claim in claims for part in claim.parts() if isinstance(part, InTurn) for name in part.columns]
    if in_turn and manifest.unit != "row":
        yield (
            f"The promises about {column_list(in_turn)} in turn are about an attacker who knows one record of a {manifest.unit}: one who knows more of them may learn more."
        )
    known_rows = manifest.known_rows
    changing = (
        ()
        if known_rows is None
        else tuple(name for name in known_rows.each_row if name not in unguarded(claims, known_rows.each_row))
    )
    if changing:
        yield (
            f"The promises about {column_list(changing)} are about each record: values change between the records of a {manifest.unit}, and an attacker may be surer that the {manifest.unit} has one "
            "of them in some record."
        )
    if known_rows is None or known_rows.rows is None:
        return
    promised = [name for name in known_rows.same if name not in unguarded(claims, known_rows.same)]
    if promised:
        records = "one record" if known_rows.rows == 1 else f"up to {known_rows.rows} records"
        yield (
            f"The promises about {column_list(promised)} are about an attacker who knows {records} of a {manifest.unit}: these values are the same in all records of a {manifest.unit}, and "
            "an attacker who knows more of them may learn more."
        )


def _on_the_publishers_word(side: PublicSide, parts: Sequence[GroupDefinition]) -> Iterator[str]:
    """Yield the claims about raw values that published labels do not show."""
    for part in parts:
        if part.needs_raw and side.form.refusal(part) is None:
            try:
                missing_evidence = part.not_shown(side.form.evidence(side, EvidenceRequest(part, {}, None, (part,))))
            except ReticentError:
                # A claim about columns that are not published fails; it does not rest on the publisher's word.
                continue
            if missing_evidence is not None:
                yield f"{part} is the publisher's word, and cannot be re-checked. {missing_evidence}"


def _about(part: GroupDefinition) -> tuple[str, Any]:
    """Return the kind of claim a definition makes and its column, independent of the adversary's knowledge."""
    return part.name, getattr(part, "column", None)


def _unique(side: PublicSide) -> str:
    """Describe how many records an adversary who knows all published columns can single out, as a sentence to append;
    empty if all columns are public knowledge.
    """
    groups = side.seen.groups
    if groups is None or not getattr(side.form, "hides_identity", False):
        return ""
    unique_records, records = int((groups.sizes == 1).sum()), int(groups.sizes.sum())
    return f" In all of them together {unique_records:,} of {records:,} records are unique."


def _beyond(side: PublicSide, parts: Sequence[GroupDefinition]) -> str:
    """Describe how many records are unique to an adversary who knows more columns than covered; a sentence to append."""
    covered = [part.known for part in parts if isinstance(part, AnyColumns)]
    if not covered or side.seen.groups is None:
        return ""
    groups, width = side.seen.labelled_groups, len(side.seen.columns)
    numbers = [number for number in numbers_beyond(max(covered), width) if number < width]
    if not numbers or groups.labels is None:
        return ""
    shares = ", ".join(f"{unique_share(groups, number):.1%} (of {number} columns)" for number in numbers)
    return f" In a random choice of columns {shares} of the records are unique, and more in the columns that distinguish best."


def compared(reference: Mapping[str, Any] | None, rows: Comparison) -> list[str]:
    """Return the columns that the certificate's reference compares with the given rows, sorted by name."""
    return sorted(name for name, entry in (reference or {}).items() if entry["of"] == rows)


def statement(certificate: Mapping[str, Any], manifest: Manifest, words: Words) -> str:
    """Return the plain-language statement that accompanies the files."""
    promised = promised_by(certificate, manifest)
    title, *reasons = Headline.from_json(certificate["headline"]).lines()
    parts = [
        title.upper(),
        *reasons,
        "WHAT THIS IS",
        f"A table about people, changed before publication to protect them. {words.what}",
        "WHAT IS PROMISED",
        *(f"- {text}" for text in dict.fromkeys(covers(*claim) for claim in promised)),
        "WHAT IS NOT PROMISED",
        *(f"- {text}" for text in dict.fromkeys(claim.definition.not_covered(claim.scope) for claim in promised)),
        "WHAT RISK REMAINS",
        *(f"- {text}" for text in certificate["residual_risks"]),
        "HOW TO CHECK",
        "The command 'reticent verify' recomputes what these files show of each promise, and says which it cannot. certificate.json states the definitions "
        "exactly and holds a fingerprint of every file; manifest.json says what every label means.",
    ]
    return "\n\n".join(_wrapped(part) for part in parts) + "\n"


@lru_cache(maxsize=256)
def _wrapped(text: str) -> str:
    # Most paragraphs are the same in every statement.
    return textwrap.fill(text, 100, subsequent_indent="  " if text.startswith("- ") else "", break_long_words=False)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names)
