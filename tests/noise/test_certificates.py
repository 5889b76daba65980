"""Keys and certificates of parties: right modes, never replaced, and every wrong one refused in words."""

from __future__ import annotations

import datetime
import stat

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from reticent.errors import DataError, PolicyError
from reticent.noise.certificates import fingerprint_of, make_party_keys, read_certificate
from reticent.noise.channels import Identity, public_key_of


def test_a_key_stays_with_its_owner_and_its_certificate_is_for_everybody(tmp_path):
    made = make_party_keys(tmp_path / "keys", "St. Anna")
    assert stat.S_IMODE(made.private.stat().st_mode) == 0o600
    assert stat.S_IMODE(made.certificate.stat().st_mode) == 0o644
    certificate = read_certificate(made.certificate, "St. Anna")
    assert Identity.load(made.private).certified(certificate).public == certificate
    assert made.fingerprint == fingerprint_of(certificate)
    other = read_certificate(make_party_keys(tmp_path / "keys", "Bruno").certificate, "Bruno")
    with pytest.raises(DataError, match="does not match the certificate"):
        Identity.load(made.private).certified(other)
    assert len(made.fingerprint) == 39


def test_keys_are_never_replaced(tmp_path):
    made = make_party_keys(tmp_path, "anna")
    before = made.private.read_bytes(), made.certificate.read_bytes()
    with pytest.raises(DataError, match="never replaced"):
        make_party_keys(tmp_path, "anna")
    made.private.unlink()
    with pytest.raises(DataError, match="never replaced"):
        make_party_keys(tmp_path, "anna")
    assert made.certificate.read_bytes() == before[1]


@pytest.mark.parametrize("name", ["", " ", "a/b", "../up", ".hidden", "x" * 65, "two\nlines", 3])
def test_a_name_that_is_no_file_is_refused(name, tmp_path):
    with pytest.raises(PolicyError, match="name of a party"):
        make_party_keys(tmp_path, name)
    assert list(tmp_path.iterdir()) == []


def test_the_certificate_of_somebody_else_is_refused(tmp_path):
    made = make_party_keys(tmp_path, "anna")
    with pytest.raises(DataError, match="belongs to 'anna', not to 'bruno'"):
        read_certificate(made.certificate, "bruno")


def test_a_changed_certificate_is_refused(tmp_path):
    made, other = make_party_keys(tmp_path, "anna"), make_party_keys(tmp_path, "bruno")
    found = x509.load_pem_x509_certificate(made.certificate.read_bytes())
    raw = bytearray(found.public_bytes(Encoding.DER))
    stolen, own = (public_key_of(Identity.load(each.private).public) for each in (other, made))
    place = raw.find(own)
    raw[place : place + 32] = stolen
    made.certificate.write_bytes(x509.load_der_x509_certificate(bytes(raw)).public_bytes(Encoding.PEM))
    with pytest.raises(DataError, match="signature is invalid"):
        read_certificate(made.certificate, "anna")


def test_a_certificate_that_has_run_out_is_refused(tmp_path, monkeypatch):
    made = make_party_keys(tmp_path, "anna", days=1)

    later = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=2)

    class Later(datetime.datetime):
        @classmethod
        def now(cls, tz=None):
            return later

    monkeypatch.setattr("reticent.noise.certificates.datetime.datetime", Later)
    with pytest.raises(DataError, match="Make a new one"):
        read_certificate(made.certificate, "anna")


def test_a_key_of_another_kind_is_refused(tmp_path):
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "anna")])
    now = datetime.datetime.now(datetime.UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), 7, now, now + datetime.timedelta(days=9))
    (tmp_path / "anna.crt").write_bytes(made.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM))
    with pytest.raises(DataError, match="not hold an Ed25519 key"):
        read_certificate(tmp_path / "anna.crt", "anna")


@pytest.mark.parametrize("content", [None, b"", b"nothing", bytes(range(256)), b"x" * (1 << 17)])
def test_what_is_no_certificate_is_refused(content, tmp_path):
    path = tmp_path / "anna.crt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError):
        read_certificate(path, "anna")
