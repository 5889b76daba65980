"""Charts are well-formed SVG that shows what it was given."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as Xml

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.base.charts import ChartAxis, ChartDisc, ChartLine, disc_chart, line_chart, png
from reticent.errors import PolicyError

SVG = "{http://www.w3.org/2000/svg}"


def drawn(**more):
    lines = [
        ChartLine("<one>", [(0, 0.1), (1, 0.5), (2, 1.0)], ["a", "b & c", "d"]),
        ChartLine("two", [(0, 0.1), (2, 0.2)]),
    ]
    return Xml.fromstring(line_chart(lines, ChartAxis("k", 0, 2, whole=True), ChartAxis("risk", 0, 1), **more))


def test_every_line_is_drawn_with_its_name_and_points():
    picture = drawn(title="R & D")
    assert len(picture.findall(f".//{SVG}polyline")) == 2
    assert len(picture.findall(f".//{SVG}circle")) == 5
    texts = [each.text for each in picture.iter(f"{SVG}text")]
    assert {"<one>", "two", "k", "risk", "R & D", "0", "1", "2"} <= set(texts)
    assert [each.text for each in picture.iter(f"{SVG}title")] == ["a", "b & c", "d"]


def test_higher_values_are_drawn_higher_up():
    line = drawn().find(f".//{SVG}polyline").get("points").split()
    heights = [float(point.split(",")[1]) for point in line]
    assert heights == sorted(heights, reverse=True)


def test_a_level_and_a_zone_are_named():
    texts = [each.text for each in drawn(level=(0.6, "c = 3/5"), zone=(0.5, "no way")).iter(f"{SVG}text")]
    assert {"c = 3/5", "no way"} <= set(texts)


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
def test_ticks_lie_on_the_axis_and_are_few(low, width):
    ticks = ChartAxis("x", low, low + width).ticks
    assert len(ticks) <= 8
    assert all(low - width / 1e6 <= tick <= low + width * (1 + 1e-6) for tick in ticks)


def test_a_logarithmic_axis_marks_powers_of_ten():
    assert ChartAxis("x", 1, 1000, log=True).ticks == [1, 10, 100, 1000]
    with pytest.raises(ValueError, match="cannot go from 0"):
        ChartAxis("x", 0, 10, log=True)


def test_png_without_its_package_is_refused_with_the_way_out(monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(PolicyError, match=r"reticent\[charts\]"):
        png("<svg/>")


def test_discs_are_drawn_around_their_centres_and_cut_off_at_the_axes():
    axes = ChartAxis("age", 0, 100), ChartAxis("height", 100, 200)
    drawn = disc_chart([ChartDisc(50, 150, 10, 5, "5 people <here>")], *axes, title="Groups & radii")
    root = Xml.fromstring(drawn)
    (ellipse,) = root.iter(f"{SVG}ellipse")
    width, height = 640 - 70 - 20, 420 - 40 - 90
    assert float(ellipse.get("rx")) == pytest.approx(width / 10, abs=0.1)
    assert float(ellipse.get("ry")) == pytest.approx(height / 20, abs=0.1)
    assert float(ellipse.get("cx")) == pytest.approx(70 + width / 2, abs=0.1)
    assert "5 people <here>" in "".join(root.itertext())
    assert root.get("aria-label") == "Groups & radii"
