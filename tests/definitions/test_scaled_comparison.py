"""Exact comparisons of scaled whole numbers."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reticent.definitions.scaled_comparison import at_most, largest_below, largest_ratio, less
from tests.sampling import examples

COUNTS = st.integers(0, 2**62) | st.integers(0, 20)
NEAR_TIES = st.integers(2**60 - 3, 2**60 + 3)
PAIRS = st.lists(st.tuples(COUNTS, COUNTS) | st.tuples(NEAR_TIES, NEAR_TIES), min_size=1, max_size=6)
FACTORS = st.fractions(min_value=0, max_value=10**20) | st.fractions(min_value=0, max_value=3, max_denominator=5)


@examples(300)
@given(PAIRS, FACTORS)
def test_comparisons_are_those_of_fractions(pairs: list[tuple[int, int]], factor: Fraction) -> None:
    left, right = (np.array(side, dtype=np.int64) for side in zip(*pairs, strict=True))
    assert less(left, factor, right).tolist() == [one < factor * other for one, other in pairs]
    assert at_most(left, factor, right).tolist() == [one <= factor * other for one, other in pairs]
    assert largest_below(factor, right).tolist() == [math.ceil(factor * other) - 1 for _, other in pairs]


@examples(300)
@given(PAIRS)
def test_the_largest_ratio_is_found_exactly(pairs: list[tuple[int, int]]) -> None:
    numerators, denominators = (np.array(side, dtype=np.int64) for side in zip(*pairs, strict=True))
    place, ratio = largest_ratio(numerators, denominators)
    if any(over > 0 and under == 0 for over, under in pairs):
        assert math.isinf(ratio)
        assert pairs[place][1] == 0
        return
    expected = max(Fraction(over, under) if under else Fraction(0) for over, under in pairs)
    assert ratio == expected
    assert Fraction(pairs[place][0], max(pairs[place][1], 1)) == expected


def test_ratios_that_floats_cannot_tell_apart_are_told_apart() -> None:
    big = 2**60
    place, ratio = largest_ratio(np.array([big, big + 1, big - 1]), np.array([big, big, big]))
    assert (place, ratio) == (1, Fraction(big + 1, big))
