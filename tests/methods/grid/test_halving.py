"""Halving: boxes tile the grid in their order, rows lie in theirs, and the loss of the noise is within what is promised, tree by tree."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.methods.grid.bisection import halve
from reticent.methods.grid.details import BisectionPlan
from reticent.noise import DiscreteLaplaceLaw
from tests.oracles.grid_mechanisms import tree_chances
from tests.sampling import examples


@given(st.lists(st.integers(1, 5), min_size=1, max_size=3), st.integers(0, 6), st.integers(0, 2**32))
@examples(40)
def test_boxes_tile_the_grid_and_hold_their_rows(sizes, depth, seed):
    draw = np.random.default_rng(seed)
    cells = np.column_stack([draw.integers(0, size, 30) for size in sizes])
    asked: list[int] = []

    def goes_on(lows, highs, rows):
        asked.append(len(lows))
        assert ((highs - lows) > 1).any(axis=1).all()
        return draw.random(len(lows)) < 0.7

    boxes = halve(sizes, depth, cells, goes_on)
    volume = np.prod(boxes.highs - boxes.lows, axis=1)
    assert int(volume.sum()) == math.prod(sizes)
    assert len(asked) == depth
    inside = (cells >= boxes.lows[boxes.box_of]) & (cells < boxes.highs[boxes.box_of])
    assert inside.all()
    assert boxes.counts().sum() == 30
    # No two boxes meet, and they come in the order of their cuts: by the lowest cell of the first axis that was cut between them.
    corners = [tuple(each) for each in boxes.lows.tolist()]
    assert len(set(corners)) == len(corners)
    assert boxes.lows[0].tolist() == [0] * len(sizes)


def test_axes_take_turns_and_those_with_one_cell_are_passed_over():
    """With one cell on the second axis all cuts go through the others."""
    boxes = halve((4, 1, 2), 3, np.zeros((0, 3), dtype=np.int64), lambda lows, highs, rows: np.ones(len(lows), bool))
    assert list(zip(boxes.lows.tolist(), boxes.highs.tolist(), strict=True)) == [
        ([x, 0, y], [x + 1, 1, y + 1]) for x, y in [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (3, 0), (2, 1), (3, 1)]
    ]


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_the_losses_of_all_levels_add_up_to_no_more_than_epsilon(depth):
    """For neighbouring tables every partition and every count of a box is at most e^epsilon times as likely, and for some outcome nearly so."""
    scale = Fraction(depth + 1)
    plan = BisectionPlan(depth, DiscreteLaplaceLaw(scale), DiscreteLaplaceLaw(scale))
    assert plan.epsilon == 1
    worst = mpmath.mpf(0)
    for rows, more in ([[0, 0, 1, 5], 0], [[], 3], [[7] * 9, 7]):
        one, other = (tree_chances(each, 8, depth, float(scale), 3) for each in (rows, [*rows, more]))
        assert float(sum(one.values())) == pytest.approx(1)
        # The count of the box that the row lies in differs by one, which is a factor of e^(1/scale) at most, both ways.
        ratios = [abs(mpmath.log(one[tree] / other[tree])) + 1 / mpmath.mpf(float(scale)) for tree in one]
        worst = max(worst, *ratios)
        assert max(ratios) <= 1 + 1e-12
    assert worst > 0.6


def test_a_histogram_has_a_loss_of_its_own():
    law = DiscreteLaplaceLaw(Fraction(4))
    plan = BisectionPlan(3, law, law, DiscreteLaplaceLaw(Fraction(2)))
    assert plan.epsilon == Fraction(3, 4) + Fraction(1, 4) + Fraction(1, 2)
    assert plan.keeps_added_row(Fraction(3, 2), Fraction(0))
    assert not plan.keeps_added_row(Fraction(149, 100), Fraction(1, 2))
    assert [plan.added_row_delta(Fraction(each)) for each in ("1.5", "1.4")] == [0, 1]
