"""The join of people and places finds the pairs that fit, however few pairs it may hold at a time, and looks at few others."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.core import candidate_join as module
from reticent.core.candidate_join import fitting
from reticent.core.covers import Cover
from tests.sampling import examples


def cover_of(fits: np.ndarray) -> Cover:
    values, labels = np.nonzero(fits)
    return Cover(values, labels, *fits.shape)


@examples(80)
@given(seed=st.integers(0, 10**6), columns=st.integers(1, 4), most=st.sampled_from([1, 5, 40, 10**6]))
def test_the_pairs_are_those_of_comparing_everybody_with_every_place(seed: int, columns: int, most: int) -> None:
    random = np.random.default_rng(seed)
    matrices = [random.random((random.integers(1, 5), random.integers(1, 5))) < 0.6 for _ in range(columns)]
    people = np.unique(np.stack([random.integers(0, each.shape[0], 30) for each in matrices], axis=1), axis=0)
    people = people[random.permutation(len(people))]
    places = np.stack([random.integers(0, each.shape[1], 12) for each in matrices], axis=1)
    expected = {
        (person, place)
        for person, values in enumerate(people)
        for place, labels in enumerate(places)
        if all(each[value, label] for each, value, label in zip(matrices, values, labels, strict=True))
    }
    found, seen = set(), []
    for part in fitting([cover_of(each) for each in matrices], list(people.T), list(places.T), most):
        seen += part.people.tolist()
        found |= set(zip(part.people[part.person].tolist(), part.place.tolist(), strict=True))
    assert found == expected
    assert sorted(seen) == list(range(len(people)))


@pytest.mark.parametrize("size", [16, 32, 64])
def test_few_more_pairs_are_looked_at_than_fit(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A grid of people, recoded into squares of four: size^4/4 pairs could be compared, and a small multiple of the people is."""
    looked = 0
    narrowed = module._Tree.narrowed

    def counting(self: module._Tree, reached: module._Reached, low: np.ndarray, high: np.ndarray) -> module._Reached:
        nonlocal looked
        looked += int((high - low).sum())
        return narrowed(self, reached, low, high)

    monkeypatch.setattr(module._Tree, "narrowed", counting)
    rows, columns = (each.reshape(-1) for each in np.mgrid[:size, :size])
    half = size // 2
    boxes, columns_of = (each.reshape(-1) for each in np.mgrid[:half, :half])
    pairs = cover_of(np.repeat(np.eye(half, dtype=bool), 2, axis=0))
    found = list(fitting([pairs, pairs], [rows, columns], [boxes, columns_of]))
    assert sum(len(part.person) for part in found) == size * size
    assert looked <= size * size * (half + half) // 2 + size * half * half
    assert looked < size**4 / 8
