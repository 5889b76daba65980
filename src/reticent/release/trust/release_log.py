"""The log of releases: certificates as leaves of an append-only Merkle tree, with a signed head.

One file holds the entries and the head, and is replaced whole, so a killed append leaves the log as it was. Whoever remembers a head finds out when
entries that it covered were removed, changed or put in another order, or when others are shown a different log.

*Guarantee*: two readers whose heads are consistent have been shown the same entries, up to the smaller head. *Adversary*: the publisher, who wants to hide a release from some
readers. *Not covered*: a release that was never added, or added under another name of the data set; readers who never compare heads.

Source: [RFC9162], sections 2.1 (tree and proofs) and 4.10 (signed tree heads); [RFC6962].
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from reticent.base.files import write_whole
from reticent.errors import DataError, PolicyError
from reticent.ledger import now as present
from reticent.release.canonical_json import canonical, readable
from reticent.release.certificate import certificate_hash
from reticent.release.trust import merkle_tree
from reticent.release.trust.signed_document import (
    Digest,
    KeySignature,
    Name,
    Time,
    VouchedFor,
    read_file,
    read_vouched,
    signatures_by,
    signers_of,
)

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

_PATIENCE = 30.0


class LogHeader(VouchedFor):
    """What makes a log this log: every head names the hash of it."""

    type: Literal["reticent-log"] = "reticent-log"
    layout: Literal[1] = 1
    name: Name
    created: Time


class CertificateEntry(VouchedFor):
    """A leaf: the hash of a certificate without its signatures, what it says about the release, and when it was added."""

    certificate: Digest
    dataset: str | None
    release: int | None
    created: Time
    added: Time

    @property
    def leaf(self) -> bytes:
        """The hash of the leaf."""
        return merkle_tree.leaf_hash(canonical(self.model_dump(mode="json")))

    def is_of(self, certificate: Mapping[str, Any]) -> bool:
        """True if this is the entry of a certificate."""
        return self == _entry(certificate, self.added)


class HeadBody(VouchedFor):
    """What the keys of the log sign: how many entries there are, and the root over them."""

    type: Literal["reticent-log-head"] = "reticent-log-head"
    layout: Literal[1] = 1
    log: Digest
    size: int = Field(ge=0)
    root: Digest
    time: Time


class LogHead(VouchedFor):
    """A signed head."""

    signed: HeadBody
    signatures: tuple[KeySignature, ...] = Field(min_length=1, max_length=100)

    @classmethod
    def read(cls, path: str | Path) -> LogHead:
        """The head at a path."""
        return read_vouched(cls, read_file(path, "head"), str(path), "head of a log")

    def save(self, path: str | Path) -> None:
        """Write the head, whole or not at all."""
        write_whole(path, readable(self.model_dump(mode="json")))

    @property
    def signers(self) -> tuple[str, ...]:
        """The keys that signed it, in hexadecimal; a signature of something else is a :class:`DataError`."""
        signers = signers_of(self.signed.model_dump(mode="json"), self.signatures)
        if signers is None:
            raise DataError("A signature of the log's head was not made for it; it was changed.")
        return signers

    @property
    def words(self) -> str:
        """The head in a few words."""
        return f"{self.signed.size} entries at {self.signed.time}, root {self.signed.root[:16]}..."


class _LogDocument(VouchedFor):
    """The file."""

    log: LogHeader
    entries: tuple[CertificateEntry, ...]
    head: LogHead


class InclusionProof(VouchedFor):
    """Shows that an entry is in the log of a head."""

    type: Literal["reticent-log-inclusion"] = "reticent-log-inclusion"
    layout: Literal[1] = 1
    entry: CertificateEntry
    index: int = Field(ge=0)
    path: tuple[Digest, ...] = Field(max_length=64)
    head: LogHead

    def check(self) -> None:
        """Refuse a proof that does not show it."""
        body, path = self.head.signed, [bytes.fromhex(each) for each in self.path]
        if not merkle_tree.is_included(self.entry.leaf, self.index, body.size, path, bytes.fromhex(body.root)):
            raise DataError(f"The proof does not show that entry {self.index} is in the log of its head.")
        _ = self.head.signers


class ConsistencyProof(VouchedFor):
    """Shows that the log of an older head is the beginning of the log of a newer one."""

    type: Literal["reticent-log-consistency"] = "reticent-log-consistency"
    layout: Literal[1] = 1
    older: LogHead
    head: LogHead
    path: tuple[Digest, ...] = Field(max_length=128)

    def check(self) -> None:
        """Refuse a proof that does not show it."""
        old, new, path = self.older.signed, self.head.signed, [bytes.fromhex(each) for each in self.path]
        if old.log != new.log:
            raise DataError("The two heads are of different logs.")
        if not merkle_tree.is_consistent(old.size, bytes.fromhex(old.root), new.size, bytes.fromhex(new.root), path):
            raise DataError(f"The proof does not show that the log of {old.size} entries begins that of {new.size}.")
        _ = self.older.signers, self.head.signers


LogProof = InclusionProof | ConsistencyProof


def is_log(path: str | Path) -> bool:
    """True if a file says that it is a log; a proof is the other thing that it may be."""
    return b'"reticent-log"' in read_file(path, "file")


def read_proof(path: str | Path) -> LogProof:
    """The proof at a path; its own words say which of the two it is."""
    content = read_file(path, "proof")
    if b'"reticent-log-inclusion"' in content:
        return read_vouched(InclusionProof, content, str(path), "proof")
    return read_vouched(ConsistencyProof, content, str(path), "log or proof")


@dataclass(frozen=True)
class ReleaseLog:
    """A log as it was read: its entries are those of its head."""

    header: LogHeader
    entries: tuple[CertificateEntry, ...]
    head: LogHead

    @classmethod
    def read(cls, path: str | Path) -> ReleaseLog:
        """The log at a path; one whose entries are not those that its head covers is a :class:`DataError`."""
        document = read_vouched(_LogDocument, read_file(path, "log"), str(path), "log of releases")
        log = cls(document.log, document.entries, document.head)
        body = log.head.signed
        if body.log != log.identity:
            raise DataError(f"{path}: the head is that of another log.")
        if body.size != len(log.entries) or bytes.fromhex(body.root) != merkle_tree.root_of(log.leaves):
            raise DataError(
                f"{path}: the head is about {body.size} entries with the root {body.root[:16]}..., and the {len(log.entries)} entries that are there have "
                "another one. Entries were removed, changed or put in another order."
            )
        times = [log.header.created, *(each.added for each in log.entries), body.time]
        if times != sorted(times):
            raise DataError(f"{path}: the times of the entries do not rise, so one of them is wrong.")
        _ = log.head.signers
        return log

    @property
    def identity(self) -> str:
        """The hash of the header, which every head names."""
        return hashlib.sha256(canonical(self.header.model_dump(mode="json"))).hexdigest()

    @cached_property
    def leaves(self) -> list[bytes]:
        """The hashes of the entries."""
        return [each.leaf for each in self.entries]

    def find(self, certificate: Mapping[str, Any]) -> int | None:
        """The index of the entry of a certificate; None if there is not one."""
        return next((index for index, each in enumerate(self.entries) if each.is_of(certificate)), None)

    def releases_of(self, dataset: str) -> tuple[CertificateEntry, ...]:
        """The entries of a data set."""
        return tuple(each for each in self.entries if each.dataset == dataset)

    def check_beside(self, older: LogHead) -> None:
        """Refuse a log that does not begin with the entries that ``older``, a head that was seen before, covers."""
        old, new = older.signed, self.head.signed
        _ = older.signers
        if old.log != new.log:
            raise DataError("The head that was remembered is that of another log.")
        if old.size > new.size:
            raise DataError(
                f"The log has {new.size} entries, and had {old.size} at {old.time}: entries were removed, or this is an older copy."
            )
        if bytes.fromhex(old.root) != merkle_tree.root_of(self.leaves[: old.size]):
            raise DataError(
                f"The log does not begin with the {old.size} entries that it had at {old.time} (root {old.root[:16]}...): its history was changed, or different "
                "readers are shown different logs. Keep both signed heads: together they prove it."
            )

    def inclusion(self, certificate: Mapping[str, Any]) -> InclusionProof:
        """The proof that a certificate is in the log."""
        index = self.find(certificate)
        if index is None:
            raise DataError("The certificate of this release is not in the log. Add it with `reticent log add`.")
        path = tuple(each.hex() for each in merkle_tree.inclusion_proof(self.leaves, index))
        return InclusionProof(entry=self.entries[index], index=index, path=path, head=self.head)

    def consistency(self, older: LogHead) -> ConsistencyProof:
        """The proof that this log grew out of that of an older head."""
        self.check_beside(older)
        size = older.signed.size
        path = () if size == 0 else merkle_tree.consistency_proof(self.leaves, size)
        return ConsistencyProof(older=older, head=self.head, path=tuple(each.hex() for each in path))

    def save(self, path: str | Path) -> None:
        """Write the log, whole or not at all."""
        document = _LogDocument(log=self.header, entries=self.entries, head=self.head)
        write_whole(path, readable(document.model_dump(mode="json")))


def create_log(path: str | Path, name: str, key: Ed25519PrivateKey) -> ReleaseLog:
    """Make an empty log. An existing file is a :class:`PolicyError`: a log is never begun again."""
    with _turn(Path(path)):
        if Path(path).exists():
            raise PolicyError(f"{str(path)!r} exists already, and a log is not overwritten. Choose another name.")
        made = _headed(LogHeader(name=name, created=present()), (), key)
        made.save(path)
    return made


def append(
    path: str | Path, certificate: Mapping[str, Any], key: Ed25519PrivateKey, *, new_key: bool = False
) -> InclusionProof:
    """Add a certificate to the log at ``path`` and sign the new head; one that is there already stays where it is.

    Writers take turns. The key must be that of the last head, unless the log changes to a ``new_key``.
    """
    with _turn(Path(path)):
        log = ReleaseLog.read(path)
        if log.find(certificate) is None:
            check_writer(log, key, new_key=new_key)
            log = _headed(log.header, (*log.entries, _entry(certificate, _not_before(log.head.signed.time))), key)
            log.save(path)
    return log.inclusion(certificate)


def check_writer(log: ReleaseLog, key: Ed25519PrivateKey, *, new_key: bool = False) -> None:
    """Refuse to sign the next head with a key that did not sign the last one."""
    signer = key.public_key().public_bytes_raw().hex()
    if not new_key and signer not in log.head.signers:
        raise PolicyError(
            f"The last head of the log was signed with the key {log.head.signers[0][:16]}..., and this one is {signer[:16]}... Use that key; a log that changes to "
            "another key needs --new-key, and a trust file that names both."
        )


def _headed(header: LogHeader, entries: tuple[CertificateEntry, ...], key: Ed25519PrivateKey) -> ReleaseLog:
    """The log with a head of its own, signed."""
    identity = hashlib.sha256(canonical(header.model_dump(mode="json"))).hexdigest()
    root = merkle_tree.root_of([each.leaf for each in entries]).hex()
    when = entries[-1].added if entries else header.created
    body = HeadBody(log=identity, size=len(entries), root=root, time=when)
    return ReleaseLog(
        header, entries, LogHead(signed=body, signatures=signatures_by(body.model_dump(mode="json"), [key]))
    )


def _entry(certificate: Mapping[str, Any], added: str) -> CertificateEntry:
    said = certificate["ledger"]
    return CertificateEntry(
        certificate=certificate_hash(certificate),
        dataset=said["dataset"],
        release=said["release"],
        created=certificate["created"],
        added=added,
    )


def _not_before(last: str) -> str:
    """The time, and never before the last entry: a clock that was set back must not break the order."""
    return max(present(), last)


@contextmanager
def _turn(path: Path) -> Iterator[None]:
    """Have the log alone while the block runs. The system lets go of the lock when a process dies; the lock's file stays."""
    import fcntl

    beside = path.with_name(f".{path.name}.lock")
    try:
        handle = os.open(beside, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise DataError(f"The log {str(path)!r} cannot be written: {error.strerror}.") from None
    try:
        began = time.monotonic()
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() - began > _PATIENCE:
                    raise DataError(
                        f"Another process has been writing to the log {str(path)!r} for more than {_PATIENCE:g} seconds. Nothing was added. Try again."
                    ) from None
                time.sleep(0.02)
        yield
    finally:
        os.close(handle)
