"""Where the source of spatial k-anonymity is wrong and the specification corrects it (spec 004, section 11, 1 to 10), and what a naive reader gets wrong (section 9): each as printed, beside what is right."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent as rt
from reticent.core import Groups
from reticent.methods.bang.cell_space import line_axis
from reticent.noise import DiscreteLaplaceLaw
from reticent.table import BoundHierarchy
from reticent.utility import WorkloadError, utility_of
from tests.methods.bang.grids import directory_of, space_of
from tests.sampling import examples


def test_1_recursive_diversity_sums_from_the_l_th_value_on():
    """r_1 < c (r_l + ... + r_d). A sum from the last value on, as printed, would not depend on l."""
    groups = Groups.from_histograms([(3, 2, 1)])
    assert rt.RecursiveLDiversity(2, 2).holds(groups)
    assert not rt.RecursiveLDiversity(2, 3).holds(groups)
    assert rt.RecursiveLDiversity(4, 3).holds(groups)


def test_2_laplace_noise_falls_on_both_sides_and_is_a_law():
    """exp(-|y|/b): with the sign as printed, chances would grow without end."""
    low, chances = DiscreteLaplaceLaw(Fraction(2)).chances()
    assert chances.sum() == pytest.approx(1)
    assert chances.tolist() == chances[::-1].tolist()
    assert np.argmax(chances) == -low
    assert (np.diff(chances[-low:]) < 0).all()


def test_4_errors_of_queries_do_not_cancel():
    found = WorkloadError("uniform", 1, 100, np.array([10, 10]), np.array([5.0, 15.0]))
    assert found.mean == 0.5


def test_5_a_cut_is_for_k_from_the_smallest_block_on_and_not_up_to_it():
    table = rt.Table(pl.DataFrame({"x": range(60)}), quasi=["x"])
    index = rt.Bang(minimum=5).build(table)
    assert index.draft(5).groups.sizes.min() >= 5
    assert index.draft(30).groups.sizes.min() >= 30
    with pytest.raises(rt.PolicyError, match="cannot be split further"):
        index.draft(4)


def test_6_the_greatest_level_counts_not_the_lowest():
    """The lowest one is the region around everything, which would be everybody's."""
    ages = [21, 22, 23, 24, 25, 26, 31, 33, 35, 41, 43, 47, 58, 60, 62, 66]
    release = rt.publish(rt.Table(pl.DataFrame({"x": ages}), quasi=["x"]), rt.KAnonymity(3), method=rt.Bang())
    bounds = release.tables["regions"].select("level", "group", "x from", "x below").sort("level").rows()
    nested = 0
    for age in ages:
        groups = [group for _, group, low, high in bounds if (low or 0) <= age < (high or 99)]
        assert release.reader.at(x=age) == groups[-1]
        nested += groups[-1] != groups[0]
    assert nested


@given(values=st.lists(st.floats(0, 1), min_size=2, max_size=30, unique=True))
@examples(30)
def test_7_cells_are_whole_numbers_below_two_to_the_l(values):
    """The largest value, at which 2^l x would be 2^l, lies in the last cell."""
    hierarchy = BoundHierarchy("x", pl.Series(sorted(values)), (), True)
    axis = line_axis(hierarchy, "equal", np.ones(len(values), dtype=np.int64))
    assert axis.cell_of.dtype == np.int64
    assert axis.cell_of.min() >= 0
    assert axis.cell_of.max() < 2**axis.bits


def test_8_the_second_coordinate_of_the_worked_example_has_four_bits():
    """d2 = 0110, not 01110: taking r = 101011100 apart gives it back."""
    space = space_of(2, 4, 3)
    bits = ["", "", ""]
    for (axis, _), bit in zip(space.halvings, "101011100", strict=True):
        bits[axis] += bit
    assert bits == ["10", "0110", "110"]


def test_9_a_block_is_its_region_without_those_inside():
    """Not the union of those inside it: volumes of blocks add up to the whole, and a dense part does not count twice."""
    made, texts = directory_of([(0, 0)] * 3 + [(1, 1)] * 3 + [(7, 7)] * 3 + [(5, 2)] * 3, (3, 3), 3)
    assert made.volumes.sum() == 1
    inner = made.encloser >= 0
    assert inner.any()
    for region in np.flatnonzero(inner):
        around = made.encloser[region]
        assert made.volumes[around] < 2.0 ** -len(texts[around])


def test_10_three_anonymity_asks_for_three_or_more():
    frame = pl.DataFrame({"x": [0, 0, 0, 9, 9, 9, 9]})
    sizes = rt.publish(rt.Table(frame, quasi=["x"]), rt.KAnonymity(3), method=rt.Bang()).groups.sizes
    assert sorted(sizes.tolist()) == [3, 4]


def test_trap_4_the_box_around_a_merged_class_is_no_encoding_of_it():
    """People of other classes lie in it: merged classes list their regions, and these tell everybody apart."""
    frame = pl.DataFrame(np.random.default_rng(2).integers(0, 16, (80, 2)), schema=["x", "y"])
    release = rt.publish(rt.Table(frame, quasi=["x", "y"]), rt.KAnonymity(12), method=rt.Bang(minimum=3))
    placed = frame.with_columns(rt.apply(release, frame)["group"])
    assert [release.reader.at(x=x, y=y) for x, y in frame.rows()] == placed["group"].to_list()
    strangers = 0
    for (group,), mine in placed.group_by("group"):
        inside = [pl.col(name).is_between(mine[name].min(), mine[name].max()) for name in ("x", "y")]
        strangers += placed.filter(*inside, pl.col("group") != group).height
    assert strangers


@pytest.mark.parametrize("definition", [rt.UnboundedDP(1), rt.UnboundedDP(1, "1e-6"), rt.CrowdBlending(5)], ids=str)
def test_trap_14_regions_that_follow_the_data_are_never_called_differentially_private(definition):
    table = rt.Table(pl.DataFrame({"x": range(60)}), quasi=["x"])
    with pytest.raises(rt.PolicyError, match="Bang cannot satisfy it"):
        rt.publish(table, definition, method=rt.Bang())


@given(cells=st.lists(st.tuples(st.integers(0, 15), st.integers(0, 15)), min_size=4, max_size=50), k=st.integers(2, 9))
@examples(20)
def test_measures_of_cuts_keep_their_inequalities(cells, k):
    """O10: DCP is at least N^2 over the number of classes, and CP at most N for each column; divergence is never negative."""
    k = min(k, len(cells))
    table = rt.Table(pl.DataFrame(cells, schema=["x", "y"], orient="row"), quasi=["x", "y"])
    draft = rt.Bang(minimum=2).draft(table, rt.KAnonymity(k))
    sizes = draft.evidence.published.sizes
    assert utility_of(draft)["discernibility"] == (sizes**2).sum() >= len(cells) ** 2 / len(sizes) - 1e-9
    assert 0 <= utility_of(draft)["ncp"] <= 1
    assert utility_of(draft)["kl_quasi"] >= -1e-12
    whole = rt.Bang(minimum=2).draft(table, rt.KAnonymity(len(cells)))
    distinct = [len({cell[axis] for cell in cells}) > 1 for axis in (0, 1)]
    assert utility_of(whole)["ncp"] == pytest.approx(sum(distinct) / 2)
    assert len(whole.evidence.published) == 1
