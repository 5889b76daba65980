"""Curves and verdicts: goldens G3, G4, G7, brute force O3 and O4, errata 1-3 and 7, properties."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import strategies as st

from reticent.errors import DataError, PolicyError
from reticent.worst_case import (
    Buckets,
    breaking_point,
    certainty_point,
    curve,
    holds,
    negation_curve,
    negations_unsafe,
    safe,
    unsafe_alone,
)
from tests.knowledge.conftest import golden
from tests.oracles.knowledge_facts import worst_by_exchange
from tests.oracles.knowledge_recursion import disclosure, negation, ratio
from tests.oracles.knowledge_worlds import Worlds, histograms_of_size
from tests.worst_case.strategies import bucket_lists, given, histogram, varied_lists

FIGURE_3 = [(2, 2, 1), (2, 1, 1, 1)]
TEN = [(4, 2, 1, 1, 1, 1)]
CROSSING = [(8, 8, 1, 1, 1), (8, 5, 1, 1, 1, 1, 1)]


@pytest.mark.parametrize("case", golden("curves"), ids=lambda case: case["name"])
def test_golden_curves(case):
    wanted = [Fraction(value) for value in case["curve"]]
    assert curve(case["histograms"], len(wanted) - 1) == wanted
    if "negations" in case:
        assert negation_curve(case["histograms"], len(wanted) - 1) == [Fraction(value) for value in case["negations"]]


def test_the_contract_example_stays_at_one_beyond_certainty():
    assert curve(FIGURE_3, k=3) == [Fraction(2, 5), Fraction(2, 3), 1, 1]


def test_facts_that_cross_buckets_beat_every_single_bucket():
    assert curve(CROSSING, 2)[2] == Fraction(76, 91)
    assert max(curve([each], 2)[2] for each in CROSSING) == Fraction(24, 29)
    assert curve([(5, 2, 1, 1), (20, 20, 1, 1)], 2)[2] == Fraction(105, 109)
    assert max(curve([each], 2)[2] for each in [(5, 2, 1, 1), (20, 20, 1, 1)]) == Fraction(20, 21)


def test_the_maximum_of_figure_3_is_two_thirds_and_not_the_printed_ten_nineteenths():
    worlds = Worlds(FIGURE_3)
    assert worlds.worst(worlds.simple(), 1) == Fraction(2, 3) == curve(FIGURE_3, 1)[1]


def test_the_printed_recursion_is_wrong_in_its_base_case_and_in_its_start():
    assert [ratio(FIGURE_3, k) for k in range(3)] == [Fraction(3, 2), Fraction(1, 2), 0]
    assert [ratio(FIGURE_3, k, start=True) for k in range(3)] == [1, Fraction(3, 5), Fraction(1, 5)]
    assert all(ratio(FIGURE_3, k, base=False) == float("inf") for k in range(3))


def test_negations_may_be_as_strong_as_implications():
    assert negation_curve(FIGURE_3, 1)[1] == curve(FIGURE_3, 1)[1] == Fraction(2, 3)


@pytest.mark.parametrize("people", range(1, 5))
def test_single_buckets_equal_brute_force_over_all_pairs_of_simple_implications(people):
    for counts in histograms_of_size(people):
        worlds = Worlds([counts])
        clauses = set(worlds.simple())
        for k in range(3):
            assert curve([counts], k)[k] == worlds.worst(clauses, k), (counts, k)
            assert negation_curve([counts], k)[k] == worlds.worst(worlds.negations(), k), (counts, k)


def test_two_buckets_equal_brute_force_over_all_simple_implications():
    chance = random.Random(20)
    for _ in range(25):
        histograms = [tuple(chance.choice([1, 1, 2]) for _ in range(chance.randint(1, 3))) for _ in range(2)]
        if sum(map(sum, histograms)) > 6:
            continue
        worlds = Worlds(histograms)
        clauses = set(worlds.simple())
        for k in range(3):
            assert curve(histograms, k)[k] == worlds.worst(clauses, k), (histograms, k)


def test_basic_implications_with_two_atoms_on_either_side_disclose_no_more():
    for histograms in ([(2, 1)], [(1, 1, 1)], [(2, 1, 1)], [(2, 2)], [(1, 1), (2, 1)]):
        worlds = Worlds(histograms)
        assert worlds.worst(worlds.basic(2), 1) == curve(histograms, 1)[1], histograms
    for counts, wanted in (((1, 1, 1, 1), "1/2"), ((2, 1, 1), "1")):
        assert curve([counts], 2)[2] == Fraction(wanted)
    assert curve([(2, 1, 1, 1)], 2)[2] == Fraction(4, 5)


@pytest.mark.slow
def test_larger_brute_force_over_simple_and_basic_implications():
    for counts in histograms_of_size(5):
        worlds = Worlds([counts])
        for k in range(3):
            assert curve([counts], k)[k] == worlds.worst(set(worlds.simple()), k), (counts, k)
    for histograms in ([(1, 1), (1, 1), (1, 1)], [(2,), (1, 1), (2, 1)], [(1, 1, 1), (1, 1), (1,)]):
        worlds = Worlds(histograms)
        for k in range(3):
            assert curve(histograms, k)[k] == worlds.worst(set(worlds.simple()), k), (histograms, k)
    worlds = Worlds([(2, 1, 1)])
    assert worlds.worst(set(worlds.basic(2)), 2) == 1


def test_large_buckets_equal_the_search_over_exchangeable_people():
    assert worst_by_exchange(TEN, 1) == curve(TEN, 1)[1] == Fraction(6, 11)
    assert worst_by_exchange([(5, 2, 1, 1), (20, 20, 1, 1)], 1) == curve([(5, 2, 1, 1), (20, 20, 1, 1)], 1)[1]


@pytest.mark.slow
def test_large_buckets_equal_the_search_over_exchangeable_people_for_two_facts():
    assert worst_by_exchange(TEN, 2) == Fraction(12, 17)
    assert worst_by_exchange(CROSSING, 2) == Fraction(76, 91)
    assert worst_by_exchange([(5, 2, 1, 1), (20, 20, 1, 1)], 2) == Fraction(105, 109)


@given(bucket_lists, st.integers(0, 6))
def test_equals_the_plain_recursion(histograms, k):
    assert curve(histograms, k) == [disclosure(histograms, j) for j in range(k + 1)]
    assert negation_curve(histograms, k) == [negation(histograms, j) for j in range(k + 1)]


@given(varied_lists, st.integers(1, 5), st.integers(2, 3), count=60)
def test_equals_the_plain_recursion_on_rich_and_repeated_buckets(histograms, repeats, k):
    assert curve(histograms * repeats, k)[k] == disclosure(histograms * min(repeats, k + 1), k)


@given(bucket_lists)
def test_more_facts_never_disclose_less_and_negations_never_disclose_more(histograms):
    known, weaker = curve(histograms, 7), negation_curve(histograms, 7)
    assert known == sorted(known)
    assert all(a >= b for a, b in zip(known, weaker, strict=True))


@given(bucket_lists, st.data())
def test_merging_buckets_never_discloses_more(histograms, data):
    if len(histograms) < 2:
        histograms = histograms * 2
    first, second = data.draw(st.permutations(range(len(histograms))))[:2]
    widest = max(len(histograms[first]), len(histograms[second]))
    renamed = data.draw(st.permutations(range(widest)))
    merged = [0] * widest
    for value, count in enumerate(histograms[first]):
        merged[value] += count
    for value, count in enumerate(histograms[second]):
        merged[renamed[value]] += count
    after = [each for place, each in enumerate(histograms) if place not in (first, second)] + [tuple(merged)]
    assert all(a >= b for a, b in zip(curve(histograms, 5), curve(after, 5), strict=True))
    assert all(a >= b for a, b in zip(negation_curve(histograms, 5), negation_curve(after, 5), strict=True))


@given(bucket_lists)
def test_certainty_comes_with_one_fact_less_than_the_poorest_bucket_has_values(histograms):
    certain = certainty_point(histograms)
    assert certain == min(map(len, histograms)) - 1
    known = curve(histograms, certain + 2)
    assert [value == 1 for value in known] == [k >= certain for k in range(certain + 3)]


@given(bucket_lists)
def test_without_facts_the_disclosure_is_the_largest_share(histograms):
    assert curve(histograms, 0) == [max(Fraction(max(counts), sum(counts)) for counts in histograms)]


@given(bucket_lists, st.randoms(use_true_random=False))
def test_order_of_buckets_and_names_of_values_do_not_matter(histograms, chance):
    shuffled = [tuple(chance.sample(counts, len(counts))) for counts in chance.sample(histograms, len(histograms))]
    assert curve(shuffled, 4) == curve(histograms, 4)
    named = [{f"value {place}": count for place, count in enumerate(counts)} for counts in shuffled]
    assert curve(named, 4) == curve(histograms, 4)


@given(bucket_lists, st.integers(0, 5), st.data())
def test_the_quick_verdict_agrees_with_the_curve_around_the_threshold(histograms, k, data):
    value = curve(histograms, k)[k]
    near = [value, value - Fraction(1, 10**17), value + Fraction(1, 10**17), data.draw(st.fractions(0, 1))]
    for threshold in (each for each in near if 0 <= each <= 1):
        assert holds(Buckets.of(histograms), threshold, k) == (value < threshold)


@given(bucket_lists, st.integers(0, 4), st.data())
def test_unsafe_alone_names_exactly_the_buckets_that_reach_the_threshold_by_themselves(histograms, k, data):
    alone = [curve([counts], k)[k] for counts in histograms]
    negated = [negation_curve([counts], k)[k] for counts in histograms]
    threshold = data.draw(st.one_of(st.fractions(0, 1), st.sampled_from(alone), st.sampled_from(negated)))
    assert unsafe_alone(Buckets.of(histograms), threshold, k).tolist() == [value >= threshold for value in alone]
    found = negations_unsafe(Buckets.of(histograms), threshold, k).tolist()
    assert found == [value >= threshold for value in negated]


def test_safety_is_strict_and_reads_decimals_exactly():
    assert not safe(FIGURE_3, "2/3", 1).holds
    assert safe(FIGURE_3, "0.67", 1).holds
    assert safe(FIGURE_3, 0.67, 1).margin == Fraction(67, 100) - Fraction(2, 3)
    assert not safe([(9, 6, 5)], "9/14", 1).holds


def test_a_float_pipeline_calls_an_unsafe_bucket_safe_and_we_do_not():
    """G7: 0.6428571428571428 from floats is below 9/14, the exact disclosure is 9/14."""
    assert 1 / (1 + (11 / 20) * (5 / 11) * (20 / 9)) < 9 / 14
    assert not holds(Buckets.of([(9, 6, 5)]), Fraction(9, 14), 1)


def test_extreme_thresholds():
    assert not holds(Buckets.of(FIGURE_3), Fraction(1, 10**400), 1)
    assert holds(Buckets.of(TEN), 1 - Fraction(1, 10**400), 4)
    assert unsafe_alone(Buckets.of(FIGURE_3), Fraction(1, 10**400), 1).all()
    assert not safe(FIGURE_3, 0, 0).holds
    assert safe(FIGURE_3, 1, 1).holds
    assert not safe(FIGURE_3, 1, 2).holds
    assert not safe([(3,)], 1, 0).holds


def test_breaking_and_certainty_points():
    found = safe(TEN, "0.8", 1)
    assert (found.breaking_point, found.certainty_point) == (3, 5)
    assert breaking_point(TEN, "6/11") == 1
    assert breaking_point(TEN, "0") == 0
    assert breaking_point(TEN, "1") == 5
    assert breaking_point([tuple([1] * 40)], "0.9", limit=3) is None
    assert breaking_point([tuple([1] * 40)], "0.5") == 38


def test_singletons_and_homogeneous_buckets_are_certain_without_facts():
    assert curve([(1,), (5, 5)], 3) == [1, 1, 1, 1]
    assert curve([(7,)], 0) == [1]


def test_values_that_a_bucket_does_not_have_never_help():
    assert curve([(2, 2, 1, 0, 0), (0, 2, 1, 1, 1)], 3) == curve(FIGURE_3, 3)


@pytest.mark.parametrize(
    ("histograms", "k", "message"),
    [
        ([(2, 1), ()], 1, "Bucket 1 is empty"),
        ([(0, 0)], 1, "Bucket 0 is empty"),
        ([], 1, "no bucket"),
        ([(2, -1)], 1, "must not be negative"),
        ([(2, 1), (1.5, 2)], 1, "Bucket 1: a count must be a whole number, but it is 1.5"),
        ([(True, 2)], 1, "whole number"),
        ([2, 1], 1, "must be a histogram"),
        (["ab"], 1, "must be a histogram"),
        ([(1 << 60, 1)], 1, "people or more"),
        ([(1 << 70, 1)], 1, "people or more"),
    ],
)
def test_bad_histograms_are_refused_with_their_place(histograms, k, message):
    with pytest.raises(DataError, match=message):
        curve(histograms, k)


@pytest.mark.parametrize("k", [-1, 1.5, "2", None, True])
def test_a_bad_number_of_facts_is_refused(k):
    with pytest.raises(PolicyError, match=r"k \(the number of facts"):
        curve(FIGURE_3, k)


@pytest.mark.parametrize("c", [-0.1, "1.01", "x", None, float("nan")])
def test_a_bad_threshold_is_refused(c):
    with pytest.raises(PolicyError, match="c "):
        safe(FIGURE_3, c, 1)


def test_arrays_of_counts_are_accepted():
    assert curve(np.array([[2, 2, 1, 0], [2, 1, 1, 1]]), 2) == curve(FIGURE_3, 2)


@pytest.mark.slow
def test_certainty_and_monotonicity_on_many_random_cases():
    chance = random.Random(7)
    for _ in range(20_000):
        values = chance.randint(1, 6)
        one, two = ([chance.choice([0, 1, 1, 2, 5]) for _ in range(values)] for _ in range(2))
        one[chance.randrange(values)] += 1
        two[chance.randrange(values)] += 1
        k = chance.randint(0, 4)
        merged = [a + b for a, b in zip(one, two, strict=True)]
        assert curve([one, two], k)[k] >= curve([merged], k)[k]


@given(histogram)
def test_a_single_fact_never_gains_from_crossing_buckets(counts):
    other = (3, 2, 2, 1)
    assert curve([counts, other], 1)[1] == max(curve([counts], 1)[1], curve([other], 1)[1])
