"""Keys sorted beside their places, numbered, looked up and added up: all as the plain way does it."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reticent.base import packing as keys_module
from reticent.base.packing import Distinct, pack, positions, remember, sort_digits, sort_equal, sum_equal
from reticent.methods.bang.cell_space import order_of_keys
from tests.sampling import examples

BITS = st.integers(0, 62)


@st.composite
def numbers(draw, bits: int, most: int = 40) -> np.ndarray:
    """Numbers below 2^bits, many of them alike or alike in their first bits."""
    known = draw(st.lists(st.integers(0, 2**bits - 1), min_size=1, max_size=6))
    near = st.sampled_from(known).flatmap(lambda one: st.integers(0, min(2**bits - 1, 7)).map(lambda low: one ^ low))
    return np.array(draw(st.lists(st.sampled_from(known) | near, max_size=most)), dtype=np.uint64)


def plain_order(*words: np.ndarray) -> list[int]:
    return sorted(range(len(words[0])), key=lambda place: tuple(int(word[place]) for word in words))


def runs(order: list[int], *words: np.ndarray) -> list[int]:
    ordered = [tuple(int(word[place]) for word in words) for place in order]
    return [place for place, each in enumerate(ordered) if place == 0 or each != ordered[place - 1]]


@examples(200)
@given(data=st.data(), bits=BITS)
def test_equal_keys_stand_together_in_the_order_of_keys(data, bits) -> None:
    keys = data.draw(numbers(bits)).astype(np.int64)
    order, starts = sort_equal(keys, 2**bits)
    assert order.dtype == starts.dtype == np.int64
    assert order.tolist() == plain_order(keys)
    assert starts.tolist() == runs(order.tolist(), keys)


@examples(200)
@given(data=st.data(), widths=st.lists(st.integers(0, 64), min_size=1, max_size=4))
def test_numbers_of_several_digits_are_sorted_by_all_of_them(data, widths) -> None:
    words = [data.draw(numbers(bits, 64)) for bits in widths]
    many = min(len(word) for word in words)
    words = [word[:many] for word in words]
    order, starts = sort_digits(list(zip(words, widths, strict=True)), many)
    assert order.tolist() == plain_order(*words)
    assert starts.tolist() == runs(order.tolist(), *words)
    assert order_of_keys(np.stack(words)).tolist() == order.tolist()


def test_keys_that_do_not_fit_beside_their_places_are_sorted_by_what_is_left() -> None:
    draw = np.random.default_rng(3)
    for high, low in ((2**40, 2**20), (3, 2**58), (2**58, 3), (1, 1)):
        keys = draw.integers(0, high, 5_000)[draw.integers(0, 5_000, 70_000)] * low + draw.integers(0, low, 70_000)
        order, starts = sort_equal(keys, high * low)
        assert np.array_equal(order, np.argsort(keys, kind="stable"))
        assert np.array_equal(keys[order][starts], np.unique(keys))


@examples(200)
@given(data=st.data(), bits=BITS, signed=st.booleans(), large=st.booleans())
def test_counts_of_equal_keys_are_added_up(data, bits, signed, large) -> None:
    keys = data.draw(numbers(bits)).astype(np.int64)
    each = st.integers(-3 if signed else 0, 2**40 if large else 3)
    counts = np.array(data.draw(st.lists(each, min_size=len(keys), max_size=len(keys))), dtype=np.int64)
    for given_ in (None, counts):
        plain: dict[int, int] = {}
        for key, count in zip(keys.tolist(), [1] * len(keys) if given_ is None else counts.tolist(), strict=True):
            plain[key] = plain.get(key, 0) + count
        found, totals = sum_equal(keys, given_, 2**bits)
        assert dict(zip(found.tolist(), totals.tolist(), strict=True)) == {k: v for k, v in plain.items() if v}
        assert (np.diff(found) > 0).all()
        assert totals.dtype == np.int64


@examples(100)
@given(data=st.data(), sizes=st.lists(st.sampled_from([1, 2, 5, 2**20]), min_size=1, max_size=4))
def test_rows_are_found_at_their_points_remembered_or_not(data, sizes) -> None:
    many = data.draw(st.integers(1, 30))
    rows = [
        np.array(data.draw(st.lists(st.integers(0, min(size, 3) - 1), min_size=many, max_size=many))) for size in sizes
    ]
    counted = Distinct(*pack(rows, sizes, many))
    points = [column[counted.firsts] for column in rows]
    looked_up = positions(points, rows, sizes)
    remember(points, rows, counted)
    assert positions(points, rows, sizes).tolist() == looked_up.tolist()
    other = [column[::-1].copy() for column in rows]
    assert positions(points, other, sizes).tolist() == looked_up[::-1].tolist()
    for column, known in zip(points, rows, strict=True):
        assert np.array_equal(column[looked_up], known)


def test_what_was_remembered_is_forgotten_with_its_rows() -> None:
    rows, points = [np.array([1, 0, 1])], [np.array([0, 1])]
    remember(points, rows, Distinct(rows[0], 2))
    address = id(points[0])
    assert address in keys_module._COUNTED
    rows.clear()
    assert address not in keys_module._COUNTED
