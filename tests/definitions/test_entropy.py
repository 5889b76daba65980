"""Entropy diversity against whole-number powers, and don't-care values against an optimizer."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.core import Groups
from reticent.definitions import EntropyLDiversity
from reticent.definitions.logarithms import sign_of_logarithms
from tests.definitions.making import LETTERS, groups_of, matrices
from tests.oracles.definitions_entropy import at_least, effective_l, effective_l_with_dont_care
from tests.sampling import examples

NUMBERS = st.fractions(min_value=1, max_value=6, max_denominator=12)


@examples(300)
@given(matrices(), NUMBERS)
def test_verdicts_equal_whole_number_powers(matrix: list[list[int]], wanted: Fraction) -> None:
    expected = [not at_least(row, wanted) for row in matrix]
    assert EntropyLDiversity(wanted).failing(groups_of(matrix)).tolist() == expected


@examples(200)
@given(matrices(highest=60), st.integers(-3, 3))
def test_verdicts_stay_exact_within_a_hair_of_the_bound(matrix: list[list[int]], steps: int) -> None:
    wanted = max(Fraction(1), Fraction(effective_l(matrix[0])) + steps * Fraction(1, 10**16))
    expected = [not at_least(row, wanted) for row in matrix]
    assert EntropyLDiversity(wanted).failing(groups_of(matrix)).tolist() == expected


@pytest.mark.parametrize("scale", [1, 10**3, 10**9])
def test_uneven_counts_can_tie_too(scale: int) -> None:
    """One half and four eighths carry two bits: exp(H) is exactly 4."""
    groups = Groups.from_histograms([[4 * scale, scale, scale, scale, scale]])
    assert EntropyLDiversity(4).holds(groups)
    assert not EntropyLDiversity("4.00000000000000000000000000001").holds(groups)


def test_thousands_of_ties_are_decided_quickly_and_alike() -> None:
    ties = np.tile([4, 1, 1, 1, 1], (20_000, 1))
    assert not EntropyLDiversity(4).failing(groups_of(ties)).any()


@examples(40)
@given(st.lists(st.integers(1, 40), max_size=3), st.lists(st.integers(1, 60), min_size=1, max_size=3))
def test_dont_care_counts_are_lowered_as_well_as_an_optimizer_can(fixed: list[int], spared: list[int]) -> None:
    groups = groups_of([[*fixed, *spared]])
    dont_care = LETTERS[len(fixed) : len(fixed) + len(spared)]
    value = EntropyLDiversity(1, list(dont_care)).assess(groups).value
    expected = effective_l_with_dont_care(fixed, spared)
    if math.isinf(expected):
        assert math.isinf(value)
        assert EntropyLDiversity(1000, list(dont_care)).holds(groups)
        return
    assert value == pytest.approx(expected, rel=1e-5)
    assert value >= expected - 1e-9
    assert EntropyLDiversity(max(Fraction(1), Fraction(value) - Fraction(1, 10**9)), list(dont_care)).holds(groups)
    assert not EntropyLDiversity(Fraction(value) + Fraction(1, 10**9), list(dont_care)).holds(groups)


def test_a_dont_care_value_that_suffices_on_its_own_ties_exactly() -> None:
    """exp(H) = capped values + exp(H of the rest), so two spared values and one other are like three."""
    groups = Groups.from_histograms([{"x": 5, "fine": 9, "well": 7}])
    assert EntropyLDiversity(3, ["fine", "well"]).holds(groups)
    assert not EntropyLDiversity("3.000000000000000000001", ["fine", "well"]).holds(groups)


def test_a_spared_count_that_meets_the_cap_exactly_changes_nothing() -> None:
    groups = Groups.from_histograms([{"x": 5, "y": 5, "fine": 5}, {"x": 5, "y": 5, "fine": 6}])
    assert EntropyLDiversity(3, ["fine"]).failing(groups).tolist() == [False, False]
    assert EntropyLDiversity("3.00000000000000000001", ["fine"]).failing(groups).tolist() == [True, True]


def test_the_achieved_value_is_exp_of_the_entropy_of_the_least_diverse_group() -> None:
    groups = Groups.from_histograms([[2, 2, 1], [1, 2, 1], [9, 9, 9]])
    found = EntropyLDiversity(3).assess(groups)
    assert found.value == pytest.approx(2 * math.sqrt(2))
    assert found.diagnostics["effective_l"] == found.value
    assert found.witness is not None
    assert found.witness.group == 1
    assert found.diagnostics["failing_groups"] == 2
    assert found.diagnostics["failing_rows"] == 9


@examples(200)
@given(st.lists(st.tuples(st.integers(1, 40), st.integers(-12, 12)), max_size=6))
def test_the_sign_of_a_sum_of_logarithms_is_that_of_the_product(terms: list[tuple[int, int]]) -> None:
    product = math.prod(Fraction(base) ** exponent for base, exponent in terms)
    assert sign_of_logarithms(terms) == (product > 1) - (product < 1)


def test_a_tie_of_huge_powers_is_seen_without_computing_them() -> None:
    big = 10**12
    assert sign_of_logarithms([(12, big), (18, big), (6, -3 * big)]) == 0
    assert sign_of_logarithms([(12, big), (18, big), (6, -3 * big), (10**9 + 7, 1), (10**9 + 6, -1)]) == 1
