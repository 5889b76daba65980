"""The exact test of one output, against its definition; and which outputs may be rejected."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent as rt
from reticent.definitions import exceeds_exponential
from reticent.errors import PolicyError
from reticent.methods.synthesize.disclosure_set import worst_ratio
from reticent.methods.synthesize.mixture import DroppedOutput
from reticent.methods.synthesize.prior import PublicPrior
from reticent.methods.synthesize.rejection import is_good
from tests.oracles.synthesize_enumeration import dropped_law, good, largest_ratio, plain_law, representative, tables
from tests.sampling import examples

cells = st.lists(st.integers(0, 4), min_size=2, max_size=4)
noise = st.lists(st.fractions(Fraction(1, 20), 3, max_denominator=20), min_size=4, max_size=4)


def sparse(counts):
    """Counts by value; values of nobody are left out."""
    return {value: each for value, each in enumerate(counts) if each}


@given(cells.filter(any), cells, noise)
@examples(100)
def test_the_sparse_test_is_the_definition(counts, output, alpha):
    output = (output + [0] * 4)[: len(counts)]
    alpha = alpha[: len(counts)]
    expected = largest_ratio(tuple(counts), tuple(output), plain_law(tuple(alpha)))
    assert worst_ratio(sparse(counts), sparse(output), lambda value: alpha[value], len(counts)) == expected


kept = st.lists(st.sampled_from(["0.9", "1/2", "1", "0.3", "0.15"]), min_size=3, max_size=3)


@given(
    st.lists(st.integers(0, 3), min_size=3, max_size=3).filter(any), st.lists(st.integers(0, 3), min_size=3, max_size=3).filter(any),
    st.lists(st.integers(1, 4), min_size=3, max_size=3), kept, st.fractions(Fraction(1, 20), 2, max_denominator=20),
)  # fmt: skip
@examples(40)
def test_the_test_of_dropped_values_is_the_definition(counts, output, weights, keep, scale):
    """In fractions exactly, by integrals to many digits; the mixture is over every set of values that stays."""
    prior = PublicPrior.of(dict(enumerate(weights))).keeping(keep)
    law = dropped_law([scale * prior.weight(code) for code in range(3)], [Fraction(each) for each in keep])
    expected = largest_ratio(tuple(counts), tuple(output), law)
    tested = DroppedOutput(sparse(counts), sparse(output), scale, prior)
    assert tested.worst(tested.exact_mean) == expected
    assert tested.worst(tested.near_mean) == pytest.approx(float(expected), rel=1e-10)


@pytest.mark.parametrize(("weights", "keep"), [(1, 1), (3, 1), (1, 2), (3, 2)])
def test_integrals_over_many_values_are_the_sums(weights, keep):
    prior = PublicPrior.of({i: 1 + i % weights for i in range(12)}).keeping(
        [["1/10", "1/3"][i % keep] for i in range(12)]
    )
    tested = DroppedOutput({0: 3, 1: 1, 2: 1, 3: 1}, {0: 4, 5: 2}, Fraction(1, 7), prior)
    assert tested.worst(tested.near_mean) == pytest.approx(float(tested.worst(tested.exact_mean)), rel=1e-10)


def test_a_ratio_at_the_limit_is_decided_in_fractions_or_counts_as_more():
    """Two values with one person and nobody who shows it: the limit lies next to the exact ratio."""
    prior = PublicPrior(12).keeping("1/2")
    tested = DroppedOutput({0: 1, 1: 1}, {0: 2}, Fraction(1, 2), prior)
    exactly = tested.worst(tested.exact_mean)
    below, above = (Fraction(math.log(exactly)).limit_denominator(10**15) + Fraction(sign, 10**13) for sign in (-1, 1))
    assert tested.discloses(below)[0]
    assert not tested.discloses(above)[0]
    large = DroppedOutput({0: 1, 1: 1}, {0: 2}, Fraction(1, 2), PublicPrior(10**6).keeping("1/2"))
    near = Fraction(math.log(large.worst(large.near_mean)))
    assert large.discloses(near + Fraction(1, 10**11))[0]
    assert not large.discloses(near + Fraction(1, 10**6))[0]


def test_outputs_of_groups_whose_values_were_dropped_are_tested_by_name():
    towns = {"Aix": 1, "Apt": 2, "Gap": 1}
    given = ({"Aix": 3}, {"Gap": 3}, "0.01", 2, towns)
    assert rt.synthesize.disclosure(*given, keep="0.5")
    assert not rt.synthesize.disclosure(
        {"Aix": 3}, {"Aix": 3}, "0.5", 2, towns, keep={"Aix": 1, "Apt": "0.9", "Gap": "0.5"}
    )
    with pytest.raises(PolicyError, match="alpha must be one number"):
        rt.synthesize.disclosure(given[0], given[1], dict.fromkeys(towns, 1), 2, towns, keep="0.5")
    with pytest.raises(PolicyError, match="each of the 3 values"):
        rt.synthesize.disclosure(*given, keep={"Aix": 1})
    with pytest.raises(PolicyError, match="not in the declared domain"):
        rt.synthesize.disclosure(*given, keep={"Rome": 1})


@given(cells.filter(any), cells, st.fractions(Fraction(1, 20), 3, max_denominator=20), st.fractions(Fraction(1, 2), 6))
@examples(100)
def test_good_outputs_are_those_of_the_definition(counts, output, alpha, gamma):
    output = tuple((output + [0] * 4)[: len(counts)])
    expected = good(tuple(counts), output, [alpha] * len(counts), gamma)
    assert is_good(sparse(counts), sparse(output), lambda _: alpha, gamma) == expected


@given(cells.filter(any), cells, st.fractions(Fraction(1, 20), 3, max_denominator=20), st.fractions(Fraction(1, 2), 6))
def test_a_representative_output_never_discloses(counts, output, alpha, gamma):
    output = tuple((output + [0] * 4)[: len(counts)])
    if representative(tuple(counts), output, [alpha] * len(counts), gamma):
        assert worst_ratio(sparse(counts), sparse(output), lambda _: alpha, len(counts)) <= gamma + 1


def test_outputs_of_ten_people_are_representative_as_the_definition_says():
    counts, alpha, gamma = (3, 3, 2, 2), [Fraction(1)] * 4, Fraction(2)
    listed = list(tables(10, 4))
    assert len(listed) == 286
    assert sum(each[0] == 8 for each in listed) == 6
    assert sum(each[2] == 6 for each in listed) == 15
    law = plain_law(tuple(alpha))
    fails = sum(law(counts, each) for each in listed if not representative(counts, each, alpha, gamma))
    assert float(fails) == pytest.approx(0.249581, abs=1e-6)


def test_a_value_without_noise_gives_its_last_person_away():
    assert rt.synthesize.disclosure({"o1": 1, "o2": 1}, {"o2": 2}, {"o1": 1, "o2": 0}, 10, ["o1", "o2"])
    with pytest.raises(PolicyError, match="neither people nor noise"):
        rt.synthesize.disclosure({"o1": 2}, {"o2": 1, "o1": 1}, {"o1": 1, "o2": 0}, 10, ["o1", "o2"])


def test_a_ratio_is_compared_with_a_power_exactly():
    below, above = Fraction(2718281828459045235360287471352, 10**30), Fraction(2718281828459045235360287471353, 10**30)
    assert not exceeds_exponential(below, Fraction(1))
    assert exceeds_exponential(above, Fraction(1))
    longer = Fraction(271828182845904523536028747135266249775724709369995, 10**50)
    assert not exceeds_exponential(longer, Fraction(1))
    assert exceeds_exponential(longer + Fraction(1, 10**50), Fraction(1))
    assert not exceeds_exponential(Fraction(1), Fraction(0))


def test_wrong_arguments_are_named():
    with pytest.raises(PolicyError, match="the domain has 2"):
        rt.synthesize.disclosure({"a": 1, "b": 1, "c": 1}, {"a": 3}, 1, 1, 2)
    with pytest.raises(PolicyError, match="mapping from values"):
        rt.synthesize.disclosure([1, 2], {"a": 3}, 1, 1, 2)
    with pytest.raises(PolicyError, match="no entry for the value 'b'"):
        rt.synthesize.disclosure({"a": 1}, {"b": 1}, {"a": 1}, 1, ["a", "b"])
    assert rt.synthesize.disclosure({}, {"a": 1}, 1, 1, ["a", "b"]) is False
