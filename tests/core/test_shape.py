"""Shapes: who lies inside beyond the labels, by a plain loop over people and cells, and on the way through files."""

from __future__ import annotations

import datetime
import json
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent as rt
from reticent.attacks.candidate_rows import match
from reticent.core import SEVERAL, Shape
from reticent.core.shape import LabelBox, inside, read_shapes, shapes_json
from reticent.errors import DataError
from reticent.methods.bang.shape import Nested
from reticent.methods.clusters.shape import Ball
from reticent.release import adversary_view_of
from tests.seams import jobs
from tests.seams.jobs import registered
from tests.seams.shaped import Gathered, Holes

_small = st.integers(-9, 9)
_shapes = st.one_of(
    st.just(LabelBox()),
    st.integers(0, 3).map(Nested),
    st.builds(
        lambda x, y, radius, scale: Ball({"x": x, "y": y}, radius, {"x": scale, "y": 1}),
        _small,
        _small,
        st.integers(0, 12),
        st.sampled_from([1, 2, 0.5]),
    ),
)


@given(shape=_shapes)
def test_a_shape_survives_a_file(shape: Shape) -> None:
    assert Shape.read(json.loads(json.dumps(shape.as_json())), "here") == shape
    assert read_shapes(json.loads(json.dumps(shapes_json({("a", "b"): shape}))), "here") == {("a", "b"): shape}


@pytest.mark.parametrize(
    "given",
    [
        None,
        {},
        {"nested": "1"},
        {"nested": True},
        {"nested": -1},
        {"centre": {"x": 1}, "radius": math.nan, "scales": {"x": 1}},
        {"centre": {"x": 1}, "radius": 1, "scales": {}},
        {"centre": [1], "radius": 1, "scales": {"x": 1}},
        {"centre": {"x": 1}, "radius": 1, "scales": {"x": 0}},
        {"centre": {"x": 1}, "radius": -1, "scales": {"x": 1}},
    ],
)
def test_what_is_not_a_shape_is_refused(given: object) -> None:
    with pytest.raises(DataError):
        Shape.read(given, "here")


@given(
    shapes=st.lists(_shapes, min_size=1, max_size=6),
    people=st.lists(st.tuples(_small, _small), min_size=1, max_size=8),
    fits=st.randoms(use_true_random=False),
)
def test_inside_is_what_a_plain_loop_says(
    shapes: list[Shape], people: list[tuple[int, int]], fits: np.random.Generator
) -> None:
    pairs = [(i, j) for i in range(len(people)) for j in range(len(shapes)) if fits.random() < 0.7]
    fits.shuffle(pairs)
    kept = set()
    for i in range(len(people)):
        covering = [j for p, j in pairs if p == i and _covers(shapes[j], people[i])]
        deepest = max((shapes[j].depth for j in covering), default=0)
        kept |= {(i, j) for j in covering if shapes[j].depth == deepest}
    points = pl.DataFrame(people, schema=["x", "y"], orient="row")
    point, place = (np.array([pair[k] for pair in pairs], dtype=np.int64) for k in (0, 1))
    found = inside(shapes, points)(point, place)
    assert {pair for pair, mine in zip(pairs, found.tolist(), strict=True) if mine} == kept


def _covers(shape: Shape, person: tuple[int, int]) -> bool:
    if not isinstance(shape, Ball):
        return True
    squares = [
        ((value - shape.centre[name]) / shape.scales[name]) ** 2 for name, value in zip("xy", person, strict=True)
    ]
    return sum(squares) <= shape.radius**2


def test_balls_of_different_columns_and_norms_are_tried_together():
    """Truth values, texts, numbers and places side by side, each ball beside a plain sum over its own columns."""
    people = pl.DataFrame(
        {"ok": [True, False, None], "town": ["Aix", None, "Apt"], "lat": [45.0, 45.5, None], "lon": [5.0, 7.0, 5.0]}
    )
    balls = [
        Ball({"ok": True}, 0.5, {"ok": 1}),
        Ball({"town": "Apt", "lat": 45.0}, 1.2, {"town": 1, "lat": 1}),
        Ball({"town": "Apt", "lat": 45.0}, 1.2, {"town": 1, "lat": 1}, "L1"),
        Ball({"lat": 45.0, "lon": 5.0}, 1.0, {"lat": 60.0, "lon": 60.0}, places=(("lat", "lon"),)),
        Ball({"lon": 5.0}, 1.0, {"lon": 1}),
        Ball({}, 0.0, {}),
    ]
    expected = [
        [True, False, True],
        [True, True, True],
        [True, True, True],
        [True, False, True],
        [True, False, True],
        [True, True, True],
    ]
    point, place = (each.ravel() for each in np.meshgrid(np.arange(3), np.arange(6)))
    assert inside(balls, people)(point, place).reshape(6, 3).tolist() == expected


def test_cells_that_look_alike_in_fewer_columns_are_no_ball_any_more():
    """Two clusters show the same town. Whoever knows the town and the age only must find those of both."""
    frame = pl.DataFrame({"town": ["Aix"] * 6, "age": [20] * 3 + [20, 40, 40], "pay": [0, 0, 0, 100, 100, 100]})
    table = rt.Table(frame, quasi=["town", "age", "pay"])
    release = rt.publish(table, rt.KAnonymity(3), rt.Gather(r=3, grid={"age": 40, "pay": 1}, scales={"age": 1}))
    seen = adversary_view_of(release)
    assert len(seen.shapes) == 2
    for asked in (frame.select("town"), frame.select("town", "age")):
        found = seen.known(asked.columns)
        person, _ = found.covering(asked)
        assert set(person.tolist()) == set(range(6))
        matched = match(seen, asked, asked.columns, None)
        assert matched.candidates.min() >= 3
    assert seen.known(["town"]).shapes == (LabelBox(),)


@pytest.fixture
def known():
    with registered():
        yield


def test_in_a_hole_the_inner_region_has_everybody(known: None) -> None:
    table = jobs.tall(dataset=None)
    release = rt.publish(table, rt.KAnonymity(3), Holes(((30, 40), (150, 170))))
    people = pl.DataFrame({"age": [35, 35, 20, 60], "height": [160, 180, 160, 199]})
    seen = adversary_view_of(release)
    inner = int(seen.place(people[:1])[0])
    assert seen.describe(inner) == {"age": "[30, 40]", "height": "[150, 170]"}
    assert seen.place(people).tolist() == [inner, 1 - inner, 1 - inner, 1 - inner]
    assert seen.covering(people)[0].tolist() == [0, 1, 2, 3]
    # Whoever knows the age only cannot tell whether somebody of 35 is in the hole.
    assert seen.known(["age"]).place(people.select("age")).tolist() == [SEVERAL, SEVERAL, 1 - inner, 1 - inner]
    # Later people go where they lie.
    assert rt.apply(release, people)["age"].to_list() == ["[30, 40]", "[0, 300]", "[0, 300]", "[0, 300]"]
    found = rt.attacks.attack(release, rt.attacks.Linkage(people))[0]
    assert found.details["columns"] == ["age", "height"]


def test_in_the_corner_beyond_a_ball_is_nobody(known: None) -> None:
    frame = pl.DataFrame({"age": [20, 30, 20, 30, 25], "height": [160, 170, 170, 160, 165], "illness": list("abcde")})
    table = rt.Table(frame, quasi=["age", "height"], sensitive="illness")
    release = rt.publish(table, rt.KAnonymity(5), Gathered(5))
    seen = adversary_view_of(release)
    (ball,) = seen.shapes
    assert ball == Ball({"age": 25, "height": 165}, math.sqrt(50), {"age": 1, "height": 1})
    corner, rim = {"age": 18, "height": 158}, {"age": 30, "height": 170}
    people = pl.DataFrame([corner, rim])
    assert all(each.cover(people[each.name]).matrix().all() for each in seen.columns)
    assert seen.place(people).tolist() == [-1, 0]
    assert seen.known(["age"]).place(people).tolist() == [0, 0]


def test_a_ball_over_mixed_columns_counts_categories_dates_and_places():
    days = [datetime.date(2020, 1, 1), datetime.date(2020, 1, 11), None]
    points = pl.DataFrame(
        {"day": days, "town": ["Aix", "Apt", None], "lat": [45.0, 46.0, None], "lon": [5.0, 5.0, 5.0]}
    )
    start = (days[0] - datetime.date(1970, 1, 1)).days

    def covered(ball: Ball) -> list[bool]:
        return inside([LabelBox(), ball], points)(np.arange(3), np.ones(3, dtype=np.int64)).tolist()

    assert covered(Ball({"day": start}, 1.0, {"day": 10.0})) == [True, True, True]
    assert covered(Ball({"day": start}, 0.9, {"day": 10.0})) == [True, False, True]
    assert covered(Ball({"town": "Aix"}, 0.5, {"town": 1.0})) == [True, False, True]
    place = Ball({"lat": 45.0, "lon": 5.0}, 1.1, {"lat": 100.0, "lon": 100.0}, places=(("lat", "lon"),))
    assert covered(place) == [True, False, True]
    both = Ball({"day": start, "town": "Aix"}, 1.5, {"day": 10.0, "town": 1.0}, "L1")
    assert covered(both) == [True, False, True]
    assert covered(Ball(both.centre, 1.5, both.scales)) == [True, True, True]
    for ball in (place, both):
        assert Shape.read(json.loads(json.dumps(ball.as_json())), "here") == ball
    assert place.known(["lat"]) == Ball({}, 1.1, {})
    for wrong in ({"norm": "L3"}, {"places": [["lat", "day"]]}, {"places": "lat"}):
        with pytest.raises(DataError):
            Shape.read({**place.as_json(), **wrong}, "here")
