"""Regions as boxes in the report."""

from __future__ import annotations

import datetime
import re

import numpy as np
import polars as pl
import pytest

import reticent as rt
from reticent.methods.bang.figure import _RankedLine, _regions, _values, regions_in_two_columns
from reticent.reports import write_report


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
    assert (
        regions_in_two_columns(rt.publish(table, rt.KAnonymity(5), method=rt.Mondrian(values="sets")).public.seen)
        is None
    )


def test_dates_and_categories_are_drawn_too(tmp_path):
    draw = np.random.default_rng(3)
    days = [datetime.date(1990, 1, 1) + datetime.timedelta(days=int(day)) for day in draw.integers(0, 3000, 120)]
    towns = draw.choice(["Aix-en-Provence", "Apt", "Arles", "Nice"], 120).tolist()
    frame = pl.DataFrame({"town": [None, *towns[1:]], "born": [None, *days[1:]], "yes": draw.random(120) < 0.5})
    table = rt.Table(frame, quasi=["town", "born", "yes"], nulls="category")
    seen = rt.publish(table, rt.KAnonymity(6), method=rt.Bang()).public.seen
    drawn = regions_in_two_columns(seen)
    assert drawn is not None
    assert drawn.title == "Regions by born and town"
    assert "Aix-e…" in drawn.svg
    assert re.search(r">199\d-\d\d-\d\d<", drawn.svg)
    # Regions that differ in the third column alone are one box.
    assert "regions that differ in other columns" in drawn.svg
    assert "NaN" not in drawn.svg
    texts = rt.publish(
        rt.Table(frame, quasi=["town", "yes"], nulls="category"), rt.KAnonymity(6), method=rt.Bang()
    ).public.seen
    assert regions_in_two_columns(texts) is not None


def test_every_region_of_a_column_of_categories_holds_neighbours():
    """The order of values is found from the regions alone."""
    frame = pl.DataFrame({"town": list("abcdefghijklm") * 8, "sex": ["f", "m"] * 52})
    seen = rt.publish(rt.Table(frame, quasi=["town", "sex"]), rt.KAnonymity(4), method=rt.Bang()).public.seen
    line = _RankedLine([each.sides[0] for each in _regions(seen)])
    for region in _regions(seen):
        places = sorted(line.place_of[value] for value in _values(region.sides[0]))
        assert places == list(range(places[0], places[0] + len(places))) if places else True
