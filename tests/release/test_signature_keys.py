"""Keys and signatures: one spelling of a signature only, and keys that others cannot read."""

import stat
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from reticent.errors import DataError, PolicyError
from reticent.release.signature_keys import generate_keys, is_signed_by, private_key, public_key, sign, stated_key

BODY = {"claims": ["é", 1, None], "files": {}}


def test_a_new_pair_signs_and_verifies_and_only_the_owner_reads_the_secret(tmp_path: Path) -> None:
    made = generate_keys(tmp_path / "keys", "hospital")
    assert stat.S_IMODE(made.private.stat().st_mode) == 0o600
    signature = sign(BODY, private_key(made.private))
    assert signature["public_key"] == made.fingerprint
    for key in (made.public, str(made.public), made.fingerprint, private_key(made.private).public_key()):
        assert is_signed_by(BODY, signature, public_key(key))
    assert not is_signed_by({**BODY, "claims": []}, signature, public_key(made.public))


def test_keys_are_not_overwritten(tmp_path: Path) -> None:
    generate_keys(tmp_path)
    with pytest.raises(PolicyError, match="keys are not overwritten"):
        generate_keys(tmp_path)


def test_a_signature_has_one_spelling() -> None:
    key = Ed25519PrivateKey.generate()
    signature = sign(BODY, key)
    for wrong in (
        {**signature, "value": signature["value"].upper()},
        {**signature, "value": " " + signature["value"]},
        {**signature, "value": signature["value"][:-2]},
        {**signature, "value": None},
        {**signature, "public_key": signature["public_key"].upper()},
        {**signature, "algorithm": "ed25519"},
        {**signature, "note": "mine"},
        {},
    ):
        assert wrong == signature or not is_signed_by(BODY, wrong, key.public_key())
    assert stated_key({"public_key": "zz"}) is None
    assert stated_key({}) is None


def test_what_is_no_key_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"signing key .*nowhere.* cannot be read: No such file"):
        private_key(tmp_path / "nowhere.key")
    with pytest.raises(PolicyError, match="must be a path or an Ed25519 key, but it is a int"):
        private_key(7)
    (tmp_path / "text").write_text("hello")
    with pytest.raises(PolicyError, match="does not hold an unencrypted private key"):
        private_key(tmp_path / "text")
    other = ec.generate_private_key(ec.SECP256R1())
    (tmp_path / "other").write_bytes(
        other.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    with pytest.raises(PolicyError, match="a key of another type"):
        private_key(tmp_path / "other")
    made = generate_keys(tmp_path / "keys")
    with pytest.raises(PolicyError, match=r"does not hold a public key .*\.pub"):
        public_key(made.private)
