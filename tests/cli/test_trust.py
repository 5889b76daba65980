"""Keys, trust files, certificates and the log on the command line: the way of a publisher and of a recipient."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from tests.cli.conftest import Command


@pytest.fixture
def keys(patients: Path, reticent: Command) -> Path:
    """Pairs of keys in the working folder, and a trust file that two root keys vouch for."""
    for name in ("head", "deputy", "ann", "ben", "ann-2", "notary"):
        assert reticent("keys", "generate", "--name", name).code == 0
    made = reticent(
        "keys", "init", "trust.json", "--publisher", "office", "--root-key", "head=head.pub", "--root-key", "deputy=deputy.pub",
        "--root-threshold", "2", "--key", "ann=ann.pub", "--key", "ben=ben.pub", "--threshold", "2", "--log-key", "notary=notary.pub",
        "--expires", "9998-12-31", "--root", "head.key",
    )  # fmt: skip
    assert made.code == 0, made.err
    assert "1 more root signatures are needed: reticent keys sign trust.json --root ROOT.key" in made.out
    assert reticent("keys", "list", "trust.json").code == 1
    assert reticent("keys", "sign", "trust.json", "--root", "deputy.key", "--json").json["missing_signatures"] == 0
    return patients


def test_a_publisher_and_a_recipient_go_all_the_way(keys: Path, reticent: Command) -> None:
    assert reticent("log", "init", "log.json", "--name", "office", "--sign", "notary.key").code == 0
    made = reticent(
        "publish", "policy.toml", "-o", "release", "--sign", "ann.key", "--log", "log.json", "--log-key", "notary.key"
    )
    assert made.code == 0, made.err
    assert "The certificate is in the log log.json." in made.out
    alone = reticent("verify", "release", "--trust", "trust.json")
    assert alone.code == 1
    assert "Signatures of 2 of 2 holders are needed, and 1 count." in alone.out
    assert reticent("certificate", "sign", "release", "--sign", "ben.key").code == 0
    found = reticent(
        "verify", "release", "--trust", "trust.json", "--log", "log.json", "--remember", "seen.json", "--json"
    )
    assert found.code == 0, found.out
    told = {check["name"]: check for check in found.json["checks"]}
    assert told["origin"]["detail"].startswith("Signed by ann and ben")
    assert (told["log"]["status"], told["other releases"]["status"]) == ("holds", "holds")
    assert json.loads(Path("seen.json").read_bytes())["signed"]["size"] == 1

    old = Path("trust.json").read_bytes()
    rotated = reticent(
        "keys",
        "rotate",
        "trust.json",
        "ann",
        "ann-2.pub",
        "--on",
        "9997-01-01",
        "--root",
        "head.key",
        "--root",
        "deputy.key",
        "-o",
        "new.json",
    )
    assert rotated.code == 0, rotated.err
    assert reticent("keys", "update", "trust.json", "new.json", "--json").json["version"] == 2
    assert reticent("verify", "release", "--trust", "trust.json").code == 0
    (keys / "old.json").write_bytes(old)
    back = reticent("keys", "update", "trust.json", "old.json")
    assert (back.code, "version 2 is already known" in back.err) == (2, True)

    revoked = reticent(
        "keys",
        "revoke",
        "trust.json",
        "ben",
        "--reason",
        "compromised",
        "--on",
        "9998-01-01",
        "--root",
        "head.key",
        "--root",
        "deputy.key",
    )
    assert revoked.code == 0, revoked.err
    assert "compromised" in reticent("keys", "list", "trust.json").out
    assert reticent("verify", "release", "--trust", "trust.json").code == 1
    assert (
        reticent("verify", "release", "--trust", "trust.json", "--log", "log.json", "--remember", "seen.json").code == 0
    )
    assert (
        reticent("keys", "renew", "trust.json", "--expires", "9999-12-31", "--root", "head.key", "--json").json[
            "version"
        ]
        == 4
    )


def test_proofs_are_written_and_checked(keys: Path, reticent: Command) -> None:
    reticent("log", "init", "log.json", "--name", "office", "--sign", "notary.key")
    assert reticent("log", "head", "log.json", "-o", "empty.json").code == 0
    reticent("publish", "policy.toml", "-o", "release")
    reticent("publish", "policy.toml", "-o", "second", "--again", "--definition", "KAnonymity(8)")
    added = reticent("log", "add", "log.json", "release", "--sign", "notary.key", "--json")
    assert added.json["index"] == 0
    reticent("log", "head", "log.json", "-o", "head.json")
    reticent("log", "add", "log.json", "second", "--sign", "notary.key")
    assert reticent("log", "prove", "log.json", "release").code == 0
    assert reticent("log", "check", "proof.json", "--release", "release", "--trust", "trust.json").code == 0
    wrong = reticent("log", "check", "proof.json", "--release", "second")
    assert (wrong.code, "not about this release" in wrong.out) == (1, True)
    for head in ("head.json", "empty.json"):
        assert reticent("log", "prove", "log.json", "--head", head, "-o", "grown.json").code == 0
        assert reticent("log", "check", "grown.json", "--head", head, "--key", "notary.pub").code == 0
    whole = reticent("log", "check", "log.json", "--key", "notary.pub", "--head", "head.json", "--release", "second")
    assert whole.code == 0
    assert "patients" in whole.out
    assert reticent("log", "check", "log.json", "--key", "ann.pub").code == 1
    assert reticent("log", "add", "log.json", "release", "--sign", "notary.key", "--json").json["index"] == 0


def test_an_envelope_is_exported(keys: Path, reticent: Command) -> None:
    reticent("publish", "policy.toml", "-o", "release", "--sign", "ann.key", "--sign", "ben.key")
    printed = reticent("certificate", "export", "release", "--dsse", "--sign", "ann.key")
    envelope = json.loads(printed.out)
    assert json.loads(base64.b64decode(envelope["payload"]))["predicate"]["ledger"]["dataset"] == "patients"
    assert reticent("certificate", "export", "release", "--dsse", "--sign", "ann.key", "-o", "e.json").code == 0
    assert json.loads(Path("e.json").read_bytes()) == envelope
    assert reticent("certificate", "export", "release", "--dsse").code == 2
    assert reticent("certificate", "export", "release", "--sign", "ann.key").code == 2


def test_what_cannot_be_signed_or_logged_publishes_nothing(keys: Path, reticent: Command) -> None:
    """A log with another key, or no key, is found out before the search."""
    reticent("log", "init", "log.json", "--name", "office", "--sign", "notary.key")
    for options, words in (
        (("--log", "log.json"), "name its private key with --log-key"),
        (("--log", "log.json", "--sign", "ann.key"), "Use that key"),
        (("--log", "nowhere.json", "--sign", "ann.key"), "cannot be read"),
        (("--log-key", "notary.key"), "name it with --log"),
    ):
        refused = reticent("publish", "policy.toml", "-o", "release", *options)
        assert (refused.code, words in refused.err) == (2, True), refused.err
        assert not (keys / "release").exists()


def test_a_release_that_was_changed_is_not_signed(keys: Path, reticent: Command) -> None:
    reticent("publish", "policy.toml", "-o", "release", "--sign", "ann.key")
    table = next((keys / "release" / "public").glob("*.csv"))
    path = keys / "release" / "public" / "certificate.json"
    before = path.read_bytes()
    table.write_bytes(table.read_bytes() + b"x")
    refused = reticent("certificate", "sign", "release", "--sign", "ben.key")
    assert (refused.code, "Nothing was signed" in refused.err) == (2, True)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("keys", "init", "t.json", "--publisher", "o", "--root-key", "head.pub", "--key", "a=ann.pub", "--expires", "2999-01-01"), "--root-key must be HOLDER=FILE.pub"),
        (("keys", "init", "t.json", "--publisher", "o", "--root-key", "a=head.pub", "--key", "a=ann.pub", "--expires", "soon"), "is not a date"),
        (("keys", "init", "t.json", "--publisher", "o", "--root-key", "a=head.pub", "--key", "a=head.pub", "--expires", "2999-01-01"), "a key occurs twice"),
        (("keys", "init", "t.json", "--publisher", "o", "--root-key", "a=head.pub", "--key", "b=ann.pub", "--key", "b=ben.pub", "--expires", "2999-01-01"), "names 'b' twice"),
        (("keys", "init", "trust.json", "--publisher", "o", "--root-key", "a=head.pub", "--key", "b=ann.pub", "--expires", "2999-01-01"), "exists already"),
        (("keys", "revoke", "trust.json", "zoe", "--reason", "retired"), "'zoe' has no key"),
        (("keys", "revoke", "trust.json", "ben", "--reason", "lost"), "must be retired or compromised"),
        (("keys", "rotate", "trust.json", "ann", "nowhere.pub"), "cannot be read"),
        (("keys", "sign", "trust.json"), "with --root"),
        (("keys", "sign", "trust.json", "--root", "ann.key"), "is not a root key"),
        (("log", "prove", "log.json"), "Pass either a release"),
        (("log", "add", "nowhere.json", "release", "--sign", "ann.key"), "There is no release"),
        (("certificate", "sign", "release"), "with --sign"),
    ],
)  # fmt: skip
def test_mistakes_are_told_in_words(keys: Path, reticent: Command, arguments: tuple[str, ...], words: str) -> None:
    refused = reticent(*arguments)
    assert (refused.code, words in refused.err) == (2, True), refused.err
    assert not (keys / "t.json").exists()
