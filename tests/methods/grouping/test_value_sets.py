"""The distinct sets of values of groups, found by words of bits or by texts of bytes, are those of a dictionary of Python sets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.methods.grouping.column_cells import _WORD_BITS, _value_sets


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 10**6)), max_size=60), st.sampled_from([1, 7, 62, 63, 300]))
def test_sets_are_numbered_in_the_order_of_their_first_groups(units: list[tuple[int, int]], size: int) -> None:
    group = np.array([own for own, _ in units], dtype=np.int64)
    values = np.array([value % size for _, value in units], dtype=np.int64)
    members, offsets, of_group = _value_sets(values, size, group, 10)
    held = [tuple(sorted(set(values[group == own].tolist()))) for own in range(10)]
    numbers: dict[tuple[int, ...], int] = {}
    assert of_group.tolist() == [numbers.setdefault(each, len(numbers)) for each in held]
    assert members.tolist() == [value for each in numbers for value in each]
    assert np.diff(offsets).tolist() == [len(each) for each in numbers]


@pytest.mark.parametrize("size", [_WORD_BITS, _WORD_BITS + 1])
def test_the_highest_value_of_a_word_is_a_member(size: int) -> None:
    members, _, _ = _value_sets(np.array([size - 1, 0, size - 1]), size, np.array([0, 0, 1]), 2)
    assert members.tolist() == [0, size - 1, size - 1]
