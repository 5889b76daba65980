"""A certificate as tools of the supply-chain world read it: an in-toto statement about the published files in a DSSE envelope.

The envelope has signatures of its own, made over other bytes than those of the certificate: the certificate itself stays what Reticent verifies.

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
    """The in-toto statement: the published files with their hashes as subjects, the certificate without its signatures as predicate."""
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
    """What is signed: type and content, each after its length, so that neither can be taken for part of the other."""
    name = kind.encode()
    return b"DSSEv1 %d %s %d %s" % (len(name), name, len(payload), payload)


def envelope_of(certificate: Mapping[str, Any], keys: Iterable[Ed25519PrivateKey]) -> dict[str, Any]:
    """The envelope, signed with each of the keys; a key is named by its public half in hexadecimal."""
    payload = canonical(statement_of(certificate))
    signed = pre_authentication(PAYLOAD_TYPE, payload)
    signatures = [
        {"keyid": key.public_key().public_bytes_raw().hex(), "sig": base64.b64encode(key.sign(signed)).decode()}
        for key in keys
    ]
    if not signatures:
        raise PolicyError(f"An envelope needs a signature: name the private key for {CERTIFICATE} with --sign.")
    return {
        "payloadType": PAYLOAD_TYPE,
        "payload": base64.b64encode(payload).decode(),
        "signatures": signatures,
    }
