"""Proven factors against exact optima, on hundreds of small tables (spec 002, 4.5)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reticent as rt
from reticent.base.context import Context
from reticent.methods.suppress.factors import by_factor, cut_cycle, factor, pairs_and_paths
from reticent.methods.suppress.forest import by_forest, forest, neighbours, split
from reticent.methods.suppress.optimum import least_cost
from reticent.methods.suppress.patterns import least_prices
from tests.methods.suppress.instances import small_tables, table_of, units_of
from tests.oracles.suppression import cheapest_cut, compatible, cost_of, nearest_bound, optimum
from tests.sampling import examples


def sizes_of(group: np.ndarray) -> list[int]:
    return sorted(np.bincount(group).tolist())


@pytest.mark.parametrize("k", [2, 3, 4])
@examples(300, few=25)
@given(data=st.data())
def test_forest_and_split_stay_within_their_factor(k, data):
    rows = data.draw(small_tables(3, k))
    units, least = units_of(rows, k), optimum(rows, k)
    near = neighbours(units, Context())
    trees = forest(near, k)
    # A row in a class of k costs at least its distance to the last of the k-1 nearest.
    bound = int(near.distance[:, -1].sum())
    assert trees.weight <= bound <= least
    assert bound == nearest_bound(rows, k)
    group = by_forest(units, Context())
    assert min(sizes_of(group)) >= k
    assert units.cost(group) == cost_of(rows, group.tolist()) <= max(2 * k - 1, 3 * k - 5) * least


@examples(300, few=25)
@given(data=st.data(), symbols=st.sampled_from([2, 3, 4]))
def test_pairs_and_paths_stay_within_their_factor(data, symbols):
    rows = data.draw(small_tables(symbols, 2))
    units, least, everybody = units_of(rows, 2), optimum(rows, 2), np.arange(len(rows))
    apart = units.distances(everybody, everybody)
    chosen = factor(apart, 1, Context())
    weight = int(apart[chosen[:, 0], chosen[:, 1]].sum())
    group = pairs_and_paths(chosen, len(rows))
    assert set(sizes_of(group)) <= {2, 3}
    assert weight <= least * (Fraction(1, 2) if symbols == 2 else Fraction(2, 3))
    assert cost_of(rows, group.tolist()) <= 3 * weight
    assert cost_of(rows, group.tolist()) <= least * (Fraction(3, 2) if symbols == 2 else 2)


@examples(200, few=15)
@given(rows=small_tables(2, 3, most=10))
def test_runs_of_cycles_stay_within_their_factor_for_bits(rows):
    units, least, everybody = units_of(rows, 3), optimum(rows, 3), np.arange(len(rows))
    apart = units.distances(everybody, everybody)
    chosen = factor(apart, 2, Context())
    weight = int(apart[chosen[:, 0], chosen[:, 1]].sum())
    group = by_factor(units, Context())
    assert min(sizes_of(group)) >= 3
    assert weight <= Fraction(2, 3) * least
    assert cost_of(rows, group.tolist()) <= min(3 * weight, 2 * least)


def test_a_cycle_is_cut_into_runs_of_three_and_at_most_two_of_four():
    for length in range(3, 41):
        units = units_of([(i % 7, i // 3) for i in range(length)], 3)
        runs = cut_cycle(units, list(range(length)))
        sizes = sorted(map(len, runs))
        assert sizes == [length] if length <= 5 else (set(sizes) <= {3, 4} and sizes.count(4) == length % 3)
        # The runs follow each other once around the cycle.
        joined = [v for run in runs for v in run]
        assert joined == [(joined[0] + step) % length for step in range(length)]


@pytest.mark.parametrize("length", [6, 7, 8, 11, 13])
def test_a_cycle_is_cut_in_the_cheapest_of_all_ways(length):
    draw = np.random.default_rng(length)
    for _ in range(5):
        rows = [tuple(each) for each in draw.integers(0, 2, size=(length, 4)).tolist()]
        runs = cut_cycle(units_of(rows, 3), list(range(length)))
        label = {v: place for place, run in enumerate(runs) for v in run}
        assert cost_of(rows, [label[v] for v in range(length)]) == cheapest_cut(rows)


@examples(4000, few=60)
@given(data=st.data(), k=st.integers(2, 7))
def test_any_tree_is_split_into_parts_of_the_right_size(data, k):
    back = data.draw(st.lists(st.one_of(st.integers(1, 6), st.just(60)), min_size=k - 1, max_size=59))
    count = len(back) + 1
    parent = [-1, *(max(v - step, 0) for v, step in enumerate(back, 1))]
    parts = split(np.array(parent), k)
    assert sorted(v for part in parts for v in part) == list(range(count))
    assert all(k <= len(part) <= max(2 * k - 1, 3 * k - 5) for part in parts)
    # Parts use disjoint edges: each part's smallest subtree that joins it, copies of inner vertices allowed, shares no edge with another's.
    used: set[tuple[int, int]] = set()
    for part in parts:
        own = joining_edges(parent, part)
        assert used.isdisjoint(own)
        used |= own


def joining_edges(parent: list[int], part: list[int]) -> set[tuple[int, int]]:
    """The edges of the smallest subtree that holds a part."""
    above: dict[int, int] = {}
    for vertex in part:
        walked = vertex
        while walked >= 0:
            above[walked] = above.get(walked, 0) + 1
            walked = parent[walked]
    return {(vertex, parent[vertex]) for vertex, times in above.items() if parent[vertex] >= 0 and times < len(part)}


@examples(300, few=30)
@given(data=st.data(), k=st.integers(2, 4), symbols=st.integers(2, 4))
def test_the_exact_program_finds_the_optimum_and_bounds_lie_below_it(data, k, symbols):
    rows = data.draw(small_tables(symbols, k))
    units, least = units_of(rows, k), optimum(rows, k)
    group = least_cost(units, Context())
    assert min(sizes_of(group)) >= k
    assert cost_of(rows, group.tolist()) == least
    assert nearest_bound(rows, k) <= int(least_prices(units, Context())[0].sum()) <= least


@examples(300, few=30)
@given(data=st.data(), k=st.integers(1, 4), symbols=st.integers(2, 4))
def test_fit_tells_its_cost_bounds_and_factor_truly(data, k, symbols):
    rows = data.draw(small_tables(symbols, k))
    found = rt.Suppress(k=k).fit(table_of(rows))
    labels, least = found.labels.tolist(), optimum(rows, k)
    assert min(labels.count(label) for label in labels) >= k
    assert found.cost == cost_of(rows, labels) == sum(found.cells.values())
    assert found.lower_bound == nearest_bound(rows, k) <= found.pattern_bound <= least <= found.cost
    assert found.factor is not None
    assert found.cost <= found.factor * least
    assert found.ratio >= 1
    assert found.sdcmicro_count is not None
    assert found.sdcmicro_count <= len(rows) * len(rows[0])


@examples(150, few=15)
@given(data=st.data(), k=st.integers(2, 3))
def test_weights_are_what_a_cell_costs(data, k):
    rows = data.draw(small_tables(3, k, most=8, columns=3))
    weights = [data.draw(st.fractions(Fraction(1, 4), 3, max_denominator=4)) for _ in rows[0]]
    given_weights = {f"q{j}": weight for j, weight in enumerate(weights)}
    least = optimum(rows, k, weights)
    found = rt.Suppress(k=k, weights=given_weights).fit(table_of(rows))
    assert found.cost == cost_of(rows, found.labels.tolist(), weights) >= least
    assert found.lower_bound == nearest_bound(rows, k, weights)
    assert rt.Suppress(k=k, exact=True, weights=given_weights).fit(table_of(rows)).cost == least


@examples(150, few=15)
@given(rows=small_tables(3, 2, most=9))
def test_the_order_of_rows_changes_nothing_but_the_order_of_labels(rows):
    one, other = rt.Suppress(k=2).fit(table_of(rows)), rt.Suppress(k=2).fit(table_of(rows[::-1]))
    assert one.cost == other.cost
    assert kinds(rows, one.labels.tolist()) == kinds(rows[::-1], other.labels.tolist())


def kinds(rows: list[tuple[int, ...]], labels: list[int]) -> list[list[tuple[int, ...]]]:
    return sorted(sorted(row for row, own in zip(rows, labels, strict=True) if own == label) for label in set(labels))


def test_the_wildcard_greedy_gives_every_row_enough_compatible_rows():
    from reticent.methods.suppress.wildcards import _Wildcards

    draw = np.random.default_rng(3)
    for _ in range(30):
        rows = [tuple(each) for each in np.unique(draw.integers(0, 3, size=(12, 3)), axis=0).tolist()]
        units = units_of(rows, 3)
        ones = np.ones(len(rows), dtype=np.int64)
        counted = _Wildcards(units, ones, ones)
        stars = counted.run(Context())
        shown = [list(row) for row in rows]
        for pattern, chosen in counted._stars.items():
            for place in chosen.tolist():
                shown[place] = ["*" if rung else value for rung, value in zip(pattern, rows[place], strict=True)]
        assert sum(row.count("*") for row in shown) == stars
        assert min(compatible([tuple(row) for row in shown], "*")) >= min(3, len(rows))


@pytest.mark.slow
@settings(max_examples=2000, deadline=None)
@given(data=st.data(), k=st.integers(2, 5), symbols=st.integers(2, 5))
def test_campaign_of_factors_on_thousands_of_tables(data, k, symbols):
    rows = data.draw(small_tables(symbols, k, most=11, columns=6))
    found, least = rt.Suppress(k=k).fit(table_of(rows)), optimum(rows, k)
    assert found.lower_bound <= found.pattern_bound <= least <= found.cost <= found.factor * least
