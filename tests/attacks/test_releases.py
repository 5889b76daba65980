"""Adversaries against real releases, read from their public side: they succeed on weak ones and fail on safe ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.attacks import Homogeneity, Linkage, attack, compare
from reticent.core import AdversaryView
from reticent.definitions import DistinctLDiversity, KAnonymity
from reticent.demo import hospital, hospital_table, ten_people, ten_people_table, voter_roll
from reticent.methods.lattice import Lattice
from reticent.release import publish
from reticent.table import Hierarchy, Table
from reticent.table.meaning import Value
from tests.sampling import examples


@pytest.fixture(scope="module")
def table() -> Table:
    return hospital_table(hospital(1500))


def test_a_release_without_a_promise_worth_the_name_is_broken(table: Table, tmp_path: Path) -> None:
    weak = publish(table, KAnonymity(1), ledger=tmp_path / "ledger.sqlite")
    linked, shared = attack(weak, Linkage(voter_roll(table.frame)), Homogeneity())
    assert linked.hits > 400
    assert shared.hits > 1400


def test_k_anonymity_hides_people_but_not_what_they_share() -> None:
    frame = pl.DataFrame({"age": [20, 21, 30, 31, 40, 41], "ill": ["flu", "flu", "flu", "gout", "gout", "gout"]})
    table = Table(frame, quasi={"age": Hierarchy.intervals([10], domain=(20, 49))}, sensitive="ill")
    linked, shared = attack(publish(table, KAnonymity(2)), Linkage(frame.select("age")), Homogeneity())
    assert linked.hits == 0
    assert linked.details["learned"] == shared.hits == 4


def test_diversity_hides_both(table: Table, tmp_path: Path) -> None:
    definition = KAnonymity(5) & DistinctLDiversity(3)
    safe = publish(table, definition, Lattice(suppression="0.05"), ledger=tmp_path / "ledger.sqlite")
    safe.save(tmp_path / "release")
    roll = voter_roll(table.frame)
    for target in (safe, tmp_path / "release", tmp_path / "release" / "public"):
        linked, shared = attack(target, Linkage(roll), Homogeneity())
        assert linked.hits == linked.details["learned"] == shared.hits == 0
        assert linked.details["smallest_match"] >= 5


def test_a_saved_release_and_the_one_in_memory_tell_the_same(table: Table, tmp_path: Path) -> None:
    release = publish(
        table, KAnonymity(3), Lattice(suppression="0.1"), ledger=tmp_path / "ledger.sqlite", files="parquet"
    )
    release.save(tmp_path / "release")
    linkage = Linkage(voter_roll(table.frame))
    assert attack(release, linkage) == attack(tmp_path / "release", linkage)


def test_people_of_a_streamed_table_are_drawn_and_looked_up(tmp_path: Path) -> None:
    """Nobody holds all rows; ten thousand of them tell how many are found."""
    random = np.random.default_rng(2)
    frame = pl.DataFrame({"age": random.integers(0, 9000, 30_000), "ill": random.choice(["flu", "gout"], 30_000)})
    quasi = {"age": Hierarchy.intervals([100, 1000], domain=(0, 8999))}
    in_memory, streamed = (
        Table(frame.lazy(), quasi=quasi, sensitive="ill", engine=engine) for engine in ("local", "streaming")
    )
    release = publish(streamed, KAnonymity(5), ledger=tmp_path / "ledger.sqlite")
    release.save(tmp_path / "release")
    found, expected = (
        {after.adversary: (before, after) for before, after in compare(table, tmp_path / "release")}
        for table in (streamed, in_memory)
    )
    assert [*found, "minimality"] == list(expected)
    before, after = found["linkage"]
    assert before is not None
    assert (before.people, after.people, after.hits) == (10_000, 10_000, 0)
    assert before.interval is not None
    assert expected["linkage"][0] is not None
    assert before.interval[0] <= expected["linkage"][0].share <= before.interval[1]
    assert found["homogeneity"] == expected["homogeneity"]


def test_buckets_show_that_somebody_is_there_but_not_what_they_have(tmp_path: Path) -> None:
    release = publish(ten_people_table(), DistinctLDiversity(3), Lattice(format="bucketize"))
    release.save(tmp_path / "release")
    for target in (release, tmp_path / "release"):
        linked, shared = attack(target, Linkage(ten_people(), who="name", about=3), Homogeneity())
        assert linked.hits == linked.details["matched"] == 10
        assert linked.details["learned"] == shared.hits == 0
        assert "matches exactly one published row with" in linked.example


def test_a_bucket_of_one_value_gives_it_away() -> None:
    quasi = pl.DataFrame({"age": [20, 21, 30, 31], "bucket": [1, 1, 2, 2]})
    counted = pl.DataFrame({"bucket": [1, 2, 2], "ill": ["flu", "flu", "gout"], "count": [2, 1, 1]})
    meanings = {"age": {str(age): Value(age) for age in (20, 21, 30, 31)}}
    published = AdversaryView.in_buckets(quasi, counted, meanings, ["ill"], "bucket", counted["count"].to_numpy())
    linked, shared = attack(published, Linkage({"age": [20, 30, 31]}), Homogeneity())
    assert linked.details["learned"] == 1
    assert shared.hits == 2


@examples(30)
@given(seed=st.integers(0, 10_000))
def test_the_chance_of_the_best_guess_in_buckets_is_that_of_counting_worlds(seed: int) -> None:
    """With exact quasi values, a person with one matching row has each value of the bucket in proportion."""
    random = np.random.default_rng(seed)
    size = int(random.integers(2, 9))
    quasi = pl.DataFrame({"age": np.arange(size), "bucket": random.integers(0, 2, size)}).sort("bucket")
    sensitive = quasi.select("bucket").with_columns(pl.Series("ill", random.choice(["a", "b", "c"], size)))
    meanings = {"age": {str(age): Value(age) for age in range(size)}}
    published = AdversaryView.in_buckets(quasi, sensitive, meanings, ["ill"], "bucket")
    findings = Linkage({"age": list(range(size))}, about=0).attack(published)
    bucket = quasi.filter(pl.col("age") == 0)["bucket"][0]
    values = sensitive.filter(pl.col("bucket") == bucket)["ill"].value_counts(sort=True)
    top = values["count"][0] / values["count"].sum()
    if values.height > 1:
        assert findings.example.endswith(f"is right with a probability of {top:.0%}.")
    else:
        assert "so ill is" in findings.example
