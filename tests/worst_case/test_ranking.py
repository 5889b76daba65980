"""Exact order among many fractions at once."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from reticent.worst_case.fraction_order import ascending, least_chances_exactly
from tests.oracles.knowledge_recursion import minimize1
from tests.worst_case.strategies import given

pairs = st.tuples(st.integers(1, 40), st.integers(1, 40))
wide_pairs = st.tuples(st.integers(2**60, 2**61), st.integers(2**60, 2**61))


@given(st.one_of(st.lists(pairs, min_size=1, max_size=30), st.lists(wide_pairs, min_size=1, max_size=8)))
def test_equal_fractions_stand_together_in_rising_order(fractions):
    parts, wholes = (np.array(side, dtype=np.int64) for side in zip(*fractions, strict=True))
    found = list(ascending(parts, wholes))
    values = [Fraction(*pair) for pair in fractions]
    assert [[values[place] for place in places] for places in found] == [
        [value] * values.count(value) for value in sorted(set(values))
    ]
    assert all(places == sorted(places) for places in found)


def test_fractions_that_agree_in_every_digit_of_a_float_are_told_apart():
    big = 2**55
    parts = np.array([big + 3, big + 1, big + 2], dtype=object)
    wholes = np.array([big * 3] * 3, dtype=object)
    assert len({float(part / whole) for part, whole in zip(parts, wholes, strict=True)}) < 3
    assert list(ascending(parts, wholes)) == [[1], [2], [0]]


@given(st.lists(st.lists(st.integers(1, 9), min_size=6, max_size=8), min_size=1, max_size=6), st.integers(1, 5))
def test_many_tables_at_once_are_the_tables_one_by_one(histograms, atoms):
    ordered = [sorted(counts, reverse=True) for counts in histograms]
    sizes = np.array([sum(counts) for counts in histograms])
    top = np.array([counts[:atoms] for counts in ordered]).T
    wanted = [minimize1(tuple(counts), atoms) for counts in histograms]
    for scale in (1, 10**6):
        numerators, denominators = least_chances_exactly(sizes * scale, top * scale)
        found = [Fraction(int(part), int(whole)) for part, whole in zip(numerators, denominators, strict=True)]
        scaled = wanted if scale == 1 else [minimize1(tuple(c * scale for c in counts), atoms) for counts in histograms]
        assert found == scaled
