"""Forged releases: verifying and counting end within seconds, whatever numbers a certificate or a manifest states."""

from __future__ import annotations

import hashlib
import json
import signal
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import reticent as rt
from reticent.release import Verification, generate_keys, open_public, verify
from reticent.release.canonical_json import readable

SECONDS, MEGABYTES = 10, 200


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    table = rt.Table(
        pl.DataFrame({"age": [i % 8 for i in range(80)], "s": ["abcd"[i // 8 % 4] for i in range(80)]}),
        quasi={"age": rt.Hierarchy.intervals(widths=[2, 4], domain=(0, 7))},
        sensitive="s",
    )
    return rt.publish(table, rt.KAnonymity(2) & rt.DeltaDisclosure(1)).save(tmp_path / "release")


@contextmanager
def bounded() -> Iterator[None]:
    """Fail, instead of hanging or filling the memory."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"it took more than {SECONDS} s")

    before = signal.signal(signal.SIGALRM, stop)
    tracemalloc.start()
    signal.alarm(SECONDS)
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < MEGABYTES << 20
    finally:
        signal.alarm(0)
        tracemalloc.stop()
        signal.signal(signal.SIGALRM, before)


def forged(saved: Path, change: Callable[[dict[str, Any], dict[str, Any]], None]) -> Path:
    """The release with manifest and certificate changed, and fingerprints that fit."""
    public = saved / "public"
    manifest, certificate = (json.loads((public / f"{name}.json").read_bytes()) for name in ("manifest", "certificate"))
    change(manifest, certificate)
    content = readable(manifest)
    (public / "manifest.json").write_bytes(content)
    certificate["files"]["manifest.json"] = {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
    (public / "certificate.json").write_bytes(readable(certificate))
    return saved


def verified(saved: Path, change: Callable[[dict[str, Any], dict[str, Any]], None], **more: Any) -> Verification:
    forged(saved, change)
    with bounded():
        return verify(saved, **more)


@pytest.mark.parametrize("counts", [[0, 20, 20, 40], [20, 20, 20, 0]])
def test_a_forged_reference_count_of_zero_is_found_before_anything_is_compared_with_it(
    saved: Path, counts: list[int]
) -> None:
    def change(manifest: dict[str, Any], certificate: dict[str, Any]) -> None:
        certificate["reference"]["s"]["counts"] = counts

    found = verified(saved, change)
    assert not found.holds
    assert found.failures[0].name == "reference"
    (compared,) = (check for check in found.checks if "DeltaDisclosure" in check.name)
    assert compared.status == "not re-checked"


def test_a_value_that_nobody_has_may_be_counted_as_such(saved: Path) -> None:
    def change(manifest: dict[str, Any], certificate: dict[str, Any]) -> None:
        said = certificate["reference"]["s"]
        said["values"].append("e")
        said["counts"].append(0)

    verified(saved, change)


def test_a_domain_of_a_hundred_million_values_is_not_written_out(saved: Path) -> None:
    def change(manifest: dict[str, Any], certificate: dict[str, Any]) -> None:
        manifest["columns"][0]["domain"] = {"from": 0, "to": 100_000_000}

    verified(saved, change)
    with bounded():
        assert open_public(saved).count("age >= 0").bounds == (80, 80)
        assert open_public(saved).count("age >= 4").bounds[1] <= 80


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("KAnonymity", {"k": 10**9}),
        ("WorstCaseKnowledge", {"c": "0.6", "k": 10**9}),
        ("NegatedKnowledge", {"c": "0.6", "k": 10**9}),
        ("RecursiveLDiversity", {"c": "2", "l": 10**9}),
        ("PSensitive", {"p": 10**9, "k": 10**9}),
        ("DeltaDisclosure", {"delta": "1000000000"}),
        ("DeltaDisclosure", {"delta": "1e-4000"}),
        ("BetaLikeness", {"beta": "1e4000"}),
        ("TCloseness", {"t": "1e-4000"}),
        ("EntropyLDiversity", {"l": "1e4000"}),
        ("EntropyLDiversity", {"l": "1." + "0" * 3000 + "1"}),
        ("NTCloseness", {"n": 10**9, "t": "0.1"}),
        ("KEAnonymity", {"k": 10**9, "e": "1e4000"}),
    ],
)
def test_a_claim_with_an_enormous_parameter_is_decided(saved: Path, name: str, parameters: dict[str, Any]) -> None:
    def change(manifest: dict[str, Any], certificate: dict[str, Any]) -> None:
        certificate["claims"] = [{**certificate["claims"][0], "definition": name, "parameters": parameters}]

    assert not verified(saved, change).holds


def test_thousands_of_claims_are_refused_before_any_is_judged(saved: Path) -> None:
    def change(manifest: dict[str, Any], certificate: dict[str, Any]) -> None:
        certificate["claims"] *= 10_000

    found = verified(saved, change)
    assert ["at most 100 items" in check.detail for check in found.failures] == [True]


def test_a_label_that_stands_for_a_code_of_a_billion_characters_is_refused(saved: Path) -> None:
    def change(manifest: dict[str, Any], certificate: dict[str, Any]) -> None:
        column = manifest["columns"][0]
        column["type"], column["domain"] = "text", None
        column["labels"] = {label: {"prefix": "1", "length": 10**9} for label in column["labels"]}

    assert not verified(saved, change).holds


def test_nothing_is_read_after_a_signature_that_is_not_the_publishers(saved: Path, tmp_path: Path) -> None:
    """The tables are not even hashed: one that is missing is not noticed."""
    keys = generate_keys(tmp_path / "keys")
    (saved / "public" / "data.csv").unlink()
    found = verify(saved, key=keys.public)
    assert [check.name for check in found.failures] == ["origin"]
    assert not found.holds
    assert verify(saved).failures[0].name == "files"


@pytest.fixture
def view(tmp_path: Path) -> Path:
    table = rt.Table(pl.DataFrame({"a": ["x", "y"], "b": [1, 2]}), quasi=["a", "b"])
    method = rt.AlphaBeta(domain={"a": ["x", "y", "z"], "b": range(1, 50)})
    return rt.publish(table, rt.BoundedBelief("1/10", "1/2"), method).save(tmp_path / "view")


@pytest.mark.parametrize(
    "change",
    [
        {"n": 10**15},
        {"views": 10**9, "carry": "1/2"},
        {"domain": {"a": {"type": "text", "values": ["x", "y", "z"]}, "b": {"from": 1, "to": 10**15, "step": 1}}},
        {"alpha": "1/" + "9" * 4000},
        {"beta": "1/" + "9" * 4000},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_randomized_view_with_a_forged_plan_is_refused(view: Path, change: dict[str, Any]) -> None:
    def forge(manifest: dict[str, Any], certificate: dict[str, Any]) -> None:
        manifest["details"]["plan"] |= change

    assert verified(view, lambda manifest, certificate: None).holds
    assert not verified(view, forge).holds
