"""Clusters of the least radius: goldens, the corrected filter, and factors against optima found by trying everything."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reticent.errors import Infeasible
from reticent.methods.clusters.radii import centre_most, gather, gather_around_records, gather_most, neighbours, peel
from tests.oracles.clustering import (
    any_record_radius,
    best,
    diameter,
    distances_of,
    gathers_within,
    printed_centres_with_outliers,
    record_radius,
)
from tests.sampling import examples, seeds

LINE = [0, 1, 2, 10, 11, 12, 1000]


def table(points):
    return np.array(distances_of(points))


def sizes(found):
    return np.bincount(found.labels[found.labels >= 0], minlength=len(found.hearts)).tolist()


def radius(distances, found):
    """The largest radius around the best member of each cluster."""
    clusters = [np.flatnonzero(found.labels == each).tolist() for each in range(len(found.hearts))]
    return max(record_radius(distances, members) for members in clusters)


def test_a_remote_point_drags_two_others_along_without_outliers():
    found = gather(table(LINE), 3)
    assert (found.threshold, found.lower_bound) == (989.0, 494.5)
    assert sorted(sizes(found)) == [3, 4]
    assert best(7, 3, lambda m: any_record_radius(distances_of(LINE), m), add=False) == 988


def test_one_outlier_of_seven_leaves_two_tight_clusters():
    found = gather_most(table(LINE), 3, 1)
    assert found.threshold == 2.0
    assert found.labels.tolist() == [0, 0, 0, 1, 1, 1, -1]


def test_with_centres_among_the_records_the_middle_ones_are_chosen():
    found = gather_around_records(table(LINE), 3, 1)
    assert (found.threshold, found.hearts.tolist()) == (1.0, [1, 4])
    assert found.labels.tolist() == [0, 0, 0, 1, 1, 1, -1]


def test_fewer_clusters_need_a_larger_threshold():
    assert gather(table(LINE[:6]), 3, 2).threshold == 2.0
    assert gather(table(LINE[:6]), 3, 1).threshold == 12.0


def test_one_centre_and_one_outlier():
    found = centre_most(table(LINE), 1, 3, 1)
    assert (found.threshold, found.hearts.tolist()) == (8.0, [2])
    assert found.labels.tolist() == [0, 0, 0, 0, 0, 0, -1]
    assert centre_most(table(LINE), 2, 3, 1).threshold == 2.0


def test_the_printed_filter_publishes_a_cluster_of_one_and_ours_does_not():
    points = [0, 1, 2] + [100] * 17
    threshold, clusters = printed_centres_with_outliers(distances_of(points), 2, 3, 2)
    assert threshold == 1
    assert min(map(len, clusters)) == 1
    found = centre_most(table(points), 2, 3, 2)
    assert found.threshold == 2.0
    assert sorted(sizes(found)) == [3, 17]


def gadget(variables: int, clauses: list[list[int]], r: int = 7) -> list[list[float]]:
    """Distances 1 along the edges of the graph of a formula, 2 otherwise: literals joined, r-2 nodes tied to both, clauses tied to their literals."""
    names = [(sign, v) for v in range(1, variables + 1) for sign in (1, -1)]
    names += [("tied", v, i) for v in range(1, variables + 1) for i in range(r - 2)]
    names += [("clause", c) for c in range(len(clauses))]
    at = {name: place for place, name in enumerate(names)}
    found = [[0 if a == b else 2 for b in range(len(names))] for a in range(len(names))]

    def join(one, other):
        found[at[one]][at[other]] = found[at[other]][at[one]] = 1

    for v in range(1, variables + 1):
        join((1, v), (-1, v))
        for i in range(r - 2):
            join(("tied", v, i), (1, v))
            join(("tied", v, i), (-1, v))
    for c, literals in enumerate(clauses):
        for literal in literals:
            join(("clause", c), (1 if literal > 0 else -1, abs(literal)))
    return found


def test_the_gadget_of_a_formula_gathers_within_one_if_the_formula_can_be_satisfied():
    assert best(9, 7, lambda m: any_record_radius(gadget(1, [[1], [1]]), m), add=False) == 1
    assert best(9, 7, lambda m: any_record_radius(gadget(1, [[1], [-1]]), m), add=False) == 2


@pytest.mark.parametrize("seed", seeds(8))
def test_gadgets_agree_with_a_solver_of_formulas(seed):
    solvers = pytest.importorskip("pysat.solvers")
    draw = np.random.default_rng(seed)
    clauses: list[list[int]] = []
    times = dict.fromkeys([*range(1, 4), *range(-3, 0)], 0)
    while len(clauses) < 6:
        free = [literal for literal, used in times.items() if used < 3]
        if len({abs(literal) for literal in free}) < 2:
            break
        chosen = {abs(x): int(x) for x in draw.permutation(free)[:2]}
        clauses.append(list(chosen.values()))
        for literal in chosen.values():
            times[literal] += 1
    with solvers.Solver(bootstrap_with=clauses) as solver:
        assert gathers_within(gadget(3, clauses), 7, 1) == solver.solve()


def test_a_formula_that_cannot_be_satisfied_gathers_within_two_only():
    clauses = [[a, b] for a, b in product((1, -1), (2, -2))]
    assert not gathers_within(gadget(2, clauses), 7, 1)
    assert gathers_within(gadget(2, clauses), 7, 2)


def test_fewer_points_than_a_cluster_needs_pass_no_threshold():
    with pytest.raises(Infeasible, match="No threshold"):
        gather(table([0, 1, 5, 9]), 2, 0)


def test_peeling_goes_on_until_everybody_left_has_enough():
    assert peel(table([0, 1, 2, 3, 50]), 1.0, 3).tolist() == [False] * 5
    assert peel(table([0, 1, 1, 2, 50]), 1.0, 3).tolist() == [True] * 4 + [False]


def test_neighbours_are_grouped_from_the_edge_inward():
    assert neighbours(table([0, 1, 2, 10, 11, 12]), 3).tolist() == [0, 0, 0, 1, 1, 1]
    assert np.bincount(neighbours(table(list(range(11))), 3)).tolist() == [3, 3, 5]


# Factors against optima.

small = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 6)), min_size=4, max_size=8)


def _worlds(points, r):
    """Distances in the order of content; the least possible largest diameter of clusters."""
    distances = distances_of(sorted(points))
    return np.array(distances), distances


@examples(300, few=30)
@given(small, st.integers(2, 3))
def test_the_radius_of_r_gather_is_at_most_twice_the_optimal_one(points, r):
    distances, plain = _worlds(points, r)
    found = gather(distances, r)
    narrowest = best(len(points), r, lambda m: diameter(plain, m), add=False)
    assert min(sizes(found)) >= r
    assert found.threshold <= narrowest * (1 + 1e-12)
    assert radius(distances, found) <= found.threshold
    # Centres anywhere: no cluster has a radius below half of its diameter.
    assert radius(distances, found) <= 2 * (narrowest / 2) * (1 + 1e-12)
    assert found.lower_bound <= narrowest / 2 * (1 + 1e-12)


@examples(200, few=20)
@given(small, st.integers(2, 3), st.integers(1, 2))
def test_at_most_k_clusters_within_twice_the_optimal_radius(points, r, k):
    distances, plain = _worlds(points, r)
    found = gather(distances, r, k)
    narrowest = best(len(points), r, lambda m: diameter(plain, m), add=False, k=k)
    assert len(found.hearts) <= k
    assert min(sizes(found)) >= r
    assert radius(distances, found) <= found.threshold <= narrowest * (1 + 1e-12)


@examples(200, few=25)
@given(small, st.integers(2, 3), st.integers(1, 2))
def test_with_outliers_the_radius_is_at_most_four_times_the_optimal_one(points, r, spare):
    distances, plain = _worlds(points, r)
    spare = min(spare, len(points) - r)
    found = gather_most(distances, r, spare)
    narrowest = best(len(points), r, lambda m: diameter(plain, m), add=False, spare=spare)
    assert min(sizes(found)) >= r
    assert int((found.labels < 0).sum()) <= spare
    assert found.threshold <= narrowest * (1 + 1e-12)
    assert radius(distances, found) <= 4 * (narrowest / 2) * (1 + 1e-12)


@examples(200, few=25)
@given(small, st.integers(2, 3), st.integers(1, 2))
def test_around_records_the_radius_is_at_most_three_times_that_of_the_best_records(points, r, spare):
    distances, plain = _worlds(points, r)
    spare = min(spare, len(points) - r)
    found = gather_around_records(distances, r, spare)
    optimum = best(len(points), r, lambda m: any_record_radius(plain, m), add=False, spare=spare)
    assert min(sizes(found)) >= r
    assert found.lower_bound <= optimum * (1 + 1e-12)
    away = distances[found.hearts[found.labels], np.arange(len(points))][found.labels >= 0]
    assert away.max() <= 3 * optimum * (1 + 1e-12)
    # Every centre is a member of its own cluster.
    assert found.labels[found.hearts].tolist() == list(range(len(found.hearts)))


@examples(200, few=25)
@given(small, st.integers(2, 3), st.integers(1, 2), st.integers(1, 2))
def test_k_centres_with_outliers_stay_within_four_times_the_optimal_radius(points, r, k, spare):
    distances, plain = _worlds(points, r)
    spare = min(spare, len(points) - r)
    found = centre_most(distances, k, r, spare)
    narrowest = best(len(points), r, lambda m: diameter(plain, m), add=False, spare=spare, k=k)
    assert len(found.hearts) <= k
    assert min(sizes(found)) >= r
    assert found.threshold <= narrowest * (1 + 1e-12)
    assert radius(distances, found) <= 4 * (narrowest / 2) * (1 + 1e-12)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 9)), min_size=9, max_size=11), st.integers(2, 4))
def test_r_gather_of_more_points_keeps_its_factor(points, r):
    distances, plain = _worlds(points, r)
    found = gather(distances, r)
    narrowest = best(len(points), r, lambda m: diameter(plain, m), add=False)
    assert min(sizes(found)) >= r
    assert radius(distances, found) <= found.threshold <= narrowest * (1 + 1e-12)
