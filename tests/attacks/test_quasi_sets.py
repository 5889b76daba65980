"""A release for several sets of quasi columns is attacked by somebody who knows one of them, as it was promised."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from reticent.attacks import Homogeneity, Linkage, attack, compare
from reticent.definitions import DistinctLDiversity, KAnonymity
from reticent.methods.lattice import Lattice
from reticent.release import Release, adversary_view_of, publish
from reticent.table import Hierarchy, Table

SETS = [["age", "sex"], ["zip"]]


def frame(rows: int = 240) -> pl.DataFrame:
    random = np.random.default_rng(3)
    return pl.DataFrame(
        {
            "age": random.integers(20, 60, rows),
            "sex": random.choice(["f", "m"], rows),
            "zip": random.choice([f"1{number:02}" for number in range(40)], rows),
            "ill": random.choice(["flu", "gout", "HIV"], rows),
        }
    )


@pytest.fixture(scope="module")
def table() -> Table:
    quasi = {
        "age": Hierarchy.intervals([5, 10, 20], origin=20, domain=(20, 59)),
        "sex": Hierarchy.suppression(["f", "m"]),
        "zip": Hierarchy.masking(3),
    }
    return Table(frame(), quasi=quasi, sensitive="ill", quasi_sets=SETS)


@pytest.fixture(scope="module")
def release(table: Table) -> Release:
    return publish(table, KAnonymity(4) & DistinctLDiversity(2))


def test_nobody_is_hit_by_what_somebody_may_know_although_all_columns_together_would_hit_many(
    table: Table, release: Release
) -> None:
    linked = attack(release, Linkage(table.frame))
    assert [each.adversary for each in linked] == ["linkage by age and sex", "linkage by zip"]
    assert [each.hits for each in linked] == [0, 0]
    assert min(each.details["smallest_match"] for each in linked) >= 4
    everything = Linkage(table.frame).attack(adversary_view_of(release))
    assert everything.hits > 0


def test_every_adversary_is_tried_with_each_set(table: Table, release: Release, tmp_path: Path) -> None:
    release.save(tmp_path / "release")
    pairs = compare(table, tmp_path / "release")
    names = [after.adversary for _, after in pairs]
    assert len(names) == len(set(names)) == 15
    assert {name.partition(" by ")[2] for name in names} == {"age and sex", "zip"}
    for before, after in pairs:
        assert before is not None
        assert before.adversary == after.adversary
        if after.adversary.startswith(("linkage", "homogeneity", "singling out")):
            assert after.hits == 0


def test_a_list_that_shares_no_column_with_a_set_is_used_for_the_others(table: Table, release: Release) -> None:
    names = [after.adversary for _, after in compare(table, release, table.frame.select("zip"))]
    assert "linkage by zip" in names
    assert "linkage by age and sex" not in names
    assert "homogeneity by age and sex" in names


@pytest.mark.parametrize("columns", [["age", "sex"], ["zip"], ["zip", "age"]])
def test_knowing_some_columns_is_a_release_of_these_columns(table: Table, release: Release, columns: list[str]) -> None:
    """The same groups as a table with these labels alone."""
    seen = adversary_view_of(release).known(columns)
    plain = release.frame.group_by(columns).agg(pl.len(), pl.col("ill").n_unique().alias("kinds"))
    assert sorted(seen.sizes.tolist()) == sorted(plain["len"].to_list())
    alone = int(plain.filter(pl.col("kinds") == 1)["len"].sum())
    assert Homogeneity().attack(seen).hits == alone
    assert seen.names == tuple(columns)
    assert seen.rows == adversary_view_of(release).rows


def test_in_buckets_fewer_columns_lead_to_more_rows_and_no_further() -> None:
    rows = frame(60)
    made = publish(
        Table(rows, quasi=["age", "sex"], sensitive="ill"), DistinctLDiversity(2), Lattice(format="bucketize")
    )
    seen = adversary_view_of(made).known(["sex"])
    assert len(seen.groups) == len(adversary_view_of(made).groups)
    assert seen.rows == 60
    found = Linkage(rows.select("sex")).attack(seen)
    assert found.details["smallest_match"] == rows["sex"].value_counts()["count"].min()
