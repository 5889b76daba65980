"""Certificate, statement and verify say how many records a declared column tells apart, and it is so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent as rt
from reticent.release import DeclaredColumns
from reticent.release.canonical_json import readable
from tests.oracles.record_classes import alone_and_few
from tests.sampling import examples

WHY = "nobody knows it"
METHODS: dict[str, Any] = {
    "lattice": rt.Lattice(suppression="0.2"),
    "mondrian": rt.Mondrian(values="sets"),
    "ranges": rt.Mondrian(values="ranges"),
    "typical": rt.Mondrian(values="typical"),
    "suppress": rt.Suppress(),
    "bang": rt.Bang(),
    "clusters": rt.Gather(r=2),
}


def test_the_example_of_two_groups_of_four() -> None:
    frame = pl.DataFrame({"q": ["A"] * 4 + ["B"] * 4, "c": [1, 2, 2, 2, 5, 5, 6, 6]})
    release = rt.publish(rt.Table(frame, quasi=["q"], declared={"c": WHY}), rt.KAnonymity(4))
    assert release.certificate["declared"] == [
        {"column": "c", "reason": WHY, "unique": 1, "few": 8, "computable_from": [], "may_link": False}
    ]
    assert release.certificate["declared_together"] == {"unique": 1, "few": 8, "records": 8, "k": 4}


def test_zeros_are_said_too(tmp_path: Path) -> None:
    frame = pl.DataFrame({"q": ["A"] * 4 + ["B"] * 4, "c": [1, 1, 2, 2] * 2})
    release = rt.publish(rt.Table(frame, quasi=["q"], declared={"c": WHY}), rt.KAnonymity(2))
    assert (release.certificate["declared"][0]["unique"], release.certificate["declared"][0]["few"]) == (0, 0)
    folder = release.save(tmp_path / "release")
    said = " ".join((folder / "public" / "STATEMENT.txt").read_text().split())
    assert "0 of 8 records are unique, and 0 are among fewer than 2" in said
    (check,) = [check for check in rt.verify(folder).checks if check.name == "declared columns"]
    assert check.status == "holds"
    assert "0 of 8 records are unique" in check.detail


def test_without_declared_columns_nothing_is_said(tmp_path: Path) -> None:
    release = rt.publish(rt.Table(pl.DataFrame({"q": ["A"] * 4}), quasi=["q"]), rt.KAnonymity(2))
    assert (release.certificate["declared"], release.certificate["declared_together"]) == ([], None)
    assert not [check for check in rt.verify(release.save(tmp_path / "r")).checks if check.name == "declared columns"]


@pytest.mark.parametrize(
    ("definition", "k"),
    [
        (rt.KAnonymity(3), 3),
        (rt.KAnonymity(2) & rt.KAnonymity(7, quasi=["q"]), 2),
        (rt.AlphaKAnonymity("0.9", 4), 4),
        (rt.AnyColumns(1, rt.KAnonymity(4) & rt.DistinctLDiversity(2)), 4),
        (rt.DistinctLDiversity(2), 5),
        (rt.WorstCaseKnowledge(c="0.9", k=0), 5),
    ],
)
def test_small_is_what_the_claims_call_small(definition: Any, k: int) -> None:
    frame = pl.DataFrame({"q": ["A"] * 12, "r": ["x"] * 12, "s": list("ab") * 6, "c": range(12)})
    release = rt.publish(rt.Table(frame, quasi=["q", "r"], sensitive="s", declared={"c": WHY}), definition)
    assert release.certificate["declared_together"]["k"] == k


def labels_of(release: rt.Release) -> pl.DataFrame:
    """The labels and the declared values of every record, read from the public tables by hand."""
    main = release.tables["quasi" if release.format == "bucketize" else "data"]
    if release.format == "typical":
        return main.select("group", "c", "d").join(release.tables["groups"], on="group").drop("group")
    return main.select([*(["group"] if release.format == "regions" else []), "age", "sex", "c", "d"])


@given(
    seed=st.integers(0, 10**6),
    method=st.sampled_from(list(METHODS)),
    k=st.integers(2, 4),
)
@examples(40, few=25)
def test_the_figures_are_those_of_comparing_every_two_records(
    seed: int, method: str, k: int, tmp_path_factory: Any
) -> None:
    rng = __import__("random").Random(seed)
    frame = pl.DataFrame(
        {
            "age": [rng.randrange(20, 32) for _ in range(30)],
            "sex": [rng.choice("fm") for _ in range(30)],
            "c": [rng.choice([None, 1.5, 2.5, float("nan"), 3.5]) for _ in range(30)],
            "d": [rng.choice(["", "x", None, "y"]) for _ in range(30)],
        },
        schema_overrides={"c": pl.Float64},
    )
    table = rt.Table(
        frame, quasi={"age": rt.Hierarchy.intervals([2, 4, 8]), "sex": None}, declared={"c": WHY, "d": WHY}
    )
    release = rt.publish(table, rt.KAnonymity(k), METHODS[method])
    shown = labels_of(release)
    wanted = {
        "c": alone_and_few(shown.drop("d").rows(), k),
        "d": alone_and_few(shown.drop("c").rows(), k),
        None: alone_and_few(shown.rows(), k),
    }
    said = {each["column"]: (each["unique"], each["few"]) for each in release.certificate["declared"]}
    together = release.certificate["declared_together"]
    assert said | {None: (together["unique"], together["few"])} == wanted
    folder = release.save(tmp_path_factory.mktemp("figures") / "release")
    assert rt.verify(folder).holds


def test_typical_values_are_not_read_as_labels() -> None:
    """Two groups may show the same typical value in a column, and rows of one group never differ in it."""
    frame = pl.DataFrame({"age": [1, 1, 1, 9, 9, 9], "c": [1, 2, 3, 1, 2, 3]})
    release = rt.publish(
        rt.Table(frame, quasi=["age"], declared={"c": WHY}), rt.KAnonymity(3), rt.Mondrian(values="typical")
    )
    assert release.certificate["declared"][0]["unique"] == 6


def test_buckets_show_exact_values_and_figures_say_so(tmp_path: Path) -> None:
    frame = pl.DataFrame({"age": [1, 2, 3, 3], "s": list("abab"), "c": [7, 7, 8, 8]})
    table = rt.Table(frame, quasi=["age"], sensitive="s", declared={"c": WHY})
    release = rt.publish(table, rt.DistinctLDiversity(2), rt.Anatomy())
    assert (release.certificate["declared"][0]["unique"], release.certificate["declared"][0]["few"]) == (2, 4)
    assert rt.verify(release.save(tmp_path / "release")).holds


def test_drawn_values_beside_true_ones_are_counted_by_the_true_ones(tmp_path: Path) -> None:
    frame = pl.DataFrame({"age": [1, 1, 2, 2], "s": list("abab"), "c": [7, 7, 8, 9]})
    table = rt.Table(frame, quasi=["age"], sensitive="s", declared={"c": WHY})
    release = rt.publish(table, rt.LocalDP(2), rt.Perturbation(values=["a", "b"]))
    assert (release.certificate["declared"][0]["unique"], release.certificate["declared"][0]["few"]) == (2, 4)
    assert rt.verify(release.save(tmp_path / "release")).holds


def changed(folder: Path, change: Any) -> Path:
    """The folder with another certificate, and the statement that goes with it."""
    place = folder / "public" / "certificate.json"
    certificate = json.loads(place.read_text())
    change(certificate)
    place.write_bytes(readable(certificate))
    return folder


@pytest.mark.parametrize(
    "change",
    [
        lambda said: said["declared"][0].update(unique=0),
        lambda said: said["declared"][0].update(few=0),
        lambda said: said["declared"][0].update(reason="because"),
        lambda said: said["declared_together"].update(unique=0),
        lambda said: said["declared_together"].update(k=1),
        lambda said: said["declared_together"].update(records=10**6),
        lambda said: said.update(declared=[], declared_together=None),
        lambda said: said.update(declared="nothing"),
        lambda said: said.update(declared=None),
    ],
)
def test_another_figure_in_the_certificate_is_found(change: Any, tmp_path: Path) -> None:
    frame = pl.DataFrame({"q": ["A"] * 4 + ["B"] * 4, "c": [1, 2, 2, 2, 5, 5, 6, 6]})
    release = rt.publish(rt.Table(frame, quasi=["q"], declared={"c": WHY}), rt.KAnonymity(4))
    found = rt.verify(changed(release.save(tmp_path / "release"), change))
    assert not found.holds
    assert {check.name for check in found.failures} & {"declared columns", "consistency", "certificate"}


def test_a_column_that_may_be_the_number_of_a_person_is_named_as_a_link(tmp_path: Path) -> None:
    """Sixty people with ten rows each, in all groups; and a column of as few values that stands for its group."""
    frame = pl.DataFrame(
        {
            "q": [i % 5 for i in range(600)],
            "who": [i * 7 % 60 for i in range(600)],
            "w": [i % 5 * 20 + i // 50 for i in range(600)],
        }
    )
    release = rt.publish(rt.Table(frame, quasi=["q"], declared={"who": WHY, "w": WHY}), rt.KAnonymity(5))
    assert {each["column"]: each["may_link"] for each in release.certificate["declared"]} == {"who": False, "w": False}
    mixed = frame.with_columns(who=pl.Series([i // 10 for i in range(600)]))
    release = rt.publish(rt.Table(mixed, quasi=["q"], declared={"who": WHY}), rt.KAnonymity(5))
    assert release.certificate["declared"][0]["may_link"]
    found = rt.verify(release.save(tmp_path / "release"))
    assert found.holds
    assert any("links this person's records" in check.detail for check in found.checks)


def test_what_a_certificate_states_is_what_was_counted() -> None:
    frame = pl.DataFrame({"q": ["A"] * 4, "c": [1, 2, 2, 2], "d": [1, 1, 2, 2]})
    release = rt.publish(rt.Table(frame, quasi=["q"], declared={"c": WHY, "d": WHY}), rt.KAnonymity(2))
    stated = DeclaredColumns.stated(release.certificate)
    assert stated == DeclaredColumns.of(release.public, [rt.KAnonymity(2)])
    assert len(stated.sentences()) == 3
    assert stated.sentences()[-1].startswith("2 columns are declared unknown. For an adversary who knows all of them")


@pytest.mark.slow
def test_a_million_rows_are_counted_in_time() -> None:
    import time

    import numpy as np

    from reticent.table import FrameRows, class_sizes

    rng, n = np.random.default_rng(0), 10**6
    labels = {f"q{i}": pl.Series(rng.integers(0, 5, n)).cast(pl.String) for i in range(15)}
    rows = FrameRows(pl.DataFrame({**labels, **{f"c{i}": rng.random(n) for i in range(5)}}))
    begun = time.monotonic()
    class_sizes(rows, list(labels), [*((f"c{i}",) for i in range(5)), tuple(f"c{i}" for i in range(5))])
    assert time.monotonic() - begun < 10


def test_stays_that_are_published_beside_both_days_tell_everybody_apart():
    """Eight stays in two boxes of four: with the exact length every record is alone, and from the first box alone ten lengths are possible."""
    stays = [(1, 3), (2, 5), (3, 7), (4, 9), (5, 6), (6, 8), (7, 11), (8, 13)]
    rows = [(begin, end, end - begin) for begin, end in stays]
    frame = pl.DataFrame(rows, schema=["begin", "end", "stay"], orient="row")
    table = rt.Table(frame, quasi=["begin", "end"], declared={"stay": "nobody knows it"})
    release = rt.publish(table, rt.KAnonymity(4), method=rt.Mondrian(values="ranges"))
    boxes = release.frame.group_by("begin", "end").len().sort("begin").rows()
    assert boxes == [("[1, 4]", "[3, 9]", 4), ("[5, 8]", "[6, 13]", 4)]
    (told,) = release.certificate["declared"]
    assert (told["unique"], told["few"]) == (8, 8)
    assert sorted({end - begin for begin in range(1, 5) for end in range(3, 10)}) == list(range(-1, 9))
    known = rt.Table(frame, quasi=["begin", "end", "stay"])
    closed = rt.AnyColumns(2, rt.KAnonymity(4), relations=[[["begin", "end"], "stay"]])
    assert rt.assess(known, closed).value == 1
