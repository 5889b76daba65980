"""A certificate for supply-chain tools: an in-toto statement about the published files in a DSSE envelope.

The envelope has its own signatures, over other bytes than the certificate's. Reticent itself verifies the certificate, not the envelope.

Source: [DSSE], sections "Signature Definition" (pre-authentication encoding) and "Envelope"; [InToto], Statement v1.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from reticent.errors import PolicyError
from reticent.release.canonical_json import canonical
from reticent.release.certificate import CERTIFICATE, unsigned

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "https://reticent.example/certificate/v{layout}"


def statement_of(certificate: Mapping[str, Any]) -> dict[str, Any]:
    """Return the in-toto statement: the published files with hashes as subjects, the certificate without signatures as predicate."""
    return {
        "_type": STATEMENT_TYPE,
        "subject": [
            {"name": name, "digest": {"sha256": entry["sha256"]}}
            for name, entry in sorted(certificate["files"].items())
        ],
        "predicateType": PREDICATE_TYPE.format(layout=certificate["layout"]),
        "predicate": unsigned(certificate),
    }


def pre_authentication(kind: str, payload: bytes) -> bytes:
    """Return the bytes that are signed: type and content, each prefixed by its length, so that they cannot be confused."""
    name = kind.encode()
    return b"DSSEv1 %d %s %d %s" % (len(name), name, len(payload), payload)


def envelope_of(certificate: Mapping[str, Any], keys: Iterable[Ed25519PrivateKey]) -> dict[str, Any]:
    """Return the envelope, signed with each key; a key is named by its public half in hexadecimal."""
    payload = canonical(statement_of(certificate))
    signed = pre_authentication(PAYLOAD_TYPE, payload)
    signatures = [
        {"keyid": key.public_key().public_bytes_raw().hex(), "sig": base64.b64encode(key.sign(signed)).decode()}
        for key in keys
    ]
    if not signatures:
        raise PolicyError(f"An envelope needs a signature: pass the private key for {CERTIFICATE} with --sign.")
    return {
        "payloadType": PAYLOAD_TYPE,
        "payload": base64.b64encode(payload).decode(),
        "signatures": signatures,
    }
