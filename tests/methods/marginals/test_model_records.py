"""Records of a model: near their expectation in every marginal of a clique, without bias, and never where the model has none; the oracle is the whole joint table."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reticent.methods.marginals.graphical_model import GraphicalModel
from tests.methods.marginals.test_graphical_model import joint, models


def counted(records: dict[str, np.ndarray], sizes: dict[str, int]) -> np.ndarray:
    """How many records every combination of codes has."""
    shape = [sizes[name] for name in sizes]
    keys = np.ravel_multi_index([records[name] for name in sizes], shape)
    return np.bincount(keys, minlength=int(np.prod(shape))).reshape(shape)


@given(models(), st.integers(1, 60), st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_every_record_is_possible(model: GraphicalModel, count: int, seed: int) -> None:
    records = model.records(count, seed)
    found = counted(records, dict(model.sizes))
    assert found.sum() == count
    assert (found[joint(model) == 0] == 0).all()


@pytest.mark.parametrize(("count", "tries"), [(1, 3000), (7, 800), (40, 300)])
def test_the_mean_of_many_draws_is_the_model(count: int, tries: int) -> None:
    """The joint law of three columns, also of a and c, which are independent given b. One record has the law of the model; of several, feedback moves no mean count by more than a fifth of a record."""
    source = np.random.default_rng(2)
    sizes = {"a": 3, "b": 2, "c": 3}
    factors = {clique: source.normal(0, 1.2, [sizes[name] for name in clique]) for clique in (("a", "b"), ("b", "c"))}
    model = GraphicalModel(sizes, 1.0, factors)
    found = np.array([counted(model.records(count, seed), sizes) for seed in range(tries)])
    expected = count * joint(model)
    deviation = np.maximum(found.std(axis=0), np.sqrt(expected * (1 - joint(model))) if count == 1 else 0.1)
    allowed = 0.2 if count > 1 else 0.0
    assert (np.abs(found.mean(axis=0) - expected) < allowed + 5 * deviation / np.sqrt(tries)).all()


def test_counts_are_nearer_to_the_model_than_those_of_a_sample() -> None:
    """Every pair of a chain of four columns, those far apart in the chain too."""
    source = np.random.default_rng(3)
    sizes = dict.fromkeys("abcd", 5)
    factors = {clique: source.normal(0, 1, (5, 5)) for clique in (("a", "b"), ("b", "c"), ("c", "d"))}
    model, count = GraphicalModel(sizes, 1.0, factors), 4000
    law = joint(model)
    drawn = counted(model.records(count, 1), sizes)
    sampled = source.multinomial(count, law.ravel()).reshape(law.shape)

    def missed(found: np.ndarray, kept: tuple[int, ...]) -> float:
        summed = tuple(axis for axis in range(4) if axis not in kept)
        return float(np.abs(found.sum(axis=summed) - count * law.sum(axis=summed)).sum())

    for kept in combinations(range(4), 2):
        assert missed(drawn, kept) < 0.6 * missed(sampled, kept)
    assert all(missed(drawn, (place,)) <= 8 for place in range(4))


def test_a_column_of_many_values_is_drawn_in_blocks() -> None:
    size, count = 1300, 30_000
    source = np.random.default_rng(5)
    factor = source.normal(0, 1, (2, size))
    model = GraphicalModel({"a": 2, "b": size}, 1.0, {("a", "b"): factor})
    found = counted(model.records(count, 1), dict(model.sizes))
    expected = count * joint(model)
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() < 5 * np.sqrt(expected.max())
    assert np.abs(found[:, :512].sum() - expected[:, :512].sum()) < 8
