"""Column cuts: what Mondrian publishes for any few columns passes by brute force, loses no more than groups of all columns, and often much less."""

from __future__ import annotations

from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent as rt
from reticent.core import closure
from reticent.definitions import AnyColumns, DistinctLDiversity, KAnonymity, count_largest_sets, largest_sets
from reticent.engine import count_table
from reticent.methods.mondrian.column_cuts import ColumnCuts
from tests.oracles import known_columns as oracle
from tests.sampling import examples

NAMES = "abcd"


def shown_rows(release):
    return (
        release.frame.select([name for name in NAMES if name in release.frame.columns])
        .cast(pl.String)
        .fill_null("missing")
        .rows()
    )


def uncorrelated(rows=300, width=4, values=6, seed=1):
    draw = np.random.default_rng(seed)
    frame = pl.DataFrame({name: draw.integers(0, values, rows) for name in NAMES[:width]})
    return frame.with_columns(s=pl.Series(draw.integers(0, 3, rows)))


def test_a_cube_is_published_as_it_is():
    corners = list(product((0, 1), repeat=3))
    table = rt.Table(pl.DataFrame(corners, schema=list("abc"), orient="row"), quasi=list("abc"))
    release = rt.publish(table, AnyColumns(2, KAnonymity(2)), method=rt.Mondrian(values="sets"))
    assert release.utility["loss"] == 0
    assert rt.publish(table, KAnonymity(2), method=rt.Mondrian(values="sets")).utility["loss"] > 0


@pytest.mark.parametrize("values", ["sets", "ranges", "hierarchy"])
def test_any_two_of_many_columns_cost_a_fraction_of_all(values):
    table = rt.Table(uncorrelated(), quasi=list(NAMES), sensitive="s")
    method = rt.Mondrian(values=values, split="loss")
    some, everything = (
        rt.publish(table, each, method=method) for each in (AnyColumns(2, KAnonymity(5)), KAnonymity(5))
    )
    assert oracle.smallest(shown_rows(some), 2) >= 5
    assert some.utility["loss"] < (0.5 if values != "hierarchy" else 1.01) * everything.utility["loss"]


@examples(60, few=12)
@given(data=st.data())
def test_what_is_published_passes_by_brute_force(data):
    rows = data.draw(st.integers(6, 30))
    width = data.draw(st.integers(1, 4))
    values = [st.one_of(st.none(), st.integers(0, 5)), st.sampled_from("xyz"), st.integers(0, 1), st.integers(0, 9)]
    frame = pl.DataFrame(
        {
            name: data.draw(st.lists(each, min_size=rows, max_size=rows))
            for name, each in zip(NAMES[:width], values, strict=False)
        },
        strict=False,
    ).with_columns(s=pl.Series(data.draw(st.lists(st.sampled_from("pqr"), min_size=rows, max_size=rows))))
    table = rt.Table(frame, quasi=list(NAMES[:width]), sensitive="s", nulls="category")
    known, k = data.draw(st.integers(1, 3)), data.draw(st.integers(2, 3))
    relations = [((NAMES[0],), NAMES[width - 1])] if width > 1 and data.draw(st.booleans()) else []
    diverse = data.draw(st.booleans()) and frame["s"].n_unique() > 1
    inner = KAnonymity(k) & DistinctLDiversity(2) if diverse else KAnonymity(k)
    definition = AnyColumns(known, inner, relations=relations)
    if data.draw(st.booleans()):
        definition = definition & KAnonymity(2)
    method = rt.Mondrian(values=data.draw(st.sampled_from(["sets", "ranges", "hierarchy"])))
    release = rt.publish(table, definition, method=method)
    shown, secret = shown_rows(release), release.frame["s"].to_list()
    numbered = [(tuple(NAMES.index(each) for each in sources), NAMES.index(target)) for sources, target in relations]

    def passes(cell):
        return len(cell) >= k and (not diverse or len({secret[row] for row in cell}) >= 2)

    assert oracle.failing(shown, known, passes, numbered) == set()
    if len(definition.parts()) > 1:
        assert oracle.smallest(shown, width) >= 2
    everything = rt.publish(table, definition.in_each_group(), method=method)
    assert release.utility["loss"] <= everything.utility["loss"] + 1e-12


def test_cuts_are_partial():
    """Two of seventeen people are too few for their pair of values: they, and enough others, show a range in one column, and everybody else a value."""
    rows = [(0, 0)] * 5 + [(0, 1)] * 2 + [(1, 0)] * 5 + [(1, 1)] * 5
    table = rt.Table(pl.DataFrame(rows, schema=["a", "b"], orient="row"), quasi=["a", "b"])
    release = rt.publish(table, AnyColumns(2, KAnonymity(5)), method=rt.Mondrian(values="ranges"))
    shown = shown_rows(release)
    assert oracle.smallest(shown, 2) >= 5
    assert {"0", "1", "[0, 1]"} <= {label for row in shown for label in row}
    assert sum(label == "[0, 1]" for row in shown for label in row) == 7


def test_several_sets_are_judged_each():
    table = rt.Table(uncorrelated(rows=200), quasi=list(NAMES), quasi_sets=[["a", "b", "c"], ["c", "d"]])
    release = rt.publish(table, AnyColumns(2, KAnonymity(4)), method=rt.Mondrian(values="ranges"))
    for columns in ("abc", "cd"):
        chosen = [tuple(row[NAMES.index(name)] for name in columns) for row in shown_rows(release)]
        assert oracle.smallest(chosen, 2) >= 4


def test_another_k_may_be_asked_for_named_columns():
    table = rt.Table(uncorrelated(rows=200), quasi=list(NAMES))
    definition = AnyColumns(2, KAnonymity(4)) & KAnonymity(3, quasi=["a", "b", "c"])
    shown = shown_rows(rt.publish(table, definition, method=rt.Mondrian(values="ranges")))
    assert oracle.smallest(shown, 2) >= 4
    assert oracle.smallest([row[:3] for row in shown], 3) >= 3


def test_columns_are_not_cut_apart_where_that_is_not_asked_for():
    table = rt.Table(uncorrelated(rows=20), quasi=list(NAMES))
    units = count_table(table)
    assert ColumnCuts.of(table, units, KAnonymity(2), "ranges") is None
    assert ColumnCuts.of(table, units, AnyColumns(2, KAnonymity(2)), "typical") is None
    assert ColumnCuts.of(table, units, AnyColumns(2, KAnonymity(2)), "ranges") is not None


@examples(60)
@given(data=st.data(), known=st.integers(1, 4))
def test_the_largest_sets_hold_all_others(data, known):
    relations = data.draw(
        st.lists(st.tuples(st.sampled_from([("a",), ("b",), ("a", "b"), ("c",)]), st.sampled_from(NAMES)), max_size=3)
    )
    found = [frozenset(each) for each in largest_sets(NAMES, known, relations)]
    assert len(found) == count_largest_sets(NAMES, known, relations)
    numbered = [(tuple(NAMES.index(each) for each in sources), NAMES.index(target)) for sources, target in relations]
    for chosen in oracle.sets_of_columns(len(NAMES), known, numbered):
        assert any({NAMES[each] for each in chosen} <= each for each in found)
    assert all(closure(each, relations) == each for each in found)
