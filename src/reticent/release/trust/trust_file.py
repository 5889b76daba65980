"""The trust file: the keys that may sign certificates and log heads, their validity periods, and the thresholds.

The file itself is signed by at least a threshold of root keys. A recipient keeps the file and replaces it only by newer
versions (:meth:`TrustFile.updated`), each signed by the root keys of the version that it replaces.

*Guarantee*: a certificate is accepted only if a threshold of key holders signed it, with keys valid at the time it
states. *Adversary*: controls every file that the recipient gets, and any number of keys below the thresholds. *Not
covered*: the time in a certificate is stated by its signers, and a thief of a key can backdate. So a key revoked as
compromised counts only for certificates that a log, signed with other keys, contained before.

Source: [TUF], sections 4.3 (roles, thresholds, versions, expiry) and 5.3 (updating the root).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pydantic import Field, ValidationError, model_validator

from reticent.base.files import write_whole
from reticent.errors import DataError, PolicyError, did_you_mean
from reticent.ledger import now as present
from reticent.release.canonical_json import readable
from reticent.release.trust.signed_document import (
    Digest,
    KeySignature,
    Name,
    Time,
    VouchedFor,
    merged_signatures,
    read_file,
    read_vouched,
    signatures_by,
    signers_of,
    told,
)

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

LAYOUT = 1
_MOST_KEYS = 200
Reason = Literal["retired", "compromised"]
RoleName = Literal["certificates", "log"]


class Revocation(VouchedFor):
    """Time from which a key is refused. ``retired``: nobody else has it. ``compromised``: others may have it, so times
    that it signs prove nothing.
    """

    on: Time
    reason: Reason


class TrustedKey(VouchedFor):
    """A holder's public key with its validity period: from ``valid_from`` until just before ``valid_until``."""

    holder: Name
    key: Digest
    valid_from: Time
    valid_until: Time
    revoked: Revocation | None = None

    def refusal(self, stated: str, logged: str | None) -> str | None:
        """Return why a signature with this key does not count for content with the stated time ``stated``, logged at
        ``logged``; None if it counts.
        """
        if stated < self.valid_from:
            return f"the key of {self.holder} is valid from {self.valid_from} on, and the certificate states {stated}"
        if stated >= self.valid_until:
            return f"the key of {self.holder} expired at {self.valid_until}, and the certificate states {stated}"
        if self.revoked is None:
            return None
        revocation = f"the key of {self.holder} was revoked as {self.revoked.reason} from {self.revoked.on} on"
        if self.revoked.reason == "retired":
            return None if stated < self.revoked.on else f"{revocation}, and the certificate states {stated}"
        if logged is None:
            return f"{revocation}: the time that the certificate states proves nothing, and no log shows that it existed before (--log)"
        return None if logged < self.revoked.on else f"{revocation}, and the certificate was logged at {logged}"


class KeyRole(VouchedFor):
    """Keys that may sign something, and how many different holders must sign. A holder who rotates keys has several in succession."""

    keys: tuple[TrustedKey, ...] = Field(max_length=_MOST_KEYS)
    threshold: int = Field(ge=1)

    @property
    def holders(self) -> tuple[str, ...]:
        """Return the holders in order."""
        return tuple(dict.fromkeys(key.holder for key in self.keys))


class RootKey(VouchedFor):
    """A public key that signs the trust file."""

    holder: Name
    key: Digest


class RootRole(VouchedFor):
    """The root keys that sign the trust file, and how many of them must."""

    keys: tuple[RootKey, ...] = Field(min_length=1, max_length=_MOST_KEYS)
    threshold: int = Field(ge=1)


class TrustBody(VouchedFor):
    """The part that the root keys sign. ``former_root`` is the root role of the previous version if it changed: both must sign."""

    type: Literal["reticent-trust"] = "reticent-trust"
    layout: Literal[1] = 1
    publisher: Name
    version: int = Field(ge=1)
    issued: Time
    expires: Time
    root: RootRole
    former_root: RootRole | None
    certificates: KeyRole
    log: KeyRole

    @model_validator(mode="after")
    def _check(self) -> TrustBody:
        """Check that keys and holders are distinct, thresholds can be met, and dates are in order."""
        public_keys = [root_key.key for role in (self.root, self.certificates, self.log) for root_key in role.keys]
        if len(set(public_keys)) < len(public_keys):
            raise ValueError(
                "a key occurs twice. Each key has one holder and one purpose: a log signed with a certificate key would not prove times"
            )
        if len({key.holder for key in self.root.keys}) < len(self.root.keys):
            raise ValueError("a holder has two root keys and would count twice")
        for name, threshold, holders in (
            ("root", self.root.threshold, len(self.root.keys)),
            ("certificates", self.certificates.threshold, len(self.certificates.holders)),
            ("log", self.log.threshold, max(len(self.log.holders), 1)),
        ):
            if threshold > holders:
                raise ValueError(f"{name} needs {threshold} signatures, and only {holders} holders have keys")
        if self.expires <= self.issued:
            raise ValueError(f"it expires at {self.expires}, before it is issued at {self.issued}")
        for signing_key in (*self.certificates.keys, *self.log.keys):
            if signing_key.valid_until < signing_key.valid_from:
                raise ValueError(
                    f"the key of {signing_key.holder} is valid until {signing_key.valid_until}, which is before its validity begins"
                )
        return self


class _TrustDocument(VouchedFor):
    """The trust file on disk."""

    signed: TrustBody
    signatures: tuple[KeySignature, ...]


class Judged(NamedTuple):
    """The holders whose signatures count, and why others do not."""

    holders: tuple[str, ...]
    refusals: tuple[str, ...]


@dataclass(frozen=True)
class TrustFile:
    """A trust file with its signatures. Some may still be missing: see :meth:`check`."""

    body: TrustBody
    signatures: tuple[KeySignature, ...] = ()

    @classmethod
    def read(cls, source: str | Path | TrustFile) -> TrustFile:
        """The trust file at a path."""
        if isinstance(source, TrustFile):
            return source
        if not isinstance(source, str | Path):
            raise PolicyError(f"The trust file must be a path, but it is a {type(source).__name__}.")
        document = read_vouched(_TrustDocument, read_file(source, "trust file"), str(source), "trust file")
        return cls(document.signed, document.signatures)

    @classmethod
    def create(
        cls,
        publisher: str,
        roots: Mapping[str, str],
        keys: Mapping[str, str],
        *,
        expires: str,
        until: str,
        log_keys: Mapping[str, str] | None = None,
        threshold: int = 1,
        root_threshold: int = 1,
        now: str | None = None,
    ) -> TrustFile:
        """Return the first version, unsigned: public keys in hexadecimal by holder; signing keys are valid from now until ``until``."""
        issued = now or present()

        def role(holders_keys: Mapping[str, str], required: int) -> dict[str, Any]:
            """Return the keys of a role, valid from now, and how many of them must sign."""
            key_entries = [
                {"holder": holder, "key": key, "valid_from": issued, "valid_until": until, "revoked": None}
                for holder, key in holders_keys.items()
            ]
            return {"keys": key_entries, "threshold": required}

        return cls(
            _body(
                {
                    "type": "reticent-trust",
                    "layout": LAYOUT,
                    "publisher": publisher,
                    "version": 1,
                    "issued": issued,
                    "expires": expires,
                    "root": {
                        "keys": [{"holder": holder, "key": key} for holder, key in roots.items()],
                        "threshold": root_threshold,
                    },
                    "former_root": None,
                    "certificates": role(keys, threshold),
                    "log": role(log_keys or {}, 1),
                }
            )
        )

    def save(self, path: str | Path) -> None:
        """Write the file atomically."""
        document = _TrustDocument(signed=self.body, signatures=self.signatures)
        write_whole(path, readable(document.model_dump(mode="json")))

    def signed_by(self, keys: Iterable[Ed25519PrivateKey]) -> TrustFile:
        """Return the same version with further signatures of root keys."""
        new_signatures = signatures_by(self._signed(), keys)
        holder_of = {key.key: key.holder for role in self._roots for key in role.keys}
        for root_key in new_signatures:
            if root_key.public_key not in holder_of:
                raise PolicyError(
                    f"The key {root_key.public_key[:16]}... is not a root key of this trust file. Its root keys are those of "
                    f"{', '.join(sorted(set(holder_of.values())))}."
                )
        return TrustFile(self.body, merged_signatures(self.signatures, new_signatures))

    def missing(self) -> int:
        """Number of root signatures that are still missing."""
        return sum(self._lacks(role) for role in self._roots)

    def check(self, now: str | None = None) -> None:
        """Refuse a file without enough root signatures, or an expired one."""
        missing = self.missing()
        if missing:
            raise DataError(
                f"The trust file of {self.body.publisher!r}, version {self.body.version}, lacks {missing} signatures of "
                "root keys. Its root holders add them with `reticent keys sign`."
            )
        moment = now or present()
        if moment >= self.body.expires:
            raise DataError(
                f"The trust file of {self.body.publisher!r}, version {self.body.version}, expired at {self.body.expires}: revocations may have been withheld from "
                "you since. Get a newer one from the publisher, and install it with `reticent keys update`."
            )

    def updated(self, newer: TrustFile, now: str | None = None) -> TrustFile:
        """Return ``newer`` if the root keys of this version signed it; otherwise raise a :class:`DataError`.

        An older version, a different file with the same version number, and an expired file are refused.
        """
        newer.check(now)
        current, proposed = self.body, newer.body
        if proposed.version < current.version:
            raise DataError(
                f"The new trust file has version {proposed.version}, but version {current.version} is already known: an older file may hide revocations."
            )
        if proposed.version == current.version and proposed != current:
            raise DataError(
                f"There are two different trust files of version {current.version}. Ask the publisher through another channel which one is genuine."
            )
        if newer._lacks(current.root):
            raise DataError(
                f"Version {proposed.version} is not signed by the root keys of version {current.version} ({current.root.threshold} of {len(current.root.keys)}). If "
                "root keys changed more than once, install the versions in between first."
            )
        return newer

    def next_version(self, changes: Mapping[str, Any] | None = None, *, expires: str | None = None) -> TrustFile:
        """Return the next version with some roles replaced, unsigned. This version must be fully signed, so that versions form a chain."""
        if self.missing():
            raise PolicyError(
                f"Version {self.body.version} lacks signatures of root keys. Complete it with `reticent keys sign` before making the next one."
            )
        issued = present()
        body = {**self.body.model_dump(mode="json"), "version": self.body.version + 1, "issued": issued}
        body |= {"former_root": None, **(changes or {})}
        if expires is not None:
            body["expires"] = expires
        elif self.body.expires <= issued:
            raise PolicyError(f"The trust file expired at {self.body.expires}. Pass a new date with --expires.")
        return TrustFile(_body(body))

    def rotated(
        self, holder: str, key: str, *, until: str, on: str | None = None, expires: str | None = None
    ) -> TrustFile:
        """Return the next version, in which a holder signs with a new key from ``on`` (default: now). The old key stays
        valid for earlier signatures.

        A root key is replaced at once: the old one still signs this version, since recipients know only that one.
        """
        start = on or present()
        if holder in [root_key.holder for root_key in self.body.root.keys]:
            roots = [
                {"holder": root_key.holder, "key": key if root_key.holder == holder else root_key.key}
                for root_key in self.body.root.keys
            ]
            former = self.body.root.model_dump(mode="json")
            return self.next_version({"root": {**former, "keys": roots}, "former_root": former}, expires=expires)
        name, role, current = self._current(holder)
        key_entries = [trusted_key.model_dump(mode="json") for trusted_key in role.keys]
        key_entries[role.keys.index(current)]["valid_until"] = min(start, current.valid_until)
        key_entries.append({"holder": holder, "key": key, "valid_from": start, "valid_until": until, "revoked": None})
        return self.next_version({name: {"keys": key_entries, "threshold": role.threshold}}, expires=expires)

    def revoked(
        self, holder: str, reason: Reason, *, key: str | None = None, on: str | None = None, expires: str | None = None
    ) -> TrustFile:
        """Return the next version, in which a key (default: the holder's newest) is refused from ``on`` (default: now)."""
        start = on or present()
        name, role, current = self._current(holder, key)
        key_entries = [trusted_key.model_dump(mode="json") for trusted_key in role.keys]
        key_entries[role.keys.index(current)]["revoked"] = {"on": start, "reason": reason}
        return self.next_version({name: {"keys": key_entries, "threshold": role.threshold}}, expires=expires)

    def judge(
        self,
        role: RoleName,
        body: Mapping[str, Any],
        signatures: Sequence[KeySignature],
        stated: str,
        logged: str | None,
    ) -> Judged | None:
        """Return the holders whose signatures of ``body`` count, given its stated time and when it was logged; None if a
        signature is not over this body.
        """
        signers = signers_of(body, signatures)
        if signers is None:
            return None
        key_of = {trusted_key.key: trusted_key for trusted_key in getattr(self.body, role).keys}
        reasons = {
            key: key_of[key].refusal(stated, logged)
            if key in key_of
            else f"the key {key[:16]}... is not in the trust file"
            for key in signers
        }
        counted = {key_of[key].holder for key, reason in reasons.items() if reason is None}
        holders = tuple(holder for holder in getattr(self.body, role).holders if holder in counted)
        return Judged(holders, tuple(reason for reason in reasons.values() if reason is not None))

    def _current(self, holder: str, key: str | None = None) -> tuple[RoleName, KeyRole, TrustedKey]:
        """Return the holder's newest key, or the named one, with its role."""
        roles: tuple[RoleName, ...] = ("certificates", "log")
        for name in roles:
            role: KeyRole = getattr(self.body, name)
            own_keys = [
                trusted_key
                for trusted_key in role.keys
                if trusted_key.holder == holder and key in (None, trusted_key.key)
            ]
            if own_keys:
                return name, role, own_keys[-1]
        holders = [*self.body.certificates.holders, *self.body.log.holders]
        key_text = "" if key is None else f" {key[:16]}..."
        raise PolicyError(
            f"{holder!r} has no key{key_text} in this trust file.{did_you_mean(holder, holders)} Its holders are: {', '.join(holders)}."
        )

    @property
    def _roots(self) -> tuple[RootRole, ...]:
        """Return the root roles that must have signed."""
        former = self.body.former_root
        return (self.body.root,) if former is None else (self.body.root, former)

    def _lacks(self, role: RootRole) -> int:
        """Return how many signatures of a root role are missing."""
        signers = signers_of(self._signed(), self.signatures)
        if signers is None:
            raise DataError("A signature of the trust file is invalid: the file was changed.")
        return max(role.threshold - len({key.key for key in role.keys} & set(signers)), 0)

    def _signed(self) -> dict[str, Any]:
        return self.body.model_dump(mode="json")


def _body(payload: Mapping[str, Any]) -> TrustBody:
    """Build a trust file's body from plain data; an inconsistency raises a :class:`PolicyError`."""
    try:
        return TrustBody.model_validate_json(readable(payload))
    except ValidationError as error:
        raise PolicyError(f"The trust file cannot be made: {told(error)}.") from None
