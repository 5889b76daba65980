"""Recodings as data: what they do to the rows of their table, to later rows, and on their way through files."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent as rt
from reticent.base.context import Context
from reticent.base.randomness import Randomness
from reticent.core import Draft, Levels, Recoding, Regions, read_recoding
from reticent.methods.grouping import Allocation
from reticent.table import Hierarchy, Table
from reticent.table.meaning import Anything
from tests.sampling import examples

METHODS = {
    "lattice": rt.Lattice(suppression="0.3"),
    "buckets": rt.Lattice(suppression="0.3", format="bucketize"),
    "datafly": rt.Datafly(suppression="0.3"),
    "sets": rt.Mondrian(values="sets"),
    "ranges": rt.Mondrian(values="ranges"),
    "nodes": rt.Mondrian(values="hierarchy"),
    "divided": rt.Mondrian(ties="divide", values="sets"),
    "divided nodes": rt.Mondrian(ties="divide", values="hierarchy"),
    "left out": rt.Mondrian(suppression="0.5", values="sets"),
}


def table_of(seed: int, rows: int = 60) -> Table:
    """A small table with every kind of column, missing values, and texts that look like labels."""
    draw = np.random.default_rng(seed)
    town = draw.choice(["Aix", "Brest", "*", "(missing)", None], rows, p=[0.3, 0.3, 0.1, 0.1, 0.2])
    frame = pl.DataFrame(
        {
            "age": draw.integers(20, 30, rows),
            "town": pl.Series(town.tolist(), dtype=pl.String),
            "day": pl.Series(draw.integers(19_000, 19_060, rows)).cast(pl.Int32).cast(pl.Date),
            "ill": draw.choice(["flu", "ulcer", "gout"], rows),
        }
    )
    quasi = {
        "age": Hierarchy.intervals([2, 4, 8], domain=(0, 99)),
        "town": Hierarchy.suppression(),
        "day": Hierarchy.dates(["month", "year"]),
    }
    return Table(frame, quasi=quasi, sensitive="ill", nulls="category")


def drafted(name: str, table: Table) -> Draft:
    definition = rt.DistinctLDiversity(2) if name in ("buckets", "left out") else rt.KAnonymity(3)
    return METHODS[name].draft(table, definition, Context(Randomness(1)))


def saved(recoding: Recoding) -> Recoding:
    """The recoding after a way through JSON and rows."""
    return read_recoding(json.loads(json.dumps(recoding.as_json())), recoding.stored(), "here")


def looks(frame: pl.DataFrame) -> Counter:
    return Counter(frame.iter_rows())


@pytest.mark.parametrize("name", METHODS)
@given(seed=st.integers(0, 10**6))
@examples(12, few=5)
def test_the_rows_of_a_table_are_placed_where_they_were_published(name: str, seed: int) -> None:
    table = table_of(seed)
    draft = drafted(name, table)
    for recoding in (draft.recoding, saved(draft.recoding)):
        labels, kept = recoding.place(table.frame, "error")
        placed = labels.with_columns(table.frame["ill"].filter(pl.Series(kept)))
        if name != "buckets":
            assert looks(placed) == looks(draft.tables["data"].frame())
            continue
        # Buckets: the same people, and those of one bucket look alike.
        quasi = draft.tables["quasi"].frame()
        assert looks(table.frame.filter(pl.Series(kept)).select(list(table.quasi))) == looks(
            quasi.select(list(table.quasi))
        )
        sizes = quasi.group_by("bucket").len()["len"].to_list()
        assert Counter(labels.group_by(labels.columns).len()["len"].to_list()) == Counter(sizes)


@pytest.mark.parametrize("name", METHODS)
def test_a_saved_recoding_places_later_rows_as_the_first_one(name: str) -> None:
    draft, later = drafted(name, table_of(3)), table_of(4, 200).frame
    first, kept = draft.recoding.place(later, "suppress")
    second, same = saved(draft.recoding).place(later, "suppress")
    assert first.equals(second)
    assert (kept == same).all()
    assert 0 < kept.sum() < 200
    assert not set(first.rows()) - set(draft.recoding.place(table_of(3).frame, "error")[0].rows())


def strict(rows: dict, **options: object) -> Regions:
    table = Table(rows, quasi={"age": Hierarchy.intervals([10, 20]), "town": Hierarchy.suppression()}, sensitive="s")
    draft = rt.Mondrian(**{"values": "sets", **options}).draft(table, rt.KAnonymity(2))
    assert isinstance(draft.recoding, Regions)
    return draft.recoding


def test_a_known_point_goes_where_it_went_and_a_new_one_where_it_fits() -> None:
    rows = {"age": [1, 9, 1, 9, 12, 13], "town": ["a", "a", "b", "b", "a", "b"], "s": list("xyxyxy")}
    recoding = strict(rows, values="hierarchy")
    own = recoding.place(pl.DataFrame(rows), "error")[0].rows()
    assert own == [("[0, 10)", "a")] * 2 + [("[0, 10)", "b")] * 2 + [("[10, 20)", "*")] * 2
    later = pl.DataFrame({"age": [5, 15], "town": ["b", "b"]})
    assert recoding.place(later, "error")[0].rows() == [("[0, 10)", "b"), ("[10, 20)", "*")]


def test_a_point_that_several_groups_cover_is_left_out() -> None:
    column = strict({"age": [1, 1, 9, 9], "town": list("aabb"), "s": list("xyxy")}).columns
    overlapping = tuple(
        type(each)(
            each.name, each.hierarchy, each.leaves, pl.Series(each.name, ["*", "any"]), meanings, np.array([0, 1])
        )
        for each, meanings in zip(column, ((Anything(), Anything()), (Anything(), Anything())), strict=True)
    )
    recoding = Regions(overlapping, (np.array([0, 1]), np.array([0, 1])), np.array([0, 1]))
    labels, kept = recoding.place(pl.DataFrame({"age": [1, 9, 5], "town": ["a", "b", "a"]}), "error")
    assert kept.tolist() == [True, True, False]
    assert labels["age"].to_list() == ["*", "any"]


def test_more_rows_of_a_divided_point_than_there_were_are_left_out() -> None:
    rows = pl.DataFrame({"age": [1] * 8, "town": ["a"] * 8, "s": list("xxxxyyyy")})
    table = Table(rows, quasi=["age", "town"], sensitive="s")
    columns = strict({"age": [1, 1], "town": list("aa"), "s": list("xy")}).columns
    halves = tuple(
        type(each)(
            each.name,
            each.hierarchy,
            each.leaves,
            pl.Series(each.name, ["first", "second"]),
            (Anything(), Anything()),
            np.array([0, 1]),
        )
        for each in columns
    )
    recoding = Allocation.of(table, halves, [np.zeros(8, dtype=np.int64)] * 2, np.array([0, 1, 0, -1, 0, 0, 0, 1]))
    again = saved(recoding)
    assert isinstance(again, Allocation)
    labels, kept = again.place(rows, "error")
    assert kept.tolist() == [True, True, True, False, True, True, True, True]
    assert labels["age"].to_list() == ["first", "first", "second", "first", "first", "first", "second"]
    labels, kept = again.place(pl.concat([rows, rows]), "error")
    assert kept.sum() == 7
    assert again.place(rows.drop("s"), "error")[1].sum() == 0


def test_the_label_of_missing_values_is_the_one_that_was_published() -> None:
    frame = {"town": ["(missing)"] * 3 + [None] * 3, "s": list("xyxyxy")}
    table = Table(frame, quasi=["town"], sensitive="s", nulls="category")
    draft = rt.Lattice().draft(table, rt.KAnonymity(3))
    assert isinstance(draft.recoding, Levels)
    later = pl.DataFrame({"town": pl.Series([None], dtype=pl.String)})
    assert draft.recoding.place(later, "error")[0]["town"].to_list() == ["(missing)'"]
    assert "(missing)'" in draft.tables["data"].frame()["town"].to_list()
