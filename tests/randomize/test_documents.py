"""The page of the room runs as it is written, and its chart is there."""

from __future__ import annotations

import doctest
from pathlib import Path

from reticent.randomize.chart import errors_by_gamma, red_zone
from tests.randomize.examples import ADULT

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_says_what_happens():
    # A fence ends an example, as an empty line does.
    text = (DOCS / "randomize.md").read_text(encoding="utf-8").replace("\n```\n", "\n\n")
    page = doctest.DocTestParser().get_doctest(text, {}, "randomize.md", "randomize.md", 0)
    found = doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL).run(page)
    assert found.attempted > 12
    assert found.failed == 0


def test_the_chart_is_there_and_orders_the_methods():
    assert "<svg" in (DOCS / "images" / "randomize-errors.svg").read_text(encoding="utf-8")
    frame = errors_by_gamma(ADULT["n"], ADULT["domain"], 10, gammas=["1/5"])
    errors = dict(frame.select("method", "error").iter_rows())
    assert errors["max-utility"] < errors["tight"] < errors["paper"] < errors["FRAPP"]
    assert 0.0464 < red_zone(ADULT["n"], ADULT["domain"], 1000) < 0.0466
