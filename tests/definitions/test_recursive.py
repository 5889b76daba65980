"""Recursive diversity against an adversary who tries every set of exclusions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.core import Groups
from reticent.definitions import NegativePositiveDiversity, RecursiveLDiversity
from reticent.definitions.diversity_figures import largest_l
from tests.definitions.making import LETTERS, groups_of, matrices, named
from tests.oracles.definitions_adversary import keeps_possible, surest, withstands
from tests.sampling import examples

CONSTANTS = st.fractions(min_value=Fraction(1, 8), max_value=6, max_denominator=8)
SPARED = st.sets(st.sampled_from(LETTERS[:5]))


@examples(300)
@given(matrices(), CONSTANTS, st.integers(1, 7), SPARED)
def test_it_holds_exactly_where_no_adversary_gets_too_sure(
    matrix: list[list[int]], c: Fraction, order: int, spared: set[str]
) -> None:
    definition = RecursiveLDiversity(c, order, spared)
    expected = [not withstands(named(row), c, order, spared) for row in matrix]
    assert definition.failing(groups_of(matrix)).tolist() == expected


@examples(150)
@given(matrices(), CONSTANTS, st.integers(1, 6), SPARED, SPARED, st.integers(1, 40))
def test_negative_positive_diversity_also_keeps_values_possible(
    matrix: list[list[int]], c1: Fraction, order: int, spared: set[str], kept: set[str], c2: int
) -> None:
    definition = NegativePositiveDiversity(c1, c2, order, spared, kept)
    expected = [
        not (withstands(named(row), c1, order, spared) and keeps_possible(named(row), Fraction(c2), kept))
        for row in matrix
    ]
    assert definition.failing(groups_of(matrix)).tolist() == expected
    assert definition.assess(groups_of(matrix)).holds is not any(expected)


@examples(150)
@given(matrices(), st.integers(2, 6), SPARED)
def test_the_diagnostics_are_what_the_adversary_finds(matrix: list[list[int]], order: int, spared: set[str]) -> None:
    groups = groups_of(matrix)
    found = RecursiveLDiversity(1, order, spared).assess(groups)
    for exclusions, posterior in enumerate(found.diagnostics["worst_posterior"]):
        assert posterior == max(surest(named(row), exclusions, spared) for row in matrix)
    infimum = found.diagnostics["infimum_c"][order]
    assert found.value == infimum
    if isinstance(infimum, Fraction):
        assert RecursiveLDiversity(infimum + Fraction(1, 10**9), order, spared).holds(groups)
        assert infimum == 0 or not RecursiveLDiversity(infimum, order, spared).holds(groups)
    else:
        assert not RecursiveLDiversity(10**12, order, spared).holds(groups)


@examples(150)
@given(matrices(), CONSTANTS, SPARED)
def test_largest_l_is_the_last_that_holds(matrix: list[list[int]], c: Fraction, spared: set[str]) -> None:
    groups = groups_of(matrix)
    largest = RecursiveLDiversity(c, 2, spared).assess(groups).diagnostics["largest_l"]
    if largest is None:
        assert RecursiveLDiversity(c, 50, spared).holds(groups)
        return
    assert RecursiveLDiversity(c, largest, spared).holds(groups)
    assert not RecursiveLDiversity(c, largest + 1, spared).holds(groups)


def test_largest_l_of_the_worked_example() -> None:
    groups = Groups.from_histograms([{"a": 5, "b": 4, "c": 3, "d": 2, "e": 1}])
    assert largest_l(groups, Fraction(5, 6)) == 2
    assert largest_l(groups, Fraction(9, 10)) == 3


def test_counts_beyond_64_bits_are_compared_in_full() -> None:
    big = 2**50
    groups = Groups.from_histograms([{"a": big + 1, "b": big}])
    c = Fraction(big + 1, big)
    assert not RecursiveLDiversity(c, 2).holds(groups)
    assert RecursiveLDiversity(c + Fraction(1, 10**40), 2).holds(groups)


def test_an_enormous_l_fails_quietly() -> None:
    groups = Groups.from_histograms([{"a": 1, "b": 1}])
    assert RecursiveLDiversity(3, 10**30).failing(groups).tolist() == [True]


@pytest.mark.parametrize(
    ("c", "order", "promise"),
    [
        (3, 3, "is less than 75 % sure of a confidential column, even after ruling out any one of its values."),
        (1, 2, "is less than 50 % sure of a confidential column."),
        (2, 4, "is less than 66.67 % (2/3) sure of a confidential column, even after ruling out any 2 of its values."),
    ],
)
def test_the_meaning_states_the_corrected_certainty(c: int, order: int, promise: str) -> None:
    assert promise in RecursiveLDiversity(c, order).meaning()


def test_the_witness_is_the_worst_group_with_its_histogram() -> None:
    groups = Groups.from_histograms([{"flu": 3, "hiv": 3}, {"flu": 9, "hiv": 1}, {"flu": 2, "hiv": 1}])
    found = RecursiveLDiversity(2, 2).assess(groups)
    assert found.witness is not None
    assert found.witness.group == 1
    assert found.witness.text == (
        "In column 'value', 2 of 3 groups have a value too likely for (c,l) = (2,2); c would have to exceed 9."
    )
    assert found.witness.details["histogram"] == {"flu": 9, "hiv": 1}


def test_a_scarce_must_keep_value_is_the_witness() -> None:
    groups = Groups.from_histograms([{"a": 5, "b": 5, "e": 1}, {"a": 5, "b": 5}])
    found = NegativePositiveDiversity(3, 5, 2, (), ["e"]).assess(groups)
    assert found.value == {"c1": 1, "c2": 0}
    assert found.witness is not None
    assert found.witness.group == 1
    assert "the scarcest must-keep value has 0 % of a group and needs 5 %" in found.witness.text


def test_refined_groups_point_back_at_the_group_they_were_cut_from() -> None:
    from tests.definitions.test_goldens import patients

    groups = patients("four_anonymous")
    failing = RecursiveLDiversity(3, 3).failing(groups)
    assert failing.tolist() == [True, False, True]
    assert np.array_equal(groups.parents(), np.arange(3))
