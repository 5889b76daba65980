"""Ed25519 keys and signatures: they prove which publisher a certificate comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reticent.base.documents import read_document
from reticent.base.files import write_whole
from reticent.errors import DataError, PolicyError
from reticent.release.canonical_json import canonical

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

ALGORITHM = "Ed25519"


@dataclass(frozen=True)
class KeyFiles:
    """Paths of a new key pair, and the public key in hexadecimal."""

    private: Path
    public: Path
    fingerprint: str


def generate_keys(folder: str | Path, name: str = "reticent") -> KeyFiles:
    """Create a key pair: ``name.key``, readable by its owner only, and ``name.pub``, to hand out."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    target_folder = Path(folder)
    private, public = target_folder / f"{name}.key", target_folder / f"{name}.pub"
    for path in (private, public):
        if path.exists():
            raise PolicyError(f"{str(path)!r} exists already, and keys are not overwritten. Choose another name.")
    target_folder.mkdir(parents=True, exist_ok=True)
    key = Ed25519PrivateKey.generate()
    private_bytes = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public_bytes = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    write_whole(private, private_bytes, mode=0o600)
    write_whole(public, public_bytes)
    return KeyFiles(private, public, _hexadecimal(key.public_key()))


def sign(body: Mapping[str, Any], key: Ed25519PrivateKey) -> dict[str, str]:
    """Return the signature of a certificate's body (everything but the signature), with its public key."""
    return {
        "algorithm": ALGORITHM,
        "public_key": _hexadecimal(key.public_key()),
        "value": key.sign(canonical(body)).hex(),
    }


def is_signed_by(body: Mapping[str, Any], signature: Mapping[str, Any], key: Ed25519PublicKey) -> bool:
    """True if ``signature`` was made over ``body`` with the private half of ``key``; only the canonical encoding is accepted."""
    from cryptography.exceptions import InvalidSignature

    value = _bytes(signature.get("value"), 64)
    if value is None or signature.get("public_key") != _hexadecimal(key) or signature.get("algorithm") != ALGORITHM:
        return False
    try:
        key.verify(value, canonical(body))
    except InvalidSignature:
        return False
    return set(signature) == {"algorithm", "public_key", "value"}


def stated_key(signature: Mapping[str, Any]) -> Ed25519PublicKey | None:
    """Return the public key that a signature names, which does not show whose it is; None if malformed."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    raw = _bytes(signature.get("public_key"), 32)
    try:
        return Ed25519PublicKey.from_public_bytes(raw) if raw is not None else None
    except ValueError:
        return None


def private_key(given: Any) -> Ed25519PrivateKey:
    """A signing key: a key object, or the path of a PEM file."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    if isinstance(given, Ed25519PrivateKey):
        return given
    try:
        key = serialization.load_pem_private_key(_file(given, "signing key"), password=None)
    except (ValueError, TypeError):
        raise PolicyError(f"{str(given)!r} does not hold an unencrypted private key in PEM form.") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise PolicyError(f"{str(given)!r} holds a key of another type; certificates are signed with {ALGORITHM}.")
    return key


def private_keys(given: Any) -> tuple[Ed25519PrivateKey, ...]:
    """Signing keys: none, one, or a list of them."""
    listed = given if isinstance(given, list | tuple) else [] if given is None else [given]
    return tuple(private_key(key) for key in listed)


def public_key(given: Any) -> Ed25519PublicKey:
    """Return a key to verify with: a key object, the path of a PEM file, or 64 hexadecimal digits."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    if isinstance(given, Ed25519PublicKey):
        return given
    raw = _bytes(given, 32)
    if raw is not None:
        return Ed25519PublicKey.from_public_bytes(raw)
    try:
        key = serialization.load_pem_public_key(_file(given, "key"))
    except ValueError:
        raise PolicyError(
            f"{str(given)!r} does not hold a public key in PEM form (the file that ends in .pub)."
        ) from None
    if not isinstance(key, Ed25519PublicKey):
        raise PolicyError(f"{str(given)!r} holds a key of another type; certificates are signed with {ALGORITHM}.")
    return key


def _file(path: Any, description: str) -> bytes:
    """Read the file of a key; ``description`` names the key in errors."""
    if not isinstance(path, str | Path):
        raise PolicyError(f"The {description} must be a path or an {ALGORITHM} key, but it is a {type(path).__name__}.")
    try:
        return read_document(path)
    except OSError as error:
        raise DataError(f"The {description} {str(path)!r} cannot be read: {error.strerror}.") from None


def _bytes(text: Any, length: int) -> bytes | None:
    """Decode lower-case hexadecimal digits; None for any other spelling."""
    try:
        raw = bytes.fromhex(text)
    except (ValueError, TypeError):
        return None
    return raw if len(raw) == length and raw.hex() == text else None


def _hexadecimal(key: Ed25519PublicKey) -> str:
    return key.public_bytes_raw().hex()
