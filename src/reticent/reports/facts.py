"""Data of a report, collected from a release: public files, and private facts for the steward."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import and_
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.attacks import Findings
from reticent.base.context import Context
from reticent.base.figures import Figure
from reticent.core import Groups
from reticent.definitions import Definition, HistoryDefinition, KAnonymity
from reticent.engine import count_table
from reticent.errors import DataError
from reticent.methods.lattice import search
from reticent.methods.lattice.figure import MOST_DOTS, LatticeFacts
from reticent.propose import ExposedGroup, Risk
from reticent.release import (
    Check,
    DeclaredColumns,
    Headline,
    IntervalWidths,
    PublicSide,
    Release,
    Verification,
    check_claims,
    covers,
    joined_claims,
    parsed,
    read_claims,
    reservations_of,
    signatures_of,
)
from reticent.release.format import Words
from reticent.reports.analysis import Analysis, analyse
from reticent.reports.flow_figures import FlowFacts, flow_facts
from reticent.table import Table
from reticent.utility import MeasuredUtility

Counts = Mapping[str, int]

_EXAMPLES = 3
_ROWS_SHOWN = 5


Comparison = tuple[Findings | None, Findings]

_NOT_ITS_FILES = "Not re-checked: the files are not those that the certificate is about."


@dataclass(frozen=True)
class Promise:
    """One guaranteed definition: name with parameters, meaning, what it does not cover, and the result of its check."""

    name: str
    meaning: str
    not_covered: str
    outcome: str


@dataclass(frozen=True)
class PrivateFacts:
    """Confidential facts about a release, known to the steward only.

    ``whole`` counts the values of each sensitive column in the whole table; ``losses`` is the information loss per quasi-identifier, if known;
    ``final_bound`` is false where a longer computation may prove a higher bound on the loss.
    """

    suppressed: int
    utility: Mapping[str, float]
    search: Mapping[str, Any]
    whole: Mapping[str, Counts] = field(default_factory=dict)
    losses: Mapping[str, float] = field(default_factory=dict)
    final_bound: bool = True

    @classmethod
    def of(cls, release: Release, context: Context | None = None) -> PrivateFacts:
        """Collect the facts of a release in memory; computes a lower bound on its loss in a second or two if none was read before."""
        private = release.private
        utility, is_final = private.utility, True
        if isinstance(private.utility, MeasuredUtility):
            utility, is_final = private.utility.reported(context), private.utility.is_final
        groups = private.evidence.published if private.evidence.groups else None
        columns = () if groups is None else groups.domain.columns
        whole = {
            column.name: value_counts(private.evidence.published.marginal(column.name), whole=True)
            for column in columns
        }
        return cls(private.suppressed, utility, private.search, whole, private.loss_by_column, is_final)

    @classmethod
    def read(cls, path: Path) -> PrivateFacts:
        """Read the facts from the private folder of a saved release."""
        folder = path / "private"
        try:
            utility, search = (
                parsed((folder / name).read_bytes(), f"private/{name}") for name in ("utility.json", "search.json")
            )
        except OSError as error:
            raise DataError(
                f"The private side of {str(path)!r} cannot be read ({error.strerror}: {error.filename}). The steward's report needs it; "
                "a public report (--public, public=True) does not."
            ) from None
        return cls(int(search.get("suppressed_rows", 0)), utility, search)


@dataclass(frozen=True)
class ReportFacts:
    """All data of a report. A field that is None or empty is unknown or confidential; ``groups`` is None if the rows are synthetic.

    ``drawings`` are figures of the groups that the release format provides; ``declared`` states what columns declared as unknown would disclose.
    """

    title: str
    words: Words
    headline: Headline
    judged: str
    promises: tuple[Promise, ...]
    rows: int
    row_noun: str
    groups: Groups | None
    least: int | None
    drawings: Sequence[Figure] = ()
    private: PrivateFacts | None = None
    before: NDArray[np.int64] | None = None
    lattice: LatticeFacts | None = None
    labels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    attacks: tuple[Comparison, ...] = ()
    risks: tuple[Risk, ...] = ()
    exposed: tuple[Sequence[ExposedGroup], ...] = ()
    declared: tuple[str, ...] = ()
    residual: tuple[str, ...] = ()
    certificate: tuple[tuple[str, str], ...] = ()
    sample: pl.DataFrame = field(default_factory=pl.DataFrame)
    analysis: Analysis | None = None
    flows: FlowFacts | None = None
    widths: tuple[IntervalWidths, ...] = ()


def gather(
    side: PublicSide,
    private: PrivateFacts | None,
    table: Table | None = None,
    attacks: Sequence[Comparison] = (),
    risks: Sequence[Risk] = (),
    exposed: Sequence[Sequence[ExposedGroup]] = (),
    regression: str | None = None,
    models: Sequence[str] = (),
    coordinates: pl.DataFrame | None = None,
    context: Context | None = None,
    verified: Verification | None = None,
) -> ReportFacts:
    """Collect all data of a report; without ``private`` only what follows from the public files.

    ``table`` is the original table; with it the report also shows the group sizes before publication and checks every node
    of a small lattice. ``attacks`` are pairs of findings, before (or None) and after; ``risks`` and ``exposed`` are risk measures and most exposed groups
    of the original table, per set of quasi-identifiers that an adversary may know. ``regression`` and ``models`` are formulas fitted before and after.
    Synthetic rows are compared with the original ones, with distances and a map if ``coordinates`` are given. ``verified`` is the verification of the folder
    that the release was read from, whose files may differ from those that were certified; by default the claims are checked here.
    """
    context = context or Context()
    claims = read_claims(side.certificate)
    checks = list(check_claims(side, None, None, context)) if verified is None else list(verified.checks)
    outcomes = [check for check in checks if check.claim]
    if len(outcomes) != len(claims):
        # If the files differ from the certified ones, individual claims were not checked.
        outcomes = [Check(claim.text, "not re-checked", _NOT_ITS_FILES, claim=True) for claim in claims]
    definitions = [claim.definition for claim in claims if claim.definition is not None]
    minimums = [part.k for definition in definitions for part in definition.parts() if isinstance(part, KAnonymity)]
    groups = side.seen.groups
    facts = ReportFacts(
        title=_title(side),
        words=side.form.words(side),
        headline=Headline.of_checks(checks, reservations_of(side)) if verified is None else verified.headline,
        judged=_judged_how(side, outcomes, definitions),
        promises=_promises(side, outcomes, known=len(definitions) == len(claims)),
        rows=side.height,
        row_noun=side.form.row_noun,
        groups=groups,
        least=max(minimums, default=None),
        drawings=() if groups is None else side.form.figures(side.seen, groups),
        labels={name: list(labels)[:_EXAMPLES] for name, labels in side.meanings.items()},
        declared=tuple(DeclaredColumns.stated(side.certificate).sentences()),
        residual=tuple(side.certificate["residual_risks"]),
        certificate=_certificate(side),
        sample=side.sample(_ROWS_SHOWN),
        widths=_interval_widths(side),
    )
    if private is None:
        return facts
    headline = facts.headline.beside(after.reservation for _, after in attacks if after.succeeds)
    stewards_facts = replace(
        facts, headline=headline, attacks=tuple(attacks), risks=tuple(risks), exposed=tuple(exposed)
    )
    if table is not None and not table.streamed and (facts.groups is not None or _has_synthetic_records(side, table)):
        context.step("analysing before and after")
        stewards_facts = replace(stewards_facts, analysis=analyse(table, side, regression, models))
    if table is not None and facts.groups is None:
        stewards_facts = replace(stewards_facts, flows=flow_facts(table, side, coordinates, context))
    return _with_private(stewards_facts, private, side, table, definitions, context)


def _interval_widths(side: PublicSide) -> tuple[IntervalWidths, ...]:
    """Return how precise the noisy figures are; nothing if the files are not what the manifest describes, which the verdict says."""
    try:
        return tuple(side.form.interval_widths(side))
    except DataError:
        return ()


def _has_synthetic_records(side: PublicSide, table: Table) -> bool:
    """Return whether the release has synthetic records with the table's own types, which analysts use as they would use the table."""
    schema = side.rows[side.form.tables[0]].schema
    shared = [name for name in (*table.quasi, *table.carried) if name in schema]
    return side.seen.is_artificial and bool(shared) and all(schema[name] == table.schema[name] for name in shared)


def _promises(side: PublicSide, outcomes: Sequence[Check], *, known: bool) -> tuple[Promise, ...]:
    """Return the guarantees, merging claims that differ only in their column; the certificate's text if this version does not support every claim (``known``)."""
    certified_claims = side.certificate["claims"]
    if not known:
        claim_checks = zip(certified_claims, outcomes, strict=True)
        return tuple(
            Promise(claim["definition"], claim["covers"], claim["does_not_cover"], check.detail)
            for claim, check in claim_checks
        )
    promises = []
    for joined_claim, indices in joined_claims(side.certificate, side.manifest):
        prefixes = [
            f"{certified_claims[index]['parameters']['column']}: " if len(indices) > 1 else "" for index in indices
        ]
        outcome = " ".join(f"{prefix}{outcomes[index].detail}" for prefix, index in zip(prefixes, indices, strict=True))
        limits = joined_claim.definition.not_covered(joined_claim.scope)
        promises.append(Promise(str(joined_claim.definition), covers(*joined_claim), limits, outcome))
    return tuple(promises)


def _with_private(
    facts: ReportFacts,
    private: PrivateFacts,
    side: PublicSide,
    table: Table | None,
    definitions: Sequence[Definition],
    context: Context,
) -> ReportFacts:
    """Add the private facts, and from the table (if given) the group sizes before publication, the frequencies of sensitive values and a verdict on every node of a small lattice."""
    # The table is grouped once, with sensitive values if they are needed.
    frequencies = None if table is None else count_table(table, context, sensitive=not private.whole)
    if table is not None and frequencies is not None and not private.whole:
        groups = frequencies.groups()
        names = [name for name in side.manifest.named("sensitive") if name in table.sensitive]
        whole = {name: value_counts(groups.marginal(name), whole=True) for name in names}
        private = replace(private, whole=whole)
    before = None if frequencies is None else frequencies.sizes
    lattice = LatticeFacts.of(private.search)
    group_definitions = [part for definition in definitions for part in definition.parts() if part.kind == "groups"]
    if lattice is not None and table is not None and group_definitions and lattice.size <= MOST_DOTS:
        lattice = _judged(
            lattice, table, reduce(and_, group_definitions), str(side.manifest.method.get("suppression", "0"))
        )
    return replace(facts, private=private, before=before, lattice=lattice)


def _judged(lattice: LatticeFacts, table: Table, definition: Definition, suppression: str) -> LatticeFacts:
    """Return the lattice with a verdict on every node ("passing" or "failing"), if the definition can be checked on all of them; otherwise unchanged."""
    passing = search(table, definition, suppression=suppression).passing_nodes
    if passing is None or passing.shape != tuple(height + 1 for height in lattice.heights):
        return lattice
    status = {levels: "passing" if passes else "failing" for levels, passes in np.ndenumerate(passing)}
    return replace(lattice, status=status)


def _title(side: PublicSide) -> str:
    """Return the title of the report: the data set and the number of the release in its ledger, if the certificate gives them."""
    ledger = side.certificate["ledger"]
    return f"{ledger['dataset']}, release {ledger['release']}" if ledger["dataset"] else "A release"


def _judged_how(side: PublicSide, claims: Sequence[Check], definitions: Sequence[Definition]) -> str:
    """Return a sentence on what was recomputed for the claims that hold; empty if none holds. A definition on several releases is checked in part."""
    holding = sum(check.status == "holds" for check in claims)
    if not holding:
        return ""
    subject = {1: "the definition", 2: "both definitions"}.get(holding, f"all {holding} definitions")
    if holding < len(claims):
        subject = f"{holding} of {len(claims)} definitions"
    if any(
        isinstance(definition, HistoryDefinition) and definition.shown_part() is not None for definition in definitions
    ):
        subject = f"the part of {subject} that one release shows"
    groups = side.seen.groups if "groups" in side.form.keeps else None
    checked = "the plan of what was drawn satisfies" if groups is None else f"all {len(groups):,} groups satisfy"
    return f"Recomputed from the published files in exact arithmetic: {checked} {subject}."


def value_counts(groups: Groups, *, whole: bool) -> dict[str, int]:
    """Return the frequency of each value of the only sensitive column, in the ``whole`` table or in the published groups."""
    column = groups.domain.columns[0]
    counts = groups.reference if whole else groups.histograms.total(column.size)
    return {text: int(count) for text, count in zip(column.texts, counts, strict=True) if count}


def _certificate(side: PublicSide) -> tuple[tuple[str, str], ...]:
    """Return the entries of the certificate as pairs of name and text, with a digest for every file."""
    certificate = side.certificate
    keys = [signature["public_key"] for signature in signatures_of(certificate)]
    signed = f"Ed25519, {', '.join(keys)}" if keys else "none: origin cannot be proven"
    method = ", ".join(f"{name} {value}" for name, value in side.manifest.method.items() if name != "name")
    return (
        ("made", str(certificate["created"])),
        ("by", f"Reticent {certificate['reticent']}"),
        ("method", f"{side.manifest.method.get('name', 'unknown')} ({method})"),
        ("earlier releases", str(certificate["ledger"]["statement"])),
        ("randomness", str(certificate["randomness"]["statement"])),
        ("signature", signed),
        *((name, f"sha256 {entry['sha256']}") for name, entry in sorted(certificate["files"].items())),
    )
