"""Distances over mixed columns: each kind by hand, the rules of a metric on random records, and what is refused."""

from __future__ import annotations

import datetime

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent as rt
from reticent.core import Metric, MetricChoices, metric_over, round_up
from reticent.core.metric import great_circle, require_metric
from reticent.errors import DataError, PolicyError
from tests.sampling import examples

JOBS = rt.Hierarchy.taxonomy({"care": ["nurse", "doctor"], "law": ["judge"]})


def distances(frame, quasi, **choices):
    table = rt.Table(frame, quasi=quasi, nulls="category")
    codes = [bound.codes(table.frame[bound.column]) for bound in table.hierarchies]
    said = {"weights": {}, "scales": {}, **choices}
    metric, records = metric_over(table.hierarchies, codes, MetricChoices(**said))
    return metric.within(records)


def test_numbers_are_apart_by_their_difference_in_units_of_the_scale():
    found = distances({"age": [20, 30, 93]}, ["age"])
    assert found[0].tolist() == pytest.approx([0, 0.1, 0.73])
    assert distances({"age": [20, 30]}, ["age"], scales={"age": 5}, weights={"age": 2})[0, 1] == 4


def test_dates_are_apart_by_days():
    days = [datetime.date(2020, 1, 1), datetime.date(2020, 1, 31)]
    assert distances({"day": days}, ["day"], scales={"day": 1})[0, 1] == 30


def test_texts_with_a_hierarchy_are_apart_by_the_level_on_which_they_meet():
    found = distances({"job": ["nurse", "doctor", "judge"]}, {"job": JOBS})
    assert found.tolist() == [[0, 0.5, 1], [0.5, 0, 1], [1, 1, 0]]
    plain = distances({"job": ["nurse", "doctor"]}, {"job": JOBS}, categories=("job",))
    assert plain[0, 1] == 1


def test_places_are_apart_by_kilometres():
    paris, lyon = (48.8566, 2.3522), (45.764, 4.8357)
    assert great_circle(np.array(paris), np.array(lyon)) == pytest.approx(391.5, abs=1)
    frame = {"lat": [paris[0], lyon[0]], "lon": [paris[1], lyon[1]]}
    assert distances(frame, ["lat", "lon"], places=(("lat", "lon"),), scales={"lat": 100})[0, 1] == pytest.approx(
        3.915, abs=0.01
    )
    with pytest.raises(DataError, match="latitude, then longitude"):
        distances({"lat": [170.0], "lon": [2.0]}, ["lat", "lon"], places=(("lat", "lon"),))
    with pytest.raises(DataError, match="must hold degrees"):
        distances({"lat": ["north"], "lon": [2.0]}, ["lat", "lon"], places=(("lat", "lon"),))


def test_a_missing_value_is_as_far_from_all_others_as_the_column_is_wide():
    found = distances({"age": [20, None, 93, None]}, ["age"], scales={"age": 10})
    assert found[1].tolist() == pytest.approx([7.3, 0, 7.3, 0])
    found = distances({"job": ["nurse", None]}, {"job": JOBS})
    assert found[0, 1] == 1


def test_columns_add_up_or_as_squares_under_a_root():
    frame = {"x": [0, 3], "y": [0, 4]}
    scales = {"x": 1, "y": 1}
    assert distances(frame, ["x", "y"], scales=scales)[0, 1] == 5
    assert distances(frame, ["x", "y"], scales=scales, norm="L1")[0, 1] == 7


def test_widths_are_rounded_up_so_that_they_do_not_show_the_extremes():
    assert [round_up(each) for each in (0, 0.3, 1, 1.01, 73, 100, 4e6)] == [1, 0.5, 1, 2, 100, 100, 5e6]


def gower(left, right):
    """Mean of the differences over two coordinates, those with a missing value skipped: (0, 0), (0, -), (-, 9) ..."""
    pairs = [
        [tuple(None if part == "-" else float(part) for part in text.split()) for text in side]
        for side in (left, right)
    ]
    found = np.zeros((len(left), len(right)))
    for i, one in enumerate(pairs[0]):
        for j, other in enumerate(pairs[1]):
            known = [abs(a - b) for a, b in zip(one, other, strict=True) if a is not None and b is not None]
            found[i, j] = sum(known) / max(len(known), 1)
    return found


def test_a_distance_that_skips_missing_values_is_refused():
    frame = {"pair": ["0 0", "0 -", "0 9"]}
    with pytest.raises(PolicyError, match=r"by way of .* it is only .* count a missing value as a value of its own"):
        distances(frame, ["pair"], own={"pair": gower})


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (lambda a, b: np.full((len(a), len(b)), -1.0), "not a number of at least 0"),
        (lambda a, b: np.full((len(a), len(b)), np.nan), "not a number of at least 0"),
        (lambda a, b: np.ones((len(a), len(b))), "from a value to itself"),
        (lambda a, b: np.triu(np.ones((len(a), len(b))), 1), "differs from the distance back"),
        (lambda a, b: np.zeros((len(a), 1)), "a square matrix"),
        (lambda a, b: np.subtract.outer(np.arange(len(a)), np.arange(len(b))) ** 2.0, "by way of"),
    ],
)
def test_distances_of_ones_own_are_tried_on_random_triples(wrong, why):
    with pytest.raises(PolicyError, match=why):
        distances({"x": ["a", "b", "c", "d"]}, ["x"], own={"x": wrong})
    require_metric(np.array([[0.0, 1.0], [1.0, 0.0]]), "This")


def test_choices_about_columns_that_there_are_not_are_refused_with_a_hint():
    with pytest.raises(PolicyError, match=r"weights names 'agee'.*age"):
        distances({"age": [1]}, ["age"], weights={"agee": 1})
    with pytest.raises(PolicyError, match="above 0"):
        distances({"age": [1]}, ["age"], weights={"age": 0})
    with pytest.raises(PolicyError, match="norm must be L1 or L2"):
        distances({"age": [1]}, ["age"], norm="L3")
    with pytest.raises(PolicyError, match="at least one column"):
        Metric(())


records = st.lists(
    st.tuples(
        st.one_of(st.none(), st.integers(-50, 50)),
        st.sampled_from(["nurse", "doctor", "judge", None]),
        st.sampled_from(["a", "b", None]),
        st.floats(-80, 80),
        st.floats(-170, 170),
    ),
    min_size=3,
    max_size=6,
)


@examples(60)
@given(records, st.sampled_from(["L1", "L2"]), st.booleans())
def test_mixed_columns_with_missing_values_obey_the_triangle_inequality(rows, norm, narrow):
    schema = {"age": pl.Int64, "job": pl.String, "ward": pl.String, "lat": pl.Float64, "lon": pl.Float64}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    scales = {"age": 3, "lat": 10} if narrow else {}
    found = distances(
        frame,
        {"age": None, "job": JOBS, "ward": None, "lat": None, "lon": None},
        norm=norm,
        places=(("lat", "lon"),),
        scales=scales,
        weights={"ward": "0.3"},
    )
    assert (found == found.T).all()
    assert (np.diag(found) == 0).all()
    assert (found[:, None, :] <= found[:, :, None] + found[None, :, :] + 1e-9).all()
