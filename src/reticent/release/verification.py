"""Verification: recompute every claim of a release from its public side alone.

Without a key it detects every inconsistency but cannot prove where the files come from. With the publisher's key it
proves that, and detects any changed byte.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
from polars.exceptions import PolarsError

import reticent
from reticent.base.cards import Card, CardTable, ShownAsCard, sentence_case
from reticent.base.context import Context
from reticent.base.documents import LARGEST, read_document
from reticent.definitions import Definition, all_of
from reticent.errors import Cancelled, DataError, MissingPackage, PolicyError, ReticentError
from reticent.io import people_of
from reticent.ledger import is_time
from reticent.release import statements as wording
from reticent.release.canonical_json import parsed, readable
from reticent.release.certificate import (
    CERTIFICATE,
    MANIFEST,
    STATEMENT,
    claims_of,
    fingerprint,
    read_certificate,
)
from reticent.release.claims import Check, check_claims, read_claims
from reticent.release.computable_columns import failing_records
from reticent.release.declared_columns import DeclaredColumns
from reticent.release.headline import Headline
from reticent.release.joint_claims import joined_promises
from reticent.release.origin import Origin
from reticent.release.public import (
    PublicFile,
    PublicSide,
    open_public,
    public_folder,
    read_files,
    read_public,
    small_file,
)
from reticent.release.public_tables import hash_file
from reticent.table import stand_in_order

if TYPE_CHECKING:
    from reticent.release.release import Release


@dataclass(frozen=True, repr=False)
class Verification(ShownAsCard):
    """Result of a verification. ``signed``: a valid signature exists; only a key shows whose it is. ``reservations``: what
    claims that hold do not cover.
    """

    path: Path
    checks: tuple[Check, ...]
    signed: bool
    reservations: tuple[str, ...] = ()

    def card(self) -> Card:
        """Summarise for display: the verdict with reasons, every check, and the recomputed claims."""
        title, *reasons = self.headline.lines()
        rows = [(check.name, check.status, check.detail) for check in self.checks]
        sections = (("Recomputed from the published files:", self.recomputed), ("Not re-checked:", self.unchecked))
        return Card(
            title,
            {"checks": len(self.checks), "failures": len(self.failures), "signed": self.signed},
            self.headline.tone,
            [CardTable(("check", "result", "why"), rows, str(self.path))],
            reasons,
            [
                line
                for name, sentences in sections
                if sentences
                for line in (name, *(f"- {sentence}" for sentence in sentences))
            ],
        )

    @property
    def ok(self) -> bool:
        """True if everything holds."""
        return self.holds

    def as_dict(self) -> dict[str, Any]:
        """The verdict and every check as plain data."""
        return {
            "holds": self.holds,
            "headline": self.headline.as_json(),
            "recomputed": list(self.recomputed),
            "unchecked": list(self.unchecked),
            "signed": self.signed,
            "path": self.path,
            "checks": [check._asdict() for check in self.checks],
        }

    @property
    def headline(self) -> Headline:
        """The verdict in one word with its reasons, as far as the files show them."""
        return Headline.of_checks(self.checks, self.reservations)

    @property
    def holds(self) -> bool:
        """True if no check fails and every claim was recomputed and holds."""
        return self.headline.holds

    @property
    def recomputed(self) -> tuple[str, ...]:
        """Sentences of the claims that were recomputed and hold."""
        holding = [check for check in self.checks if check.claim and check.status == "holds"]
        promises = joined_promises(check.promised for check in holding if check.promised is not None)
        joined = [wording.covers(*promise) for promise in promises]
        return tuple(dict.fromkeys((*joined, *(check.sentence for check in holding if check.promised is None))))

    @property
    def unchecked(self) -> tuple[str, ...]:
        """What the files do not show: claims that were not recomputed, and what the publisher attests in addition."""
        return tuple(
            f"{check.sentence} ({check.detail})" if check.sentence else f"{sentence_case(check.name)}: {check.detail}"
            for check in self.checks
            if check.status == "not re-checked"
        )

    @property
    def failures(self) -> tuple[Check, ...]:
        """The checks that failed."""
        return tuple(check for check in self.checks if check.status == "fails")


def verify(
    path: str | Path | Sequence[str | Path],
    population: Any = None,
    key: Any = None,
    *,
    trust: Any = None,
    log: str | Path | None = None,
    remember: str | Path | None = None,
    context: Context | None = None,
) -> Verification:
    """Recompute everything that a release claims, from its public folder alone.

    Parameters:
        path: the folder of a release; or a list of folders, the releases of one data set in order: each is verified, and the last one's claims about the series are judged on all of them together.
        population: a frame, a table or a file with the quasi columns, for claims that compare with one; without it they are not re-checked.
        key: the publisher's public key (a path, a key, or its hexadecimal digits), which must have signed.
        trust: a trust file instead: its threshold of holders must have signed, with valid keys.
        log: a log of releases, which must contain the certificate.
        remember: a file that keeps the last log head seen, with which the log must be consistent.
        context: reports progress and can stop the run; claims after its deadline are not re-checked.

    Returns:
        A verification: ``holds``, ``headline``, and every check with its detail.

    Example:
        >>> import reticent as rt
        >>> table = rt.Table({"age": [31, 33, 52, 58]}, quasi=["age"])
        >>> folder = rt.publish(table, rt.KAnonymity(2), method="Mondrian").save("release")
        >>> rt.verify(folder).holds
        True
    """
    origin = Origin.of(key, trust, log, remember)
    context = context or Context()
    # An unreadable population is not a fault of the release.
    people = None if population is None else people_of(population)
    if not isinstance(path, str | Path):
        return _series([Path(folder) for folder in path], people, origin, context)
    return _verified(path, people, origin, context)


def _series(folders: Sequence[Path], people: pl.DataFrame | None, origin: Origin, context: Context) -> Verification:
    """Verify the releases of a series, each with its predecessors, and whether they form one series.

    A claim about the history is re-checked only if no release is missing: the ledger's numbers are consecutive from 1,
    or releases name their predecessors.
    """
    if not folders:
        raise PolicyError("verify got an empty list. Pass the folders of a series, first to last.")
    checks: list[Check] = []
    earlier: list[PublicSide] = []
    signed, reservations = True, list[str]()
    for number, folder in enumerate(folders, start=1):
        positions = [side.form.place_in_series(side) for side in earlier]
        is_chained = bool(earlier) and (
            all(side.form.chained for side in earlier) or positions == list(range(1, number))
        )
        is_complete = is_chained or [*map(_entry_number, earlier), _number_told(folder)] == list(range(1, number + 1))
        verification = _verified(folder, people, origin, context, tuple(earlier) if is_complete else None)
        signed = signed and verification.signed
        reservations += [f"Release {number}: {reason}" for reason in verification.reservations]
        checks += [check._replace(name=f"release {number}, {check.name}") for check in verification.checks]
        if verification.failures:
            break
        earlier.append(open_public(folder))
    else:
        checks.append(_check_series([side.certificate["ledger"] for side in earlier]))
    return Verification(public_folder(folders[-1]), tuple(checks), signed, tuple(reservations))


def _number_told(folder: Path) -> int | None:
    """Return the ledger number in a certificate; None if it cannot be read."""
    try:
        return _entry_number(open_public(folder))
    except DataError:
        return None


def _entry_number(side: PublicSide) -> int | None:
    entry = side.certificate.get("ledger")
    number = entry.get("release") if isinstance(entry, Mapping) else None
    return number if isinstance(number, int) else None


def _check_series(entries: Sequence[Mapping[str, Any]]) -> Check:
    """Check that the releases are of one data set and in order; completeness relies on the ledger."""
    numbers = [entry["release"] for entry in entries]
    if len({entry["dataset"] for entry in entries}) > 1:
        return Check("series", "fails", "The folders are releases of different data sets.")
    if None in numbers:
        return Check("series", "not re-checked", "The data set has no name, so the order of its releases is not known.")
    if any(after <= before for before, after in pairwise(numbers)):
        return Check(
            "series", "fails", f"The folders are not in the order of their releases: {', '.join(map(str, numbers))}."
        )
    return Check(
        "series", "holds", f"Releases {', '.join(map(str, numbers))} of {entries[0]['dataset']!r}, in their order."
    )


def _verified(
    path: str | Path,
    people: pl.DataFrame | None,
    expected_origin: Origin,
    context: Context,
    earlier: tuple[PublicSide, ...] | None = None,
) -> Verification:
    """Verify one release: its files against the certificate, then every claim, figure and sentence against the files."""
    folder = public_folder(path)
    context.step("reading the files")
    try:
        _check_sizes(folder)
        files = read_files(folder)
        certificate = _read_certificate(files)
    except DataError as error:
        return Verification(folder, (Check("certificate", "fails", str(error)),), False)
    states_before = _states(files)
    checks = [Check("certificate", "holds", "It can be read, and it is written as Reticent writes it.")]
    origin, signed, refused = expected_origin.judge(certificate)
    if refused:
        # With a key, do not spend time on files that someone else made.
        unread = Check(
            "claims", "not re-checked", "The certificate is not the publisher's, so nothing else was read.", claim=True
        )
        return Verification(folder, (*checks, *origin, unread), signed)
    checks.extend([_check_files(files, certificate, context), *origin])
    if checks[1].status == "fails":
        checks.append(Check("claims", "not re-checked", "The files do not match the certificate.", claim=True))
        return Verification(folder, tuple(checks), signed)
    reservations: tuple[str, ...] = ()
    try:
        context.step("reading tables and labels")
        side = read_public(files)
        checks.append(_check_agreement(side, small_file(files, MANIFEST)))
        context.step("checking the order of rows")
        checks.append(_check_order(side))
        checks.extend(check_claims(side, people, earlier, context))
        declared = DeclaredColumns.of(side, _known_claims(side))
        checks.extend(_check_declared(side, declared))
        checks.extend(_check_computable(side))
        reservations = reservations_of(side, declared)
        checks.append(_check_wording(side, files, declared, reservations))
    except (Cancelled, MissingPackage):
        # Whether the claims hold is unknown, and nothing is wrong with the files.
        raise
    except ReticentError as error:
        checks.append(Check("consistency", "fails", str(error)))
    except (ArithmeticError, LookupError, TypeError, ValueError, PolarsError) as error:
        # Tampered files may contain anything; any exception here means that Reticent did not write them.
        checks.append(Check("consistency", "fails", f"The files cannot be parsed ({type(error).__name__}: {error})."))
    if _states(files) != states_before:
        checks.append(Check("consistency", "fails", "A table was changed while it was being checked."))
    checks.extend(_stated(certificate))
    return Verification(folder, tuple(checks), signed, reservations)


def _check_sizes(folder: Path) -> None:
    """Refuse a file larger than the certificate states before reading it: endless data must not exhaust memory."""
    path = folder / CERTIFICATE
    if not path.is_file() or path.is_symlink():
        return
    files_stated = parsed(read_document(path), CERTIFICATE).get("files")
    for public_path in folder.iterdir():
        size = public_path.lstat().st_size
        file_entry = files_stated.get(public_path.name) if isinstance(files_stated, dict) else None
        size_stated = file_entry.get("bytes") if isinstance(file_entry, dict) else None
        if size > LARGEST and not (isinstance(size_stated, int) and size <= size_stated):
            raise DataError(
                f"public/{public_path.name} has {size:,} bytes, which is not what the certificate states; it was not read."
            )


def _states(files: Mapping[str, PublicFile]) -> dict[str, tuple[int, ...]]:
    """Return file states that reveal whether a table read out of core is still the one whose bytes were hashed."""
    stats = {name: content.stat() for name, content in files.items() if isinstance(content, Path)}
    return {name: (stat.st_ino, stat.st_size, stat.st_mtime_ns) for name, stat in stats.items()}


def _read_certificate(files: Mapping[str, PublicFile]) -> dict[str, Any]:
    """Return the certificate; refused if it is missing, invalid, or not in the canonical form in which Reticent writes it."""
    if CERTIFICATE not in files:
        raise DataError(f"public/{CERTIFICATE} is missing.")
    content = small_file(files, CERTIFICATE)
    certificate = read_certificate(content)
    _check_stated(certificate)
    if readable(certificate) != content:
        raise DataError(f"{CERTIFICATE} is not in the form that Reticent writes: it was changed.")
    return certificate


def _check_stated(certificate: Mapping[str, Any]) -> None:
    """Check the format of the entries that no published file can confirm: the creation time and the ledger's data set
    and number.
    """
    if not is_time(certificate["created"]):
        raise DataError(f"{CERTIFICATE}: {certificate['created']!r} is not a creation time.")
    entry = certificate["ledger"]
    is_named = entry["dataset"] is not None
    if is_named != (entry["release"] is not None) or (
        "beside" in entry and not (is_named and entry["beside"] is not None)
    ):
        raise DataError(f"{CERTIFICATE}: the ledger entry must have both a data set and a release number, or neither.")


def _check_files(files: Mapping[str, PublicFile], certificate: Mapping[str, Any], context: Context) -> Check:
    """Check that the folder has exactly the stated files, each with the stated hash and size."""
    files_stated = certificate["files"]
    for name in sorted(set(files_stated) - set(files)):
        return Check("files", "fails", f"public/{name} is missing.")
    for name in sorted(set(files) - set(files_stated) - {CERTIFICATE}):
        return Check("files", "fails", f"public/{name} is not part of the release.")
    for number, (name, fingerprint_stated) in enumerate(files_stated.items()):
        context.step("hashing files", number, len(files_stated), name)
        content = files[name]
        fingerprint_found = hash_file(content) if isinstance(content, Path) else fingerprint(content)
        if fingerprint_stated != fingerprint_found or type(fingerprint_stated["bytes"]) is not int:
            return Check("files", "fails", f"public/{name} is not the file that the certificate was made for.")
    return Check("files", "holds", f"{len(files_stated)} files have the fingerprints that the certificate states.")


def _check_agreement(side: PublicSide, written: bytes) -> Check:
    """Check that the manifest is in canonical form, and that the certificate refers to the same columns and format."""
    certificate, manifest = side.certificate, side.manifest
    if readable(manifest.as_json()) != written:
        return Check("consistency", "fails", f"{MANIFEST} is not in the form that Reticent writes: it was changed.")
    if manifest.method.get("format", manifest.format) != manifest.format:
        return Check("consistency", "fails", f"{MANIFEST}: the method's format is not that of the release.")
    described = {
        "format": manifest.format,
        "quasi": list(manifest.named("quasi")),
        "sensitive": list(manifest.named("sensitive")),
        "unit": manifest.unit,
    }
    for name, value in described.items():
        if certificate[name] != value:
            return Check(
                "consistency",
                "fails",
                f"The certificate states {name} = {certificate[name]!r}, but the manifest {value!r}.",
            )
    return Check("consistency", "holds", "Tables, labels, manifest and certificate agree.")


def _check_order(side: PublicSide) -> Check:
    """Check that rows are sorted by their own values, unless the format defines their order."""
    if side.form.order == "own":
        return Check("order", "holds", "Rows are in the order that the format defines.")
    for name, rows in side.rows.items():
        if not stand_in_order(rows):
            return Check("order", "fails", f"The rows of {name} are not sorted, so their order may disclose something.")
    return Check("order", "holds", "Rows are sorted by their own values: their order tells nothing.")


def _known_claims(side: PublicSide) -> tuple[Definition, ...]:
    """Return the claims that this version knows."""
    return tuple(claim.definition for claim in read_claims(side.certificate) if claim.definition is not None)


def _check_declared(side: PublicSide, declared: DeclaredColumns) -> Iterator[Check]:
    """Check the certificate's figures on how many records each declared column distinguishes."""
    certificate = side.certificate
    if declared.each and len(_known_claims(side)) < len(certificate["claims"]):
        yield Check(
            "declared columns",
            "not re-checked",
            "This version does not know one of the claims, so the threshold for small classes is unknown.",
        )
    elif certificate["declared"] != declared.listed() or certificate["declared_together"] != declared.summed():
        difference = next(
            (
                f"says {stated!r}, and counting gives {counted!r}"
                for stated, counted in zip(certificate["declared"], declared.listed(), strict=False)
                if stated != counted
            ),
            f"lists {len(certificate['declared'])} columns with {certificate['declared_together']!r} together, and counting gives {declared.summed()!r} for {len(declared.each)}",
        )
        yield Check("declared columns", "fails", f"The certificate {difference}.")
    elif declared.each:
        yield Check("declared columns", "holds", f"Recounted in the published rows. {' '.join(declared.sentences())}")


def _check_computable(side: PublicSide) -> Iterator[Check]:
    """Check that columns the manifest marks as computable make no class of records fail a claim."""
    columns = {column.name: column.computable for column in side.manifest.columns if column.computable}
    if not columns:
        return
    derivations = "; ".join(f"{name!r} from {' and '.join(map(repr, sources))}" for name, sources in columns.items())
    failing = failing_records(side, _known_claims(side), tuple(columns)).records
    if failing:
        text = f"Columns can be computed from others ({derivations}), and {failing:,} records are in classes that then fail a claim."
        yield Check("computable columns", "fails", text)
    else:
        text = f"Columns can be computed from others ({derivations}); the claims hold against an adversary who does so."
        yield Check("computable columns", "holds", text)


def headline_of(target: Release | PublicSide | str | Path, context: Context | None = None) -> Headline:
    """Return the verdict on a release's claims without a population or earlier releases: that of :func:`verify` for a
    folder, except that files may have changed since.
    """
    if isinstance(target, str | Path):
        return verify(target, context=context).headline
    side = target if isinstance(target, PublicSide) else target.public
    return Headline.of_checks(tuple(check_claims(side, None, None, context or Context())), reservations_of(side))


def reservations_of(side: PublicSide, declared: DeclaredColumns | None = None) -> tuple[str, ...]:
    """Return what the known claims do not cover, recomputed from the published rows."""
    claims = _known_claims(side)
    declared = declared or DeclaredColumns.of(side, claims)
    return tuple(wording.reservations(side, claims, declared, _is_insecure(side)))


def _is_insecure(side: PublicSide) -> bool:
    return side.certificate["randomness"].get("releasable") is not True


def _check_wording(
    side: PublicSide, files: Mapping[str, PublicFile], declared: DeclaredColumns, reserved: tuple[str, ...]
) -> Check:
    """Check that the plain-language text matches the exact entries; only the version that wrote it can tell."""
    certificate = side.certificate
    if certificate["reticent"] != reticent.__version__:
        text = f"The text was written by Reticent {certificate['reticent']}; this is {reticent.__version__}."
        return Check("wording", "not re-checked", text)
    known_claims = _known_claims(side)
    if len(known_claims) < len(certificate["claims"]):
        return Check("wording", "not re-checked", "A claim is not known to this version.")
    definition = all_of(known_claims)
    insecure = _is_insecure(side)
    words = side.form.words(side)
    if certificate["claims"] != claims_of(definition, wording.scope_of(side.manifest), certificate["reference"]):
        return Check("wording", "fails", "The plain-language text of a claim is not that of its definition.")
    if certificate["headline"] != Headline.holding(reserved).as_json():
        return Check("wording", "fails", "The headline is not that of this release.")
    if certificate["residual_risks"] != wording.risks(
        definition, side.manifest, words, certificate["reference"], insecure, declared
    ):
        return Check("wording", "fails", "The residual risks are not those of this release.")
    if certificate["randomness"] != {
        "releasable": not insecure,
        "statement": wording.INSECURE if insecure else wording.SECURE,
    }:
        return Check("wording", "fails", "The entries about randomness contradict each other.")
    ledger_entry = certificate["ledger"]
    if ledger_entry.get("statement") != wording.ledger_statement(
        ledger_entry.get("dataset"), ledger_entry.get("release"), ledger_entry.get("beside")
    ):
        return Check("wording", "fails", "The entries about earlier releases contradict each other.")
    if files.get(STATEMENT) != wording.statement(certificate, side.manifest, words).encode():
        return Check("wording", "fails", f"{STATEMENT} does not say what the certificate says.")
    return Check("wording", "holds", "The plain-language text matches the exact entries.")


def _stated(certificate: Mapping[str, Any]) -> Iterator[Check]:
    """Yield what the files cannot show, repeated so that it is not overlooked."""
    yield Check("earlier releases", "not re-checked", str(certificate["ledger"].get("statement")))
    yield Check("randomness", "not re-checked", str(certificate["randomness"].get("statement")))
