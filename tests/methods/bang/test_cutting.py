"""Cuts: classes for any k, one inside the other, and regions that say the same as the blocks behind them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reticent as rt
from reticent.errors import Infeasible, PolicyError
from reticent.methods.bang.cut import BangCut
from reticent.methods.bang.dendrogram import ORDERS, Dendrogram
from tests.methods.bang.grids import directory_of, tables, texts_of
from tests.oracles import bang as oracle


@given(table=tables, how=st.sampled_from(ORDERS), first=st.integers(1, 12), more=st.integers(0, 12))
@settings(max_examples=80)
def test_classes_are_large_enough_and_larger_ones_are_made_of_smaller_ones(table, how, first, more):
    bits, rows, minimum = table
    made, _ = directory_of(rows, bits, minimum)
    tree = Dendrogram.of(made, how)
    assert sorted(tree.pairs.ravel().tolist()) == list(range(2 * len(made) - 2))
    assert sorted(tree.order.tolist()) == list(range(len(made)))
    small, large = tree.classes(tree.at(first)), tree.classes(tree.at(first + more))
    # The cut by counts is the one from everything downwards.
    downwards = tree.standing(lambda clusters: tree.rows[clusters] >= first)
    assert sorted(downwards.tolist()) == sorted(tree.at(first).tolist())
    for group, k in ((small, first), (large, first + more)):
        sizes = np.bincount(group, weights=made.rows)
        assert sizes.sum() == len(rows)
        assert len(sizes) == 1 or sizes.min() >= k
    # All blocks of a smaller class are in one larger class.
    assert len(set(zip(small.tolist(), large.tolist(), strict=True))) == len(set(small.tolist()))


@given(table=tables, how=st.sampled_from(ORDERS), k=st.integers(1, 12))
@settings(max_examples=120)
def test_published_regions_give_every_cell_to_the_class_of_its_block(table, how, k):
    bits, rows, minimum = table
    made, texts = directory_of(rows, bits, minimum)
    tree = Dendrogram.of(made, how)
    index: Any = SimpleNamespace(directory=made, dendrogram=tree)
    cut = BangCut.of(index, tree.at(k), k)
    for mine in range(cut.count):
        held = cut.group == mine
        assert tree.lows[:, cut.clusters[mine]].tolist() == made.lows[:, held].min(axis=1).tolist()
        assert tree.highs[:, cut.clusters[mine]].tolist() == made.highs[:, held].max(axis=1).tolist()
    shown = cut.published
    public = dict(zip(texts_of(shown.lows, shown.level, bits), shown.group.tolist(), strict=True))
    block = dict(zip(texts, cut.group.tolist(), strict=True))
    for cell in oracle.cells(bits):
        text = oracle.text_of(cell, bits)
        assert public[str(oracle.innermost(public, text))] == block[str(oracle.innermost(block, text))]
    for each, mine in public.items():
        around = oracle.innermost([other for other in public if other != each], each)
        assert around is None or public[around] != mine
        assert not each or public.get(each[:-1] + "10"[int(each[-1])]) != mine


def uniform(n: int = 6000, clusters: bool = False) -> rt.Table:
    import polars as pl

    draw = np.random.default_rng(1)
    points = draw.random((n, 2))
    if clusters:
        centres = draw.random((20, 2))
        points = np.clip(centres[draw.integers(0, 20, n)] + draw.normal(0, 0.03, (n, 2)), 0, 0.9999)
    return rt.Table(pl.DataFrame({"x": points[:, 0], "y": points[:, 1]}), quasi=["x", "y"])


def test_chains_of_density_collapse_and_balanced_merging_does_not():
    """With the literal order every k of twice the smallest number gives one class on even data; the order by size does not."""
    table = uniform()
    assert len(rt.Bang(order="gridclus").build(table).draft(k=20).groups) <= 2
    balanced = rt.Bang().build(table).draft(k=20).groups.sizes
    assert len(balanced) > 150
    assert balanced.min() >= 20


def test_another_k_needs_no_scan(monkeypatch):
    index = rt.Bang(minimum=5).build(uniform(800, clusters=True))
    monkeypatch.setattr("reticent.engine.local.LocalEngine.count", None)
    sizes = [index.draft(k).groups.sizes for k in (5, 7, 40, 100, 800)]
    assert [int(each.min()) >= k for each, k in zip(sizes, (5, 7, 40, 100, 800), strict=True)] == [True] * 5
    assert [int(each.sum()) for each in sizes] == [800] * 5
    assert len(sizes[-1]) == 1


def test_a_k_below_the_smallest_block_asks_for_another_index():
    index = rt.Bang(minimum=5).build(uniform(60))
    with pytest.raises(PolicyError, match=r"Bang\(minimum=3\)"):
        index.draft(3)
    with pytest.raises(Infeasible, match="60 people"):
        index.draft(61)


@pytest.mark.parametrize("name", ["age from", "age below", "level", "group"])
def test_columns_may_have_the_names_of_the_table_of_regions(tmp_path, name):
    rng = np.random.default_rng(1)
    frame = pl.DataFrame(
        {"age": rng.integers(0, 90, 60), name: rng.integers(0, 50, 60), "ill": rng.choice(["a", "b"], 60)}
    )
    release = rt.publish(rt.Table(frame, quasi=["age", name], sensitive="ill"), rt.KAnonymity(5), method=rt.Bang())
    assert rt.verify(release.save(tmp_path / "release")).holds
    low, high = release.count("age < 30").bounds
    assert low <= (frame["age"] < 30).sum() <= high


@pytest.mark.parametrize("value", [float("inf"), float("-inf")])
def test_infinite_values_are_refused_where_cells_have_equal_widths(tmp_path, value):
    rng = np.random.default_rng(1)
    ages = [value, *rng.integers(0, 90, 59).astype(float)]
    table = rt.Table(pl.DataFrame({"age": ages, "ill": ["a", "b"] * 30}), quasi=["age"], sensitive="ill")
    with pytest.raises(rt.PolicyError, match="'age' has an infinite value"):
        rt.publish(table, rt.KAnonymity(5), method=rt.Bang())
    release = rt.publish(table, rt.KAnonymity(5), method=rt.Bang(scales={"age": "quantile"}))
    assert rt.verify(release.save(tmp_path / "release")).holds
