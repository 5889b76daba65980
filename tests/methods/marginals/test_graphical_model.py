"""The model behind marginals: sums over a junction tree, the fit and the draw; oracles are sums over the whole joint table, and the library mbi."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reticent.base.context import Context
from reticent.errors import Cancelled, PolicyError
from reticent.methods.marginals.graphical_model import GraphicalModel, ImpossibleCells, fitted
from reticent.methods.marginals.junction_tree import JunctionTree, model_cells
from reticent.methods.marginals.noisy_table import Measurement

NAMES = "abcde"


@st.composite
def models(draw: st.DrawFn) -> GraphicalModel:
    """Factors over random sets of up to five columns, perhaps in several parts, perhaps with impossible cells."""
    sizes = {name: draw(st.integers(1, 3)) for name in NAMES[: draw(st.integers(1, 5))]}
    sets = st.lists(st.sampled_from(list(sizes)), min_size=1, max_size=3, unique=True).map(tuple)
    cliques = draw(st.lists(sets, max_size=5, unique_by=frozenset))
    source = np.random.default_rng(draw(st.integers(0, 2**32)))
    factors = {clique: source.normal(0, 2, [sizes[name] for name in clique]) for clique in cliques}
    excluded = []
    if draw(st.booleans()):
        columns = draw(sets)
        cells = np.array([[source.integers(sizes[name]) for name in columns]])
        if np.prod([sizes[name] for name in columns]) > 1:
            excluded.append(ImpossibleCells(columns, cells))
    return GraphicalModel(sizes, 100.0, factors, tuple(excluded))


def joint(model: GraphicalModel) -> np.ndarray:
    """The whole table, without a tree."""
    names = list(model.sizes)
    logarithms = np.zeros([model.sizes[name] for name in names])
    for clique, factor in model.factors.items():
        ordered = factor.transpose([clique.index(name) for name in names if name in clique])
        logarithms = logarithms + ordered.reshape([model.sizes[name] if name in clique else 1 for name in names])
    weights = np.exp(logarithms)
    for each in model.excluded:
        for cell in each.cells:
            at = dict(zip(each.columns, cell, strict=True))
            weights[tuple(at.get(name, slice(None)) for name in names)] = 0.0
    return model.total * weights / weights.sum()


@given(models())
@settings(max_examples=60, deadline=None)
def test_marginals_are_sums_of_the_whole_joint_table(model: GraphicalModel) -> None:
    whole, names = joint(model), list(model.sizes)
    for degree in (1, 2, 3):
        for columns in combinations(reversed(names), min(degree, len(names))):
            kept = whole.sum(axis=tuple(axis for axis, name in enumerate(names) if name not in columns))
            ordered = [name for name in names if name in columns]
            expected = kept.transpose([ordered.index(name) for name in columns]).ravel()
            assert model.marginal(columns) == pytest.approx(expected, abs=1e-9)


@given(models())
@settings(max_examples=60, deadline=None)
def test_a_tree_has_every_clique_and_connects_the_cliques_of_a_column(model: GraphicalModel) -> None:
    tree = JunctionTree.over(model.sizes, model.factors)
    assert all(tree.home(clique) is not None for clique in model.factors)
    assert tree.cells == model_cells(model.sizes, model.factors)
    for name in model.sizes:
        having = [number for number, clique in enumerate(tree.cliques) if name in clique]
        tops = [number for number in having if tree.parents[number] not in having]
        assert len(tops) == 1


def test_a_fit_is_that_of_the_library() -> None:
    """The loss is convex, so that both descents end at the same marginals where they go on long enough."""
    mbi = pytest.importorskip("mbi")
    import jax

    jax.config.update("jax_enable_x64", True)
    sizes = {"a": 2, "b": 3, "c": 4}
    source = np.random.default_rng(4)
    measured = [
        Measurement(("a", "b"), source.integers(20, 50, 6), 2.0),
        Measurement(("b", "c"), source.integers(10, 30, 12), 1.0),
        Measurement(("b",), source.integers(40, 90, 3), 1.5),
    ]
    model = fitted(sizes, measured, rounds=5000)
    theirs = mbi.estimation.MirrorDescent().estimate(
        mbi.Domain.fromdict(sizes),
        [mbi.LinearMeasurement(each.counts.astype(float), each.columns, stddev=each.deviation) for each in measured],
        iters=3000,
    )
    assert model.total == pytest.approx(float(theirs.total), rel=1e-9)
    for columns in [("a", "b"), ("b", "c"), ("c",), ("a", "c")]:
        assert model.marginal(columns) == pytest.approx(np.asarray(theirs.project(columns).datavector()), rel=1e-3)


def test_several_measurements_of_one_marginal_count_by_their_precision() -> None:
    sizes = {"a": 2}
    twice = [Measurement(("a",), np.array([10, 30]), 1.0), Measurement(("a",), np.array([40, 60]), 2.0)]
    assert fitted(sizes, twice).marginal(("a",)) == pytest.approx([16, 36], rel=1e-3)


def test_impossible_cells_get_no_records() -> None:
    sizes = {"a": 2, "b": 3}
    measured = [Measurement(("a",), np.array([50, 50]), 1.0), Measurement(("b",), np.array([30, 30, 40]), 1.0)]
    excluded = [ImpossibleCells(("b", "a"), np.array([[0, 1], [2, 1]]))]
    model = fitted(sizes, measured, excluded=excluded)
    drawn = model.records(1000, 3)
    assert not ((drawn["a"] == 1) & (drawn["b"] != 1)).any()
    assert model.marginal(("a", "b")).reshape(2, 3)[1] == pytest.approx([0, model.marginal(("a",))[1], 0])


def test_a_model_that_does_not_fit_into_memory_is_refused_in_words() -> None:
    sizes = dict.fromkeys(NAMES, 200)
    every = [Measurement(pair, np.zeros(200 * 200, dtype=np.int64), 1.0) for pair in combinations(NAMES, 2)]
    with pytest.raises(PolicyError, match="fewer marginals that overlap"):
        fitted(sizes, every)


def test_a_fit_can_be_stopped() -> None:
    sizes = {"a": 2, "b": 3}
    measured = [Measurement(("a", "b"), np.array([9, 1, 5, 7, 8, 4]), 1.0)]
    with pytest.raises(Cancelled):
        fitted(sizes, measured, context=Context(stop=lambda: True))


def test_records_follow_the_model_also_where_nothing_was_measured() -> None:
    """The joint law, not only measured marginals: a sampler that ties columns together would pass a test of these alone."""
    sizes = {"a": 2, "b": 3, "c": 2}
    source = np.random.default_rng(4)
    counts = {
        clique: source.integers(100, 2000, int(np.prod([sizes[name] for name in clique])))
        for clique in (("a", "b"), ("b", "c"))
    }
    model = fitted(sizes, [Measurement(clique, each, 1.0) for clique, each in counts.items()], total=60_000.0)
    drawn = model.records(60_000, 9)
    for clique in [*combinations(sizes, 2), tuple(sizes)]:
        keys = np.zeros(60_000, dtype=np.int64)
        for name in clique:
            keys = keys * sizes[name] + drawn[name]
        seen = np.bincount(keys, minlength=int(np.prod([sizes[name] for name in clique])))
        assert np.abs(seen - model.marginal(clique)).max() < 5 * np.sqrt(60_000 / 4)
