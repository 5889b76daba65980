"""Origin of a certificate, given what the recipient trusts: nothing, a key, or a trust file; and whether a log contains it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from reticent.errors import DataError, PolicyError
from reticent.release.certificate import certificate_hash, signatures_of, unsigned
from reticent.release.claims import Check
from reticent.release.signature_keys import is_signed_by, public_key, stated_key

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    from reticent.release.trust import ReleaseLog, TrustFile

_MOST_SIGNATURES = 100
_MOST_NAMED = 10


class OriginChecks(NamedTuple):
    """The checks made, whether every signature is valid, and whether the recipient's trust anchors reject the certificate."""

    checks: tuple[Check, ...]
    signed: bool
    refused: bool


@dataclass(frozen=True)
class Origin:
    """What a recipient trusts. ``remembered`` is the path of the last log head seen; it is replaced when a newer consistent one is verified."""

    key: Ed25519PublicKey | None = None
    trust: TrustFile | None = None
    log: str | Path | None = None
    remembered: Path | None = None

    @classmethod
    def of(cls, key: Any, trust: Any, log: str | Path | None, remembered: str | Path | None) -> Origin:
        """Build from the arguments of ``verify``."""
        if key is not None and trust is not None:
            raise PolicyError("verify got both a key and a trust file. Pass one of them: a trust file names the keys.")
        if remembered is not None and log is None:
            raise PolicyError("A remembered head needs a log to compare with: pass the log too (log=, --log).")
        trust_file = None
        if trust is not None:
            from reticent.release.trust import TrustFile

            trust_file = TrustFile.read(trust)
        head_file = None if remembered is None else Path(remembered)
        return cls(None if key is None else public_key(key), trust_file, log, head_file)

    def judge(self, certificate: Mapping[str, Any]) -> OriginChecks:
        """Check the signatures, and the log if there is one. The log is checked first, since it proves when a certificate existed."""
        logged, log_checks = self._judge_log(certificate) if self.log is not None else (None, ())
        signatures = signatures_of(certificate)
        signed = bool(signatures) and _are_valid(certificate, signatures)
        if "signature" in certificate and not signed:
            origin_check = Check("origin", "fails", _not_of_this(signatures))
        elif self.trust is not None:
            origin_check = self._judge_by_trust(certificate, logged)
        else:
            origin_check = self._judge_by_key(certificate, signatures)
        is_required = self.key is not None or self.trust is not None
        return OriginChecks((origin_check, *log_checks), signed, is_required and origin_check.status == "fails")

    def _judge_by_key(self, certificate: Mapping[str, Any], signatures: list[Any]) -> Check:
        """Check that the given key signed; without a key the origin cannot be proven, only named."""
        if not signatures:
            if self.key is None:
                text = "The certificate is not signed: it can be checked for consistency, but who made it cannot be proven."
                return Check("origin", "not re-checked", text)
            return Check("origin", "fails", "The certificate is not signed, so the key cannot prove its origin.")
        if self.key is None:
            keys = " and ".join(f"{signature['public_key'][:16]}..." for signature in signatures)
            text = f"Signed with the key {keys}; give that publisher's key to prove the origin."
            return Check("origin", "not re-checked", text)
        if not any(is_signed_by(unsigned(certificate), signature, self.key) for signature in signatures):
            return Check("origin", "fails", "The certificate was signed with another key.")
        return Check("origin", "holds", "Signed with the key that was given.")

    def _judge_by_trust(self, certificate: Mapping[str, Any], logged: str | None) -> Check:
        """Check that enough holders of the trust file signed with keys that were valid when the certificate was made, or ``logged``."""
        from reticent.release.trust.signed_document import KeySignature

        assert self.trust is not None
        body, role = self.trust.body, self.trust.body.certificates
        try:
            self.trust.check()
        except DataError as error:
            return Check("origin", "fails", str(error))
        signatures = [KeySignature(**signature) for signature in signatures_of(certificate)]
        judged = self.trust.judge("certificates", unsigned(certificate), signatures, certificate["created"], logged)
        holders, refusals = judged or ((), ("a signature does not belong to this certificate",))
        required = f"{role.threshold} of {len(role.holders)}"
        if len(holders) >= role.threshold:
            text = f"Signed by {_listed(holders)}; {required} are needed (trust file of {body.publisher!r}, version {body.version}, expires {body.expires})."
            return Check("origin", "holds", text)
        why = f" Not counted: {'; '.join(refusals)}." if refusals else ""
        text = f"Signatures of {required} holders are needed, and {len(holders)} count.{why}"
        return Check("origin", "fails", text)

    def _judge_log(self, certificate: Mapping[str, Any]) -> tuple[str | None, tuple[Check, ...]]:
        """Return when the certificate was logged, if the log's keys are trusted, and the checks made."""
        from reticent.release.trust import LogHead, ReleaseLog, head_signers

        assert self.log is not None
        try:
            log = ReleaseLog.read(self.log)
            index = log.find(certificate)
            if index is None:
                raise DataError(f"The certificate is not in the log {log.header.name!r} ({log.head.words}).")
            older = LogHead.read(self.remembered) if self.remembered is not None and self.remembered.exists() else None
            if older is not None:
                log.check_beside(older)
            vouching, trusted = head_signers(log.head, self.key, self.trust)
        except DataError as error:
            return None, (Check("log", "fails", str(error)),)
        entry = log.entries[index]
        text = f"The certificate is entry {index + 1} of {len(log.entries)} in the log {log.header.name!r}, added at {entry.added}. {vouching}"
        checks = (
            Check("log", "holds" if trusted else "not re-checked", text),
            _history(older, self.remembered),
            *_others(log, certificate),
        )
        if self.remembered is not None and (older is None or older.signed.size < log.head.signed.size):
            log.head.save(self.remembered)
        return entry.added if self.trust is not None and trusted else None, checks


def _history(older: Any, remembered: Path | None) -> Check:
    """Return whether the log is consistent with the head ``older``, read from the file ``remembered`` (None: no such file)."""
    if older is not None:
        return Check("log history", "holds", f"The log is consistent with the remembered head: {older.words}.")
    if remembered is not None:
        text = f"No head was remembered yet. This one is now stored in {remembered}: a changed history will be detected next time."
    else:
        text = (
            "No head is remembered, so a changed history cannot be detected: pass a file with --remember (remember=)."
        )
    return Check("log history", "not re-checked", text)


def _others(log: ReleaseLog, certificate: Mapping[str, Any]) -> Iterator[Check]:
    """Check the other releases of the data set: those that the log lists, and those that it should list."""
    dataset, own_number = certificate["ledger"]["dataset"], certificate["ledger"]["release"]
    if dataset is None:
        text = "The data set has no name, so other releases of it cannot be found in the log."
        yield Check("other releases", "not re-checked", text)
        return
    logged = log.releases_of(dataset)
    repeated_numbers = [number for number, times in Counter(entry.release for entry in logged).items() if times > 1]
    if repeated_numbers:
        text = f"The log has several certificates that are each release {repeated_numbers[0]} of {dataset!r}: different recipients got different ones."
        yield Check("other releases", "fails", text)
        return
    own_hash = certificate_hash(certificate)
    others = [f"release {entry.release} (made {entry.created})" for entry in logged if entry.certificate != own_hash]
    numbers = {entry.release for entry in logged}
    missing_numbers = list(islice((number for number in range(1, own_number) if number not in numbers), _MOST_NAMED))
    others_text = (
        f"Other releases of {dataset!r} in the log: {', '.join(others)}."
        if others
        else f"The log has no other release of {dataset!r}."
    )
    if missing_numbers:
        missing_text = f"Release {', '.join(map(str, missing_numbers))} came before this one and is not in the log: ask the publisher."
        yield Check("other releases", "not re-checked", f"{others_text} {missing_text}")
    else:
        yield Check("other releases", "holds", others_text)


def _are_valid(certificate: Mapping[str, Any], signatures: list[Any]) -> bool:
    """True if each is a valid signature of this certificate, and they are sorted by key."""
    if len(signatures) > _MOST_SIGNATURES or (isinstance(certificate["signature"], list) and len(signatures) < 2):
        return False
    keys = []
    for signature in signatures:
        stated_public_key = stated_key(signature) if isinstance(signature, dict) else None
        if stated_public_key is None or not is_signed_by(unsigned(certificate), signature, stated_public_key):
            return False
        keys.append(signature["public_key"])
    return keys == sorted(set(keys))


def _not_of_this(signatures: list[Any]) -> str:
    """Return why the signatures are invalid."""
    return (
        "The signature does not belong to this certificate."
        if len(signatures) < 2
        else "The signatures must all be over this certificate, one for each key, sorted by key."
    )


def _listed(names: tuple[str, ...]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
