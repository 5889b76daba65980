"""Drawn flows beside true ones: figures are those of a row-by-row twin."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.errors import DataError
from reticent.utility import CodedFlows, distances_by_size, on_one_grid, query_errors, total_variation
from tests.oracles import utility_flows as oracle

PLACES = {f"p{number}": (41.0 + number / 7, -71.0 + (number * number % 11) / 9) for number in range(9)}
COORDINATES = pl.DataFrame(
    {
        "place": list(PLACES),
        "Latitude": [latitude for latitude, _ in PLACES.values()],
        "Longitude": [longitude for _, longitude in PLACES.values()],
    }
)
Pairs = list[tuple[str, str]]
pairs = st.lists(st.tuples(st.sampled_from(list(PLACES)), st.sampled_from(list(PLACES))), min_size=1, max_size=40)


def coded(true: Pairs, drawn: Pairs) -> CodedFlows:
    frames = [pl.DataFrame(rows, schema=["work", "home"], orient="row") for rows in (true, drawn)]
    sides = [(frame, np.ones(frame.height, dtype=np.int64)) for frame in frames]
    return CodedFlows.of(sides[0], sides[1], ["work"], "home")


@given(true=pairs, drawn=pairs)
def test_total_variation_is_that_of_all_pairs(true: Pairs, drawn: Pairs) -> None:
    both = coded(true, drawn)
    assert total_variation(both.truth, both.drawn) == pytest.approx(float(oracle.total_variation(true, drawn)))
    values = [[("", home) for _, home in rows] for rows in (true, drawn)]
    alone = total_variation(both.truth.of_values(), both.drawn.of_values())
    assert alone == pytest.approx(float(oracle.total_variation(values[0], values[1])))


@given(true=pairs, drawn=pairs, below=st.sampled_from([None, 40.0]))
def test_average_distances_are_those_of_the_rows(true: Pairs, drawn: Pairs, below: float | None) -> None:
    both = coded(true, drawn)
    points = both.located(COORDINATES)
    assert points is not None
    (found,) = distances_by_size(both.truth, both.drawn, points, below, bins=(1,)) or (None,)
    means = [oracle.averages(rows, PLACES, below) for rows in (true, drawn)]
    known = sorted(set(means[0]) & set(means[1]))
    if found is None:
        assert not known
        return
    apart = [means[1][group] - means[0][group] for group in known]
    assert found.groups == len(known)
    assert found.bias == pytest.approx(sum(apart) / len(known), abs=1e-9)
    assert found.mean_error == pytest.approx(sum(map(abs, apart)) / len(known), abs=1e-9)


def test_groups_are_told_by_size() -> None:
    true = [("p0", "p1")] * 3 + [("p2", "p3")] + [("p4", "p5")] * 7
    both = coded(true, true)
    points = both.located(COORDINATES)
    assert points is not None
    found = distances_by_size(both.truth, both.drawn, points, bins=(1, 2, 5))
    assert [(each.name, each.groups, each.mean_error) for each in found] == [
        ("1", 1, 0.0),
        ("2 to 4", 1, 0.0),
        ("5 or more", 1, 0.0),
    ]


def test_the_same_rows_answer_every_count_alike_and_others_do_not() -> None:
    random = np.random.default_rng(1)
    true = [(f"p{a}", f"p{b}") for a, b in random.integers(0, 9, (500, 2))]
    drawn = [("p0", "p0")] * 500
    same, other = coded(true, true), coded(true, drawn)
    assert [each.mean_error for each in query_errors(same.truth, same.drawn)] == [0, 0, 0]
    whole = query_errors(other.truth, other.drawn, widths=(1.0,), queries=3)
    assert (whole[0].true_rows, whole[0].mean_error) == (500, 0)
    assert query_errors(other.truth, other.drawn, widths=(0.5,))[0].relative_error > 0.2


def test_flows_on_a_grid_keep_their_rows() -> None:
    true = [("p0", "p8"), ("p0", "p8"), ("p3", "p4")]
    both = coded(true, true)
    points = both.located(COORDINATES)
    assert points is not None
    groups, values, middles = on_one_grid(points, cells=3)
    merged = both.truth.merged(groups, values)
    assert merged.rows == 3
    assert len(middles) <= 9
    assert np.isfinite(middles).all()


def test_places_that_are_not_listed_are_left_out_and_wrong_tables_are_named() -> None:
    both = coded([("p0", "p1"), ("p0", "p2")], [("p0", "p1")])
    points = both.located(COORDINATES.filter(pl.col("place") != "p2"))
    assert points is not None
    assert np.isnan(points.values).any()
    assert len(distances_by_size(both.truth, both.drawn, points)) == 1
    with pytest.raises(DataError, match="columns named latitude and longitude"):
        both.located(COORDINATES.rename({"Latitude": "north"}))
    with pytest.raises(DataError, match=r"no place of column 'work', such as 'p0'"):
        both.located(COORDINATES.with_columns(pl.col("place") + "x"))


def test_groups_of_several_columns_have_no_place() -> None:
    frame = pl.DataFrame({"a": ["p0"], "b": ["p1"], "home": ["p2"]})
    side = (frame, np.ones(1, dtype=np.int64))
    both = CodedFlows.of(side, side, ["a", "b"], "home")
    assert both.located(COORDINATES) is None
    assert total_variation(both.truth, both.drawn) == 0
