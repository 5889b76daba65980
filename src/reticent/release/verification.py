"""Verification: every claim of a release recomputed from its public side alone.

Unsigned, it finds every inconsistency but cannot prove where the files come from; with the publisher's key it proves that, and
any change of any byte is found.
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
    """What verifying found. ``signed`` says that a valid signature is there; only a key shows whose it is. ``reservations`` are what claims that hold do not cover."""

    path: Path
    checks: tuple[Check, ...]
    signed: bool
    reservations: tuple[str, ...] = ()

    def card(self) -> Card:
        """The verdict with its reasons, every check, and what was recomputed."""
        title, *reasons = self.headline.lines()
        rows = [(check.name, check.status, check.detail) for check in self.checks]
        told = (("Recomputed from the published files:", self.recomputed), ("Not re-checked:", self.unchecked))
        return Card(
            title,
            {"checks": len(self.checks), "failures": len(self.failures), "signed": self.signed},
            self.headline.tone,
            [CardTable(("check", "result", "why"), rows, str(self.path))],
            reasons,
            [line for name, said in told if said for line in (name, *(f"- {each}" for each in said))],
        )

    @property
    def ok(self) -> bool:
        """Whether everything holds."""
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
        """Nothing fails, and every claim was recomputed and holds."""
        return self.headline.holds

    @property
    def recomputed(self) -> tuple[str, ...]:
        """The sentences of the claims that were recomputed and hold."""
        held = [check for check in self.checks if check.claim and check.status == "holds"]
        told = joined_promises(check.promised for check in held if check.promised is not None)
        joined = [wording.covers(*each) for each in told]
        return tuple(dict.fromkeys((*joined, *(check.sentence for check in held if check.promised is None))))

    @property
    def unchecked(self) -> tuple[str, ...]:
        """What the files do not show: claims that were not recomputed, and what the publisher states beside them."""
        return tuple(
            f"{check.sentence} ({check.detail})" if check.sentence else f"{sentence_case(check.name)}: {check.detail}"
            for check in self.checks
            if check.status == "not re-checked"
        )

    @property
    def failures(self) -> tuple[Check, ...]:
        """What does not hold."""
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
        path: the folder of a release; or a list of folders, a series of releases of one data set, first to last: each is verified, and what
            the last claims about the series is judged on all of them together.
        population: a frame, a table or a file with the quasi columns, for claims that compare with one; without it they are not re-checked.
        key: the publisher's public key (a path, a key, or its hexadecimal digits): then the signature must be theirs.
        trust: a trust file instead: then as many holders as it says must have signed, with keys that are valid.
        log: a log of releases: then the certificate must be in it.
        remember: a file for the last head of the log that was seen, which the log must be consistent with.
        context: reports progress and can stop the run; a claim that its deadline leaves no time for is not re-checked.

    Returns:
        A verification: ``holds``, ``headline``, and every check with its detail.

    Example:
        >>> import reticent as rt
        >>> table = rt.Table({"age": [31, 33, 52, 58]}, quasi=["age"])
        >>> folder = rt.publish(table, rt.KAnonymity(2), method="Mondrian").save("release")
        >>> rt.verify(folder).holds
        True
    """
    known = Origin.of(key, trust, log, remember)
    context = context or Context()
    # A population that cannot be read is no fault of the release.
    people = None if population is None else people_of(population)
    if not isinstance(path, str | Path):
        return _series([Path(each) for each in path], people, known, context)
    return _verified(path, people, known, context)


def _series(folders: Sequence[Path], people: pl.DataFrame | None, known: Origin, context: Context) -> Verification:
    """The releases of a series, each beside those before it, and whether they are one.

    A claim about the history is re-checked only while no release is missing: the ledger's numbers are 1, 2, 3 and so on, or releases name the one before them.
    """
    if not folders:
        raise PolicyError("verify got an empty list. Give the folders of a series, first to last.")
    checks: list[Check] = []
    earlier: list[PublicSide] = []
    signed, reserved = True, list[str]()
    for number, folder in enumerate(folders, start=1):
        places = [side.form.place_in_series(side) for side in earlier]
        chained = bool(earlier) and (all(side.form.chained for side in earlier) or places == list(range(1, number)))
        whole = chained or [*map(_entry_number, earlier), _number_told(folder)] == list(range(1, number + 1))
        found = _verified(folder, people, known, context, tuple(earlier) if whole else None)
        signed = signed and found.signed
        reserved += [f"Release {number}: {reason}" for reason in found.reservations]
        checks += [check._replace(name=f"release {number}, {check.name}") for check in found.checks]
        if found.failures:
            break
        earlier.append(open_public(folder))
    else:
        checks.append(_check_series([side.certificate["ledger"] for side in earlier]))
    return Verification(public_folder(folders[-1]), tuple(checks), signed, tuple(reserved))


def _number_told(folder: Path) -> int | None:
    """The number of a release in the ledger, as its certificate says it; None for one that cannot be read."""
    try:
        return _entry_number(open_public(folder))
    except DataError:
        return None


def _entry_number(side: PublicSide) -> int | None:
    told = side.certificate.get("ledger")
    number = told.get("release") if isinstance(told, Mapping) else None
    return number if isinstance(number, int) else None


def _check_series(told: Sequence[Mapping[str, Any]]) -> Check:
    """Releases of one data set in their order; that none is missing is the ledger's word."""
    numbers = [each["release"] for each in told]
    if len({each["dataset"] for each in told}) > 1:
        return Check("series", "fails", "The folders are releases of different data sets.")
    if None in numbers:
        return Check("series", "not re-checked", "The data set has no name, so the order of its releases is not known.")
    if any(after <= before for before, after in pairwise(numbers)):
        return Check(
            "series", "fails", f"The folders are not in the order of their releases: {', '.join(map(str, numbers))}."
        )
    return Check(
        "series", "holds", f"Releases {', '.join(map(str, numbers))} of {told[0]['dataset']!r}, in their order."
    )


def _verified(
    path: str | Path,
    people: pl.DataFrame | None,
    known: Origin,
    context: Context,
    earlier: tuple[PublicSide, ...] | None = None,
) -> Verification:
    folder = public_folder(path)
    context.step("reading the files")
    try:
        _check_sizes(folder)
        files = read_files(folder)
        certificate = _read_certificate(files)
    except DataError as error:
        return Verification(folder, (Check("certificate", "fails", str(error)),), False)
    before = _states(files)
    checks = [Check("certificate", "holds", "It can be read, and it is written as Reticent writes it.")]
    origin, signed, refused = known.judge(certificate)
    if refused:
        # Whoever has the key need not spend time on what somebody else made up.
        unread = Check(
            "claims", "not re-checked", "The certificate is not the publisher's, so nothing else was read.", claim=True
        )
        return Verification(folder, (*checks, *origin, unread), signed)
    checks.extend([_check_files(files, certificate, context), *origin])
    if checks[1].status == "fails":
        checks.append(
            Check("claims", "not re-checked", "The files are not those that the certificate is about.", claim=True)
        )
        return Verification(folder, tuple(checks), signed)
    reserved: tuple[str, ...] = ()
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
        reserved = reservations_of(side, declared)
        checks.append(_check_wording(side, files, declared, reserved))
    except (Cancelled, MissingPackage):
        # Whether the files keep their promises is not known, and nothing is wrong with them.
        raise
    except ReticentError as error:
        checks.append(Check("consistency", "fails", str(error)))
    except (ArithmeticError, LookupError, TypeError, ValueError, PolarsError) as error:
        # Files that were tampered with may hold anything; whatever it is, it is not what Reticent wrote.
        checks.append(
            Check("consistency", "fails", f"The files cannot be understood ({type(error).__name__}: {error}).")
        )
    if _states(files) != before:
        checks.append(Check("consistency", "fails", "A table was changed while it was being checked."))
    checks.extend(_stated(certificate))
    return Verification(folder, tuple(checks), signed, reserved)


def _check_sizes(folder: Path) -> None:
    """Refuse a large file that is larger than the certificate says, before it is read: data that never end must not fill the memory."""
    path = folder / CERTIFICATE
    if not path.is_file() or path.is_symlink():
        return
    listed = parsed(read_document(path), CERTIFICATE).get("files")
    for each in folder.iterdir():
        size = each.lstat().st_size
        said = listed.get(each.name) if isinstance(listed, dict) else None
        stated = said.get("bytes") if isinstance(said, dict) else None
        if size > LARGEST and not (isinstance(stated, int) and size <= stated):
            raise DataError(
                f"public/{each.name} has {size:,} bytes, which the certificate does not say; it was not read."
            )


def _states(files: Mapping[str, PublicFile]) -> dict[str, tuple[int, ...]]:
    """What tells whether a table that is read where it lies is still the one whose bytes were hashed."""
    found = {name: content.stat() for name, content in files.items() if isinstance(content, Path)}
    return {name: (each.st_ino, each.st_size, each.st_mtime_ns) for name, each in found.items()}


def _read_certificate(files: Mapping[str, PublicFile]) -> dict[str, Any]:
    if CERTIFICATE not in files:
        raise DataError(f"public/{CERTIFICATE} is missing.")
    content = small_file(files, CERTIFICATE)
    certificate = read_certificate(content)
    _check_stated(certificate)
    if readable(certificate) != content:
        raise DataError(f"{CERTIFICATE} is not written the way Reticent writes it; it was changed.")
    return certificate


def _check_stated(certificate: Mapping[str, Any]) -> None:
    """Entries that no file can confirm are at least what such entries are."""
    if not is_time(certificate["created"]):
        raise DataError(f"{CERTIFICATE}: {certificate['created']!r} is not a time of making.")
    told = certificate["ledger"]
    named = told["dataset"] is not None
    if named != (told["release"] is not None) or ("beside" in told and not (named and told["beside"] is not None)):
        raise DataError(
            f"{CERTIFICATE}: the ledger's entry must have a data set with the number of its release, or neither."
        )


def _check_files(files: Mapping[str, PublicFile], certificate: Mapping[str, Any], context: Context) -> Check:
    listed = certificate["files"]
    for name in sorted(set(listed) - set(files)):
        return Check("files", "fails", f"public/{name} is missing.")
    for name in sorted(set(files) - set(listed) - {CERTIFICATE}):
        return Check("files", "fails", f"public/{name} is not part of the release.")
    for number, (name, said) in enumerate(listed.items()):
        context.step("hashing files", number, len(listed), name)
        content = files[name]
        found = hash_file(content) if isinstance(content, Path) else fingerprint(content)
        if said != found or type(said["bytes"]) is not int:
            return Check("files", "fails", f"public/{name} is not the file that the certificate was made for.")
    return Check("files", "holds", f"{len(listed)} files have the fingerprints that the certificate states.")


def _check_agreement(side: PublicSide, written: bytes) -> Check:
    """The manifest is written in the one way there is, and the certificate speaks of the columns and the format that it describes."""
    said, manifest = side.certificate, side.manifest
    if readable(manifest.as_json()) != written:
        return Check("consistency", "fails", f"{MANIFEST} is not written the way Reticent writes it; it was changed.")
    if manifest.method.get("format", manifest.format) != manifest.format:
        return Check("consistency", "fails", f"{MANIFEST}: the method made another format than the release has.")
    described = {
        "format": manifest.format,
        "quasi": list(manifest.named("quasi")),
        "sensitive": list(manifest.named("sensitive")),
        "unit": manifest.unit,
    }
    for name, value in described.items():
        if said[name] != value:
            return Check(
                "consistency", "fails", f"The certificate says {name} is {said[name]!r}, and the manifest {value!r}."
            )
    return Check("consistency", "holds", "Tables, labels, manifest and certificate agree.")


def _check_order(side: PublicSide) -> Check:
    if side.form.order == "own":
        return Check("order", "holds", "Rows are in the order that the format defines.")
    for name, rows in side.rows.items():
        if not stand_in_order(rows):
            return Check("order", "fails", f"The rows of {name} are not sorted, so their order may tell something.")
    return Check("order", "holds", "Rows are sorted by their own values: their order tells nothing.")


def _known_claims(side: PublicSide) -> tuple[Definition, ...]:
    """The claims that this version knows."""
    return tuple(claim.definition for claim in read_claims(side.certificate) if claim.definition is not None)


def _check_declared(side: PublicSide, declared: DeclaredColumns) -> Iterator[Check]:
    """The certificate says how many records each declared column tells apart, and it is so."""
    said = side.certificate
    if declared.each and len(_known_claims(side)) < len(said["claims"]):
        yield Check(
            "declared columns",
            "not re-checked",
            "A claim is not known to this version, so how many records are few is not known.",
        )
    elif said["declared"] != declared.listed() or said["declared_together"] != declared.summed():
        found = next(
            (
                f"says {one!r}, and counting gives {other!r}"
                for one, other in zip(said["declared"], declared.listed(), strict=False)
                if one != other
            ),
            f"lists {len(said['declared'])} columns with {said['declared_together']!r} together, and counting gives {declared.summed()!r} for {len(declared.each)}",
        )
        yield Check("declared columns", "fails", f"The certificate {found}.")
    elif declared.each:
        yield Check("declared columns", "holds", f"Recounted in the published rows. {' '.join(declared.sentences())}")


def _check_computable(side: PublicSide) -> Iterator[Check]:
    """Columns that an adversary computes, as the manifest says, make no class of records fail a claim."""
    columns = {column.name: column.computable for column in side.manifest.columns if column.computable}
    if not columns:
        return
    told = "; ".join(f"{name!r} from {' and '.join(map(repr, sources))}" for name, sources in columns.items())
    failing = failing_records(side, _known_claims(side), tuple(columns)).records
    if failing:
        text = f"Columns can be computed from others ({told}), and {failing:,} records are in classes that then fail what is promised."
        yield Check("computable columns", "fails", text)
    else:
        text = f"Columns can be computed from others ({told}); what is promised holds for whoever does, too."
        yield Check("computable columns", "holds", text)


def headline_of(target: Release | PublicSide | str | Path, context: Context | None = None) -> Headline:
    """The verdict on the claims of a release, without a population and earlier releases: that of :func:`verify` for a folder, whose files may be other ones by now."""
    if isinstance(target, str | Path):
        return verify(target, context=context).headline
    side = target if isinstance(target, PublicSide) else target.public
    return Headline.of_checks(tuple(check_claims(side, None, None, context or Context())), reservations_of(side))


def reservations_of(side: PublicSide, declared: DeclaredColumns | None = None) -> tuple[str, ...]:
    """What the claims that this version knows do not cover, counted again in the published rows."""
    claims = _known_claims(side)
    declared = declared or DeclaredColumns.of(side, claims)
    return tuple(wording.reservations(side, claims, declared, _is_insecure(side)))


def _is_insecure(side: PublicSide) -> bool:
    return side.certificate["randomness"].get("releasable") is not True


def _check_wording(
    side: PublicSide, files: Mapping[str, PublicFile], declared: DeclaredColumns, reserved: tuple[str, ...]
) -> Check:
    """The plain words say what the exact entries say; only the version that wrote them can tell."""
    said = side.certificate
    if said["reticent"] != reticent.__version__:
        text = f"The words were written by Reticent {said['reticent']}, and this is {reticent.__version__}."
        return Check("wording", "not re-checked", text)
    known = _known_claims(side)
    if len(known) < len(said["claims"]):
        return Check("wording", "not re-checked", "A claim is not known to this version.")
    definition = all_of(known)
    insecure = _is_insecure(side)
    words = side.form.words(side)
    if said["claims"] != claims_of(definition, wording.scope_of(side.manifest), said["reference"]):
        return Check("wording", "fails", "The plain words of a claim are not those of its definition.")
    if said["headline"] != Headline.holding(reserved).as_json():
        return Check("wording", "fails", "The headline is not that of this release.")
    if said["residual_risks"] != wording.risks(definition, side.manifest, words, said["reference"], insecure, declared):
        return Check("wording", "fails", "The residual risks are not those of this release.")
    if said["randomness"] != {
        "releasable": not insecure,
        "statement": wording.INSECURE if insecure else wording.SECURE,
    }:
        return Check("wording", "fails", "What is said about randomness contradicts itself.")
    told = said["ledger"]
    if told.get("statement") != wording.ledger_statement(told.get("dataset"), told.get("release"), told.get("beside")):
        return Check("wording", "fails", "What is said about earlier releases contradicts itself.")
    if files.get(STATEMENT) != wording.statement(said, side.manifest, words).encode():
        return Check("wording", "fails", f"{STATEMENT} does not say what the certificate says.")
    return Check("wording", "holds", "The plain words say what the exact entries say.")


def _stated(certificate: Mapping[str, Any]) -> Iterator[Check]:
    """What the files cannot show: repeated, so that nobody overlooks it."""
    yield Check("earlier releases", "not re-checked", str(certificate["ledger"].get("statement")))
    yield Check("randomness", "not re-checked", str(certificate["randomness"].get("statement")))
