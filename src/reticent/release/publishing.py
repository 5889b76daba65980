"""Publishing: from a table and a definition to a release. Nothing leaves before it was judged and recorded."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from reticent.data import Context, Draft, StreamRows, Table, in_order
from reticent.data.people import people_of
from reticent.definitions import Definition, judge, unkept, verdict
from reticent.errors import Cancelled, DataError, PolicyError, did_you_mean
from reticent.giving import alone, unjudged
from reticent.ledger import Entry, Ledger, LedgerPlace, now
from reticent.randomness import Randomness
from reticent.release.certificate import (
    MANIFEST,
    STATEMENT,
    certificate_hash,
    completed,
    content_hash,
    content_of,
    fingerprint,
)
from reticent.release.claims import check_claims
from reticent.release.format import PSEUDONYM, Format, format_of
from reticent.release.manifest import Manifest, ManifestTable
from reticent.release.public import PublicSide
from reticent.release.reference import reference_of
from reticent.release.release import Release
from reticent.release.signing import private_key, sign
from reticent.release.stored import StoredTables, height, schema_of, write_sorted
from reticent.release.tables import FILE_KINDS, file_bytes, settled_frames
from reticent.release.values import readable
from reticent.release.wording import statement

if TYPE_CHECKING:
    from reticent.anonymize.base import Method

FileKind = Literal["csv", "parquet"]
Frames = Mapping[str, pl.DataFrame]


def publish(
    table: Table,
    definition: Definition,
    method: Method | None = None,
    *,
    ledger: str | Path | LedgerPlace | Ledger | None = None,
    again: bool = False,
    signing_key: Any = None,
    insecure_seed: int | None = None,
    files: FileKind = "csv",
    scratch: str | Path | None = None,
    context: Context | None = None,
) -> Release:
    """The least distorted release of ``table`` that keeps the promise ``definition``, certified and recorded.

    Without a ``method`` it is :class:`reticent.anonymize.Lattice`. A data set that has a name is released once: another release is a
    :class:`LedgerError` unless ``again``. Everything is judged once more on the public tables before the ledger is
    written, and the ledger is written before this returns. Public rows of a streamed table wait in a folder below ``scratch`` (that for
    temporary files, if not said) until they are saved.

    ``context`` (a new one for each publication) reports progress and can stop the run; it is made from ``insecure_seed`` and ``scratch`` if
    not given.
    """
    chosen = _method(table, definition, method)
    if callable(getattr(chosen, "view", None)):
        return _from_mechanism(table, definition, chosen, ledger, again, signing_key, insecure_seed, files)
    if files not in FILE_KINDS:
        raise PolicyError(f"files must be 'csv' or 'parquet', but it is {files!r}.{did_you_mean(files, FILE_KINDS)}")
    key = private_key(signing_key) if signing_key is not None else None
    context = _context(context, insecure_seed, scratch)
    book = _ledger(table, ledger)
    try:
        # Domains that come from the data come from a population too, in the draft and in the recoding of later rows.
        table = definition.prepare(table)
        draft = chosen.draft(table, definition, context)
        form = _format(draft)
        context.step("sorting and writing rows")
        tables, prints = _public_tables(table, draft, form, files, context.scratch)
        manifest = _manifest(table, draft, form, tables, files)
        context.step("checking what the files show")
        form.check(PublicSide(manifest, {}, tables))
        words = form.words(PublicSide(manifest, {}, tables))
        reference = reference_of(definition, draft.evidence, table.sensitive)
        content = content_of(definition, manifest, words, reference, draft.insecure or not context.randomness.is_secure)
        _judge(definition, draft, PublicSide(manifest, content, tables))
        prints = _fingerprints(manifest, tables, statement(content, words), prints)
        # From here on the ledger may know of it, so nothing stops any more.
        context.step("recording")
        certificates: list[dict[str, Any]] = []

        def certify(entry: Entry | None) -> str:
            certificates.append(completed(content, prints, entry, now() if entry is None else entry.made, key))
            return certificate_hash(certificates[-1])

        if book is None or table.dataset is None:
            entry = None
            certify(None)
        else:
            beside, people = unjudged if again else alone, people_of(table, book.people_key)
            entry = book.record(table.dataset, content_hash(content, prints), certify, beside=beside, people=people)
    except Cancelled as stopped:
        raise Cancelled(f"{stopped} Nothing was recorded and nothing was written.", stopped.stage) from None
    finally:
        if book is not None and book is not ledger:
            book.close()
    return Release(PublicSide(manifest, certificates[-1], tables), draft, entry)


def _from_mechanism(
    table: Table,
    definition: Definition,
    method: Any,
    ledger: str | Path | LedgerPlace | Ledger | None,
    again: bool,
    signing_key: Any,
    insecure_seed: int | None,
    files: FileKind,
) -> Release:
    """A mechanism groups nothing: it returns a view, judged by its plan and recorded, which stands in for a release."""
    key = private_key(signing_key) if signing_key is not None else None
    signer = None if key is None else lambda body: sign(body, key)
    made: Release = method.view(
        table, definition, ledger=ledger, again=again, insecure_seed=insecure_seed, files=files, signer=signer
    )
    return made


def _method(table: Table, definition: Definition, method: Method | None) -> Method:
    if not isinstance(table, Table):
        raise PolicyError(f"publish needs a Table (rt.Table or rt.read), but it got a {type(table).__name__}.")
    if not isinstance(definition, Definition):
        raise PolicyError(f"publish needs a definition such as KAnonymity(5), but it got {definition!r}.")
    if method is None:
        from reticent.anonymize import Lattice

        method = Lattice()
    if isinstance(method, type) or not isinstance(getattr(method, "keeps", None), frozenset):
        raise PolicyError(f"publish needs a method such as Lattice(), but it got {method!r}.")
    name = type(method).__name__
    reason = unkept(name, method.keeps, definition)
    if reason is None and table.streamed and not method.streams:
        reason = f"{name} needs all rows in memory, and this table is streamed. Say engine='local' if it fits, or use Lattice."
    reason = reason or method.refusal(table, definition)
    if reason is not None:
        raise PolicyError(reason, setting=("method", "name"))
    return method


def _context(given: Context | None, insecure_seed: int | None, scratch: str | Path | None) -> Context:
    if given is None:
        return Context(Randomness(insecure_seed), scratch=None if scratch is None else Path(scratch))
    if insecure_seed is not None or scratch is not None:
        raise PolicyError("publish got a context and insecure_seed= or scratch= beside it. Set them in the context.")
    return given


def _ledger(table: Table, given: str | Path | LedgerPlace | Ledger | None) -> Ledger | None:
    """The ledger, opened before the search, so that one that cannot be written is found out at once."""
    if table.dataset is None:
        return None
    return given if isinstance(given, Ledger) else Ledger(given)


def _format(draft: Draft) -> Format:
    try:
        form = format_of(draft.format)
    except DataError:
        form = None
    if form is None or set(draft.tables) != set(form.tables):
        raise PolicyError(
            f"The method {draft.method.get('name')!r} drafted the tables {sorted(draft.tables)} as {draft.format!r}, which is not a "
            "published format."
        )
    return form


def _public_tables(
    table: Table, draft: Draft, form: Format, files: FileKind, scratch: Path | None
) -> tuple[Frames, dict[str, dict[str, Any]]]:
    """The drafted tables as they are published, and what is known already of the files they will be."""
    if table.pseudonyms and PSEUDONYM in table.schema:
        raise PolicyError(f"Pseudonyms are published in a column {PSEUDONYM!r}. Rename the column of that name.")
    frames = {name: rows for name, rows in draft.tables.items() if isinstance(rows, pl.DataFrame)}
    if len(frames) == len(draft.tables):
        settled = settled_frames(frames)
        arranged = form.arranged(settled, form.columns(draft, table, settled))
        return {name: in_order(frame) for name, frame in arranged.items()}, {}
    streams = {name: rows for name, rows in draft.tables.items() if isinstance(rows, StreamRows)}
    stored, prints = write_sorted(streams, files, (*table.quasi, *table.sensitive), scratch)
    _check_rows(draft, stored)
    return stored, {f"{name}.{files}": told for name, told in prints.items()}


def _check_rows(draft: Draft, tables: StoredTables) -> None:
    """A stream is read several times, so its source must stand still."""
    drafted, written = int(draft.evidence.published.sizes.sum()), height(tables, format_of(draft.format).tables[0])
    if drafted != written:
        raise DataError(
            f"The source changed while it was read: {drafted} rows were to be published, and then there were {written}. Nothing was published; "
            "publish a copy that nobody writes to."
        )


def _manifest(table: Table, draft: Draft, form: Format, tables: Frames, files: FileKind) -> Manifest:
    return Manifest(
        draft.format,
        form.columns(draft, table, tables),
        {name: ManifestTable((f"{name}.{files}",), tuple(schema_of(tables, name))) for name in tables},
        draft.method,
        table.unit,
        table.quasi_sets,
    )


def _judge(definition: Definition, draft: Draft, side: PublicSide) -> None:
    """No release leaves on a method's word alone: its evidence, and what the public tables show, must pass."""
    found = verdict(definition, judge(definition, draft.evidence))
    failing = None if found.holds else str(definition) if found.witness is None else found.witness.text
    for check in check_claims(side, _population(definition)):
        if check.status == "fails":
            failing = f"{check.name}: {check.detail}"
    if failing is not None:
        raise PolicyError(
            f"The method {draft.method.get('name')!r} made a draft that does not keep what it promises ({failing}). Nothing was published."
        )


def _population(definition: Definition) -> Any:
    """The population that the definition compares with, if it does."""
    return next((getattr(part, "population", None) for part in definition.parts() if part.needs_population), None)


def _fingerprints(
    manifest: Manifest, tables: Frames, said: str, known: Mapping[str, dict[str, Any]]
) -> dict[str, dict[str, Any]]:
    contents = {MANIFEST: readable(manifest.as_json()), STATEMENT: said.encode()}
    prints = {name: fingerprint(each) for name, each in contents.items()}
    for name, table in manifest.tables.items():
        file = table.files[0]
        prints[file] = known.get(file) or fingerprint(file_bytes(tables[name], Path(file).suffix.lstrip(".")))
    return prints
