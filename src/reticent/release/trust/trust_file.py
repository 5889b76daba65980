"""The trust file: which keys may sign certificates and heads of a log, from when to when, and how many of them must.

Root keys vouch for the file itself: as many of them as its threshold says have signed it. A recipient keeps the file and replaces it by newer versions
only (:meth:`TrustFile.updated`), each signed by the root keys of the version that it replaces.

*Guarantee*: a certificate is accepted only if enough holders of keys signed it, with keys that were valid at the time that it states. *Adversary*: controls
every file that the recipient gets, and any number of keys below the thresholds. *Not covered*: the time that a certificate states is the word of those who sign. After a theft the thief
dates back; so a key that was revoked as compromised is believed only for certificates that a log, signed with other keys, had before.

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
    """From when on a key is refused. ``retired``: nobody else has it. ``compromised``: somebody else may have it, so times that it signs prove nothing."""

    on: Time
    reason: Reason


class TrustedKey(VouchedFor):
    """A public key of a holder, and the times at which it may sign: from ``valid_from`` to just before ``valid_until``."""

    holder: Name
    key: Digest
    valid_from: Time
    valid_until: Time
    revoked: Revocation | None = None

    def refusal(self, stated: str, logged: str | None) -> str | None:
        """Why a signature with this key does not count for what states the time ``stated`` and was in a log at ``logged``; None if it counts."""
        if stated < self.valid_from:
            return f"the key of {self.holder} is valid from {self.valid_from} on, and the certificate states {stated}"
        if stated >= self.valid_until:
            return f"the key of {self.holder} expired at {self.valid_until}, and the certificate states {stated}"
        if self.revoked is None:
            return None
        said = f"the key of {self.holder} was revoked as {self.revoked.reason} from {self.revoked.on} on"
        if self.revoked.reason == "retired":
            return None if stated < self.revoked.on else f"{said}, and the certificate states {stated}"
        if logged is None:
            return f"{said}: the time that the certificate states proves nothing, and no log shows that it existed before (--log)"
        return None if logged < self.revoked.on else f"{said}, and the certificate came into the log at {logged}"


class KeyRole(VouchedFor):
    """Keys that may sign something, and how many different holders must. A holder who rotates keys has several, one after the other."""

    keys: tuple[TrustedKey, ...] = Field(max_length=_MOST_KEYS)
    threshold: int = Field(ge=1)

    @property
    def holders(self) -> tuple[str, ...]:
        """The holders in their order."""
        return tuple(dict.fromkeys(each.holder for each in self.keys))


class RootKey(VouchedFor):
    """A public key that vouches for the trust file."""

    holder: Name
    key: Digest


class RootRole(VouchedFor):
    """The keys that vouch for the trust file, and how many of them must."""

    keys: tuple[RootKey, ...] = Field(min_length=1, max_length=_MOST_KEYS)
    threshold: int = Field(ge=1)


class TrustBody(VouchedFor):
    """What the root keys sign. ``former_root`` are those of the version before, in a version that changes them: both sign it."""

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
        every = [each.key for role in (self.root, self.certificates, self.log) for each in role.keys]
        if len(set(every)) < len(every):
            raise ValueError(
                "a key occurs twice. Each key has one holder and one purpose: a log with the key of certificates would be no evidence of time"
            )
        if len({each.holder for each in self.root.keys}) < len(self.root.keys):
            raise ValueError("a holder has two root keys, and would count twice")
        for name, threshold, holders in (
            ("root", self.root.threshold, len(self.root.keys)),
            ("certificates", self.certificates.threshold, len(self.certificates.holders)),
            ("log", self.log.threshold, max(len(self.log.holders), 1)),
        ):
            if threshold > holders:
                raise ValueError(f"{name} needs {threshold} signatures, and only {holders} holders have keys")
        if self.expires <= self.issued:
            raise ValueError(f"it expires at {self.expires}, before it is issued at {self.issued}")
        for each in (*self.certificates.keys, *self.log.keys):
            if each.valid_until < each.valid_from:
                raise ValueError(f"the key of {each.holder} is valid until {each.valid_until}, before it begins to be")
        return self


class _TrustDocument(VouchedFor):
    """The file."""

    signed: TrustBody
    signatures: tuple[KeySignature, ...]


class Judged(NamedTuple):
    """Whose signatures count, and why others do not."""

    holders: tuple[str, ...]
    refusals: tuple[str, ...]


@dataclass(frozen=True)
class TrustFile:
    """A trust file with its signatures. It may still lack some: :meth:`check` tells."""

    body: TrustBody
    signatures: tuple[KeySignature, ...] = ()

    @classmethod
    def read(cls, given: str | Path | TrustFile) -> TrustFile:
        """The trust file at a path."""
        if isinstance(given, TrustFile):
            return given
        if not isinstance(given, str | Path):
            raise PolicyError(f"The trust file must be a path, but it is a {type(given).__name__}.")
        document = read_vouched(_TrustDocument, read_file(given, "trust file"), str(given), "trust file")
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
        """The first version, not signed yet: public keys in hexadecimal by holder; those that sign are valid from now ``until`` then."""
        issued = now or present()

        def role(given: Mapping[str, str], least: int) -> dict[str, Any]:
            listed = [
                {"holder": holder, "key": key, "valid_from": issued, "valid_until": until, "revoked": None}
                for holder, key in given.items()
            ]
            return {"keys": listed, "threshold": least}

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
        """Write the file, whole or not at all."""
        document = _TrustDocument(signed=self.body, signatures=self.signatures)
        write_whole(path, readable(document.model_dump(mode="json")))

    def signed_by(self, keys: Iterable[Ed25519PrivateKey]) -> TrustFile:
        """The same version with more signatures of root keys."""
        made = signatures_by(self._signed(), keys)
        known = {each.key: each.holder for role in self._roots for each in role.keys}
        for each in made:
            if each.public_key not in known:
                raise PolicyError(
                    f"The key {each.public_key[:16]}... is not a root key of this trust file. Its root keys are those of "
                    f"{', '.join(sorted(set(known.values())))}."
                )
        return TrustFile(self.body, merged_signatures(self.signatures, made))

    def missing(self) -> int:
        """How many signatures of root keys the file still lacks."""
        return sum(self._lacks(role) for role in self._roots)

    def check(self, now: str | None = None) -> None:
        """Refuse a file that not enough root keys have signed, or that has expired."""
        missing = self.missing()
        if missing:
            raise DataError(
                f"The trust file of {self.body.publisher!r}, version {self.body.version}, lacks {missing} signatures of "
                "root keys. Its root holders add them with `reticent keys sign`."
            )
        at = now or present()
        if at >= self.body.expires:
            raise DataError(
                f"The trust file of {self.body.publisher!r}, version {self.body.version}, expired at {self.body.expires}: revocations may have been kept from "
                "you since. Get a newer one from the publisher, and take it over with `reticent keys update`."
            )

    def updated(self, newer: TrustFile, now: str | None = None) -> TrustFile:
        """``newer``, if the root keys of this version vouch for it; anything else is a :class:`DataError`.

        An older version is refused, and a different file of the same version, and one that has expired.
        """
        newer.check(now)
        mine, theirs = self.body, newer.body
        if theirs.version < mine.version:
            raise DataError(
                f"The new trust file has version {theirs.version}, and version {mine.version} is known already: an older file may hide revocations."
            )
        if theirs.version == mine.version and theirs != mine:
            raise DataError(
                f"There are two different trust files of version {mine.version}. Ask the publisher which one is theirs, by another way."
            )
        if newer._lacks(mine.root):
            raise DataError(
                f"Version {theirs.version} is not signed by the root keys of version {mine.version} ({mine.root.threshold} of {len(mine.root.keys)}). If "
                "root keys changed more than once, take over the versions between them first."
            )
        return newer

    def next_version(self, changes: Mapping[str, Any] | None = None, *, expires: str | None = None) -> TrustFile:
        """The next version with some roles replaced, not signed yet. This version must be complete, so that versions form one line."""
        if self.missing():
            raise PolicyError(
                f"Version {self.body.version} lacks signatures of root keys. Complete it with `reticent keys sign` before the next one."
            )
        issued = present()
        made = {**self.body.model_dump(mode="json"), "version": self.body.version + 1, "issued": issued}
        made |= {"former_root": None, **(changes or {})}
        if expires is not None:
            made["expires"] = expires
        elif self.body.expires <= issued:
            raise PolicyError(f"The trust file expired at {self.body.expires}. Name a new date with --expires.")
        return TrustFile(_body(made))

    def rotated(
        self, holder: str, key: str, *, until: str, on: str | None = None, expires: str | None = None
    ) -> TrustFile:
        """The next version, in which a holder signs with another key from ``on`` (default: now). The old key stays good for what it signed before.

        A root key is replaced at once: the old one still signs this version, as recipients know only that one.
        """
        start = on or present()
        if holder in [each.holder for each in self.body.root.keys]:
            roots = [
                {"holder": each.holder, "key": key if each.holder == holder else each.key}
                for each in self.body.root.keys
            ]
            former = self.body.root.model_dump(mode="json")
            return self.next_version({"root": {**former, "keys": roots}, "former_root": former}, expires=expires)
        name, role, current = self._current(holder)
        listed = [each.model_dump(mode="json") for each in role.keys]
        listed[role.keys.index(current)]["valid_until"] = min(start, current.valid_until)
        listed.append({"holder": holder, "key": key, "valid_from": start, "valid_until": until, "revoked": None})
        return self.next_version({name: {"keys": listed, "threshold": role.threshold}}, expires=expires)

    def revoked(
        self, holder: str, reason: Reason, *, key: str | None = None, on: str | None = None, expires: str | None = None
    ) -> TrustFile:
        """The next version, in which a key (default: the newest of the holder) is refused from ``on`` (default: now)."""
        start = on or present()
        name, role, current = self._current(holder, key)
        listed = [each.model_dump(mode="json") for each in role.keys]
        listed[role.keys.index(current)]["revoked"] = {"on": start, "reason": reason}
        return self.next_version({name: {"keys": listed, "threshold": role.threshold}}, expires=expires)

    def judge(
        self,
        role: RoleName,
        body: Mapping[str, Any],
        signatures: Sequence[KeySignature],
        stated: str,
        logged: str | None,
    ) -> Judged | None:
        """Whose signatures of ``body`` count, for what states the time ``stated`` and was in a log at ``logged``; None if a signature is not of this body."""
        signers = signers_of(body, signatures)
        if signers is None:
            return None
        known = {each.key: each for each in getattr(self.body, role).keys}
        reasons = {
            key: known[key].refusal(stated, logged)
            if key in known
            else f"the key {key[:16]}... is not in the trust file"
            for key in signers
        }
        counted = {known[key].holder for key, why in reasons.items() if why is None}
        holders = tuple(holder for holder in getattr(self.body, role).holders if holder in counted)
        return Judged(holders, tuple(why for why in reasons.values() if why is not None))

    def _current(self, holder: str, key: str | None = None) -> tuple[RoleName, KeyRole, TrustedKey]:
        """The newest key of a holder, or the one that is named, with its role."""
        roles: tuple[RoleName, ...] = ("certificates", "log")
        for name in roles:
            role: KeyRole = getattr(self.body, name)
            mine = [each for each in role.keys if each.holder == holder and key in (None, each.key)]
            if mine:
                return name, role, mine[-1]
        known = [*self.body.certificates.holders, *self.body.log.holders]
        which = "" if key is None else f" {key[:16]}..."
        raise PolicyError(
            f"{holder!r} has no key{which} in this trust file.{did_you_mean(holder, known)} Its holders are: {', '.join(known)}."
        )

    @property
    def _roots(self) -> tuple[RootRole, ...]:
        """The root roles that must have signed."""
        former = self.body.former_root
        return (self.body.root,) if former is None else (self.body.root, former)

    def _lacks(self, role: RootRole) -> int:
        """How many signatures of a root role are missing."""
        signers = signers_of(self._signed(), self.signatures)
        if signers is None:
            raise DataError("A signature of the trust file was not made for it; it was changed.")
        return max(role.threshold - len({each.key for each in role.keys} & set(signers)), 0)

    def _signed(self) -> dict[str, Any]:
        return self.body.model_dump(mode="json")


def _body(made: Mapping[str, Any]) -> TrustBody:
    """The body that plain data describe; whatever does not fit together is a :class:`PolicyError`."""
    try:
        return TrustBody.model_validate_json(readable(made))
    except ValidationError as error:
        raise PolicyError(f"The trust file cannot be made: {told(error)}.") from None
