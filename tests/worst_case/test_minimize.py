"""The best atoms inside one bucket: goldens G2, brute force O2, the printed recursion (erratum 4), shared tables."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import strategies as st

from reticent.worst_case.minimize1 import AtomTable, atom_table
from tests.knowledge.conftest import golden
from tests.oracles.knowledge_recursion import minimize1, minimize1_as_printed
from tests.oracles.knowledge_worlds import histograms_of_size, least_chance
from tests.worst_case.strategies import given, histogram


def table(counts: tuple[int, ...], atoms: int) -> AtomTable:
    ordered = tuple(sorted(counts, reverse=True))
    return AtomTable(sum(counts), ordered, len(counts), atoms)


@pytest.mark.parametrize("case", golden("tables"), ids=lambda case: str(case["counts"]))
def test_golden_tables_and_profiles(case):
    atoms = len(case["least"]) - 1
    found = table(tuple(case["counts"]), atoms)
    assert [found.least(h) for h in range(atoms + 1)] == [Fraction(value) for value in case["least"]]
    for h, profile in enumerate(case["profiles"]):
        if profile is not None:
            assert found.profile(h) == tuple(profile)


@pytest.mark.parametrize("people", range(1, 7))
def test_equals_brute_force_over_all_atom_multisets(people):
    for counts in histograms_of_size(people):
        deepest = 2 if people == 6 else 4 if people == 5 and len(counts) <= 4 else 3
        for atoms in range(deepest + 1):
            assert table(counts, 4).least(atoms) == least_chance(counts, atoms), (counts, atoms)


@given(histogram, st.integers(0, 9))
def test_equals_the_plain_recursion(counts, atoms):
    assert table(counts, 9).least(atoms) == minimize1(counts, atoms)


@given(histogram, st.integers(0, 9))
def test_the_profile_reaches_the_minimum(counts, atoms):
    profile = table(counts, 9).profile(atoms)
    ordered, n = sorted(counts, reverse=True), sum(counts)
    chance = Fraction(1)
    for person, given_atoms in enumerate(profile):
        chance *= Fraction(max(0, n - person - sum(ordered[:given_atoms])), n - person)
    assert sum(profile) == atoms
    assert list(profile) == sorted(profile, reverse=True)
    assert chance == minimize1(counts, atoms)


@given(histogram, st.integers(1, 7), count=40)
def test_no_profile_with_fewer_people_is_as_good(counts, atoms):
    found = table(counts, 7)
    ordered, n = sorted(counts, reverse=True), sum(counts)

    def profiles(left, most):
        if not left:
            yield ()
        for first in range(min(left, most), 0, -1):
            yield from ((first, *rest) for rest in profiles(left - first, first))

    for other in profiles(atoms, atoms):
        if len(other) < found.people(atoms):
            chance = Fraction(1)
            for person, given_atoms in enumerate(other):
                chance *= Fraction(max(0, n - person - sum(ordered[:given_atoms])), n - person)
            assert chance > found.least(atoms)


@given(histogram)
def test_is_non_increasing_and_zero_exactly_from_the_number_of_values_on(counts):
    values = [table(counts, 9).least(h) for h in range(10)]
    assert values[0] == 1
    assert values == sorted(values, reverse=True)
    assert [value == 0 for value in values] == [h >= len(counts) for h in range(10)]


def test_the_printed_form_without_a_guard_divides_by_zero_and_otherwise_agrees():
    crashed = agreed = 0
    for people in range(1, 6):
        for counts in histograms_of_size(people):
            for atoms in range(5):
                try:
                    printed = minimize1_as_printed(counts, atoms)
                except ZeroDivisionError:
                    crashed += 1
                    continue
                if printed >= 0:
                    agreed += 1
                    assert printed == table(counts, 4).least(atoms)
    assert crashed
    assert agreed


def test_buckets_with_equal_keys_share_a_table_and_the_size_is_part_of_the_key():
    assert atom_table(9, (4, 2, 1, 1, 1), 2) is atom_table(9, (4, 2, 2, 1), 2)
    assert atom_table(9, (4, 2, 1, 1, 1), 2) is not atom_table(8, (4, 2, 1, 1), 2)
    assert atom_table(9, (4, 2, 1, 1, 1), 2).least(2) != atom_table(8, (4, 2, 1, 1), 2).least(2)


def test_many_atoms_over_many_values_stay_exact():
    counts = (30, *range(25, 0, -1))
    found = table(counts, 20)
    assert [found.least(h) for h in (5, 13, 20)] == [minimize1(counts, h) for h in (5, 13, 20)]
    assert sum(found.profile(20)) == 20
