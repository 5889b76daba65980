"""Trust files: thresholds, periods, rotation and revocation, and the attacks that The Update Framework lists."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import reticent as rt
from reticent.errors import DataError, PolicyError
from reticent.release import countersigned
from reticent.release.canonical_json import readable
from reticent.release.trust import TrustFile, append, create_log
from tests.release.trust.conftest import LONG_AGO, NEVER, certificate_of, dated, digits, key, origin, trust_of

Publish = Callable[..., Path]


def saved(trust: TrustFile, path: Path) -> Path:
    trust.save(path)
    return path


def test_two_of_three_signatures_are_needed(publish: Publish, tmp_path: Path) -> None:
    trust = saved(trust_of(), tmp_path / "trust.json")
    both = rt.verify(publish("alice", "carol"), trust=trust)
    assert both.holds
    assert both.signed
    assert origin(both)[1].startswith("Signed by alice and carol; 2 of 3 are needed (trust file of 'office', version 1")
    one = rt.verify(publish("bob", folder="one"), trust=trust)
    assert origin(one) == ("fails", "Signatures of 2 of 3 holders are needed, and 1 count.")
    assert not one.holds
    none = rt.verify(publish(folder="none"), trust=trust)
    assert origin(none)[0] == "fails"


def test_a_second_holder_signs_later(publish: Publish) -> None:
    release = publish("bob")
    certificate = countersigned(certificate_of(release), [key("alice")])
    (release / "public" / "certificate.json").write_bytes(readable(certificate))
    assert rt.verify(release, trust=trust_of()).holds
    assert rt.verify(release, key=digits("alice")).holds
    assert rt.verify(release, key=digits("bob")).holds
    assert not rt.verify(release, key=digits("carol")).holds


def test_several_signatures_have_one_spelling(publish: Publish) -> None:
    release = publish("alice", "bob")
    path = release / "public" / "certificate.json"
    certificate = certificate_of(release)
    first, second = certificate["signature"]
    foreign = countersigned({**certificate, "created": LONG_AGO, "signature": None}, [key("carol")])["signature"]
    for wrong in ([first], [second, first], [first, first], [first, foreign], [], None, "none", [first, "none"]):
        path.write_bytes(readable({**certificate, "signature": wrong}))
        for trust in (None, trust_of(threshold=1)):
            found = rt.verify(release, trust=trust)
            assert not found.signed
            assert not found.holds, wrong


def test_an_unknown_key_does_not_count(publish: Publish) -> None:
    """Wrong key: a certificate signed by a stranger, alone and beside one holder."""
    for number, holders in enumerate((("mallory",), ("alice", "mallory"))):
        status, detail = origin(rt.verify(publish(*holders, folder=str(number)), trust=trust_of()))
        assert status == "fails"
        assert f"the key {digits('mallory')[:16]}... is not in the trust file" in detail


def test_a_key_of_the_log_or_the_root_signs_no_certificate(publish: Publish) -> None:
    for name in ("notary", "r1"):
        assert origin(rt.verify(publish(name, folder=name), trust=trust_of(threshold=1)))[0] == "fails"


def test_an_expired_key_is_refused_and_old_releases_stay_valid(publish: Publish) -> None:
    release = publish("alice", "bob")
    trust = trust_of(until="2010-01-01T00:00:00Z")
    status, detail = origin(rt.verify(release, trust=trust))
    assert (status, detail.count("expired at 2010-01-01T00:00:00Z")) == ("fails", 2)
    assert rt.verify(dated(release, "2009-12-31T23:59:59Z", "alice", "bob"), trust=trust).holds
    assert not rt.verify(dated(release, "2010-01-01T00:00:00Z", "alice", "bob"), trust=trust).holds
    assert "is valid from" in origin(rt.verify(dated(release, "2000-01-01T00:00:00Z", "alice", "bob"), trust=trust))[1]


def test_old_releases_stay_verifiable_after_rotation(publish: Publish) -> None:
    before, after = publish("alice", "bob"), publish("alice-2", "bob", folder="after")
    dated(before, "2009-01-01T00:00:00Z", "alice", "bob")
    rotated = trust_of().rotated("alice", digits("alice-2"), until=NEVER, on="2010-01-01T00:00:00Z")
    trust = rotated.signed_by([key("r1"), key("r3")])
    assert trust.body.version == 2
    assert rt.verify(before, trust=trust).holds
    assert rt.verify(after, trust=trust).holds
    stale = publish("alice", "bob", folder="stale")
    assert "the key of alice expired at 2010-01-01T00:00:00Z" in origin(rt.verify(stale, trust=trust))[1]


def test_two_keys_of_one_holder_count_once(publish: Publish) -> None:
    trust = trust_of().rotated("alice", digits("alice-2"), until=NEVER).signed_by([key("r1"), key("r2")])
    overlapping = trust.body.model_copy(
        update={"certificates": trust.body.certificates.model_copy(update={"keys": tuple(
            each.model_copy(update={"valid_from": LONG_AGO, "valid_until": NEVER}) for each in trust.body.certificates.keys
        )})}
    )  # fmt: skip
    trust = TrustFile(overlapping).signed_by([key("r1"), key("r2")])
    assert origin(rt.verify(publish("alice", "alice-2"), trust=trust)) == (
        "fails",
        "Signatures of 2 of 3 holders are needed, and 1 count.",
    )


def test_a_retired_key_is_refused_from_its_date_on(publish: Publish) -> None:
    release = publish("alice", "bob")
    trust = trust_of().revoked("bob", "retired", on="2010-01-01T00:00:00Z").signed_by([key("r1"), key("r2")])
    assert "bob was revoked as retired from 2010-01-01" in origin(rt.verify(release, trust=trust))[1]
    assert rt.verify(dated(release, "2009-12-31T23:59:59Z", "alice", "bob"), trust=trust).holds


def test_a_thief_who_dates_back_is_refused(publish: Publish, tmp_path: Path) -> None:
    """Key compromise: the stated time proves nothing, and only a certificate that a log had before the revocation is accepted."""
    create_log(tmp_path / "log.json", "office", key("notary"))
    honest = publish("alice", "bob")
    append(tmp_path / "log.json", certificate_of(honest), key("notary"))
    forged = dated(publish("alice", "bob", folder="forged"), "2009-01-01T00:00:00Z", "alice", "bob")
    trust = trust_of().revoked("bob", "compromised", on=NEVER).signed_by([key("r1"), key("r2")])
    status, detail = origin(rt.verify(forged, trust=trust))
    assert status == "fails"
    assert "the time that the certificate states proves nothing, and no log shows" in detail
    assert not rt.verify(honest, trust=trust).holds
    assert rt.verify(honest, trust=trust, log=tmp_path / "log.json").holds
    assert not rt.verify(forged, trust=trust, log=tmp_path / "log.json").holds
    # The thief adds it to the log after the revocation.
    late = trust_of().revoked("bob", "compromised", on="2010-01-01T00:00:00Z").signed_by([key("r1"), key("r2")])
    append(tmp_path / "log.json", certificate_of(forged), key("notary"))
    assert "was logged at" in origin(rt.verify(forged, trust=late, log=tmp_path / "log.json"))[1]


def test_a_log_of_the_thief_is_no_evidence(publish: Publish, tmp_path: Path) -> None:
    create_log(tmp_path / "log.json", "office", key("bob"))
    release = publish("alice", "bob")
    append(tmp_path / "log.json", certificate_of(release), key("bob"))
    trust = trust_of().revoked("bob", "compromised", on=NEVER).signed_by([key("r1"), key("r2")])
    found = rt.verify(release, trust=trust, log=tmp_path / "log.json")
    assert not found.holds
    assert any("not signed with keys that the trust file names for it" in each.detail for each in found.checks)


def test_one_key_has_one_purpose() -> None:
    with pytest.raises(PolicyError, match="a key occurs twice"):
        trust_of(log_keys={"notary": digits("alice")})
    with pytest.raises(PolicyError, match="certificates needs 4 signatures, and only 3 holders"):
        trust_of(threshold=4)
    with pytest.raises(PolicyError, match="before it is issued"):
        trust_of(expires="2000-01-01T00:00:00Z")


def test_an_older_version_is_refused(tmp_path: Path) -> None:
    """Rollback: an older file would bring a revoked key back."""
    first = trust_of()
    second = first.revoked("bob", "compromised").signed_by([key("r1"), key("r2")])
    assert first.updated(second) is second
    with pytest.raises(DataError, match="has version 1, but version 2 is already known"):
        second.updated(first)


def test_two_files_of_one_version_are_noticed() -> None:
    first = trust_of()
    one, other = (first.revoked(name, "retired").signed_by([key("r1"), key("r2")]) for name in ("alice", "bob"))
    with pytest.raises(DataError, match="two different trust files of version 2"):
        one.updated(other)
    assert one.updated(one) is one


def test_an_expired_file_is_refused(publish: Publish) -> None:
    """Indefinite freeze: whoever keeps showing an old file is found out when it expires."""
    frozen = trust_of(expires="2010-01-01T00:00:00Z")
    status, detail = origin(rt.verify(publish("alice", "bob"), trust=frozen))
    assert status == "fails"
    assert "version 1, expired at 2010-01-01T00:00:00Z: revocations may have been withheld from you" in detail
    with pytest.raises(DataError, match="expired"):
        trust_of().updated(frozen)
    with pytest.raises(PolicyError, match="Pass a new date"):
        frozen.next_version()
    assert frozen.next_version(expires=NEVER).body.expires == NEVER


def test_a_file_without_enough_root_signatures_is_refused(publish: Publish) -> None:
    lacking = trust_of().revoked("bob", "retired").signed_by([key("r3")])
    assert lacking.missing() == 1
    assert "lacks 1 signatures of root keys" in origin(rt.verify(publish("alice", "bob"), trust=lacking))[1]
    with pytest.raises(PolicyError, match="lacks signatures of root keys"):
        lacking.next_version()
    with pytest.raises(PolicyError, match="is not a root key of this trust file"):
        lacking.signed_by([key("alice")])


def test_signatures_of_another_version_do_not_fit(tmp_path: Path) -> None:
    """Mix and match: the signatures of version 1 under the body of version 2."""
    first = trust_of()
    mixed = TrustFile(first.revoked("bob", "retired").body, first.signatures)
    with pytest.raises(DataError, match="is invalid: the file was changed"):
        mixed.check()


def test_files_of_another_release_do_not_fit(publish: Publish) -> None:
    """Mix and match: a certificate with all its signatures beside the table of another release."""
    mine, other = publish("alice", "bob"), publish("alice", "bob", folder="other", k=4)
    table = next((other / "public").glob("*.csv")).name
    shutil.copy(other / "public" / table, mine / "public" / table)
    found = rt.verify(mine, trust=trust_of())
    assert [check.name for check in found.failures] == ["files"]


def test_root_keys_are_replaced_by_old_and_new_ones_together() -> None:
    first = trust_of()
    second = first.rotated("r1", digits("r1-2"), until=NEVER)
    assert second.missing() == 4
    alone = second.signed_by([key("r1-2"), key("r3")])
    with pytest.raises(DataError, match="lacks 1 signatures"):
        alone.check()
    whole = alone.signed_by([key("r1")])
    assert first.updated(whole) is whole
    third = whole.rotated("r2", digits("r2-2"), until=NEVER).signed_by([key("r1-2"), key("r2"), key("r2-2")])
    with pytest.raises(
        DataError, match=r"is not signed by the root keys of version 1 .* install the versions in between"
    ):
        first.updated(third)
    assert first.updated(whole).updated(third) is third


def test_a_stranger_cannot_make_a_newer_version() -> None:
    mallory = TrustFile.create(
        "office", {"mallory": digits("mallory")}, {"mallory": digits("mallory's")}, expires=NEVER, until=NEVER
    )
    newer = mallory.signed_by([key("mallory")]).next_version().signed_by([key("mallory")])
    with pytest.raises(DataError, match="is not signed by the root keys of version 1"):
        trust_of().updated(newer)


def test_files_that_are_no_trust_files_are_refused_in_words(tmp_path: Path) -> None:
    path = saved(trust_of(), tmp_path / "trust.json")
    good = json.loads(path.read_bytes())
    assert TrustFile.read(path) == trust_of()
    for change, words in (
        (lambda each: each["signed"].update(version=0), "signed.version"),
        (lambda each: each["signed"].update(version="1"), "signed.version"),
        (lambda each: each["signed"].update(expires="tomorrow"), "signed.expires"),
        (lambda each: each["signed"].update(layout=2), "signed.layout"),
        (lambda each: each["signed"].update(more=1), "signed.more"),
        (lambda each: each["signed"]["certificates"].update(threshold=0), "threshold"),
        (lambda each: each["signed"]["certificates"]["keys"][0].update(key="A" * 64), "keys.0.key"),
    ):
        changed = json.loads(json.dumps(good))
        change(changed)
        path.write_bytes(readable(changed))
        with pytest.raises(DataError, match=words):
            TrustFile.read(path)
    for content in (b"", b"[]", b"{}", b"\xff", json.dumps(good).encode(), b"[" * 100_000):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"trust\.json"):
            TrustFile.read(path)
    path.write_bytes(readable({"log": 1}))
    with pytest.raises(
        DataError, match=r"trust\.json is not a trust file that this version reads: signed: Field required"
    ):
        TrustFile.read(path)
    with pytest.raises(DataError, match="cannot be read: No such file"):
        TrustFile.read(tmp_path / "nowhere")
    with pytest.raises(PolicyError, match="must be a path, but it is a int"):
        TrustFile.read(7)


def test_data_without_end_are_not_read(publish: Publish, tmp_path: Path) -> None:
    """Endless data: sparse files of a terabyte, which would fill any memory."""
    release = publish("alice", "bob")
    endless = tmp_path / "endless.json"
    with endless.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(DataError, match="at most 67,108,864 are read here"):
        rt.verify(release, trust=endless)
    for name in (next((release / "public").glob("*.csv")).name, "extra.bin", "certificate.json"):
        copy = tmp_path / f"copy-{name}"
        shutil.copytree(release, copy)
        with (copy / "public" / name).open("ab") as file:
            file.truncate(1 << 40)
        found = rt.verify(copy, trust=trust_of())
        assert not found.holds
        assert "1,099,511,627,776 bytes" in found.checks[0].detail


def test_a_key_and_a_trust_file_together_are_refused(publish: Publish) -> None:
    with pytest.raises(PolicyError, match="a key and a trust file"):
        rt.verify(publish("alice"), key=digits("alice"), trust=trust_of())
    with pytest.raises(PolicyError, match="pass the log too"):
        rt.verify(publish("alice", folder="other"), remember="head.json")
