"""Authentication of parties on several hosts: a private key, and a certificate handed to the others beforehand.

*Guarantee*: a link is made only with the holder of the private key of the certificate named in the config. *Adversary*:
controls the network. Certificates are self-signed: trust depends on how they were handed over; compare fingerprints by
telephone.
"""

from __future__ import annotations

import datetime
import hashlib
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from reticent.base.documents import read_document
from reticent.base.exact import whole
from reticent.base.files import sync_folder, write_new
from reticent.errors import DataError, PolicyError
from reticent.noise.channels import Identity, public_key_of, self_signed

_LARGEST = 1 << 16
_LONGEST_NAME = 64
_DAYS = 825


@dataclass(frozen=True)
class PartyKeys:
    """The two files of a party, and the fingerprint for comparing the certificate."""

    private: Path
    certificate: Path
    fingerprint: str


def make_party_keys(folder: str | Path, name: str, days: int = _DAYS) -> PartyKeys:
    """Write NAME.key, readable by its owner only, and NAME.crt, a public certificate; existing files are not replaced."""
    party_name = name.strip() if isinstance(name, str) else ""
    if (
        not party_name
        or len(party_name) > _LONGEST_NAME
        or not party_name.isprintable()
        or "/" in party_name
        or party_name.startswith(".")
    ):
        raise PolicyError(
            f"The name of a party must have 1 to {_LONGEST_NAME} letters, digits or spaces, but it is {name!r}.",
            setting=("name",),
            value=name,
        )
    whole(days, "days", low=1, high=36_500)
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    private, certificate = target / f"{party_name}.key", target / f"{party_name}.crt"
    for path in (private, certificate):
        if path.exists() or path.is_symlink():
            raise DataError(f"{str(path)!r} exists already. Choose another name or folder; keys are never replaced.")
    identity = Identity.new()
    new_certificate = _certificate(identity, party_name, days)
    identity.save(private)
    try:
        write_new(certificate, new_certificate.public_bytes(Encoding.PEM))
    except BaseException:
        private.unlink()
        raise
    sync_folder(target)
    return PartyKeys(private, certificate, fingerprint_of(new_certificate.public_bytes(Encoding.DER)))


def fingerprint_of(certificate: bytes) -> str:
    """Return the first 32 hexadecimal digits of the hash of a certificate's public key, grouped for reading aloud."""
    digits = hashlib.sha256(public_key_of(certificate)).hexdigest()[:32]
    return " ".join(digits[start : start + 4] for start in range(0, 32, 4))


def read_certificate(path: str | Path, name: str) -> bytes:
    """Read the certificate of a party (DER); it must be the party's own, complete and valid today."""
    where = f"The certificate {str(path)!r}"
    try:
        parsed = x509.load_pem_x509_certificate(read_document(path, _LARGEST))
        key = parsed.public_key()
    except OSError as error:
        raise DataError(f"{where} cannot be read: {error.strerror}.", setting=("certificate",)) from None
    except ValueError:
        raise DataError(f"{where} is not a certificate in PEM.", setting=("certificate",)) from None
    if not isinstance(key, Ed25519PublicKey):
        raise DataError(
            f"{where} does not hold an Ed25519 key. Make one with: reticent noise keys", setting=("certificate",)
        )
    try:
        key.verify(parsed.signature, parsed.tbs_certificate_bytes)
    except InvalidSignature:
        raise DataError(f"{where} was changed: its signature is invalid.", setting=("certificate",)) from None
    owner = "".join(str(attribute.value) for attribute in parsed.subject.get_attributes_for_oid(NameOID.COMMON_NAME))
    if owner != name:
        raise DataError(f"{where} belongs to {owner!r}, not to {name!r}.", setting=("certificate",))
    now = datetime.datetime.now(datetime.UTC)
    if not parsed.not_valid_before_utc <= now <= parsed.not_valid_after_utc:
        raise DataError(
            f"{where} is valid from {parsed.not_valid_before_utc:%Y-%m-%d} to {parsed.not_valid_after_utc:%Y-%m-%d} only. Make a new one with: reticent noise keys",
            setting=("certificate",),
        )
    return parsed.public_bytes(Encoding.DER)


def _certificate(identity: Identity, name: str, days: int) -> x509.Certificate:
    """Return a self-signed certificate for this name, valid for some ``days`` from an hour ago."""
    # Clocks of different hosts differ slightly.
    begin = datetime.datetime.now(datetime.UTC) - datetime.timedelta(hours=1)
    end = begin + datetime.timedelta(days=days)
    return self_signed(identity.key, name, x509.random_serial_number(), begin, end)
