"""What the publisher sorts and looks up by: keys of people, signatures, a curve through points, random orders."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.base.randomness import Randomness
from reticent.methods.series.group_formation import Shuffler
from reticent.methods.series.hilbert import curve_order
from reticent.methods.series.person_keys import places_among
from reticent.methods.series.signatures import SignatureBook
from tests.sampling import examples

KEYS = st.one_of(
    st.tuples(st.just(pl.Int64), st.lists(st.integers(-3, 12), unique=True), st.lists(st.integers(-5, 15))),
    st.tuples(
        st.just(pl.Int64),
        st.lists(st.integers(-(2**63), 2**63 - 1), unique=True),
        st.lists(st.sampled_from([-(2**63), 0, 7, 2**63 - 1])),
    ),
    st.tuples(st.just(pl.UInt64), st.lists(st.integers(0, 2**64 - 1), unique=True), st.lists(st.integers(0, 3))),
    st.tuples(st.just(pl.String), st.lists(st.text(max_size=2), unique=True), st.lists(st.text(max_size=1))),
)


@examples(60)
@given(KEYS)
def test_keys_are_found_where_they_stand(drawn):
    dtype, known, asked = drawn
    asked = [*asked, *known]
    found = places_among(pl.Series(asked, dtype=dtype), pl.Series(known, dtype=dtype))
    places = {key: place for place, key in enumerate(known)}
    assert found.tolist() == [places.get(key, -1) for key in asked]


@examples(40)
@given(st.lists(st.lists(st.frozensets(st.integers(0, 6), min_size=1, max_size=4), max_size=6), max_size=4))
def test_signatures_keep_their_number_when_others_join(parts):
    book, known = SignatureBook(np.empty((0, 1), dtype=np.int64)), {}
    for part in parts:
        width = max(map(len, part), default=1)
        rows = np.array([sorted(each) + [-1] * (width - len(each)) for each in part], dtype=np.int64).reshape(-1, width)
        book, number = book.with_more(rows)
        for each, place in zip(part, number.tolist(), strict=True):
            assert known.setdefault(each, place) == place
    assert {frozenset(row[row >= 0].tolist()): place for place, row in enumerate(book.rows)} == known


@pytest.mark.parametrize(("columns", "side"), [(1, 8), (2, 8), (3, 4), (5, 2)])
def test_the_curve_goes_from_cell_to_neighbour(columns, side):
    cells = np.stack(np.meshgrid(*[np.arange(side)] * columns, indexing="ij"), axis=-1).reshape(-1, columns)
    order = curve_order((cells + 0.5) / side, np.random.default_rng(1).permutation(len(cells)))
    assert sorted(order.tolist()) == list(range(len(cells)))
    steps = np.abs(np.diff(cells[order], axis=0))
    assert (steps.sum(axis=1) == 1).all()


def test_points_of_one_cell_stand_in_the_order_given():
    ties = np.array([2, 0, 3, 1])
    assert curve_order(np.full((4, 2), 0.3), ties).tolist() == ties.tolist()
    assert curve_order(np.empty((4, 0)), ties).tolist() == ties.tolist()


def test_every_random_order_is_equally_likely():
    shuffler, draws = Shuffler(Randomness(5)), 6000
    found = Counter(tuple(shuffler.order(3).tolist()) for _ in range(draws))
    expected = draws / 6
    assert len(found) == 6
    assert all(abs(count - expected) < 5 * np.sqrt(expected) for count in found.values())
