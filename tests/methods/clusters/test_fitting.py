"""Clusters of points and of tables: goldens, sizes, ties, parts, and bad input."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import cKDTree

import reticent as rt
from reticent.base.context import Context
from reticent.errors import Cancelled, DataError, Infeasible, PolicyError
from tests.oracles.clustering import best, diameter, distances_of
from tests.sampling import examples

MEDICAL = [(20, 100), (22, 100), (60, 203), (60, 200), (60, 197)]


def test_the_medical_table_in_two_clusters():
    found = rt.Gather(r=2).fit(MEDICAL)
    assert found.centres.tolist() == [[21, 100], [60, 200]]
    assert (found.radii.tolist(), found.radius, found.lower_bound, found.cost) == ([1, 3], 3, 3, 11)
    assert found.sizes.tolist() == [2, 3]
    records = rt.Gather(r=2, centres="records").fit(MEDICAL)
    assert (records.radii.tolist(), records.cost) == ([2, 3], 13)
    assert rt.Cellular(r=2).fit(MEDICAL).cost == 11
    assert rt.Cellular(r=2, centres="records").fit(MEDICAL).cost == 13


def test_one_cluster_around_the_record_in_the_middle():
    rows = ["1111", "0111", "1011", "1101", "1110"]
    table = rt.Table(
        pl.DataFrame({f"q{at}": [row[at] for row in rows] for at in range(4)}), quasi=["q0", "q1", "q2", "q3"]
    )
    found = rt.Gather(r=5, norm="L1", centres="records").fit(table)
    assert found.centres.rows() == [("1", "1", "1", "1")]
    assert (found.radius, found.cost) == (1, 5)
    # The true distortion: how far all rows are from what is shown of them.
    assert sum(sum(cell != "1" for cell in row) for row in rows) == 4
    assert "only one cluster" in found.notes[0]


@examples(200, few=20)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=4, max_size=8), st.integers(2, 3), st.randoms()
)
def test_labels_do_not_depend_on_the_order_of_rows(points, r, random):
    mixed = list(points)
    random.shuffle(mixed)
    for method in (rt.Gather(r=r), rt.Gather(r=r, epsilon="1/4"), rt.Cellular(r=r)):
        one, other = method.fit(points), method.fit(mixed)
        assert _contents(points, one.labels) == _contents(mixed, other.labels)


def _contents(points, labels):
    """The clusters as multisets of their points, and who is left out."""
    return sorted(sorted(points[i] for i in np.flatnonzero(labels == each)) for each in np.unique(labels))


@examples(200, few=25)
@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 6)), min_size=4, max_size=8), st.integers(2, 3))
def test_radius_and_bound_enclose_the_optimum(points, r):
    found = rt.Gather(r=r).fit(points)
    plain = distances_of(points)
    half = best(len(points), r, lambda m: diameter(plain, m), add=False) / 2
    assert found.sizes.min() >= r
    assert found.lower_bound <= half + 1e-9
    assert found.radius <= 2 * (2 * half) + 1e-9
    away = np.linalg.norm(np.array(points) - found.centres[found.labels], axis=1)
    assert away.max() == pytest.approx(found.radius)


def test_finer_clusters_never_widen_the_largest_radius():
    points = np.random.default_rng(3).normal(size=(300, 2))
    found = rt.Gather(r=5).fit(points)
    assert found.radius <= 2 * 2 * found.lower_bound
    assert found.sizes.max() < 60
    assert len(found.sizes) > 300 / 15


@pytest.mark.parametrize(
    ("method", "many"),
    [
        (rt.Gather(r=5), 4050),
        (rt.Gather(r=5, epsilon="0.02"), 4050),
        (rt.Cellular(r=5), 400),
        (rt.Gather(r=5, grouping="neighbours"), 4050),
    ],
)
def test_many_points_are_clustered_in_parts_that_keep_sizes_and_say_so(method, many):
    points = np.random.default_rng(5).normal(size=(many, 3))
    found = method.fit(points)
    assert found.parts > 1
    assert found.sizes.min() >= 5
    assert int((found.labels < 0).sum()) <= 0.02 * many
    assert "parts" in found.notes[0]
    if isinstance(method, rt.Gather) and not method.epsilon:
        fourth_others = cKDTree(points).query(points, k=5)[0][:, -1]
        assert found.lower_bound == pytest.approx(fourth_others.max() / 2)


def test_missing_numbers_are_as_far_from_others_as_these_from_each_other():
    found = rt.Gather(r=2).fit([[0.0], [1.0], [np.nan], [np.nan]])
    assert found.labels.tolist() == [0, 0, 1, 1]
    assert np.isnan(found.centres[1, 0])


@pytest.mark.parametrize(
    ("points", "why"),
    [
        ([[]], "no points"),
        (np.zeros((0, 2)), "no points"),
        ([1, 2, 3], "one row per point"),
        ([["a"], ["b"]], "numeric array"),
        ([[np.inf], [0]], "finite numbers"),
        ([[1e200], [0]], "finite numbers"),
    ],
)
def test_points_that_are_none_are_refused(points, why):
    with pytest.raises(DataError, match=why):
        rt.Gather(r=1).fit(points)


@pytest.mark.parametrize(
    "numbers", [[1e308, -1e308, 0, 1], [np.inf, 1, 2, 3], [-np.inf, np.inf, 2, 3], [5e-324, 0, 1e-320, 0]]
)
def test_numbers_too_far_apart_or_too_near_are_refused_by_column(numbers):
    table = rt.Table(pl.DataFrame({"x": numbers, "s": ["a", "b", "c", "d"]}), quasi=["x"], sensitive="s")
    for method in (rt.Gather(r=2), rt.Cellular(r=2)):
        with pytest.raises(DataError, match=r"column 'x' span .*categories=\['x'\]") as caught:
            rt.publish(table, rt.KAnonymity(2), method)
        assert caught.value.column == "x"
    assert len(rt.publish(table, rt.KAnonymity(2), rt.Gather(r=2, categories=["x"])).frame) == 4
    paid = rt.Table(pl.DataFrame({"age": [1, 2, 30, 31], "x": numbers}), quasi=["age"], sensitive="x")
    with pytest.raises(DataError, match="column 'x'"):
        rt.publish(paid, rt.KAnonymity(2), rt.Gather(r=2, numbers="mean", aggregate=["x"]))


def test_too_few_people_for_one_cluster_are_refused():
    with pytest.raises(Infeasible, match="2 people, fewer than the 5 of one cluster"):
        rt.Gather(r=5).fit([[0], [1]])


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: rt.Gather(r=0), "r must be at least 1"),
        (lambda: rt.Gather(r=2.5), "whole number"),
        (lambda: rt.Gather(epsilon=1), "epsilon must be below 1"),
        (lambda: rt.Gather(norm="L3"), "norm must be one of"),
        (lambda: rt.Gather(places=["lat", "lon"]), "a list of pairs"),
        (lambda: rt.Gather(weights={"age": -1}), "weights must be above 0"),
        (lambda: rt.Gather(k=0), "k must be at least 1"),
        (lambda: rt.Gather(grouping="neighbours", epsilon="0.1"), "cannot be combined with grouping"),
        (lambda: rt.Gather(aggregate=["pay"]), "aggregate needs numbers"),
        (lambda: rt.Cellular(algorithm="primal-dual"), "pass r=1"),
        (lambda: rt.Cellular(diameter=0), "above 0"),
        (lambda: rt.Cellular(setup=-1), "at least 0"),
    ],
)
def test_parameters_that_make_no_sense_are_refused_by_name(make, why):
    with pytest.raises(PolicyError, match=why):
        make()


def test_k_needs_all_distances():
    with pytest.raises(PolicyError, match=r"at most 4,000, but there are 5,000"):
        rt.Gather(r=5, k=3).fit(np.zeros((5000, 1)))


def test_the_primal_dual_algorithm_clusters_without_a_least_size():
    found = rt.Cellular(r=1, setup=3, algorithm="primal-dual", centres="records").fit([[0], [1], [2], [10], [11]])
    assert (found.cost, found.lower_bound, found.factor) == (11, 11, 4)


def test_a_largest_diameter_is_kept_or_refused():
    points = [[0], [1], [2], [10], [11], [12]]
    assert rt.Cellular(r=3, diameter=4).fit(points).radius <= 2
    with pytest.raises(Infeasible, match="largest"):
        rt.Cellular(r=3, diameter="0.5").fit(points)
    with pytest.raises(Infeasible, match="has the diameter 2, but at most 1 is allowed"):
        rt.Cellular(r=3, diameter=1).fit(points)
    table = rt.Table(pl.DataFrame({"x": [0, 1, 2, 10, 11, 12], "s": ["a"] * 3 + ["b"] * 3}), quasi=["x"], sensitive="s")
    limited = rt.Cellular(r=3, diameter=4, scales={"x": 1})
    assert rt.publish(table, rt.KAnonymity(3), limited).groups.sizes.tolist() == [3, 3]
    # Merging for the definition would make one cluster of all.
    with pytest.raises(Infeasible, match="has the diameter 12"):
        rt.publish(table, rt.DistinctLDiversity(2), limited)


def test_a_run_can_be_stopped():
    with pytest.raises(Cancelled):
        rt.Gather(r=5).fit(np.random.default_rng(1).normal(size=(50, 2)), Context(stop=lambda: True))


def test_distances_of_ones_own_are_for_fitting():
    table = rt.Table(pl.DataFrame({"word": ["a", "aa", "aaaa", "aaaaa"]}), quasi=["word"])

    def by_length(left, right):
        return np.abs(
            np.subtract.outer(left.str.len_chars().to_numpy().astype(float), right.str.len_chars().to_numpy())
        )

    method = rt.Gather(r=2, distances={"word": by_length})
    assert method.fit(table).labels.tolist() == [0, 0, 1, 1]
    with pytest.raises(PolicyError, match="cannot be serialised"):
        rt.publish(table, rt.KAnonymity(2), method)


def test_several_rows_of_a_person_are_refused_with_a_way_out():
    frame = pl.DataFrame({"who": [1, 1, 1, 2, 3, 4], "age": [20, 20, 20, 21, 50, 51]})
    with pytest.raises(PolicyError, match="rows_per_person=1"):
        rt.Gather(r=2).fit(rt.Table(frame, quasi=["age"], identifiers=["who"]))
    one = rt.Table(frame, quasi=["age"], identifiers=["who"], rows_per_person=1)
    assert rt.Gather(r=2).fit(one).labels.tolist() == [0, 0, 1, 1]
