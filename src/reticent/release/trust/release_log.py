"""The log of releases: certificates as leaves of an append-only Merkle tree, with a signed head.

One file holds the entries and the head, and is replaced whole, so a killed append leaves the log as it was. A reader
who keeps a head detects if covered entries were removed, changed or reordered, or if other readers are shown a
different log.

*Guarantee*: two readers whose heads are consistent have been shown the same entries, up to the smaller head.
*Adversary*: the publisher, who wants to hide a release from some readers. *Not covered*: a release that was never
added, or added under another name of the data set; readers who never compare heads.

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
    """Identity of a log: every head contains its hash."""

    type: Literal["reticent-log"] = "reticent-log"
    layout: Literal[1] = 1
    name: Name
    created: Time


class CertificateEntry(VouchedFor):
    """A leaf: the hash of a certificate without signatures, a summary of the release, and the time of addition."""

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
        """True if this is the entry of the certificate."""
        return self == _entry(certificate, self.added)


class HeadBody(VouchedFor):
    """The part of a head that is signed: the number of entries, and their root."""

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
        """Return the keys that signed the head, in hexadecimal; a signature over other content raises a :class:`DataError`."""
        signers = signers_of(self.signed.model_dump(mode="json"), self.signatures)
        if signers is None:
            raise DataError("A signature of the log's head is invalid: the head was changed.")
        return signers

    @property
    def words(self) -> str:
        """Describe the head in a few words."""
        return f"{self.signed.size} entries at {self.signed.time}, root {self.signed.root[:16]}..."


class _LogDocument(VouchedFor):
    """The log file."""

    log: LogHeader
    entries: tuple[CertificateEntry, ...]
    head: LogHead


class InclusionProof(VouchedFor):
    """Proof that an entry is in the log of a head."""

    type: Literal["reticent-log-inclusion"] = "reticent-log-inclusion"
    layout: Literal[1] = 1
    entry: CertificateEntry
    index: int = Field(ge=0)
    path: tuple[Digest, ...] = Field(max_length=64)
    head: LogHead

    def check(self) -> None:
        """Raise a :class:`DataError` if the proof is invalid."""
        body, path = self.head.signed, [bytes.fromhex(digest) for digest in self.path]
        if not merkle_tree.is_included(self.entry.leaf, self.index, body.size, path, bytes.fromhex(body.root)):
            raise DataError(f"The proof does not show that entry {self.index} is in the log of its head.")
        _ = self.head.signers


class ConsistencyProof(VouchedFor):
    """Proof that the log of an older head is a prefix of the log of a newer one."""

    type: Literal["reticent-log-consistency"] = "reticent-log-consistency"
    layout: Literal[1] = 1
    older: LogHead
    head: LogHead
    path: tuple[Digest, ...] = Field(max_length=128)

    def check(self) -> None:
        """Raise a :class:`DataError` if the proof is invalid."""
        old, new, path = self.older.signed, self.head.signed, [bytes.fromhex(digest) for digest in self.path]
        if old.log != new.log:
            raise DataError("The two heads are of different logs.")
        if not merkle_tree.is_consistent(old.size, bytes.fromhex(old.root), new.size, bytes.fromhex(new.root), path):
            raise DataError(
                f"The proof does not show that the log of {old.size} entries is the beginning of that of {new.size}."
            )
        _ = self.older.signers, self.head.signers


LogProof = InclusionProof | ConsistencyProof


def is_log(path: str | Path) -> bool:
    """True if a file declares itself a log rather than a proof."""
    return b'"reticent-log"' in read_file(path, "file")


def read_proof(path: str | Path) -> LogProof:
    """Read a proof of either kind, as the file declares it."""
    content = read_file(path, "proof")
    if b'"reticent-log-inclusion"' in content:
        return read_vouched(InclusionProof, content, str(path), "proof")
    return read_vouched(ConsistencyProof, content, str(path), "log or proof")


@dataclass(frozen=True)
class ReleaseLog:
    """A log whose entries match its head."""

    header: LogHeader
    entries: tuple[CertificateEntry, ...]
    head: LogHead

    @classmethod
    def read(cls, path: str | Path) -> ReleaseLog:
        """Read a log; entries that its head does not cover raise a :class:`DataError`."""
        document = read_vouched(_LogDocument, read_file(path, "log"), str(path), "log of releases")
        log = cls(document.log, document.entries, document.head)
        body = log.head.signed
        if body.log != log.identity:
            raise DataError(f"{path}: the head belongs to another log.")
        if body.size != len(log.entries) or bytes.fromhex(body.root) != merkle_tree.root_of(log.leaves):
            raise DataError(
                f"{path}: the head covers {body.size} entries with the root {body.root[:16]}..., but the {len(log.entries)} entries in the file have "
                "another one. Entries were removed, changed or put in another order."
            )
        times = [log.header.created, *(entry.added for entry in log.entries), body.time]
        if times != sorted(times):
            raise DataError(f"{path}: the times of the entries are not in increasing order.")
        _ = log.head.signers
        return log

    @property
    def identity(self) -> str:
        """The hash of the header, contained in every head."""
        return hashlib.sha256(canonical(self.header.model_dump(mode="json"))).hexdigest()

    @cached_property
    def leaves(self) -> list[bytes]:
        """The hashes of the entries."""
        return [entry.leaf for entry in self.entries]

    def find(self, certificate: Mapping[str, Any]) -> int | None:
        """Return the index of a certificate's entry, or None."""
        return next((index for index, entry in enumerate(self.entries) if entry.is_of(certificate)), None)

    def releases_of(self, dataset: str) -> tuple[CertificateEntry, ...]:
        """Return the entries of a data set."""
        return tuple(entry for entry in self.entries if entry.dataset == dataset)

    def check_beside(self, older: LogHead) -> None:
        """Refuse a log that does not begin with the entries covered by ``older``, a head seen before."""
        old, new = older.signed, self.head.signed
        _ = older.signers
        if old.log != new.log:
            raise DataError("The remembered head belongs to another log.")
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
        """Return the proof that the log contains a certificate."""
        index = self.find(certificate)
        if index is None:
            raise DataError("The certificate of this release is not in the log. Add it with `reticent log add`.")
        path = tuple(digest.hex() for digest in merkle_tree.inclusion_proof(self.leaves, index))
        return InclusionProof(entry=self.entries[index], index=index, path=path, head=self.head)

    def consistency(self, older: LogHead) -> ConsistencyProof:
        """Return the proof that this log extends that of an older head."""
        self.check_beside(older)
        size = older.signed.size
        path = () if size == 0 else merkle_tree.consistency_proof(self.leaves, size)
        return ConsistencyProof(older=older, head=self.head, path=tuple(digest.hex() for digest in path))

    def save(self, path: str | Path) -> None:
        """Write the log atomically."""
        document = _LogDocument(log=self.header, entries=self.entries, head=self.head)
        write_whole(path, readable(document.model_dump(mode="json")))


def create_log(path: str | Path, name: str, key: Ed25519PrivateKey) -> ReleaseLog:
    """Create an empty log. An existing file raises a :class:`PolicyError`: a log is never restarted."""
    with _turn(Path(path)):
        if Path(path).exists():
            raise PolicyError(f"{str(path)!r} exists already, and a log is not overwritten. Choose another name.")
        log = _headed(LogHeader(name=name, created=present()), (), key)
        log.save(path)
    return log


def append(
    path: str | Path, certificate: Mapping[str, Any], key: Ed25519PrivateKey, *, new_key: bool = False
) -> InclusionProof:
    """Append a certificate to the log at ``path`` and sign the new head; an entry that exists is kept.

    Writers are serialised by a lock. The key must be that of the last head, unless the log changes to a ``new_key``.
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
    """Return the log with a new signed head."""
    identity = hashlib.sha256(canonical(header.model_dump(mode="json"))).hexdigest()
    root = merkle_tree.root_of([entry.leaf for entry in entries]).hex()
    when = entries[-1].added if entries else header.created
    body = HeadBody(log=identity, size=len(entries), root=root, time=when)
    return ReleaseLog(
        header, entries, LogHead(signed=body, signatures=signatures_by(body.model_dump(mode="json"), [key]))
    )


def _entry(certificate: Mapping[str, Any], added: str) -> CertificateEntry:
    """Return the log's entry for a certificate, added at this time."""
    ledger_entry = certificate["ledger"]
    return CertificateEntry(
        certificate=certificate_hash(certificate),
        dataset=ledger_entry["dataset"],
        release=ledger_entry["release"],
        created=certificate["created"],
        added=added,
    )


def _not_before(last: str) -> str:
    """Return the current time, but never before the last entry: a clock set back must not break the order."""
    return max(present(), last)


@contextmanager
def _turn(path: Path) -> Iterator[None]:
    """Hold the log's lock while the block runs. The operating system releases it if the process dies; the lock file remains."""
    import fcntl

    lock_path = path.with_name(f".{path.name}.lock")
    try:
        handle = os.open(lock_path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise DataError(f"The log {str(path)!r} cannot be written: {error.strerror}.") from None
    try:
        start = time.monotonic()
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() - start > _PATIENCE:
                    raise DataError(
                        f"Another process has been writing to the log {str(path)!r} for more than {_PATIENCE:g} seconds. Nothing was added. Try again."
                    ) from None
                time.sleep(0.02)
        yield
    finally:
        os.close(handle)
