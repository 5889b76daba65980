"""DSSE envelopes: what is signed is recomputed here from the specification, and read by another implementation where it is installed."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from reticent.errors import PolicyError
from reticent.release.trust import envelope_of
from reticent.release.trust.envelope import pre_authentication
from tests.release.trust.conftest import certificate_of, digits, key

Publish = Callable[..., Path]


def encoded_before_signing(kind: str, body: bytes) -> bytes:
    """PAE of DSSE v1: the word, and each text after its length in bytes, all with one space between them."""
    return b" ".join([b"DSSEv1", str(len(kind.encode())).encode(), kind.encode(), str(len(body)).encode(), body])


def test_the_encoding_is_that_of_the_example_in_the_specification() -> None:
    assert (
        pre_authentication("http://example.com/HelloWorld", b"hello world")
        == b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    )


def test_an_envelope_is_signed_over_the_statement_and_its_type(publish: Publish) -> None:
    certificate = certificate_of(publish("alice"))
    made = envelope_of(certificate, [key("alice"), key("bob")])
    payload = base64.b64decode(made["payload"], validate=True)
    for name, signature in zip(("alice", "bob"), made["signatures"], strict=True):
        assert signature["keyid"] == digits(name)
        public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(signature["keyid"]))
        value = base64.b64decode(signature["sig"], validate=True)
        public.verify(value, encoded_before_signing("application/vnd.in-toto+json", payload))
        with pytest.raises(InvalidSignature):
            public.verify(value, encoded_before_signing("text/plain", payload))
    statement = json.loads(payload)
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert {each["name"]: each["digest"]["sha256"] for each in statement["subject"]} == {
        name: entry["sha256"] for name, entry in certificate["files"].items()
    }
    assert statement["predicate"] == {name: value for name, value in certificate.items() if name != "signature"}
    with pytest.raises(PolicyError, match="needs a signature"):
        envelope_of(certificate, [])


def test_another_implementation_accepts_it(publish: Publish) -> None:
    dsse = pytest.importorskip("securesystemslib.dsse")
    signer = pytest.importorskip("securesystemslib.signer")
    made = envelope_of(certificate_of(publish("alice")), [key("alice")])
    read = dsse.Envelope.from_dict(json.loads(json.dumps(made)))
    own = signer.SSlibKey(digits("alice"), "ed25519", "ed25519", {"public": digits("alice")})
    other = signer.SSlibKey(digits("bob"), "ed25519", "ed25519", {"public": digits("bob")})
    assert read.verify([own], 1)
    with pytest.raises(Exception, match="threshold"):
        read.verify([other], 1)
