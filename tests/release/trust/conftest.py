"""Keys by name, and signed releases of a small table."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import reticent as rt
from reticent.release.trust import TrustFile

LONG_AGO, NEVER = "2001-01-01T00:00:00Z", "9999-01-01T00:00:00Z"


def key(name: str) -> Ed25519PrivateKey:
    """The private key of a name, the same in every test."""
    return Ed25519PrivateKey.from_private_bytes(name.encode().ljust(32, b"."))


def digits(name: str) -> str:
    """The public key of a name."""
    return key(name).public_key().public_bytes_raw().hex()


def trust_of(holders: tuple[str, ...] = ("alice", "bob", "carol"), **changes: Any) -> TrustFile:
    """A trust file with the roots r1, r2 and r3, two of whom signed it; keys are valid from long ago."""
    given = {
        "expires": NEVER,
        "until": NEVER,
        "log_keys": {"notary": digits("notary")},
        "threshold": 2,
        "root_threshold": 2,
        "now": LONG_AGO,
        **changes,
    }
    roots = {name: digits(name) for name in ("r1", "r2", "r3")}
    made = TrustFile.create("office", roots, {name: digits(name) for name in holders}, **given)
    return made.signed_by([key("r1"), key("r2")])


@pytest.fixture(autouse=True)
def ledger_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RETICENT_LEDGER", str(tmp_path / "ledger" / "ledger.sqlite"))


@pytest.fixture
def publish(tmp_path: Path) -> Callable[..., Path]:
    """Publish and save a release of a few people, signed by holders of keys."""

    def published(*holders: str, folder: str = "release", dataset: str | None = None, k: int = 2) -> Path:
        table = rt.Table(
            pl.DataFrame({"age": [20, 21, 22, 23, 40, 41, 42, 43], "s": list("abcdabcd")}),
            quasi={"age": rt.Hierarchy.intervals(widths=[4, 20], domain=(0, 99))},
            sensitive="s",
            dataset=dataset,
        )
        release = rt.publish(table, rt.KAnonymity(k), signing_key=[key(each) for each in holders], again=True)
        return release.save(tmp_path / folder)

    return published


def certificate_of(folder: Path) -> dict[str, Any]:
    """The certificate of a saved release."""
    return json.loads((folder / "public" / "certificate.json").read_bytes())


def dated(folder: Path, created: str, *holders: str) -> Path:
    """The release with a certificate that states another time, signed anew: what the holder of a key can always make."""
    from reticent.release.canonical_json import readable
    from reticent.release.certificate import countersigned, unsigned

    body = {**unsigned(certificate_of(folder)), "created": created}
    (folder / "public" / "certificate.json").write_bytes(readable(countersigned(body, [key(each) for each in holders])))
    return folder


def origin(found: Any) -> tuple[str, str]:
    """How the check of the origin came out, and why."""
    check = next(each for each in found.checks if each.name == "origin")
    return check.status, check.detail
