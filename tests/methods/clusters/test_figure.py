"""Centres and radii of groups, drawn in two columns."""

from __future__ import annotations

import numpy as np

from reticent.core.shape import LabelBox
from reticent.methods.clusters.figure import balls_in_two_columns
from reticent.methods.clusters.shape import Ball


def test_the_two_columns_in_which_groups_lie_farthest_apart_are_drawn():
    scales = {"age": 100.0, "height": 100.0, "pay": 1000.0, "town": 1.0}
    shapes = [
        Ball({"age": 30, "height": 170, "pay": 100, "town": "Aix"}, 0.1, scales),
        Ball({"age": 60, "height": 180, "pay": 900, "town": "Apt"}, 0.2, scales),
    ]
    drawn = balls_in_two_columns(shapes, np.array([5, 7]))
    assert drawn is not None
    assert drawn.title == "Centres and radii of the groups by pay and age"
    assert drawn.svg.count("<ellipse") == 2
    assert drawn.rows == (("900, 60", "0.2", "7"), ("100, 30", "0.1", "5"))


def test_boxes_and_single_columns_are_not_drawn():
    assert balls_in_two_columns([LabelBox(), LabelBox()], np.array([3, 3])) is None
    assert balls_in_two_columns([Ball({"age": 30}, 1.0, {"age": 1.0})], np.array([3])) is None
    assert balls_in_two_columns([], np.zeros(0, dtype=np.int64)) is None


def test_of_very_many_groups_the_largest_are_drawn():
    shapes = [Ball({"x": at, "y": at}, 0.0, {"x": 1.0, "y": 1.0}) for at in range(1000)]
    drawn = balls_in_two_columns(shapes, np.arange(1000))
    assert drawn is not None
    assert drawn.svg.count("<ellipse") == 400
    assert "400 largest of 1,000" in drawn.description


def test_a_column_with_few_values_is_drawn_last():
    """Groups lie farthest apart by sex, but two heaps of discs tell little."""
    scales = {"sex": 1.0, "age": 100.0, "pay": 10_000.0}
    shapes = [Ball({"sex": 1 + at % 2, "age": 20 + at, "pay": 100 * at}, 0.1, scales) for at in range(30)]
    drawn = balls_in_two_columns(shapes, np.full(30, 5))
    assert drawn.title == "Centres and radii of the groups by age and pay"
