"""``reticent index``: built from a policy, shown, cut, and published from."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import reticent as rt
from reticent.policy import Policy
from tests.cli.conftest import POLICY, Command

BANG = POLICY.partition("[method]")[0] + '[method]\nname = "Bang"\nindex = "people.index"\n'


def test_an_index_is_built_shown_cut_and_published_from(patients: Path, reticent: Command) -> None:
    (patients / "policy.toml").write_text(BANG)
    made = reticent("index", "build", "policy.toml", "-o", "people.index", "--k", 2, "--json")
    assert (made.code, made.json["minimum"]) == (0, 2), made
    shown = reticent("index", "show", "people.index", "--json").json
    assert shown == {**made.json, "folder": "people.index"}
    cut = reticent("index", "cut", "people.index", "--k", 3, "--json").json
    draft = rt.Bang.open("people.index").draft(3)
    assert (cut["classes"], cut["smallest"]) == (draft.count, int(draft.groups.sizes.min()))
    published = reticent("publish", "policy.toml", "-o", "release", "--definition", "KAnonymity(3)", "--json")
    assert published.code == 0, published
    rows = pl.read_csv("release/public/data.csv")
    assert sorted(rows["group"].value_counts()["count"]) == sorted(draft.groups.sizes.tolist())
    for words in (("show", "people.index"), ("cut", "people.index", "--k", 3)):
        said = reticent("index", *words)
        assert said.code == 0
        assert "blocks" in said.out or "classes" in said.out


def test_the_loss_of_a_cut_is_that_of_its_release(patients: Path) -> None:
    (patients / "policy.toml").write_text(BANG)
    table = Policy.read("policy.toml").table()
    index = rt.Bang(minimum=2).build(table)
    release = rt.publish(table, rt.KAnonymity(3), method=rt.Bang(minimum=2))
    losses = index.draft(3).losses
    assert sum(losses.values()) / len(losses) == pytest.approx(release.utility["loss"])


def test_what_is_wrong_is_said(patients: Path, reticent: Command) -> None:
    assert reticent("index", "build", "policy.toml", "-o", "people.index").code == 0
    for words, message in (
        (("build", "policy.toml", "-o", "people.index"), "exists already"),
        (("build", "policy.toml", "-o", "new", "--k", 0), "--k"),
        (("cut", "people.index", "--k", 1), "Bang(minimum=1)"),
        (("cut", "people.index", "--k", 10**6), "fewer than"),
        (("cut", "nowhere", "--k", 3), "not a saved index"),
        (("show", "policy.toml"), "not a saved index"),
    ):
        found = reticent("index", *words)
        assert found.code in (1, 2)
        assert message in found.err
    assert not (patients / "new").exists()
    assert reticent("index", "build", "policy.toml", "-o", "people.index", "--force").code == 0
    (patients / "people.index" / "points-sizes.npy").write_bytes(b"")
    broken = reticent("index", "cut", "people.index", "--k", 5, "--json")
    assert (broken.code, broken.json["ok"]) == (2, False)
    assert "is damaged: points-sizes.npy has 0 bytes" in broken.json["error"]["message"]


def test_publishing_a_table_that_grows_tells_the_steward_how_many_wait(patients: Path, reticent: Command) -> None:
    (patients / "policy.toml").write_text(
        'dataset = "wards"\n[data]\nsource = "wards.csv"\n[roles]\nkey = "id"\nidentifiers = ["id"]\nquasi = ["age"]\nsensitive = "ill"\n'
        '[[definition]]\nname = "KAnonymity"\nk = 3\n[method]\nname = "Bang"\ngrow = "wards.series"\n'
    )
    ages = [20, 21, 22, 23, 60, 61, 62, 63, 24, 64, 65, 66]
    people = pl.DataFrame({"id": range(12), "age": ages, "ill": ["flu", "cold"] * 6})
    people[:8].write_csv("wards.csv")
    assert "none suppressed" in reticent("publish", "policy.toml", "-o", "first").out
    people.write_csv("wards.csv")
    second = reticent("publish", "policy.toml", "-o", "second")
    assert "1 new row waiting for a later release" in second.out
    assert pl.read_csv("second/public/data.csv").height == 11
