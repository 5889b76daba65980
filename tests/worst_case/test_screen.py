"""The float screen: close to the exact values (O11), never ruling out an optimum, in numpy and compiled alike."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import strategies as st

from reticent.worst_case import Buckets, curve, negation_curve, screen, witness
from reticent.worst_case import histogram_buckets as buckets_module
from tests.oracles.knowledge_recursion import disclosure, minimize1, ratio
from tests.worst_case.strategies import bucket_lists, given


def random_counts(buckets: int, values: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).geometric(0.3, size=(buckets, values)).astype(np.int64)


@given(bucket_lists, st.integers(1, 6))
def test_float_tables_agree_with_the_exact_ones(histograms, atoms):
    buckets = Buckets.of(histograms)
    chances = screen.least_chances(buckets.sizes, buckets.top(atoms))
    for place, counts in enumerate(histograms):
        for h in range(atoms + 1):
            exactly = float(minimize1(counts, h))
            assert chances[h, place] == pytest.approx(exactly, rel=1e-14, abs=0)


def test_float_disclosures_differ_from_the_exact_ones_by_rounding_only():
    worst = 0.0
    for seed in range(40):
        counts = random_counts(5, 9, seed)
        about = 1 / (1 + screen.screen(Buckets.of(counts), 6).ratios)
        exactly = curve(counts, 6)
        worst = max(worst, *(abs(a - float(b)) for a, b in zip(about, exactly, strict=True)))
    assert worst < 1e-15


def test_the_compiled_tables_are_the_numpy_tables():
    from reticent.worst_case import _kernels

    counts = np.sort(random_counts(1003, 14, 1), axis=1)[:, ::-1]
    buckets = Buckets.of(counts)
    out = np.empty((len(buckets), 14))
    _kernels.least_chances(buckets.offsets, buckets.counts, buckets.sizes, 13, out)
    assert np.allclose(out.T, screen.least_chances(buckets.sizes, buckets.top(13)), rtol=1e-14, atol=0)


def test_the_compiled_sort_is_a_sort():
    from reticent.worst_case import _kernels

    generator = np.random.default_rng(3)
    lengths = generator.integers(1, 100, size=500)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    counts = generator.integers(1, 50, size=offsets[-1])
    ordered = counts.copy()
    _kernels.sort_falling(offsets, ordered)
    for low, high in pairwise(offsets):
        assert ordered[low:high].tolist() == sorted(counts[low:high].tolist(), reverse=True)


@pytest.mark.parametrize("repeats", [1, 7])
def test_the_compiled_path_gives_the_same_curve_and_witness(monkeypatch, repeats):
    counts = np.repeat(random_counts(700, 8, 5), repeats, axis=0)
    wanted = curve(counts, 5), negation_curve(counts, 5), witness(counts, 5)
    for module in (screen, buckets_module):
        monkeypatch.setattr(module, "COMPILED_FROM", 100)
    monkeypatch.setattr(screen, "_MANY", 20)
    assert (curve(counts, 5), negation_curve(counts, 5), witness(counts, 5)) == wanted


@given(st.integers(0, 10_000), count=30)
def test_many_buckets_equal_the_plain_recursion(seed):
    generator = np.random.default_rng(seed)
    counts = generator.integers(1, 4, size=(60, 5))
    histograms = [tuple(row) for row in counts.tolist()]
    distinct = sorted({tuple(sorted(row, reverse=True)) for row in histograms})
    wanted = [
        row for row in distinct for _ in range(min(4, sum(tuple(sorted(h, reverse=True)) == row for h in histograms)))
    ]
    assert curve(histograms, 3) == [disclosure(wanted, k) for k in range(4)]


def test_thousands_of_different_buckets_that_tie_are_settled_exactly():
    """Half of every bucket is one value, so all tie without facts; the tails differ."""
    tails = random_counts(3000, 6, 9)
    counts = np.concatenate([tails.sum(axis=1, keepdims=True), tails], axis=1)
    known = curve(counts, 2)
    assert known[0] == Fraction(1, 2)
    few = witness(counts, 2)
    assert few.replay(counts) == known[2] == few.disclosure
    assert witness(counts, 0).consequent.bucket == 0


def test_products_too_small_for_a_float_are_still_exact():
    counts = (10**9, *([1] * 60))
    assert curve([counts, (10**9, *([1] * 59), 2)], 45)[45] == 1 / (1 + Fraction(ratio([counts], 45)))


def test_a_sole_bucket_among_a_hundred_thousand_is_found():
    counts = np.full((100_000, 6), 3, dtype=np.int64)
    counts[77_777] = [3, 3, 3, 3, 3, 4]
    assert curve(counts, 1) == curve([(4, 3, 3, 3, 3, 3)], 1)
    assert witness(counts, 1).buckets == (77_777,)


@pytest.mark.slow
def test_a_hundred_thousand_distinct_buckets_take_seconds():
    import time

    counts = random_counts(100_000, 14, 2)
    begin = time.perf_counter()
    curve(counts, 12)
    assert time.perf_counter() - begin < 5
