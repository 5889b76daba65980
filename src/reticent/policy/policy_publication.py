"""From a policy to a saved release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from reticent.base.context import Context
from reticent.definitions import Definition
from reticent.errors import Cancelled, DataError, PolicyError, ReticentError
from reticent.io import Source
from reticent.ledger import Ledger, LedgerLocation, withdrawn_if_unsaved
from reticent.policy.expressions import definition_from_text
from reticent.policy.policy import Policy
from reticent.table import Table

if TYPE_CHECKING:
    from reticent.release import Release


@dataclass(frozen=True)
class Published:
    """A release, its folder, and the table that it was made from."""

    release: Release
    table: Table
    path: Path
    report: Path | None
    definition: Definition
    log: Path | None = None


def publish_policy(
    policy: Policy,
    output: str | Path | None = None,
    *,
    again: bool | None = None,
    sign: str | Path | Sequence[str | Path] | None = None,
    report: bool | None = None,
    definition: str | None = None,
    ledger: str | Path | None = None,
    files: str | None = None,
    engine: str | None = None,
    to: str | None = None,
    to_table: str | None = None,
    identity: str | None = None,
    source: Source | None = None,
    log: str | Path | None = None,
    log_key: str | Path | None = None,
    method: Mapping[str, Any] | None = None,
    context: Context | None = None,
) -> Published:
    """Publish the policy. Each argument overrides the policy's setting; None keeps it.

    The folder and the log are checked first: nothing is recorded for a release that could not be saved.
    """
    from reticent.release import private_keys, publish

    release_section = policy.sections.release
    target = Path(output) if output is not None else policy.path(release_section.output)
    if target is None:
        raise policy.error(("release",), "name the folder of the release: -o FOLDER, or [release] output = 'FOLDER'.")
    location = LedgerLocation.of(
        ledger if ledger is not None else policy.path(release_section.ledger), policy.path(release_section.newest)
    )
    unfinished = _is_unfinished(target, location)
    if not unfinished:
        check_free(target)
    database, table_name = (
        to if to is not None else release_section.to,
        to_table if to_table is not None else release_section.to_table,
    )
    if (database is None) != (table_name is None):
        raise PolicyError(
            "--to names the database (to = under [release]) and --to-table the table in it (to_table =): pass both.",
            setting=("to",),
        )
    chosen = definition_from_text(definition) if definition is not None else policy.definition
    replaced = {name: value for name, value in (method or {}).items() if value is not None}
    policy.named_method(**replaced)  # errors in it are reported before any row is read
    keys = private_keys(sign or [policy.path(path) for path in release_section.sign])
    log_writer = _LogWriter.of(
        log if log is not None else policy.path(release_section.log),
        log_key if log_key is not None else policy.path(release_section.log_key),
        keys,
    )
    wants_report = release_section.report if report is None else report
    table = policy.table(source, engine=cast(Any, engine), context=context)
    chosen_method = policy.method(table, chosen, **replaced)
    with nullcontext() if table.dataset is None else Ledger(location) as book:
        with policy.hinting("hierarchies", "declared", "roles", *([] if replaced else ["method"])):
            release = publish(
                table,
                chosen,
                method=chosen_method,
                ledger=location if book is None else book,
                again=release_section.again if again is None else again,
                signing_key=keys,
                files=cast(Any, files if files is not None else release_section.files),
                context=replace(context or Context(), scratch=_nearest(target)),
            )
        if unfinished and book is not None and release.entry is not None and release.entry.new:
            book.withdraw(release.entry, f"{str(target)!r} holds another release.")
            check_free(target)
        _save(
            release, book, target, database, table_name, identity if identity is not None else release_section.identity
        )
    if log_writer is not None:
        log_writer.add(release, target)
    report_file = _report(release, table, target, wants_report, policy.sections.analysis.models, context or Context())
    return Published(release, table, target, report_file, chosen, None if log_writer is None else log_writer.path)


@dataclass(frozen=True)
class _LogWriter:
    """A log of releases with its signing key, validated before anything is published."""

    path: Path
    key: Any

    @classmethod
    def of(cls, path: str | Path | None, key: str | Path | None, signing: Sequence[Any]) -> _LogWriter | None:
        """Return the named log, if any; by default the key that signs the certificate also signs its head."""
        if path is None:
            if key is not None:
                raise PolicyError("--log-key needs a log: name it with --log.", setting=("log_key",))
            return None
        from reticent.release import private_key
        from reticent.release.trust import ReleaseLog, check_writer

        if key is None and not signing:
            raise PolicyError("A log must be signed: name its private key with --log-key.", setting=("log_key",))
        writer = cls(Path(path), private_key(key) if key is not None else signing[0])
        check_writer(ReleaseLog.read(writer.path), writer.key)
        return writer

    def add(self, release: Release, target: Path) -> None:
        """Add the certificate of a saved release."""
        from reticent.release.trust import append

        try:
            append(self.path, release.certificate, self.key)
        except (ReticentError, OSError) as error:
            raise DataError(
                f"The release was published in {str(target)!r}, but the log {str(self.path)!r} could not be written: {error} "
                f"Add it with: reticent log add {self.path} {target}"
            ) from error


def _save(
    release: Release, book: Ledger | None, target: Path, to: str | None, table: str | None, identity: str | None
) -> None:
    """Save the release; if it is interrupted before its folder exists, it is withdrawn, and the message says so."""
    entry = release.entry
    try:
        with withdrawn_if_unsaved(entry, target, book):
            release.save(target, to=to, table=table, identity=identity, ledger=book)
    except (Cancelled, KeyboardInterrupt):
        if (target / "public").exists():
            raise Cancelled(
                f"Interrupted after {str(target)!r} was written. The release is published and complete, and the ledger counts it.",
                "saving",
            ) from None
        if entry is None:
            ledger_state = "Nothing was recorded."
        elif entry.new:
            ledger_state = f"Release {entry.number} of {entry.dataset!r}, reserved in the ledger, was withdrawn."
        else:
            ledger_state = f"Release {entry.number} of {entry.dataset!r} was already in the ledger and stays there."
        raise Cancelled(
            f"Interrupted while saving to {str(target)!r}. No folder was written. {ledger_state}", "saving"
        ) from None


def _nearest(target: Path) -> Path:
    """Return the nearest existing folder above ``target``: files spooled there can be moved."""
    return next(folder for folder in target.absolute().parents if folder.exists())


def _is_unfinished(target: Path, location: LedgerLocation) -> bool:
    """True if a folder holds a release of a process that was killed before the ledger recorded it."""
    if not (target / "public").is_dir() or not location.path.exists():
        return False
    from reticent.release import certificate_hash, open_public

    stated = open_public(target).certificate
    dataset = (stated.get("ledger") or {}).get("dataset")
    if dataset is None:
        return False
    with Ledger(location) as book:
        entries = book.entries(str(dataset))
    return any(entry.status == "reserved" and entry.certificate == certificate_hash(stated) for entry in entries)


def check_free(target: Path) -> None:
    """Refuse a folder that exists and is not empty."""
    if target.is_dir() and not any(target.iterdir()):
        return
    if target.exists():
        raise DataError(
            f"{str(target)!r} exists already. Choose another folder, or remove it first. Nothing was published."
        )
    parent = _nearest(target)
    if not parent.is_dir():
        raise DataError(
            f"{str(target)!r} cannot be created, because {str(parent)!r} is not a folder. Nothing was published."
        )


def _report(
    release: Release, table: Table, target: Path, is_requested: bool, models: Sequence[str], context: Context
) -> Path | None:
    """Write the steward's report to the private folder: it describes the raw table. Progress is reported; the release is complete, so nothing stops here."""
    if not is_requested:
        return None
    from reticent.reports import write_stewards_report

    heard = Context(listen=context.listen)
    heard.step("writing the steward's report")
    return write_stewards_report(release, target / "private" / "report.html", table, models=models, context=heard)
