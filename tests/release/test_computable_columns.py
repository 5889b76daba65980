"""A column that can be computed from known ones is known, whatever role it was given."""

from __future__ import annotations

import datetime
import json
import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import reticent as rt
from reticent.definitions import closed
from reticent.release.canonical_json import readable
from reticent.release.certificate import fingerprint
from reticent.table import ColumnRelation
from tests.oracles.record_classes import alone_and_few

WHY = "nobody knows it"
FIRST = datetime.date(2020, 1, 1)
RANGES = rt.Mondrian(values="ranges")


def stays(rows: int = 1500, seed: int = 1) -> pl.DataFrame:
    """Made-up hospital stays, patients with their body, and how long they lived."""
    draw = random.Random(seed)
    admitted = [FIRST + datetime.timedelta(days=draw.randrange(700)) for _ in range(rows)]
    frame = pl.DataFrame(
        {
            "admitted": admitted,
            "discharged": [day + datetime.timedelta(days=int(draw.expovariate(0.15))) for day in admitted],
            "died": [day + datetime.timedelta(days=draw.randrange(30, 1500)) for day in admitted],
            "height": [round(draw.gauss(1.7, 0.1), 2) for _ in admitted],
            "weight": [round(draw.gauss(75, 15), 1) for _ in admitted],
            "diagnosis": [draw.choice(["flu", "cold", "ulcer", "asthma"]) for _ in admitted],
        }
    )
    return frame.with_columns(
        stay=(pl.col("discharged") - pl.col("admitted")).dt.total_days(),
        survival=(pl.col("died") - pl.col("admitted")).dt.total_days(),
        bmi=(pl.col("weight") / pl.col("height") ** 2).round(1),
        month=pl.col("admitted").dt.month(),
    )


CASES = {"stay": ["admitted", "discharged"], "survival": ["admitted", "died"], "bmi": ["height", "weight"]}


@pytest.mark.parametrize(
    "method", [RANGES, rt.Mondrian(values="typical"), rt.Bang()], ids=["ranges", "typical", "bang"]
)
@pytest.mark.parametrize("name", CASES)
def test_a_declared_column_that_follows_from_quasi_columns_is_refused(name: str, method: Any) -> None:
    table = rt.Table(stays(), quasi=CASES[name], sensitive="diagnosis", declared={name: WHY})
    with pytest.raises(
        rt.PolicyError, match=rf"declared column '{name}' is .*'{CASES[name][0]}'.*records unique"
    ) as told:
        rt.publish(table, rt.KAnonymity(5), method)
    assert f"Make '{name}' quasi" in str(told.value)
    assert told.value.column == name


def test_the_way_out_works_and_then_nobody_is_unique(tmp_path: Path) -> None:
    frame = stays()
    quasi = ["admitted", "discharged", "stay"]
    release = rt.publish(rt.Table(frame, quasi=quasi, sensitive="diagnosis"), rt.KAnonymity(5), RANGES)
    assert alone_and_few(release.frame.select(quasi).rows(), 5) == (0, 0)
    assert rt.verify(release.save(tmp_path / "release")).holds


def test_the_policy_file_is_pointed_at(tmp_path: Path) -> None:
    stays().write_csv(tmp_path / "stays.csv")
    (tmp_path / "policy.toml").write_text(
        '[data]\nsource = "stays.csv"\n[roles]\nquasi = ["admitted", "discharged"]\n[declared]\nstay = "nobody knows it"\n[[definition]]\nname = "KAnonymity"\nk = 5\n'
        '[method]\nname = "Mondrian"\nvalues = "ranges"\n'
    )
    from reticent.policy import Policy, publish_policy

    with pytest.raises(rt.PolicyError, match=r"policy.toml:6:1: The declared column 'stay' is the days from"):
        publish_policy(Policy.read(tmp_path / "policy.toml"), tmp_path / "release", ledger=str(tmp_path / "ledger"))


def test_what_a_computed_column_does_not_break_is_kept_and_named(tmp_path: Path) -> None:
    """Whole months are published, so that the month beside them parts no class."""
    quasi = {"admitted": rt.Hierarchy.dates(["month", "year"]).limited(max_level=1)}
    table = rt.Table(stays(), quasi=quasi, sensitive="diagnosis", declared={"month": WHY})
    release = rt.publish(table, rt.KAnonymity(5))
    (entry,) = release.certificate["declared"]
    assert (entry["few"], entry["computable_from"]) == (0, ["admitted"])
    folder = release.save(tmp_path / "release")
    assert "It can be computed from 'admitted'" in " ".join((folder / "public" / "STATEMENT.txt").read_text().split())
    found = rt.verify(folder)
    assert found.holds
    (check,) = [check for check in found.checks if check.name == "computable columns"]
    assert "'month' from 'admitted'" in check.detail


def test_a_chain_of_relations_is_followed() -> None:
    frame = stays().with_columns(weeks=pl.col("stay") // 7)
    table = rt.Table(frame, quasi=["admitted", "discharged"], declared={"weeks": WHY, "stay": WHY})
    with pytest.raises(rt.PolicyError, match="declared column"):
        rt.publish(table, rt.KAnonymity(5), RANGES)
    alone = rt.Table(frame, quasi=["admitted"], declared={"weeks": WHY, "stay": WHY})
    assert all(
        not each["computable_from"] for each in rt.publish(alone, rt.KAnonymity(5), RANGES).certificate["declared"]
    )


def test_a_sensitive_column_that_anybody_computes_has_no_guarantee() -> None:
    table = rt.Table(stays(), quasi=["height", "weight"], sensitive="bmi")
    with pytest.raises(
        rt.PolicyError,
        match=r"sensitive column 'bmi' is .*'weight' divided.*DistinctLDiversity\(l=2\) cannot hold",
    ):
        rt.publish(table, rt.KAnonymity(5) & rt.DistinctLDiversity(2), RANGES)


def test_a_sensitive_column_that_anybody_computes_is_a_key_as_well() -> None:
    table = rt.Table(stays(), quasi=["height", "weight"], sensitive="bmi")
    with pytest.raises(rt.PolicyError, match=r"sensitive column 'bmi' is .*counts as known too"):
        rt.publish(table, rt.KAnonymity(5), RANGES)


LENGTH = pl.when(pl.col("stay") < 3).then(pl.lit("short")).when(pl.col("stay") < 10).then(pl.lit("mid"))
BANDS = {
    "length": (LENGTH.otherwise(pl.lit("long")), ["admitted", "discharged"]),
    "lasting": (pl.col("stay") > 22, ["admitted", "discharged"]),
    "tall": (pl.col("height") > 1.9, ["height", "weight"]),
    "obese": (pl.col("bmi") >= 30, ["height", "weight"]),
}


@pytest.mark.parametrize("name", BANDS)
def test_a_sensitive_band_of_known_columns_has_no_guarantee(name: str) -> None:
    """Which stays count as long is no secret: whoever knows both dates knows the band, also where it is rare."""
    made, quasi = BANDS[name]
    frame = stays().with_columns(made.alias(name))
    table = rt.Table(frame, quasi=quasi, sensitive=name)
    definition = rt.KAnonymity(5) & rt.DistinctLDiversity(2)
    with pytest.raises(rt.PolicyError, match=f"sensitive column '{name}' .*DistinctLDiversity.*cannot hold"):
        rt.publish(table, definition, RANGES)
    alone = rt.Table(frame, quasi=quasi[1:], sensitive=name)
    assert rt.publish(alone, definition, RANGES).certificate["claims"]


def test_a_lookup_is_no_disclosure_of_a_sensitive_column() -> None:
    """Who has which diagnosis in this ward is what is kept secret; that wards go with diagnoses is no formula."""
    frame = stays().with_columns(
        ward=pl.col("diagnosis").replace({"flu": "A", "cold": "B", "ulcer": "C", "asthma": "D"})
    )
    table = rt.Table(frame, quasi=["ward", "height"], sensitive="diagnosis")
    assert rt.publish(table, rt.KAnonymity(5) & rt.DistinctLDiversity(2), RANGES).certificate["claims"]


def test_a_declared_label_of_a_known_code_is_known() -> None:
    frame = stays().with_columns(
        zip=pl.Series([f"{10000 + i % 60}" for i in range(1500)]),
        town=pl.Series([f"town {i % 60 // 2}" for i in range(1500)]),
    )
    table = rt.Table(frame, quasi={"zip": rt.Hierarchy.masking(digits=5), "height": None}, declared={"town": WHY})
    with pytest.raises(rt.PolicyError, match="declared column 'town' has one value for each value of 'zip'"):
        rt.publish(table, rt.KAnonymity(30), RANGES)


@pytest.mark.parametrize("engine", ["streaming", "local"])
def test_streamed_rows_are_looked_at_too(engine: Any) -> None:
    table = rt.Table(
        stays(),
        quasi={"admitted": rt.Hierarchy.dates(), "discharged": rt.Hierarchy.dates()},
        declared={"stay": WHY},
        engine=engine,
    )
    with pytest.raises(rt.PolicyError, match="declared column 'stay' is the days from"):
        rt.publish(table, rt.KAnonymity(5), rt.Lattice(suppression="0.05"))


def test_quasi_sets_are_closed_one_by_one() -> None:
    """Whoever knows one of the dates cannot compute the stay, and nobody is taken to know both."""
    sets = [["admitted"], ["discharged"]]
    table = rt.Table(stays(), quasi=["admitted", "discharged"], quasi_sets=sets, declared={"stay": WHY})
    (entry,) = rt.publish(table, rt.KAnonymity(5), RANGES).certificate["declared"]
    assert entry["computable_from"] == []


@pytest.mark.parametrize("method", [RANGES, rt.Lattice(suppression="0.1")], ids=["mondrian", "lattice"])
def test_a_set_of_columns_includes_what_follows_from_them(method: Any, tmp_path: Path) -> None:
    """Whoever knows both dates knows the stay, although that is listed in another set: it is judged, and said."""
    frame = stays(400).with_columns(sex=pl.Series(["f", "m"] * 200))
    sets = [["admitted", "discharged"], ["stay", "sex"]]
    table = rt.Table(frame, quasi=["admitted", "discharged", "stay", "sex"], quasi_sets=sets)
    release = rt.publish(table, rt.KAnonymity(5), method)
    assert alone_and_few(release.frame.select("admitted", "discharged", "stay").rows(), 5) == (0, 0)
    (claim,) = release.certificate["claims"]
    assert "An attacker who knows admitted, discharged and stay, or stay and sex, of a person" in claim["covers"]
    assert rt.verify(release.save(tmp_path / "release")).holds
    assert "admitted, discharged, stay" in rt.assess(table, rt.KAnonymity(2)).value


def test_columns_that_a_definition_names_include_what_follows_from_them(tmp_path: Path) -> None:
    """Whoever knows the two dates that are named knows the stay: it is judged with them, and said."""
    table = rt.Table(stays(400), quasi=["admitted", "discharged", "stay"], sensitive="diagnosis")
    dates = ["admitted", "discharged"]
    bounded = rt.ConfidenceBounding("1/2", ["flu"], column="diagnosis", quasi=dates)
    release = rt.publish(table, rt.KAnonymity(2) & rt.KAnonymity(10, quasi=dates) & bounded, RANGES)
    assert alone_and_few(release.frame.select(*dates, "stay").rows(), 10) == (0, 0)
    named = [claim["parameters"].get("quasi") for claim in release.certificate["claims"]]
    assert named.count([*dates, "stay"]) == 2
    assert rt.verify(release.save(tmp_path / "release")).holds
    assert "stay" in str(rt.assess(table, rt.KAnonymity(2, quasi=dates)).definition)
    assert rt.KAnonymity(10, quasi=["admitted"]) in closed(rt.KAnonymity(10, quasi=["admitted"]), table).parts()


def test_sensitive_columns_that_count_as_known_include_what_follows_from_them() -> None:
    frame = stays(400).with_columns(double=2 * pl.col("weight"))
    table = rt.Table(frame, quasi=["height"], sensitive=["weight", "double", "bmi", "diagnosis"])
    (part,) = closed(rt.XYPrivacy(2, "1/2", y=["diagnosis"], x=["weight"]), table).parts()
    assert set(part.x) == {"weight", "double", "bmi"}
    for known in (["weight"], None):
        with pytest.raises(rt.PolicyError, match="can be computed from these") as told:
            rt.publish(table, rt.KAnonymity(5) & rt.XYPrivacy(2, "1/2", y=["bmi", "diagnosis"], x=known), RANGES)
        assert told.value.column == "bmi"


def test_any_columns_are_closed_under_relations_of_the_table(tmp_path: Path) -> None:
    table = rt.Table(stays(400), quasi=["admitted", "discharged", "stay"])
    release = rt.publish(table, rt.AnyColumns(2, rt.KAnonymity(3)), RANGES)
    (claim,) = release.certificate["claims"]
    assert [["admitted", "discharged"], "stay"] in claim["parameters"]["relations"]
    assert rt.verify(release.save(tmp_path / "release")).holds
    assert alone_and_few(release.frame.select("admitted", "discharged", "stay").rows(), 3) == (0, 0)


def spoiled(folder: Path, change: Any) -> Path:
    """The folder with another manifest, and the certificate's fingerprint of it."""
    public = folder / "public"
    manifest = json.loads((public / "manifest.json").read_text())
    change(manifest)
    (public / "manifest.json").write_bytes(readable(manifest))
    certificate = json.loads((public / "certificate.json").read_text())
    certificate["files"]["manifest.json"] = fingerprint((public / "manifest.json").read_bytes())
    certificate["declared"][0]["computable_from"] = ["admitted"]
    (public / "certificate.json").write_bytes(readable(certificate))
    return folder


def test_verify_fails_where_a_computable_column_parts_a_class(tmp_path: Path) -> None:
    table = rt.Table(stays(), quasi=["admitted"], declared={"bmi": WHY})
    folder = rt.publish(table, rt.KAnonymity(5), RANGES).save(tmp_path / "release")
    assert rt.verify(folder).holds

    def says_so(manifest: dict[str, Any]) -> None:
        next(each for each in manifest["columns"] if each["name"] == "bmi")["computable_from"] = ["admitted"]

    failures = rt.verify(spoiled(folder, says_so)).failures
    assert any(check.name == "computable columns" and "fail a claim" in check.detail for check in failures)


def test_closing_is_idempotent_and_names_only_what_is_known() -> None:
    from reticent.release.computable_columns import follows

    relations = [
        ColumnRelation("c", ("a", "b"), ""),
        ColumnRelation("d", ("c",), ""),
        ColumnRelation("a", ("c", "b"), ""),
    ]
    found = follows(["a", "b"], relations)
    assert {name: sources for name, (sources, _) in found.items()} == {"c": ("a", "b"), "d": ("a", "b")}
    assert follows(["a", "b", *found], relations) == {}
    assert {name: sources for name, (sources, _) in follows(["c", "b"], relations).items()} == {
        "d": ("c",),
        "a": ("c", "b"),
    }
    assert follows(["a"], relations) == {}


COARSER: dict[str, Any] = {
    "microaggregated": {"kind": "microaggregate", "size": 5},
    "few digits": {"kind": "digits", "digits": 1},
    "top-coded": {"kind": "round", "to": 100, "top": 300},
}


@pytest.mark.parametrize("coarser", COARSER)
def test_whoever_computes_the_exact_value_knows_the_coarse_one(coarser: str) -> None:
    """A survival time from the day of birth, an age with decimals and the day of death: what is published of it is coarse, and shows the formula no longer."""
    frame = stays(300).with_columns(
        born=pl.col("admitted") - pl.duration(days=20_000 + 7 * pl.int_range(300)),
    )
    frame = frame.with_columns(age=(pl.col("admitted") - pl.col("born")).dt.total_days() / 365.25)
    frame = frame.with_columns(lived=(pl.col("died") - pl.col("admitted")).dt.total_days())
    known = ["born", "age", "died"]
    table = rt.Table(frame, quasi=known, sensitive="lived", coarsen={"lived": COARSER[coarser]})
    promise = rt.KAnonymity(5) & rt.DistinctLDiversity(2)
    with pytest.raises(rt.PolicyError, match=r"sensitive column 'lived' is .*cannot hold"):
        rt.publish(table, promise, RANGES)
    # Without one of the sources nobody computes it.
    fewer = rt.Table(frame, quasi=["born", "died"], sensitive="lived", coarsen={"lived": COARSER[coarser]})
    assert rt.publish(fewer, promise, RANGES).headline.holds


def test_a_declared_column_that_was_made_coarser_is_computed_as_it_was() -> None:
    coarsen = {"stay": {"kind": "microaggregate", "size": 5}}
    table = rt.Table(stays(), quasi=CASES["stay"], declared={"stay": WHY}, coarsen=coarsen)
    with pytest.raises(rt.PolicyError, match="declared column 'stay' is the days from 'admitted' to 'discharged'"):
        rt.publish(table, rt.KAnonymity(5), RANGES)
