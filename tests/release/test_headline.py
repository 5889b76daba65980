"""The headline: one verdict with its reasons, the same wherever a release is spoken of, and worse rather than better."""

from __future__ import annotations

import json
import random
from collections import Counter
from itertools import product
from pathlib import Path

import polars as pl
import pytest

import reticent as rt
from reticent.errors import DataError
from reticent.release import Check, Headline, open_public
from reticent.release.canonical_json import readable


def people(rows: int = 400) -> pl.DataFrame:
    draw = random.Random(5)
    return pl.DataFrame(
        {
            "age": [draw.randint(20, 69) for _ in range(rows)],
            "sex": [draw.choice("mf") for _ in range(rows)],
            "zip": [draw.choice(["11", "12", "21", "22", "31", "32"]) for _ in range(rows)],
            "ill": [draw.choice(["flu", "hiv", "gout", "cold"]) for _ in range(rows)],
            "pay": [draw.randint(1, 9) for _ in range(rows)],
        }
    )


def table(**more: object) -> rt.Table:
    quasi = {"age": rt.Hierarchy.intervals([10, 20]), "sex": None, "zip": rt.Hierarchy.masking(digits=2)}
    return rt.Table(people(), **{"quasi": quasi, "sensitive": "ill", **more})


PRIVATE = rt.KAnonymity(5) & rt.DistinctLDiversity(2, column="ill")


def test_it_holds_where_nothing_else_is_to_be_said(tmp_path: Path) -> None:
    release = rt.publish(table(), PRIVATE)
    assert release.headline == Headline("holds")
    assert rt.verify(release.save(tmp_path / "release")).headline == Headline("holds")
    assert (tmp_path / "release" / "public" / "STATEMENT.txt").read_text("utf-8").startswith("HOLDS.\n")


def test_a_confidential_column_without_a_promise_is_named(tmp_path: Path) -> None:
    release = rt.publish(
        table(sensitive=["ill", "pay"]), rt.KAnonymity(5) & rt.DistinctLDiversity(2, "ill", alone=True)
    )
    found = rt.verify(release.save(tmp_path / "release"))
    assert found.holds
    assert found.headline == Headline("holds, but", ("Nothing is promised about pay.",))


def test_sets_of_columns_are_said_with_the_records_that_are_unique_in_all_of_them(tmp_path: Path) -> None:
    """The words once said "every quasi-identifying value" of somebody who was judged to know two columns of three."""
    sets = [["age", "sex"], ["sex", "zip"]]
    fine = {"age": rt.Hierarchy.intervals([5, 10]), "sex": None, "zip": None}
    release = rt.publish(table(quasi=fine, quasi_sets=sets), rt.KAnonymity(5) & rt.DistinctLDiversity(2), rt.Lattice())
    alone = sum(many == 1 for many in Counter(release.frame.select("age", "sex", "zip").iter_rows()).values())
    assert alone > 0
    (reason,) = rt.verify(release.save(tmp_path / "release")).headline.reasons
    assert f"{alone} of 400 records are unique" in reason
    words = " ".join((tmp_path / "release" / "public" / "STATEMENT.txt").read_text("utf-8").split())
    assert "An attacker who knows age and sex, or sex and zip, of a person (the same columns" in words
    assert "everything published" not in words


def test_any_few_columns_are_said_with_the_records_that_are_unique_in_more(tmp_path: Path) -> None:
    corners = list(product((0, 1), repeat=5))
    frame = pl.DataFrame(corners, schema=list("abcde"), orient="row")
    release = rt.publish(rt.Table(frame, quasi=list("abcde")), rt.AnyColumns(2, rt.KAnonymity(8)), rt.Lattice())
    (reason,) = rt.verify(release.save(tmp_path / "release")).headline.reasons
    assert "In all of them together 32 of 32 records are unique." in reason
    assert "In a random choice of columns 0.0% (of 3 columns) of the records are unique" in reason


def test_a_definition_that_names_its_columns_narrows_the_claim_unless_another_covers_all() -> None:
    own = rt.KAnonymity(20, quasi=["age"]) & rt.DistinctLDiversity(2)
    assert rt.publish(table(), own).headline.state == "holds, but"
    assert rt.publish(table(), own & rt.KAnonymity(2)).headline.state == "holds"
    assert (
        rt.publish(table(), rt.AnyColumns(2, rt.KAnonymity(5)) & rt.DistinctLDiversity(2)).headline.state
        == "holds, but"
    )
    assert rt.publish(table(), rt.AnyColumns(3, rt.KAnonymity(5)) & rt.DistinctLDiversity(2)).headline.state == "holds"


def test_a_declared_column_that_tells_people_apart_is_a_but_and_another_is_none(tmp_path: Path) -> None:
    telling = rt.publish(table(declared={"pay": "nobody knows it"}), PRIVATE)
    assert telling.headline.state == "holds, but"
    assert "'pay' does not count as known" in telling.headline.reasons[0]
    assert rt.verify(telling.save(tmp_path / "release")).headline == telling.headline
    silent = rt.Table(
        people().with_columns(ward=pl.lit("A")),
        quasi={"age": rt.Hierarchy.intervals([10, 20]), "sex": None},
        sensitive="ill",
        declared={"ward": "one ward"},
    )
    assert rt.publish(silent, PRIVATE).headline == Headline("holds")


def test_a_headline_that_is_not_that_of_the_release_is_found_out(tmp_path: Path) -> None:
    folder = rt.publish(table(sensitive=["ill", "pay"]), rt.KAnonymity(5)).save(tmp_path / "release")
    path = folder / "public" / "certificate.json"
    certificate = json.loads(path.read_bytes())
    certificate["headline"] = {"state": "holds", "reasons": []}
    path.write_bytes(readable(certificate))
    found = rt.verify(folder)
    assert not found.holds
    assert found.headline.state == "does not hold"
    assert [check.name for check in found.failures] == ["wording"]


def test_verify_prints_what_it_recomputed_apart_from_what_it_did_not(tmp_path: Path) -> None:
    population = pl.concat([people().drop("ill", "pay")] * 3)
    release = rt.publish(table(), rt.KMap(6, population) & rt.DistinctLDiversity(2))
    found = rt.verify(release.save(tmp_path / "release"))
    assert found.headline.state == "not shown"
    assert not found.holds
    (recomputed,) = found.recomputed
    assert recomputed.endswith("cannot narrow ill to fewer than 2 values.")
    assert any("of the population who fit" in told and "none was given" in told for told in found.unchecked)
    assert rt.verify(tmp_path / "release", population=population).headline.state == "holds"


def test_the_worst_of_several_checks_decides() -> None:
    holds = Check("claim a", "holds", "fine", claim=True)
    fails = Check("files", "fails", "changed")
    unknown = Check("claim b", "not re-checked", "no population", claim=True)
    assert Headline.of_checks([holds], ["x"]) == Headline("holds, but", ("x",))
    assert Headline.of_checks([holds, unknown], []).state == "not shown"
    assert Headline.of_checks([holds, unknown, fails], []) == Headline("does not hold", ("files: changed",))
    assert Headline.of_checks([], []).state == "not shown"
    assert Headline("does not hold", ("y",)).beside(["x"]) == Headline("does not hold", ("y",))
    assert Headline("holds").beside(["x"]).state == "holds, but"


@pytest.mark.parametrize("stated", [None, {}, {"state": "fine", "reasons": []}, {"state": "holds", "reasons": ["x"]}])
def test_a_headline_that_is_none_is_refused(stated: object) -> None:
    with pytest.raises(DataError, match="headline"):
        Headline.from_json(stated)


def test_attacks_that_succeed_stand_in_the_headline_of_report_preview_and_attack(tmp_path: Path) -> None:
    """A green tick above attacks that succeed is a fault."""
    # Every eighth has the other illness: one that follows from the age itself would be refused.
    young = (pl.col("age") < 45) ^ (pl.int_range(pl.len()) % 8 == 0)
    frame = people(60).with_columns(ill=pl.when(young).then(pl.lit("flu")).otherwise(pl.lit("hiv")))
    rows = rt.Table(
        frame.drop("pay"), quasi={"age": rt.Hierarchy.intervals([25]), "sex": None, "zip": None}, sensitive="ill"
    )
    release = rt.publish(rows, rt.KAnonymity(2) & rt.DistinctLDiversity(1), rt.Lattice(suppression="0.5"))
    found = rt.attack(release, raw=rows)
    assert found.reservations
    page = rt.report(release, tmp_path / "report.html", raw=rows).read_text("utf-8")
    assert '<div class="verdict">' not in page
    assert all(each.split(":")[0] in page for each in found.reservations)
    side = open_public(release.save(tmp_path / "release"))
    assert rt.release.headline_of(side).beside(found.reservations).state == "holds, but"


@pytest.mark.parametrize("public", [True, False])
def test_a_report_on_changed_files_says_that_they_do_not_hold(public: bool, tmp_path: Path) -> None:
    """A page about a folder has the verdict of verify, which reads the files, and not that of the claims alone."""
    folder = rt.publish(table(), PRIVATE, rt.Lattice()).save(tmp_path / "release")
    whole = rt.report(folder, tmp_path / "whole.html", public=public).read_text("utf-8")
    assert "<strong>Holds.</strong>" in whole
    data = folder / "public" / "data.csv"
    data.write_text("".join(data.read_text("utf-8").splitlines(keepends=True)[:-1]), "utf-8")
    page = rt.report(folder, tmp_path / "changed.html", public=public).read_text("utf-8")
    assert "<strong>Does not hold:</strong>" in page
    assert "is not the file that the certificate was made for" in page
    assert "Recomputed from the published" not in page
    assert rt.release.headline_of(folder) == rt.verify(folder).headline
