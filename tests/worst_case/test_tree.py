"""Incremental audits: the tree equals the full run after any sequence of changes (O10), and so does the monitor."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import strategies as st

from reticent.errors import DataError, PolicyError
from reticent.knowledge import Monitor
from reticent.worst_case import DisclosureTree, curve, merge, merge_all
from tests.worst_case.strategies import bucket_lists, given, histogram


@given(bucket_lists, st.lists(st.tuples(st.booleans(), histogram), max_size=12), st.integers(0, 5), count=60)
def test_the_tree_equals_a_full_run_after_every_change(histograms, changes, k):
    present = list(histograms)
    tree = DisclosureTree(present, k)
    for removing, counts in changes:
        if removing and len(present) > 1:
            tree.remove(present.pop(len(present) // 2))
        else:
            present.append(counts)
            tree.add(counts)
        assert tree.curve() == curve(present, k)
        assert len(tree) == len(present)


@given(bucket_lists, st.lists(histogram, min_size=1, max_size=3), st.integers(0, 3), st.fractions("1/10", 1), count=60)
def test_asking_what_a_change_would_do_changes_nothing(histograms, added, k, c):
    tree = DisclosureTree(histograms, k)
    after = [*histograms[1:], *added]
    assert tree.holds_after([histograms[0]], added, c) == (curve(after, k)[k] < c)
    assert tree.holds(c) == (curve(histograms, k)[k] < c)
    assert tree.curve() == curve(histograms, k)


def test_the_verdict_is_exact_at_the_threshold():
    tree = DisclosureTree([(9, 6, 5), (9, 6, 5)], k=1)
    assert not tree.holds(Fraction(9, 14))
    assert tree.holds(Fraction(9, 14) + Fraction(1, 10**20))


def test_merging_is_associative_and_commutative():
    generator = np.random.default_rng(4)
    for _ in range(50):
        one, two, three = np.sort(generator.random((3, 2, 5)), axis=-1)[..., ::-1]
        assert np.array_equal(merge(one, two), merge(two, one))
        assert np.allclose(merge(merge(one, two), three), merge(one, merge(two, three)), rtol=1e-15)
        assert np.allclose(merge_all(np.stack([one, two, three])), merge(merge(one, two), three), rtol=1e-15)


def test_infinity_times_zero_is_skipped():
    absent = np.array([[1.0, 1.0], [np.inf, np.inf]])
    certain = np.array([[1.0, 0.0], [0.0, 0.0]])
    assert np.array_equal(merge(absent, certain), certain)


def test_a_tree_grows_from_nothing_and_reuses_what_was_removed():
    chance = random.Random(11)
    tree, present = DisclosureTree(k=3), []
    for step in range(200):
        counts = tuple(chance.randint(1, 9) for _ in range(6))
        present.append(counts)
        tree.add(counts)
        if step % 3 == 2:
            tree.remove(present.pop(0))
    assert tree.curve() == curve(present, 3)


def test_removing_what_is_not_there_is_refused():
    tree = DisclosureTree([(2, 2, 1)], k=1)
    with pytest.raises(DataError, match="no bucket with the histogram"):
        tree.remove((3, 1))
    tree.remove((1, 2, 2))
    with pytest.raises(DataError, match="no bucket to measure"):
        tree.curve()


def test_a_monitor_warns_before_the_threshold_is_reached():
    monitor = Monitor(
        {"men": {"flu": 2, "mumps": 2, "gout": 1}, "women": {"flu": 2, "a": 1, "b": 1, "c": 1}}, "0.67", 1
    )
    assert monitor.state().holds
    assert monitor.state().disclosure == Fraction(2, 3)
    assert monitor.state().margin == Fraction(67, 100) - Fraction(2, 3)
    assert not monitor.would_hold([("men", "flu")])
    assert monitor.would_hold([("men", "gout"), ("women", "d")])
    assert monitor.state().disclosure == Fraction(2, 3)
    after = monitor.apply([("men", "gout")])
    assert after.disclosure == curve([(2, 2, 2), (2, 1, 1, 1)], 1)[1]
    assert monitor.apply([], [("men", "gout")]).disclosure == Fraction(2, 3)
    assert monitor.apply([("new", "flu")]).disclosure == 1
    assert monitor.state().breaking_point == 0
    assert len(monitor) == 3
    assert monitor.apply([], [("new", "flu")]).holds
    assert len(monitor) == 2


def test_a_monitor_refuses_a_departure_of_nobody_and_bad_parameters():
    monitor = Monitor({"men": {"flu": 2, "mumps": 2}}, "0.9", 0)
    with pytest.raises(DataError, match="who could leave"):
        monitor.apply([], [("men", "gout")])
    with pytest.raises(PolicyError):
        Monitor({"men": {"flu": 2}}, "1.5", 0)
    assert monitor.would_hold([])


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("vwxyz")), min_size=1, max_size=25),
    st.integers(0, 2),
    count=30,
)
def test_a_monitor_fed_row_by_row_equals_the_audit_of_the_table(rows, k):
    monitor = Monitor({}, "0.9", k)
    for number, row in enumerate(rows):
        monitor.apply([row])
        seen = rows[: number + 1]
        histograms = [
            [sum(each == (bucket, value) for each in seen) for value in "vwxyz"]
            for bucket in sorted({bucket for bucket, _ in seen})
        ]
        assert list(monitor.state().curve) == curve(histograms, k)
