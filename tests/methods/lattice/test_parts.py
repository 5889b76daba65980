"""The pieces that make the search fast, each against the plain way of doing the same."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import product

import numpy as np
import polars as pl
import pytest

from reticent.base.packing import Distinct, number
from reticent.definitions import EntropyLDiversity, KAnonymity
from reticent.engine import count_table
from reticent.methods.lattice import search
from reticent.methods.lattice.node_evaluation import Evaluator
from reticent.methods.lattice.node_space import NodeSpace
from reticent.methods.lattice.outliers import Outliers
from reticent.methods.lattice.packed_columns import Runs
from reticent.methods.lattice.points import Points
from reticent.table import Hierarchy, Table
from tests.methods.grouping.worlds import random_world
from tests.sampling import seeds


@pytest.mark.parametrize("points", [1, 90, 4000, 40_000])
def test_runs_add_up_what_columns_add_up(points):
    draw = np.random.default_rng(points)
    cards = [3, 1, 40, 7, 2, 150, 5000, 1, 9]
    columns = [draw.integers(0, card, points) for card in cards]
    tables = [draw.integers(-1000, 1000, card) for card in cards]
    plain = sum(table[column] for table, column in zip(tables, columns, strict=True))
    keys = np.zeros(points, dtype=np.int64)
    for column, card in zip(columns, cards, strict=True):
        keys = keys * card + column
    for runs in (Runs.of_columns(columns, cards), Runs.of_keys(keys, cards)):
        assert len(runs.codes) < len(cards)
        assert (runs.added(tables) == plain).all()
        assert (runs.added(tables, np.arange(0, points, 3)) == plain[::3]).all()


@pytest.mark.parametrize("shape", [(1,), (4,), (2, 5, 2, 3, 4, 3), (40, 3, 50), (7, 7, 7, 7)])
def test_sums_over_specializations_are_those_of_a_cumulative_sum(shape):
    draw = np.random.default_rng(len(shape))
    space = NodeSpace((0,) * len(shape), tuple(levels - 1 for levels in shape))
    table = draw.integers(0, 9, (*shape, 3))
    expected = table
    for axis in range(len(shape)):
        expected = expected.cumsum(axis=axis)
    found = space.accumulated(table.reshape(-1, 3).astype(np.float64))
    assert (found.T.reshape(table.shape) == expected).all()
    mask = draw.random(shape) < 0.3
    below, above = space.count_below(mask), space.count_above(mask)
    for place in draw.choice(space.size, 20):
        levels = space.node(int(place))
        assert space.at(levels) == np.unravel_index(place, shape)
        assert below[levels] == mask[space.below(levels)].sum()
        assert above[levels] == mask[space.above(levels)].sum()


def test_sums_by_level_are_those_of_every_node():
    space = NodeSpace((1, 0, 2), (3, 1, 2))
    tables = [np.array([9.0, 1, 2, 3]), np.array([10.0, 20]), np.array([7.0, 7, 100])]
    added = space.added(tables)
    assert added.shape == space.shape
    for levels in product(range(1, 4), range(2), [2]):
        assert added[space.at(levels)] == sum(table[level] for table, level in zip(tables, levels, strict=True))


@pytest.mark.parametrize("space", [50, 10**9])
def test_distinct_keys_are_numbered_counted_and_found(space):
    draw = np.random.default_rng(space)
    keys = draw.choice(draw.integers(0, space, 40), 3000)
    expected, ids, sizes = np.unique(keys, return_inverse=True, return_counts=True)
    found = Distinct(keys, space)
    assert (found.ids == ids).all()
    assert (found.sizes == sizes).all()
    assert (keys[found.firsts] == expected).all()
    numbers, count = number(keys, space)
    assert (numbers == ids).all()
    assert count == len(expected)


@pytest.mark.parametrize(
    "definition", [KAnonymity(3), EntropyLDiversity(2), KAnonymity(2) & EntropyLDiversity(2)], ids=str
)
def test_an_outlier_fails_exactly_where_its_group_fails(definition):
    rng = random.Random(7)
    for _ in range(12):
        _, _, table = random_world(rng)
        frequencies = count_table(table)
        evaluator = Evaluator(frequencies, definition, Fraction(0), "loss")
        outliers = Outliers(Points.of(frequencies), evaluator.space, definition)
        chosen = rng.sample(range(len(frequencies)), min(2, len(frequencies)))
        failing = outliers.failing(chosen)
        for levels in evaluator.space.nodes():
            ids, count = frequencies.group_ids(levels)
            mask = definition.failing(frequencies.merged(ids, count))
            assert failing[evaluator.space.at(levels)] == mask[ids[chosen]].any()


@pytest.mark.parametrize("seed", seeds(6))
def test_small_groups_rule_a_node_out_only_where_counting_does(seed, monkeypatch):
    monkeypatch.setattr("reticent.methods.lattice.node_evaluation._MANY_POINTS", 0)
    draw = np.random.default_rng(seed)
    # More combinations than are listed in a table, so that the groups of a node must be sorted.
    columns = {name: np.minimum(draw.geometric(0.1, 300), 40) for name in ("a", "b", "c")}
    ages = Hierarchy.intervals([4, 20], origin=1, domain=(1, 40))
    table = Table(pl.DataFrame(columns), quasi=dict.fromkeys(columns, ages))
    start, bounds = Points.of(count_table(table)), []
    for levels in product(range(4), repeat=3):
        exact = start.at(levels)
        bounds.append(start.in_small_groups(levels, 5))
        assert 0 <= bounds[-1] <= exact.sizes[exact.sizes < 5].sum()
    assert max(bounds) > 150
    for suppression in ("0.1", "0.3", "0.9"):
        quick = search(table, KAnonymity(5), suppression=suppression)
        slow = search(table, KAnonymity(5), suppression=suppression, strategy="exhaustive")
        assert quick.best == slow.best
        assert quick.proven


def eighths() -> Table:
    """Three columns of eight values, in pairs, then in fours, then all together."""
    rng = np.random.default_rng(5)
    steps = Hierarchy.listed([[str(v), f"pair {v // 2}", f"four {v // 4}", "*"] for v in range(8)])
    frame = pl.DataFrame({name: rng.integers(0, 8, 500).astype(str) for name in "abc"})
    frame = frame.with_columns(ill=pl.Series(rng.integers(0, 9, 500).astype(str)))
    return Table(frame, quasi=dict.fromkeys("abc", steps), sensitive="ill")


def test_the_groups_of_the_source_are_computed_again_after_they_were_forgotten():
    merged = Points.of(count_table(eighths())).at((1, 0, 2)).at((2, 1, 2))
    ids = merged.ids
    merged.forget_source_groups()
    assert "keys" not in vars(merged)
    assert (merged.ids == ids).all()


def test_a_search_keeps_an_entry_for_each_group_but_not_for_each_group_of_the_source():
    evaluator = Evaluator(count_table(eighths()), EntropyLDiversity(2), Fraction(1, 20), "loss")
    for levels in product(range(4), repeat=3):
        evaluator.evaluate(levels)
    assert len(evaluator._known) > 5
    assert sum("keys" in vars(each) for each in evaluator._known) <= 1
