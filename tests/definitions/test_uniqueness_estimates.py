"""How far estimates of population uniqueness are off, on populations whose truth is known: the ranges that the documents state."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from reticent.core import Groups, Histograms, SensitiveDomain
from reticent.definitions import population_uniqueness

PEOPLE = 20_000
STATED = {
    ("pitman", 0.5): (1.0, 2.1),
    ("zayatz", 0.5): (0.8, 1.4),
    ("pitman", 0.2): (1.0, 3.1),
    ("zayatz", 0.2): (0.8, 2.4),
    ("pitman", 0.05): (0.7, 3.4),
    ("zayatz", 0.05): (0.5, 3.4),
}


def populations(rng: np.random.Generator) -> Iterator[NDArray[np.float64]]:
    """Chances of the combinations of quasi values: skewed in several ways, and even."""
    cells = 4 * PEOPLE
    for exponent in (0.7, 1.0, 1.3):
        yield 1 / np.arange(1, cells + 1) ** exponent
    for spread in (1, 2, 3):
        yield np.exp(rng.normal(0, spread, cells))
    product = np.ones(1)
    for values in (70, 2, 5, 16, 40):
        product = np.outer(product, rng.dirichlet(np.full(values, 0.7))).ravel()
    yield product
    yield np.concatenate([np.full(50, 1.0), np.full(PEOPLE, 20 / PEOPLE)])
    yield np.ones(3 * PEOPLE // 4)


def sample_of(chances: NDArray[np.float64], share: float, rng: np.random.Generator) -> tuple[int, Groups]:
    """How many are unique among everybody, and the groups of a simple random sample."""
    everybody = rng.multinomial(PEOPLE, chances / chances.sum())
    drawn = rng.choice(np.repeat(np.arange(len(everybody)), everybody), int(share * PEOPLE), replace=False)
    sizes = np.unique(drawn, return_counts=True)[1]
    groups = Groups(sizes, Histograms.of_one_value(sizes), np.array([sizes.sum()]), SensitiveDomain.none())
    return int((everybody == 1).sum()), groups


@pytest.mark.slow
@pytest.mark.parametrize(("model", "share"), STATED)
def test_estimates_are_as_far_off_as_is_said(model, share):
    rng = np.random.default_rng(3)
    low, high = STATED[model, share]
    for chances in populations(rng):
        truth, groups = sample_of(chances, share, rng)
        assert 0.8 * low <= population_uniqueness(groups, PEOPLE, model).uniques / truth <= 1.2 * high


def test_a_small_sample_can_miss_nearly_all_unique_people():
    rng = np.random.default_rng(3)
    two_kinds = np.concatenate([np.full(50, 1.0), np.full(PEOPLE, 20 / PEOPLE)])
    truth, groups = sample_of(two_kinds, 0.01, rng)
    assert population_uniqueness(groups, PEOPLE, "pitman").uniques < truth / 4
