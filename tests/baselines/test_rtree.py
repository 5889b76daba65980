"""RPlusTree: the tree beside its twin of lists, leaves with enough rows on both sides of every cut, runs of leaves by counted rows."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent as rt
from reticent.baselines.rtree._kernels import leaves_of
from reticent.baselines.rtree.method import joined_leaves
from reticent.errors import Infeasible, PolicyError
from tests.oracles.rtree import leaves
from tests.sampling import examples


@given(st.integers(0, 2**32), st.integers(1, 3), st.integers(1, 60), st.integers(1, 6), st.booleans())
@examples(60)
def test_the_tree_is_that_of_its_twin(seed, columns, many, minimum, heavy):
    draw = np.random.default_rng(seed)
    # Few values a column, so that ties and cuts that are not possible occur; quarters, so that squared distances are exact.
    points = np.unique(draw.integers(0, 9, (many, columns)) / 4, axis=0)
    rows = draw.integers(1, 9 if heavy else 2, len(points))
    order = draw.permutation(len(points))
    found = leaves_of(points, rows, order, minimum, 2 * minimum)
    expected = leaves([tuple(each) for each in points.tolist()], rows.tolist(), order.tolist(), minimum)
    assert [sorted(np.flatnonzero(found == leaf).tolist()) for leaf in range(found.max() + 1)] == [
        sorted(each) for each in expected
    ]
    sizes = np.bincount(found, weights=rows)
    if len(sizes) > 1:
        assert sizes.min() >= minimum


@given(st.lists(st.integers(1, 9), min_size=1, max_size=30), st.integers(1, 20))
@examples(60)
def test_leaves_are_joined_by_counted_rows(rows, k):
    run_of = joined_leaves(np.array(rows), k)
    assert (np.diff(run_of) >= 0).all()
    assert (np.diff(run_of) <= 1).all()
    held = np.bincount(run_of, weights=rows)
    assert held.min() >= min(k, sum(rows))
    # None could have been closed a leaf earlier, but for the last, which takes what is left.
    for run in range(int(run_of.max())):
        mine = [count for count, own in zip(rows, run_of.tolist(), strict=True) if own == run]
        assert sum(mine[:-1]) < k


def people(many: int, values: int = 30) -> rt.Table:
    draw = np.random.default_rng(many)
    frame = pl.DataFrame(
        {
            "age": draw.integers(0, values, many),
            "pay": draw.integers(0, values, many) * 100.0,
            "town": draw.choice(["Aix", "Apt", "Arles", "Nice"], many),
            "illness": draw.choice(["flu", "cold"], many),
        }
    )
    return rt.Table(frame, quasi=["age", "pay", "town"], sensitive="illness")


def test_boxes_are_the_least_around_their_rows_and_every_group_has_k():
    table = people(300)
    for k, minimum in ((3, None), (20, 4), (300, 5)):
        draft = rt.RPlusTree(minimum).draft(table, rt.KAnonymity(k))
        assert draft.evidence.published.sizes.min() >= k
        assert draft.evidence.published.sizes.sum() == 300
        shown = draft.tables["data" if "data" in draft.tables else next(iter(draft.tables))].frame()
        # The ends of every box are values of its rows.
        for label in shown["age"].unique().to_list():
            ends = [int(end) for end in label.strip("[]{}").split(", ")]
            assert {min(ends), max(ends)} <= set(table.frame["age"].to_list())


def test_a_tree_for_a_small_k_serves_larger_ones():
    """Coarser releases of one tree nest in those that are finer."""
    table = people(500)
    fine, coarse = (rt.RPlusTree(5).draft(table, rt.KAnonymity(k)) for k in (5, 25))
    assert len(fine.evidence.published) > 2 * len(coarse.evidence.published)
    placed = [
        draft.recoding.place(table.frame, "error")[0].select(list(table.quasi)).rows() for draft in (fine, coarse)
    ]
    assert len(set(zip(*placed, strict=True))) == len(fine.evidence.published)


def test_rows_in_any_order_give_the_same_release():
    table = people(200)
    mixed = rt.Table(table.frame.sample(fraction=1.0, shuffle=True, seed=1), quasi=list(table.quasi), sensitive="illness")  # fmt: skip
    one, other = (rt.publish(each, rt.KAnonymity(4), rt.RPlusTree()) for each in (table, mixed))
    assert one.frame.equals(other.frame)


def test_duplicates_and_missing_values_are_kept_together():
    frame = pl.DataFrame({"age": [30] * 9 + [None] * 3 + [70] * 2, "illness": ["flu", "cold"] * 7})
    table = rt.Table(frame, quasi=["age"], sensitive="illness", nulls="category")
    draft = rt.RPlusTree().draft(table, rt.KAnonymity(3))
    assert sorted(draft.evidence.published.sizes.tolist()) == [5, 9]
    assert rt.RPlusTree().draft(rt.Table(frame.head(9), quasi=["age"]), rt.KAnonymity(3)).evidence.published.sizes.tolist() == [9]  # fmt: skip


@pytest.mark.parametrize(
    ("definition", "method", "message"),
    [
        (rt.DistinctLDiversity(2), rt.RPlusTree(), "baseline for KAnonymity"),
        (rt.KAnonymity(5), rt.RPlusTree(6), "too coarse for k = 5"),
    ],
)
def test_what_a_baseline_does_not_keep_is_refused(definition, method, message):
    with pytest.raises(PolicyError, match=message):
        rt.publish(people(50), definition, method)


def test_too_few_rows_are_infeasible():
    with pytest.raises(Infeasible):
        rt.publish(people(4), rt.KAnonymity(5), rt.RPlusTree())


def test_the_default_comparison_does_not_know_the_baseline():
    from reticent.release import default_method

    found = default_method(people(50), rt.KAnonymity(3))
    assert "RPlusTree" not in {type(each).__name__ for each in getattr(found, "candidates", (found,))}
