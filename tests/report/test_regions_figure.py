"""Regions as boxes in the report."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
import pytest

import reticent as rt
from reticent.report import write_report
from reticent.report.regions_figure import regions_in_two_columns


@pytest.fixture(scope="module")
def release() -> rt.Release:
    draw = np.random.default_rng(2)
    points = np.concatenate([draw.normal(40, 4, (150, 2)), draw.uniform(0, 100, (60, 2))]).round(1)
    table = rt.Table(pl.DataFrame({"x": points[:, 0], "y": points[:, 1]}), quasi=["x", "y"])
    return rt.publish(table, rt.KAnonymity(12), method=rt.Bang(minimum=5))


def test_every_region_is_a_box_and_those_inside_are_drawn_last(release):
    drawn = regions_in_two_columns(release.public.seen)
    assert drawn is not None
    regions = release.tables["regions"]
    levels = [int(found) for found in re.findall(r"level (\d+), a class", drawn.svg)]
    assert sorted(levels) == sorted(regions["level"].to_list())
    assert levels == sorted(levels)
    widths = [float(found) for found in re.findall(r'width="([\d.]+)" height="[\d.]+" fill="#', drawn.svg)]
    assert min(widths) > 0


def test_the_report_shows_where_the_regions_lie(release, tmp_path):
    page = write_report(release, tmp_path / "report.html", public=True).read_text("utf-8")
    assert "Regions by" in page


def test_groups_that_are_boxes_have_no_such_figure():
    table = rt.Table(pl.DataFrame({"x": range(20), "y": range(20)}), quasi=["x", "y"])
    assert regions_in_two_columns(rt.publish(table, rt.KAnonymity(5), method=rt.Mondrian()).public.seen) is None
