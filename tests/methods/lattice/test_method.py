"""From search to draft: what Lattice publishes."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest

from reticent.base.context import Context
from reticent.base.randomness import Randomness
from reticent.definitions import DistinctLDiversity, EntropyLDiversity, KAnonymity, RecursiveLDiversity
from reticent.errors import Infeasible, PolicyError
from reticent.methods.lattice import Lattice
from reticent.release import publish
from reticent.table import Hierarchy, Table
from reticent.utility import utility_of
from tests.methods.lattice.test_search import OBJECTIVES, twelve
from tests.methods.mondrian.test_mondrian import people


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("suppression", ["0", "0.1"])
def test_the_search_and_the_utility_room_measure_the_same(objective, suppression):
    draft = Lattice(objective=objective, suppression=suppression).draft(people(500), KAnonymity(4))
    assert utility_of(draft)[objective] == pytest.approx(draft.search["value"], rel=1e-9)


def test_the_published_table_has_no_trace_of_the_original_order():
    table = twelve()
    shuffled = Table(table.frame[np.random.default_rng(0).permutation(12)], quasi=table.quasi, sensitive="condition")
    first = publish(table, DistinctLDiversity(3), Lattice()).frame
    second = publish(shuffled, DistinctLDiversity(3), Lattice()).frame
    assert first.equals(second)
    assert first["zip"].unique().sort().to_list() == ["1305*", "1306*", "1485*"]


def test_identifiers_vanish_others_stay_and_columns_without_a_role_are_not_published():
    frame = people(100).frame.with_columns(
        pl.Series("name", [f"person {i}" for i in range(100)]), pl.lit("x").alias("note"), pl.lit(1).alias("ward")
    )
    table = Table(
        frame, quasi=people(100).quasi, sensitive="illness", identifiers=["name"], declared={"ward": "nobody knows it"}
    )
    data = Lattice().draft(table, KAnonymity(3)).tables["data"].frame()
    assert data.columns == ["age", "job", "town", "illness", "ward"]


def test_pseudonyms_are_random_and_translated_on_the_private_side_only():
    frame = people(60).frame.with_columns(pl.Series("name", [f"person {i}" for i in range(60)]))
    table = Table(frame, quasi=["town"], sensitive="illness", identifiers=["name"], pseudonyms=["name"])
    draft = Lattice().draft(table, KAnonymity(3))
    data, key = draft.tables["data"].frame(), draft.private["pseudonyms"].frame()
    assert "name" not in data.columns
    assert set(data["pseudonym"]) == set(key["pseudonym"])
    assert key.height == 60
    assert draft.insecure is False
    again = Lattice().draft(table, KAnonymity(3)).tables["data"].frame()
    assert set(again["pseudonym"]).isdisjoint(data["pseudonym"])


def test_buckets_keep_quasi_values_exact_and_shuffle_the_sensitive_ones():
    table = people(400)
    draft = Lattice(format="bucketize").draft(table, EntropyLDiversity(2))
    quasi, sensitive = draft.tables["quasi"].frame(), draft.tables["sensitive"].frame()
    assert quasi.columns == ["age", "job", "town", "bucket"]
    assert sensitive.columns == ["bucket", "illness"]
    assert Counter(quasi["bucket"]) == Counter(sensitive["bucket"])
    assert sorted(quasi["age"]) == sorted(table.frame["age"])
    assert Counter(draft.evidence.published.sizes.tolist()) == Counter(Counter(sensitive["bucket"]).values())
    seeded = [Lattice(format="bucketize").draft(table, EntropyLDiversity(2), Context(Randomness(s))) for s in (1, 1, 2)]
    assert seeded[0].tables["sensitive"].frame().equals(seeded[1].tables["sensitive"].frame())
    assert not seeded[0].tables["sensitive"].frame().equals(seeded[2].tables["sensitive"].frame())
    assert seeded[0].insecure


def test_buckets_refuse_a_promise_about_identity():
    with pytest.raises(PolicyError, match=r"KAnonymity\(k=5\) requires that no person can be singled out"):
        Lattice(format="bucketize").draft(people(100), KAnonymity(5))


def test_people_with_several_rows_count_once():
    frame = pl.DataFrame({"id": [1, 1, 1, 2, 3, 3], "town": ["A"] * 4 + ["B"] * 2, "s": list("xyzxyz")})
    table = Table(frame, quasi=["town"], sensitive="s", identifiers=["id"], key="id", unit="person")
    draft = Lattice().draft(table, KAnonymity(2))
    assert draft.recoding.levels == {"town": 1}
    one = Table(frame.drop("id"), quasi=["town"], sensitive="s")
    assert Lattice().draft(one, KAnonymity(2)).recoding.levels == {"town": 0}


def test_null_as_a_category_stays_itself_below_the_top():
    frame = pl.DataFrame({"age": [20, 21, None, None, 40, 41], "s": list("xyxyxy")})
    table = Table(frame, quasi={"age": Hierarchy.intervals([20], domain=(0, 99))}, sensitive="s", nulls="category")
    data = Lattice().draft(table, KAnonymity(2)).tables["data"].frame()
    assert Counter(data["age"]) == {"[20, 40)": 2, "(missing)": 2, "[40, 60)": 2}
    assert Lattice().draft(table, KAnonymity(3)).tables["data"].frame()["age"].unique().to_list() == ["*"]


def test_a_named_node_is_taken_as_it_is_or_refused():
    levels = {"zip": 2, "age": 1, "nationality": 1}
    assert Lattice(node=levels).draft(twelve(), KAnonymity(2)).recoding.levels == levels
    with pytest.raises(Infeasible):
        Lattice(node={"zip": 0}).draft(twelve(), KAnonymity(2))


def test_what_nothing_satisfies_says_how_far_one_can_get():
    with pytest.raises(Infeasible, match="even all 12 rows in one group do not"):
        Lattice().draft(twelve(), RecursiveLDiversity("1.5", 3))
    with pytest.raises(Infeasible, match=r"suppress every row"):
        Lattice(suppression="1").draft(twelve(), KAnonymity(13))
