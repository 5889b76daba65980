"""Clusters of the least cost: goldens, the refuted pipeline, and factors against programs and against trying everything."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reticent.errors import Infeasible
from reticent.methods.clusters.cellular import Candidates, cellular, grow, primal_dual
from tests.oracles.clustering import any_record_radius, best, distances_of, printed_r_cellular, program
from tests.sampling import examples


def table(points):
    return np.array(distances_of(points))


def sizes(found):
    return np.bincount(found.labels[found.labels >= 0], minlength=len(found.hearts)).tolist()


def test_two_clusters_of_five_points_cost_what_the_program_says():
    points = [0, 1, 2, 10, 11]
    assert program(distances_of(points), lambda _: 3.0, 1, whole=False) == pytest.approx(11)
    for found in (primal_dual(table(points), 3.0), cellular(table(points), 1, 3.0)):
        assert (found.cost, found.lower_bound) == (11.0, 11.0)
        assert found.labels.tolist() == [0, 0, 0, 1, 1]


def test_sizes_times_radii_are_added_up():
    """Clusters of 50, 20 and 8 points with radii 10, 5 and 3 cost 624."""
    points = [0.0] * 48 + [10.0, -10.0] + [1000.0] * 19 + [1005.0] + [2000.0] * 7 + [2003.0]
    found = cellular(table(sorted(points)), 8, 1000.0)
    assert sorted(sizes(found)) == [8, 20, 50]
    assert found.cost == pytest.approx(3 * 1000 + 624)


def test_the_printed_pipeline_costs_more_than_twice_and_ours_the_optimum():
    points = sorted([0] * 5 + [-1, 6] + [8] * 5)
    assert printed_r_cellular(distances_of(points), 5) == 42
    assert cellular(table(points), 5).cost == 18


def test_the_printed_pipeline_breaks_its_factor_of_eighty():
    points = sorted([0.0] * 170 + [-1.0, 171.0] + [172.001] * 170)
    found = cellular(table(points), 170)
    assert found.cost == pytest.approx(342.171)
    printed = printed_r_cellular(distances_of(points), 170)
    assert printed == pytest.approx(29412)
    assert printed / found.cost > 80


def test_far_points_are_dropped_where_outliers_are_allowed():
    points = [0, 1, 2, 10, 11, 12, 1000]
    found = cellular(table(points), 3, spare=1)
    assert found.labels.tolist() == [0, 0, 0, 1, 1, 1, -1]
    assert found.factor is None
    assert found.cost == 6.0


def test_a_largest_diameter_that_leaves_somebody_alone_is_refused():
    with pytest.raises(Infeasible, match="the largest reach allowed"):
        cellular(table([0, 1, 2, 1000]), 2, limit=5.0)
    assert sizes(cellular(table([0, 1, 2, 1000]), 2, spare=1, limit=5.0)) == [3]


small = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 6)), min_size=4, max_size=8)


@examples(200, few=20)
@given(small, st.integers(0, 6))
def test_prices_are_at_most_the_program_and_cost_at_most_four_times_them(points, setup):
    plain = distances_of(sorted(points))
    found = primal_dual(np.array(plain), float(setup))
    bound = program(plain, lambda _: float(setup), 1, whole=False)
    assert found.lower_bound <= bound + 1e-9
    assert found.cost <= 4 * found.lower_bound + 1e-9
    assert found.cost >= best(len(points), 1, _price(plain, setup), add=True) - 1e-9


@examples(200, few=20)
@given(small, st.integers(0, 6))
def test_without_a_least_size_cost_is_at_most_three_times_the_prices(points, setup):
    plain = distances_of(sorted(points))
    found = cellular(np.array(plain), 1, float(setup))
    assert found.lower_bound <= program(plain, lambda _: float(setup), 1, whole=False) + 1e-9
    assert found.cost <= 3 * found.lower_bound + 1e-9


@examples(300, few=30)
@given(small, st.integers(2, 3), st.integers(0, 3))
def test_clusters_of_a_least_size_stay_within_every_proved_step(points, r, setup):
    plain = distances_of(sorted(points))
    distances = np.array(plain)
    found = cellular(distances, r, float(setup))
    prices = grow(Candidates.of(distances, float(setup), r, r, None)).prices
    optimum = best(len(points), r, _price(plain, setup), add=True)
    assert min(sizes(found)) >= r
    assert float(prices.sum()) <= program(plain, lambda reach: setup + r * reach, r, whole=False) + 1e-9
    assert found.shared <= 3 * float(prices.sum()) + 1e-9
    assert found.cost <= 10 * found.shared + 1e-9
    assert found.lower_bound <= optimum + 1e-9
    assert optimum - 1e-9 <= found.cost <= 60 * optimum + 1e-9


@examples(200, few=20)
@given(small, st.integers(2, 3), st.integers(1, 2))
def test_the_bound_with_outliers_is_below_the_optimum(points, r, spare):
    plain = distances_of(sorted(points))
    spare = min(spare, len(points) - r)
    found = cellular(np.array(plain), r, 1.0, spare)
    assert min(sizes(found)) >= r
    assert int((found.labels < 0).sum()) <= spare
    assert found.lower_bound <= best(len(points), r, _price(plain, 1.0), add=True, spare=spare) + 1e-9


def _price(plain, setup):
    return lambda members: setup + len(members) * any_record_radius(plain, members)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 60), min_size=9, max_size=12), st.integers(2, 5), st.integers(0, 9))
def test_longer_campaign_of_cellular_clusters(points, r, setup):
    plain = distances_of(sorted(points))
    found = cellular(np.array(plain), r, float(setup))
    optimum = (
        best(len(points), r, _price(plain, setup), add=True)
        if len(points) <= 10
        else program(plain, lambda _: float(setup), r, whole=False)
    )
    assert min(sizes(found)) >= r
    assert found.cost <= 60 * optimum + 1e-9
