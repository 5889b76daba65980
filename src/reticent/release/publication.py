"""Publishing: from a table and a definition to a release. Everything is judged and recorded before it is released.

The steps are the same for every method and format: arguments, refusals of method and format, ledger, draft, roles,
public files, checks, judgement, ledger entry, certificate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from reticent.base.context import Context
from reticent.base.disclosures import PersonFingerprints, SeriesState, unjudged
from reticent.base.randomness import Randomness
from reticent.core import Draft
from reticent.definitions import (
    Definition,
    KnownRows,
    Method,
    ever_shares,
    judge,
    known_rows,
    verdict,
)
from reticent.errors import Cancelled, DataError, PolicyError
from reticent.io import people_of
from reticent.ledger import Entry, Ledger, LedgerLocation, nameless, now, require_recognisable
from reticent.release.canonical_json import readable
from reticent.release.certificate import (
    MANIFEST,
    STATEMENT,
    certificate_hash,
    completed,
    content_hash,
    content_of,
    fingerprint,
    former_hashes,
)
from reticent.release.claims import check_claims
from reticent.release.computable_columns import ComputableColumns
from reticent.release.declared_columns import DeclaredColumns
from reticent.release.format import Format, Words, format_of, role_of
from reticent.release.group_demands import measured_utility
from reticent.release.headline import Headline
from reticent.release.manifest import Manifest, ManifestTable
from reticent.release.public import PublicSide
from reticent.release.reference_histogram import reference_of
from reticent.release.release import PrivateSide, Release
from reticent.release.request import FileKind, Request, unclaimed
from reticent.release.signature_keys import private_keys
from reticent.release.spool import Spool
from reticent.release.statements import reservations, statement
from reticent.table import Table, beyond_limits, contents_marks, marks_of_people, table_file


def publish(
    table: Table,
    definition: Definition,
    method: Method | str | None = None,
    *,
    ledger: str | Path | LedgerLocation | Ledger | None = None,
    again: bool = False,
    signing_key: Any = None,
    insecure_seed: int | None = None,
    files: FileKind = "csv",
    scratch: str | Path | None = None,
    context: Context | None = None,
) -> Release:
    """Find the least distorted release of a table that satisfies a definition; certify and record it.

    The public tables are judged again before the ledger is written, and the ledger is written before this returns: the
    release is reserved there, and recorded as released when it is saved. :class:`Infeasible` is raised if no release
    satisfies the definition; its message gives the best achievable value.

    Parameters:
        table: the rows with the roles of their columns: an ``rt.Table``, or what ``rt.read`` returns. ``rt.inspect`` proposes roles for a file.
        definition: what every published group, mechanism or series must satisfy, such as ``rt.KAnonymity(5)``; join several by ``&``.
        method: how the table is changed: a method such as ``rt.Lattice(suppression="0.05")``, or its name such as ``"Mondrian"``; by default
            the cheapest of several that are tried (:func:`reticent.release.default_method`).
        ledger: where releases are recorded; by default RETICENT_LEDGER, or the user's own ledger.
        again: allow a data set that was released before, which the certificate then states; otherwise that is a :class:`LedgerError`.
        signing_key: a private key, or a list of keys of which each signs the certificate.
        insecure_seed: fixes protective randomness, for tests only; the certificate states it.
        files: the file format of the public tables, ``"csv"`` or ``"parquet"``, among others.
        scratch: where public files are spooled until they are saved; by default the temp directory.
        context: reports progress and can stop the run; a new one for each publication.

    Returns:
        The release: ``frame`` has the published rows, ``certificate`` the claims with what they do not cover, ``utility`` what was lost. ``save``
        writes ``public/``, to be given away, and ``private/``, to be kept; ``count`` estimates counting queries.

    See also:
        ``rt.preview`` drafts without recording anything, and ``rt.compare`` puts definitions and methods side by side. ``rt.assess`` measures the
        table as it is; ``rt.attack`` runs adversaries against the release, and ``rt.verify`` recomputes its claims from the public files.

    Example:
        >>> import reticent as rt
        >>> rows = {"age": [31, 33, 52, 58], "illness": ["flu", "cold", "flu", "cold"]}
        >>> table = rt.Table(rows, quasi=["age"], sensitive="illness")
        >>> release = rt.publish(table, rt.KAnonymity(2) & rt.DistinctLDiversity(2), method=rt.Mondrian(values="ranges"))
        >>> release.frame["age"].unique().sort().to_list()
        ['[31, 33]', '[52, 58]']
        >>> folder = release.save("release")
    """
    request = Request.of(table, definition, method, files)
    keys = private_keys(signing_key)
    context = _context(context, insecure_seed, scratch)
    open_ledger = _ledger(table, ledger)
    if open_ledger is not None and table.dataset is not None:
        context = replace(
            context, series=partial(open_ledger.state, table.dataset), ledger=open_ledger.secret.fingerprint
        )
    try:
        judged = judged_draft(request, context, partial(_require_recognised, table=table, location=ledger))
        with judged.spool.closed_on_error():
            # From here on the ledger may have an entry, so the run can no longer be stopped.
            context.step("recording")
            _charge_nameless(judged.draft, table, ledger)
            certificate, entry = _recorded(judged, table, open_ledger, again, keys)
    except Cancelled as stopped:
        raise Cancelled(f"{stopped} Nothing was recorded and nothing was written.", stopped.stage) from None
    finally:
        if open_ledger is not None and open_ledger is not ledger:
            open_ledger.close()
    side = judged.side
    return Release(PublicSide(side.manifest, certificate, side.rows), judged.private, entry, _spool=judged.spool)


def _recorded(
    judged: JudgedDraft, table: Table, open_ledger: Ledger | None, again: bool, keys: tuple[Any, ...]
) -> tuple[dict[str, Any], Entry | None]:
    """Return the certificate of a draft and, if the data set has a name, its ledger entry, which reserves the release."""
    draft, side, content = judged.draft, judged.side, judged.side.certificate
    fingerprints = {
        MANIFEST: fingerprint(readable(side.manifest.as_json())),
        STATEMENT: fingerprint(statement(content, side.manifest, judged.words).encode()),
        **judged.spool.prints,
    }
    certificates: list[dict[str, Any]] = []

    def certify(entry: Entry | None) -> str:
        """Complete the certificate with its ledger entry, and return its hash."""
        certificates.append(completed(content, fingerprints, entry, now() if entry is None else entry.made, keys))
        return certificate_hash(certificates[-1])

    if open_ledger is None or table.dataset is None:
        certify(None)
        return certificates[-1], None
    rows = judged.spool.row_hashes()
    with _stored(draft) as state:
        entry = open_ledger.record(
            table.dataset,
            content_hash(content, side.manifest, rows),
            certify,
            beside=unjudged if again else draft.beside,
            spend=draft.spend,
            cost=draft.cost,
            budget=draft.budget,
            state=state,
            details=draft.noted,
            people=_people(draft, table, open_ledger),
            formerly=lambda: former_hashes(content, side.manifest, rows, fingerprints),
        )
    return certificates[-1], entry


@contextmanager
def _stored(draft: Draft) -> Iterator[SeriesState | None]:
    """Store the series state of a release on disk before the ledger is written; remove it again if recording fails."""
    if draft.outcome is None:
        yield None
        return
    state = draft.outcome.stored()
    try:
        yield state
    except Exception:
        draft.outcome.discard()
        raise


@dataclass(frozen=True)
class JudgedDraft:
    """A draft that was checked, judged and measured, but neither recorded nor certified. ``side`` is its public side; its
    certificate lists only claims.
    """

    draft: Draft
    side: PublicSide
    private: PrivateSide
    words: Words
    spool: Spool = field(repr=False)


def judged_draft(request: Request, context: Context, accept: Callable[[Draft], None] | None = None) -> JudgedDraft:
    """Run everything that precedes the ledger: draft, judge, spool the public files, check them, judge the public tables, measure the cost.

    ``accept`` may refuse a draft by raising before anything is written.
    """
    prepared = request.prepared()
    table, definition = prepared.table, prepared.definition
    computable = ComputableColumns.of(table, definition)
    computable.check_secrets(definition)
    draft = prepared.method.draft(table, definition, context)
    form = _format(draft, definition)
    _check_limits(table, draft, prepared.method)
    _judge_draft(definition, draft)
    if accept is not None:
        accept(draft)
    draft = _about_people(table, draft)
    context.step("sorting and writing rows")
    spool = Spool.of(draft, form, table, table_file(prepared.files, table.codebook), context)
    with spool.closed_on_error():
        return _checked(table, definition, draft, form, spool, computable, context)


def _about_people(table: Table, draft: Draft) -> Draft:
    """Add private figures about people with several rows: rows suppressed beforehand, and members of a group with one value throughout."""
    if not table.rows_left_out and not table.several_rows:
        return draft
    largest_shares = {name: str(share) for name, share in ever_shares(draft.evidence).items()}
    figures = {
        "unit": table.unit,
        "key": table.key,
        "rows_left_out": table.rows_left_out,
        "largest_share_ever": largest_shares,
    }
    suppressed = draft.suppressed + table.rows_left_out
    return replace(draft, suppressed=suppressed, search={**draft.search, "people": figures})


def _checked(
    table: Table,
    definition: Definition,
    draft: Draft,
    form: Format,
    spool: Spool,
    computable: ComputableColumns,
    context: Context,
) -> JudgedDraft:
    """Return the draft with its public side: manifest and certificate are built, and every claim is judged on what the files show.

    Refused if the public tables do not respect the table's roles, differ from the draft, or fail a claim.
    """
    manifest = _manifest(table, draft, form, spool, known_rows(definition, draft.evidence))
    side = PublicSide(computable.marked(manifest), {}, spool.rows)
    _check_roles(table, side.manifest)
    _check_rows(draft, side)
    context.step("checking what the files show")
    form.check(side)
    words = form.words(side)
    reference = reference_of(definition, draft.evidence, table.sensitive)
    insecure = draft.insecure or not context.randomness.is_secure
    declared = DeclaredColumns.of(side, definition.parts())
    computable.check_classes(side, definition.parts())
    headline = Headline.holding(reservations(side, definition.parts(), declared, insecure))
    content = content_of(definition, side.manifest, words, reference, insecure, declared, headline)
    side = PublicSide(side.manifest, content, side.rows)
    _judge_public(definition, draft, side, context)
    context.step("measuring")
    return JudgedDraft(draft, side, private=_measured(table, definition, draft), words=words, spool=spool)


def _measured(table: Table, definition: Definition, draft: Draft) -> PrivateSide:
    """Return the private side of a draft, including its cost."""
    utility, losses = measured_utility(table, definition, draft)
    return PrivateSide(
        draft.evidence,
        draft.suppressed,
        utility,
        loss_by_column=losses,
        search=draft.search,
        tables=draft.private,
        recoding=draft.recoding,
    )


def _check_limits(table: Table, draft: Draft, method: Method) -> None:
    """Refuse levels below a column's ``min_level`` or above its ``max_level``, whatever method chose them."""
    for hierarchy in table.hierarchies:
        label = beyond_limits(hierarchy, draft.meanings.get(hierarchy.column, {}))
        if label is not None:
            raise PolicyError(
                f"{type(method).__name__} publishes column {hierarchy.column!r} as {label!r}, beyond the min_level or max_level of its hierarchy. Use "
                "Lattice, Datafly or Mondrian, or remove the limits.",
                setting=("hierarchies", hierarchy.column),
                column=hierarchy.column,
                value=label,
            )


def _context(context: Context | None, insecure_seed: int | None, scratch: str | Path | None) -> Context:
    """Return the context of a run: as given, or a new one with this seed and scratch folder."""
    if context is None:
        return Context(Randomness(insecure_seed), scratch=None if scratch is None else Path(scratch))
    if insecure_seed is not None or scratch is not None:
        raise PolicyError("publish got a context together with insecure_seed= or scratch=. Set them in the context.")
    return context


def _ledger(table: Table, location: str | Path | LedgerLocation | Ledger | None) -> Ledger | None:
    """Open the ledger before the search, so that an unwritable one fails at once."""
    if table.dataset is None:
        return None
    return location if isinstance(location, Ledger) else Ledger(location)


def _charge_nameless(draft: Draft, table: Table, location: str | Path | LedgerLocation | Ledger | None) -> None:
    """Charge a noisy release of an unnamed table to the accounts of its people, matched by fingerprint: omitting the name
    does not evade an account.

    Samples from a seed protect nobody, as their certificate states, and are not charged.
    """
    with _nameless_people(draft, table, location) as (book, people):
        if book is not None and draft.cost is not None:
            book.charge(nameless(people), draft.cost, draft.budget, people)


def _require_recognised(draft: Draft, table: Table, location: str | Path | LedgerLocation | Ledger | None) -> None:
    """Refuse what :func:`_charge_nameless` could not charge, before anything is written."""
    with _nameless_people(draft, table, location) as (book, people):
        if book is not None:
            require_recognisable(people)


@contextmanager
def _nameless_people(
    draft: Draft, table: Table, ledger_given: str | Path | LedgerLocation | Ledger | None
) -> Iterator[tuple[Ledger | None, tuple[PersonFingerprints, ...]]]:
    """Yield the ledger and the people of a noisy release of an unnamed table; None if it is not charged to them."""
    if draft.cost is None or draft.insecure or table.dataset is not None:
        yield None, ()
        return
    ledger = ledger_given if isinstance(ledger_given, Ledger) else Ledger(ledger_given)
    try:
        yield ledger, _people(draft, table, ledger)
    finally:
        if ledger is not ledger_given:
            ledger.close()


def _people(draft: Draft, table: Table, book: Ledger) -> tuple[PersonFingerprints, ...]:
    """Return the fingerprints of a release's people; a release with a privacy cost falls back to a fingerprint of all its rows."""
    fingerprints = marks_of_people(table, book.people_key)
    return contents_marks(table, book.people_key) if draft.cost is not None and not fingerprints else fingerprints


def _format(draft: Draft, definition: Definition) -> Format:
    """Return the format that a draft names; refused if its tables do not fit, or the format cannot claim the definition."""
    try:
        form = format_of(draft.format)
    except DataError:
        form = None
    if form is None or set(draft.tables) != set(form.tables):
        raise PolicyError(
            f"The method {draft.method.get('name')!r} drafted the tables {sorted(draft.tables)} as {draft.format!r}, which is not a "
            "published format."
        )
    refused = unclaimed(form.name, definition)
    if refused is not None:
        raise PolicyError(refused)
    return form


def _manifest(table: Table, draft: Draft, form: Format, spool: Spool, known_row_count: KnownRows | None) -> Manifest:
    """Return the manifest of a draft whose public files are in the spool."""
    return Manifest(
        draft.format,
        form.columns(draft, table, spool.rows),
        tables={
            name: ManifestTable(spool.parts[name], tuple(rows.schema), spool.formulas(name))
            for name, rows in spool.rows.items()
        },
        method=draft.method,
        unit=draft.unit or table.unit,
        quasi_sets=table.quasi_sets,
        details=draft.details,
        known_rows=known_row_count,
        # Whether a person has several rows is not public if noise protects a declared unit.
        unit_declared=table.unit_declared and draft.unit is None,
    )


def _check_roles(table: Table, manifest: Manifest) -> None:
    """Refuse a column of the table that a format publishes although its role in the table forbids it."""
    for column in manifest.columns:
        if column.name in table.schema:
            role_of(table, column.name)


def _check_rows(draft: Draft, side: PublicSide) -> None:
    """Check that a source did not change: its rows are read several times."""
    if not draft.evidence.groups:
        return
    drafted, written = int(draft.evidence.published.sizes.sum()), side.rows[side.form.tables[0]].height
    if drafted != written:
        raise DataError(
            f"The source changed while it was read: it had {drafted} rows, then {written}. Nothing was published; "
            "publish a copy that is not written to."
        )


def _judge_draft(definition: Definition, draft: Draft) -> None:
    """Judge a draft's evidence: a method's own check is not trusted."""
    assessed = verdict(definition, judge(definition, draft.evidence))
    if not assessed.holds:
        raise _broken(draft, str(definition) if assessed.witness is None else assessed.witness.text)


def _judge_public(definition: Definition, draft: Draft, side: PublicSide, context: Context) -> None:
    """Judge the public tables as well, without a time limit."""
    for check in check_claims(side, _population(definition), None, replace(context, deadline=None)):
        if check.status == "fails":
            raise _broken(draft, f"{check.name}: {check.detail}")


def _broken(draft: Draft, failing: str) -> PolicyError:
    return PolicyError(
        f"The method {draft.method.get('name')!r} made a draft that does not satisfy the definition ({failing}). Nothing was published."
    )


def _population(definition: Definition) -> pl.DataFrame | None:
    """Return the population that the definition compares with, or None."""
    populations = (getattr(part, "population", None) for part in definition.parts() if part.needs_population)
    first = next((population for population in populations if population is not None), None)
    return None if first is None else people_of(first)
