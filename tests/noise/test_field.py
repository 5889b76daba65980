"""Arithmetic in the field, and decoding against the search over all sets of points."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.noise import field as gf
from tests.oracles import noise_sharing as oracle

elements = st.integers(0, gf.PRIME - 1)


def test_random_elements_are_uniform_in_every_part_of_the_field():
    drawn = gf.drawn(200_000)
    assert drawn.min() >= 0
    assert drawn.max() < gf.PRIME
    counts = np.bincount(drawn * 16 // gf.PRIME, minlength=16)
    # Fifteen degrees of freedom; five sigmas of a chi-square.
    assert ((counts - 12_500) ** 2 / 12_500).sum() < 15 + 5 * np.sqrt(30)


@given(st.lists(elements, min_size=1, max_size=5), st.integers(0, 10))
def test_evaluation_is_that_of_whole_numbers(coefficients, point):
    expected = sum(c * point**k for k, c in enumerate(coefficients)) % gf.PRIME
    assert int(gf.evaluate(np.array(coefficients)[:, None], point)[0]) == expected


@given(elements.filter(bool))
def test_roots_of_squares_are_found(element):
    root = int(gf.powers(np.array([element * element % gf.PRIME]), (gf.PRIME + 1) // 4)[0])
    assert root in (element, gf.PRIME - element)
    assert element * gf.inverse(element) % gf.PRIME == 1


@given(st.lists(elements, min_size=2, max_size=4), st.integers(1, 60))
def test_interpolation_finds_any_point(coefficients, at):
    points = range(1, len(coefficients) + 1)
    values = np.array([sum(c * x**k for k, c in enumerate(coefficients)) % gf.PRIME for x in points])
    expected = sum(c * at**k for k, c in enumerate(coefficients)) % gf.PRIME
    assert int(gf.combined(gf.lagrange(points, at), values[:, None])[0]) == expected


@pytest.mark.parametrize("raw", [b"", b"\0" * 7, b"\xff" * 8, gf.PRIME.to_bytes(4, "little") * 2])
def test_bytes_that_are_no_elements_are_refused(raw):
    assert gf.from_bytes(raw, 2) is None


@given(st.lists(elements, min_size=6, max_size=6))
def test_elements_survive_the_wire(values):
    array = np.array(values).reshape(2, 3)
    assert (gf.from_bytes(gf.to_bytes(array), 2, 3) == array).all()


@given(st.data(), st.integers(1, 3))
def test_opening_succeeds_with_up_to_t_wrong_or_missing_shares(data, faults):
    """Errors and erasures together count against t; every value agrees with the brute search over sets of points."""
    holders = 3 * faults + 1
    coefficients = np.array(data.draw(st.lists(elements, min_size=3 * (faults + 1), max_size=3 * (faults + 1))))
    polynomials = coefficients.reshape(faults + 1, 3)
    faulty = data.draw(st.sets(st.integers(1, holders), max_size=faults))
    missing = data.draw(st.sets(st.sampled_from(sorted(faulty)))) if faulty else set()
    points = [point for point in range(1, holders + 1) if point not in missing]
    values = np.stack([gf.evaluate(polynomials, point) for point in points])
    for place, point in enumerate(points):
        if point in faulty:
            values[place] = (values[place] + data.draw(st.lists(st.integers(0, 5), min_size=3, max_size=3))) % gf.PRIME
    found = gf.decode(points, values, faults, faults, 2 * faults + 1)
    assert found is not None
    assert (found.at_zero == polynomials[0]).all()
    assert set(found.wrong) <= faulty
    for column in range(3):
        brute = oracle.decoded(points, [int(v) for v in values[:, column]], faults, 2 * faults + 1, gf.PRIME)
        assert brute is not None
        assert brute[0] == polynomials[0, column]
        assert set(brute[1]) <= set(found.wrong)


@given(st.lists(elements, min_size=4, max_size=4))
def test_points_on_no_polynomial_are_not_decoded(values):
    found = gf.decode([1, 2, 3, 4], np.array(values)[:, None], 1, 1, 3)
    brute = oracle.decoded([1, 2, 3, 4], values, 1, 3, gf.PRIME)
    assert (found is None) == (brute is None)


def test_a_missing_share_read_as_zero_gives_wrong_answers_and_an_erasure_does_not():
    """One liar and one slow honest share. With zeros for missing shares a wrong value is accepted; erasures are never decoded to one."""
    wrong_by_default = wrong_here = 0
    for _ in range(200):
        polynomial = gf.drawn(2, 1)
        shares = np.stack([gf.evaluate(polynomial, point) for point in (1, 2, 3, 4)])
        # The liar aims at the line through the zero of the slow share and one honest share.
        aim = [int(shares[0, 0]), 0]
        lie = oracle.value_at([1, 2], aim, 3, gf.PRIME)
        literal = oracle.decoded([1, 2, 3, 4], [aim[0], 0, lie, int(shares[3, 0])], 1, 3, gf.PRIME)
        wrong_by_default += literal is not None and literal[0] != polynomial[0, 0]
        found = gf.decode([1, 3, 4], np.array([[aim[0]], [lie], [int(shares[3, 0])]]), 1, 1, 3)
        wrong_here += found is not None and found.at_zero[0] != polynomial[0, 0]
    assert wrong_by_default > 150
    assert wrong_here == 0
