"""Adversaries know what follows from what they know; those who know declared columns as well are run apart; columns single people out together."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import reticent as rt
from reticent.attacks import Linkage, SinglingOut, compare
from reticent.attacks import run_adversaries as attack
from reticent.core import AdversaryView
from reticent.release import adversary_view_of
from tests.release.test_computable_columns import RANGES, WHY, stays

METHODS: dict[str, Any] = {
    "lattice": rt.Lattice(suppression="0.1"),
    "ranges": RANGES,
    "typical": rt.Mondrian(values="typical"),
    "bang": rt.Bang(),
    "clusters": rt.Gather(r=5),
    "buckets": rt.Anatomy(),
}


def test_whoever_knows_declared_columns_is_run_apart() -> None:
    frame = stays(300).with_columns(shoe=pl.Series([36 + i * 7 % 9 for i in range(300)]))
    table = rt.Table(frame, quasi=["height", "weight"], sensitive="diagnosis", declared={"shoe": WHY})
    release = rt.publish(table, rt.KAnonymity(5), RANGES)
    found = {after.adversary: after for _, after in compare(table, release)}
    assert found["linkage"].hits == 0
    apart = found["linkage with declared shoe"]
    classes = release.frame.group_by("height", "weight", "shoe").len()
    assert apart.details["columns"] == ["height", "weight", "shoe"]
    assert apart.hits == (classes["len"] == 1).sum() == release.certificate["declared"][0]["unique"]


def test_four_columns_single_everybody_out_of_whom_none_does_alone() -> None:
    """Each value is shared by thirty rows or more, and no two rows share all four."""
    rows = [(i % 5, i // 5 % 5, i // 25 % 5, i // 125) for i in range(250)]
    frame = pl.DataFrame(rows, schema=["a", "b", "c", "d"], orient="row").with_columns(sex=pl.Series(["f", "m"] * 125))
    release = rt.publish(rt.Table(frame, quasi=["sex"], declared=dict.fromkeys("abcd", WHY)), rt.KAnonymity(5))
    (found,) = attack(release, SinglingOut())
    assert (found.hits, found.people) == (250, 250)
    assert found.details["columns"] == ["a", "b", "c", "d"]
    assert found.example.startswith("250 of 250 rows have values of a, b, c and d that no other row has.")
    assert all(each["rows"] == 0 for name, each in found.details["unique"].items())


@pytest.mark.parametrize("method", METHODS)
def test_a_view_of_who_knows_declared_columns_shows_the_records_that_are_there(method: str) -> None:
    frame = stays(200).with_columns(shoe=pl.Series([None if i % 17 == 0 else 36 + i % 9 for i in range(200)]))
    table = rt.Table(frame, quasi=["height", "weight"], sensitive="diagnosis", declared={"shoe": WHY, "died": WHY})
    definition = rt.DistinctLDiversity(2) if method == "buckets" else rt.KAnonymity(5)
    release = rt.publish(table, definition, METHODS[method])
    seen = adversary_view_of(release)
    known = seen.knowing(["shoe", "died"])
    assert known.names == ("height", "weight", "shoe", "died")
    assert (known.rows, known.declared) == (seen.rows, {})
    assert sorted(known.sizes.tolist()) == class_sizes_of(release, ["shoe", "died"], by_bucket=method == "buckets")
    assert sorted(seen.knowing(["shoe"]).sizes.tolist()) == class_sizes_of(
        release, ["shoe"], by_bucket=method == "buckets"
    )
    # The same rows in the same groups, whatever divides them.
    assert merged(known, seen) == sorted(seen.sizes.tolist())
    assert known.true_groups.sizes.sum() == seen.true_groups.sizes.sum()
    everybody = attack(release, Linkage(frame, declared=["shoe", "died"], null_is_unknown=False))[0]
    assert everybody.details["matched"] == 200 - release.private.suppressed


def class_sizes_of(release: rt.Release, more: list[str], *, by_bucket: bool) -> list[int]:
    main = release.frame
    keys = ["group"] if release.format in ("typical", "regions") else ["height", "weight"]
    return sorted(main.group_by([*keys, *(["bucket"] if by_bucket else []), *more]).len()["len"].to_list())


def merged(known: AdversaryView, seen: AdversaryView) -> list[int]:
    return sorted(known.known(seen.names).sizes.tolist())


def test_a_draft_shows_its_declared_columns_too() -> None:
    table = rt.Table(stays(200), quasi=["height"], sensitive="diagnosis", declared={"bmi": WHY})
    draft = RANGES.draft(table, rt.KAnonymity(5))
    assert list(adversary_view_of(draft).declared) == ["bmi"]


def test_a_table_as_it_stands_says_what_follows() -> None:
    frame = stays(300)
    closed = rt.Table(frame, quasi=["admitted", "discharged"], declared={"stay": WHY, "bmi": WHY})
    assert adversary_view_of(closed).computable == ("stay",)
