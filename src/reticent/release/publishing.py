"""Publishing: from a table and a definition to a release. Nothing leaves before it was judged and recorded."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import polars as pl

from reticent.data import Context, Draft, Table
from reticent.data.stream import Stream
from reticent.definitions import Definition
from reticent.errors import DataError, PolicyError, did_you_mean
from reticent.ledger import Ledger
from reticent.ledger.store import now
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
from reticent.release.formats import FORMATS
from reticent.release.manifest import Manifest, ManifestColumn, ManifestTable, Role
from reticent.release.public import PublicSide, check_labels
from reticent.release.reference import reference_of
from reticent.release.release import Release
from reticent.release.scheme import scheme_of
from reticent.release.signing import private_key, sign
from reticent.release.stored import StoredTables, counted, height, schema_of, write_sorted
from reticent.release.tables import FILE_KINDS, file_bytes, labels_of, public_frames
from reticent.release.values import readable, type_of
from reticent.release.wording import statement

if TYPE_CHECKING:
    from reticent.anonymize.base import Method

FileKind = Literal["csv", "parquet"]
Frames = Mapping[str, pl.DataFrame]
PSEUDONYM = "pseudonym"


def publish(
    table: Table,
    definition: Definition,
    method: Method | None = None,
    *,
    ledger: str | Path | Ledger | None = None,
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
    if isinstance(table, Table) and callable(getattr(method, "view", None)):
        return _from_mechanism(table, definition, method, ledger, again, signing_key, insecure_seed, files)
    chosen = _method(table, definition, method)
    if files not in FILE_KINDS:
        raise PolicyError(f"files must be 'csv' or 'parquet', but it is {files!r}.{did_you_mean(files, FILE_KINDS)}")
    key = private_key(signing_key) if signing_key is not None else None
    context = _context(context, insecure_seed, scratch)
    book = _ledger(table, ledger)
    try:
        # Domains that come from the data come from a population too, in the draft and in the scheme that recodes later rows.
        table = definition.prepare(table)
        draft = chosen.draft(table, definition, context)
        tables, prints = _public_tables(table, draft, files, context.scratch)
        manifest = _manifest(table, draft, tables, files)
        reference = reference_of(definition, draft.groups, table.sensitive)
        content = content_of(definition, manifest, reference, draft.insecure or not context.randomness.is_secure)
        _judge(definition, draft, PublicSide(manifest, content, tables))
        prints = _fingerprints(manifest, tables, content, prints)
        scheme = scheme_of(draft, table, tables)
        certificates: list[dict[str, Any]] = []

        def certify(number: int | None, made: str) -> str:
            certificates.append(completed(content, prints, (table.dataset, number), made, key))
            return certificate_hash(certificates[-1])

        if book is None or table.dataset is None:
            certify(None, now())
        else:
            book.releases.record(table.dataset, content_hash(content, prints), certify, again=again)
    finally:
        if book is not None and book is not ledger:
            book.close()
    return Release(PublicSide(manifest, certificates[-1], tables), draft, scheme)


def _from_mechanism(
    table: Table,
    definition: Definition,
    method: Any,
    ledger: str | Path | Ledger | None,
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

        return Lattice()
    if isinstance(method, type) or not callable(getattr(method, "draft", None)):
        raise PolicyError(f"publish needs a method such as Lattice(), but it got {method!r}.")
    if table.streamed and not getattr(method, "streams", False):
        raise PolicyError(
            f"{type(method).__name__} needs all rows in memory, and this table is streamed. Say engine='local' if it fits, or use Lattice."
        )
    return method


def _context(given: Context | None, insecure_seed: int | None, scratch: str | Path | None) -> Context:
    if given is None:
        return Context(Randomness(insecure_seed), scratch=None if scratch is None else Path(scratch))
    if insecure_seed is not None or scratch is not None:
        raise PolicyError("publish got a context and insecure_seed= or scratch= beside it. Set them in the context.")
    return given


def _ledger(table: Table, given: str | Path | Ledger | None) -> Ledger | None:
    """The ledger, opened before the search, so that one that cannot be written is found out at once."""
    if table.dataset is None:
        return None
    return given if isinstance(given, Ledger) else Ledger(given)


def _public_tables(
    table: Table, draft: Draft, files: FileKind, scratch: Path | None
) -> tuple[Frames, dict[str, dict[str, Any]]]:
    """The drafted tables as they are published, and what is known already of the files they will be."""
    if draft.format not in FORMATS or set(draft.tables) != set(FORMATS[draft.format].tables):
        raise PolicyError(
            f"The method {draft.method.get('name')!r} drafted the tables {sorted(draft.tables)} as {draft.format!r}, which is not a "
            "published format."
        )
    if table.pseudonyms and PSEUDONYM in table.schema:
        raise PolicyError(f"Pseudonyms are published in a column {PSEUDONYM!r}. Rename the column of that name.")
    frames = {name: rows for name, rows in draft.tables.items() if isinstance(rows, pl.DataFrame)}
    if len(frames) == len(draft.tables):
        return public_frames(frames, _bucket_columns(table, draft)[0]), {}
    streams = {name: rows for name, rows in draft.tables.items() if isinstance(rows, Stream)}
    written = write_sorted(streams, files, (*table.quasi, *table.sensitive), scratch)
    _check_rows(draft, written.tables)
    return written.tables, {f"{name}.{files}": dict(told) for name, told in written.prints.items()}


def _check_rows(draft: Draft, tables: StoredTables) -> None:
    """A stream is read several times, so its source must stand still."""
    drafted, written = int(draft.groups.sizes.sum()), height(tables, FORMATS[draft.format].tables[0])
    if drafted != written:
        raise DataError(
            f"The source changed while it was read: {drafted} rows were to be published, and then there were {written}. Nothing was published; "
            "publish a copy that nobody writes to."
        )


def _manifest(table: Table, draft: Draft, tables: Frames, files: FileKind) -> Manifest:
    bucket, count = _bucket_columns(table, draft)
    schemas = {name: schema_of(tables, name) for name in tables}
    main = FORMATS[draft.format].tables[0]
    quasi, _ = counted(tables, main, [name for name in schemas[main] if name in table.quasi])
    listed = {name: schema[name] for schema in schemas.values() for name in schema if name not in (bucket, count)}
    manifest = Manifest(
        draft.format,
        tuple(
            _quasi_column(table, draft, quasi[name])
            if name in table.quasi
            else ManifestColumn(name, _role(table, name), type_of(dtype))
            for name, dtype in listed.items()
        ),
        {name: ManifestTable(f"{name}.{files}", tuple(schema)) for name, schema in schemas.items()},
        draft.method,
        table.unit,
        table.quasi_sets,
        bucket,
        count,
    )
    FORMATS[draft.format].check(tables, manifest)
    check_labels(tables, manifest)
    return manifest


def _bucket_columns(table: Table, draft: Draft) -> tuple[str | None, str | None]:
    """The columns of a bucketized draft that no column of the table stands behind: the bucket, in both tables, and a count."""
    if draft.format != "bucketize":
        return None, None
    quasi, sensitive = (draft.tables[name].columns for name in ("quasi", "sensitive"))
    shared = [name for name in quasi if name in sensitive]
    if len(shared) != 1:
        raise PolicyError(
            f"The two tables of a bucketized draft must share one column, the bucket, but they share {shared}."
        )
    if shared[0] in table.schema:
        raise PolicyError(f"A bucketized release calls its bucket {shared[0]!r}. Rename the column of that name.")
    counts = [name for name in sensitive if name not in table.sensitive and name not in shared]
    return shared[0], counts[0] if counts else None


def _quasi_column(table: Table, draft: Draft, series: pl.Series) -> ManifestColumn:
    name, exact = series.name, draft.format == "bucketize"
    meanings = draft.meanings.get(name, {})
    labels = {label: meanings[label] for label in labels_of(series, meanings) if label in meanings}
    domain = draft.domains.get(name)
    # Whether values are missing depends on the data, so it is not part of what was declared.
    declared = [value for value in domain if value is not None] if domain is not None else None
    return ManifestColumn(name, "quasi", type_of(table.schema[name]), labels, exact, declared)


def _role(table: Table, name: str) -> Role:
    if name in table.sensitive:
        return "sensitive"
    if name in table.other:
        return "other"
    if table.pseudonyms and name == PSEUDONYM:
        return "pseudonym"
    raise PolicyError(f"The method drafted the column {name!r}, which has no role that is published.")


def _judge(definition: Definition, draft: Draft, side: PublicSide) -> None:
    """No release leaves on a method's word alone: its groups, and those that the public tables show, must pass."""
    failing = None
    # A draft's groups are those of all quasi columns together, which is not what is promised where there are several sets.
    if side.manifest.quasi_sets is None and not definition.holds(draft.groups):
        found = definition.assess(draft.groups)
        failing = found.witness.text if found.witness is not None else str(definition)
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
    manifest: Manifest, tables: Frames, content: Mapping[str, Any], known: Mapping[str, dict[str, Any]]
) -> dict[str, dict[str, Any]]:
    contents = {
        MANIFEST: readable(manifest.as_json()),
        STATEMENT: statement(content, manifest).encode(),
    }
    prints = {name: fingerprint(each) for name, each in contents.items()}
    for name, table in manifest.tables.items():
        kind = cast(FileKind, Path(table.file).suffix.lstrip("."))
        prints[table.file] = known.get(table.file) or fingerprint(file_bytes(tables[name], kind))
    return prints
