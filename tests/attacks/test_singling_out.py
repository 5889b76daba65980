"""Whoever is told apart by a number or a declared column is singled out, however large the groups are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import reticent as rt
from reticent.attacks import SinglingOut, attack

SDC = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "sdcmicro"


def people(rows: int = 60) -> pl.DataFrame:
    random = np.random.default_rng(5)
    return pl.DataFrame(
        {
            "sex": random.choice(["f", "m"], rows),
            "ill": [*random.choice(["flu", "gout"], rows - 1).tolist(), "HIV"],
            "pay": np.round(random.random(rows) * 1000, 3),
            "note": [f"note {number // 2}" for number in range(rows)],
        }
    )


def table(**roles: object) -> rt.Table:
    return rt.Table(people(), quasi={"sex": rt.Hierarchy.suppression(["f", "m"])}, **roles)  # type: ignore[arg-type]


@pytest.mark.parametrize("role", [{"sensitive": "pay"}, {"declared": {"pay": "nobody knows it"}}])
def test_exact_numbers_single_everybody_out_in_groups_of_any_size(role: dict[str, object], tmp_path: Path) -> None:
    release = rt.publish(table(**role), rt.KAnonymity(5))
    release.save(tmp_path / "release")
    for target in (release, tmp_path / "release"):
        found = attack(target, SinglingOut())[0]
        assert (found.hits, found.people) == (60, 60)
        assert found.succeeds
        assert found.details["unique"] == {"pay": {"rows": 60, "share": 1.0, "distinct": 60}}
        assert found.example.startswith(
            "60 of 60 rows have a value of pay that no other row has. Exactly one person has pay "
        )


def test_declared_texts_count_as_often_as_they_are_alone() -> None:
    frame = people().with_columns(
        note=pl.when(pl.arange(0, 60) < 7).then(pl.lit("alone ") + pl.arange(0, 60).cast(pl.String)).otherwise("note")
    )
    named = rt.Table(
        frame,
        quasi={"sex": rt.Hierarchy.suppression(["f", "m"])},
        sensitive="ill",
        declared={"note": "nobody knows it"},
    )
    found = attack(rt.publish(named, rt.KAnonymity(5)), SinglingOut())[0]
    assert found.hits >= found.details["unique"]["note"]["rows"] >= 7


def test_a_rare_category_is_told_and_is_no_description_of_a_person() -> None:
    found = attack(rt.publish(table(sensitive="ill"), rt.KAnonymity(5)), SinglingOut())[0]
    assert found.hits == 0
    assert found.details["unique"]["ill"] == {"rows": 1, "share": 1 / 60, "distinct": 3}


def test_values_that_many_share_single_nobody_out() -> None:
    frame = people().with_columns(pay=pl.Series(np.repeat([100.0, 200.0, 300.0], 20)))
    rounded = rt.Table(frame, quasi={"sex": rt.Hierarchy.suppression(["f", "m"])}, sensitive="pay")
    found = attack(rt.publish(rounded, rt.KAnonymity(5)), SinglingOut())[0]
    assert found.hits == 0
    assert found.details["unique"]["pay"]["share"] == 0.0


def test_buckets_and_tables_as_they_stand_tell_it_too() -> None:
    raw = table(sensitive="ill", declared={"pay": "nobody knows it"})
    assert attack(raw, SinglingOut())[0].details["unique"]["pay"]["rows"] == 60
    made = rt.publish(table(sensitive="pay"), rt.DistinctLDiversity(3), rt.Lattice(format="bucketize"))
    assert attack(made, SinglingOut())[0].details["unique"]["pay"]["rows"] == 60


@pytest.mark.skipif(not SDC.is_dir(), reason="needs the shared sdcMicro data")
def test_the_expenses_of_the_sdcmicro_households_are_all_different() -> None:
    frame = pl.read_csv(SDC / "testdata.csv.gz", infer_schema_length=10_000).with_columns(
        pl.col("expend").cast(pl.Float64)
    )
    alone = int((frame["expend"].value_counts()["count"] == 1).sum())
    named = rt.Table(frame, quasi=["urbrur", "sex"], sensitive="expend", nulls="category")
    found = attack(rt.publish(named, rt.KAnonymity(5)), SinglingOut())[0]
    assert found.details["unique"]["expend"]["rows"] == found.hits == alone > 0.9 * frame.height
